// ExecutorOptions::accumulator: what it changes, what it excludes, and what the messages say.
#include <gtest/gtest.h>

#include "softamp/graph/executor.h"

#include "tests/refusal.h"

namespace softamp {
namespace {

/// 1 + 4 x 2^-24, which only what keeps bits below the last shows, to fp32: of a MatMul, or of a 1 x 1 Conv2D.
class Sum {
 public:
  explicit Sum(DType type = DType::kFloat32, const std::string& partials = "", bool convolution = false) {
    std::vector<double> x(24, 0.0), y(24, 1.0);
    x[0] = 1;
    for (const size_t i : std::initializer_list<size_t>{16, 17, 18, 19}) x[i] = 0x1p-12, y[i] = 0x1p-12;
    GraphBuilder g;
    if (convolution) {
      const Port a = g.constant(Tensor::from_values(type, Shape{1, 1, 1, 24}, x), "a");
      const Port b = g.constant(Tensor::from_values(type, Shape{1, 1, 24, 1}, y), "b");
      g.add("Conv2D", {a, b},
            {{"strides", std::vector<int64_t>{1, 1, 1, 1}},
             {"padding", std::string("VALID")},
             {"partialsType", partials}},
            "z");
    } else {
      const Port a = g.constant(Tensor::from_values(type, Shape{1, 24}, x), "a");
      const Port b = g.constant(Tensor::from_values(type, Shape{24, 1}, y), "b");
      g.add("MatMul", {a, b}, {{"partialsType", partials}}, "z");
    }
    graph_ = g.build();
  }
  double value(const ExecutorOptions& options) const {
    const std::vector<std::string> fetches = {"z"};
    return make_executor(graph_, options)->run({}, fetches).values.at(0).values().at(0);
  }
  double value(Accumulator a) const {
    ExecutorOptions o;
    o.accumulator = a;
    return value(o);
  }
  std::string refusal(const ExecutorOptions& options) const {
    return test::refusal<std::invalid_argument>([&] { make_executor(graph_, options); });
  }

 private:
  Graph graph_;
};

ExecutorOptions with(Accumulator a) {
  ExecutorOptions o;
  o.accumulator = a;
  return o;
}

// tests: N109
TEST(Accumulators, ChangeSums) {
  for (const bool convolution : {false, true}) {
    const Sum sum(DType::kFloat32, "", convolution);  // tf32 where that is
    EXPECT_EQ(sum.value(Accumulator::kIpuModelA), 1) << "each lost in rounding to nearest";
    EXPECT_EQ(sum.value(Accumulator::kFp32Chain), 1);
    EXPECT_EQ(sum.value(Accumulator::kTensorCoreAmpere), 1 + 0x1p-22);
    EXPECT_EQ(sum.value(Accumulator::kTensorCoreHopper), 1 + 0x1p-22);
    EXPECT_EQ(Sum(DType::kFloat16, "", convolution).value(Accumulator::kTensorCoreVolta), 1);
    EXPECT_EQ(Sum(DType::kBFloat16, "", convolution).value(Accumulator::kTensorCoreAda), 1);
  }
  ExecutorOptions reference = with(Accumulator::kTensorCoreAmpere);
  reference.reference = true;
  EXPECT_EQ(Sum().value(reference), 1 + 0x1p-22);
  ExecutorOptions block = with(Accumulator::kTensorCoreAmpere);
  block.amp_block = 1;
  EXPECT_EQ(Sum().value(block), 1 + 0x1p-22) << "blocks mean nothing";
}

/// The preset of the IPU flushes fp32 subnormals; a tensor core does not, of operands, C and results.
// tests: N100
TEST(Accumulators, BringTheirOwnHandlingOfSubnormals) {
  const auto product = [](DType type, Accumulator accumulator, double a, double b, double c, bool reference) {
    GraphBuilder g;
    std::vector<Port> in = {g.constant(Tensor::from_values(type, Shape{1, 1}, {a}), "a"),
                            g.constant(Tensor::from_values(type, Shape{1, 1}, {b}), "b")};
    if (c != 0) in.push_back(g.constant(Tensor::from_values(DType::kFloat32, Shape{1}, {c}), "c"));
    g.add("MatMul", in, {}, "z");
    ExecutorOptions o = with(accumulator);
    o.reference = reference;
    return make_executor(g.build(), o)->run({}, {"z"}).values.at(0).values().at(0);
  };
  for (const bool reference : {false, true}) {
    for (const DType type : {DType::kFloat32, DType::kBFloat16}) {
      for (const Accumulator a : {Accumulator::kTensorCoreAmpere, Accumulator::kTensorCoreBlackwell}) {
        EXPECT_EQ(product(type, a, 0x1p-130, 1, 0, reference), 0x1p-130) << "an operand, and the result";
        EXPECT_EQ(product(type, a, 0x1p-65, 0x1p-65, 0, reference), 0x1p-130) << "a result";
        EXPECT_EQ(product(type, a, 0x1p-130, 0x1p20, 0, reference), 0x1p-110) << "an operand";
        EXPECT_EQ(product(type, a, 0x1p-125, 1, -0x1p-130, reference), 0x1p-125 - 0x1p-130) << "C";
      }
    }
    for (const Accumulator a : {Accumulator::kIpuModelA, Accumulator::kFp32Chain}) {
      EXPECT_EQ(product(DType::kFloat32, a, 0x1p-130, 1, 0, reference), 0);
      EXPECT_EQ(product(DType::kFloat32, a, 0x1p-130, 0x1p20, 0, reference), 0);
    }
  }
}

TEST(Accumulators, ConflictsNameBoth) {
  const Sum sum(DType::kFloat16);
  ExecutorOptions o = with(Accumulator::kTensorCoreVolta);
  o.amp_inner = AmpInner::kExactDot4;
  EXPECT_EQ(
      sum.refusal(o),
      "accumulator tensorcore_volta and amp_inner exact_dot4 exclude each other; expected amp_inner fma_chain, or "
      "accumulator ipu_model_a");
  o.accumulator = Accumulator::kFp32Chain;
  o.amp_inner = AmpInner::kRn32Each;
  EXPECT_EQ(sum.refusal(o),
            "accumulator fp32_chain and amp_inner rn32_each exclude each other; expected amp_inner fma_chain, or "
            "accumulator ipu_model_a");
  o = with(Accumulator::kTensorCoreHopper);
  o.f32_flush_inner = true;
  EXPECT_EQ(sum.refusal(o),
            "accumulator tensorcore_hopper and f32_flush_inner exclude each other; expected f32_flush_inner off, or "
            "accumulator ipu_model_a");
  o.accumulator = Accumulator::kFp32Chain;
  EXPECT_EQ(sum.refusal(o), "");
  o = with(Accumulator::kFp32Chain);
  o.config.matmuls.poplar_options["partialsType"] = "half";
  EXPECT_EQ(sum.refusal(o),
            "accumulator fp32_chain and matmuls.poplar_options: partialsType half exclude each other; expected "
            "partialsType float, or accumulator ipu_model_a");
  o.accumulator = Accumulator::kTensorCoreAda;
  EXPECT_EQ(sum.refusal(o), "") << "its fp16 accumulator";
  o = with(Accumulator::kFp32Chain);
  o.config.convolutions.poplar_options["partialsType.interTile"] = "half";
  EXPECT_EQ(sum.refusal(o),
            "accumulator fp32_chain and convolutions.poplar_options: partialsType.interTile half exclude each other; "
            "expected partialsType.interTile float, or accumulator ipu_model_a");
  o.accumulator = Accumulator::kIpuModelA;
  EXPECT_EQ(sum.refusal(o), "");
}

TEST(Accumulators, NodesThatItCannotSum) {
  for (const bool convolution : {false, true}) {
    const std::string op = convolution ? "Conv2D" : "MatMul";
    EXPECT_EQ(Sum(DType::kFloat16, "half", convolution).refusal(with(Accumulator::kFp32Chain)),
              op + " 'z': accumulator fp32_chain keeps float partials and partialsType is half; expected partialsType "
                   "float");
    EXPECT_EQ(Sum(DType::kBFloat16, "", convolution).refusal(with(Accumulator::kTensorCoreTuring)),
              op + " 'z': accumulator tensorcore_turing has no operands of bfloat16; expected float16");
    EXPECT_EQ(Sum(DType::kFloat32, "", convolution).refusal(with(Accumulator::kTensorCoreVolta)),
              op + " 'z': accumulator tensorcore_volta has no operands of float32; expected float16");
    EXPECT_EQ(Sum(DType::kFloat32, "float", convolution).refusal(with(Accumulator::kTensorCoreBlackwell)), "");
  }
}

}  // namespace
}  // namespace softamp
