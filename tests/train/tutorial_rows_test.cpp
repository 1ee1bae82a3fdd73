// Rows and traps of the tutorial (docs/TUTORIAL.md) that no other test shows.
#include <gtest/gtest.h>

#include <cstdio>

#include "softamp/chips/peak_rate.h"
#include "softamp/graph/gradients.h"
#include "softamp/numbers/number_text.h"
#include "softamp/numerics/convert.h"
#include "softamp/numerics/decimal.h"
#include "softamp/numerics/semantics.h"
#include "softamp/train/models.h"
#include "softamp/train/optimizer.h"
#include "tests/graph/executor_check.h"
#include "tests/train/optimizer_rig.h"

namespace softamp::test {
namespace {

using enum DType;

// tests: G02
TEST(TutorialRows, G02HalvesAreFourTimesAsFast) {
  EXPECT_EQ(relative_peak_rate(kFloat16), 4 * relative_peak_rate(kFloat32));
  EXPECT_EQ(relative_peak_rate(kFloat32), 1);
  EXPECT_EQ(relative_peak_rate(kInt32), 0);
}

/// y = x w over 4096 ones times a weight that float32 alone can hold; a rounding of half partials to every product.
double product_of(DType compute, const char* partials, DType variable, double& kept) {
  GraphBuilder b;
  const Port x = b.placeholder("x", compute, {1, 4096});
  Port w = b.add("VariableV2", {}, {{"dtype", variable}, {"shape", Shape{4096, 1}}}, "w");
  if (variable != compute) w = b.add("Cast", {w}, {{"DstT", compute}});
  const Port y = b.add("MatMul", {x, w}, {{"partialsType", std::string(partials)}}, "y");
  EXPECT_EQ(b.graph().type(y).dtype, compute);
  ExecutorOptions options;
  options.amp_block = 1;
  const auto executor = make_executor(b.build(), options);
  executor->set_variable("w", Tensor::full(variable, {4096, 1}, 1 + 0x1p-12));
  kept = executor->variable("w").value(0);
  const Tensor ones = Tensor::full(compute, {1, 4096}, 1);
  return run(*executor, {{"x", &ones}}, {"y"}).values[0].value(0);
}

/// What is computed, summed and kept in which dtype is chosen apart. Half partials stop at 2048, the weight's last bit
/// is lost where it is kept or computed with in half, and 4096 (1 + 2^-12) = 4097 where neither is.
// tests: G03
TEST(TutorialRows, G03OneNetInFourCombinations) {
  double kept = 0;
  EXPECT_EQ(product_of(kFloat16, "half", kFloat16, kept), 2048);
  EXPECT_EQ(kept, 1);
  EXPECT_EQ(product_of(kFloat16, "float", kFloat16, kept), 4096);
  EXPECT_EQ(product_of(kFloat16, "float", kFloat32, kept), 4096);
  EXPECT_EQ(kept, 1 + 0x1p-12);
  EXPECT_EQ(product_of(kFloat32, "float", kFloat32, kept), 4097);
  EXPECT_EQ(kept, 1 + 0x1p-12);
}

/// A gradient g that left the backward pass in half as S g: cast to float32 and divided there, or divided in half.
// tests: G25
TEST(TutorialRows, G25CastBeforeDividing) {
  constexpr double kScale = 256;
  GraphBuilder b;
  const Port scaled = b.placeholder("scaled", kFloat16, {2});
  const std::optional<Port> gradient = scaled;
  const Port single = b.constant(Tensor::full(kFloat32, {}, kScale)),
             half = b.constant(Tensor::full(kFloat16, {}, kScale));
  b.add("Identity", {get_unscaled_gradients(b, std::span(&gradient, 1), single)[0].value()}, {}, "cast_first");
  b.add("RealDiv", {scaled, half}, {}, "in_half");
  const auto executor = make_executor(b.build());
  const Tensor gradients = halves({kScale * 0x1p-20, kScale * 0x1p-26});
  const RunResult r = run(*executor, {{"scaled", &gradients}}, {"cast_first", "in_half"});
  EXPECT_TRUE(r.values[0].same_bits(floats({0x1p-20, 0x1p-26})));
  EXPECT_TRUE(r.values[1].same_bits(halves({0x1p-20, 0})));
}

/// Three updates of a weight by S g, with epsilon times `epsilon_factor`.
std::vector<double> updated_weights(OptimizerKind kind, double scale, double epsilon_factor) {
  OptimizerOptions o = OptimizerOptions::of(kind);
  o.epsilon = 0x1p-20 * epsilon_factor;
  UpdateRig rig(o, {kFloat32, {3}}, kFloat32);
  for (const std::string& slot : rig.slots) rig.set(slot, {0, 0, 0});
  rig.set("w", {1, -0.3, 2.5});
  for (const double g : {0.1, -0.7, 0.01}) rig.step({scale * g, scale * 3 * g, scale * 0.1}, 0.01);
  return rig.w().values();
}

/// The scale does nothing where epsilon is scaled, too: by S outside the root, by S^2 inside. S is a power of two, so
/// that nothing rounds otherwise and the same bits come out.
// tests: G28
TEST(TutorialRows, G28ScaledEpsilonTakesTheScaleOff) {
  constexpr double kScale = 256;
  for (const OptimizerKind kind : {OptimizerKind::kAdam, OptimizerKind::kAdamW, OptimizerKind::kRmsProp}) {
    const double factor = kind == OptimizerKind::kRmsProp ? kScale * kScale : kScale;
    const std::vector<double> plain = updated_weights(kind, 1, 1);
    EXPECT_EQ(updated_weights(kind, kScale, factor), plain) << name_of(kind);
    EXPECT_NE(updated_weights(kind, kScale, 1), plain) << name_of(kind);
    EXPECT_NE(plain[0], 1);
  }
}

/// Values and gradients with a print and an outfeed on the way are, to the bit, those without.
// tests: G31
TEST(TutorialRows, G31LookingChangesNothing) {
  std::vector<RunResult> results;
  std::string printed;
  for (const bool looked_at : {false, true}) {
    GraphBuilder b;
    const Port x = b.placeholder("x", kFloat16, {3, 2}), w = b.placeholder("w", kFloat16, {2, 3});
    Port y = b.add("MatMul", {x, w});
    if (looked_at) {
      y = b.add("PrintTensor", {y}, {{"message", std::string("product")}});
      y = b.add("OutfeedEnqueue", {y}, {{"queue", std::string("products")}});
    }
    const Port loss = b.add("Sum", {b.add("Square", {y})}, {}, "loss");
    const Port variables[] = {w};
    b.add("Identity", {gradients(b, loss, variables)[0].value()}, {}, "gradient");
    ExecutorOptions options;
    options.print = [&printed](const std::string& text) { printed += text; };
    const auto executor = make_executor(b.build(), options);
    const Tensor xs = tensor(kFloat16, {3, 2}, {0.1, 2, -0.3, 4, 0.5, 6});
    const Tensor ws = tensor(kFloat16, {2, 3}, {1.1, 0.2, -3, 0.4, 5.5, 0.6});
    for (int step = 0; step < 2; ++step)
      results.push_back(run(*executor, {{"x", &xs}, {"w", &ws}}, {"loss", "gradient"}));
    if (looked_at) {
      EXPECT_EQ(executor->take_outfeed("products").size(), 2u) << "one to each step";
    }
  }
  for (const RunResult& r : results)
    for (size_t i = 0; i < 2; ++i) EXPECT_TRUE(r.values[i].same_bits(results[0].values[i]));
  EXPECT_NE(results[0].values[1].value(0), 0);
  EXPECT_EQ(printed.rfind("product: float16 [3,3] ", 0), 0u) << printed;
  EXPECT_NE(printed.find("product: ", 1), std::string::npos) << "printed in the second step, too";
}

// ---- Traps --------------------------------------------------------------------------------------------------------

double half(double x) { return fp::to_double(kFp16, fp::from_double(kFp16, x)); }
std::string seven_digits(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.7f", x);
  return text;
}

/// The page's 0.0004833, 0.2504833 and 0.0200205 are slips: no fp16 arithmetic gives them.
// tests: G09, X1
TEST(TutorialTraps, X1WhatTheDemonstrationPrints) {
  const auto there_and_back = [](double x) { return half(half(half(x) + 0.25) - 0.25); };
  EXPECT_EQ(there_and_back(0.0004), 0x1p-11);
  EXPECT_EQ(seven_digits(there_and_back(0.0004)), "0.0004883");
  EXPECT_EQ(half(half(0.0004) + 0.25), 0.25048828125);
  EXPECT_EQ(seven_digits(half(half(0.0004) + 0.25)), "0.2504883");
  EXPECT_EQ(there_and_back(0.02), 0.02001953125);
  EXPECT_EQ(seven_digits(there_and_back(0.02)), "0.0200195");
  // TUTORIAL G09, the other lines: of 2^-12, 0.002, 0.0002 and 0.0001 are 8.2, 0.8 and 0.4.
  EXPECT_EQ(there_and_back(0.2), 0.199951171875);
  EXPECT_EQ(there_and_back(0.002), 0x1p-9);
  EXPECT_EQ(there_and_back(0.0002), 0x1p-12);
  EXPECT_EQ(there_and_back(0.0001), 0);
  // Between 0.25 and 0.5 halves are 2^-12 apart: what is left of x is a multiple of it.
  for (const double page : {0.0004833, 0.0200205}) {
    const double quanta = page * 0x1p12;
    EXPECT_GT(std::abs(quanta - std::round(quanta)), 4e-4) << page << " is none, to all digits printed (5e-8 2^12)";
  }
}

/// Not 1.7e+38 and 1.7e-38.
// tests: X2
TEST(TutorialTraps, X2LimitsOfFloat32) {
  EXPECT_EQ(fp::to_double(kFp32, kFp32.max_finite_code()), (2 - 0x1p-23) * 0x1p127);
  EXPECT_EQ(shortest_decimal(kFp32, kFp32.max_finite_code()), "3.4028235e+38");
  EXPECT_EQ(shortest_decimal(kFp32, kFp32.min_normal_code()), "1.1754944e-38");
  EXPECT_EQ(shortest_decimal(kFp32, kFp32.min_subnormal_code()), "1e-45") << "1.4e-45: one digit tells it apart";
}

/// To nearest, a half of the least subnormal is gone; stochastically it is there as often as it should be: of all 2^13
/// random numbers, x / 2^-24 of them round x up, exactly. TUTORIAL G08: where a half underflows.
// tests: G08, X3
TEST(TutorialTraps, X3UnderflowByMode) {
  const auto rounded = [](double x, const RoundingPolicy& policy, uint32_t random) {
    return fp::convert(kBinary64, kFp16, std::bit_cast<uint64_t>(x), Semantics::ieee(policy), random).code;
  };
  EXPECT_EQ(rounded(0x1p-25, {}, 0), 0u);
  EXPECT_EQ(rounded(0x1.0000000000001p-25, {}, 0), 1u);
  const RoundingPolicy stochastic = RoundingPolicy::stochastic_carry(13);
  for (const uint32_t parts : {0u, 1u, 64u, 4096u, 8191u}) {
    uint32_t up = 0;
    for (uint32_t random = 0; random < 8192; ++random) up += rounded(parts * 0x1p-37, stochastic, random) == 1;
    EXPECT_EQ(up, parts);
  }
}

}  // namespace
}  // namespace softamp::test
