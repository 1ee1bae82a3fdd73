// Convolutions on ResNet-8's layers (CIFAR-10, batch 32, fp16), forward and both gradients, against our own matrix
// product of 1024 x 1024 x 1024 under the same partials: rates of multiply-adds that convolutions make, skipped taps
// not counted. Every round runs the matrix product and all layers in turn; medians of the rounds' ratios are reported.
//
//   bench_convolution [rounds, default 15] [threads, default 2]; SOFTAMP_BENCH_ISA=NAME
#include <cstdlib>
#include <map>
#include <memory>
#include <random>

#include "bench/measure.h"
#include "bench/sets.h"
#include "emu/convolutions/convolution.h"
#include "emu/op_kernel.h"
#include "src/graph/node_check.h"

namespace {

using namespace softamp;
using Ints = std::vector<int64_t>;

/// A node with its kernel and buffers.
class Job {
 public:
  Job(std::string title, double macs, std::string op, std::vector<TensorType> inputs, Attributes attributes,
      const emu::EngineSettings& settings)
      : name(std::move(title)), products(macs), settings_(settings) {
    node_.name = name;
    node_.op = std::move(op);
    node_.attributes = std::move(attributes);
    std::mt19937 random(1);
    for (const TensorType& t : inputs) {
      node_.inputs.push_back({static_cast<int>(node_.inputs.size()), 0});
      tensors_.emplace_back(t);
      for (uint16_t& code : tensors_.back().as<uint16_t>()) {  // about +-1
        const auto state = static_cast<uint32_t>(random());
        code = static_cast<uint16_t>((state >> 31) << 15 | (0x3400u + (state >> 16 & 0x7FFu)));
      }
    }
    graph_detail::complete_node(node_, inputs);
    tensors_.emplace_back(node_.outputs[0]);
    std::vector<std::string> warnings;
    const bool product = node_.op == "MatMul";
    for (const emu::KernelEntry& e : product ? emu::product_kernels() : emu::convolution_kernels())
      if (node_.op == e.op) kernel_ = e.make({node_, inputs, settings_, warnings});
    scratch_ = Tensor(DType::kBool, Shape{static_cast<int64_t>(kernel_->scratch_bytes())});
  }
  Job(const Job&) = delete;

  /// Multiply-adds per second of one run.
  double rate() {
    const void* in[] = {tensors_[0].data(), tensors_[1].data()};
    void* out[] = {tensors_[2].data()};
    const auto start = std::chrono::steady_clock::now();
    kernel_->run({in, out, scratch_.data(), settings_.environment, nullptr});
    return products / std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  std::string name;
  double products;
  std::vector<double> rates, ratios;

 private:
  emu::EngineSettings settings_;
  Node node_;
  std::vector<Tensor> tensors_;
  Tensor scratch_;
  std::unique_ptr<emu::OpKernel> kernel_;
};

struct Layer {
  const char* name;
  int64_t size, in, out, stride;
};
constexpr Layer kLayers[] = {{"3->16 at 32x32", 32, 3, 16, 1},
                             {"16->16 at 32x32", 32, 16, 16, 1},
                             {"16->32 at 32x32, stride 2", 32, 16, 32, 2},
                             {"32->32 at 16x16", 16, 32, 32, 1},
                             {"32->64 at 16x16, stride 2", 16, 32, 64, 2},
                             {"64->64 at 8x8", 8, 64, 64, 1}};
constexpr int64_t kBatch = 32;

/// Products of a layer, skipped taps left out.
double products_of(const Layer& l) {
  const int64_t out = (l.size + l.stride - 1) / l.stride;
  const kernel::WindowAxis axis{l.size, out, 3, l.stride, 1, kernel::same_padding(l.size, out, 3, l.stride)};
  double taps = 0;
  for (int64_t o = 0; o < out; ++o)
    for (int64_t k = 0; k < 3; ++k) taps += axis.source(o, k) >= 0;
  return taps * taps * static_cast<double>(kBatch * l.in * l.out);
}

std::unique_ptr<Job> layer_job(const Layer& l, int direction, const emu::EngineSettings& settings) {
  const int64_t out = (l.size + l.stride - 1) / l.stride;
  const Shape input{kBatch, l.size, l.size, l.in}, filter{3, 3, l.in, l.out}, output{kBatch, out, out, l.out};
  const auto list = [](const Shape& s) { return Ints(s.begin(), s.end()); };
  Attributes a{{"strides", Ints{1, l.stride, l.stride, 1}}, {"padding", std::string("SAME")}};
  const DType h = DType::kFloat16;
  if (direction == 0)
    return std::make_unique<Job>(l.name, products_of(l), "Conv2D", std::vector<TensorType>{{h, input}, {h, filter}}, a,
                                 settings);
  if (direction == 1) {
    a["input_sizes"] = list(input);
    return std::make_unique<Job>(l.name, products_of(l), "Conv2DBackpropInput",
                                 std::vector<TensorType>{{h, filter}, {h, output}}, a, settings);
  }
  a["filter_sizes"] = list(filter);
  return std::make_unique<Job>(l.name, products_of(l), "Conv2DBackpropFilter",
                               std::vector<TensorType>{{h, input}, {h, output}}, a, settings);
}

std::string partials_of(bool half, bool stochastic) {
  return std::string(half ? "half partials, block 16" : "float partials") + (stochastic ? ", stochastic" : "");
}
constexpr const char* kDirections[] = {"forward", "input gradient", "filter gradient"};

/// Seconds of each layer in each direction.
std::vector<double> measure(bool half, bool stochastic, int rounds, int threads) {
  emu::EngineSettings settings;
  FloatingPointBehaviour behaviour = FloatingPointBehaviour::all_off();
  behaviour.esr = stochastic;
  settings.environment.semantics = Semantics::ipu(behaviour);
  settings.threads = threads;
  settings.isa = bench::chosen_set();
  settings.matmuls.half_partials = settings.convolutions.half_partials = half;
  settings.matmuls.half_between_blocks = settings.convolutions.half_between_blocks = half;
  const TensorType square{DType::kFloat16, Shape{1024, 1024}};
  Job matmul("MatMul", 1024.0 * 1024 * 1024, "MatMul", {square, square}, {}, settings);
  std::vector<std::unique_ptr<Job>> jobs;
  for (int d = 0; d < 3; ++d)
    for (const Layer& l : kLayers) jobs.push_back(layer_job(l, d, settings));
  constexpr size_t kCount = std::size(kLayers);
  std::vector<double> all[4];  // ratios of the layers together, per direction and of all
  for (int round = 0; round < rounds + 1; ++round) {
    const double base = matmul.rate();
    double time[4] = {}, products[4] = {};
    for (size_t j = 0; j < jobs.size(); ++j) {
      const double rate = jobs[j]->rate();
      if (round == 0) continue;
      for (const size_t which : {j / kCount, size_t{3}}) {
        time[which] += jobs[j]->products / rate;
        products[which] += jobs[j]->products;
      }
      jobs[j]->rates.push_back(rate);
      jobs[j]->ratios.push_back(rate / base);
    }
    if (round == 0) continue;
    matmul.rates.push_back(base);
    for (int which = 0; which < 4; ++which) all[which].push_back(products[which] / time[which] / base);
  }
  bench::print_later("\n%s, %d threads; MatMul 1024^3: %.1f G MAC/s\n", partials_of(half, stochastic).c_str(), threads,
                     bench::median(matmul.rates) * 1e-9);
  bench::print_later("| direction | layer | G MAC/s | x MatMul |\n|---|---|---|---|\n");
  std::vector<double> seconds;
  for (size_t j = 0; j < jobs.size(); ++j) {
    bench::print_later("| %s | %s | %.1f | %.2f |\n", kDirections[j / kCount], jobs[j]->name.c_str(),
                       bench::median(jobs[j]->rates) * 1e-9, bench::median(jobs[j]->ratios));
    seconds.push_back(jobs[j]->products / bench::median(jobs[j]->rates));
    if (j % kCount + 1 == kCount)
      bench::print_later("| %s | all layers | | %.2f (>= 0.60) |\n", kDirections[j / kCount],
                         bench::median(all[j / kCount]));
  }
  bench::print_later("| all | all layers | | %.2f |\n", bench::median(all[3]));
  return seconds;
}

void add_partials(bool half, bool stochastic, int rounds, int threads) {
  std::vector<std::string> names;
  for (const char* direction : kDirections)
    for (const Layer& l : kLayers)
      names.push_back("convolution/" + partials_of(half, stochastic) + "/" + direction + "/" + l.name);
  bench::add_table(names, [=] { return measure(half, stochastic, rounds, threads); });
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<int> given = bench::arguments(argc, argv, {{"ROUNDS", 15}, {"THREADS", 2}});
  const int rounds = given[0], threads = given[1];
  add_partials(false, false, rounds, threads);
  add_partials(true, false, rounds, threads);
  add_partials(true, true, rounds, threads);
  return bench::finish();
}
