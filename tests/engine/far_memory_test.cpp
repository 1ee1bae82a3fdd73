// An engine whose memory is not the host's, as a GPU's: what the executor uploads, downloads and copies, and that it
// gives kernels no address of the host and reads none of the engine.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <new>

#include "emu/op_kernel.h"
#include "softamp/engine/graph_executor.h"
#include "softamp/findings/exception.h"
#include "tests/graph/executor_check.h"
#include "tests/graph/random_graph.h"

namespace softamp::test {
namespace {

/// The CPU's kernels, on memory whose addresses are no addresses of the host: to use one of them there is a trap.
class FarEngine final : public engine::Engine {
 public:
  explicit FarEngine(bool at_once) : at_once_(at_once) {}

  const char* name() const override { return "far"; }
  std::unique_ptr<engine::OpKernel> make_kernel(const engine::OpContext& context) const override {
    return emu::find_kernel(context)(context);
  }
  bool host_memory() const override { return false; }
  void* allocate(size_t bytes) override {
    void* const memory = ::operator new (bytes, std::align_val_t{64});
    std::memset(memory, 0xA5, bytes);
    blocks_[reinterpret_cast<uintptr_t>(memory)] = bytes;
    return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(memory) + kFar);
  }
  void release(void* memory) noexcept override {
    const uintptr_t at = reinterpret_cast<uintptr_t>(memory) - kFar;
    blocks_.erase(at);
    ::operator delete (reinterpret_cast<void*>(at), std::align_val_t{64});
  }
  void upload(void* to, const void* from, size_t bytes) override { std::memcpy(near(to, bytes), from, bytes); }
  void download(void* to, const void* from, size_t bytes) override { std::memcpy(to, near(from, bytes), bytes); }
  void copy(void* to, const void* from, size_t bytes) override {
    std::memmove(near(to, bytes), near(from, bytes), bytes);
  }

  void run(const engine::Call& call, const kernel::Environment& environment, FpStatus* status) override {
    std::vector<const void*> in;
    std::vector<void*> out;
    for (size_t k = 0; k < call.node->inputs.size(); ++k) in.push_back(near(call.in[k], 1));
    for (size_t k = 0; k < call.node->outputs.size(); ++k)
      out.push_back(near(call.out[k], call.node->outputs[k].bytes()));
    kernel::Environment here = environment;
    for (kernel::WordTable& table : here.table) table.words = static_cast<const uint32_t*>(near(table.words, 4));
    const auto& kernel = static_cast<const emu::OpKernel&>(*call.kernel);
    kernel.run({in.data(), out.data(), near(call.scratch, kernel.scratch_bytes()), here, status});
  }
  bool runs_at_once() const override { return at_once_; }
  void run_all(std::span<const engine::Call> calls, const kernel::Environment& environment,
               std::span<FpStatus> statuses) override {
    for (size_t i = 0; i < calls.size(); ++i) {
      kernel::Environment of_call = environment;
      of_call.operation = calls[i].node->operation_id;
      run(calls[i], of_call, statuses.empty() ? nullptr : &statuses[i]);
    }
  }

 private:
  static constexpr uintptr_t kFar = uintptr_t{1} << 60;  // no machine has such addresses

  void* near(const void* far, size_t bytes) const {
    if (!far) return nullptr;
    const uintptr_t at = reinterpret_cast<uintptr_t>(far) - kFar;
    auto block = blocks_.upper_bound(at);
    if (block == blocks_.begin() || (--block, at + bytes > block->first + block->second))
      throw std::logic_error("an address that is not the engine's");
    return reinterpret_cast<void*>(at);
  }

  bool at_once_;
  std::map<uintptr_t, size_t> blocks_;
};

std::unique_ptr<Executor> far_executor(const Graph& graph, const ExecutorOptions& options, bool at_once) {
  return engine::make_graph_executor(graph, options, std::make_unique<FarEngine>(at_once));
}

void expect_same(const RunResult& expected, const RunResult& found, const std::string& where) {
  ASSERT_EQ(expected.values.size(), found.values.size()) << where;
  for (size_t f = 0; f < expected.values.size(); ++f)
    EXPECT_TRUE(expected.values[f].same_bits(found.values[f])) << where << ", fetch " << f;
  ASSERT_EQ(expected.operations.size(), found.operations.size()) << where;
  for (size_t i = 0; i < expected.operations.size(); ++i) {
    EXPECT_EQ(expected.operations[i].name, found.operations[i].name) << where;
    EXPECT_EQ(expected.operations[i].status.flags, found.operations[i].status.flags) << where;
  }
}

ExecutorOptions telling(ExecutorOptions o) {
  o.status = true;
  o.print = [](const std::string&) {};
  return o;
}

TEST(FarMemory, RandomGraphsAreThoseOfTheHost) {
  for (uint64_t seed = 0; seed < 8; ++seed)
    for (const bool at_once : {false, true}) {
      const RandomGraph g = RandomGraphMaker(9000 + seed).make(25);
      const ExecutorOptions o = telling(stochastic());
      const auto host = make_executor(g.graph, o), far = far_executor(g.graph, o, at_once);
      for (int step = 0; step < 2; ++step)
        expect_same(host->run(g.feed_list(), g.fetches), far->run(g.feed_list(), g.fetches),
                    "seed " + std::to_string(seed));
    }
}

// What is fetched may be a feed, a constant, a variable or nothing at all; another program uses what the first one has
// there.
TEST(FarMemory, FeedsConstantsAndVariables) {
  GraphBuilder b;
  const Attributes of_four = {{"dtype", DType::kFloat16}, {"shape", Shape{4}}};
  const Port v = b.add("VariableV2", {}, of_four, "v"), w = b.add("VariableV2", {}, of_four, "w");
  const Port x = b.placeholder("x", DType::kFloat16, {4}), none = b.placeholder("none", DType::kFloat16, {0});
  const Port c = b.constant(halves({1, 2, 3, 4}), "c");
  const Port next = b.add("AddV2", {v, b.add("Mul", {x, c})}, {}, "next");
  b.add("Assign", {next}, {{"ref", std::string("v")}});
  b.add("Assign", {v}, {{"ref", std::string("w")}});
  b.add("OutfeedEnqueue", {next}, {{"queue", std::string("q")}});
  b.add("MatMul",
        {b.add("Reshape", {w}, {{"shape", std::vector<int64_t>{2, 2}}}, "square"),
         b.add("Reshape", {c}, {{"shape", std::vector<int64_t>{2, 2}}})},
        {}, "product");
  b.add("Neg", {none}, {}, "nothing");
  const Graph graph = b.build();
  for (const RandomEngine random : {RandomEngine::kPhilox, RandomEngine::kXoroshiro128aox})
    for (const bool at_once : {false, true}) {
      ExecutorOptions o = telling(stochastic(random));
      const auto host = make_executor(graph, o), far = far_executor(graph, o, at_once);
      const Tensor first = halves({0.1, -0.2, 0.3, 1001}), empty(DType::kFloat16, {0});
      for (Executor* e : {host.get(), far.get()}) e->set_variable("v", halves({1.5, 2.5, 3.5, 4.5}));
      for (const Names& fetches :
           {Names{"x", "c", "v", "next", "nothing"}, Names{"product", "c"}, Names{"x"}, Names{"none"}}) {
        const Tensors feeds = {{"x", &first}, {"none", &empty}};
        expect_same(run(*host, feeds, fetches), run(*far, feeds, fetches), fetches[0]);
        for (const char* name : {"v", "w"}) EXPECT_TRUE(host->variable(name).same_bits(far->variable(name))) << name;
      }
      const std::vector<Tensor> queue = host->take_outfeed("q"), far_queue = far->take_outfeed("q");
      ASSERT_EQ(queue.size(), far_queue.size());
      for (size_t i = 0; i < queue.size(); ++i) EXPECT_TRUE(queue[i].same_bits(far_queue[i]));
    }
}

// tests: N93
TEST(FarMemory, AnExceptionShowsItsOperands) {
  GraphBuilder b;
  const Port x = b.placeholder("x", DType::kFloat16, {4});
  b.add("Mul", {x, x}, {}, "y");
  const Graph graph = b.build();
  const Tensor large = halves({1, 2, 10000, 4});
  for (const bool at_once : {false, true})
    EXPECT_EQ(refusal<FloatingPointError>([&] {
                run(*far_executor(graph, stopping_on(false, false, true), at_once), {{"x", &large}}, {"y"});
              }),
              refusal<FloatingPointError>([&] {
                run(*make_executor(graph, stopping_on(false, false, true)), {{"x", &large}}, {"y"});
              }));
}

}  // namespace
}  // namespace softamp::test
