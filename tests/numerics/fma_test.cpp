// fp16 fused multiply-add where rounding twice goes wrong; the long run is proof_fma.
#include <gtest/gtest.h>

#include "softamp/numerics/arithmetic.h"
#include "tests/oracle/fma_cases.h"
#include "tests/oracle/fp16_walk.h"
#include "tests/oracle/machine_semantics.h"

namespace {

using namespace softamp;

TEST(Fma, RandomAndConstructedCases) {
  uint64_t by_binary32 = 0, by_binary64 = 0;
  for (uint64_t i = 0; i < 100000; ++i) {
    const oracle::Triple t = oracle::fma_case(i);
    for (int m = 0; m < oracle::kMachineCount; ++m) {
      const Rounded got = fp::fma(kFp16, t.a, t.b, t.c, semantics_of(oracle::kMachines[m]));
      const oracle::Outcome o = oracle::fma(t.a, t.b, t.c, oracle::kMachines[m]);
      ASSERT_TRUE(got.code == o.code && got.flags == o.flags)
          << oracle::kMachineNames[m] << std::hex << " " << t.a << " " << t.b << " " << t.c << " got " << got.code
          << "/" << int{got.flags} << " expected " << o.code << "/" << o.flags;
      if (oracle::is_constructed(i)) {
        if (m == 0) by_binary32 += oracle::rounded_twice<float>(t, RoundingMode::kNearestEven) != o.code;
        if (m == 3) by_binary64 += oracle::rounded_twice<double>(t, RoundingMode::kUp) != o.code;
      }
    }
  }
  // the cases are what they claim to be
  EXPECT_GT(by_binary32, 1000u);
  EXPECT_GT(by_binary64, 100u);
}

// tests: N10, N34
TEST(Fma, ByHand) {
  const Semantics s = Semantics::ieee();
  // (1 + 2^-10)(1 - 2^-11) - 1 = 2^-11 - 2^-21 = 2^-12 (2 - 2^-9), exactly; a product rounded first would be 1
  EXPECT_EQ(fp::fma(kFp16, 0x3C01, 0x3BFF, 0xBC00, s).code, 0x0FFEu);
  EXPECT_EQ(int{fp::fma(kFp16, 0x3C01, 0x3BFF, 0xBC00, s).flags}, 0);
  EXPECT_EQ(fp::fma(kFp16, 0x7BFF, 0x3C00, 0x0001, s).code, 0x7BFFu);  // 65504 + 2^-24
  EXPECT_EQ(int{fp::fma(kFp16, 0x7BFF, 0x3C00, 0x0001, s).flags}, int{kInexact});
  EXPECT_EQ(fp::fma(kFp16, 0x7BFF, 0x3C00, 0x0001, Semantics::ieee(RoundingPolicy::ieee(RoundingMode::kUp))).code,
            0x7C00u);
  // 0 Inf + NaN is invalid; 0 Inf + sNaN too; a quiet NaN alone is not
  EXPECT_EQ(int{fp::fma(kFp16, 0x0000, 0x7C00, 0x7E00, s).flags}, int{kInvalid});
  EXPECT_EQ(int{fp::fma(kFp16, 0x0000, 0x7BFF, 0x7E00, s).flags}, 0);
  EXPECT_EQ(fp::fma(kFp16, 0x7C00, 0x3C00, 0xFC00, s).code, 0x7E00u);
  EXPECT_EQ(fp::fma(kFp16, 0x8000, 0x3C00, 0x8000, s).code, 0x8000u);  // -0 + -0
  EXPECT_EQ(fp::fma(kFp16, 0x3C00, 0x3C00, 0xBC00, Semantics::ieee(RoundingPolicy::ieee(RoundingMode::kDown))).code,
            0x8000u);
}

}  // namespace
