// What of a graph uses settings of random bits and of products; and the refusals of those that no product uses.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "softamp/graph/graph_json.h"
#include "src/graph/graph_use.h"

namespace softamp::graph_detail {
namespace {

Graph graph_of(const std::string& dtype, const std::string& nodes) {
  return read_graph_file(
             R"({"softamp_graph": 1, "nodes": [{"name": "x", "op": "Placeholder", "attributes": {"dtype": ")" + dtype +
                 R"(", "shape": [4, 4]}}, )" + nodes + "]}",
             {})
      .graph;
}
const std::string kProduct = R"({"name": "y", "op": "MatMul", "inputs": ["x", "x"]})";

ExecutorOptions with_half(ExecutorOptions o = {}) {
  o.config.matmuls.poplar_options["partialsType"] = "half";
  return o;
}
ExecutorOptions with_core(Accumulator accumulator, TensorCoreOperands operands = TensorCoreOperands::kOwn) {
  ExecutorOptions o;
  o.accumulator = accumulator;
  o.tensor_core_operands = operands;
  return o;
}
ExecutorOptions with_esr() {
  ExecutorOptions o;
  o.config.floating_point_behaviour.esr = StochasticRoundingBehaviour::kOn;
  return o;
}

TEST(GraphUse, ResultsOfAtMost16BitsAreRoundedStochastically) {
  EXPECT_TRUE(use_of(graph_of("float16", kProduct), with_esr()).rounds);
  EXPECT_TRUE(use_of(graph_of("float16", kProduct), with_esr()).draws);
  EXPECT_FALSE(use_of(graph_of("float16", kProduct), {}).draws);
  EXPECT_FALSE(use_of(graph_of("float32", kProduct), with_esr()).draws);
  const std::string exact = R"({"name": "y", "op": "Exp", "inputs": ["x"]})";
  EXPECT_TRUE(use_of(graph_of("bfloat16", exact), with_esr()).rounds);
}

TEST(GraphUse, OperationsDrawNumbersWithoutAStochasticRounding) {
  const GraphUse random = use_of(
      graph_of("float32", R"({"name": "y", "op": "RandomUniform", "attributes": {"dtype": "float32", "shape": [3]}})"),
      {});
  EXPECT_TRUE(random.draws);
  EXPECT_FALSE(random.rounds);
  const GraphUse blocks =
      use_of(graph_of("float32", R"({"name": "y", "op": "FakeQuantize", "inputs": ["x"], "attributes": {"format":
      "mxfp4:rounding=stochastic"}})"),
             {});
  EXPECT_TRUE(blocks.draws);
}

TEST(GraphUse, HalfPartialsAreOfFp16AndOfTensorCoresWithSuchAnAccumulator) {
  const auto use = [](const char* dtype, const ExecutorOptions& o) {
    return use_of(graph_of(dtype, kProduct), with_half(o)).products.at(0);
  };
  EXPECT_TRUE(use("float16", {}).half_partials);
  EXPECT_FALSE(use("bfloat16", {}).takes_half);
  EXPECT_FALSE(use("float32", {}).half_partials);
  EXPECT_TRUE(use("float16", with_core(Accumulator::kTensorCoreAmpere)).takes_half);
  EXPECT_FALSE(use("bfloat16", with_core(Accumulator::kTensorCoreAmpere)).takes_half);
  EXPECT_TRUE(use("float32", with_core(Accumulator::kTensorCoreAmpere, TensorCoreOperands::kAsFp16)).takes_half);
  const std::string own =
      R"({"name": "y", "op": "MatMul", "inputs": ["x", "x"], "attributes": {"partialsType": "half"}})";
  const ProductUse of_node = use_of(graph_of("float16", own), {}).products.at(0);
  EXPECT_TRUE(of_node.half_partials);
  EXPECT_FALSE(of_node.takes_half);
}

/// What is said of settings that are all asked for.
std::string said(const std::vector<std::string_view>& keys, const std::vector<ProductUse>& products) {
  const ProductDoor door = {
      [&](std::string_view key) {
        return std::ranges::find(keys, key) == keys.end() ? std::string() : "--" + std::string(key);
      },
      [](std::string_view key, std::string_view value) { return "--" + std::string(key) + " " + std::string(value); }};
  return idle_product_setting(door, products).value_or("taken");
}

TEST(IdleProducts, EverySettingNeedsAProduct) {
  for (const char* key : {"accumulator", "tensor_core_operands", "partials", "block", "inner"})
    EXPECT_EQ(said({key}, {}), "--" + std::string(key) +
                                   ": the graph has no products; expected a graph with MatMul, Conv2D or the like");
  const ProductUse matmul, convolution = {.convolution = true};
  EXPECT_EQ(said({"matmul_partials"}, {convolution}),
            "--matmul_partials: there is no product of matrices; expected one");
  EXPECT_EQ(said({"convolution_partials"}, {matmul}), "--convolution_partials: there is no convolution; expected one");
  EXPECT_EQ(said({"matmul_partials", "convolution_partials", "accumulator"}, {matmul, convolution}), "taken");
}

TEST(IdleProducts, PartialsNeedAResultThatHoldsThem) {
  EXPECT_EQ(said({"partials"}, {{.takes_half = false}}),
            "--partials: no such result is of fp16; expected --partials float");
  EXPECT_EQ(said({"partials"}, {{.accumulator = Accumulator::kTensorCoreAmpere, .takes_half = false}}),
            "--partials: no fp16 accumulator takes such operands; expected --partials float");
  EXPECT_EQ(said({"partials"}, {{.takes_half = false}, {}}), "taken");
}

TEST(IdleProducts, BlocksNeedHalfPartialsOrExactGroups) {
  const std::string refused = "--block: no product has half partials; expected --partials half, or --inner exact_dot4";
  EXPECT_EQ(said({"block"}, {{}}), refused);
  EXPECT_EQ(said({"block"}, {{.inner = AmpInner::kRn32Each}}), refused);
  EXPECT_EQ(said({"block"}, {{.half_partials = true}}), "taken");
  EXPECT_EQ(said({"block"}, {{.inner = AmpInner::kExactDot4}}), "taken");
  EXPECT_EQ(said({"block"}, {{}, {.half_partials = true}}), "taken");
  EXPECT_EQ(said({"block"}, {{.half_partials = true, .accumulator = Accumulator::kTensorCoreAmpere}}),
            "--block: a tensor core sums in groups of its own; expected --accumulator ipu_model_a");
}

TEST(IdleProducts, RoundingEachProductNeedsBlocksOfOne) {
  const std::string refused =
      "--inner: differs from fma_chain only in half partials of one product each; expected --partials half --block 1, "
      "or another word";
  EXPECT_EQ(said({"inner"}, {{.inner = AmpInner::kRn32Each}}), refused);
  EXPECT_EQ(said({"inner"}, {{.half_partials = true, .inner = AmpInner::kRn32Each}}), refused);
  EXPECT_EQ(said({"inner"}, {{.half_partials = true, .inner = AmpInner::kRn32Each, .block = 1}}), "taken");
  EXPECT_EQ(said({"inner"}, {{.inner = AmpInner::kExactDot4}}), "taken");
}

}  // namespace
}  // namespace softamp::graph_detail
