// ExecutorOptions::tensor_core_operands, and partialsType half with a tensor core: what they change in a graph, what
// they exclude, and what the messages say.
#include <gtest/gtest.h>

#include <cmath>

#include "softamp/graph/executor.h"
#include "tests/refusal.h"

namespace softamp::fed {
namespace {

Graph product(DType type, const std::vector<double>& a, const std::vector<double>& b,
              const std::string& partials = "") {
  GraphBuilder g;
  const auto k = static_cast<int64_t>(a.size());
  g.add("MatMul",
        {g.constant(Tensor::from_values(type, Shape{1, k}, a), "a"),
         g.constant(Tensor::from_values(type, Shape{k, 1}, b), "b")},
        {{"partialsType", partials}}, "z");
  return g.build();
}

ExecutorOptions with(Accumulator a, TensorCoreOperands operands) {
  ExecutorOptions o;
  o.accumulator = a;
  o.tensor_core_operands = operands;
  return o;
}

double value(const Graph& graph, const ExecutorOptions& options) {
  const std::vector<std::string> fetches = {"z"};
  return make_executor(graph, options)->run({}, fetches).values.at(0).values().at(0);
}
std::string refusal(const Graph& graph, const ExecutorOptions& options) {
  return test::refusal<std::invalid_argument>([&] { make_executor(graph, options); });
}

constexpr auto kE4m3Operands = TensorCoreOperands::kAsE4m3, kOwnOperands = TensorCoreOperands::kOwn;

TEST(TensorCoreOperands, OperandsAreRoundedToThem) {
  const ExecutorOptions o = with(Accumulator::kTensorCoreAda, kE4m3Operands);
  for (const DType type : {DType::kFloat16, DType::kBFloat16, DType::kFloat32}) {
    EXPECT_EQ(value(product(type, {1.0625}, {1}), o), 1) << "a tie, to even";
    EXPECT_EQ(value(product(type, {1.1875}, {1}), o), 1.25);
    EXPECT_EQ(value(product(type, {1000}, {1}), o), 448) << "the greatest";
    EXPECT_EQ(value(product(type, {0x1p-9}, {1}), o), 0x1p-9);
    EXPECT_EQ(value(product(type, {0x1p-10}, {1}), o), 0);
    EXPECT_EQ(value(product(type, {1000}, {1}), with(Accumulator::kTensorCoreAda, TensorCoreOperands::kAsE5m2)), 1024);
    EXPECT_EQ(value(product(type, {1 + 0x1p-7}, {1}), with(Accumulator::kTensorCoreAda, TensorCoreOperands::kAsBf16)),
              1 + 0x1p-7);
  }
  EXPECT_EQ(value(product(DType::kFloat32, {INFINITY}, {1}), o), INFINITY) << "as it is";
  ExecutorOptions reference = o;
  reference.reference = true;
  EXPECT_EQ(value(product(DType::kFloat16, {1.0625}, {1}), reference), 1);
}

/// 256 - 256 + 2^-6 as product 20, and 2 + 2^-13: F, group and order of each 8-bit instruction.
TEST(TensorCoreOperands, InstructionsDiffer) {
  std::vector<double> a(32, 0.0), b(32, 1.0);
  a[0] = 16, b[0] = 16, a[1] = -16, b[1] = 16, a[20] = 0x1p-3, b[20] = 0x1p-3;
  const Graph far = product(DType::kFloat32, a, b), fine = product(DType::kFloat32, {1.5, 0.5, 0x1p-9}, {1, 1, 0x1p-4});
  const auto of = [](const Graph& g, Accumulator accumulator) { return value(g, with(accumulator, kE4m3Operands)); };
  EXPECT_EQ(of(far, Accumulator::kTensorCoreAda), 0x1p-6) << "groups of 16";
  EXPECT_EQ(of(far, Accumulator::kTensorCoreHopper), 0) << "groups of 32";
  EXPECT_EQ(of(far, Accumulator::kTensorCoreBlackwell), 0x1p-6) << "25 bits";
  EXPECT_EQ(of(far, Accumulator::kTensorCoreHopperMma), 0x1p-6);
  EXPECT_EQ(of(fine, Accumulator::kTensorCoreAda), 2);
  EXPECT_EQ(of(fine, Accumulator::kTensorCoreHopper), 2);
  EXPECT_EQ(of(fine, Accumulator::kTensorCoreBlackwell), 2 + 0x1p-13);
  EXPECT_EQ(of(fine, Accumulator::kTensorCoreBlackwellMma), 2 + 0x1p-13);
}

/// 2048 + 1 + 1 + ...: an fp16 accumulator loses each in its group, or keeps their sum in one.
// tests: N481
TEST(TensorCoreOperands, HalfPartialsAreTheFp16Accumulator) {
  std::vector<double> a(40, 0.0);
  a[0] = 2048, a[16] = 1, a[32] = 1;
  const std::vector<double> b(40, 1.0);
  for (const std::string own : {"half", ""}) {
    ExecutorOptions o = with(Accumulator::kTensorCoreHopper, kOwnOperands);
    if (own.empty()) o.config.matmuls.poplar_options["partialsType"] = "half";
    EXPECT_EQ(value(product(DType::kFloat16, a, b, own), o), 2048);
    o.reference = true;
    EXPECT_EQ(value(product(DType::kFloat16, a, b, own), o), 2048);
    o.reference = false;
    o.tensor_core_operands = TensorCoreOperands::kAsE5m2;
    o.accumulator = Accumulator::kTensorCoreAda;
    EXPECT_EQ(value(product(DType::kFloat32, a, b, own), o), 2048) << "widened at the end";
  }
  EXPECT_EQ(value(product(DType::kFloat16, a, b), with(Accumulator::kTensorCoreHopper, kOwnOperands)), 2050);
  // float32 goes in as tf32, which has no fp16 accumulator: ignored, with a warning.
  ExecutorOptions o = with(Accumulator::kTensorCoreHopper, kOwnOperands);
  o.config.matmuls.poplar_options["partialsType"] = "half";
  const Graph wide = product(DType::kFloat32, a, b);
  const auto executor = make_executor(wide, o);
  ASSERT_EQ(executor->warnings().size(), 1u);
  EXPECT_EQ(executor->warnings()[0],
            "MatMul 'z': partialsType half is ignored: accumulator tensorcore_hopper has an fp16 accumulator only for "
            "operands of float16, e4m3 and e5m2");
  EXPECT_EQ(value(wide, o), 2050);
}

TEST(TensorCoreOperands, ConflictsNameBoth) {
  const Graph graph = product(DType::kFloat16, {1}, {1});
  EXPECT_EQ(refusal(graph, with(Accumulator::kFp32Chain, kE4m3Operands)),
            "tensor_core_operands e4m3 and accumulator fp32_chain exclude each other; expected a tensor core, "
            "tensorcore_ada or later for 8 bits, or tensor_core_operands own");
  EXPECT_EQ(refusal(graph, with(Accumulator::kTensorCoreAmpere, kE4m3Operands)),
            "MatMul 'z': accumulator tensorcore_ampere has no operands of e4m3, which tensor_core_operands says; "
            "expected tensorcore_ada or later");
  EXPECT_EQ(refusal(graph, with(Accumulator::kTensorCoreVolta, TensorCoreOperands::kAsBf16)),
            "MatMul 'z': accumulator tensorcore_volta has no operands of bf16, which tensor_core_operands says; "
            "expected tensorcore_ampere or later");
  ExecutorOptions o = with(Accumulator::kTensorCoreAda, kOwnOperands);
  o.config.convolutions.poplar_options["partialsType.interTile"] = "half";
  EXPECT_EQ(refusal(graph, o),
            "accumulator tensorcore_ada and convolutions.poplar_options: partialsType.interTile half exclude each "
            "other; expected partialsType.interTile float, or accumulator ipu_model_a");
}

}  // namespace
}  // namespace softamp::fed
