// The numerics sweep on the GPU, chunk by chunk against the host: every header of numerics/ in device code; with
// SOFTAMP_KERNEL_SWEEP the sweep of kernel_sweep.h.
// Exit code 0: equal; 1: a chunk differs; 77: no GPU to run on. With --host it prints what nvcc's host pass computes.
#include <cinttypes>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "cuda/device_facts.h"
#include "numerics_sweep.h"
#if defined(SOFTAMP_KERNEL_SWEEP)
#include "kernel_sweep.h"
#endif

namespace {

#if defined(SOFTAMP_KERNEL_SWEEP)
using namespace softamp::kernel_sweep;
#else
using namespace softamp::sweep;
#endif

// One thread per chunk; families are launched apart, so that a fault names one.
__global__ void sweep_kernel(int family, uint64_t* digests) {
  const uint32_t chunk = blockIdx.x * blockDim.x + threadIdx.x;
  if (chunk < kChunks) digests[chunk] = sweep(family, chunk);
}

bool succeeded(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return true;
  std::fprintf(stderr, "%s\n", softamp::cuda::failure_text(what, softamp::cuda::runtime_error(status)).c_str());
  return false;
}

/// Runs one family on the device and prints its digest; false where a chunk differs from the host's.
bool check(int family, uint64_t* device_digests) {
  constexpr int kThreads = 32;
  std::vector<uint64_t> digests(kChunks);
  sweep_kernel<<<kChunks / kThreads, kThreads>>>(family, device_digests);
  if (!succeeded(cudaGetLastError(), "launch")) return false;
  if (!succeeded(cudaMemcpy(digests.data(), device_digests, kChunks * sizeof(uint64_t), cudaMemcpyDeviceToHost),
                 "copy"))
    return false;
  Digest whole;
  int differing = 0;
  for (uint32_t chunk = 0; chunk < kChunks; ++chunk) {
    const uint64_t host = sweep(family, chunk);
    whole.add(digests[chunk]);
    if (digests[chunk] != host && differing++ == 0)
      std::printf("%s: first difference in chunk %u: device %016" PRIx64 ", host %016" PRIx64 "\n", family_name(family),
                  chunk, digests[chunk], host);
  }
  std::printf("%-12s %016" PRIx64 " on the device, %d of %d chunks differ\n", family_name(family), whole.hash,
              differing, kChunks);
  return differing == 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--host") {
    print_digests();
    return 0;
  }
  if (const std::string why = softamp::cuda::why_unusable(softamp::cuda::facts_of(0)); !why.empty()) {
    std::printf("no GPU: %s\n", why.c_str());
    return 77;
  }
  cudaFuncAttributes attributes{};
  if (cudaFuncGetAttributes(&attributes, sweep_kernel) == cudaErrorNoKernelImageForDevice) {
    std::puts("not compiled for this CUDA device: not run");
    return 77;
  }
  uint64_t* device_digests = nullptr;
  if (!succeeded(cudaMalloc(&device_digests, kChunks * sizeof(uint64_t)), "cudaMalloc")) return 1;
  bool equal = true;
  for (int family = 0; family < kFamilies; ++family) equal = check(family, device_digests) && equal;
  cudaFree(device_digests);
  return equal ? 0 : 1;
}
