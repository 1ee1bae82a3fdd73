// Sums of the arrays of N ranks, element by element, in the order of the ranks (AddN), against memcpy of as many bytes:
// each array that is read or written counted once. What a rank of a training run does with the slices that it was sent
// (docs/CLUSTERS.md). Commands and results: RESULTS.md.
#include <memory>

#include "bench/measure.h"
#include "bench/sets.h"
#include "emu/op_kernel.h"
#include "softamp/graph/graph.h"

namespace {

using namespace softamp;
using namespace softamp::bench;

/// AddN of `ranks` arrays of n elements each.
class RankSum {
 public:
  RankSum(DType type, size_t ranks, size_t n, int threads, bulk::InstructionSet isa) {
    settings_.threads = threads;
    settings_.isa = isa;
    GraphBuilder builder;
    std::vector<Port> ports;
    std::vector<TensorType> types;
    const Shape shape{static_cast<int64_t>(n)};
    for (size_t i = 0; i < ranks; ++i) {
      inputs_.push_back(Tensor::full(type, shape, 1.0 + static_cast<double>(i) / 64));
      ports.push_back(builder.placeholder("x" + std::to_string(i), type, shape));
    }
    for (const Tensor& t : inputs_) types.push_back(t.type()), in_.push_back(t.data());
    const Port port = builder.add("AddN", ports, {}, "sum");
    graph_ = builder.build();
    const Node& node = graph_.node(port.node);
    kernel_ = emu::find_kernel("AddN")(emu::OpContext{node, types, settings_, warnings_});
    output_ = Tensor(node.outputs[0]);
    out_ = {output_.data()};
    scratch_ = Tensor(DType::kFloat32, Shape{static_cast<int64_t>(kernel_->scratch_bytes() / 4 + 16)});
  }
  void operator()() {
    kernel_->run({in_.data(), out_.data(), scratch_.data(), settings_.environment, nullptr});
    benchmark::ClobberMemory();
  }

 private:
  std::vector<Tensor> inputs_;
  Tensor output_, scratch_;
  emu::EngineSettings settings_;
  Graph graph_;
  std::vector<std::string> warnings_;
  std::unique_ptr<emu::OpKernel> kernel_;
  std::vector<const void*> in_;
  std::vector<void*> out_;
};

/// G/s counts 8 bytes, as one of memcpy's floats, which is read and written: 2 G/s are 16 GB/s of all arrays together.
void add_sum(bulk::InstructionSet isa, DType type, size_t ranks, int threads) {
  const size_t n = 4 * kPastCache / (ranks + 1) / size_of(type) / 64 * 64;
  const std::string name = "rank sums/" + std::string(type == DType::kFloat16 ? "float16" : "float32") + "/" +
                           std::to_string(ranks) + " ranks/" + std::to_string(threads) +
                           (threads == 1 ? " thread" : " threads") +
                           (isa == bulk::InstructionSet::kAvx2 ? " avx2" : "");
  benchmark::RegisterBenchmark(name.c_str(),
                               [=](benchmark::State& state) {
                                 RankSum sum(type, ranks, n, threads, isa);
                                 compare(state, name, (ranks + 1) * n * size_of(type) / 8, threads, [&] { sum(); }, {},
                                         {});
                               })
      ->UseManualTime()
      ->Iterations(9)
      ->Unit(benchmark::kMicrosecond);
}

}  // namespace

int main(int argc, char** argv) {
  for (const bulk::InstructionSet isa : shown_sets())
    for (const DType type : {DType::kFloat32, DType::kFloat16})
      for (const size_t ranks : {size_t{2}, size_t{8}, size_t{64}})
        for (const int threads : {1, 2}) add_sum(isa, type, ranks, threads);
  return softamp::bench::run(argc, argv);
}
