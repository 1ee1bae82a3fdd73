// Buffers that are planned, reused and shared in place change no bit; the device's memory is accounted tensor by
// tensor.
#include "tests/graph/executor_check.h"

#include <gtest/gtest.h>

#include <random>

namespace softamp::test {
namespace {

Port neg(GraphBuilder& b, Port p, const char* name = "") { return b.add("Neg", {p}, {}, name); }

/// A deep graph of 64 halves a tensor: sums, products, views, matrix products, splits and copies at random.
Graph deep_graph(uint64_t seed, int operations) {
  std::mt19937_64 random(seed);
  GraphBuilder b;
  std::vector<Port> pool = {b.placeholder("x", DType::kFloat16, {8, 8}), b.placeholder("y", DType::kFloat16, {8, 8})};
  pool.push_back(b.add("VariableV2", {}, {{"dtype", DType::kFloat16}, {"shape", Shape{8, 8}}}, "v"));
  const Port half = b.constant(Tensor::full(DType::kFloat16, {8, 8}, 0.5));
  // Mostly the last few: buffers come and go; now and then an old one lives long.
  const auto some = [&] {
    const size_t n = pool.size(), near = std::min<size_t>(n, 4);
    return pool[random() % 8 ? n - 1 - random() % near : random() % n];
  };
  const auto reshaped = [&](Port p, std::vector<int64_t> shape) {
    return b.add("Reshape", {p}, {{"shape", std::move(shape)}});
  };
  for (int i = 0; i < operations; ++i) {
    const Port p = some(), q = some();
    switch (random() % 9) {
      case 0: pool.push_back(b.add("AddV2", {b.add("Mul", {p, half}), b.add("Mul", {q, half})})); break;
      case 1: pool.push_back(b.add("Mul", {b.add("Relu", {p}), half})); break;
      case 2: pool.push_back(neg(b, p)); break;
      case 3: pool.push_back(b.add("Mul", {b.add("MatMul", {p, half}), half})); break;
      case 4: pool.push_back(reshaped(neg(b, reshaped(p, {64})), {8, 8})); break;
      case 5: pool.push_back(b.add("Identity", {p})); break;
      case 6: pool.push_back(b.add("Transpose", {p}, {{"perm", std::vector<int64_t>{1, 0}}})); break;
      case 7: pool.push_back(b.add("Maximum", {p, q})); break;
      case 8: {
        const Port s = b.add("Split", {p}, {{"axis", int64_t{0}}, {"num_split", int64_t{2}}});
        pool.push_back(b.add("ConcatV2", {Port{s.node, 1}, s}, {{"axis", int64_t{0}}}));
        break;
      }
    }
  }
  b.add("Assign", {pool.back()}, {{"ref", std::string("v")}});
  return b.build();
}

TEST(ExecutorMemory, DeepGraphsInReusedBuffersGiveWhatOwnBuffersGive) {
  std::mt19937_64 random(1);
  std::vector<double> values(64);
  for (double& v : values) v = static_cast<double>(static_cast<int>(random() % 2001) - 1000) / 256;
  const Tensor x = tensor(DType::kFloat16, {8, 8}, values);
  for (double& v : values) v = static_cast<double>(static_cast<int>(random() % 2001) - 1000) / 256;
  const Tensor y = tensor(DType::kFloat16, {8, 8}, values);
  const Tensors feeds = {{"x", &x}, {"y", &y}};
  for (uint64_t seed = 0; seed < 12; ++seed) {
    const Graph graph = deep_graph(seed, 150);
    Names all;
    for (const Node& node : graph.nodes())
      for (size_t port = 0; port < node.outputs.size(); ++port)
        all.push_back(graph.port_name({graph.find(node.name), static_cast<int>(port)}));
    ExecutorOptions o = stochastic();
    // Every tensor fetched: every one lies in a result of its own, nothing is shared or reused.
    o.reference = true;
    const auto own = make_executor(graph, o);
    o.reference = false;
    const auto reused = make_executor(graph, o);
    for (int step = 0; step < 2; ++step) {
      const RunResult expected = run(*own, feeds, all);
      reused->set_step(static_cast<uint32_t>(step));
      const Tensor before = reused->variable("v").clone();
      for (int fetch = 0; fetch < 6; ++fetch) {
        const size_t one = random() % all.size(), two = random() % all.size();
        reused->set_step(static_cast<uint32_t>(step));
        reused->set_variable("v", before);
        const RunResult r = run(*reused, feeds, {all[one], all.back(), all[two]});
        ASSERT_TRUE(r.values[0].same_bits(expected.values[one])) << "seed " << seed << ", " << all[one];
        ASSERT_TRUE(r.values[1].same_bits(expected.values.back())) << "seed " << seed << ", " << all.back();
        ASSERT_TRUE(r.values[2].same_bits(expected.values[two])) << "seed " << seed << ", " << all[two];
        ASSERT_TRUE(reused->variable("v").same_bits(own->variable("v"))) << "seed " << seed;
      }
    }
    // A few tensors are alive at once, not all.
    const MemoryReport report = reused->memory(Names{all.back()});
    EXPECT_LT(report.peak, static_cast<int64_t>(graph.size()) * 128 / 3) << "seed " << seed;
  }
}

/// Places of a program: the arena must hold less than the tensors together, and what is alive never overlaps.
TEST(ExecutorMemory, AChainSharesOneBuffer) {
  GraphBuilder b;
  Port p = b.placeholder("x", DType::kFloat16, {640});
  for (int i = 0; i < 10; ++i) p = neg(b, p);
  const auto e = make_executor(b.build());
  // In place: x, one buffer, the result.
  EXPECT_EQ(e->memory(Names{"Neg_9"}).peak, 3 * 1280);
  Tensor x(DType::kFloat16, {640});
  for (size_t i = 0; i < 640; ++i) x.as<uint16_t>()[i] = static_cast<uint16_t>(i);
  EXPECT_TRUE(run(*e, {{"x", &x}}, {"Neg_9"}).values[0].same_bits(x));
  EXPECT_EQ(x.as<uint16_t>()[5], 5) << "a feed is not written";
}

TEST(ExecutorMemory, NothingIsOverwrittenThatIsReadLater) {
  GraphBuilder b;
  const Port x = b.placeholder("x", DType::kFloat16, {64});
  const Port a = neg(b, x, "a");                                                         // -1
  const Port twice = b.add("AddV2", {a, a}, {}, "twice");                                // -2, reads a twice
  const Port later = b.add("Mul", {twice, a}, {}, "later");                              // 2
  const Port view = b.add("Reshape", {later}, {{"shape", std::vector<int64_t>{8, 8}}});  // of later
  const Port over = neg(b, later, "over");                                               // -2, while the view lives
  const Port sum = b.add("AddV2", {view, b.add("Reshape", {over}, {{"shape", std::vector<int64_t>{8, 8}}})}, {}, "sum");
  const Port row = b.constant(Tensor::full(DType::kFloat16, {1, 8}, 3), "row");
  const Port swapped = b.add("Sub", {b.add("Mul", {row, row}), b.add("AddV2", {sum, view})}, {}, "swapped");  // 9 - 2
  b.add("Neg", {swapped}, {}, "end");
  const auto e = make_executor(b.build());
  const Tensor value = Tensor::full(DType::kFloat16, {64}, 1);
  const RunResult r = run(*e, {{"x", &value}}, {"end"});
  EXPECT_TRUE(r.values[0].same_bits(Tensor::full(DType::kFloat16, {8, 8}, -7)));
}

TEST(ExecutorMemory, TheReportCountsWhatIsThere) {
  GraphBuilder b;
  const Port x = b.placeholder("x", DType::kFloat16, {1000});
  const Port w = b.constant(Tensor(DType::kFloat32, {100}), "w");
  b.add("VariableV2", {}, {{"dtype", DType::kFloat16}, {"shape", Shape{50}}}, "unused");
  const Port y = b.add("Cast", {x}, {{"DstT", DType::kFloat32}}, "scope/y");
  const Port z = b.add("Sum", {y}, {}, "z");
  b.add("AddV2", {w, z}, {}, "end");
  ExecutorOptions o;
  o.device.tiles = 2;
  o.device.memory_per_tile = 3202;
  const auto e = make_executor(b.build(), o);
  const MemoryReport report = e->memory(Names{"end"});
  EXPECT_EQ(report.peak, 2000 + 400 + 4000 + 4);
  EXPECT_EQ(report.at, "z");
  EXPECT_EQ(report.capacity, 6404);
  ASSERT_EQ(report.largest.size(), 4u);
  EXPECT_EQ(report.largest[0].tensor, "scope/y");
  const std::string text =
      "the program needs 6404 bytes at 'z'; the device has 6402. Largest tensors then:\n"
      "  4000 bytes  scope/y\n  2000 bytes  x\n  400 bytes  w\n  4 bytes  z";
  const Tensor value(DType::kFloat16, {1000});
  EXPECT_EQ(run(*e, {{"x", &value}}, {"end"}).values.size(), 1u) << "it just fits";
  o.device.memory_per_tile = 3201;
  const auto small = make_executor(e->graph(), o);
  EXPECT_EQ(refusal<GraphError>([&] { run(*small, {{"x", &value}}, {"end"}); }), text);
  EXPECT_EQ(small->memory(Names{"end"}).text(), text) << "asking is no error";
  EXPECT_EQ(run(*small, {{"x", &value}}, {"x"}).values.size(), 1u) << "another program of the graph fits";
  o.device.memory_per_tile = 0;
  EXPECT_EQ(make_executor(e->graph(), o)->memory(Names{"end"}).capacity, 0);
  EXPECT_EQ(run(*make_executor(e->graph(), o), {{"x", &value}}, {"end"}).values.size(), 1u) << "0: unlimited";
}

TEST(ExecutorMemory, AtMostTenTensorsAreListed) {
  GraphBuilder b;
  std::vector<Port> parts;
  for (int64_t i = 0; i < 15; ++i) parts.push_back(b.placeholder("x" + std::to_string(i), DType::kFloat16, {100 + i}));
  b.add("ConcatV2", parts, {{"axis", int64_t{0}}}, "all");
  ExecutorOptions o;
  o.device.tiles = 1;
  o.device.memory_per_tile = 100;
  const MemoryReport report = make_executor(b.build(), o)->memory(Names{"all"});
  ASSERT_EQ(report.largest.size(), 10u);
  EXPECT_EQ(report.largest[0].tensor, "all");
  for (size_t i = 1; i < 10; ++i) EXPECT_EQ(report.largest[i].tensor, "x" + std::to_string(15 - i));
}

TEST(ExecutorMemory, MoreThanTheMachineHasIsAClearError) {
  GraphBuilder b;
  const Port x = b.add("Fill", {}, {{"shape", Shape{int64_t{1} << 20, int64_t{1} << 19}}, {"dtype", DType::kFloat64}});
  b.add("Sum", {neg(b, x)}, {}, "sum");
  const Graph graph = b.build();
  EXPECT_EQ(refusal<GraphError>([&] { run(*make_executor(graph), {}, {"sum"}); }).substr(0, 33),
            "the program needs 4398046511112 b");
  ExecutorOptions o;
  o.device.memory_per_tile = 0;
  const std::string host = refusal<GraphError>([&] { run(*make_executor(graph, o), {}, {"sum"}); });
  EXPECT_EQ(host.find("this process gets at most "), 0u) << host;
  EXPECT_NE(host.find("); expected smaller tensors: the program needs 4398046511112 bytes at '"), std::string::npos)
      << host;
  EXPECT_EQ(host.find("; the device has"), std::string::npos) << host;
}

}  // namespace
}  // namespace softamp::test
