// The compensated addition against the model library, which shares no arithmetic with the library: four exact sums,
// each rounded to nearest even; and by hand, in plain binary64.
#include <cmath>

#include "tests/graph/models/model_run.h"
#include "tests/oracle/tensor_model_training.h"

namespace softamp::test::compensated {
namespace {

[[maybe_unused]] const ::testing::Environment* const kCoversCompensated = covers({"ApplyCompensated"});

constexpr DType kTypes16And32[] = {DType::kFloat16, DType::kBFloat16, DType::kFloat32};

struct Compensated {
  uint64_t var, compensation;
  uint8_t flags = 0;
};

/// n(x + y), of codes.
uint64_t nearest_sum(const FloatFormat& f, uint64_t x, uint64_t y, bool minus, const Semantics& nearest,
                     uint8_t& flags) {
  oracle::model::Steps steps(nearest);
  const oracle::model::Number a = steps.enter(f, x), b = steps.enter(f, y);
  const Rounded r = steps.store(f, a, minus ? steps.minus(b) : b, 0);
  flags = static_cast<uint8_t>(flags | r.flags);
  return r.code;
}

Compensated by_model(const FloatFormat& f, uint64_t w, uint64_t c, uint64_t u, Semantics s) {
  s.wide.mode = s.narrow.mode = s.quarter.mode = RoundingMode::kNearestEven;
  Compensated to{};
  const uint64_t y = nearest_sum(f, u, c, true, s, to.flags);
  to.var = nearest_sum(f, w, y, false, s, to.flags);
  const uint64_t moved = nearest_sum(f, to.var, w, true, s, to.flags);
  to.compensation = nearest_sum(f, moved, y, true, s, to.flags);
  return to;
}

std::vector<Semantics> all_semantics() {
  std::vector<Semantics> all{Semantics::ieee(), Semantics::ieee(RoundingPolicy::stochastic_carry(13)),
                             Semantics::ieee(RoundingPolicy::ieee(RoundingMode::kTowardZero))};
  for (const bool esr : {false, true})
    for (const bool nanoo : {false, true}) {
      FloatingPointBehaviour b = FloatingPointBehaviour::all_off();
      b.esr = esr;
      b.nanoo = nanoo;
      all.push_back(Semantics::ipu(b));
    }
  return all;
}

TEST(CompensatedModel, IsFourRoundedSums) {
  uint64_t seed = 7000;
  for (const Semantics& s : all_semantics())
    for (const DType t : kTypes16And32)
      for (const Data data : {Data::kUnit, Data::kWide, Data::kAny}) {
        const int64_t n = 500;
        const FloatFormat f = format_of(t);
        std::vector<Tensor> in;
        for (int k = 0; k < 3; ++k) in.push_back(random_tensor(t, {n}, data, ++seed));
        // Half of the compensations and updates are some binades below their weights, where bits are lost.
        for (int64_t i = 0; data != Data::kAny && i < n; i += 2) {
          const double w = fp::to_double(f, in[0].code(i));
          set_code(in[1], i, fp::from_double(f, std::ldexp(w, -f.precision - static_cast<int>(i % 5)) * 1.375));
          set_code(in[2], i, fp::from_double(f, std::ldexp(w, -f.precision + static_cast<int>(i % 7) - 3) * -1.25));
        }
        in.push_back(Tensor::full(DType::kBool, Shape{}, 1));
        ExecutorOptions options;
        options.semantics = s;
        options.status = true;
        const Outcome got = run_operation("ApplyCompensated", in, {}, options);
        uint8_t flags = 0;
        for (int64_t i = 0; i < n; ++i) {
          const Compensated expected = by_model(f, in[0].code(i), in[1].code(i), in[2].code(i), s);
          ASSERT_EQ(got.outputs[0].code(i), expected.var) << name_of(t) << " " << i;
          ASSERT_EQ(got.outputs[1].code(i), expected.compensation) << name_of(t) << " " << i;
          flags = static_cast<uint8_t>(flags | expected.flags);
        }
        EXPECT_EQ(got.status.flags, flags) << name_of(t);
      }
}

/// A number of binary64 rounded to `digits` significant bits, to nearest even, by nearbyint alone.
double rounded_to(int digits, double x) {
  if (x == 0) return x;
  const int exponent = std::ilogb(x) - digits + 1;
  return std::ldexp(std::nearbyint(std::ldexp(x, -exponent)), exponent);
}

/// The publication's three lines in plain binary64: sums of two bfloat16 numbers of these sizes are exact there.
TEST(CompensatedModel, IsThePublicationsThreeLines) {
  const DType t = DType::kBFloat16;
  const int64_t n = 4000;
  std::vector<Tensor> in;
  for (int k = 0; k < 3; ++k) in.push_back(random_tensor(t, {n}, Data::kMiddle, 8000 + static_cast<uint64_t>(k)));
  in.push_back(Tensor::full(DType::kBool, Shape{}, 1));
  ExecutorOptions options;
  options.semantics = Semantics::ieee(RoundingPolicy::stochastic_carry(13));  // which it must not heed
  const Outcome got = run_operation("ApplyCompensated", in, {}, options);
  for (int64_t i = 0; i < n; ++i) {
    const double w = in[0].value(i), c = in[1].value(i), u = in[2].value(i);
    const double y = rounded_to(8, u - c), s = rounded_to(8, w + y), kept = rounded_to(8, rounded_to(8, s - w) - y);
    ASSERT_EQ(got.outputs[0].value(i), s) << i;
    ASSERT_EQ(got.outputs[1].value(i), kept) << i;
  }
}

/// In float64 too, where Knuth's exact sum of two numbers is the judge of what is kept: w - c is the exact w + u.
TEST(CompensatedModel, KeepsWhatFloat64Loses) {
  std::vector<Tensor> in;
  for (const double x : {1.0, 0.0, 0x1.8p-54}) in.push_back(Tensor::full(DType::kFloat64, Shape{1}, x));
  in.push_back(Tensor::full(DType::kBool, Shape{}, 1));
  const Outcome got = run_operation("ApplyCompensated", in, {}, ExecutorOptions{});
  EXPECT_EQ(got.outputs[0].value(0), 1);
  EXPECT_EQ(got.outputs[1].value(0), -0x1.8p-54);
}

}  // namespace
}  // namespace softamp::test::compensated
