// Random operations: every formulation against the body, the body against lanes by address, and moments.
#include <gtest/gtest.h>

#include <cmath>

#include "softamp/kernel/random.h"
#include "tests/emu/element_check.h"
#include "tests/ops/named_rows.h"
#include "tests/ops/random_rows.h"

namespace softamp {
namespace {

using namespace softamp::test;

Attributes pair_of(const char* a, double x, const char* b, double y) { return {{a, x}, {b, y}}; }

class RandomRows : public RowTest<RandomRow> {};
INSTANTIATE_TEST_SUITE_P(Rows, RandomRows, ::testing::ValuesIn(named(random_rows())), kNameOfRow);

TEST_P(RandomRows, EqualTheirBodies) {
  std::vector<Named> policies = usual_policies();
  for (const Named& p : unusual_policies()) policies.push_back(p);
  for (const Attributes& range : row().ranges)
    for (const DType t : row().types())
      for (const int64_t n : {0, 1, 63, 65, 1500})
        for (const Named& policy : policies) expect_body({row().op, {}, {t, Shape{n}}, range}, policy);
}

TEST_P(RandomRows, ThreadsDoNotShow) {
  const ElementCase c{row().op, {}, {row().types()[0], Shape{100001}}, row().ranges[0]};
  RunOptions o;
  o.semantics = usual_policies()[1].semantics;
  o.reference = true;
  const ElementResult expected = run_case(c, o);
  o.reference = false;
  for (const int threads : {1, 2, 3, 8}) {
    o.threads = threads;
    expect_same(c, expected, o, "ipu esr");
  }
}

// tests: N201, N202
TEST(RandomOps, ValueIsAFunctionOfItsLane) {
  RunOptions o;
  o.semantics = Semantics::ieee();
  const ElementResult r =
      run_case({"RandomUniform", {}, {DType::kFloat32, Shape{1000}}, pair_of("minval", 0, "maxval", 1)}, o);
  const RandomBits random{0x123456789ABCDEFu, 10, 3};
  for (uint64_t i = 0; i < 1000; ++i) {
    const float u = math::uniform_from_bits<math::Float>(random.bits(5, 77, i, 32)).value;
    EXPECT_EQ(r.out.as<float>()[i], u);
    EXPECT_GE(u, 0.0f);
    EXPECT_LT(u, 1.0f);
  }
  const ElementResult integers = run_case(
      {"RandomUniformInt", {}, {DType::kInt32, Shape{1000}}, {{"minval", int64_t{-5}}, {"maxval", int64_t{9}}}}, o);
  for (uint64_t i = 0; i < 1000; ++i)
    EXPECT_EQ(integers.out.as<int32_t>()[i], -5 + static_cast<int32_t>(uint64_t{random.bits(5, 77, i, 32)} * 14 >> 32));
}

// A fixed seed, so these numbers do not change; bounds of six standard errors.
TEST(RandomOps, Moments) {
  const int64_t n = 200000;
  RunOptions o;
  o.semantics = Semantics::ieee();
  const auto moments = [&](const char* op, const Attributes& attributes, double mean, double variance, double fourth) {
    const ElementResult r = run_case({op, {}, {DType::kFloat32, Shape{n}}, attributes}, o);
    double sum = 0, squares = 0;
    for (const float x : r.out.as<float>()) sum += x, squares += (x - mean) * (x - mean);
    const double count = static_cast<double>(n);
    EXPECT_NEAR(sum / count, mean, 6 * std::sqrt(variance / count)) << op;
    EXPECT_NEAR(squares / count, variance, 6 * std::sqrt((fourth - variance * variance) / count)) << op;
  };
  moments("RandomUniform", pair_of("minval", -1, "maxval", 3), 1, 16.0 / 12, 256.0 / 80);
  moments("RandomStandardNormal", pair_of("mean", 2, "stddev", 3), 2, 9, 243);
  // On [-2, 2]: variance 1 - 4 phi(2) / (2 Phi(2) - 1), fourth moment 3 variance - 16 phi(2) / (2 Phi(2) - 1).
  const double phi = std::exp(-2.0) / std::sqrt(2 * M_PI), mass = std::erf(std::sqrt(2.0));
  const double variance = 1 - 4 * phi / mass;
  moments("TruncatedNormal", pair_of("mean", 0, "stddev", 1), 0, variance, 3 * variance - 16 * phi / mass);
}

}  // namespace
}  // namespace softamp
