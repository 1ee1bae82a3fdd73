// The elementary functions, scalar: special values, signs, symmetry, monotony where it is owed, and golden digests that
// pin every bit of them on every compiler. How close they come to the true values: tests/oracle/math_accuracy_test.cpp.
#include "softamp/numerics/math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "softamp/kernel/function.h"
#include "src/report/sha256.h"

namespace {

using namespace softamp;
using kernel::Function;

constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kTiny = 0x1p-149f, kMost = std::numeric_limits<float>::max();

uint32_t code(float x) { return std::isnan(x) ? 0x7FC00000u : __builtin_bit_cast(uint32_t, x); }
float of(Function f, float x) { return kernel::function_of(f, x); }
float pow(float x, float y) { return math::pow(math::Float(x), math::Float(y)).value; }
#define EXPECT_SAME(a, b) EXPECT_EQ(code(a), code(b)) << (a) << " " << (b)

TEST(Math, FusedIsTheProcessors) {
  uint64_t state = 1;
  const auto next = [&] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>(state >> 32);
  };
  for (int i = 0; i < 2000000; ++i) {
    float a = __builtin_bit_cast(float, next()), b = __builtin_bit_cast(float, next());
    float c = __builtin_bit_cast(float, next());
    if (i % 2) c = -a * b * __builtin_bit_cast(float, 0x3F800000u + next() % 9 - 4);        // cancels all but a little
    if (i % 4 == 3) b = std::ldexp(b, -std::ilogb(a * b == 0 ? 1 : a * b) - 126 - i % 30);  // subnormal results
    if (i % 8 == 6) {  // a product halfway between two numbers, and an addend that only says to which side it goes
      a = 1 + (2 * (next() % 1000) + 1) * 0x1p-12f;
      b = 1 + (2 * (next() % 500) + 1) * 0x1p-12f;
      c = std::ldexp(next() % 2 ? 1.0f : -1.0f, -54 - static_cast<int>(next() % 60));
    }
    ASSERT_EQ(code(fma(math::Float(a), math::Float(b), math::Float(c)).value), code(std::fma(a, b, c)))
        << a << " " << b << " " << c;
  }
}

TEST(Math, NansStayNans) {
  for (int f = 0; f < kernel::kFunctionCount; ++f) {
    EXPECT_TRUE(std::isnan(of(static_cast<Function>(f), kNan))) << f;
    EXPECT_TRUE(std::isnan(of(static_cast<Function>(f), -kNan))) << f;
    EXPECT_TRUE(std::isnan(of(static_cast<Function>(f), __builtin_bit_cast(float, 0x7F800001u)))) << f;
  }
}

struct Case {
  Function f;
  float x, y;
};

TEST(Math, SpecialValues) {
  using enum Function;
  const Case cases[] = {
      {kExp, -kInf, 0.0f},
      {kExp, kInf, kInf},
      {kExp, 0.0f, 1},
      {kExp, -0.0f, 1},
      {kExp, kTiny, 1},
      {kExp, 89, kInf},
      {kExp, kMost, kInf},
      {kExp, -kMost, 0.0f},
      {kExp, -104, 0.0f},
      {kExp, 0x1.62e42ep+6f, 0x1.ffff08p+127f},
      {kExp, -0x1.9fe368p+6f, kTiny},
      {kExp, -0x1.9fe36ap+6f, 0.0f},
      {kExp2, -kInf, 0.0f},
      {kExp2, kInf, kInf},
      {kExp2, 0.0f, 1},
      {kExp2, 127, 0x1p+127f},
      {kExp2, 128, kInf},
      {kExp2, -149, kTiny},
      {kExp2, -126, 0x1p-126f},
      {kExp2, -150, 0.0f},
      {kExp2, 10, 1024},
      {kExp2, -1, 0.5f},
      {kExpm1, -kInf, -1},
      {kExpm1, kInf, kInf},
      {kExpm1, 0.0f, 0.0f},
      {kExpm1, -0.0f, -0.0f},
      {kExpm1, kTiny, kTiny},
      {kExpm1, -kTiny, -kTiny},
      {kExpm1, 89, kInf},
      {kExpm1, -100, -1},
      {kExpm1, 0x1p-126f, 0x1p-126f},
      {kLog, 0.0f, -kInf},
      {kLog, -0.0f, -kInf},
      {kLog, 1, 0.0f},
      {kLog, kInf, kInf},
      {kLog, -1, kNan},
      {kLog, -kInf, kNan},
      {kLog, -kTiny, kNan},
      {kLog, kTiny, -0x1.9d1dap+6f},
      {kLog, kMost, 0x1.62e43p+6f},
      {kLog1p, -1, -kInf},
      {kLog1p, 0.0f, 0.0f},
      {kLog1p, -0.0f, -0.0f},
      {kLog1p, kInf, kInf},
      {kLog1p, -kInf, kNan},
      {kLog1p, -0x1.000002p+0f, kNan},
      {kLog1p, kTiny, kTiny},
      {kLog1p, -kTiny, -kTiny},
      {kLog1p, kMost, 0x1.62e43p+6f},
      {kTanh, 0.0f, 0.0f},
      {kTanh, -0.0f, -0.0f},
      {kTanh, kInf, 1},
      {kTanh, -kInf, -1},
      {kTanh, kTiny, kTiny},
      {kTanh, 10, 1},
      {kTanh, -kMost, -1},
      {kSigmoid, 0.0f, 0.5f},
      {kSigmoid, -0.0f, 0.5f},
      {kSigmoid, kInf, 1},
      {kSigmoid, -kInf, 0.0f},
      {kSigmoid, -kMost, 0.0f},
      {kSigmoid, 20, 1},
      {kSigmoid, -104, 0.0f},
      {kSigmoid, kTiny, 0.5f},
      {kErf, 0.0f, 0.0f},
      {kErf, -0.0f, -0.0f},
      {kErf, kInf, 1},
      {kErf, -kInf, -1},
      {kErf, 4, 1},
      {kErf, -kMost, -1},
      {kGelu, 0.0f, 0.0f},
      {kGelu, -0.0f, -0.0f},
      {kGelu, kInf, kInf},
      {kGelu, -kInf, -0.0f},
      {kGelu, kMost, kMost},
      {kGelu, -kMost, -0.0f},
      {kGelu, 6, 6},
      {kGeluTanh, 0.0f, 0.0f},
      {kGeluTanh, -0.0f, -0.0f},
      {kGeluTanh, kInf, kInf},
      {kGeluTanh, -kInf, -0.0f},
      {kGeluTanh, kMost, kMost},
      {kGeluTanh, -kMost, -0.0f},
      {kGeluTanh, 6, 6},
      {kSin, 0.0f, 0.0f},
      {kSin, -0.0f, -0.0f},
      {kSin, kInf, kNan},
      {kSin, -kInf, kNan},
      {kSin, kTiny, kTiny},
      {kCos, 0.0f, 1},
      {kCos, -0.0f, 1},
      {kCos, kInf, kNan},
      {kCos, -kInf, kNan},
      {kCos, kTiny, 1},
      {kNormalCdf, 0.0f, 0.5f},
      {kNormalCdf, kInf, 1},
      {kNormalCdf, -kInf, 0.0f},
      {kNormalPdf, kInf, 0.0f},
      {kNormalPdf, 0.0f, 0x1.988454p-2f},
      {kGeluGradient, 0.0f, 0.5f},
      {kGeluGradient, kInf, 1},
      {kGeluTanhGradient, 0.0f, 0.5f},
      {kGeluTanhGradient, kInf, 1},
  };
  for (const Case& c : cases) EXPECT_SAME(of(c.f, c.x), c.y) << " function " << static_cast<int>(c.f) << " of " << c.x;
  EXPECT_EQ(of(kGeluGradient, -kInf), 0);
  EXPECT_EQ(of(kGeluTanhGradient, -kInf), 0);
}

TEST(Math, PowersAsIeee754Has) {
  const float y_values[] = {0.0f, -0.0f, 1, -1, 2, 3, 0.5f, kInf, -kInf, kNan, kMost};
  for (const float y : y_values) {
    EXPECT_SAME(pow(1, y), 1.0f);
    EXPECT_SAME(pow(y, 0.0f), 1.0f);
    EXPECT_SAME(pow(y, -0.0f), 1.0f);
  }
  const struct {
    float x, y, z;
  } cases[] = {
      {-1, kInf, 1},
      {-1, -kInf, 1},
      {0.5f, kInf, 0},
      {0.5f, -kInf, kInf},
      {-0.5f, kInf, 0},
      {-0.5f, -kInf, kInf},
      {2, kInf, kInf},
      {2, -kInf, 0},
      {-2, kInf, kInf},
      {0, kInf, 0},
      {0, -kInf, kInf},
      {-0.0f, -kInf, kInf},
      {0, 3, 0},
      {-0.0f, 3, -0.0f},
      {-0.0f, 2, 0},
      {-0.0f, 0.5f, 0},
      {0, -3, kInf},
      {-0.0f, -3, -kInf},
      {-0.0f, -2, kInf},
      {-0.0f, -0.5f, kInf},
      {kInf, 2, kInf},
      {kInf, -2, 0},
      {-kInf, 3, -kInf},
      {-kInf, 2, kInf},
      {-kInf, -3, -0.0f},
      {-kInf, -2, 0},
      {-kInf, 0.5f, kInf},
      {-kInf, -0.5f, 0},
      {-8, 0.5f, kNan},
      {-8, 0x1.8p+22f, kInf},
      {-1, 0x1p+23f + 1, -1},
      {-1, 0x1p+24f, 1},
      {-1, kMost, 1},
      {-2, 3, -8},
      {-2, -3, -0.125f},
      {2, 127, 0x1p+127f},
      {2, 128, kInf},
      {2, -149, kTiny},
      {2, -151, 0},
      {kTiny, 1, kTiny},
      {kTiny, -1, kInf},
      {3, 2, 9},
      {10, 10, 1e10f},
      {4, 0.5f, 2},
      {kNan, 1, kNan},
      {2, kNan, kNan},
      {-1, kNan, kNan},
      {-2, kNan, kNan},
      {kMost, 1, kMost},
      {-kMost, 1, -kMost},
      {kMost, 2, kInf},
      {-kMost, 3, -kInf},
      {0.0f, 1, 0.0f},
  };
  for (const auto& c : cases) EXPECT_SAME(pow(c.x, c.y), c.z) << " " << c.x << "^" << c.y;
}

TEST(Math, OddAndEvenFunctionsAreExactlySo) {
  for (uint64_t u = 0; u < 0x7F800000u; u += 4999) {
    const float x = __builtin_bit_cast(float, static_cast<uint32_t>(u));
    for (const Function f : {Function::kTanh, Function::kErf, Function::kSin})
      ASSERT_EQ(code(of(f, -x)), code(of(f, x)) ^ 0x80000000u) << x;
    for (const Function f : {Function::kCos, Function::kNormalPdf}) ASSERT_EQ(code(of(f, x)), code(of(f, -x))) << x;
  }
}

TEST(Math, NormalNumbersAreOddInTheirWord) {
  using math::Float;
  float before = -kInf, truncated_before = -kInf;
  for (uint64_t u = 0; u < uint64_t{1} << 32; u += 65521) {
    const uint32_t word = static_cast<uint32_t>(u);
    const float z = math::normal_from_bits<Float>(word).value;
    const float t = math::truncated_normal_from_bits<Float>(word).value;
    ASSERT_EQ(z, -math::normal_from_bits<Float>(~word).value);
    ASSERT_EQ(t, -math::truncated_normal_from_bits<Float>(~word).value);
    ASSERT_GE(z, before);  // 65521 words apart, a step is above the error
    ASSERT_GE(t, truncated_before);
    ASSERT_LE(std::fabs(t), 2);
    before = z;
    truncated_before = t;
  }
  const float most = math::normal_from_bits<Float>(0xFFFFFFFFu).value;
  EXPECT_NEAR(most, 6.3379, 0.0005);  // Phi^-1(1 - 2^-33)
  EXPECT_EQ(math::normal_from_bits<Float>(0).value, -most);
  EXPECT_EQ(math::truncated_normal_from_bits<Float>(0xFFFFFFFFu).value, 2);
  EXPECT_EQ(math::uniform_from_bits<Float>(0xFFFFFFFFu).value, 1 - 0x1p-24f);
  EXPECT_EQ(math::uniform_from_bits<Float>(0xFFu).value, 0);
  EXPECT_EQ(math::uniform_from_bits<Float>(0x80000000u).value, 0.5f);
}

/// Digest of f over every 8191st code, NaNs as 0x7FC00000, little-endian.
template <class Body>
std::string digest(const Body& f) {
  softamp::Sha256 sha;
  std::vector<unsigned char> bytes;
  for (uint64_t u = 0; u < uint64_t{1} << 32; u += 8191)
    for (uint32_t c = code(f(static_cast<uint32_t>(u))), i = 0; i < 4; ++i)
      bytes.push_back(static_cast<unsigned char>(c >> 8 * i));
  sha.add(bytes.data(), bytes.size());
  return sha.hex();
}

/// Whoever changes a bit on purpose changes these, too (N65).
TEST(Math, GoldenDigests) {
  const struct {
    Function f;
    const char* digest;
  } goldens[] = {
      {Function::kExp, "93c1d0714636951270e6faf52360ec4bf102e6b2ea6317e23f2bb58e989ca35c"},
      {Function::kExpm1, "aa6ab2004b893556c38388e727838bffa0a9395d5724911cd1d57d2ec49c4091"},
      {Function::kLog, "727a8433947f1a89e3ec061e2c603b113c0896a67f4a933296d9bc6403a18be8"},
      {Function::kLog1p, "8566375a144ea6a936416981ca2adfa8da6f1635f558e3cd907b246f150489e5"},
      {Function::kTanh, "acdda8ba94836433efdcfdc10dc652871dc14c6e8fe77df70ce15bf717a31889"},
      {Function::kSigmoid, "f1a1f249f4b8baacb82b030115f5e8583f1f2e5ba052b0e93cec187720afdf88"},
      {Function::kErf, "b6e5843f4ab787ecc75668f0956c68297dd6bfd0cc175851394eed9d90a4fe04"},
      {Function::kGelu, "2277df3a59ec7d4b19cf7db27a9828f2374dd385dae9b8961f0ae442a1ca58d6"},
      {Function::kGeluTanh, "e76607d21b7be638a818b810bd82354ababfba5fe343b608cbfdf768c53e9296"},
      {Function::kSin, "c42fcfd7c8eca9e9f40b0744f0fcd20e8596660abf22552a348d97c446c1e038"},
      {Function::kCos, "1ca6f28e79854025613b37ca3641a667f096e9fb986cd03e77e86faf37606282"},
      {Function::kExp2, "9771ec9f4a5f78dca1f16c016f77e632fa0394d441da4a8afa6ab48145ac60ec"},
      {Function::kNormalCdf, "f7a56cfda02079685e6c866758de815ef4552a3699aa2b749cc899b8c2d552c4"},
      {Function::kNormalPdf, "879d7b988b2d9845d3d65bb39b80bc2d833a0600986c32e662d7b666e1cca67f"},
      {Function::kGeluGradient, "830a5a22d1f9e7de696ad7d95d59f16834f5081d15af5aa351894c919d1428a0"},
      {Function::kGeluTanhGradient, "674f3ba5163fe1d64473ee35230a8b0504eaf84fc702b1d0e11cb435d378cb33"},
  };
  for (const auto& g : goldens)
    EXPECT_EQ(digest([&](uint32_t u) { return of(g.f, __builtin_bit_cast(float, u)); }), g.digest)
        << static_cast<int>(g.f);
  EXPECT_EQ(digest([](uint32_t u) {
              const uint32_t y = u * 2654435761u;
              return pow(__builtin_bit_cast(float, u),
                         u % 4 ? __builtin_bit_cast(float, 0x3E000000u + (y >> 4) % 0x3000000u)
                               : static_cast<float>(static_cast<int>(y >> 8) % 41 - 20));
            }),
            "e84e0af2fb1c3e70753bf8f6ad85e80977bab011098c06a83033233d0b77618b");
  EXPECT_EQ(digest([](uint32_t u) { return math::normal_from_bits<math::Float>(u).value; }),
            "6c570dc5398a7b09bd8b6e8e401aa1df7f0dd779363e66239a463c7a1814e340");
  EXPECT_EQ(digest([](uint32_t u) { return math::truncated_normal_from_bits<math::Float>(u).value; }),
            "cd57d3e405bcce21232649750a71d8c974c262826bbe012ac812d1b2cfd6cdad");
  EXPECT_EQ(digest([](uint32_t u) { return math::uniform_from_bits<math::Float>(u).value; }),
            "a4439aae452f807c126d1dbfce7a1c3e6c0469e8b5e59f52948187c38ee9fff9");
}

}  // namespace
