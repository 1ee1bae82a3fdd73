// MindSpore's levels on finished graphs (MIXED_PRECISION M02, M04, M15, M16, TUTORIAL X10): names, settings, rules,
// colours; and what colours by layers promise on any graph.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "softamp/precision/amp_level.h"
#include "softamp/train/models.h"
#include "tests/graph/executor_check.h"
#include "tests/precision/random_dag.h"

namespace softamp::test {
namespace {

using enum DType;

// ---- Names and settings ----------------------------------------------------------------------------------------

// tests: M02
TEST(Levels, NamesAndWhatIsRefused) {
  for (const AmpLevel level : {AmpLevel::kO0, AmpLevel::kO1, AmpLevel::kO2, AmpLevel::kO3, AmpLevel::kAuto})
    EXPECT_EQ(parse_amp_level(name_of(level)), level);
  EXPECT_STREQ(name_of(AmpLevel::kAuto), "auto");
  static_assert(!std::is_invocable_v<decltype(parse_amp_level), int>, "a level is a text");
  for (const char* bad : {"O4", "o2", "", "Auto", "O2 ", "2"})
    EXPECT_TRUE(refusal<std::invalid_argument>([&] {
                  parse_amp_level(bad);
                }).starts_with("unknown amp_level '" + std::string(bad) + "'; expected one of O0, O1, O2, O3, auto"))
        << bad;
}

// tests: M02, X10
TEST(Levels, SettingsOfTheTable) {
  const auto expect = [](AmpLevel level, DType cast, bool keep, const char* scale) {
    const AmpSettings s = amp_settings(level);
    EXPECT_EQ(s.level, level);
    EXPECT_EQ(s.cast_model_type, cast) << name_of(level);
    EXPECT_EQ(s.keep_batchnorm_fp32, keep) << name_of(level);
    EXPECT_EQ(s.loss_scale.name, scale) << name_of(level);
  };
  // TUTORIAL X10: all versions' levels.
  expect(AmpLevel::kO0, kFloat32, false, "none");
  expect(AmpLevel::kO1, kFloat16, true, "none");
  expect(AmpLevel::kO2, kFloat16, true, "mindspore");
  expect(AmpLevel::kO3, kFloat16, false, "none");
  EXPECT_EQ(amp_settings(AmpLevel::kO2, "GPU", kBFloat16).cast_model_type, kBFloat16);
  EXPECT_EQ(amp_settings(AmpLevel::kO0, "GPU", kBFloat16).cast_model_type, kFloat32);
  EXPECT_EQ(refusal<std::invalid_argument>([] { amp_settings(AmpLevel::kO2, "GPU", kFloat64); }),
            "amp_level O2: low precision is float64; expected float16 or bfloat16");
}

// tests: M16
TEST(Levels, AutoIsTheTargetsLevel) {
  EXPECT_EQ(amp_settings(AmpLevel::kAuto, "GPU").level, AmpLevel::kO2);
  EXPECT_EQ(amp_settings(AmpLevel::kAuto, "Ascend").level, AmpLevel::kO3);
  EXPECT_EQ(refusal<std::invalid_argument>([] { amp_settings(AmpLevel::kAuto, "CPU"); }),
            "Level `auto` only support when `device_target` is GPU or Ascend.");
  EXPECT_EQ(amp_settings(AmpLevel::kO2, "CPU").level, AmpLevel::kO2);  // TUTORIAL X9: other levels run anywhere
}

// tests: M02
TEST(Levels, Rules) {
  const LayerRule o0 = layer_rule(amp_settings(AmpLevel::kO0)), o2 = layer_rule(amp_settings(AmpLevel::kO2)),
                  o3 = layer_rule(amp_settings(AmpLevel::kO3));
  EXPECT_EQ(o0("dense", "d").compute, kFloat32);
  EXPECT_FALSE(o0("dense", "d").cast_input);
  EXPECT_EQ(o2("dense", "d").compute, kFloat16);
  EXPECT_EQ(o2("dense", "d").variables, kFloat32);
  EXPECT_EQ(o2("dense", "d").reason, "level O2");
  EXPECT_EQ(o2("batch_norm", "b").compute, kFloat32);
  EXPECT_EQ(o2("batch_norm", "b").output, kFloat16);
  EXPECT_EQ(o2("batch_norm", "b").reason, "level O2: BatchNorm stays float32");
  EXPECT_EQ(o2("loss", "l").compute, kFloat32);
  EXPECT_EQ(o3("batch_norm", "b").compute, kFloat16);
  EXPECT_EQ(o3("loss", "l").compute, kFloat32);
  EXPECT_EQ(o3("group_norm", "g").compute, kFloat16);
  for (const AmpLevel level : {AmpLevel::kO1, AmpLevel::kAuto}) {
    AmpSettings s;
    s.level = level;
    EXPECT_THROW(layer_rule(s), std::invalid_argument);
  }
}

// tests: M02, X10
TEST(Levels, O1Lists) {
  const auto words = [](std::span<const std::string> list) { return Names(list.begin(), list.end()); };
  EXPECT_EQ(words(o1_white_operations()),
            (Names{"Conv2D", "Conv3D", "Conv2DTranspose", "Conv3DTranspose", "Conv2DBackpropInput", "MatMul",
                   "BatchMatMul", "PReLU", "ReLU", "Ger"}));
  EXPECT_EQ(words(o1_white_cells()), (Names{"Conv1d", "Conv2d", "Conv3d", "Conv1dTranspose", "Conv2dTranspose",
                                            "Conv3dTranspose", "Dense", "LSTMCell", "RNNCell", "GRUCell"}));
  // TUTORIAL X10: O1 is a pass, with lists of its own.
  EXPECT_EQ(words(o1_black_cells()), (Names{"BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "LayerNorm"}));
}

// ---- Colours of small graphs --------------------------------------------------------------------------------------

Colouring colour_level(const OpGraph& picture, AmpLevel level, DType low = kFloat16) {
  if (level == AmpLevel::kO1) return colour_o1(picture, low);
  const AmpSettings s = amp_settings(level, "GPU", low);
  return colour_layers(picture, layer_rule(s), s.cast_model_type, std::string("level ") + name_of(level));
}

GraphRewrite rewrite_level(const Graph& graph, const Names& fetches, AmpLevel level, DType low = kFloat16) {
  return rewrite_with(graph, fetches, [&](const OpGraph& picture) { return colour_level(picture, level, low); });
}

/// Names of nodes with a unit that becomes low, in order.
Names low_nodes(const PrecisionReport& report) {
  Names names;
  for (int n = 0; n < report.before.size(); ++n) {
    const OpNode& node = report.before.nodes[static_cast<size_t>(n)];
    for (size_t u = 0; u < node.units.size(); ++u)
      if (report.colours.is_low(report.before.unit(n, static_cast<int>(u)))) {
        names.push_back(node.name);
        break;
      }
  }
  return names;
}
std::string reported_reason(const PrecisionReport& report, const std::string& name) {
  for (int n = 0; n < report.before.size(); ++n)
    if (report.before.nodes[static_cast<size_t>(n)].name == name)
      return report.colours.reasons[static_cast<size_t>(report.before.unit(n, 0))];
  return "no such node";
}
Names casts_of(const PrecisionReport& report) {
  Names names;
  for (const PlannedCast& c : report.plan.casts) names.push_back(c.name);
  return names;
}

/// MIXED_PRECISION T17: x -> MatMul0 -> BiasAdd0 -> Relu -> MatMul1 -> BiasAdd1 -> Softmax, SquaredDifference, Mean;
/// each layer in a scope of its own.
Graph two_layers() {
  GraphBuilder b;
  const auto weight = [&](const char* name, const Shape& shape) {
    return b.add("VariableV2", {}, {{"dtype", kFloat32}, {"shape", shape}}, name);
  };
  const Port x = b.placeholder("x", kFloat32, {2, 3}), y = b.placeholder("y", kFloat32, {2, 5});
  Port t = b.add("MatMul", {x, weight("d0/w", {3, 4})}, {}, "d0/MatMul");
  t = b.add("BiasAdd", {t, weight("d0/b", {4})}, {}, "d0/BiasAdd");
  t = b.add("Relu", {t}, {}, "Relu");
  t = b.add("MatMul", {t, weight("d1/w", {4, 5})}, {}, "d1/MatMul");
  t = b.add("BiasAdd", {t, weight("d1/b", {5})}, {}, "d1/BiasAdd");
  t = b.add("Softmax", {t}, {}, "head/Softmax");
  t = b.add("SquaredDifference", {t, y}, {}, "head/SquaredDifference");
  b.add("Mean", {t}, {}, "loss");
  return b.build();
}

// tests: M04
TEST(Layers, TwoDenseLayersUnderO2) {
  const Graph graph = two_layers();
  const GraphRewrite done = rewrite_level(graph, {"loss"}, AmpLevel::kO2);
  EXPECT_NO_THROW(verify(done.graph));
  EXPECT_EQ(graph, two_layers());
  EXPECT_EQ(low_nodes(done.report), (Names{"d0/MatMul", "d0/BiasAdd", "Relu", "d1/MatMul", "d1/BiasAdd", "head/Softmax",
                                           "head/SquaredDifference"}));
  EXPECT_EQ(casts_of(done.report),
            (Names{"x-0-CastToFp16", "y-0-CastToFp16", "d0/w-0-CastToFp16", "d0/b-0-CastToFp16", "d1/w-0-CastToFp16",
                   "d1/b-0-CastToFp16", "head/SquaredDifference-0-CastToFp32"}));
  EXPECT_EQ(reported_reason(done.report, "d0/MatMul"), "level O2, layer 'd0', from its first input 'x'");
  EXPECT_EQ(reported_reason(done.report, "d0/w"), "holds state or draws random numbers");
  EXPECT_EQ(reported_reason(done.report, "Relu"), "all of its inputs are low");
  EXPECT_EQ(reported_reason(done.report, "loss"), "fed or fetched");
  const GraphRewrite again = rewrite_level(done.graph, {"loss"}, AmpLevel::kO2);
  EXPECT_EQ(again.graph, done.graph);
  EXPECT_EQ(rewrite_level(graph, {"loss"}, AmpLevel::kO0).graph, graph);
}

// tests: M02
TEST(Layers, TwoDenseLayersUnderO1) {
  // White: products and ReLU, and the two cells whole; a cast to float32 behind the last of them.
  const GraphRewrite done = rewrite_level(two_layers(), {"loss"}, AmpLevel::kO1);
  EXPECT_EQ(low_nodes(done.report), (Names{"d0/MatMul", "d0/BiasAdd", "Relu", "d1/MatMul", "d1/BiasAdd"}));
  EXPECT_EQ(casts_of(done.report), (Names{"x-0-CastToFp16", "d0/w-0-CastToFp16", "d0/b-0-CastToFp16",
                                          "d1/w-0-CastToFp16", "d1/b-0-CastToFp16", "d1/BiasAdd-0-CastToFp32"}));
  EXPECT_EQ(reported_reason(done.report, "d0/BiasAdd"), "in cell 'd0', a product with its parameters");
  EXPECT_EQ(reported_reason(done.report, "Relu"), "Relu is on the white list");
  EXPECT_EQ(reported_reason(done.report, "head/Softmax"), "Softmax is on no list");
}

TEST(Layers, CellsOfO1AreWholeOrNone) {
  // A product among other things is no Dense, a ReLU within a norm's scope stays with the norm, one outside does not.
  GraphBuilder b;
  const Port x = b.placeholder("x", kFloat32, {2, 2});
  const auto weight = [&](const char* name, const Shape& shape) {
    return b.add("VariableV2", {}, {{"dtype", kFloat32}, {"shape", shape}}, name);
  };
  Port t = b.add("MatMul", {x, weight("attention/w", {2, 2})}, {}, "attention/MatMul");
  t = b.add("Softmax", {t}, {}, "attention/Softmax");
  t = b.add("BiasAdd", {t, weight("attention/b", {2})}, {}, "attention/BiasAdd");
  const Port c = weight("bn/c", {2});
  t = b.add("FusedBatchNormV3", {t, c, c, c, c}, {}, "bn/FusedBatchNormV3");
  t = b.add("Relu", {t}, {}, "bn/Relu");
  t = b.add("Relu", {t}, {}, "Relu");
  b.add("Relu", {t}, {}, "out");
  const GraphRewrite o1 = rewrite_level(b.build(), {"out"}, AmpLevel::kO1);
  EXPECT_EQ(low_nodes(o1.report), (Names{"attention/MatMul", "Relu"}));
  EXPECT_EQ(reported_reason(o1.report, "bn/Relu"), "in cell 'bn', a norm, which stays float32");
  EXPECT_EQ(reported_reason(o1.report, "attention/BiasAdd"), "BiasAdd is on no list");
}

TEST(Layers, WhatReadsOtherInputsStays) {
  // Layer "l" takes x first; what hangs on its second input alone stays float32 until it meets x.
  GraphBuilder b;
  const Port x = b.placeholder("x", kFloat32, {2, 2}), y = b.placeholder("y", kFloat32, {2, 2});
  const Port w = b.add("VariableV2", {}, {{"dtype", kFloat32}, {"shape", Shape{2, 2}}}, "l/w");
  const Port begin = b.add("Square", {x}, {}, "l/first");
  const Port q = b.add("Neg", {y}, {}, "l/second");
  const Port again = b.add("Neg", {x}, {}, "l/again");  // another reader of the same port
  const Port scaled = b.add("Square", {w}, {}, "l/scaled");
  const Port met = b.add("AddV2", {begin, q}, {}, "l/met");
  const Port out = b.add("AddN", {met, again, scaled}, {}, "out");
  b.add("AddV2", {out, y}, {}, "mixed");  // one of its inputs is float32
  const Graph graph = b.build();
  const auto low = [&](LayerPrecision p) {
    p.compute = kFloat16;
    return low_nodes(rewrite_with(graph, {}, [&](const OpGraph& g) {
                       return colour_layers(
                           g, [&](std::string_view, std::string_view) { return p; }, kFloat16, "test");
                     }).report);
  };
  EXPECT_EQ(low({}), (Names{"l/first", "l/again", "l/scaled", "l/met", "out"}));
  LayerPrecision variables_only;
  variables_only.cast_input = false;
  EXPECT_EQ(low(variables_only), (Names{"l/scaled"}));
  // A result that is to be float32 holds back what follows it.
  LayerPrecision wide_output;
  wide_output.output = kFloat32;
  EXPECT_EQ(low(wide_output), (Names{"l/first", "l/again", "l/scaled", "l/met"}));
  EXPECT_EQ(refusal<std::invalid_argument>([&] {
              colour_layers(
                  op_graph(graph), [](std::string_view, std::string_view) { return LayerPrecision{kFloat64}; },
                  kFloat16, "test");
            }),
            "test: layer 'l' is to compute in float64; expected float32 or float16, the pass's low precision");
}

TEST(Layers, TheAttributeOutweighsTheScope) {
  GraphBuilder b;
  const Port x = b.placeholder("x", kFloat32, {2, 2});
  b.add("MatMul", {x, x}, {{"layer", std::string("keep")}}, "scope/MatMul");
  b.add("MatMul", {x, x}, {}, "scope/MatMul");
  const Graph graph = b.build();
  std::vector<std::pair<std::string, std::string>> asked;
  const LayerRule rule = [&](std::string_view kind, std::string_view path) {
    asked.emplace_back(kind, path);
    return LayerPrecision{path == "keep" ? kFloat32 : kFloat16};
  };
  const OpGraph picture = op_graph(graph);
  const Colouring c = colour_layers(picture, rule, kFloat16, "test");
  EXPECT_FALSE(c.is_low(picture.unit(1, 0)));
  EXPECT_TRUE(c.is_low(picture.unit(2, 0)));
  EXPECT_EQ(asked, (std::vector<std::pair<std::string, std::string>>{{"dense", "keep"}, {"dense", "scope"}}));
}

// ---- Networks ---------------------------------------------------------------------------------------------------

Graph network(const std::string& name) {
  const NetworkInfo info = find_network(name);
  ModelOptions options;
  options.batch_size = 2;
  options.image = info.image;
  return build_model(info.build, options).graph;
}

// tests: M04
TEST(Networks, O2LeavesBatchNormAndTheLossAlone) {
  const Graph graph = network("resnet8");
  const Names fetches{"logits", "loss"};
  for (const DType low : {kFloat16, kBFloat16}) {
    const GraphRewrite o2 = rewrite_level(graph, fetches, AmpLevel::kO2, low),
                       o3 = rewrite_level(graph, fetches, AmpLevel::kO3, low);
    const auto type = [](const Graph& g, const std::string& name) { return g.type(g.port(name)).dtype; };
    int norms = 0, products = 0;
    for (const Node& node : graph.nodes()) {
      if (node.op == "FusedBatchNormV3") {
        ++norms;
        EXPECT_EQ(type(o2.graph, node.name), kFloat32);
        EXPECT_EQ(type(o3.graph, node.name), low);
        EXPECT_EQ(reported_reason(o2.report, node.name),
                  "level O2: BatchNorm stays float32, layer '" + scope_of(node.name) + "'");
      } else if (node.op == "Conv2D" || node.op == "MatMul" || node.op == "BiasAdd" || node.op == "Relu") {
        ++products;
        EXPECT_EQ(type(o2.graph, node.name), low) << node.name;
        EXPECT_EQ(type(o3.graph, node.name), low) << node.name;
      }
      if (node.op == "VariableV2" || node.op == "SparseSoftmaxCrossEntropyWithLogits") {
        EXPECT_EQ(type(o2.graph, node.name), kFloat32) << node.name;
      }
    }
    EXPECT_EQ(norms, 3);
    EXPECT_GT(products, 20);
    EXPECT_EQ(type(o2.graph, "logits"), kFloat32);
    EXPECT_EQ(type(o2.graph, "loss"), kFloat32);
    // x, and of 11 products kernel and bias; none for parameters of norms. A norm's input is cast up, its output down.
    for (const PlannedCast& c : o2.report.plan.casts)
      EXPECT_EQ(c.name.find("gamma") + c.name.find("moving"), 2 * std::string::npos) << c.name;
    EXPECT_EQ(rewrite_level(o2.graph, fetches, AmpLevel::kO2, low).graph, o2.graph);
  }
}

/// A loss of squared differences in a scope of its own stays float32 under O2, in a policy it is a layer.
TEST(Layers, LossesOfSquaredDifferencesAreRecognised) {  // MIXED_PRECISION M04
  GraphBuilder b;
  const Port x = b.placeholder("x", kFloat32, {2, 3}), y = b.placeholder("y", kFloat32, {2, 4});
  const Port w = b.add("VariableV2", {}, {{"dtype", kFloat32}, {"shape", Shape{3, 4}}}, "d/w");
  const Port t = b.add("MatMul", {x, w}, {}, "d/MatMul");
  const Port d = b.add("SquaredDifference", {t, y}, {}, "loss/difference");
  const Port m = b.add("Mean", {d}, {}, "loss/mean");
  b.add("Mul", {m, m}, {}, "scaled");
  const Graph graph = b.build();
  const GraphRewrite o2 = rewrite_level(graph, {"scaled"}, AmpLevel::kO2);
  EXPECT_EQ(low_nodes(o2.report), Names{"d/MatMul"});
  EXPECT_EQ(reported_reason(o2.report, "loss/difference"), "level O2: the loss stays float32, layer 'loss'");
  EXPECT_EQ(rewrite_level(o2.graph, {"scaled"}, AmpLevel::kO2).graph, o2.graph);
  // A mean that another layer reads is none: the moments of a norm.
  GraphBuilder c;
  const Port z = c.placeholder("z", kFloat32, {2, 3});
  const Port moment = c.add("Mean", {c.add("SquaredDifference", {z, z}, {}, "m/difference")}, {}, "m/mean");
  const Port root = c.add("Sqrt", {moment}, {}, "n/root");
  c.add("Neg", {root}, {}, "out");
  EXPECT_EQ(low_nodes(rewrite_level(c.build(), {"out"}, AmpLevel::kO2).report).size(), 3u);
}

TEST(Layers, ProductsWithoutALayerAreSaid) {
  GraphBuilder b;
  const Port x = b.placeholder("x", kFloat32, {2, 3});
  const auto weight = [&](const char* name) {
    return b.add("VariableV2", {}, {{"dtype", kFloat32}, {"shape", Shape{3, 3}}}, name);
  };
  Port t = b.add("MatMul", {x, weight("d/w")}, {}, "d/MatMul");
  t = b.add("MatMul", {t, weight("w")}, {}, "MatMul_1");
  t = b.add("MatMul", {t, weight("v")}, {}, "MatMul_2");
  b.add("Neg", {t}, {}, "out");
  const GraphRewrite done = rewrite_level(b.build(), {"out"}, AmpLevel::kO2);
  EXPECT_EQ(done.report.colours.messages,
            Names{"WARNING level O2: 2 of 3 products belong to no layer and stay float32, the first 'MatMul_1': a node "
                  "without a layer follows its inputs; expected names with scopes (dense/MatMul), or the attribute "
                  "\"layer\""});
}

TEST(Networks, O1) {
  for (const char* name : {"resnet8", "lenet5", "fashion_cnn", "small_cnn"}) {
    const Graph graph = network(name);
    const GraphRewrite o1 = rewrite_level(graph, {"logits", "loss"}, AmpLevel::kO1);
    EXPECT_NO_THROW(verify(o1.graph));
    for (int n = 0; n < o1.report.before.size(); ++n) {
      const OpNode& node = o1.report.before.nodes[static_cast<size_t>(n)];
      if (node.units.empty()) continue;
      const bool low = o1.report.colours.is_low(o1.report.before.unit(n, 0));
      if (node.op == "Conv2D" || node.op == "MatMul" || node.op == "Relu" || node.op == "BiasAdd")
        EXPECT_TRUE(low) << name << " " << node.name;
      else if (node.op == "Reshape")
        EXPECT_EQ(low, !node.layer.empty()) << name << " " << node.name;  // dense_column's own
      else
        EXPECT_FALSE(low) << name << " " << node.name;
    }
  }
}

TEST(Networks, RewrittenOnesRunAndStayNear) {
  // Half a network's roundings away: far less than the differences among logits of a network that is right.
  const Graph graph = network("small_cnn");
  Tensor images(kFloat32, {2, 28, 28, 1});
  for (int64_t i = 0; i < images.elements(); ++i) images.as<float>()[static_cast<size_t>(i)] = float(i % 29) / 32;
  const Tensor labels(kInt32, {2});
  const auto logits = [&](const Graph& g) {
    const auto executor = make_executor(g);
    for (const Node& node : graph.nodes())
      if (node.op == "VariableV2")
        executor->set_variable(node.name, initial_value(Initializer::glorot_uniform(), node.outputs[0], node.name, 1));
    return run(*executor, {{"images", &images}, {"labels", &labels}}, {"logits"}).values[0].values();
  };
  const std::vector<double> plain = logits(graph);
  double largest = 0;
  for (const double x : plain) largest = std::max(largest, std::abs(x));
  for (const AmpLevel level : {AmpLevel::kO1, AmpLevel::kO2, AmpLevel::kO3}) {
    const std::vector<double> low = logits(rewrite_level(graph, {"logits", "loss"}, level).graph);
    EXPECT_NE(low, plain);
    // Each value passes some ten roundings of relative 2^-11 on its way, and sums of terms of either sign.
    for (size_t i = 0; i < plain.size(); ++i) EXPECT_NEAR(low[i], plain[i], largest * 0x1p-6) << name_of(level);
  }
}

// ---- Any graph --------------------------------------------------------------------------------------------------

/// Some seconds of random graphs; all 100,000 are asked for by SOFTAMP_DAGS.
const int kDags = dags(40000);

/// BatchNorm and the loss stay, as under O2; layers "scope0" are float32 with a low output, "scope1" keep their input.
LayerPrecision varied_rule(DType low, std::string_view kind, std::string_view path) {
  LayerPrecision p{low};
  if (kind == "batch_norm" || kind == "loss") p.compute = kFloat32;
  if (path == "scope0") {
    p.compute = kFloat32;
    p.output = low;
  }
  if (path == "scope1") p.cast_input = false;
  if (path == "scope2") p.output = kFloat32;
  return p;
}

/// With the layer that casts have: their producer's.
OpGraph applied_in_layers(const OpGraph& graph, const CastPlan& plan) {
  OpGraph after = applied(graph, plan);
  for (int n = graph.size(); n < after.size(); ++n) {
    OpNode& cast = after.nodes[static_cast<size_t>(n)];
    cast.layer = after.nodes[static_cast<size_t>(cast.inputs[0].node)].layer;
  }
  return after;
}

void expect_sound(const OpGraph& graph, const Colouring& c, DType low, const std::string& place) {
  for (int n = 0; n < graph.size(); ++n)
    for (int u = 0; u < static_cast<int>(graph.nodes[static_cast<size_t>(n)].units.size()); ++u) {
      const auto unit = static_cast<size_t>(graph.unit(n, u));
      ASSERT_TRUE(!c.low_units[unit] || may_become_low(graph, n, u, low)) << place;
      ASSERT_FALSE(c.reasons[unit].empty()) << place;
      ASSERT_FALSE(c.lists[unit].empty()) << place;
    }
}

struct Planned {
  CastPlan plan;
  OpGraph after;
};

/// Sound colours give a graph whose dtypes fit.
void plan_soundly(const OpGraph& graph, const Colouring& c, DType low, const std::string& place, Planned& out) {
  expect_sound(graph, c, low, place);
  out.plan = plan_casts(graph, c);
  out.after = applied_in_layers(graph, out.plan);
  ASSERT_EQ(type_fault(out.after), "") << place;
}

/// A second pass finds nothing to do.
void expect_settled(const OpGraph& after, const Colouring& c, const std::string& place) {
  const CastPlan second = plan_casts(after, c);
  ASSERT_TRUE(second.casts.empty() && second.retyped.empty()) << place;
}

// tests: M04
TEST(AnyGraph, ColoursByLayers) {
  int64_t converted = 0;
  for (int i = 0; i < kDags / 2; ++i) {
    const uint64_t seed = 7919u * static_cast<uint64_t>(i) + 1;
    const DType low = i % 2 ? kBFloat16 : kFloat16;
    const OpGraph graph = random_op_graph(seed);
    const std::string place = "seed " + std::to_string(seed);
    const LayerRule rule = [low](std::string_view kind, std::string_view path) { return varied_rule(low, kind, path); };
    const Colouring c = colour_layers(graph, rule, low, "rule");
    Planned planned;
    plan_soundly(graph, c, low, place, planned);
    if (HasFatalFailure()) return;
    converted += planned.plan.converted_nodes();
    // What a rule keeps stays; the norm of a scope of its own or not.
    for (int n = 0; n < graph.size(); ++n) {
      const OpNode& node = graph.nodes[static_cast<size_t>(n)];
      if (node.layer != "scope0" && !node.op.starts_with("FusedBatchNorm") &&
          node.op != "SoftmaxCrossEntropyWithLogits")
        continue;
      for (size_t u = 0; u < node.units.size(); ++u)
        ASSERT_FALSE(c.is_low(graph.unit(n, static_cast<int>(u)))) << place << " " << node.name;
    }
    expect_settled(planned.after, colour_layers(planned.after, rule, low, "rule"), place);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(converted, kDags);
}

TEST(AnyGraph, TheOrderOfNodesChoosesFirstInputsAndNothingElse) {
  for (int i = 0; i < kDags / 4; ++i) {
    const uint64_t seed = 104729u * static_cast<uint64_t>(i) + 3;
    // Without a second way into a layer: every layer's edges from outside come from one port.
    OpGraph graph = random_op_graph(seed);
    const auto origin = [&](OpEdge e) {  // through casts between floating dtypes
      const auto from = [&]() -> const OpNode& { return graph.nodes[static_cast<size_t>(e.node)]; };
      while (from().op == "Cast" && graph.type(from().inputs[0]) != ElementType::kInt32) e = from().inputs[0];
      return e;
    };
    const auto is_parameter = [&](int n) {
      const OpNode& node = graph.nodes[static_cast<size_t>(n)];
      return is_constant_or_variable(graph, n) ||
             (node.op == "Identity" && is_variable(graph.nodes[static_cast<size_t>(origin(node.inputs[0]).node)].op));
    };
    for (bool changed = true; changed;) {  // a node that leaves its layer is outside for the others
      changed = false;
      std::map<std::string, OpEdge> first;
      for (OpNode& node : graph.nodes)
        for (const OpEdge& input : node.inputs) {
          const OpEdge e = origin(input);
          const bool inside = graph.nodes[static_cast<size_t>(e.node)].layer == node.layer;
          if (node.layer.empty() || inside || is_parameter(e.node)) continue;
          const auto [known, added] = first.emplace(node.layer, e);
          if (added || known->second == e) continue;
          node.layer.clear();
          changed = true;
        }
    }
    std::vector<int> place;
    const OpGraph other = shuffled(graph, seed, place);
    const LayerRule rule = [](std::string_view kind, std::string_view path) {
      return varied_rule(kFloat16, kind, path);
    };
    const Colouring a = colour_layers(graph, rule, kFloat16, "rule"), b = colour_layers(other, rule, kFloat16, "rule");
    const Colouring c = colour_o1(graph), d = colour_o1(other);
    for (int n = 0; n < graph.size(); ++n)
      for (int u = 0; u < static_cast<int>(graph.nodes[static_cast<size_t>(n)].units.size()); ++u) {
        const auto here = static_cast<size_t>(graph.unit(n, u)),
                   there = static_cast<size_t>(other.unit(place[static_cast<size_t>(n)], u));
        ASSERT_EQ(c.low_units[here], d.low_units[there]) << seed;
        ASSERT_EQ(c.reasons[here], d.reasons[there]) << seed;
        ASSERT_EQ(a.low_units[here], b.low_units[there]) << seed << " " << graph.nodes[static_cast<size_t>(n)].name;
        ASSERT_EQ(a.reasons[here], b.reasons[there]) << seed;
      }
  }
}

TEST(AnyGraph, O1) {
  int64_t converted = 0;
  for (int i = 0; i < kDags / 4; ++i) {
    const uint64_t seed = 15485863u * static_cast<uint64_t>(i) + 5;
    const OpGraph graph = random_op_graph(seed);
    const std::string place = "seed " + std::to_string(seed);
    const Colouring c = colour_o1(graph);
    Planned planned;
    plan_soundly(graph, c, kFloat16, place, planned);
    if (HasFatalFailure()) return;
    converted += planned.plan.converted_nodes();
    for (int n = 0; n < graph.size(); ++n) {
      const OpNode& node = graph.nodes[static_cast<size_t>(n)];
      if (node.units.empty() || !c.is_low(graph.unit(n, 0))) continue;
      ASSERT_FALSE(node.op.starts_with("FusedBatchNorm")) << place;
      ASSERT_TRUE(c.lists[static_cast<size_t>(graph.unit(n, 0))].starts_with("white")) << place;
    }
    // A cast stands between a low and a float32 node only: a pair of them is none.
    for (const PlannedCast& cast : planned.plan.casts)
      for (const auto& [reader, input] : cast.readers)
        ASSERT_NE(c.is_low(graph.producer_unit(cast.from)), c.is_low(graph.reader_unit(reader, input))) << place;
    expect_settled(planned.after, colour_o1(planned.after), place);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(converted, kDags / 4);
}

TEST(AnyGraph, LoopsAndOpaqueNodes) {
  // Two nodes outside of layers that wait for each other never begin; an opaque node stays as it is.
  OpGraph g;
  const auto add = [&](const char* name, const char* op, std::vector<OpEdge> inputs, bool known = true) {
    OpNode n;
    n.name = name;
    n.op = op;
    n.inputs = std::move(inputs);
    n.units = {{"T", ElementType::kFloat, true, true}};
    n.input_units.assign(n.inputs.size(), 0);
    n.output_units = {0};
    n.output_types = {ElementType::kFloat};
    n.known = known;
    g.nodes.push_back(std::move(n));
  };
  add("x", "Placeholder", {});
  g.nodes.back().preserved = true;
  add("l/a", "Neg", {{0, 0}, {3, 0}});
  g.nodes.back().layer = "l";
  add("m", "AddV2", {{1, 0}, {3, 0}});
  add("n", "Neg", {{2, 0}});
  add("opaque", "Mystery", {{1, 0}}, false);
  add("after", "Neg", {{1, 0}});
  g.number_units();
  const Colouring c = colour_layers(
      g, [](std::string_view, std::string_view) { return LayerPrecision{kFloat16}; }, kFloat16, "test");
  EXPECT_EQ(c.low_units, (std::vector<uint8_t>{0, 1, 0, 0, 0, 1}));
  EXPECT_EQ(c.reasons[4], "nothing is known of the operation Mystery");
}

}  // namespace
}  // namespace softamp::test
