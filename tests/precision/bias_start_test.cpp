// Biases that enter products at their beginning: which nodes become one, what they then compute, and that training
// does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "softamp/graph/executor.h"
#include "softamp/precision/bias_start.h"

namespace softamp::test {
namespace {

std::vector<std::string> ops_of(const Graph& g) {
  std::vector<std::string> ops;
  for (int n = 0; n < g.size(); ++n) ops.push_back(g.node(n).op);
  return ops;
}

struct Dense {
  GraphBuilder b;
  Port x, w, bias, product, y;

  explicit Dense(DType type, const Attributes& attributes = {}) {
    x = b.placeholder("x", type, {2, 3});
    w = b.placeholder("w", type, {3, 2});
    bias = b.placeholder("bias", type, {2});
    product = b.add("MatMul", {x, w}, attributes, "product");
    y = b.add("BiasAdd", {product, bias}, {}, "y");
  }
};

TEST(BiasStart, TheProductTakesTheBiasAndTheName) {
  Dense d(DType::kFloat16);
  d.b.add("Relu", {d.y}, {}, "relu");
  const Graph g = start_with_bias(d.b.build(), {"relu:0", "y:0"});
  EXPECT_THAT(ops_of(g), ::testing::ElementsAre("Placeholder", "Placeholder", "Placeholder", "Cast", "MatMul", "Relu"));
  const Port y = g.port("y:0");
  EXPECT_EQ(g.node(y.node).inputs.size(), 3u);
  EXPECT_EQ(g.type(y).dtype, DType::kFloat16);
  // 1 + 2^-11 is no fp16: the product alone would be 1, and the sum with the bias 2^-11 again 1; from the bias on it is
  // 1 + 2^-10.
  const Tensor x = Tensor::from_values(DType::kFloat16, {2, 3}, {1, 0x1p-11, 0, 0, 0, 1}),
               w = Tensor::from_values(DType::kFloat16, {3, 2}, {1, 0, 1, 0, 0, 4}),
               bias = Tensor::from_values(DType::kFloat16, {2}, {0x1p-11, -1});
  ExecutorOptions o;
  o.semantics = Semantics::ieee();
  const auto run = [&](const Graph& graph) {
    return make_executor(graph, o)->run({{"x", &x}, {"w", &w}, {"bias", &bias}}, {"y:0"}).values[0].values();
  };
  EXPECT_EQ(run(g), (std::vector<double>{1 + 0x1p-10, -1, 0x1p-11, 3}));
  EXPECT_EQ(run(Dense(DType::kFloat16).b.build()), (std::vector<double>{1, -1, 0x1p-11, 3}));
}

TEST(BiasStart, AFloat32BiasNeedsNoCast) {
  Dense d(DType::kFloat32);
  EXPECT_THAT(ops_of(start_with_bias(d.b.build())),
              ::testing::ElementsAre("Placeholder", "Placeholder", "Placeholder", "MatMul"));
}

TEST(BiasStart, WhatStays) {
  const auto stays = [](Dense& d, ListView<std::string> fetches = {}) {
    const Graph before = d.b.build();
    return ops_of(start_with_bias(before, fetches)) == ops_of(before);
  };
  Dense fetched(DType::kFloat32), wide(DType::kFloat64), partials(DType::kFloat16, {{"batch_sum", true}});
  EXPECT_TRUE(stays(fetched, {"product:0"}));
  EXPECT_TRUE(stays(wide));
  EXPECT_TRUE(stays(partials));
  Dense read_twice(DType::kFloat32);
  read_twice.b.add("Relu", {read_twice.product});
  EXPECT_TRUE(stays(read_twice));
  Dense twice(DType::kFloat32);  // a second bias of the same product is added
  twice.b.add("BiasAdd", {twice.y, twice.bias});
  EXPECT_THAT(ops_of(start_with_bias(twice.b.build())),
              ::testing::ElementsAre("Placeholder", "Placeholder", "Placeholder", "MatMul", "BiasAdd"));
}

}  // namespace
}  // namespace softamp::test
