// Losses of finished graphs that are no cross-entropy operations, as MindSpore's level O2 leaves them in float32.
#include "src/precision/layers/loss_layers.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "softamp/precision/amp_level.h"

namespace softamp::test {
namespace {

using enum DType;
using Names = std::vector<std::string>;

GraphRewrite under_o2(const Graph& graph) {
  const AmpSettings level = amp_settings(AmpLevel::kO2, "GPU", kFloat16);
  return rewrite_with(graph, Names{"out"}, [&](const OpGraph& picture) {
    return colour_layers(picture, layer_rule(level), level.cast_model_type, "level O2");
  });
}

/// Names of nodes with a unit that becomes low, in order.
Names low_nodes(const Graph& graph) {
  const PrecisionReport report = under_o2(graph).report;
  Names names;
  for (int n = 0; n < report.before.size(); ++n)
    if (const OpNode& node = report.before.nodes[static_cast<size_t>(n)];
        !node.units.empty() && report.colours.is_low(report.before.unit(n, 0)))
      names.push_back(node.name);
  return names;
}

/// Of a network "d" and labels: the layers that O2 leaves in float32 are those of the loss.
// tests: M04
TEST(LossLayers, LossesAreRecognisedByWhatTheyCompare) {
  using MakesLoss = std::function<Port(GraphBuilder&, Port network, Port labels)>;
  const auto mean = [](GraphBuilder& b, Port p, const char* name) { return b.add("Mean", {p}, {}, name); };
  const std::pair<const char*, MakesLoss> losses[] = {
      {"absolute",
       [&](GraphBuilder& b, Port t, Port y) {
         return mean(b, b.add("Abs", {b.add("Sub", {t, y}, {}, "loss/difference")}, {}, "loss/abs"), "loss/mean");
       }},
      {"square of a difference",
       [&](GraphBuilder& b, Port t, Port y) {
         return mean(b, b.add("Square", {b.add("Sub", {t, y}, {}, "loss/difference")}, {}, "loss/sq"), "loss/mean");
       }},
      {"log likelihood",
       [&](GraphBuilder& b, Port t, Port y) {
         return mean(b, b.add("Mul", {b.add("Log", {t}, {}, "loss/log"), y}, {}, "loss/of_labels"), "loss/mean");
       }},
      {"hinge",
       [&](GraphBuilder& b, Port t, Port y) {
         return mean(b, b.add("Relu", {b.add("Mul", {t, y}, {}, "loss/margin")}, {}, "loss/relu"), "loss/mean");
       }},
      {"softplus, L2",
       [&](GraphBuilder& b, Port t, Port y) {
         return b.add("L2Loss", {b.add("Sub", {b.add("Softplus", {t}, {}, "loss/softplus"), y}, {}, "loss/less")}, {},
                      "loss/half_of_squares");
       }},
      {"labels that are numbers of classes",
       [&](GraphBuilder& b, Port t, Port) {
         const Port soft = b.add("Softplus", {t}, {}, "loss/softplus"), classes = b.placeholder("classes", kInt32, {2});
         const Port hot = b.add("OneHot", {classes}, {{"depth", 4}, {"dtype", kFloat32}}, "loss/hot");
         return mean(b, b.add("Abs", {b.add("Sub", {soft, hot}, {}, "loss/difference")}, {}, "loss/abs"), "loss/mean");
       }},
      {"weighted, in scopes as Keras has them",
       [&](GraphBuilder& b, Port t, Port y) {
         const Port each = b.add("Mean", {b.add("SquaredDifference", {t, y}, {}, "loss/out/sq")},
                                 {{"axes", std::vector<int64_t>{-1}}}, "loss/out/each");
         const Port weights = b.placeholder("weights", kFloat32, {2});
         const Port sum =
             b.add("Sum", {b.add("Mul", {each, weights}, {}, "loss/out/weighted/mul")}, {}, "loss/out/weighted/sum");
         return b.add("Mul", {sum, b.constant(Tensor::full(kFloat32, {}, 0.5), "half")}, {}, "loss/total");
       }},
  };
  for (const auto& [name, loss] : losses) {
    GraphBuilder b;
    const Port x = b.placeholder("x", kFloat32, {2, 3}), y = b.placeholder("y", kFloat32, {2, 4});
    const Port w = b.add("VariableV2", {}, {{"dtype", kFloat32}, {"shape", Shape{3, 4}}}, "d/w");
    const Port l = loss(b, b.add("MatMul", {x, w}, {}, "d/MatMul"), y);
    b.add("Neg", {l}, {}, "out");
    const Graph graph = b.build();
    EXPECT_EQ(low_nodes(graph), Names{"d/MatMul"}) << name;
    const Graph once = under_o2(graph).graph;
    EXPECT_EQ(under_o2(once).graph, once) << name;
  }
}

/// What ends a network with a mean or a sum, and is none.
// tests: M04
TEST(LossLayers, WhatHasNoLabelsIsNoLoss) {
  const auto low = [](const auto& head) {
    GraphBuilder b;
    const Port x = b.placeholder("x", kFloat32, {2, 3});
    const auto weight = [&](const char* name) {
      return b.add("VariableV2", {}, {{"dtype", kFloat32}, {"shape", Shape{3, 4}}}, name);
    };
    const Port one = b.add("MatMul", {x, weight("d/w")}, {}, "d/MatMul");
    const Port two = b.add("MatMul", {x, weight("e/w")}, {}, "e/MatMul");
    head(b, one, two);
    Names names = low_nodes(b.build());
    std::erase(names, "d/MatMul");
    std::erase(names, "e/MatMul");
    return names;
  };
  // A pooling, of what a mask leaves, too, and with a layer behind it; the similarity of two towers.
  const auto masked = [](GraphBuilder& b, Port one) {
    const Port mask = b.placeholder("mask", kFloat32, {2, 4});
    return b.add("Sum", {b.add("Mul", {one, mask}, {}, "pool/left")}, {{"axes", std::vector<int64_t>{0}}}, "pool/sum");
  };
  EXPECT_EQ(low([&](GraphBuilder& b, Port one, Port) { b.add("Identity", {masked(b, one)}, {}, "out"); }),
            (Names{"pool/left", "pool/sum"}));
  EXPECT_EQ(low([&](GraphBuilder& b, Port one, Port two) {
              const Port pooled = b.add("Exp", {masked(b, b.add("Abs", {one}, {}, "pool/abs"))}, {}, "pool/exp");
              const Port row = b.add("Reshape", {pooled}, {{"shape", std::vector<int64_t>{4, 1}}}, "pool/row");
              b.add("Identity", {b.add("MatMul", {two, row}, {}, "last/MatMul")}, {}, "out");
            }),
            (Names{"pool/abs", "pool/left", "pool/sum", "pool/exp", "pool/row", "last/MatMul"}));
  EXPECT_EQ(low([](GraphBuilder& b, Port one, Port) {
              b.add("Identity", {b.add("Mean", {b.add("Relu", {one}, {}, "pool/relu")}, {}, "pool/mean")}, {}, "out");
            }),
            (Names{"pool/relu", "pool/mean"}));
  EXPECT_EQ(low([](GraphBuilder& b, Port one, Port) {  // truth values choose
              const Port mask = b.placeholder("mask", kBool, {2, 4}), size = b.add("Abs", {one}, {}, "pool/abs");
              const Port left = b.add("SelectV2", {mask, size, one}, {}, "pool/left");
              b.add("Identity", {b.add("Mean", {left}, {}, "pool/mean")}, {}, "out");
            }),
            (Names{"pool/abs", "pool/left", "pool/mean"}));
  EXPECT_EQ(low([](GraphBuilder& b, Port one, Port two) {
              b.add("Identity", {b.add("Sum", {b.add("Mul", {one, two}, {}, "like/mul")}, {}, "like/sum")}, {}, "out");
            }),
            (Names{"like/mul", "like/sum"}));
}

}  // namespace
}  // namespace softamp::test
