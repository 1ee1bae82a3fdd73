// What the CUDA engine does a second, each figure as a ratio to a limit measured in the same run:
//   gpu_bench [--small] [--json FILE]
// Exit code 0: measured (met or not: the figures say so); 1: an error; 2: usage; 77: no GPU. --small: sizes for a host
// that runs the kernels serially.
//
// Kernels are put into the device's queue many times over and waited for once; medians of the rounds.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <functional>
#include <initializer_list>
#include <stdexcept>

#if !defined(SOFTAMP_SERIAL_GRID)
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#endif

#include "cuda/engine.h"
#include "cuda/op_kernel.h"
#include "softamp/engine/settings.h"
#include "softamp/train/trainer.h"
#include "tests/backend/parity.h"
#include "tests/gpu/install.h"
#include "tests/gpu/json_file.h"

namespace {

using namespace softamp;
using Clock = std::chrono::steady_clock;

struct Sizes {
  int64_t elements = int64_t{1} << 26, product = 4096, copy = int64_t{1} << 30;
  int64_t batch = 128;
  int rounds = 5, steps = 10;
  double least = 0.05;  ///< seconds to a round
  const char* network = "resnet8";
};
constexpr Sizes kSmall{3000, 40, 4096, 2, 1, 1, 0, "small_cnn"};

double seconds_of(const std::function<void()>& work) {
  const Clock::time_point start = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Seconds of one `put`, of as many in the queue as take `least` seconds.
double measure(cuda::Device& device, const Sizes& sizes, const std::function<void()>& put) {
  const auto turn = [&](int times) {
    return seconds_of([&] {
      for (int i = 0; i < times; ++i) put();
      device.wait();
    });
  };
  turn(1);
  int times = 1;
  while (sizes.least > 0 && times < 4096 && turn(times) < sizes.least) times *= 2;
  std::vector<double> rounds;
  for (int i = 0; i < sizes.rounds; ++i) rounds.push_back(turn(times) / times);
  std::sort(rounds.begin(), rounds.end());
  return rounds[rounds.size() / 2];
}

/// Memory of the device for as long as its owner.
class Memory {
 public:
  Memory(cuda::Device& device, size_t bytes) : device_(device), data_(device.allocate(std::max<size_t>(bytes, 256))) {}
  ~Memory() { device_.release(data_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  void* get() const { return data_; }

 private:
  cuda::Device& device_;
  void* data_;
};

/// One operation of one node, on operands that stay on the device.
class Operation {
 public:
  Operation(cuda::Device& device, const Graph& graph, std::initializer_list<const Tensor*> operands,
            const ExecutorOptions& options)
      : device_(device), node_(graph.node(graph.size() - 1)), settings_(engine::settings_of(options)) {
    for (const Tensor* const t : operands) {
      const size_t bytes = static_cast<size_t>(t->type().bytes());
      types_.push_back(t->type());
      memory_.push_back(std::make_unique<Memory>(device, bytes));
      device.upload(memory_.back()->get(), t->data(), bytes);
      in_.push_back(memory_.back()->get());
    }
    for (const TensorType& type : node_.outputs) {
      memory_.push_back(std::make_unique<Memory>(device, static_cast<size_t>(type.bytes())));
      out_.push_back(memory_.back()->get());
    }
    const cuda::KernelFactory make = cuda::find_kernel(node_.op);
    if (!make) throw std::runtime_error("the CUDA engine has no " + node_.op);
    kernel_ = make({node_, types_, settings_, warnings_}, device);
    memory_.push_back(std::make_unique<Memory>(device, kernel_->scratch_bytes()));
    scratch_ = memory_.back()->get();
    const uint32_t step = 1;
    memory_.push_back(std::make_unique<Memory>(device, sizeof step));
    device.upload(memory_.back()->get(), &step, sizeof step);
    environment_.step = static_cast<const uint32_t*>(memory_.back()->get());
    environment_.environment = settings_.environment;
    environment_.environment.operation = node_.operation_id;
    device.begin_operation(node_.op + " '" + node_.name + "'");
  }
  void put() { kernel_->enqueue({in_.data(), out_.data(), scratch_, environment_, nullptr, device_}); }
  const void* operand(size_t i) const { return in_[i]; }
  void* result() const { return out_[0]; }

 private:
  cuda::Device& device_;
  const Node& node_;
  engine::EngineSettings settings_;
  std::vector<TensorType> types_;
  std::vector<std::string> warnings_;
  std::vector<std::unique_ptr<Memory>> memory_;
  std::vector<const void*> in_;
  std::vector<void*> out_;
  void* scratch_ = nullptr;
  cuda::StepEnvironment environment_{};
  std::unique_ptr<cuda::OpKernel> kernel_;
};

ExecutorOptions options_of(bool stochastic, bool half_partials, int block) {
  ExecutorOptions o;
  o.config.set("floating_point_behaviour.esr", stochastic);
  o.config.set("floating_point_behaviour.nanoo", true);
  if (half_partials) o.config.matmuls.poplar_options["partialsType"] = "half";
  o.amp_block = block;
  o.seed = 7;
  return o;
}

/// Written anew after every figure, so that a stop loses none.
struct Figures {
  std::string device, file, error;
  gpu::Object json;
  int missed = 0;

  bool write() const {
    gpu::Object all;
    all.add("device", gpu::quoted(device))
        .add("error", error.empty() ? "null" : gpu::quoted(error))
        .add("missed", gpu::number(static_cast<uint64_t>(missed)))
        .add("figures", json.text());
    if (all.write(file)) return true;
    std::fprintf(stderr, "ERROR %s: cannot be written\n", file.c_str());
    return false;
  }

  /// `ratio` to what `of` says, at least `goal` (0: no goal).
  void add(const std::string& name, double rate, const char* unit, double ratio, const char* of, double goal) {
    const bool judged = goal > 0 && ratio == ratio, met = judged && ratio >= goal;
    missed += judged && !met;
    std::printf("%-44s %10.4g %-10s %8.3f x %s%s\n", name.c_str(), rate, unit, ratio, of,
                !judged ? ""
                : met   ? "  (met)"
                        : "  (MISSED)");
    std::fflush(stdout);
    json.add(name, gpu::Object()
                       .add("rate", gpu::number(rate))
                       .add("unit", gpu::quoted(unit))
                       .add("ratio", gpu::number(ratio))
                       .add("of", gpu::quoted(of))
                       .add("goal", gpu::number(goal))
                       .add("met", !judged ? "null"
                                   : met   ? "true"
                                           : "false")
                       .text());
    if (!write()) throw std::runtime_error("no figure is kept");
  }
};

/// Bytes read and written a second by a copy within the device's memory.
double copy_rate(cuda::Device& device, const Sizes& sizes) {
  const size_t bytes = static_cast<size_t>(sizes.copy);
  const Memory from(device, bytes), to(device, bytes);
  device.fill(from.get(), 0x3C, bytes);
  return 2.0 * static_cast<double>(bytes) / measure(device, sizes, [&] { device.copy(to.get(), from.get(), bytes); });
}

void roundings(cuda::Device& device, const Sizes& sizes, double copied, Figures& figures) {
  const Shape shape{sizes.elements};
  const Tensor x = parity::floats(DType::kFloat32, shape, 1, true);
  for (const bool stochastic : {false, true}) {
    GraphBuilder b;
    b.add("Cast", {b.placeholder("x", DType::kFloat32, shape)}, {{"DstT", DType::kFloat16}});
    const Graph graph = b.build();
    Operation cast(device, graph, {&x}, options_of(stochastic, false, 16));
    const double rate = static_cast<double>(sizes.elements) / measure(device, sizes, [&] { cast.put(); });
    figures.add(stochastic ? "round_stochastic_fp32_to_fp16" : "round_nearest_fp32_to_fp16", rate * 1e-9, "G/s",
                rate * 6 / copied, "the device copy rate by bytes", 0.8);
  }
}

#if !defined(SOFTAMP_SERIAL_GRID)
/// Seconds of cuBLAS's sgemm (no tensor cores) on the operands, where its library is on this machine; else 0. It is
/// measured against, never linked: nothing of it is on the exact path.
double sgemm_seconds(cuda::Device& device, const Sizes& sizes, const void* a, const void* b, void* c) {
  void* library = nullptr;
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

void products(cuda::Device& device, const Sizes& sizes, Figures& figures) {
  const int64_t n = sizes.product;
  const double macs = static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n);
  const auto rate_of = [&](DType type, const ExecutorOptions& options, const std::function<void(Operation&)>& then) {
    const Shape shape{n, n};
    GraphBuilder b;
    b.add("MatMul", {b.placeholder("a", type, shape), b.placeholder("b", type, shape)});
    const Graph graph = b.build();
    const Tensor left = parity::floats(type, shape, 2, true), right = parity::floats(type, shape, 3, true);
    Operation product(device, graph, {&left, &right}, options);
    const double rate = macs / measure(device, sizes, [&] { product.put(); });
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
    figures.add("matmul_fp32_chain", chain * 1e-12, "T MAC/s", chain / (macs / sgemm), "cuBLAS sgemm", 0.5);
  else
    figures.add("matmul_fp32_chain", chain * 1e-12, "T MAC/s", std::nan(""), "cuBLAS sgemm, which is not here", 0);
  const double half = rate_of(DType::kFloat16, options_of(true, true, 16), {});
  figures.add("matmul_half_partials_block_16_stochastic", half * 1e-12, "T MAC/s", half / chain, "the fp32 chain", 0.4);
  const double each = rate_of(DType::kFloat16, options_of(true, true, 1), {});
  figures.add("matmul_every_mac_stochastic_13_bits", each * 1e-12, "T MAC/s", each / 0.7e12, "0.7 T MAC/s (an H100)",
              1.0);
}

/// Seconds of a training step, the best of some after two that warm up.
double step_seconds(const Sizes& sizes, const std::string& backend, int threads, int steps) {
  const NetworkInfo network = find_network(sizes.network);
  ModelOptions m;
  m.batch_size = sizes.batch;
  m.image = network.image;
  m.classes = network.classes;
  m.precision = Precision::parse("mixed");
  TrainerOptions o;
  o.executor = options_of(true, true, 16);
  o.executor.config.convolutions.poplar_options["partialsType"] = "half";
  o.executor.backend = backend;
  o.executor.threads = threads;
  o.loss_scale.initial = 128;
  const Model model = build_model(network.build, m);
  const Shape images{m.batch_size, m.image[0], m.image[1], m.image[2]};
  const Batch batch{parity::floats(model.precision.compute, images, 4, true),
                    parity::integers({m.batch_size}, 5, 0, static_cast<int32_t>(m.classes) - 1)};
  Trainer trainer(model, o);
  double best = 1e30;
  for (int i = 0; i < steps + 2; ++i) {
    const double s = seconds_of([&] { trainer.step({&batch, 1}); });
    if (i >= 2 || steps == 1) best = std::min(best, s);
  }
  return best;
}

void training(const Sizes& sizes, Figures& figures) {
  const double emu = step_seconds(sizes, "emu", 2, 1), cuda_step = step_seconds(sizes, "cuda", 0, sizes.steps);
  figures.add(std::string("training_step_") + sizes.network + "_batch_" + std::to_string(sizes.batch),
              static_cast<double>(sizes.batch) / cuda_step, "images/s", emu / cuda_step, "emu on two cores", 20);
}

}  // namespace

int main(int argc, char** argv) {
  Sizes sizes;
  std::string file;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--small") == 0) {
      sizes = kSmall;
    } else if (std::strcmp(argv[i], "--json") == 0 && i + 1 < argc) {
      file = argv[++i];
    } else {
      std::fprintf(stderr, "usage: gpu_bench [--small] [--json FILE]\n");
      return 2;
    }
  }
  const gpu::Installed installed;
  std::string why;
  const std::string name = cuda::device_name(&why);
  if (name.empty()) {
    std::printf("no GPU: %s\n", why.c_str());
    return 77;
  }
  std::printf("%s\n", name.c_str());
  Figures figures{name, file, {}, {}, 0};
  try {
    cuda::Device device;
    const double copied = copy_rate(device, sizes);
    std::printf("%-44s %10.4g G bytes/s, read and written\n", "device copy", copied * 1e-9);
    figures.json.add("device_copy_bytes_per_second", gpu::number(copied));
    roundings(device, sizes, copied, figures);
    products(device, sizes, figures);
    training(sizes, figures);
  } catch (const std::exception& e) {
    figures.error = e.what();
    std::printf("ERROR %s\n", e.what());
  }
  return figures.write() && figures.error.empty() ? 0 : 1;
}
