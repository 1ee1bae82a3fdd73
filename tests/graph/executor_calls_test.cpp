// One executor runs one step at a time: what is refused meanwhile, from callbacks and other threads; and how a run is
// stopped between operations and within one.
#include "tests/graph/executor_check.h"

#include <gtest/gtest.h>

#include <atomic>
#include <ctime>
#include <functional>
#include <thread>

namespace softamp::test {
namespace {

/// Prints x, keeps a copy in a queue, and adds 1 to the variable v.
Graph talkative() {
  GraphBuilder b;
  const Port x = b.placeholder("x", DType::kFloat16, {2});
  const Port v = b.add("VariableV2", {}, {{"dtype", DType::kFloat16}, {"shape", Shape{1}}}, "v");
  const Port said = b.add("PrintTensor", {x}, {{"message", std::string("x")}}, "said");
  b.add("OutfeedEnqueue", {said}, {{"queue", std::string("q")}}, "kept");
  b.add("Assign", {b.add("AddV2", {v, b.constant(halves({1}), "one")}, {}, "next")}, {{"ref", std::string("v")}}, "a");
  b.add("Neg", {said}, {}, "y");
  return b.build();
}

/// A call that is refused while the executor runs, and the name under which it says so.
struct Call {
  const char* name;
  std::function<void(Executor&)> make;
};

TEST(ExecutorCalls, AreRefusedFromCallbacks) {
  const Tensor x = halves({1, 2});
  const std::vector<Call> calls = {{"run",
                                    [&](Executor& e) {
                                      run(e, {{"x", &x}}, {"y"});
                                    }},
                                   {"set_step", [](Executor& e) { e.set_step(7); }},
                                   {"set_variable", [](Executor& e) { e.set_variable("v", halves({9})); }},
                                   {"take_outfeed", [](Executor& e) { e.take_outfeed("q"); }}};
  for (const bool printing : {false, true})
    for (const Call& call : calls) {
      Executor* self = nullptr;
      int asked = 0;
      const auto inner = [&] {
        ++asked;
        EXPECT_EQ(refusal<std::logic_error>([&] {
                    call.make(*self);
                  }).find(std::string("Executor::") + call.name + ": this executor is in the middle of a step"),
                  0u)
            << call.name;
      };
      ExecutorOptions options;
      options.print = [&](const std::string&) {
        if (printing) inner();
      };
      if (!printing) options.observe = [&](uint32_t, const Node&, int, const TensorType&, const void*) { inner(); };
      const auto e = make_executor(talkative(), options);
      self = e.get();
      const RunResult r = run(*e, {{"x", &x}}, {"y"});
      EXPECT_GT(asked, 0);
      EXPECT_TRUE(r.values[0].same_bits(halves({-1, -2}))) << call.name << ": the step goes on";
      EXPECT_EQ(e->step(), 1u);
      EXPECT_EQ(e->variable("v").value(0), 1);
      EXPECT_EQ(e->take_outfeed("q").size(), 1u) << "and afterwards all may be called";
      call.make(*e);
    }
}

TEST(ExecutorCalls, AnErrorOfACallbackFreesTheExecutor) {
  const Tensor x = halves({1, 2});
  bool failing = true;
  ExecutorOptions options;
  options.print = [&](const std::string&) {
    if (failing) throw std::runtime_error("no more paper");
  };
  const auto e = make_executor(talkative(), options);
  EXPECT_EQ(refusal<std::runtime_error>([&] { run(*e, {{"x", &x}}, {"y"}); }), "no more paper");
  EXPECT_EQ(e->step(), 0u);
  failing = false;
  run(*e, {{"x", &x}}, {"y"});
  EXPECT_EQ(e->variable("v").value(0), 1);
}

TEST(ExecutorCalls, EightThreadsAtOnce) {
  const Tensor x = halves({1, 2});
  std::atomic<int> refused{0}, done{0}, inside{0};
  std::atomic<bool> seen{false};
  ExecutorOptions options;
  options.print = [&](const std::string&) {
    EXPECT_EQ(++inside, 1);
    while (!seen) std::this_thread::yield();  // until another thread has been refused
    --inside;
  };
  const auto e = make_executor(talkative(), options);
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) try {
          EXPECT_TRUE(run(*e, {{"x", &x}}, {"y"}).values[0].same_bits(halves({-1, -2})));
          ++done;
        } catch (const std::logic_error&) {
          ++refused;
          seen = true;
        }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_GT(done, 0);
  EXPECT_GT(refused, 0);
  EXPECT_EQ(done + refused, 160);
  EXPECT_EQ(e->step(), static_cast<uint32_t>(done));
  EXPECT_EQ(e->variable("v").value(0), done);
}

/// An operation that takes long, by one of the kinds of code that may.
struct LongOperation {
  const char* op;
  std::vector<Shape> inputs;
  Attributes attributes;
  bool reference;
  Accumulator accumulator = Accumulator::kIpuModelA;
};

TEST(ExecutorCalls, StopWithinALongOperation) {
  const Attributes convolution = {{"strides", std::vector<int64_t>{1, 1, 1, 1}}, {"padding", std::string("SAME")}};
  const Attributes pooling = {{"ksize", std::vector<int64_t>{1, 9, 9, 1}},
                              {"strides", std::vector<int64_t>{1, 1, 1, 1}},
                              {"padding", std::string("SAME")}};
  const Shape matrix{1500, 1500}, images{4, 96, 96, 64}, filter{5, 5, 64, 64}, wide{1 << 12, 1 << 12};
  const std::vector<LongOperation> operations = {
      {"MatMul", {matrix, matrix}, {}, true},
      {"MatMul", {matrix, matrix}, {}, false, Accumulator::kTensorCoreVolta},
      {"MatMul", {{2048, 2048}, {2048, 2048}}, {}, false},
      {"Conv2D", {images, filter}, convolution, true},
      {"Conv2D", {{8, 96, 96, 64}, filter}, convolution, false},
      {"MaxPool", {images}, pooling, true},
      {"AvgPool", {images}, pooling, true},
      {"Exp", {wide}, {}, true},
      {"Mul", {wide, wide}, {}, true},
      {"Softmax", {wide}, {}, true},
      {"Transpose", {wide}, {{"perm", std::vector<int64_t>{1, 0}}}, true},
  };
  for (const LongOperation& o : operations) {
    GraphBuilder b;
    std::vector<Port> ports;
    std::vector<Tensor> tensors;
    for (const Shape& s : o.inputs) {
      ports.push_back(b.placeholder("x" + std::to_string(ports.size()), DType::kFloat16, s));
      tensors.emplace_back(DType::kFloat16, s);
    }
    b.add(o.op, ports, o.attributes, "y");
    ExecutorOptions options;
    options.reference = o.reference;
    options.threads = 2;
    options.accumulator = o.accumulator;
    std::atomic<int> asked{0};
    options.stop = [&] { return ++asked > 2; };  // once before the operation, then within it
    options.device.memory_per_tile = 0;
    const auto e = make_executor(b.build(), options);
    Tensors feeds;
    for (size_t i = 0; i < tensors.size(); ++i) feeds["x" + std::to_string(i)] = &tensors[i];
    const std::clock_t start = std::clock();  // of the processor: other work may share it
    EXPECT_EQ(refusal<RunStopped>([&] { run(*e, feeds, {"y"}); }), "the run was stopped in the middle of an operation")
        << o.op << (o.reference ? ", by its body" : "");
    EXPECT_LT(std::clock() - start, 2 * CLOCKS_PER_SEC) << o.op;
    EXPECT_EQ(e->step(), 0u);
  }
}

TEST(ExecutorCalls, StopBetweenOperationsAndGoOn) {
  const Tensor x = halves({1, 2});
  int left = 3;
  ExecutorOptions options;
  options.print = [](const std::string&) {};
  options.stop = [&] { return --left < 0; };
  const auto e = make_executor(talkative(), options);
  EXPECT_EQ(refusal<RunStopped>([&] {
              run(*e, {{"x", &x}}, {"y"});
            }).find("the run was stopped before the operation "),
            0u);
  EXPECT_EQ(e->step(), 0u);
  EXPECT_EQ(e->variable("v").value(0), 0) << "the step has left nothing";
  EXPECT_TRUE(e->take_outfeed("q").empty());
  left = 1000;
  EXPECT_TRUE(run(*e, {{"x", &x}}, {"y"}).values[0].same_bits(halves({-1, -2})));
  EXPECT_EQ(e->variable("v").value(0), 1);
}

}  // namespace
}  // namespace softamp::test
