// The stochastic rounding of NVIDIA's Blackwell (cvt.rs, N312, N320) against our model of it, cvt_rs(), on the host and
// on the device; and the kernel that rounds arrays by it (N330). Compiled for sm_100a and sm_103a, by
// tests/backend/CMakeLists.txt, so that it cannot rot. Exit code 0: equal; 1: they differ; 77: no device of compute
// capability 10.0 or 10.3. --host: the model against the values that were reported from a B200 (N344), anywhere.
// tests: N312, N330
#include <cinttypes>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "cuda/casts/cvt_rs.h"
#include "cuda/device_facts.h"
#include "softamp/numerics/cvt_rs.h"
#include "softamp/numerics/random.h"

namespace {

using namespace softamp;

enum Form { kF16x2, kF16x2Saturating, kBf16x2, kBf16x2Saturating, kE4m3x4, kE5m2x4, kE2m3x4, kE3m2x4, kE2m1x4, kForms };
constexpr const char* kNames[kForms] = {"f16x2",  "satfinite.f16x2", "bf16x2", "satfinite.bf16x2", "e4m3x4", "e5m2x4",
                                        "e2m3x4", "e3m2x4",          "e2m1x4"};

/// Value 0 is the last operand and lands lowest; a bit pattern each.
struct Operands {
  uint32_t value[4], random;
};

constexpr uint32_t kCount = 1u << 22;

/// Operand `i`, of every exponent; every fourth near 1, where formats of 4 and 6 bits have their numbers.
__host__ __device__ Operands operands_of(uint32_t i) {
  const RandomBlock a = philox4x32({{i, 0, 0, 0}}, {{0x5EED, 0}}), b = philox4x32({{i, 1, 0, 0}}, {{0x5EED, 0}});
  Operands o{{a.word[0], a.word[1], a.word[2], a.word[3]}, b.word[0]};
  if (i % 4 == 0)
    for (uint32_t& v : o.value) v = (v & 0x83FFFFFFu) | 0x3C000000u;
  return o;
}

/// What we say that the instruction gives: for the formats that we have, those of 6 and 4 bits have no NaN.
// tests: N320
__host__ __device__ uint32_t model(Chip chip, Form form, const Operands& o) {
  CvtRs instruction;
  instruction.type = form <= kF16x2Saturating    ? CvtRsType::kF16x2
                     : form <= kBf16x2Saturating ? CvtRsType::kBf16x2
                     : form == kE4m3x4           ? CvtRsType::kE4m3x4
                                                 : CvtRsType::kE5m2x4;
  instruction.satfinite = form != kF16x2 && form != kBf16x2;
  uint32_t sources[4];
  const int lanes = instruction.lanes();
  for (int k = 0; k < lanes; ++k) sources[k] = o.value[lanes - 1 - k];
  return cvt_rs(chip, instruction, sources, o.random);
}

#if defined(__CUDA_ARCH_FEAT_SM100_ALL) || defined(__CUDA_ARCH_FEAT_SM103_ALL)
#define SOFTAMP_CVT_RS_2(name) \
  asm("cvt.rs." name ".f32 %0, %1, %2, %3;" : "=r"(d) : "f"(v[1]), "f"(v[0]), "r"(o.random))
#define SOFTAMP_CVT_RS_4(name)                                  \
  asm("cvt.rs.satfinite." name ".f32 %0, {%1, %2, %3, %4}, %5;" \
      : "=r"(d)                                                 \
      : "f"(v[3]), "f"(v[2]), "f"(v[1]), "f"(v[0]), "r"(o.random))

__device__ uint32_t converted(Chip chip, Form form, const Operands& o) {
  float v[4];
  for (int k = 0; k < 4; ++k) v[k] = __builtin_bit_cast(float, o.value[k]);
  uint32_t d = 0;
  uint16_t d16 = 0;
  switch (form) {
    case kF16x2: SOFTAMP_CVT_RS_2("f16x2"); break;
    case kF16x2Saturating: return cuda::cvt_rs_satfinite<CvtRsType::kF16x2>(chip, v, o.random);
    case kBf16x2: SOFTAMP_CVT_RS_2("bf16x2"); break;
    case kBf16x2Saturating: return cuda::cvt_rs_satfinite<CvtRsType::kBf16x2>(chip, v, o.random);
    case kE4m3x4: return cuda::cvt_rs_satfinite<CvtRsType::kE4m3x4>(chip, v, o.random);
    case kE5m2x4: return cuda::cvt_rs_satfinite<CvtRsType::kE5m2x4>(chip, v, o.random);
    case kE2m3x4: SOFTAMP_CVT_RS_4("e2m3x4"); break;
    case kE3m2x4: SOFTAMP_CVT_RS_4("e3m2x4"); break;
    case kE2m1x4:
      asm("cvt.rs.satfinite.e2m1x4.f32 %0, {%1, %2, %3, %4}, %5;"
          : "=h"(d16)
          : "f"(v[3]), "f"(v[2]), "f"(v[1]), "f"(v[0]), "r"(o.random));
      d = d16;
      break;
    case kForms: break;
  }
  return d;
}
#elif defined(__CUDA_ARCH__)
#error "cvt.rs is compiled for sm_100a and sm_103a alone"
#endif

/// The instruction's results, and behind them the model's, as the device computes it.
__global__ void convert_all(Chip chip, Form form, uint32_t* results) {
#if defined(__CUDA_ARCH__)
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= kCount) return;
  const Operands o = operands_of(i);
  results[i] = converted(chip, form, o);
  results[kCount + i] = form <= kE5m2x4 ? model(chip, form, o) : 0;
#endif
}

template <CvtRsType kType>
__global__ void round_array(const __grid_constant__ cuda::PackedRounding<kType> kernel) {
  cuda::DeviceBlock block;
  kernel(block);
}

bool check_published_values() {
  constexpr struct {
    uint32_t source[2], random, result;
    bool relu;
  } kValues[] = {{{0x33c00001, 0x33c00000}, 0x00001fff, 0x00010002, false},
                 {{0x33c00001, 0x33c00000}, 0x1fff1fff, 0x00020002, false},
                 {{0x338003ff, 0x33800400}, 0x1fff1fff, 0x00010002, false},
                 {{0x38761fff, 0x00021002}, 0x00000ffe, 0x03d80000, true}};
  bool equal = true;
  for (const auto& v : kValues) {
    const uint32_t found = cvt_rs(Chip::kNvidiaSm100, {CvtRsType::kF16x2, true, v.relu}, v.source, v.random);
    if (found == v.result) continue;
    std::printf("model: %08x %08x %08x gives %08x; published: %08x\n", v.source[0], v.source[1], v.random, found,
                v.result);
    equal = false;
  }
  return equal;
}

bool succeeded(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return true;
  std::fprintf(stderr, "%s\n", cuda::failure_text(what, cuda::runtime_error(status)).c_str());
  return false;
}

bool check(Chip chip, Form form, uint32_t* device_results) {
  std::vector<uint32_t> results(2 * kCount);
  convert_all<<<kCount / 256, 256>>>(chip, form, device_results);
  if (!succeeded(cudaGetLastError(), kNames[form])) return false;
  if (!succeeded(cudaMemcpy(results.data(), device_results, 2 * kCount * sizeof(uint32_t), cudaMemcpyDeviceToHost),
                 "copy"))
    return false;
  if (form > kE5m2x4) {
    std::printf("%-18s has run; there is no model of its format\n", kNames[form]);
    return true;
  }
  uint32_t differing = 0;
  for (uint32_t i = 0; i < kCount; ++i) {
    const Operands o = operands_of(i);
    const uint32_t expected = model(chip, form, o);
    if ((results[i] != expected || results[kCount + i] != expected) && differing++ == 0)
      std::printf("%s: %08x %08x %08x %08x with %08x: expected %08x, found %08x; the model there: %08x\n", kNames[form],
                  o.value[3], o.value[2], o.value[1], o.value[0], o.random, expected, results[i], results[kCount + i]);
  }
  std::printf("%-18s %" PRIu32 " of %" PRIu32 " differ\n", kNames[form], differing, kCount);
  return differing == 0;
}

/// The kernel over kCount / 2 elements; an array that ends within a group, and one that begins within a word.
template <CvtRsType kType>
bool check_array(Chip chip, ChipOverflow overflow, uint32_t* device) {
  const CvtRs form{kType, overflow == ChipOverflow::kSaturating, false};
  const uint32_t lanes = static_cast<uint32_t>(form.lanes());
  const ChipRounding rounding = chip_rounding(chip, form.format());
  const Semantics semantics = chip_semantics(chip, form.format(), overflow);
  std::vector<uint32_t> in(kCount / 2), codes(kCount / 2);
  for (uint32_t i = 0; i < in.size(); ++i) in[i] = operands_of(i / 4).value[i % 4];
  if (!succeeded(cudaMemcpy(device, in.data(), in.size() * sizeof(uint32_t), cudaMemcpyHostToDevice), "copy"))
    return false;
  bool equal = true;
  for (const uint64_t first : {uint64_t{0}, uint64_t{5}}) {
    auto kernel = cuda::PackedRounding<kType>::of(chip, overflow);
    kernel.in = reinterpret_cast<const float*>(device);
    kernel.out = device + kCount / 2;
    kernel.random = {42, 10, 0};
    kernel.first_index = first;
    kernel.size = kCount / 2 - 3;
    kernel.vectors = first == 0;
    round_array<<<1024, 256>>>(kernel);
    if (!succeeded(cudaGetLastError(), "round_array")) return false;
    if (!succeeded(cudaMemcpy(codes.data(), kernel.out, in.size() * kernel.kBytes, cudaMemcpyDeviceToHost), "copy"))
      return false;
    for (uint64_t i = 0; equal && i < kernel.size; ++i) {
      const uint64_t at = first + i;
      const uint32_t random =
          chip_random(rounding, kernel.random.bits(0, 0, at / lanes, 32), static_cast<int>(at % lanes));
      const auto expected = fp::convert(kFp32, form.format(), in[i], semantics, random).code;
      const uint64_t found = cuda::load_element(codes.data(), kernel.kBytes, i);
      equal = found == expected;
      if (!equal)
        std::printf("array %d from %" PRIu64 ": element %" PRIu64 ", %08x: expected %" PRIx64 ", found %" PRIx64 "\n",
                    static_cast<int>(kType), first, i, in[i], uint64_t{expected}, found);
    }
  }
  return equal;
}

}  // namespace

int main(int argc, char** argv) {
  bool equal = check_published_values();
  if (argc == 2 && std::string_view(argv[1]) == "--host") return equal ? 0 : 1;
  const cuda::DeviceFacts device = cuda::facts_of(0);
  const std::string why = cuda::why_unusable(device);
  if (!why.empty() || device.major != 10 || (device.minor != 0 && device.minor != 3)) {
    std::printf("no GPU of compute capability 10.0 or 10.3: %s\n", why.empty() ? device.name.c_str() : why.c_str());
    return 77;
  }
  const Chip chip = device.minor == 0 ? Chip::kNvidiaSm100 : Chip::kNvidiaSm103;
  uint32_t* device_results = nullptr;
  if (!succeeded(cudaMalloc(&device_results, 2 * kCount * sizeof(uint32_t)), "cudaMalloc")) return 1;
  for (int form = 0; form < kForms; ++form) equal = check(chip, static_cast<Form>(form), device_results) && equal;
  for (const ChipOverflow overflow : {ChipOverflow::kSpecial, ChipOverflow::kSaturating}) {
    equal = check_array<CvtRsType::kF16x2>(chip, overflow, device_results) && equal;
    equal = check_array<CvtRsType::kBf16x2>(chip, overflow, device_results) && equal;
  }
  equal = check_array<CvtRsType::kE4m3x4>(chip, ChipOverflow::kSaturating, device_results) && equal;
  equal = check_array<CvtRsType::kE5m2x4>(chip, ChipOverflow::kSaturating, device_results) && equal;
  cudaFree(device_results);
  return equal ? 0 : 1;
}
