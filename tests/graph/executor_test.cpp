// The executor: what it takes, what it gives, what it says when asked for something else.
#include "tests/graph/executor_check.h"

#include "emu/op_kernel.h"
#include "softamp/engine/program.h"

#include <gtest/gtest.h>

#include <map>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace softamp::test {
namespace {

/// z = x + y, halves [2]; s:0, s:1 = the parts of z.
Graph sum_graph() {
  GraphBuilder b;
  const Port x = b.placeholder("x", DType::kFloat16, {2}), y = b.placeholder("y", DType::kFloat16, {2});
  const Port z = b.add("AddV2", {x, y}, {}, "z");
  b.add("Split", {z}, {{"axis", int64_t{0}}, {"num_split", int64_t{2}}}, "s");
  return b.build();
}

TEST(Executor, FeedsThatDoNotFit) {
  const auto e = make_executor(sum_graph());
  const Tensor x = halves({1, 2}), wide = floats({1, 2}), long_one = halves({1, 2, 3});
  const auto refused = [&](const std::vector<Feed>& feeds, const Names& fetches = {"z"}) {
    return refusal<GraphError>([&] { e->run(feeds, fetches); });
  };
  EXPECT_EQ(refused({{"x", &x}, {"yy", &x}}), "unknown placeholder 'yy'; nearest: y; known: x, y");
  EXPECT_EQ(refused({{"z", &x}}), "unknown placeholder 'z'; known: x, y") << "a node, but no Placeholder";
  EXPECT_EQ(refused({{"x", &wide}, {"y", &x}}), "feed 'x' is float32 [2]; Placeholder 'x' expects float16 [2]");
  EXPECT_EQ(refused({{"x", &x}, {"y", &long_one}}), "feed 'y' is float16 [3]; Placeholder 'y' expects float16 [2]");
  EXPECT_EQ(refused({{"x", &x}}), "Placeholder 'y' has no feed; expected float16 [2]");
  EXPECT_EQ(refused({{"x", &x}, {"y", &x}, {"x", &x}}), "feed 'x' is given twice");
  EXPECT_EQ(refused({{"x", nullptr}, {"y", &x}}), "feed 'x' is missing; Placeholder 'x' expects float16 [2]");
  EXPECT_EQ(refused({{"x", &x}, {"y", &x}, {"", &x}}), "unknown placeholder ''; known: x, y");
  // A feed that is not read is checked all the same.
  EXPECT_EQ(refused({{"y", &wide}}, {}), "feed 'y' is float32 [2]; Placeholder 'y' expects float16 [2]");
  EXPECT_EQ(e->step(), 0u) << "nothing ran";
  EXPECT_EQ(refusal<GraphError>([&] {
              make_executor(Graph{})->run(std::vector<Feed>{{"x", &x}}, Names{});
            }),
            "feed 'x': the graph has no Placeholder");
}

TEST(Executor, FetchesThatAreNotThere) {
  const auto e = make_executor(sum_graph());
  const Tensor x = halves({1, 2});
  const auto refused = [&](const char* fetch) {
    return refusal<GraphError>([&] { run(*e, {{"x", &x}, {"y", &x}}, {"z", fetch}); });
  };
  EXPECT_EQ(refused("zz"), "the graph has no node 'zz'; nearest: z");
  EXPECT_EQ(refused("z:1"), "'z:1': node 'z' has 1 output; expected \"name\" or \"name:port\" with a port from 0");
  for (const char* bad : {"s:2", "s:-1", "s:", "s:x", "s:0x", "s:99999999999999999999", "s: 1", "", ":0"})
    EXPECT_FALSE(refused(bad).empty()) << bad;
  EXPECT_EQ(e->step(), 0u);
}

TEST(Executor, PortsAliasesAndTheSameTensorTwice) {
  GraphBuilder b;
  const Port x = b.placeholder("x", DType::kFloat16, {4});
  const Port c = b.constant(tensor(DType::kInt32, {2}, {7, 8}), "c");
  const Port y = b.add("Neg", {x}, {}, "y");
  const Port r = b.add("Reshape", {y}, {{"shape", std::vector<int64_t>{2, 2}}}, "r");
  b.add("Reshape", {x}, {{"shape", std::vector<int64_t>{2, 2}}}, "rx");
  b.add("Identity", {c}, {}, "ic");
  b.add("Neg", {r}, {}, "rr");
  b.add("Split", {y}, {{"axis", int64_t{0}}, {"num_split", int64_t{2}}}, "s");
  const auto e = make_executor(b.build());
  const Tensor value = halves({1, 2, 3, 4});
  const RunResult result = run(*e, {{"x", &value}}, {"s:1", "y", "r", "y:0", "rx", "ic", "c", "x", "rr", "s"});
  const auto& v = result.values;
  ASSERT_EQ(v.size(), 10u);
  EXPECT_TRUE(v[0].same_bits(halves({-3, -4})));
  EXPECT_TRUE(v[1].same_bits(halves({-1, -2, -3, -4})));
  EXPECT_TRUE(v[2].same_bits(tensor(DType::kFloat16, {2, 2}, {-1, -2, -3, -4})));
  EXPECT_TRUE(v[3].same_bits(v[1]));
  EXPECT_TRUE(v[4].same_bits(tensor(DType::kFloat16, {2, 2}, {1, 2, 3, 4})));
  EXPECT_TRUE(v[5].same_bits(tensor(DType::kInt32, {2}, {7, 8})));
  EXPECT_TRUE(v[6].same_bits(v[5]));
  EXPECT_TRUE(v[7].same_bits(value));
  EXPECT_TRUE(v[8].same_bits(v[4]));
  EXPECT_TRUE(v[9].same_bits(halves({-1, -2})));
  // The alias alone, where its root is not fetched, and the other way round.
  EXPECT_TRUE(run(*e, {{"x", &value}}, {"r"}).values[0].same_bits(v[2]));
  EXPECT_TRUE(run(*e, {{"x", &value}}, {"r", "rr"}).values[0].same_bits(v[2])) << "no kernel may write over a result";
  EXPECT_TRUE(run(*e, {}, {"ic"}).values[0].same_bits(v[5])) << "x is not needed, so it need not be fed";
  EXPECT_EQ(run(*e, {}, {}).values.size(), 0u);
}

/// Whatever it is of: a feed, a constant, a variable, a result, another name of one, the same once more, nothing.
TEST(Executor, EveryFetchIsToldOnceWithItsValue) {
  GraphBuilder b;
  const Port x = b.placeholder("x", DType::kFloat16, {4}), none = b.placeholder("none", DType::kFloat16, {0});
  b.constant(tensor(DType::kInt32, {2}, {7, 8}), "c");
  const Port v = b.add("VariableV2", {}, {{"dtype", DType::kFloat16}, {"shape", Shape{4}}}, "v");
  const Port y = b.add("Neg", {x}, {}, "y");
  b.add("Reshape", {y}, {{"shape", std::vector<int64_t>{2, 2}}}, "r");
  b.add("Neg", {none}, {}, "nothing");
  b.add("AddV2", {y, v}, {}, "z");
  const Names fetches = {"z", "x", "c", "v", "y", "r", "y", "nothing", "none", "z"};
  std::map<size_t, Tensor> told;
  size_t calls = 0;
  ExecutorOptions o;
  o.fetched = [&](size_t fetch, const Tensor& value) {
    ++calls;
    told.emplace(fetch, value.clone());
  };
  const auto e = make_executor(b.build(), o);
  const Tensor value = halves({1, 2, 3, 4}), nil(DType::kFloat16, {0});
  const RunResult r = run(*e, {{"x", &value}, {"none", &nil}}, fetches);
  EXPECT_EQ(calls, fetches.size());
  ASSERT_EQ(told.size(), fetches.size());
  for (size_t f = 0; f < fetches.size(); ++f) EXPECT_TRUE(told.at(f).same_bits(r.values[f])) << fetches[f];
}

// tests: G21
TEST(Executor, EveryRunReadsItsOwnFeeds) {
  // TUTORIAL G21
  const auto e = make_executor(sum_graph());
  for (int i = 0; i < 3; ++i) {
    const Tensor x = halves({1.0 * i, 2}), y = halves({10, 20.0 * i});
    const RunResult r = run(*e, {{"x", &x}, {"y", &y}}, {"z"});
    EXPECT_EQ(r.step, static_cast<uint32_t>(i));
    EXPECT_TRUE(r.values[0].same_bits(halves({10.0 + i, 2 + 20.0 * i})));
  }
  EXPECT_EQ(e->step(), 3u);
}

TEST(Executor, EmptyTensorsAndScalars) {
  GraphBuilder b;
  const Port x = b.placeholder("x", DType::kFloat16, {0, 3}), w = b.placeholder("w", DType::kFloat16, {3, 0});
  const Port s = b.placeholder("s", DType::kFloat16, Shape{});
  b.add("Neg", {x}, {}, "n");
  b.add("MatMul", {x, w}, {}, "nothing");
  b.add("MatMul", {w, x}, {}, "zeros");
  b.add("AddV2", {s, s}, {}, "two");
  ExecutorOptions o = stopping_on(true, true, true);
  o.statistics = true;
  const auto e = make_executor(b.build(), o);
  const Tensor none(DType::kFloat16, {0, 3}), nil(DType::kFloat16, {3, 0}), one = tensor(DType::kFloat16, {}, {1});
  const RunResult r = run(*e, {{"x", &none}, {"w", &nil}, {"s", &one}}, {"n", "nothing", "zeros", "two"});
  EXPECT_EQ(r.values[0].elements(), 0);
  EXPECT_EQ(r.values[1].shape(), (Shape{0, 0}));
  EXPECT_TRUE(r.values[2].same_bits(Tensor(DType::kFloat16, {3, 3})));
  EXPECT_EQ(r.values[3].value(0), 2);
}

// tests: G31
TEST(Executor, PrintTensorPrintsOnTheWay) {
  // TUTORIAL G31
  GraphBuilder b;
  const Port x = b.placeholder("x", DType::kFloat16, {2, 2});
  const Port first = b.add("PrintTensor", {x}, {{"message", std::string("input")}}, "first");
  const Port y = b.add("Neg", {first}, {}, "y");
  b.add("PrintTensor", {y}, {}, "deep/second");
  std::string printed;
  ExecutorOptions o;
  o.print = [&](const std::string& text) { printed += text; };
  const auto e = make_executor(b.build(), o);
  const Tensor value = tensor(DType::kFloat16, {2, 2}, {1, 2, 3, 0.1});
  EXPECT_TRUE(run(*e, {{"x", &value}}, {"first"}).values[0].same_bits(value)) << "handed on as it is";
  EXPECT_EQ(printed, "input: float16 [2,2] [[1, 2], [3, 0.1]]\ndeep/second: float16 [2,2] [[-1, -2], [-3, -0.1]]\n");
  // An operation with an effect runs though nothing is fetched, and needs its feeds.
  printed.clear();
  run(*e, {{"x", &value}}, {});
  EXPECT_EQ(printed.substr(0, 6), "input:");
  EXPECT_EQ(refusal<GraphError>([&] { run(*e, {}, {}); }), "Placeholder 'x' has no feed; expected float16 [2,2]");
  // Without a receiver: standard error.
  ::testing::internal::CaptureStderr();
  run(*make_executor(e->graph()), {{"x", &value}}, {});
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), printed);
}

Graph outfeed_graph() {
  GraphBuilder b;
  const Port x = b.placeholder("x", DType::kFloat16, {1}), y = b.placeholder("y", DType::kFloat16, {1});
  b.add("OutfeedEnqueue", {x}, {{"queue", std::string("q")}}, "first");
  b.add("OutfeedEnqueue", {b.add("Neg", {x})}, {{"queue", std::string("q")}}, "second");
  b.add("OutfeedEnqueue", {x}, {{"queue", std::string("other")}}, "third");
  b.add("RealDiv", {x, y}, {}, "quotient");
  return b.build();
}

// tests: G31
TEST(Executor, OutfeedsCollectInOrderAndAreTakenOnce) {
  // TUTORIAL G31
  const auto e = make_executor(outfeed_graph());
  for (const double v : {1.0, 2.0}) {
    const Tensor x = halves({v});
    run(*e, {{"x", &x}}, {});
  }
  const std::vector<Tensor> q = e->take_outfeed("q");
  ASSERT_EQ(q.size(), 4u);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(q[i].value(0), (std::vector<double>{1, -1, 2, -2}[i]));
  EXPECT_TRUE(e->take_outfeed("q").empty());
  EXPECT_EQ(e->take_outfeed("other").size(), 2u);
  EXPECT_EQ(refusal<GraphError>([&] { e->take_outfeed("p"); }), "unknown outfeed queue 'p'; known: other, q");
  EXPECT_EQ(refusal<GraphError>([&] { make_executor(sum_graph())->take_outfeed("q"); }),
            "outfeed queue 'q': the graph has none");
}

// tests: G31
TEST(Executor, AFullOutfeedStopsTheStepAndKeepsWhatIsThere) {
  // TUTORIAL G31
  ExecutorOptions o;
  o.outfeed_capacity = 3;
  const auto e = make_executor(outfeed_graph(), o);
  const Tensor x = halves({1});
  run(*e, {{"x", &x}}, {});
  EXPECT_EQ(refusal<std::runtime_error>([&] {
              run(*e, {{"x", &x}}, {});
            }),
            "OutfeedEnqueue 'second': queue 'q' holds 3 tensors, its capacity; take them with take_outfeed");
  EXPECT_EQ(e->step(), 1u);
  EXPECT_EQ(e->take_outfeed("q").size(), 2u);
  EXPECT_EQ(e->take_outfeed("other").size(), 1u);
  run(*e, {{"x", &x}}, {});
  EXPECT_EQ(e->take_outfeed("q").size(), 2u);
}

TEST(Executor, StatisticsAndObserverSeeWhatIsComputedInOrder) {
  GraphBuilder b;
  const Port x = b.placeholder("x", DType::kFloat16, {4});
  const Port y = b.add("Neg", {x}, {}, "y");
  const Port s = b.add("Split", {y}, {{"axis", int64_t{0}}, {"num_split", int64_t{2}}}, "s");
  b.add("Neg", {Port{s.node, 1}}, {}, "z");
  b.add("Neg", {x}, {}, "unneeded");
  std::vector<std::string> seen;
  ExecutorOptions o;
  o.statistics = true;
  o.observe = [&](uint32_t step, const Node& node, int port, const TensorType& type, const void* data) {
    seen.push_back(std::to_string(step) + " " + node.name + ":" + std::to_string(port) + " " +
                   std::to_string(type.shape.elements()) + " " + std::to_string(static_cast<const uint16_t*>(data)[0]));
  };
  const auto e = make_executor(b.build(), o);
  e->set_step(5);
  const Tensor value = halves({1, 0, 65504, 6e-8});
  const RunResult r = run(*e, {{"x", &value}}, {"z"});
  EXPECT_EQ(seen, (Names{"5 y:0 4 " + std::to_string(0xBC00), "5 s:0 2 " + std::to_string(0xBC00),
                         "5 s:1 2 " + std::to_string(0xFBFF), "5 z:0 2 " + std::to_string(0x7BFF)}));
  Names names;
  for (const NamedStatistics& n : r.statistics) names.push_back(n.name);
  EXPECT_EQ(names, (Names{"y", "s", "s:1", "z"}));
  EXPECT_EQ(r.statistics[0].statistics.zeros, 1);
  EXPECT_EQ(r.statistics[0].statistics.saturated, 1);
  EXPECT_EQ(r.statistics[0].statistics.subnormals, 1);
  EXPECT_TRUE(run(*make_executor(e->graph()), {{"x", &value}}, {"z"}).statistics.empty());
}

TEST(Executor, AnObserverThatThrowsEndsTheStep) {
  ExecutorOptions o;
  bool angry = true;
  o.observe = [&](uint32_t, const Node&, int, const TensorType&, const void*) {
    if (angry) throw std::runtime_error("enough");
  };
  const auto e = make_executor(sum_graph(), o);
  const Tensor x = halves({1, 2});
  EXPECT_EQ(refusal<std::runtime_error>([&] { run(*e, {{"x", &x}, {"y", &x}}, {"z"}); }), "enough");
  EXPECT_EQ(e->step(), 0u);
  angry = false;
  EXPECT_TRUE(run(*e, {{"x", &x}, {"y", &x}}, {"z"}).values[0].same_bits(halves({2, 4})));
}

TEST(Executor, OptionsOutOfRange) {
  const auto refused = [](auto change) {
    ExecutorOptions o;
    change(o);
    return refusal<std::invalid_argument>([&] { make_executor(sum_graph(), o); });
  };
  using O = ExecutorOptions;
  EXPECT_EQ(refused([](O& o) { o.backend = "cudo"; }), "unknown backend 'cudo'; nearest: cuda; known: emu, cuda, auto");
  EXPECT_EQ(refused([](O& o) { o.amp_block = 2; }), "amp_block is 2; expected 1, 4, 16, or 0 for all of k");
  EXPECT_EQ(refused([](O& o) { o.amp_block = -1; }), "amp_block is -1; expected 1, 4, 16, or 0 for all of k");
  EXPECT_EQ(refused([](O& o) { o.threads = -1; }), "threads is -1; expected 0..1024");
  EXPECT_EQ(refused([](O& o) { o.threads = 1025; }), "threads is 1025; expected 0..1024");
  EXPECT_EQ(refused([](O& o) { o.replica = 256; }), "replica is 256; expected 0..255");
  EXPECT_EQ(refused([](O& o) { o.device.tiles = 0; }), "device.tiles is 0; expected 1..1048576");
  EXPECT_EQ(refused([](O& o) { o.device.grain = 6; }), "device.grain is 6; expected a multiple of 4 up to 2^40");
  EXPECT_EQ(refused([](O& o) { o.device.minimum = 0; }), "device.minimum is 0; expected 1..2^40");
  EXPECT_EQ(refused([](O& o) { o.device.minimum = INT64_MAX; }),
            "device.minimum is 9223372036854775807; expected 1..2^40");
  EXPECT_EQ(refused([](O& o) { o.device.memory_per_tile = -1; }),
            "device.memory_per_tile is -1; expected bytes up to 2^40, or 0 for unlimited");
  EXPECT_EQ(refused([](O& o) { o.device.memory_per_tile = INT64_MAX; }).substr(0, 30),
            "device.memory_per_tile is 9223");
  EXPECT_EQ(refused([](O& o) { o.switches.sr_bits = 33; }), "sr_bits is 33; expected 1..32, or 0");
  EXPECT_EQ(refused([](O& o) { o.switches.sr_bits = -1; }), "sr_bits is -1; expected 1..32, or 0");
  EXPECT_EQ(refused([](O& o) { o.semantics = Semantics::ieee(RoundingPolicy::stochastic_carry(0)); }),
            "semantics: random_bits is 0; expected 1..32");
  EXPECT_EQ(refused([](O& o) { o.config.matmuls.poplar_options["partialsType"] = "double"; }),
            "matmuls.poplar_options: partialsType is 'double'; expected one of half, float");
  EXPECT_EQ(refused([](O& o) { o.config.norms.experimental.distributed_batch_norm_replica_group_size = 0; }),
            "norms.experimental.distributed_batch_norm_replica_group_size must be at least 1.");
  EXPECT_NE(refused([](O& o) {
              o.random = RandomEngine::kXoroshiro128aox;
              o.switches.sr_advance = DrawAdvance::kOnlyWhenInexact;
            }).find("sr_advance"),
            std::string::npos);
  EXPECT_NE(refused([](O& o) {
              o.random = RandomEngine::kXoroshiro128aox;
              o.semantics = Semantics::ieee(RoundingPolicy::stochastic_carry(16));
            }).find("float32 results are rounded stochastically"),
            std::string::npos);
}

TEST(Executor, AnInstructionSetThatIsNotThere) {
  using bulk::InstructionSet;
  const Tensor x = halves({1, 2});
  const std::span<const InstructionSet> usable = bulk::instruction_sets();
  EXPECT_EQ(usable.front(), InstructionSet::kPortable);
  EXPECT_EQ(usable.back(), bulk::best_instruction_set());
  for (const auto set : {InstructionSet::kPortable, InstructionSet::kAvx2, InstructionSet::kAvx512,
                         InstructionSet::kAvx512Fp16, InstructionSet::kNeon}) {
    ExecutorOptions o;
    o.isa = set;
    const std::string text = refusal<std::invalid_argument>([&] { make_executor(sum_graph(), o); });
    if (std::ranges::find(usable, set) != usable.end()) {
      EXPECT_EQ(text, "");
      EXPECT_TRUE(
          run(*make_executor(sum_graph(), o), {{"x", &x}, {"y", &x}}, {"z"}).values[0].same_bits(halves({2, 4})));
    } else {
      EXPECT_EQ(text.find(std::string("instruction set ") + bulk::name(set) + ": "), 0u) << text;
    }
  }
}

TEST(Executor, EveryOperationOfTheTableRuns) {
  Names missing;
  for (const Operation& op : operations()) {
    Node node;
    node.op = op.name;
    if (!engine::is_source(node) && !engine::is_alias(node) && op.name != "NoOp" && !emu::find_kernel(op.name))
      missing.push_back(op.name);
  }
  EXPECT_EQ(missing, Names{});
}

#if defined(__SSE2__)
// tests: N386
TEST(Executor, TheCallersFloatingPointEnvironmentHasNoPartInIt) {
  GraphBuilder b;
  const Port x = b.placeholder("x", DType::kFloat32, {2});
  b.add("Mul", {x, x}, {}, "y");
  ExecutorOptions o;
  o.semantics = Semantics::ieee();
  const auto e = make_executor(b.build(), o);
  const Tensor value = tensor(DType::kFloat32, {2}, {1e-20, 1.0000001});
  const RunResult usual = run(*e, {{"x", &value}}, {"y"});
  EXPECT_NE(usual.values[0].value(0), 0) << "a subnormal";
  const unsigned before = _mm_getcsr(), other = (before & ~0x3Fu) | 0x8040 | 0x6000;  // flush, round to zero
  _mm_setcsr(other);
  const RunResult same = run(*e, {{"x", &value}}, {"y"});
  const unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  EXPECT_EQ(after, other);
  EXPECT_TRUE(same.values[0].same_bits(usual.values[0]));
}
#endif

}  // namespace
}  // namespace softamp::test
