// What the CUDA engine does a second, each figure as a ratio to a limit measured in the same run, with its goal:
//   gpu_bench [--small] [--json FILE]
// Exit code 0: measured (met or not: "missed" in the JSON names the goals that were not); 1: an error; 2: usage; 77: no
// GPU.
// --small: sizes for a host that runs the kernels serially.
//
// Operations are recorded many times over and replayed, so that the host's launches do not count; medians of rounds,
// with the fastest and slowest of them.
#include <cstdio>
#include <cstring>
#include <exception>

#if !defined(SOFTAMP_SERIAL_GRID)
#include <cuda_runtime_api.h>
#endif

#include "cuda/engine.h"
#include "tests/gpu/bench_operation.h"
#include "tests/gpu/install.h"

namespace softamp::gpu {

double copy_rate(cuda::Device& device, const Sizes& sizes, Figures& figures) {
  const size_t bytes = static_cast<size_t>(sizes.copy);
  const Memory from(device, bytes), to(device, bytes);
  device.fill(from.get(), 0x3C, bytes);
  const Spread s = measure(device, sizes, [&] { device.copy(to.get(), from.get(), bytes); });
  const double rate = 2.0 * static_cast<double>(bytes) / s.median;
  figures.add("device_copy", rate * 1e-9, "G bytes/s", 1, "itself, read and written", 0, s);
  return rate;
}

namespace {

/// The clocks that the device may reach; whether it does, the copy's and the chain's rates say.
void note_clocks(Figures& figures) {
#if !defined(SOFTAMP_SERIAL_GRID)
  int processor = 0, memory = 0, bus = 0;
  if (cudaDeviceGetAttribute(&processor, cudaDevAttrClockRate, 0) == cudaSuccess && processor > 0)
    figures.json.add("clock_most_mhz", number(processor / 1000.0));
  if (cudaDeviceGetAttribute(&memory, cudaDevAttrMemoryClockRate, 0) == cudaSuccess && memory > 0)
    figures.json.add("memory_clock_most_mhz", number(memory / 1000.0));
  if (cudaDeviceGetAttribute(&bus, cudaDevAttrGlobalMemoryBusWidth, 0) == cudaSuccess && bus > 0)
    figures.json.add("memory_bus_bits", number(static_cast<uint64_t>(bus)));
  cudaGetLastError();  // an attribute that is not there is no fault
#else
  (void)figures;
#endif
}

int run(const Sizes& sizes, const std::string& file) {
  const Installed installed;
  std::string why;
  const std::string name = cuda::device_name(&why);
  if (name.empty()) {
    std::printf("no GPU: %s\n", why.c_str());
    return 77;
  }
  std::printf("%s\n", name.c_str());
  Figures figures{name, file, {}, {}, {}};
  try {
    cuda::Device device;
    note_clocks(figures);
    const double copied = copy_rate(device, sizes, figures);
    bench_products(device, sizes, figures);
    bench_training(sizes, figures);
    bench_operations(device, sizes, copied, figures);
  } catch (const std::exception& e) {
    figures.error = e.what();
    std::printf("ERROR %s\n", e.what());
  }
  if (!figures.missed.empty()) std::printf("goals missed: %s\n", figures.missed.c_str());
  return figures.write() && figures.error.empty() ? 0 : 1;
}

}  // namespace
}  // namespace softamp::gpu

int main(int argc, char** argv) {
  softamp::gpu::Sizes sizes;
  std::string file;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--small") == 0) {
      sizes = softamp::gpu::Sizes::small();
    } else if (std::strcmp(argv[i], "--json") == 0 && i + 1 < argc) {
      file = argv[++i];
    } else {
      std::fprintf(stderr, "usage: gpu_bench [--small] [--json FILE]\n");
      return 2;
    }
  }
  return softamp::gpu::run(sizes, file);
}
