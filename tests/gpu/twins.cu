// The functions that have a body of their own for a device (twins.h), on a GPU and on the host over the same operands:
//   gpu_twins [--json FILE]
// A row that differs is named, with the first operands and both results. Seconds at most; tests/gpu.sh runs it first.
// Exit code 0: equal; 1: a difference, or an error; 2: usage; 77: no GPU to run on.
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "cuda/async_copy.h"
#include "cuda/device_facts.h"
#include "cuda/op_kernel.h"
#include "cuda/status.h"
#include "tests/gpu/json_file.h"
#include "tests/gpu/twins.h"

namespace {

using namespace softamp;
using twins::Operands;

constexpr unsigned kTrials = 1u << 18, kThreads = 256;

__global__ void results_of(int row, Operands kind, uint64_t* out) {
  const uint64_t i = blockIdx.x * uint64_t{kThreads} + threadIdx.x;
  out[i] = twins::result(row, twins::operand(kind, i, 0), twins::operand(kind, i, 1), twins::operand(kind, i, 2));
}

bool succeeded(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return true;
  std::fprintf(stderr, "gpu_twins: %s\n", cuda::failure_text(what, cuda::runtime_error(status)).c_str());
  return false;
}

/// How many trials of a row differ; -1: it did not run.
int64_t differences(int row, uint64_t* device) {
  const auto [name, kind] = twins::kRowInfo[row];
  results_of<<<kTrials / kThreads, kThreads>>>(row, kind, device);
  std::vector<uint64_t> found(kTrials);
  if (!succeeded(cudaGetLastError(), name) ||
      !succeeded(cudaMemcpy(found.data(), device, kTrials * sizeof(uint64_t), cudaMemcpyDeviceToHost), name))
    return -1;
  int64_t differing = 0;
  for (uint64_t i = 0; i < kTrials; ++i) {
    const uint64_t a = twins::operand(kind, i, 0), b = twins::operand(kind, i, 1), c = twins::operand(kind, i, 2);
    const uint64_t expected = twins::result(row, a, b, c);
    if (found[i] == expected || differing++ > 0) continue;
    std::printf("DIFFERS %s(%016" PRIx64 ", %016" PRIx64 ", %016" PRIx64 "): %016" PRIx64 " on the device, %016" PRIx64
                " on the host\n",
                name, a, b, c, found[i], expected);
  }
  return differing;
}

// What threads merge by atomics: flags and lowest indices, the least number of a wrong operand, counts.

__host__ __device__ uint8_t flags_of(uint64_t i) {
  const uint64_t word = twins::detail::mixed(i);
  return word % 64 ? 0 : static_cast<uint8_t>(word >> 8 & kAllFlags);
}

__global__ void merge(cuda::DeviceStatus* status, uint64_t* refusal, int* count) {
  const uint64_t i = blockIdx.x * uint64_t{kThreads} + threadIdx.x;
  const uint64_t place = kTrials - 1 - i;  // the lowest come last
  cuda::raise_status(status, flags_of(place), place);
  if (flags_of(place)) {
    cuda::note_refusal(refusal, place);
    atomicAdd(count, 1);
  }
}

bool check_atomics() {
  struct Merged {
    cuda::DeviceStatus status;
    uint64_t refusal;
    int count;
  };
  Merged expected{}, found{};
  for (uint64_t& index : expected.status.first_index) index = FpStatus::kNever;
  expected.refusal = FpStatus::kNever;
  Merged* device = nullptr;
  if (!succeeded(cudaMalloc(&device, sizeof(Merged)), "atomics") ||
      !succeeded(cudaMemcpy(device, &expected, sizeof(Merged), cudaMemcpyHostToDevice), "atomics"))
    return false;
  for (uint64_t i = 0; i < kTrials; ++i) {
    cuda::raise_status(&expected.status, flags_of(i), i);
    if (!flags_of(i)) continue;
    cuda::note_refusal(&expected.refusal, i);
    ++expected.count;
  }
  merge<<<kTrials / kThreads, kThreads>>>(&device->status, &device->refusal, &device->count);
  const bool ran = succeeded(cudaMemcpy(&found, device, sizeof(Merged), cudaMemcpyDeviceToHost), "atomics");
  cudaFree(device);
  const bool equal = std::memcmp(&found.status, &expected.status, sizeof found.status) == 0 &&
                     found.refusal == expected.refusal && found.count == expected.count;
  if (ran && !equal) std::printf("DIFFERS atomics: %d of %d counted\n", found.count, expected.count);
  return ran && equal;
}

// Asynchronous copies (cuda/async_copy.h): two groups on their way, words and vectors; what was waited for can be read
// by the block's other threads.

__global__ void copy_by_groups(const uint32_t* from, uint32_t* to) {
  __shared__ __align__(16) uint32_t place[2][4 * kThreads];
  const unsigned t = threadIdx.x, first = blockIdx.x * 4 * kThreads;
  const cuda::DeviceAsyncCopies copies;
  copies.copy<16>(place[0] + 4 * t, from + first + 4 * t);
  copies.close();
  for (unsigned i = 0; i < 4; ++i) copies.copy<4>(place[1] + i * kThreads + t, from + first + i * kThreads + t);
  copies.close();
  copies.wait<1>();
  __syncthreads();
  for (unsigned i = 0; i < 4; ++i) to[2 * first + i * kThreads + t] = place[0][(i * kThreads + t) ^ 37];
  copies.wait<0>();
  __syncthreads();
  for (unsigned i = 0; i < 4; ++i) to[2 * first + (4 + i) * kThreads + t] = place[1][(i * kThreads + t) ^ 37];
}

bool check_copies() {
  constexpr unsigned kWords = 16 * 4 * kThreads;
  std::vector<uint32_t> words(kWords), found(2 * kWords);
  for (unsigned i = 0; i < kWords; ++i) words[i] = static_cast<uint32_t>(twins::detail::mixed(i));
  uint32_t* device = nullptr;
  if (!succeeded(cudaMalloc(&device, 3 * kWords * sizeof(uint32_t)), "copies") ||
      !succeeded(cudaMemcpy(device, words.data(), kWords * sizeof(uint32_t), cudaMemcpyHostToDevice), "copies"))
    return false;
  copy_by_groups<<<kWords / (4 * kThreads), kThreads>>>(device, device + kWords);
  const bool ran = succeeded(
      cudaMemcpy(found.data(), device + kWords, found.size() * sizeof(uint32_t), cudaMemcpyDeviceToHost), "copies");
  cudaFree(device);
  unsigned differing = 0;
  for (unsigned i = 0; i < 2 * kWords; ++i) {
    const unsigned block = i / (8 * kThreads), within = i % (4 * kThreads);
    differing += found[i] != words[block * 4 * kThreads + (within ^ 37)];
  }
  if (ran && differing != 0) std::printf("DIFFERS asynchronous copies: %u of %u words\n", differing, 2 * kWords);
  return ran && differing == 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 1 && !(argc == 3 && std::string(argv[1]) == "--json")) {
    std::fputs("gpu_twins: expected [--json FILE]\n", stderr);
    return 2;
  }
  if (const std::string why = cuda::why_unusable(cuda::facts_of(0)); !why.empty()) {
    std::printf("no GPU: %s\n", why.c_str());
    return 77;
  }
  uint64_t* device = nullptr;
  if (!succeeded(cudaMalloc(&device, kTrials * sizeof(uint64_t)), "cudaMalloc")) return 1;
  std::string differing;
  for (int row = 0; row < twins::kRows; ++row) {
    const int64_t found = differences(row, device);
    if (found < 0) return 1;  // the device is lost to this process
    if (found != 0) differing += std::string(differing.empty() ? "" : " ") + twins::kRowInfo[row].name;
  }
  if (!check_atomics()) differing += differing.empty() ? "atomics" : " atomics";
  if (!check_copies()) differing += differing.empty() ? "copies" : " copies";
  cudaFree(device);
  std::printf("%d functions of a device's own, %u trials each: %s\n", twins::kRows, kTrials,
              differing.empty() ? "equal to the host's" : ("not equal: " + differing).c_str());
  gpu::Object json;
  json.add("functions", gpu::number(uint64_t{twins::kRows})).add("trials", gpu::number(uint64_t{kTrials}));
  json.add("differing", gpu::quoted(differing));
  if (argc == 3 && !json.write(argv[2])) {
    std::fprintf(stderr, "gpu_twins: %s cannot be written\n", argv[2]);
    return 1;
  }
  return differing.empty() ? 0 : 1;
}
