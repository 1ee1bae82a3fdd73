// Reductions, softmax, normalisations and depthwise convolutions against memcpy of as many bytes: each tensor that an
// operation reads or writes counted once (norms at least 0.6, softmax 0.3 on tensors past the cache, two
// threads). Commands and results: RESULTS.md.
#include <cstdio>
#include <memory>
#include <random>

#include "bench/measure.h"
#include "bench/sets.h"
#include "emu/op_kernel.h"
#include "softamp/graph/graph.h"

namespace {

using namespace softamp;
using namespace softamp::bench;

/// One operation with operands of its own, ready to run again and again.
class Subject {
 public:
  Subject(const std::string& op, Attributes attributes, std::vector<Tensor> inputs, int threads,
          bulk::InstructionSet isa)
      : inputs_(std::move(inputs)) {
    settings_.threads = threads;
    settings_.isa = isa;
    settings_.environment.semantics = Semantics::ipu();
    GraphBuilder builder;
    std::vector<Port> ports;
    for (const Tensor& t : inputs_) ports.push_back(builder.placeholder("x", t.dtype(), t.shape()));
    const Port port = builder.add(op, ports, std::move(attributes), "op");
    graph_ = builder.build();
    for (const Tensor& t : inputs_) types_.push_back(t.type()), in_.push_back(t.data());
    const Node& node = graph_.node(port.node);
    kernel_ = emu::find_kernel(op)(emu::OpContext{node, types_, settings_, warnings_});
    for (const TensorType& t : node.outputs) outputs_.emplace_back(t);
    for (Tensor& t : outputs_) out_.push_back(t.data());
    scratch_ = Tensor(DType::kFloat32, Shape{static_cast<int64_t>(kernel_->scratch_bytes() / 4 + 16)});
  }
  void operator()() {
    kernel_->run({in_.data(), out_.data(), scratch_.data(), settings_.environment, nullptr});
    benchmark::ClobberMemory();
  }
  /// Bytes of inputs and outputs together.
  size_t bytes() const {
    size_t sum = 0;
    for (const auto* list : {&inputs_, &outputs_})
      for (const Tensor& t : *list) sum += t.bytes();
    return sum;
  }

 private:
  std::vector<Tensor> inputs_, outputs_;
  emu::EngineSettings settings_;
  Graph graph_;
  std::vector<TensorType> types_;
  std::vector<std::string> warnings_;
  std::unique_ptr<emu::OpKernel> kernel_;
  std::vector<const void*> in_;
  std::vector<void*> out_;
  Tensor scratch_;
};

Tensor values(DType type, const Shape& shape) {
  Tensor t(type, shape);
  std::mt19937 random(1);
  const FloatFormat f = format_of(type);
  // Numbers in [1, 2), of either sign but for parameters and statistics, by their mantissas.
  const uint64_t one = static_cast<uint64_t>(f.bias) << f.mantissa_bits();
  const int64_t n = shape.elements();
  for (int64_t i = 0; i < n; ++i) {
    const auto state = static_cast<uint32_t>(random());
    const uint64_t code =
        one | (state >> 9 & f.mantissa_mask()) | (state >> 8 & 1 && shape.rank() > 1 && n > 4096 ? f.sign_mask() : 0);
    std::memcpy(static_cast<char*>(t.data()) + i * static_cast<int64_t>(size_of(type)), &code, size_of(type));
  }
  return t;
}

struct Job {
  std::string name, op;
  Attributes attributes;
  std::vector<std::pair<DType, Shape>> inputs;
  double least = 0;
};

/// The floats whose copying moves as many bytes as the operation: half of them read, half written.
void against_memcpy(const Job& j, int threads, bulk::InstructionSet isa) {
  size_t bytes = 0;
  for (const auto& [type, shape] : j.inputs) bytes += TensorType{type, shape}.bytes();
  const std::string name = j.name + "/" + std::to_string(threads) + (threads == 1 ? " thread" : " threads") +
                           (isa == bulk::InstructionSet::kAuto ? "" : std::string(" ") + bulk::name(isa));
  benchmark::RegisterBenchmark(name.c_str(),
                               [j, threads, isa, name](benchmark::State& state) {
                                 std::vector<Tensor> inputs;
                                 for (const auto& [type, shape] : j.inputs) inputs.push_back(values(type, shape));
                                 Subject subject(j.op, j.attributes, std::move(inputs), threads, isa);
                                 const size_t n = subject.bytes() / 8;
                                 compare(state, name, n, threads, [&] { subject(); }, {}, {j.least, false, ""});
                               })
      ->UseManualTime()
      ->Iterations(9)
      ->Unit(benchmark::kMicrosecond);
}

void register_all() {
  constexpr DType kHalf = DType::kFloat16, kFloat = DType::kFloat32;
  for (const DType t : {kFloat, kHalf}) {
    const std::string type = std::string(" ") + name_of(t);
    const Shape rows{64 << 10, 1024}, images{64, 128, 128, 64}, c{64}, wide{1024}, none{0}, classes{64 << 10, 1000},
        samples{16, 128, 128, 64}, of_rows{64 << 10}, groups{16, 8};
    using Ints = std::vector<int64_t>;
    const Shape filter{3, 3, 64, 1};
    const Attributes same = {{"strides", Ints{1, 1, 1, 1}}, {"padding", std::string("SAME")}};
    const auto with_sizes = [&](const char* name, const Shape& s) {
      Attributes a = same;
      a[name] = Ints(s.begin(), s.end());
      return a;
    };
    const std::vector<Job> jobs = {
        {"Sum rows" + type, "Sum", {{"axes", Ints{1}}}, {{t, rows}}},
        {"Sum columns" + type, "Sum", {{"axes", Ints{0}}}, {{t, rows}}},
        {"Max rows" + type, "Max", {{"axes", Ints{1}}}, {{t, rows}}},
        {"BiasAddGrad" + type, "BiasAddGrad", {}, {{t, images}}},
        {"Softmax" + type, "Softmax", {}, {{t, classes}}, 0.3},
        {"LogSoftmax" + type, "LogSoftmax", {}, {{t, classes}}, 0.3},
        {"SoftmaxGrad" + type, "SoftmaxGrad", {}, {{t, classes}, {t, classes}}},
        {"SoftmaxCrossEntropy" + type, "SoftmaxCrossEntropyWithLogits", {}, {{t, classes}, {t, classes}}},
        {"BatchNorm training" + type,
         "FusedBatchNormV3",
         {},
         {{t, images}, {kFloat, c}, {kFloat, c}, {kFloat, none}, {kFloat, none}},
         0.6},
        {"BatchNorm inference" + type,
         "FusedBatchNormV3",
         {{"is_training", false}},
         {{t, images}, {kFloat, c}, {kFloat, c}, {kFloat, c}, {kFloat, c}},
         0.6},
        {"BatchNorm gradient" + type,
         "FusedBatchNormGradV3",
         {},
         {{t, images}, {t, images}, {kFloat, c}, {kFloat, c}, {kFloat, c}},
         0.6},
        {"BatchNorm training stable" + type,
         "FusedBatchNormV3",
         {{"use_stable_statistics", std::string("true")}},
         {{t, images}, {kFloat, c}, {kFloat, c}, {kFloat, none}, {kFloat, none}},
         0.6},
        {"LayerNorm" + type, "LayerNorm", {}, {{t, rows}, {kFloat, wide}, {kFloat, wide}}, 0.6},
        {"LayerNorm stable" + type,
         "LayerNorm",
         {{"use_stable_statistics", std::string("true")}},
         {{t, rows}, {kFloat, wide}, {kFloat, wide}},
         0.6},
        {"LayerNorm gradient" + type,
         "LayerNormGrad",
         {},
         {{t, rows}, {t, rows}, {kFloat, wide}, {kFloat, of_rows}, {kFloat, of_rows}},
         0.6},
        {"GroupNorm" + type, "GroupNorm", {{"groups", int64_t{8}}}, {{t, samples}, {kFloat, c}, {kFloat, c}}, 0.6},
        {"GroupNorm stable" + type,
         "GroupNorm",
         {{"groups", int64_t{8}}, {"use_stable_statistics", std::string("true")}},
         {{t, samples}, {kFloat, c}, {kFloat, c}},
         0.6},
        {"GroupNorm gradient" + type,
         "GroupNormGrad",
         {{"groups", int64_t{8}}},
         {{t, samples}, {t, samples}, {kFloat, c}, {kFloat, groups}, {kFloat, groups}},
         0.6},
        {"Depthwise 3x3" + type, "DepthwiseConv2dNative", same, {{t, samples}, {t, filter}}},
        {"Depthwise 3x3 input gradient" + type,
         "DepthwiseConv2dNativeBackpropInput",
         with_sizes("input_sizes", samples),
         {{t, filter}, {t, samples}}},
        {"Depthwise 3x3 filter gradient" + type,
         "DepthwiseConv2dNativeBackpropFilter",
         with_sizes("filter_sizes", filter),
         {{t, samples}, {t, samples}}},
    };
    for (const Job& j : jobs)
      for (const auto isa : bench::shown_sets()) against_memcpy(j, 2, isa);
  }
}

}  // namespace

int main(int argc, char** argv) {
  register_all();
  return softamp::bench::run(argc, argv);
}
