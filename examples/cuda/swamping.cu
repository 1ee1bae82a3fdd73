// softamp's arithmetic in a kernel of your own: 512 running sums of 0.0001 in fp16, to nearest and stochastically, and
// fp32 numbers rounded with random words of your own, with the flags that were raised.
//
// The source is plain C++ as well. Compiled by nvcc, on a machine with a GPU, it runs on both and compares all bits.
#include "softamp/numerics/arithmetic.h"
#include "softamp/numerics/convert.h"
#include "softamp/numerics/random.h"

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

using namespace softamp;

namespace {

constexpr unsigned kElements = 512;
constexpr uint32_t kAdditions = 10000;

/// What one element gives.
struct Element {
  uint16_t nearest_sum, stochastic_sum, rounded;
  uint8_t flags;  ///< of the rounding
};

/// A random word from anywhere: here a hash of the place (the finaliser of MurmurHash3).
SOFTAMP_HD uint32_t own_word(uint32_t i) {
  i ^= i >> 16;
  i *= 0x85EBCA6Bu;
  i ^= i >> 13;
  i *= 0xC2B2AE35u;
  return i ^ i >> 16;
}

/// For the host and for the device.
SOFTAMP_HD Element element(unsigned i, const Semantics& nearest, const Semantics& stochastic) {
  constexpr uint64_t kAddend = 0x068E;  // 0.0001 as fp16
  const RandomBits random{42};          // the bits of a rounding follow from seed, step, operation and index
  uint64_t a = 0, b = 0;
  for (uint32_t step = 0; step < kAdditions; ++step) {
    a = fp::add(kFp16, a, kAddend, nearest).code;
    b = fp::add(kFp16, b, kAddend, stochastic, random.bits(step, 0, i, stochastic.narrow.random_bits)).code;
  }
  // 1/3, 2/3, 1, ...; every 128th is beyond fp16's greatest number, 65504.
  const float x = i % 128 == 127 ? 70000.0f : static_cast<float>(i + 1) / 3.0f;
  const uint32_t word = own_word(i) & ((1u << stochastic.narrow.random_bits) - 1);
  const Rounded r = fp::convert(kFp32, kFp16, __builtin_bit_cast(uint32_t, x), stochastic, word);
  return {static_cast<uint16_t>(a), static_cast<uint16_t>(b), static_cast<uint16_t>(r.code), r.flags};
}

#if defined(__CUDACC__)
__global__ void elements(Element* out, Semantics nearest, Semantics stochastic) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kElements) out[i] = element(i, nearest, stochastic);
}
#endif

std::vector<Element> on_the_host(const Semantics& nearest, const Semantics& stochastic) {
  std::vector<Element> all(kElements);
  for (unsigned i = 0; i < kElements; ++i) all[i] = element(i, nearest, stochastic);
  return all;
}

void print(const std::vector<Element>& all) {
  double nearest = 0, stochastic = 0;
  unsigned overflows = 0, inexact = 0;
  uint64_t digest = 0xCBF29CE484222325u;  // FNV-1a of all results
  for (const Element& e : all) {
    nearest += fp::to_double(kFp16, e.nearest_sum);
    stochastic += fp::to_double(kFp16, e.stochastic_sum);
    overflows += (e.flags & kOverflow) != 0;
    inexact += (e.flags & kInexact) != 0;
    for (const unsigned part :
         {unsigned{e.nearest_sum}, unsigned{e.stochastic_sum}, unsigned{e.rounded}, unsigned{e.flags}})
      digest = (digest ^ part) * 0x100000001B3u;
  }
  std::printf("mean of %u sums of 10000 times 0.0001 in fp16\n", kElements);
  std::printf("  to nearest      %.6f\n", nearest / kElements);
  std::printf("  stochastically  %.6f\n", stochastic / kElements);
  std::printf("roundings of fp32: %u inexact, %u overflows\n", inexact, overflows);
  std::printf("digest %016llx\n", static_cast<unsigned long long>(digest));
}

#if defined(__CUDACC__)
/// Whether a device was there and gave `expected`. 77: there is none.
int compare_on_the_device(const std::vector<Element>& expected, const Semantics& nearest, const Semantics& stochastic) {
  Element* out = nullptr;
  const size_t bytes = kElements * sizeof(Element);
  std::vector<Element> found(kElements);
  cudaError_t error = cudaMalloc(&out, bytes);
  if (error != cudaSuccess) {
    std::fprintf(stderr, "swamping: no GPU: %s; the figures are the host's\n", cudaGetErrorString(error));
    return 77;
  }
  elements<<<(kElements + 127) / 128, 128>>>(out, nearest, stochastic);
  error = cudaMemcpy(found.data(), out, bytes, cudaMemcpyDeviceToHost);
  cudaFree(out);
  if (error != cudaSuccess) {
    std::fprintf(stderr, "swamping: the kernel did not run: %s\n", cudaGetErrorString(error));
    return 1;
  }
  if (std::memcmp(found.data(), expected.data(), bytes) != 0) {
    std::fprintf(stderr, "swamping: the GPU's bits differ from the host's\n");
    return 1;
  }
  std::fprintf(stderr, "swamping: the GPU's bits equal the host's\n");
  return 0;
}
#endif

}  // namespace

int main() {
  const Semantics nearest = Semantics::ieee(), stochastic = Semantics::ieee(RoundingPolicy::stochastic_carry());
  const std::vector<Element> all = on_the_host(nearest, stochastic);
  print(all);
#if defined(__CUDACC__)
  return compare_on_the_device(all, nearest, stochastic);
#endif
}
