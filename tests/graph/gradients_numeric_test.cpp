// Gradients of every operation and of small networks, by numbers: gradient_check.h says how they are judged.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/graph/gradient_check.h"
#include "tests/graph/gradient_run.h"
#include "tests/ops/named_rows.h"
#include "tests/ops/node_rows.h"

namespace softamp::test {
namespace {

constexpr Mode kIeee = {"ieee", false, false, false}, kStochastic = {"ipu esr", true, true, false};

/// A random weighting of all the outputs that have a gradient, so that what arrives at each element differs.
Port weighted(GraphBuilder& b, Mixer& mix, const std::vector<Port>& outputs) {
  std::vector<Port> sums;
  for (const Port p : outputs) {
    const TensorType t = b.type(p);
    Tensor weights(t.dtype, t.shape);
    for (int64_t i = 0; i < weights.elements(); ++i)
      set_code(weights, i, code_of(t.dtype, static_cast<Real>(mix.between(32, 96) * (mix() & 1 ? 1 : -1)) / 64));
    sums.push_back(b.add("Sum", {b.add("Mul", {p, b.constant(std::move(weights), "weights")})}));
  }
  return b.add("AddN", sums, {}, "loss");
}

Tensor data_of(Mixer& mix, DType t, const NodeRow::Input& in, std::set<int64_t>& used) {
  Tensor x(t, Shape(std::span<const int64_t>(in.shape)));
  for (int64_t i = 0; i < x.elements(); ++i) {
    if (!in.numbers.empty()) {
      set_code(x, i, code_of(t, static_cast<Real>(in.numbers[static_cast<size_t>(i)])));
      continue;
    }
    // Odd multiples of 2^-8, no two alike: at least 2^-8 from zero and 2^-7 from one another, and halves hold them.
    int64_t k = 0;
    do k = mix.between(static_cast<int64_t>(in.low * 128), static_cast<int64_t>(in.high * 128) - 1) * 2 + 1;
    while (!used.insert(k).second);
    set_code(x, i, code_of(t, static_cast<Real>(k) / 256));
  }
  return x;
}

Differentiated differentiated(const NodeRow& c, DType t, uint64_t seed) {
  Mixer mix(seed);
  Differentiated d;
  d.what = c.op + " " + name_of(t) + " case " + std::to_string(seed);
  GraphBuilder b;
  std::set<int64_t> used;
  const std::vector<Port> inputs = placeholders_of(c, t, b);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const NodeRow::Input& in = c.inputs[i];
    if (in.variable) d.variables.push_back(inputs[i]);
    d.data.emplace_back("x" + std::to_string(i), data_of(mix, c.dtype(i, t), in, used));
  }
  const Port node = add_node(c, inputs, b, "tested");
  std::vector<Port> outputs;
  for (int o = 0; o < static_cast<int>(b.graph().node(node.node).outputs.size()); ++o)
    if (o == 0 || c.all_outputs) outputs.push_back({node.node, o});
  d.loss = weighted(b, mix, outputs);
  d.graph = b.build();
  return d;
}

void check(const Differentiated& d, bool fp32) {
  const GradientGraph g = gradients(d.graph, d.loss, d.variables);
  verify(g.graph);
  for (size_t v = 0; v < d.variables.size(); ++v)
    EXPECT_TRUE(g.gradients[v]) << d.what << ": no gradient of variable " << v;
  expect_derivatives(d, g);
  const Checked checked = expect_admitted_nodes(d, g, kIeee);
  if (fp32)
    expect_within_conditioned_error(d, g, checked);
  else
    expect_admitted_nodes(d, g, kStochastic);
}

/// The gradient of FakeQuantize goes straight through, which is no derivative: its own test is QuantizationTest.
bool is_differentiable(const NodeRow& row) { return row.operation().gradient != nullptr && row.op != "FakeQuantize"; }

class GradientRows : public RowTest<NodeRow> {};
INSTANTIATE_TEST_SUITE_P(Rows, GradientRows, ::testing::ValuesIn(named(node_rows(), is_differentiable)), kNameOfRow);

// tests: N222, N223, N224, N225, N228, N229, N230, N231
TEST_P(GradientRows, AgreeWithDifferences) {
  for (const DType t : {DType::kFloat32, DType::kFloat16}) {
    const Differentiated d = differentiated(row(), t, GetParam().number + 1);
    EXPECT_NO_THROW(check(d, t == DType::kFloat32)) << d.what;
  }
}

/// Compositions of their own in float64; its formulas alone are checked here.
bool has_float64(const NodeRow& row) {
  const std::vector<DType> types = row.types();
  return is_differentiable(row) && std::count(types.begin(), types.end(), DType::kFloat64);
}

class GradientRowsOfFloat64 : public RowTest<NodeRow> {};
INSTANTIATE_TEST_SUITE_P(Rows, GradientRowsOfFloat64, ::testing::ValuesIn(named(node_rows(), has_float64)), kNameOfRow);

// tests: N224
TEST_P(GradientRowsOfFloat64, AgreeWithDifferences) {
  const Differentiated d = differentiated(row(), DType::kFloat64, 1);
  const GradientGraph g = gradients(d.graph, d.loss, d.variables);
  verify(g.graph);
  expect_derivatives(d, g);
}

/// Gradients of gradients, which nobody has asked for, and updates.
const std::set<std::string> kWithoutGradient = {"ApplyAdam",      "ApplyCompensated",  "ApplyGradientDescent",
                                                "ApplyMomentum",  "ApplyRMSProp",      "FusedBatchNormGradV3",
                                                "Fp8ScaleUpdate", "HadamardTransform", "GeluGrad",
                                                "GroupNormGrad",  "LayerNormGrad",     "LogSoftmaxGrad",
                                                "MaxPoolGrad",    "ReciprocalGrad",    "RsqrtGrad",
                                                "SigmoidGrad",    "SoftmaxGrad",       "SqrtGrad",
                                                "TanhGrad"};

// tests: N232
TEST(GradientsNumeric, EveryOperationHasAGradientOrAReason) {
  for (const Operation& op : operations()) {
    const Differentiability kind = differentiability(op.name);
    EXPECT_EQ(op.gradient != nullptr, kind == Differentiability::kDifferentiable) << op.name;
    EXPECT_EQ(kWithoutGradient.contains(op.name), kind == Differentiability::kNone) << op.name;
    // Constant: a result that is no floating tensor, one that no operand enters, or one of these.
    static const std::set<std::string> kEnds = {"OnesLike", "StopGradient", "ZerosLike"};
    const std::string& result = op.outputs[0].type;
    const bool whole = result == "bool" || result == "int32";
    const bool ends = whole || op.inputs.empty() || op.inputs[0].type == "int32" || kEnds.contains(op.name);
    EXPECT_TRUE(kind != Differentiability::kConstant || ends) << op.name;
  }
}

// Networks.

struct Net {
  GraphBuilder b;
  Mixer mix;
  DType t;
  std::vector<Port> variables;
  std::vector<std::pair<std::string, Tensor>> data;

  Net(DType type, uint64_t seed) : mix(seed), t(type) {}
  Port input(const std::string& name, const Ints& shape, DType own, double low, double high, bool variable) {
    std::set<int64_t> used;
    data.emplace_back(name, data_of(mix, own, {shape, low, high, {}, {}, true}, used));
    const Port p = b.placeholder(name, own, Shape(std::span<const int64_t>(shape)));
    if (variable) variables.push_back(p);
    return p;
  }
  /// A parameter in fp32, cast at its use.
  Port parameter(const std::string& name, const Ints& shape, double low = -1, double high = 1) {
    const Port p = input(name, shape, DType::kFloat32, low, high, true);
    return t == DType::kFloat32 ? p : b.add("Cast", {p}, {{"DstT", t}});
  }
  Port labels(const Ints& classes) {
    Tensor x(DType::kInt32, Shape{static_cast<int64_t>(classes.size())});
    for (size_t i = 0; i < classes.size(); ++i) set_code(x, static_cast<int64_t>(i), static_cast<uint64_t>(classes[i]));
    data.emplace_back("labels", std::move(x));
    return b.placeholder("labels", DType::kInt32, Shape{static_cast<int64_t>(classes.size())});
  }
  Port mean_loss(Port logits, const Ints& classes) {
    if (t != DType::kFloat32) logits = b.add("Cast", {logits}, {{"DstT", DType::kFloat32}});
    const Port rows = b.add("SparseSoftmaxCrossEntropyWithLogits", {logits, labels(classes)});
    return b.add("Mean", {rows}, {}, "loss");
  }
  Differentiated done(Port loss, const std::string& what) {
    return {b.build(), loss, variables, std::move(data), what + " " + name_of(t)};
  }
};

/// Two dense layers and a cross-entropy.
Differentiated dense_net(DType t) {
  Net n(t, 11);
  const Port x = n.input("x", {4, 5}, t, -2, 2, false);
  const Port hidden = n.b.add("BiasAdd", {n.b.add("MatMul", {x, n.parameter("w1", {5, 6})}), n.parameter("b1", {6})});
  const Port logits = n.b.add(
      "BiasAdd", {n.b.add("MatMul", {n.b.add("Relu", {hidden}), n.parameter("w2", {6, 3})}), n.parameter("b2", {3})});
  return n.done(n.mean_loss(logits, {0, 2, 1, 2}), "dense");
}

/// A convolution, batch normalisation, pooling, a residual block and a dense layer.
Differentiated residual_net(DType t) {
  Net n(t, 12);
  const Ints ones = {1, 1, 1, 1}, twos = {1, 2, 2, 1};
  const Port x = n.input("x", {2, 4, 4, 2}, t, -2, 2, false);
  const auto convolution = [&](Port in, const std::string& name, const Ints& filter) {
    return n.b.add("Conv2D", {in, n.parameter(name, filter)}, {{"strides", ones}, {"padding", "SAME"}});
  };
  const auto norm = [&](Port in, const std::string& name) {
    const Port none = n.b.constant(Tensor(DType::kFloat32, Shape{0}), "none");
    const Port scale = n.input(name + "_scale", {3}, DType::kFloat32, 0.5, 1.5, true);
    const Port offset = n.input(name + "_offset", {3}, DType::kFloat32, -1, 1, true);
    return n.b.add("FusedBatchNormV3", {in, scale, offset, none, none}, {{"epsilon", 0.125}});
  };
  Port y = n.b.add("Relu", {norm(convolution(x, "w1", {3, 3, 2, 3}), "n1")});
  y = n.b.add("MaxPool", {y}, {{"ksize", twos}, {"strides", twos}, {"padding", "SAME"}});
  const Port branch = norm(convolution(y, "w2", {3, 3, 3, 3}), "n2");
  y = n.b.add("Relu", {n.b.add("AddV2", {branch, y})});
  y = n.b.add("Mean", {y}, {{"axes", Ints{1, 2}}});
  const Port logits = n.b.add("BiasAdd", {n.b.add("MatMul", {y, n.parameter("w3", {3, 3})}), n.parameter("b3", {3})});
  return n.done(n.mean_loss(logits, {2, 0}), "residual");
}

TEST(GradientsNumeric, Networks) {
  for (const DType t : {DType::kFloat32, DType::kFloat16}) {
    check(dense_net(t), t == DType::kFloat32);
    check(residual_net(t), t == DType::kFloat32);
  }
}

// Values at the edges of functions, of formats and of shapes.

// tests: N223, N225, N226
TEST(GradientsNumeric, AtTheEdges) {
  struct Case {
    std::string op;
    DType t;
    std::vector<double> x, y, dx, dy;
    Attributes attributes;
  };
  const std::vector<Case> cases = {
      {"Relu", kHalf, {0, -1, 2}, {}, {0, 0, 1}, {}, {}},
      {"Relu6", kHalf, {0, 6, 7, 5}, {}, {0, 0, 0, 1}, {}, {}},
      {"Abs", kHalf, {0, -2, 3}, {}, {0, -1, 1}, {}, {}},
      {"Maximum", kHalf, {1, 2, 3}, {1, 3, 2}, {1, 0, 1}, {0, 1, 0}, {}},
      {"Minimum", kHalf, {1, 2, 3}, {1, 3, 2}, {1, 1, 0}, {0, 0, 1}, {}},
      {"Max", kHalf, {3, 1, 3, 3, 3}, {}, {.25, 0, .25, .25, .25}, {}, {}},
      {"Min", kHalf, {3, 1, 2, 3, 1}, {}, {0, .5, 0, 0, .5}, {}, {}},
      {"SquaredDifference", kHalf, {2, 1, 200}, {1, 1, -0.25}, {2, 0, 400.5}, {-2, 0, -400.5}, {}},
      // y = 0 and x <= 0: slopes that are there, and no flags for those that are not.
      {"Pow", kSingle, {0, -2, -3, 2, 0}, {0, 0, 2, 0, 1}, {0, 0, -6, 0, 1}, {0, 0, 0, 0.693147182464599609375, 0}, {}},
      {"Pow", kHalf, {0, -2, 4, 0}, {0, 0, 0.5, 2}, {0, 0, 0.25, 0}, {0, 0, 2.7734375, 0}, {}},
      {"Expm1", kHalf, {-16}, {}, {0x1p-23}, {}, {}},
      {"Sqrt", kHalf, {4, 0.25}, {}, {.25, 1}, {}, {}},
      {"Square", kHalf, {200, -0.5}, {}, {400, -1}, {}, {}},
  };
  for (const Case& c : cases) {
    GraphBuilder b;
    const Shape shape{static_cast<int64_t>(c.x.size())};
    Ports inputs{b.placeholder("x", c.t, shape)};
    std::vector<std::pair<std::string, Tensor>> data;
    data.emplace_back("x", tensor(c.t, shape, c.x));
    if (!c.y.empty()) {
      inputs.push_back(b.placeholder("y", c.t, shape));
      data.emplace_back("y", tensor(c.t, shape, c.y));
    }
    const Results g = gradients(b, b.add(c.op, inputs, c.attributes), inputs);
    const RunResult r = run(b.build(), data, g);
    EXPECT_EQ(numbers(r.values[0]), c.dx) << c.op;
    EXPECT_EQ(c.y.empty() ? c.dy : numbers(r.values[1]), c.dy) << c.op;
    EXPECT_EQ(r.flags & (kInvalid | kDivideByZero | kOverflow), 0) << c.op;
  }
}

// tests: N229
TEST(GradientsNumeric, ANumberOfElementsThatHalvesDoNotHoldDividesInSingle) {
  // 70000 is beyond the halves, 2049 between two of them.
  for (const int64_t count : {int64_t{70000}, int64_t{2049}, int64_t{2048}}) {
    GraphBuilder b;
    const Port x = b.placeholder("x", kHalf, {count});
    GradientOptions o;
    o.seed = b.placeholder("seed", kHalf, {});
    const Port loss = b.add("Mean", {x}, {}, "loss");
    const Results g = gradients(b, loss, Ports{x}, o);
    const Graph graph = b.build();
    EXPECT_EQ(graph.find("gradients/loss_grad/Cast") < 0, count == 2048);
    std::vector<std::pair<std::string, Tensor>> data;
    data.emplace_back("x", Tensor(kHalf, Shape{count}));
    data.emplace_back("seed", Tensor::full(kHalf, {}, 8192));
    const Tensor got = std::move(run(graph, data, g).values[0]);
    const Tensor expected = Tensor::full(kHalf, {}, 8192.0 / static_cast<double>(count));
    EXPECT_EQ(got.value(0), expected.value(0));
    EXPECT_EQ(got.value(count - 1), expected.value(0));
  }
}

/// Extents of 0 go back to extents of 0, or to zeros.
TEST(GradientsNumeric, OfEmptyTensors) {
  GraphBuilder b;
  const Port x = b.placeholder("x", kSingle, {2, 3});
  const Attributes nothing{{"begin", Ints{0, 1}}, {"end", Ints{2, 1}}, {"strides", Ints{1, 2}}};
  const Port sliced = b.add("StridedSlice", {x}, nothing);
  const Port tiled = b.add("Tile", {x}, {{"multiples", Ints{0, 2}}});
  const Port empty = b.placeholder("empty", kSingle, {0, 3});
  Results all;
  for (const Port p :
       {sliced, tiled, b.add("AddV2", {empty, b.add("Slice", {x}, {{"begin", Ints{0, 0}}, {"size", Ints{1, 3}}})})}) {
    all.push_back(gradients(b, p, Ports{x})[0]);
    all.push_back(gradients(b, b.add("Sum", {p}), Ports{x})[0]);
  }
  all.push_back(gradients(b, b.add("Mean", {b.add("Exp", {empty})}, {{"axes", Ints{1}}}), Ports{empty})[0]);
  std::vector<std::pair<std::string, Tensor>> data;
  data.emplace_back("x", tensor(kSingle, {2, 3}, {1, 2, 3, 4, 5, 6}));
  data.emplace_back("empty", Tensor(kSingle, Shape{0, 3}));
  const RunResult r = run(b.build(), data, all);
  for (size_t i = 0; i + 1 < all.size(); ++i) EXPECT_EQ(numbers(r.values[i]), std::vector<double>(6, 0.0)) << i;
  EXPECT_EQ(r.values.back().shape(), (Shape{0, 3}));
}

}  // namespace
}  // namespace softamp::test
