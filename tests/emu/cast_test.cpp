// Cast: every pair of dtypes by every formulation against the body, and the body against plain C++ and the answers of
// N353 and N55.
#include <gtest/gtest.h>

#include <cmath>

#include "softamp/kernel/casts.h"
#include "tests/emu/element_check.h"

namespace softamp {
namespace {

using namespace softamp::test;

ElementCase cast_of(const Tensor& x, DType to) { return {"Cast", {&x}, {to, x.shape()}}; }

TEST(Cast, EveryPairEqualsItsBody) {
  std::vector<Named> policies = usual_policies();
  for (const Named& p : unusual_policies()) policies.push_back(p);
  for (const DType from : all_dtypes())
    for (const DType to : all_dtypes())
      for (const auto& [n, field] : std::vector<std::pair<int64_t, Field>>{
               {1, Field::kTame}, {65, Field::kWild}, {1100, Field::kMixed}, {2000, Field::kWild}}) {
        const Tensor x = random_tensor(from, Shape{n}, field, 1);
        for (const Named& policy : policies) expect_body(cast_of(x, to), policy);
        if (HasFailure()) return;
      }
}

// tests: N197
TEST(Cast, AllCodesOf16Bits) {
  for (const DType from : {DType::kFloat16, DType::kBFloat16})
    for (const DType to : all_dtypes()) {
      Tensor x(from, Shape{65536});
      for (size_t i = 0; i < 65536; ++i) x.as<uint16_t>()[i] = static_cast<uint16_t>(i * 40503u);
      for (const Named& policy : usual_policies()) expect_body(cast_of(x, to), policy);
    }
}

TEST(Cast, ThreadsDoNotShow) {
  const Tensor x = random_tensor(DType::kFloat32, Shape{200003}, Field::kMixed, 5);
  for (const DType to : {DType::kFloat16, DType::kBFloat16, DType::kInt32, DType::kFloat64})
    for (const Named& policy : usual_policies()) {
      RunOptions o;
      o.semantics = policy.semantics;
      o.reference = true;
      const ElementResult expected = run_case(cast_of(x, to), o);
      o.reference = false;
      for (const int threads : {1, 2, 3, 8}) {
        o.threads = threads;
        expect_same(cast_of(x, to), expected, o, policy.name);
      }
    }
}

uint64_t one(double value, DType from, DType to, const Semantics& s, uint8_t* flags = nullptr) {
  const Tensor x = Tensor::full(from, Shape{1}, value);
  RunOptions o;
  o.semantics = s;
  const ElementResult r = run_case(cast_of(x, to), o);
  if (flags) *flags = r.status.flags;
  return r.out.code(0);
}

// tests: N55, N197
TEST(Cast, KnownAnswers) {
  const Semantics s = Semantics::ipu();
  uint8_t flags = 0;
  for (const DType from : {DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64}) {
    EXPECT_EQ(one(NAN, from, DType::kInt32, s, &flags), 0x80000000u);
    EXPECT_EQ(flags, kInvalid);
    // A C cast: 2.75 is 2, -2.75 is -2.
    EXPECT_EQ(one(2.75, from, DType::kInt32, s, &flags), 2u);
    EXPECT_EQ(flags, 0);
    EXPECT_EQ(one(-2.75, from, DType::kInt32, s), static_cast<uint32_t>(-2));
    EXPECT_EQ(one(0.5, from, DType::kBool, s), 1u);
    EXPECT_EQ(one(-0.0, from, DType::kBool, s), 0u);
    EXPECT_EQ(one(NAN, from, DType::kBool, s, &flags), 1u);
    EXPECT_EQ(flags, kInvalid);
  }
  EXPECT_EQ(one(3e9, DType::kFloat32, DType::kInt32, s, &flags), 0x80000000u);
  EXPECT_EQ(flags, kInvalid);
  EXPECT_EQ(one(2147483647.5, DType::kFloat64, DType::kInt32, s, &flags), 0x7FFFFFFFu);
  EXPECT_EQ(flags, 0);
  EXPECT_EQ(one(-2147483648.9, DType::kFloat64, DType::kInt32, s, &flags), 0x80000000u);
  EXPECT_EQ(flags, 0);
  EXPECT_EQ(one(1e5, DType::kFloat32, DType::kFloat16, s, &flags), 0x7BFFu);
  EXPECT_EQ(flags, kOverflow);
  // Once from the exact value: 2049 + 2^-30 would be 2048 by way of fp32.
  EXPECT_EQ(one(2049 + 0x1p-30, DType::kFloat64, DType::kFloat16, s), fp::from_double(kFp16, 2050));
  EXPECT_EQ(one(1, DType::kBool, DType::kBFloat16, s), 0x3F80u);
}

// int32 to floats and back against the compiler's conversions.
TEST(Cast, Integers) {
  const Tensor x = random_tensor(DType::kInt32, Shape{3000}, Field::kMixed, 2);
  RunOptions o;
  o.semantics = Semantics::ieee();
  const ElementResult f32 = run_case(cast_of(x, DType::kFloat32), o), f64 = run_case(cast_of(x, DType::kFloat64), o);
  const ElementResult back = run_case(cast_of(f64.out, DType::kInt32), o);
  for (size_t i = 0; i < 3000; ++i) {
    volatile float single = static_cast<float>(x.as<int32_t>()[i]);
    EXPECT_EQ(f32.out.as<float>()[i], single);
    EXPECT_EQ(f64.out.as<double>()[i], x.as<int32_t>()[i]);
    EXPECT_EQ(back.out.as<int32_t>()[i], x.as<int32_t>()[i]);
  }
}

}  // namespace
}  // namespace softamp
