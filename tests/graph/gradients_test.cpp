// Graphs of gradients: their nodes, names and order, what has no gradient, users' own gradients, and every message.
// Values of derivatives: gradients_numeric_test.cpp.
#include "softamp/graph/gradients.h"

#include <gtest/gtest.h>

#include "softamp/graph/operation.h"
#include "tests/graph/gradient_run.h"
#include "tests/graph/random_graph.h"
#include "tests/refusal.h"

using namespace softamp;
using namespace softamp::test;

namespace {

using Ints = std::vector<int64_t>;

std::string name(const GraphBuilder& b, Port p) { return b.graph().port_name(p); }

/// "name = Op(inputs)" of the nodes from `first` on.
std::vector<std::string> listing(const Graph& graph, int first) {
  std::vector<std::string> lines;
  for (int i = first; i < graph.size(); ++i) {
    const Node& n = graph.node(i);
    std::string line = n.name + " = " + n.op + "(";
    for (const Port p : n.inputs) line += (line.back() == '(' ? "" : ", ") + graph.port_name(p);
    lines.push_back(line + ")");
  }
  return lines;
}

}  // namespace

// tests: N220
TEST(Gradients, NodesStandUnderTheirNamesInReverseOrder) {
  GraphBuilder b;
  const Port x = b.placeholder("x", kHalf, {2, 3}), w = b.placeholder("layer/w", kHalf, {3, 4});
  const Port y = b.add("Tanh", {b.add("MatMul", {x, w}, {}, "layer/y")}, {}, "layer/tanh");
  const Port loss = b.add("Sum", {y}, {}, "loss");
  const Graph graph = b.build();
  const GradientGraph g = gradients(graph, loss, Ports{w, x});
  EXPECT_EQ(
      listing(g.graph, graph.size()),
      (std::vector<std::string>{"gradients/seed = Fill()", "gradients/loss_grad/Reshape = Reshape(gradients/seed)",
                                "gradients/loss_grad/Tile = Tile(gradients/loss_grad/Reshape)",
                                "gradients/layer/tanh_grad/TanhGrad = TanhGrad(layer/tanh, gradients/loss_grad/Tile)",
                                "gradients/layer/y_grad/MatMul = MatMul(gradients/layer/tanh_grad/TanhGrad, layer/w)",
                                "gradients/layer/y_grad/MatMul_1 = MatMul(x, gradients/layer/tanh_grad/TanhGrad)"}));
  EXPECT_EQ(g.graph.port_name(g.gradients[0].value()), "gradients/layer/y_grad/MatMul_1");
  EXPECT_EQ(g.graph.port_name(g.gradients[1].value()), "gradients/layer/y_grad/MatMul");
  verify(g.graph);
  // Only what is asked for: without x, one product less.
  EXPECT_EQ(gradients(graph, loss, Ports{w}).graph.size(), g.graph.size() - 1);
}

TEST(Gradients, TheGraphStaysAndEqualGraphsHaveEqualGradients) {
  const auto build = [](GraphBuilder& b) {
    const Port x = b.placeholder("x", kHalf, {2, 3}), w = b.placeholder("w", kHalf, {3, 3});
    const Port y = b.add("AddV2", {b.add("MatMul", {x, w}), b.add("MatMul", {x, w}, {{"transpose_b", true}})});
    return std::pair(b.add("Mean", {b.add("Gelu", {y})}), w);
  };
  GraphBuilder one, two, all;
  const auto [loss, w] = build(one);
  build(two);
  build(all);
  const Graph graph = one.build(), same = two.build();
  const GradientGraph g = gradients(graph, loss, Ports{w});
  EXPECT_TRUE(graph == same);
  for (int i = 0; i < graph.size(); ++i) {
    EXPECT_EQ(g.graph.node(i).name, graph.node(i).name);
    EXPECT_EQ(g.graph.node(i).operation_id, graph.node(i).operation_id);
  }
  EXPECT_TRUE(g.graph == gradients(same, loss, Ports{w}).graph);
  EXPECT_EQ(gradients(all, loss, Ports{w}), g.gradients);
  EXPECT_TRUE(all.build() == g.graph);
}

TEST(Gradients, ASecondCallTakesNewNamesAndAnotherScopeItsOwn) {
  GraphBuilder b;
  const Port x = b.placeholder("x", kSingle, {2}), loss = b.add("L2Loss", {x}, {}, "loss");
  EXPECT_EQ(name(b, gradients(b, loss, Ports{x})[0].value()), "gradients/loss_grad/Mul");
  EXPECT_EQ(name(b, gradients(b, loss, Ports{x})[0].value()), "gradients/loss_grad/Mul_1");
  GradientOptions o;
  o.scope = "tower_0/back";
  EXPECT_EQ(name(b, gradients(b, loss, Ports{x}, o)[0].value()), "tower_0/back/loss_grad/Mul");
  o.scope.clear();
  EXPECT_EQ(name(b, gradients(b, loss, Ports{x}, o)[0].value()), "loss_grad/Mul");
  const auto scope = b.scope("outer");
  EXPECT_EQ(name(b, gradients(b, loss, Ports{x})[0].value()), "outer/gradients/loss_grad/Mul");
}

// tests: N220
TEST(Gradients, ReadersAreSummedByOneAddNInTheirOrder) {
  GraphBuilder b;
  const Port w = b.placeholder("w", kHalf, {});
  const auto times = [&](const char* called, double factor) {
    return b.add("Mul", {w, b.constant(Tensor::full(kHalf, {}, factor))}, {}, called);
  };
  const Port first = times("first", 1), second = times("second", 0x1p-11), third = times("third", 0x1p-11);
  const Port square = b.add("Mul", {w, w}, {}, "square");
  const Port loss = b.add("AddN", {third, square, first, second}, {}, "loss");
  const Graph graph = b.build();
  const GradientGraph g = gradients(graph, loss, Ports{w});
  const Port sum = g.gradients[0].value();
  EXPECT_EQ(g.graph.port_name(sum), "gradients/w_grad/AddN");
  std::vector<std::string> terms;
  for (const Port p : g.graph.node(sum.node).inputs) terms.push_back(g.graph.port_name(p));
  EXPECT_EQ(terms, (std::vector<std::string>{"gradients/first_grad/Mul", "gradients/second_grad/Mul",
                                             "gradients/third_grad/Mul", "gradients/square_grad/Mul",
                                             "gradients/square_grad/Mul_1"}));
  // 1 + 2^-11 + 2^-11 is a half; two additions that round each give 1.
  const std::vector<std::pair<std::string, Tensor>> data = [] {
    std::vector<std::pair<std::string, Tensor>> d;
    d.emplace_back("w", Tensor::full(kHalf, {}, 0));
    return d;
  }();
  EXPECT_EQ(run(g.graph, data, g.gradients).values[0].value(0), 1 + 0x1p-10);
}

TEST(Gradients, NothingWhereNoDifferentiablePathLeads) {
  GraphBuilder b;
  const Port x = b.placeholder("x", kSingle, {2}), far = b.placeholder("far", kSingle, {2});
  const Port stopped = b.placeholder("stopped", kSingle, {2}), compared = b.placeholder("compared", kSingle, {2});
  const Port whole = b.placeholder("whole", kSingle, {2});
  const Port rounded = b.add("Cast", {b.add("Cast", {whole}, {{"DstT", DType::kInt32}})}, {{"DstT", kSingle}});
  const Port chosen = b.add("SelectV2", {b.add("Less", {compared, x}), x, b.add("StopGradient", {stopped})});
  const Port loss = b.add("Sum", {b.add("AddV2", {chosen, rounded})});
  const Port after = b.add("Mul", {loss, far});
  const Results g = gradients(b, loss, Ports{x, far, stopped, compared, whole, after, loss, chosen});
  std::vector<bool> found;
  for (const auto& p : g) found.push_back(p.has_value());
  EXPECT_EQ(found, (std::vector<bool>{true, false, false, false, false, false, true, true}));
  EXPECT_EQ(name(b, g[6].value()), "gradients/seed");
  const int before = b.graph().size();
  EXPECT_EQ(gradients(b, loss, Ports{far}), Results{std::nullopt});
  EXPECT_EQ(gradients(b, loss, Ports{}), Results{});
  EXPECT_EQ(b.graph().size(), before) << "nothing is added where nothing depends";
}

TEST(Gradients, StopKeepsGradientsFromAPort) {
  GraphBuilder b;
  const Port x = b.placeholder("x", kSingle, {2});
  const Port left = b.add("Mul", {x, x}, {}, "left"), right = b.add("Exp", {x}, {}, "right");
  const Port loss = b.add("Sum", {b.add("AddV2", {left, right})});
  GradientOptions o;
  o.stop = {left};
  const Results g = gradients(b, loss, Ports{x, left, right}, o);
  EXPECT_EQ(name(b, g[0].value()), "gradients/right_grad/Mul");
  EXPECT_FALSE(g[1]);
  EXPECT_TRUE(g[2]);
  o.stop = {left, right};
  EXPECT_FALSE(gradients(b, loss, Ports{x}, o)[0]);
  o.stop = {loss};
  EXPECT_FALSE(gradients(b, loss, Ports{loss}, o)[0]);
}

TEST(Gradients, TheSeedArrivesAtTheLoss) {
  GraphBuilder b;
  const Port x = b.placeholder("x", kHalf, {2}), loss = b.add("Mul", {x, x}, {}, "loss");
  const Port seed = b.placeholder("scale", kHalf, {2}), other = b.placeholder("other", kSingle, {2});
  const Port scalar = b.placeholder("scalar", kHalf, {});
  GradientOptions o;
  o.seed = seed;
  const Port g = gradients(b, loss, Ports{x}, o)[0].value();
  // No scalar: the gradient of the sum of the elements.
  const Port ones = gradients(b, loss, Ports{x})[0].value();
  o.seed = other;
  EXPECT_EQ(refusal<GraphError>([&] { gradients(b, loss, Ports{x}, o); }),
            "gradients: the seed ('other') is float32[2]; expected float16[2], the type of the loss 'loss'");
  o.seed = scalar;
  EXPECT_EQ(refusal<GraphError>([&] { gradients(b, loss, Ports{x}, o); }),
            "gradients: the seed ('scalar') is float16[]; expected float16[2], the type of the loss 'loss'");
  std::vector<std::pair<std::string, Tensor>> data;
  data.emplace_back("x", tensor(kHalf, {2}, {3, -1}));
  data.emplace_back("scale", tensor(kHalf, {2}, {256, 0.5}));
  const RunResult r = run(b.build(), data, Results{g, ones});
  EXPECT_EQ(numbers(r.values[0]), (std::vector<double>{1536, -1}));
  EXPECT_EQ(numbers(r.values[1]), (std::vector<double>{6, -2}));
}

// tests: N221
TEST(Gradients, ACastCastsBack) {
  GraphBuilder b;
  const Port w = b.placeholder("w", kSingle, {3, 2}), x = b.placeholder("x", kHalf, {4, 3});
  const Port used = b.add("Cast", {w}, {{"DstT", kHalf}}, "used");
  const Port y = b.add("Cast", {b.add("MatMul", {x, used}, {}, "y")}, {{"DstT", kSingle}}, "wide");
  const Port g = gradients(b, b.add("Mean", {y}), Ports{w})[0].value();
  EXPECT_EQ(b.graph().node(g.node).op, "Cast");
  EXPECT_EQ(name(b, g), "gradients/used_grad/Cast");
  EXPECT_EQ(b.type(g), (TensorType{kSingle, Shape{3, 2}}));
  EXPECT_EQ(b.type(b.graph().node(g.node).inputs[0]).dtype, kHalf) << "the backward product is one of halves";
}

// tests: N227
TEST(Gradients, OfProductsSayWhichAreSumsOverABatch) {
  struct Case {
    Attributes attributes;
    Shape a, b;
    bool left, right;
  };
  const std::vector<Case> cases = {{{}, {8, 3}, {3, 4}, false, true},
                                   {{{"transpose_b", true}}, {8, 3}, {4, 3}, false, true},
                                   {{{"transpose_a", true}}, {3, 8}, {3, 4}, false, true},
                                   {{{"transpose_a", true}, {"batch_sum", true}}, {8, 3}, {8, 4}, false, false}};
  for (const Case& c : cases) {
    GraphBuilder b;
    const Port x = b.placeholder("x", kHalf, c.a), y = b.placeholder("y", kHalf, c.b);
    Attributes a = c.attributes;
    a["partialsType"] = std::string("half");
    const Results g = gradients(b, b.add("MatMul", {x, y}, a), Ports{x, y});
    for (const size_t i : {size_t{0}, size_t{1}}) {
      const Node& n = b.graph().node(g[i].value().node);
      EXPECT_EQ(attribute<bool>(n, "batch_sum"), i == 0 ? c.left : c.right);
      EXPECT_EQ(attribute<std::string>(n, "partialsType"), "half");
    }
  }
  // A weight under a batch of matrices: one product of all rows.
  GraphBuilder b;
  const Port x = b.placeholder("x", kHalf, {5, 8, 3}), w = b.placeholder("w", kHalf, {3, 4});
  const Port g = gradients(b, b.add("BatchMatMulV2", {x, w}), Ports{w})[0].value();
  const Node& n = b.graph().node(g.node);
  EXPECT_EQ(n.op, "MatMul");
  EXPECT_TRUE(attribute<bool>(n, "batch_sum"));
  EXPECT_EQ(b.type(n.inputs[0]).shape, (Shape{40, 3}));
}

// tests: M14
TEST(Gradients, UsersHaveTheirOwn) {  // MIXED_PRECISION M14: the error names the node
  GraphBuilder b;
  const Port x = b.placeholder("x", kHalf, {2}), y = b.placeholder("y", kHalf, {2});
  const Port node = b.add("Mul", {x, y}, {}, "layer/y"), loss = b.add("Sum", {node});
  GradientOptions o;
  int calls = 0;
  // Twice what arrives goes straight through to x; y has none.
  o.custom["layer/y"] = [&](GraphBuilder& builder, const Node& n, int number, std::span<const std::optional<Port>> g) {
    ++calls;
    EXPECT_EQ(n.name, "layer/y");
    EXPECT_EQ(number, node.node);
    return Results{builder.add("AddV2", {g[0].value(), g[0].value()}, {}, "twice"), std::nullopt};
  };
  const Results g = gradients(b, loss, Ports{x, y}, o);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(name(b, g[0].value()), "gradients/layer/y_grad/twice");
  EXPECT_FALSE(g[1]);

  const auto refused = [&](GradientFunction f) {
    o.custom["layer/y"] = std::move(f);
    return refusal<GraphError>([&] { gradients(b, loss, Ports{x, y}, o); });
  };
  using Arriving = std::span<const std::optional<Port>>;
  EXPECT_EQ(refused([](GraphBuilder&, const Node&, int, Arriving a) { return Results{a[0]}; }),
            "Mul 'layer/y': its custom gradient has 1 result; expected 2, one to an input");
  EXPECT_EQ(refused([](GraphBuilder& builder, const Node&, int, Arriving a) {
              return Results{a[0], builder.add("Reshape", {a[0].value()}, {{"shape", Ints{1, 2}}})};
            }),
            "Mul 'layer/y': its custom gradient of input 1 ('y') has shape [1,2]; expected [2], that of the input");
  EXPECT_EQ(refused([](GraphBuilder&, const Node&, int, Arriving a) {
              return Results{Port{1000, 2}, a[0]};
            }),
            "Mul 'layer/y': its custom gradient of input 0 ('x') is output 2 of node number 1000; expected an output "
            "of the graph");
  o.custom["layer/y"] = [](GraphBuilder& builder, const Node&, int, Arriving a) {
    return Results{builder.add("Cast", {a[0].value()}, {{"DstT", kSingle}}), a[0]};
  };
  try {
    gradients(b, loss, Ports{x, y}, o);
    ADD_FAILURE() << "a gradient of another dtype was taken";
  } catch (const DtypeMismatchError& e) {
    EXPECT_STREQ(e.what(),
                 "Mul 'layer/y': its custom gradient of input 0: Input 'x' of 'Mul' Op has type float32 that does not "
                 "match expected type of float16.");
    EXPECT_EQ(e.node, "layer/y");
    EXPECT_EQ(e.input, "x");
    EXPECT_EQ(e.type, kSingle);
    EXPECT_EQ(e.expected, kHalf);
  }
  o.custom.clear();
  o.custom["layer/yy"] = [](GraphBuilder&, const Node&, int, Arriving) { return Results{}; };
  EXPECT_EQ(refusal<GraphError>([&] {
              gradients(b, loss, Ports{x, y}, o);
            }),
            "custom gradient of 'layer/yy': the graph has no such node; nearest: layer/y");
  o.custom.clear();
  o.custom["layer/y"] = nullptr;
  EXPECT_EQ(refusal<GraphError>([&] {
              gradients(b, loss, Ports{x, y}, o);
            }),
            "custom gradient of 'layer/y': the function is empty");
}

TEST(Gradients, AUsersGradientServesWhereTheTableHasNone) {
  GraphBuilder b;
  const Port x = b.placeholder("x", kSingle, {2});
  const Port none = b.add("TanhGrad", {x, x}, {}, "none"), stops = b.add("StopGradient", {none}, {}, "stops");
  const Port loss = b.add("Sum", {stops});
  const auto straight = [](GraphBuilder&, const Node& n, int, std::span<const std::optional<Port>> g) {
    return Results(n.inputs.size(), g[0]);
  };
  GradientOptions o;
  EXPECT_FALSE(gradients(b, loss, Ports{x}, o)[0]) << "nothing goes through StopGradient";
  o.custom["stops"] = straight;
  EXPECT_EQ(refusal<GraphError>([&] { gradients(b, loss, Ports{x}, o); }),
            "TanhGrad 'none': no gradient of this operation; it lies between the loss 'Sum' and a variable");
  o.custom["none"] = straight;
  EXPECT_EQ(b.graph().node(gradients(b, loss, Ports{x}, o)[0].value().node).op, "AddN");
}

// tests: N232
TEST(Gradients, WhatIsWrongIsNamed) {
  GraphBuilder b;
  const Port x = b.placeholder("x", kSingle, {2, 3}), n = b.placeholder("n", DType::kInt32, {2});
  const Port loss = b.add("Sum", {x}, {}, "loss");
  EXPECT_EQ(refusal<GraphError>([&] { gradients(b, n, Ports{x}); }),
            "gradients: the loss ('n') is int32; expected a floating tensor");
  EXPECT_EQ(refusal<GraphError>([&] {
              gradients(b, loss, Ports{x, n});
            }),
            "gradients: variables[1] ('n') is int32; expected a floating tensor");
  EXPECT_EQ(refusal<GraphError>([&] {
              gradients(b, Port{99, 0}, Ports{x});
            }),
            "gradients: the loss is output 0 of node number 99; expected an output of the graph");
  EXPECT_EQ(refusal<GraphError>([&] {
              gradients(b, loss, Ports{{0, 1}});
            }),
            "gradients: variables[0] is output 1 of node number 0; expected an output of the graph");
  GradientOptions o;
  o.stop = {Port{}};
  EXPECT_EQ(refusal<GraphError>([&] { gradients(b, loss, Ports{x}, o); }),
            "gradients: stop[0] is output 0 of node number -1; expected an output of the graph");
  // An operation without a gradient is named, but only where one would have to go through it.
  const Port g = b.add("SoftmaxGrad", {x, x}, {}, "layer/g");
  EXPECT_EQ(refusal<GraphError>([&] { gradients(b, g, Ports{x}); }),
            "SoftmaxGrad 'layer/g': no gradient of this operation; it lies between the loss 'layer/g' and a variable");
  const Port y = b.placeholder("y", kSingle, {2, 3});
  EXPECT_TRUE(gradients(b, b.add("Sum", {b.add("Mul", {g, y})}), Ports{y})[0]);
  // Outputs that no gradient goes back from.
  const Port scale = b.placeholder("scale", kSingle, {3}), none = b.placeholder("none", kSingle, {0});
  const Port norm = b.add("FusedBatchNormV3", {x, scale, scale, none, none}, {}, "norm");
  EXPECT_EQ(refusal<GraphError>([&] {
              gradients(b, Port{norm.node, 1}, Ports{x});
            }),
            "FusedBatchNormV3 'norm': no gradient of output 1 (batch_mean); expected one of output 0 alone");
  const Port labels = b.placeholder("labels", DType::kInt32, {2});
  const Port entropy = b.add("SparseSoftmaxCrossEntropyWithLogits", {x, labels}, {}, "entropy");
  EXPECT_EQ(refusal<GraphError>([&] {
              gradients(b, Port{entropy.node, 1}, Ports{x});
            }),
            "SparseSoftmaxCrossEntropyWithLogits 'entropy': no gradient of output 1 (backprop); expected one of output "
            "0 alone");
  EXPECT_EQ(refusal<GraphError>([] { differentiability("Tan"); }).substr(0, 24), "unknown operation 'Tan';");
}

/// Graphs of every operation: whatever is asked, the answer is a graph that verifies and runs, or an error that names
/// an operation without a gradient.
TEST(Gradients, OfRandomGraphs) {
  int differentiated = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    softamp::test::RandomGraph random = softamp::test::RandomGraphMaker(seed).make(12);
    const Graph& graph = random.graph;
    Ports floating;
    for (int n = 0; n < graph.size(); ++n)
      for (int o = 0; o < static_cast<int>(graph.node(n).outputs.size()); ++o)
        if (is_floating(graph.type({n, o}).dtype)) floating.push_back({n, o});
    for (size_t back = 1; back <= 6 && back <= floating.size(); ++back) {
      const Port loss = floating[floating.size() - back];
      GradientGraph g;
      try {
        g = gradients(graph, loss, floating);
      } catch (const GraphError& e) {
        EXPECT_NE(std::string(e.what()).find("no gradient"), std::string::npos) << "seed " << seed << ": " << e.what();
        continue;
      }
      verify(g.graph);
      ASSERT_EQ(g.gradients.size(), floating.size());
      std::vector<std::string> fetches;
      for (size_t i = 0; i < floating.size(); ++i) {
        if (!g.gradients[i]) continue;
        EXPECT_EQ(g.graph.type(*g.gradients[i]), graph.type(floating[i])) << "seed " << seed;
        fetches.push_back(g.graph.port_name(*g.gradients[i]));
      }
      differentiated += fetches.size() > 1;
      ExecutorOptions options;
      options.threads = 1;
      options.print = [](const std::string&) {};
      EXPECT_NO_THROW(make_executor(g.graph, options)->run(random.feed_list(), fetches)) << "seed " << seed;
    }
  }
  EXPECT_GT(differentiated, 200) << "of 1200";
}
