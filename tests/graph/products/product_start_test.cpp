// Products whose sums begin with C: known numbers, the order in which C enters, its gradient, what is refused.
#include <cmath>
#include <vector>

#include <gmock/gmock.h>

#include "softamp/graph/gradients.h"
#include "tests/graph/models/model_run.h"
#include "tests/refusal.h"

namespace softamp::test {
namespace {

using ::testing::HasSubstr;

struct Start {
  Shape shape;
  std::vector<double> values;
};

/// a [rows, k] times b [k, columns], from c on.
Tensor started(const std::string& op, const Tensor& a, const Tensor& b, const Start& c, const ExecutorOptions& options,
               const Attributes& attributes = {}) {
  GraphBuilder g;
  const Port x = g.placeholder("a", a.dtype(), a.shape()), y = g.placeholder("b", b.dtype(), b.shape()),
             z = g.placeholder("c", DType::kFloat32, c.shape);
  g.add(op, {x, y, z}, attributes, "product");
  const Graph graph = g.build();
  const Tensor from = Tensor::from_values(DType::kFloat32, c.shape, c.values);
  return std::move(make_executor(graph, options)->run({{"a", &a}, {"b", &b}, {"c", &from}}, {"product:0"}).values[0]);
}

ExecutorOptions ieee_options() {
  ExecutorOptions o;
  o.semantics = Semantics::ieee();
  return o;
}

Tensor counting(DType type, const Shape& shape, double step) {
  std::vector<double> values;
  for (int64_t i = 0; i < shape.elements(); ++i) values.push_back(static_cast<double>(i % 7 - 3) * step);
  return Tensor::from_values(type, shape, values);
}

TEST(ProductStart, ANumberForEachOutputOrForEachColumn) {
  const Tensor a = counting(DType::kFloat16, {2, 3}, 1), b = counting(DType::kFloat16, {3, 2}, 0.5);
  // a b = [[-3, -2, -1], [0, 1, 2]] times [[-1.5, -1], [-.5, 0], [.5, 1]]
  EXPECT_EQ(started("MatMul", a, b, {{2, 2}, {10, 20, 30, 40}}, ieee_options()).values(),
            (std::vector<double>{15, 22, 30.5, 42}));
  EXPECT_EQ(started("MatMul", a, b, {{2}, {10, 20}}, ieee_options()).values(), (std::vector<double>{15, 22, 10.5, 22}));
  const Attributes block{{"a_format", std::string("mxfp8_e4m3")},
                         {"b_format", std::string("mxfp8_e4m3")},
                         {"accumulation", std::string("block")}};
  for (const char* accumulation : {"exact", "fp32_chain", "half_partials", "block", "hopper", "blackwell"}) {
    Attributes all = block;
    all["accumulation"] = std::string(accumulation);
    EXPECT_EQ(started("ScaledMatMul", a, b, {{2}, {10, 20}}, ieee_options(), all).values(),
              (std::vector<double>{15, 22, 10.5, 22}))
        << accumulation;
  }
}

TEST(ProductStart, EachMatrixOfABatchHasItsOwn) {
  const Tensor a = counting(DType::kFloat32, {2, 2, 1}, 1), b = counting(DType::kFloat32, {1, 2}, 1);
  // Columns [-3, -2] and [-1, 0] times the row [-3, -2].
  EXPECT_EQ(started("BatchMatMulV2", a, b, {{2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}}, ieee_options()).values(),
            (std::vector<double>{10, 8, 9, 8, 8, 8, 7, 8}));
}

TEST(ProductStart, EntersBeforeTheProducts) {
  // 2^24 swallows each 1 that is added to it; a sum that takes it at the end would not.
  const int64_t k = 40;
  const Tensor ones = Tensor::from_values(DType::kFloat16, {1, k}, std::vector<double>(k, 1)),
               column = Tensor::from_values(DType::kFloat16, {k, 1}, std::vector<double>(k, 1));
  ExecutorOptions o = ieee_options();
  o.config.matmuls.poplar_options = {{"partialsType", "float"}};
  const auto code = [&](double c) {
    GraphBuilder g;
    const Port x = g.placeholder("a", DType::kFloat16, ones.shape()),
               y = g.placeholder("b", DType::kFloat16, column.shape()),
               z = g.placeholder("c", DType::kFloat32, Shape{1});
    g.add("MatMul",
          {g.add("Cast", {x}, {{"DstT", DType::kFloat32}}), g.add("Cast", {y}, {{"DstT", DType::kFloat32}}), z}, {},
          "product");
    const Tensor from = Tensor::from_values(DType::kFloat32, Shape{1}, {c});
    return make_executor(g.build(), o)
        ->run({{"a", &ones}, {"b", &column}, {"c", &from}}, {"product:0"})
        .values[0]
        .value(0);
  };
  EXPECT_EQ(code(0), 40);
  EXPECT_EQ(code(0x1p24), 0x1p24);
  EXPECT_EQ(code(0x1p23), 0x1p23 + 40);
}

TEST(ProductStart, HalfPartialsTakeItAsAHalf) {
  const Tensor one = Tensor::from_values(DType::kFloat16, {1, 1}, {1});
  ExecutorOptions o = ieee_options();
  o.config.matmuls.poplar_options = {{"partialsType", "half"}};
  // 2049 becomes 2048 (a tie, to even), and 2048 + 1 again.
  EXPECT_EQ(started("MatMul", one, one, {{1}, {2049}}, o).value(0), 2048);
  EXPECT_EQ(started("MatMul", one, one, {{1}, {2051}}, o).value(0), 2052);
  o.config.matmuls.poplar_options = {{"partialsType", "float"}};
  EXPECT_EQ(started("MatMul", one, one, {{1}, {2049}}, o).value(0), 2050);
}

TEST(ProductStart, WithoutProductsItIsTheResult) {
  const Tensor a = Tensor::from_values(DType::kFloat16, {2, 0}, {}),
               b = Tensor::from_values(DType::kFloat16, {0, 2}, {});
  EXPECT_EQ(started("MatMul", a, b, {{2}, {1.5, -7}}, ieee_options()).values(),
            (std::vector<double>{1.5, -7, 1.5, -7}));
  // 65504 is the largest fp16: what is above it overflows in the result.
  EXPECT_EQ(started("MatMul", a, b, {{2}, {1e6, -0.0}}, ieee_options()).values()[0], INFINITY);
}

TEST(ProductStart, GradientIsWhatArrives) {
  GraphBuilder g;
  const Port a = g.placeholder("a", DType::kFloat16, {3, 2}), b = g.placeholder("b", DType::kFloat16, {2, 4}),
             row = g.placeholder("row", DType::kFloat32, {4}), each = g.placeholder("each", DType::kFloat32, {3, 4}),
             weights = g.placeholder("weights", DType::kFloat16, {3, 4});
  const Port first = g.add("MatMul", {a, b, row}), second = g.add("MatMul", {a, b, each});
  const Port loss = g.add("Sum", {g.add("Mul", {g.add("AddV2", {first, second}), weights})});
  const GradientGraph made = gradients(g.build(), loss, {row, each, a, b});
  std::vector<double> numbers;
  for (int i = 0; i < 12; ++i) numbers.push_back(i + 1);
  const Tensor x = counting(DType::kFloat16, {3, 2}, 1), y = counting(DType::kFloat16, {2, 4}, 1),
               zero_row = counting(DType::kFloat32, {4}, 0), zeros = counting(DType::kFloat32, {3, 4}, 0),
               w = Tensor::from_values(DType::kFloat16, {3, 4}, numbers);
  std::vector<std::string> fetches;
  for (const auto& p : made.gradients) fetches.push_back(made.graph.port_name(*p));
  const auto got = make_executor(made.graph, ieee_options())
                       ->run({{"a", &x}, {"b", &y}, {"row", &zero_row}, {"each", &zeros}, {"weights", &w}}, fetches);
  EXPECT_EQ(got.values[0].dtype(), DType::kFloat32);
  EXPECT_EQ(got.values[0].values(), (std::vector<double>{15, 18, 21, 24}));
  EXPECT_EQ(got.values[1].values(), numbers);
  EXPECT_EQ(got.values[2].shape(), (Shape{3, 2}));
  EXPECT_EQ(got.values[3].shape(), (Shape{2, 4}));
}

std::string refused_start(DType type, const Shape& shape, const Attributes& attributes = {}) {
  GraphBuilder g;
  const Port a = g.placeholder("a", type, {2, 3}), b = g.placeholder("b", type, {3, 4}),
             c = g.placeholder("c", DType::kFloat32, shape);
  return refusal<GraphError>([&] { g.add("MatMul", {a, b, c}, attributes, "m"); });
}

TEST(ProductStart, Refusals) {
  EXPECT_THAT(refused_start(DType::kFloat16, {3}),
              HasSubstr("input 'c' is [3]; expected [2,4], or [4], one for each column"));
  EXPECT_THAT(refused_start(DType::kFloat16, {1, 4}), HasSubstr("input 'c' is [1,4]"));
  EXPECT_THAT(refused_start(DType::kFloat16, {4}, {{"batch_sum", true}}), HasSubstr("independent partials"));
  EXPECT_THAT(refused_start(DType::kFloat64, {4}), HasSubstr("a product of float64 begins with +0"));
}

}  // namespace
}  // namespace softamp::test
