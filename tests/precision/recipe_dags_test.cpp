// Gaudi's pass: its published vectors, every rule on a graph of its own, and random graphs against a slow transcription
// of the rules.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <map>
#include <set>

#include "softamp/graph/executor.h"
#include "softamp/precision/recipe.h"
#include "tests/graph/executor_check.h"
#include "tests/precision/random_dag.h"
#include "tests/precision/recipe_nets.h"
#include "tests/precision/recipe_rules.h"

namespace softamp::test {
namespace {

using enum DType;
using Strings = std::vector<std::string>;

Recipe bert() { return Recipe::parse(bert_json()); }
Colouring colour(const OpGraph& g, const Recipe& r) { return colour_recipe(g, r); }

// ---- The published vectors ------------------------------------------------------------------------------------------

// tests: H03, H04, H05, H08
TEST(Vectors, TwoDenseLayers) {
  const OpGraph net = dense_net_picture();
  const auto check = [&](const Recipe& recipe, const std::string& expected_groups, const std::string& expected_casts,
                         size_t n) {
    const Colouring c = colour(net, recipe);
    const CastPlan plan = plan_casts(net, c);
    EXPECT_EQ(groups(net, c), expected_groups) << recipe.name;
    EXPECT_EQ(casts(net, plan), expected_casts) << recipe.name;
    EXPECT_EQ(plan.casts.size(), n) << recipe.name;
    EXPECT_EQ(c.mechanism, "recipe " + recipe.name);
  };
  check(Recipe::basic(), "{MatMul0} {MatMul1}", "x W0 W1 Relu -> bfloat16; MatMul0 MatMul1 -> float32", 6);
  check(Recipe::full(), "{MatMul0 BiasAdd0 Relu MatMul1 BiasAdd1 Softmax SquaredDifference}",
        "x y W0 b0 W1 b1 -> bfloat16; SquaredDifference -> float32", 7);
  check(bert(), "{MatMul0 BiasAdd0} {MatMul1 BiasAdd1 Softmax}",
        "x W0 b0 W1 b1 Relu -> bfloat16; BiasAdd0 Softmax -> float32", 8);
}

OpGraph residual_net() {
  return NetSketch()
      .add("x", "Placeholder")
      .add("v", "VariableV2")
      .add("b", "VariableV2")
      .add("mm", "MatMul", {"x", "v"})
      .add("add", "AddV2", {"mm", "b"})
      .add("add2", "AddV2", {"mm", "x"})
      .add("r", "Relu", {"add"})
      .add("s", "Sum", {"r"})
      .add("t", "Reshape", {"s"})
      .add("u", "Reshape", {"add2"})
      .graph();
}

// tests: H05, H06, H07
TEST(Vectors, StrictAndConditionalAdditions) {
  const OpGraph net = residual_net();
  const Colouring full = colour(net, Recipe::full());
  EXPECT_EQ(converted(net, full), "mm add r");
  EXPECT_EQ(reason_of(net, full, "add"), "every input is converted, a variable or a constant");
  EXPECT_EQ(reason_of(net, full, "add2"), "input 'x' stays float32");
  EXPECT_EQ(reason_of(net, full, "u"), "no neighbour is converted");
  EXPECT_EQ(reason_of(net, full, "s"), "in no list: blocked");
  EXPECT_EQ(reason_of(net, full, "v"), "a variable keeps its type");
  const Colouring b = colour(net, bert());
  EXPECT_EQ(groups(net, b), "{mm add add2 u} {s t}");
  EXPECT_EQ(reason_of(net, b, "r"), "in no list: blocked");
  EXPECT_EQ(reason_of(net, b, "u"), "beside 'add2', which is converted");
  EXPECT_EQ(reason_of(net, b, "t"), "beside 's', which is converted");
  EXPECT_EQ(reason_of(net, b, "mm"), "allow list");
}

// tests: H09, H18, H19
TEST(Vectors, NameScopes) {
  const OpGraph net = NetSketch()
                          .add("x", "Placeholder")
                          .add("net/KEEP_FP32_PRECISION/MatMul", "MatMul", {"x", "x"})
                          .add("net/FORCE_BF16_PRECISION/Mean", "Mean", {"net/KEEP_FP32_PRECISION/MatMul"})
                          .add("FORCE_BF16_PRECISION/KEEP_FP32_PRECISION/Mean", "Mean", {"x"})
                          .add("MatMul", "MatMul", {"x", "x"})
                          .graph();
  const Colouring c = colour(net, Recipe::basic());
  EXPECT_EQ(converted(net, c), "net/FORCE_BF16_PRECISION/Mean MatMul");
  EXPECT_EQ(c.lists, (Strings{"block", "non_convertible", "convertible", "non_convertible", "allow"}));
  EXPECT_EQ(reason_of(net, c, "net/KEEP_FP32_PRECISION/MatMul"), "kept by pattern '.*KEEP_FP32_PRECISION.*'");
  EXPECT_EQ(reason_of(net, c, "net/FORCE_BF16_PRECISION/Mean"), "forced by pattern '.*FORCE_BF16_PRECISION.*'");
  EXPECT_EQ(reason_of(net, c, "FORCE_BF16_PRECISION/KEEP_FP32_PRECISION/Mean"),
            "kept by pattern '.*KEEP_FP32_PRECISION.*'");
}

// tests: H10, H17
TEST(Vectors, BertsPatternsOn24Layers) {
  NetSketch sketch;
  sketch.add("x", "Placeholder");
  std::string expected;
  for (int layer = 0; layer < 24; ++layer) {
    const std::string self = "bert/encoder/layer_" + std::to_string(layer) + "/attention/self/";
    sketch.add(self + "Mul", "Mul", {"x", "x"}).add(self + "add", "AddV2", {"x", "x"}).add(self + "Sub", "Sub", {"x"});
    expected += (layer ? " " : "") + self + "Mul " + self + "add";
  }
  sketch.add("bert/encoder/layer_x/attention/self/Mul", "Mul", {"x"});
  const OpGraph net = sketch.graph();
  const Colouring c = colour(net, bert());
  EXPECT_EQ(converted(net, c), expected);
  EXPECT_EQ(reason_of(net, c, "bert/encoder/layer_7/attention/self/Mul"),
            "forced by pattern 'bert/encoder/layer_[0-9]+/attention/self/Mul' for Mul");
}

// ---- Rules ----------------------------------------------------------------------------------------------------------

// tests: H06
TEST(Rules, ConditionalNodesFollowChainsBothWays) {
  const OpGraph net = NetSketch()
                          .add("x", "Placeholder")
                          .add("a", "Reshape", {"x"})
                          .add("b", "Transpose", {"a"})
                          .add("c", "MatMul", {"b", "b"})
                          .add("d", "Identity", {"c"})
                          .add("e", "Reshape", {"d"})
                          .add("stop", "Mean", {"e"})
                          .add("f", "Reshape", {"stop"})
                          .graph();
  const Colouring c = colour(net, Recipe::full());
  EXPECT_EQ(groups(net, c), "{a b c d e}");
  EXPECT_EQ(reason_of(net, c, "a"), "beside 'b', which is converted");
  EXPECT_EQ(reason_of(net, c, "b"), "beside 'c', which is converted");
  EXPECT_EQ(reason_of(net, c, "e"), "beside 'd', which is converted");
  EXPECT_EQ(reason_of(net, c, "f"), "no neighbour is converted");
}

// tests: H07
TEST(Rules, StrictNodesOfVariablesAndConstantsJoin) {
  const OpGraph net = NetSketch()
                          .add("v", "VariableV2")
                          .add("k", "Const")
                          .add("read", "Identity", {"v"})
                          .add("a", "AddV2", {"v", "k"})
                          .add("b", "Sub", {"a", "read"})
                          .add("none", "AddN")
                          .add("i", "Placeholder", {}, ElementType::kInt32)
                          .add("int", "AddV2", {"i", "i"}, ElementType::kInt32)
                          .graph();
  Recipe strict;
  strict.strict = {"AddV2", "Sub", "AddN"};
  const Colouring c = colour(net, strict);
  EXPECT_EQ(groups(net, c), "{a b}");
  EXPECT_EQ(reason_of(net, c, "none"), "it has no float32 input");
  EXPECT_EQ(reason_of(net, c, "int"), "nothing in it is float32");
  EXPECT_EQ(reason_of(net, c, "read"), "in no list: blocked");
  EXPECT_EQ(reason_of(net, c, "k"), "a constant stays as it is");
}

// tests: H07
TEST(Rules, AllowBeforeStrictBeforeConditional) {
  Recipe r;
  r.allow = {"A", "B", "C"};
  r.strict = {"B", "D"};
  r.conditional = {"C", "D"};
  const OpGraph net =
      NetSketch().add("x", "Placeholder").add("b", "B", {"x"}).add("c", "C", {"x"}).add("d", "D", {"b", "x"}).graph();
  const Colouring c = colour(net, r);
  EXPECT_EQ(c.lists, (Strings{"block", "allow", "allow", "strict"}));
  EXPECT_EQ(converted(net, c), "b c");
}

// tests: H09, H10, X12
TEST(Rules, ExceptionsGoBeforeLists) {
  const OpGraph net = NetSketch()
                          .add("x", "Placeholder")
                          .add("conv", "Conv2D", {"x", "x"})
                          .add("lone", "Mul", {"x", "x"})
                          .add("twice", "Mul", {"x", "x"})
                          .graph();
  Recipe r = Recipe::basic();
  r.non_convertible = {{"conv", "Conv2D"}, {"twice", ""}};
  r.convertible = {{"lone", "Mul"}, {"twice", ""}, {"conv", "MatMul"}};
  EXPECT_EQ(converted(net, colour(net, r)), "lone");
  r.non_convertible = {{"on", ""}};
  EXPECT_EQ(converted(net, colour(net, r)), "conv lone twice") << "full match";
  r.regex = RegexMode::kSearch;  // TUTORIAL X12
  EXPECT_EQ(converted(net, colour(net, r)), "twice") << "search";
}

// tests: H02, H04, H10
TEST(Rules, SomeNodesAreNeverConvertedThoughForced) {
  constexpr ElementType kFloat = ElementType::kFloat;
  const OpGraph net = NetSketch()
                          .add("x", "Placeholder")
                          .add("k", "Const")
                          .add("v", "VariableV2")
                          .add("r", "ReadVariableOp")
                          .add("state", "Assign", {"v"}, kFloat, [](OpNode& n) { n.stateful = true; })
                          .add("fetched", "MatMul", {"x", "x"}, kFloat, [](OpNode& n) { n.preserved = true; })
                          .add("kernel", "Cholesky", {"x"}, kFloat, [](OpNode& n) { n.units[0].bfloat16 = false; })
                          .add("cast", "Cast", {"x"})
                          .add("ints", "Mul", {}, ElementType::kInt32)
                          .add("random", "RandomUniform", {}, kFloat, [](OpNode& n) { n.stateful = n.random = true; })
                          .add("good", "Mul", {"x"})
                          .graph();
  Recipe all;
  all.convertible = {{".*", ""}};
  const Colouring c = colour(net, all);
  EXPECT_EQ(converted(net, c), "random good");
  EXPECT_EQ(reason_of(net, c, "x"), "forced by pattern '.*', but an input of the graph keeps its type");
  EXPECT_EQ(reason_of(net, c, "k"), "forced by pattern '.*', but a constant stays as it is");
  EXPECT_EQ(reason_of(net, c, "r"), "forced by pattern '.*', but a variable keeps its type");
  EXPECT_EQ(reason_of(net, c, "state"), "forced by pattern '.*', but it holds or changes state");
  EXPECT_EQ(reason_of(net, c, "fetched"), "forced by pattern '.*', but preserved: fetched or fed");
  EXPECT_EQ(reason_of(net, c, "kernel"), "forced by pattern '.*', but it has no bfloat16 kernel");
  EXPECT_EQ(reason_of(net, c, "cast"), "forced by pattern '.*', but a cast says its types itself");
  EXPECT_EQ(reason_of(net, c, "ints"), "forced by pattern '.*', but nothing in it is float32");
  EXPECT_EQ(c.messages[2],
            "WARNING forced, but never converted: 'v' (pattern '.*'), 'r' (pattern '.*'): a variable keeps its type");
  EXPECT_EQ(c.messages.back(), "INFO recipe custom: 2 of 11 nodes converted to bfloat16 in 2 groups");
  EXPECT_EQ(converted(net, colour_recipe(net, all, kFloat16)), "kernel random good") << "there is a float16 kernel";
  EXPECT_EQ(refusal<std::invalid_argument>([&] { colour_recipe(net, all, kFloat32); }),
            "recipe custom: dtype float32; expected bfloat16 or float16");
}

// Edges that stay float32, or were never, join nothing: statistics of a norm, numbers of elements.
// tests: H08
TEST(Rules, OnlyConvertedTensorsJoin) {
  const auto gives_numbers = [](OpNode& n) {
    n.output_types = {ElementType::kInt32};
    n.output_units = {OpNode::kNoUnit};
  };
  const OpGraph net = NetSketch()
                          .add("x", "Placeholder")
                          .add("bn", "FusedBatchNormV2", {"x", "x"})
                          .add("mean", "Identity", {"bn:1"})
                          .add("sum", "AddV2", {"bn:1"})
                          .add("index", "ArgMax", {"bn"}, ElementType::kFloat, gives_numbers)
                          .add("shape", "Reshape", {"index"}, ElementType::kInt32)
                          .graph();
  const Colouring c = colour(net, Recipe::full());
  EXPECT_EQ(groups(net, c), "{bn index}");
  EXPECT_EQ(reason_of(net, c, "sum"), "input 'bn' stays float32");
  EXPECT_EQ(c.reasons[static_cast<size_t>(net.unit(1, 1))], "has no bfloat16 kernel");
  EXPECT_EQ(plan_casts(net, c).casts.size(), 1u) << "x, shared by nobody: U stays float32";
}

// ---- On graphs that run ---------------------------------------------------------------------------------------------

Graph dense_net() {
  GraphBuilder g;
  const auto variable = [&](const char* name, const Shape& shape) {
    return g.add("VariableV2", {}, {{"dtype", kFloat32}, {"shape", shape}}, name);
  };
  const Port x = g.placeholder("x", kFloat32, {2, 4}), y = g.placeholder("y", kFloat32, {2, 3});
  const Port h = g.add(
      "Relu", {g.add("BiasAdd", {g.add("MatMul", {x, variable("W0", {4, 5})}, {}, "MatMul0"), variable("b0", {5})}, {},
                     "BiasAdd0")});
  const Port logits = g.add(
      "BiasAdd", {g.add("MatMul", {h, variable("W1", {5, 3})}, {}, "MatMul1"), variable("b1", {3})}, {}, "BiasAdd1");
  const Port difference = g.add("SquaredDifference", {g.add("Softmax", {logits}), y});
  g.add("Mean", {difference}, {{"axes", std::vector<int64_t>{0, 1}}}, "Mean");
  return g.build();
}

// tests: H03, H22
TEST(Convert, GraphAndReport) {
  const Graph before = dense_net();
  const Strings fetches = {"Mean"};
  const GraphRewrite basic = convert_bfloat16(before, Recipe::basic(), fetches);
  EXPECT_EQ(before, dense_net()) << "the graph itself stays";
  EXPECT_EQ(basic.graph.size(), before.size() + 6);
  EXPECT_EQ(basic.report.plan.casts.size(), 6u);
  EXPECT_EQ(basic.report.converted_nodes(), 2);
  EXPECT_EQ(basic.report.groups(), 2);
  EXPECT_EQ(basic.report.colours.messages,
            Strings{"INFO recipe basic: 2 of 14 nodes converted to bfloat16 in 2 groups"});
  EXPECT_EQ(basic.graph.type(basic.graph.port("MatMul0")).dtype, kBFloat16);
  EXPECT_EQ(basic.graph.type(basic.graph.port("x-0-CastToBf16")).dtype, kBFloat16);
  EXPECT_EQ(basic.graph.type(basic.graph.port("Mean")).dtype, kFloat32);
  const GraphRewrite full = convert_bfloat16(before, Recipe::full(), fetches);
  EXPECT_EQ(full.graph.size(), before.size() + 7);
  EXPECT_EQ(full.report.groups(), 1);
  for (const char* name : {"x", "y", "W0", "Mean"})
    EXPECT_EQ(full.graph.type(full.graph.port(name)).dtype, kFloat32) << name;
  // A second run finds nothing to do.
  for (const Recipe& r : {Recipe::basic(), Recipe::full()}) {
    const Graph once = convert_bfloat16(before, r, fetches).graph;
    EXPECT_EQ(convert_bfloat16(once, r, fetches).graph, once);
  }
}

// tests: H02
TEST(Convert, ACastOfTheScriptSaysItsTypes) {
  GraphBuilder g;
  const Port low = g.add("Cast", {g.placeholder("x", kFloat32, {2})}, {{"DstT", kBFloat16}}, "low");
  g.add("Cast", {low}, {{"DstT", kFloat32}}, "back");
  const Graph graph = g.build();
  Recipe all;
  all.convertible = {{".*", ""}};
  EXPECT_EQ(convert_bfloat16(graph, all, Strings{"back"}).graph, graph);
  // Numbers of bfloat16 lie 2^-7 apart at 1.
  const Tensor x = floats({1 + 0x1p-9, 1 + 0x1p-8 + 0x1p-9});
  const RunResult r = run(*make_executor(graph), {{"x", &x}}, {"low", "back"});
  EXPECT_EQ(r.values[0].dtype(), kBFloat16);
  EXPECT_EQ(r.values[1].values(), (std::vector<double>{1, 1 + 0x1p-7}));
}

// tests: H04
TEST(Convert, FetchesStayFloat32) {
  const Strings fetches = {"BiasAdd1:0", "Mean"};
  const GraphRewrite r = convert_bfloat16(dense_net(), Recipe::full(), fetches);
  EXPECT_EQ(r.graph.type(r.graph.port("BiasAdd1")).dtype, kFloat32);
  EXPECT_EQ(r.graph.type(r.graph.port("MatMul1")).dtype, kBFloat16);
  EXPECT_EQ(r.report.groups(), 2);
  const auto executor = make_executor(r.graph);
  const Tensor x = Tensor::full(kFloat32, {2, 4}, 0.5), y = Tensor::full(kFloat32, {2, 3}, 0.25);
  for (const char* w : {"W0", "W1"})
    executor->set_variable(w, Tensor::full(kFloat32, executor->variable(w).shape(), 0.3));
  const RunResult result = run(*executor, {{"x", &x}, {"y", &y}}, fetches);
  // 0.3 is 0.30078125 in bfloat16: h = 2 * that = 0.6015625, logits = 5 * h * 0.30078125, rounded to eight bits.
  EXPECT_EQ(result.values[0].values()[0], 0.90625);
}

// ---- Random graphs --------------------------------------------------------------------------------------------------

constexpr int kGraphs = 20'000;

// Colours as by the transcription; types agree; casts are shared and none lies in a group; a second run adds nothing.
// tests: H03, H07, H08
TEST(RandomDags, FollowTheRules) {
  int64_t low = 0, all = 0, casts = 0, strict = 0;
  for (int seed = 0; seed < dags(kGraphs); ++seed) {
    const auto s = static_cast<uint64_t>(seed);
    const OpGraph graph = random_op_graph(s);
    const RandomRecipe recipe = random_recipe(s, seed % 20 == 0);
    const DType dtype = seed % 3 == 0 ? kFloat16 : kBFloat16;
    const Colouring c = colour_recipe(graph, recipe.recipe, dtype);
    const Transcription rules(graph, recipe, dtype);
    ASSERT_EQ(units_of(c), units_of(graph, rules, rules.least())) << "seed " << seed;
    for (const std::string& why : c.reasons) ASSERT_NE(why, "") << "seed " << seed;

    const CastPlan plan = plan_casts(graph, c);
    std::set<std::pair<int, int>> ports;
    for (const PlannedCast& cast : plan.casts) {
      ASSERT_TRUE(ports.insert({cast.from.node, cast.from.port}).second) << "seed " << seed << ": two casts of a port";
      for (const auto& [reader, input] : cast.readers)
        ASSERT_NE(c.is_low(graph.producer_unit(cast.from)), c.is_low(graph.reader_unit(reader, input)));
    }
    const OpGraph after = applied(graph, plan);
    ASSERT_EQ(type_fault(after), "") << "seed " << seed;
    const CastPlan again = plan_casts(after, colour_recipe(after, recipe.recipe, dtype));
    ASSERT_TRUE(again.retyped.empty() && again.casts.empty() && again.redirected.empty()) << "seed " << seed;

    const std::vector<int> roots = flooded(graph, c);
    std::map<int, int> number;  // one number to a root, in order
    for (size_t n = 0; n < roots.size(); ++n) {
      const int expected = roots[n] < 0 ? -1 : number.emplace(roots[n], static_cast<int>(number.size())).first->second;
      ASSERT_EQ(c.groups[n], expected) << "seed " << seed << ", node " << n;
    }
    all += graph.units();
    casts += static_cast<int64_t>(plan.casts.size());
    for (size_t u = 0; u < c.low_units.size(); ++u) {
      low += c.low_units[u];
      strict += c.low_units[u] && c.lists[u] == "strict";
    }
  }
  // The graphs are worth while: something of everything.
  EXPECT_GT(low, all / 10);
  EXPECT_LT(low, all / 2);
  EXPECT_GT(strict, low / 100);
  EXPECT_GT(casts, low / 2);
}

// Every set that is closed under the rules holds the one found: it is the least.
// tests: H06
TEST(RandomDags, TheFixedPointIsTheLeast) {
  int sets = 0;
  for (uint64_t seed = 0; seed < 2500; ++seed) {
    const OpGraph graph = random_op_graph(seed, {.most_nodes = 14});
    const RandomRecipe recipe = random_recipe(seed, false);
    const Transcription rules(graph, recipe, kBFloat16);
    const std::vector<int> open = rules.open();
    if (open.size() > 8) continue;
    const Colouring c = colour(graph, recipe.recipe);
    NodeSet found;
    for (const int group : c.groups) found.push_back(group >= 0);
    ASSERT_TRUE(rules.closed(found)) << seed;
    NodeSet fixed = found;  // those that are converted whatever the others do
    for (const int n : open) fixed[static_cast<size_t>(n)] = false;
    for (unsigned subset = 0; subset < 1u << open.size(); ++subset) {
      NodeSet other = fixed;
      for (size_t k = 0; k < open.size(); ++k)
        if (subset >> k & 1) other[static_cast<size_t>(open[k])] = true;
      if (!rules.closed(other)) continue;
      ++sets;
      for (size_t n = 0; n < found.size(); ++n) ASSERT_TRUE(other[n] || !found[n]) << seed;
    }
  }
  EXPECT_GT(sets, 5000);
}

// Colours, reasons, groups and names of casts are those of the same graph with its nodes in another order.
// tests: H08
TEST(RandomDags, OrderOfNodesDoesNotMatter) {
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    const OpGraph graph = random_op_graph(seed);
    const Recipe recipe = random_recipe(seed, seed % 20 == 0).recipe;
    std::vector<int> place;
    const OpGraph other = shuffled(graph, seed, place);
    const Colouring a = colour(graph, recipe), b = colour(other, recipe);
    std::map<int, int> groups;
    for (int n = 0; n < graph.size(); ++n) {
      const int m = place[static_cast<size_t>(n)];
      for (int u = 0; u < static_cast<int>(graph.nodes[static_cast<size_t>(n)].units.size()); ++u) {
        ASSERT_EQ(a.is_low(graph.unit(n, u)), b.is_low(other.unit(m, u))) << seed;
        ASSERT_EQ(a.reasons[static_cast<size_t>(graph.unit(n, u))], b.reasons[static_cast<size_t>(other.unit(m, u))]);
      }
      const int group = a.groups[static_cast<size_t>(n)], there = b.groups[static_cast<size_t>(m)];
      ASSERT_EQ(groups.emplace(group, there).first->second, there) << seed;
    }
    const auto names = [](const CastPlan& plan) {
      std::set<std::string> all;
      for (const PlannedCast& cast : plan.casts) all.insert(cast.name);
      return all;
    };
    ASSERT_EQ(names(plan_casts(graph, a)), names(plan_casts(other, b))) << seed;
  }
}

// Loops of a GraphDef are no trouble.
TEST(RandomDags, LoopsEnd) {
  const OpGraph net = NetSketch()
                          .add("a", "AddV2", {"c", "c"})  // a strict node that waits for what waits for it
                          .add("b", "Relu", {"a"})
                          .add("c", "Reshape", {"b"})
                          .add("self", "AddV2", {"self"})
                          .graph();
  EXPECT_EQ(groups(net, colour(net, Recipe::full())), "{a b c}");
  EXPECT_EQ(reason_of(net, colour(net, Recipe::full()), "self"), "input 'self' stays float32");
}

// What comes out is a graph that runs, and keeps its fetch in float32.
TEST(RandomDags, RewrittenGraphsRun) {
  const Tensor x = Tensor::full(kFloat32, {2, 2}, 0.5);
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const Graph graph = random_matrix_graph(seed);
    const GraphRewrite r = convert_bfloat16(graph, seed % 2 ? Recipe::full() : bert(), Strings{"out"});
    const auto executor = make_executor(r.graph);
    EXPECT_EQ(run(*executor, {{"x", &x}}, {"out"}).values[0].dtype(), kFloat32) << seed;
    EXPECT_EQ(convert_bfloat16(r.graph, seed % 2 ? Recipe::full() : bert(), Strings{"out"}).graph, r.graph) << seed;
  }
}

// 50 patterns, 100,000 nodes: seconds would show.
// tests: H11
TEST(Size, FiftyPatternsOnALargeGraph) {
  NetSketch sketch;
  sketch.add("x", "Placeholder");
  constexpr int kNodes = 100'000;
  std::string before = "x";
  for (int i = 1; i < kNodes; ++i) {
    static const char* const kOps[] = {"MatMul", "AddV2", "Mean", "Reshape", "Mul"};
    std::string name = "model/encoder/layer_" + std::to_string(i / 50) + "/attention/self/op_" + std::to_string(i);
    sketch.add(name, kOps[i % 5], {before, before});
    before = std::move(name);
  }
  const OpGraph net = sketch.graph();
  Recipe r = Recipe::full();
  for (int i = 0; i < 24; ++i)
    r.convertible.push_back({".*/layer_[0-9]*" + std::to_string(i) + "/attention/self/op_[0-9]+", "Mean"});
  for (int i = 0; i < 24; ++i) r.non_convertible.push_back({"model/.*layer_" + std::to_string(i) + "/.*", ""});
  const Colouring c = colour(net, r);
  for (int n = 1; n < kNodes; ++n) {
    const int layer = n / 50;
    const std::string& list = c.lists[static_cast<size_t>(net.unit(n, 0))];
    bool forced = n % 5 == 2 && layer >= 24;
    if (forced) {  // the number ends like one of 0 .. 23
      const std::string digits = std::to_string(layer);
      forced = false;
      for (int i = 0; i < 24; ++i) forced = forced || digits.ends_with(std::to_string(i));
    }
    ASSERT_EQ(list == "non_convertible", layer < 24) << n;
    ASSERT_EQ(list == "convertible", forced) << n;
  }
}

TEST(Speed, ANodeOfManyTypesAsksItsNeighboursOnce) {
  constexpr int kTypes = 20'000;  // 20 s where every type does
  const TypeUnit unit{"T", ElementType::kFloat, true, true};
  OpGraph net;
  for (const char* op : {"MatMul", "IdentityN"}) {
    OpNode& n = net.nodes.emplace_back();
    n.name = n.op = op;
  }
  net.nodes[0].units = {unit};
  net.nodes[0].output_units = {0};
  net.nodes[0].output_types = {ElementType::kFloat};
  for (int16_t u = 0; u < kTypes; ++u) {
    net.nodes[1].units.push_back(unit);
    net.nodes[1].inputs.push_back({0, 0});
    net.nodes[1].input_units.push_back(u);
    net.nodes[1].output_units.push_back(u);
    net.nodes[1].output_types.push_back(ElementType::kFloat);
  }
  net.nodes[1].units[1].type = ElementType::kInt32;
  net.number_units();
  const auto begin = std::chrono::steady_clock::now();
  const Colouring c = colour(net, Recipe::full());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  const auto reason = [&](int u) { return c.reasons[static_cast<size_t>(net.unit(1, u))]; };
  EXPECT_EQ(reason(0), "beside 'MatMul', which is converted");
  EXPECT_EQ(reason(1), "is int32");
  EXPECT_EQ(reason(kTypes - 1), reason(0));
}

}  // namespace
}  // namespace softamp::test
