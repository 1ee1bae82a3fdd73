// Products: fp32 chains against cuBLAS, partials in half, a rounding after every product.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#if !defined(SOFTAMP_SERIAL_GRID)
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#endif

#include "cuda/products/product_tile.h"
#include "tests/gpu/bench_operation.h"

namespace softamp::gpu {
namespace {

#if !defined(SOFTAMP_SERIAL_GRID)
/// Seconds of cuBLAS's sgemm (no tensor cores) on the operands, where its library is on this machine; else 0. It is
/// measured against, never linked: nothing of it is on the exact path.
double sgemm_seconds(cuda::Device& device, const Sizes& sizes, const void* a, const void* b, void* c) {
  const char* const given = std::getenv("SOFTAMP_CUBLAS");
  void* library = given && *given ? dlopen(given, RTLD_NOW) : nullptr;
  for (const char* name : {"libcublas.so", "libcublas.so.13", "libcublas.so.12", "/usr/local/cuda/lib64/libcublas.so"})
    if (!library) library = dlopen(name, RTLD_NOW);
  if (!library) return 0;
  using Create = int (*)(void**);
  using Sgemm = int (*)(void*, int, int, int, int, int, const float*, const float*, int, const float*, int,
                        const float*, float*, int);
  const auto create = reinterpret_cast<Create>(dlsym(library, "cublasCreate_v2"));
  const auto sgemm = reinterpret_cast<Sgemm>(dlsym(library, "cublasSgemm_v2"));
  void* handle = nullptr;
  if (!create || !sgemm || create(&handle) != 0) return 0;
  const int n = static_cast<int>(sizes.product);
  const float one = 1, zero = 0;
  bool good = true;
  const auto turn = [&](int times) {
    device.wait();
    return seconds_of([&] {
      for (int i = 0; i < times; ++i)
        good = good && sgemm(handle, 0, 0, n, n, n, &one, static_cast<const float*>(a), n, static_cast<const float*>(b),
                             n, &zero, static_cast<float*>(c), n) == 0;
      good = good && cudaDeviceSynchronize() == cudaSuccess;
    });
  };
  turn(2);
  std::vector<double> rounds;
  for (int i = 0; i < sizes.rounds; ++i) rounds.push_back(turn(8) / 8);
  std::sort(rounds.begin(), rounds.end());
  return good ? rounds[rounds.size() / 2] : 0;
}
#endif

}  // namespace

void bench_products(cuda::Device& device, const Sizes& sizes, Figures& figures) {
  const int64_t n = sizes.product;
  const double macs = static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n);
  Spread seconds;  // of the last measured
  const auto rate_of = [&](DType type, const ExecutorOptions& options, const std::function<void(Operation&)>& then) {
    const Shape shape{n, n};
    GraphBuilder b;
    b.add("MatMul", {b.placeholder("a", type, shape), b.placeholder("b", type, shape)});
    const Graph graph = b.build();
    const Tensor left = parity::floats(type, shape, 2, true), right = parity::floats(type, shape, 3, true);
    Operation product(device, graph, {{{type, shape}, &left}, {{type, shape}, &right}}, options);
    seconds = measure(device, sizes, [&] { product.put(); });
    const double rate = macs / seconds.median;
    if (then) then(product);
    return rate;
  };
  double sgemm = 0;
  const double chain = rate_of(DType::kFloat32, options_of(false, false, 16), [&]([[maybe_unused]] Operation& product) {
#if !defined(SOFTAMP_SERIAL_GRID)
    sgemm = sgemm_seconds(device, sizes, product.operand(0), product.operand(1), product.result());
#endif
  });
  if (sgemm > 0)
    figures.add("matmul_fp32_chain", chain * 1e-12, "T MAC/s", chain / (macs / sgemm), "cuBLAS sgemm", 0.8, seconds);
  else
    figures.add("matmul_fp32_chain", chain * 1e-12, "T MAC/s", std::nan(""), "cuBLAS sgemm, which is not here", 0,
                seconds);
  const double half = rate_of(DType::kFloat16, options_of(true, true, 16), {});
  figures.add("matmul_half_partials_block_16_stochastic", half * 1e-12, "T MAC/s", half / chain, "the fp32 chain", 0.5,
              seconds);
  const double each = rate_of(DType::kFloat16, options_of(true, true, 1), {});
  figures.add("matmul_every_mac_stochastic_13_bits", each * 1e-12, "T MAC/s", each / 1e12, "1 T MAC/s", 1.0, seconds);
  const double nearest = rate_of(DType::kFloat16, options_of(false, false, 1), {});
  figures.add("matmul_every_mac_nearest", nearest * 1e-12, "T MAC/s", nearest / chain, "the fp32 chain", 0, seconds);
  // What the choice between kernels leaves out: which is faster, this machine says.
  const auto instead = [&](const char* name, const cuda::ProductChoice& choice, double best, DType type,
                           const ExecutorOptions& options) {
    cuda::product_choice() = choice;
    const double rate = rate_of(type, options, {});
    cuda::product_choice() = {};
    figures.add(name, rate * 1e-12, "T MAC/s", rate / best, "the kernel that is chosen", 0, seconds);
  };
  instead("matmul_fp32_chain_small_tiles", {true, cuda::TileSize::kSmall}, chain, DType::kFloat32,
          options_of(false, false, 16));
  instead("matmul_fp32_chain_by_registers", {true, {}, false}, chain, DType::kFloat32, options_of(false, false, 16));
  instead("matmul_fp32_chain_small_tiles_by_registers", {true, cuda::TileSize::kSmall, false}, chain, DType::kFloat32,
          options_of(false, false, 16));
  instead("matmul_fp32_chain_general", {false, {}}, chain, DType::kFloat32, options_of(false, false, 16));
  instead("matmul_half_partials_block_16_stochastic_general", {false, {}}, half, DType::kFloat16,
          options_of(true, true, 16));
  instead("matmul_every_mac_stochastic_general", {false, {}}, each, DType::kFloat16, options_of(true, true, 1));
}

}  // namespace softamp::gpu
