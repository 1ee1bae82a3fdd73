// What an executor keeps between runs: variables, steps, streams of random bits.
#include "tests/graph/executor_check.h"

#include "softamp/findings/exception.h"

#include <gtest/gtest.h>

namespace softamp::test {
namespace {

Attributes variable_of(const Shape& shape) { return {{"dtype", DType::kFloat16}, {"shape", shape}}; }

// tests: N95
TEST(ExecutorState, AssignTakesEffectAtTheStepsEnd) {
  GraphBuilder b;
  const Port v = b.add("VariableV2", {}, variable_of({1}), "v");
  const Port one = b.constant(halves({1}), "one");
  const Port next = b.add("AddV2", {v, one}, {}, "next");
  const Port assigned = b.add("Assign", {next}, {{"ref", std::string("v")}}, "assign");
  b.add("AddV2", {v, assigned}, {}, "both");
  const auto e = make_executor(b.build());
  EXPECT_EQ(e->variable("v").value(0), 0) << "zeros until set";
  for (int i = 0; i < 3; ++i) {
    // "v" after the assignment in the graph's order is still the value from before the step.
    const RunResult r = run(*e, {}, {"v", "assign", "both"});
    EXPECT_EQ(r.values[0].value(0), i);
    EXPECT_EQ(r.values[1].value(0), i + 1);
    EXPECT_EQ(r.values[2].value(0), 2 * i + 1);
    EXPECT_EQ(e->variable("v").value(0), i + 1);
  }
  e->set_variable("v", halves({10}));
  run(*e, {}, {});  // an Assign runs though nothing is fetched
  EXPECT_EQ(e->variable("v").value(0), 11);
}

TEST(ExecutorState, VariablesCanChangePlaces) {
  GraphBuilder b;
  const Port x = b.add("VariableV2", {}, variable_of({2}), "x"), y = b.add("VariableV2", {}, variable_of({2}), "y");
  const Port z = b.add("VariableV2", {}, variable_of({2}), "z");
  b.add("Assign", {y}, {{"ref", std::string("x")}}, "a");
  b.add("Assign", {b.add("Identity", {z})}, {{"ref", std::string("y")}}, "b");
  b.add("Assign", {x}, {{"ref", std::string("z")}}, "c");
  b.add("Assign", {b.add("Identity", {x}, {}, "self")}, {{"ref", std::string("z")}}, "d");
  const auto e = make_executor(b.build());
  e->set_variable("x", halves({1, 2}));
  e->set_variable("y", halves({3, 4}));
  e->set_variable("z", halves({5, 6}));
  run(*e, {}, {});
  EXPECT_TRUE(e->variable("x").same_bits(halves({3, 4})));
  EXPECT_TRUE(e->variable("y").same_bits(halves({5, 6})));
  EXPECT_TRUE(e->variable("z").same_bits(halves({1, 2}))) << "the value from before the step";
}

// tests: N95
TEST(ExecutorState, TheLastAssignmentOfAStepStands) {
  GraphBuilder b;
  b.add("VariableV2", {}, variable_of({1}), "v");
  const Port x = b.placeholder("x", DType::kFloat16, {1});
  b.add("Assign", {x}, {{"ref", std::string("v")}});
  b.add("Assign", {b.add("Neg", {x})}, {{"ref", std::string("v")}});
  const auto e = make_executor(b.build());
  const Tensor value = halves({3});
  run(*e, {{"x", &value}}, {});
  EXPECT_EQ(e->variable("v").value(0), -3);
  // A variable's own tensor as the feed.
  run(*e, {{"x", &e->variable("v")}}, {});
  EXPECT_EQ(e->variable("v").value(0), 3);
}

TEST(ExecutorState, AnAssignedValueOutlivesBuffersThatAreReused) {
  GraphBuilder b;
  const Port x = b.placeholder("x", DType::kFloat16, {64});
  b.add("VariableV2", {}, variable_of({64}), "v");
  Port p = b.add("Neg", {x});
  b.add("Assign", {p}, {{"ref", std::string("v")}});
  for (int i = 0; i < 20; ++i) p = b.add("AddV2", {p, p});
  const auto e = make_executor(b.build());
  const Tensor value = Tensor::full(DType::kFloat16, {64}, 0.5);
  run(*e, {{"x", &value}}, {"AddV2_19"});
  EXPECT_TRUE(e->variable("v").same_bits(Tensor::full(DType::kFloat16, {64}, -0.5)));
}

TEST(ExecutorState, VariablesThatAreNotThereOrDoNotFit) {
  GraphBuilder b;
  b.add("VariableV2", {}, variable_of({2}), "weights");
  b.constant(halves({1}), "c");
  const auto e = make_executor(b.build());
  const Tensor good = halves({1, 2});
  EXPECT_EQ(refusal<GraphError>([&] { e->variable("weight"); }),
            "unknown variable 'weight'; nearest: weights; known: weights");
  EXPECT_EQ(refusal<GraphError>([&] { e->set_variable("c", good); }), "unknown variable 'c'; known: weights");
  EXPECT_EQ(refusal<GraphError>([&] {
              e->set_variable("weights", floats({1, 2}));
            }),
            "variable 'weights': the value is float32 [2]; expected float16 [2]");
  EXPECT_EQ(refusal<GraphError>([&] { e->set_variable("weights", halves({1})); }),
            "variable 'weights': the value is float16 [1]; expected float16 [2]");
  e->set_variable("weights", good);
  EXPECT_TRUE(e->variable("weights").same_bits(good));
  EXPECT_EQ(refusal<GraphError>([&] { make_executor(Graph{})->variable("v"); }), "variable 'v': the graph has none");
}

// tests: N95
TEST(ExecutorState, AfterAnExceptionNothingHasChanged) {
  for (const RandomEngine random : {RandomEngine::kPhilox, RandomEngine::kXoroshiro128aox}) {
    GraphBuilder b;
    const Port v = b.add("VariableV2", {}, variable_of({8}), "v");
    const Port x = b.placeholder("x", DType::kFloat16, {8});
    const Port next = b.add("AddV2", {v, x}, {}, "next");
    b.add("Assign", {next}, {{"ref", std::string("v")}});
    b.add("OutfeedEnqueue", {next}, {{"queue", std::string("q")}});
    b.add("Mul", {next, next}, {}, "last");
    ExecutorOptions o = stochastic(random);
    o.config.floating_point_behaviour.oflo = true;
    const auto disturbed = make_executor(b.build(), o);
    const auto calm = make_executor(disturbed->graph(), o);
    const Tensor step = Tensor::full(DType::kFloat16, {8}, 1.001), big = Tensor::full(DType::kFloat16, {8}, 60000);
    for (int i = 0; i < 4; ++i) {
      EXPECT_NE(refusal<FloatingPointError>([&] { run(*disturbed, {{"x", &big}}, {"last"}); }), "");
      EXPECT_EQ(disturbed->step(), calm->step());
      const RunResult a = run(*disturbed, {{"x", &step}}, {"last"}), c = run(*calm, {{"x", &step}}, {"last"});
      EXPECT_TRUE(a.values[0].same_bits(c.values[0]));
      EXPECT_TRUE(disturbed->variable("v").same_bits(calm->variable("v")));
    }
    EXPECT_EQ(disturbed->take_outfeed("q").size(), 4u);
  }
}

/// 512 lanes of 1 + 0.001, which no step rounds alike.
Graph rounding_graph() {
  GraphBuilder b;
  const Port x = b.placeholder("x", DType::kFloat16, {512}), y = b.placeholder("y", DType::kFloat16, {512});
  b.add("AddV2", {x, y}, {}, "z");
  b.add("AddV2", {x, y}, {}, "again");
  return b.build();
}

// tests: N92
TEST(ExecutorState, AStepIsAnAddress) {
  const Tensor one = Tensor::full(DType::kFloat16, {512}, 1), little = Tensor::full(DType::kFloat16, {512}, 1e-3);
  const Tensors feeds = {{"x", &one}, {"y", &little}};
  const auto e = make_executor(rounding_graph(), stochastic());
  std::vector<Tensor> z;
  for (int i = 0; i < 3; ++i) {
    RunResult r = run(*e, feeds, {"z", "again"});
    EXPECT_FALSE(r.values[0].same_bits(r.values[1])) << "operations have bits of their own";
    z.push_back(std::move(r.values[0]));
  }
  EXPECT_FALSE(z[0].same_bits(z[1]));
  EXPECT_FALSE(z[1].same_bits(z[2]));
  e->set_step(1);
  EXPECT_TRUE(run(*e, feeds, {"z"}).values[0].same_bits(z[1])) << "whatever else is fetched";
  EXPECT_TRUE(run(*e, feeds, {"again", "z"}).values[1].same_bits(z[2]));
  // Another executor, another seed, another replica, fewer rounds.
  EXPECT_TRUE(run(*make_executor(rounding_graph(), stochastic()), feeds, {"z"}).values[0].same_bits(z[0]));
  ExecutorOptions seed = stochastic(), high = stochastic(), replica = stochastic(),
                  rounds = stochastic(RandomEngine::kPhilox7);
  seed.seed = 1;
  high.seed = uint64_t{1} << 32;
  replica.replica = 1;
  std::vector<Tensor> others;
  for (const ExecutorOptions& o : {seed, high, replica, rounds})
    others.push_back(std::move(run(*make_executor(rounding_graph(), o), feeds, {"z"}).values[0]));
  for (size_t i = 0; i < others.size(); ++i) {
    EXPECT_FALSE(others[i].same_bits(z[0])) << i;
    for (size_t j = 0; j < i; ++j) EXPECT_FALSE(others[i].same_bits(others[j])) << i << " " << j;
  }
}

TEST(ExecutorState, StepsEndBeforeTheAddressesOfOtherRandomBits) {
  const Tensor one = Tensor::full(DType::kFloat16, {512}, 1), little = Tensor::full(DType::kFloat16, {512}, 1e-3);
  const Tensors feeds = {{"x", &one}, {"y", &little}};
  const auto e = make_executor(rounding_graph(), stochastic());
  const Tensor first = std::move(run(*e, feeds, {"z"}).values[0]);
  for (const uint32_t step : {Executor::kSteps, ~uint32_t{0}})
    EXPECT_EQ(refusal<std::out_of_range>([&] { e->set_step(step); }),
              "set_step(" + std::to_string(step) +
                  "): expected at most 4294967279: later addresses of random bits have other uses");
  EXPECT_EQ(e->step(), 1u);
  e->set_step(Executor::kSteps - 1);
  EXPECT_FALSE(run(*e, feeds, {"z"}).values[0].same_bits(first)) << "the last step that there is";
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(refusal<std::out_of_range>([&] { run(*e, feeds, {"z"}); }),
              "step 4294967280: expected at most 4294967279: later addresses of random bits have other uses");
  e->set_step(0);
  EXPECT_TRUE(run(*e, feeds, {"z"}).values[0].same_bits(first));
}

TEST(ExecutorState, InHardwareOrderStepsFollowOneAnother) {
  const Tensor one = Tensor::full(DType::kFloat16, {512}, 1), little = Tensor::full(DType::kFloat16, {512}, 1e-3);
  const Tensors feeds = {{"x", &one}, {"y", &little}};
  const auto e = make_executor(rounding_graph(), stochastic(RandomEngine::kXoroshiro128aox));
  const Tensor first = std::move(run(*e, feeds, {"z"}).values[0]);
  EXPECT_FALSE(run(*e, feeds, {"z"}).values[0].same_bits(first));
  EXPECT_NE(refusal<std::invalid_argument>([&] { e->set_step(1); }).find("expected 0, a new start"), std::string::npos);
  e->set_step(0);
  EXPECT_TRUE(run(*e, feeds, {"z"}).values[0].same_bits(first));
}

}  // namespace
}  // namespace softamp::test
