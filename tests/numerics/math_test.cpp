// The elementary functions, scalar: special values, signs, symmetry, monotony where it is owed, and golden digests that
// pin every bit of them on every compiler. How close they come to the true values: tests/oracle/math_accuracy_test.cpp.
#include "softamp/numerics/math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "softamp/kernel/functions.h"
#include "src/report/sha256.h"
#include "tests/pinned_digests.h"

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

/// Whoever changes a bit on purpose adds the new digests to tests/backend/arithmetic.json (N65).
TEST(Math, GoldenDigests) {
  const auto pinned = softamp::testing::pinned_digests("functions");
  const struct {
    Function f;
    const char* name;
  } functions[] = {
      {Function::kExp, "Exp"},
      {Function::kExpm1, "Expm1"},
      {Function::kLog, "Log"},
      {Function::kLog1p, "Log1p"},
      {Function::kTanh, "Tanh"},
      {Function::kSigmoid, "Sigmoid"},
      {Function::kErf, "Erf"},
      {Function::kGelu, "Gelu"},
      {Function::kGeluTanh, "GeluTanh"},
      {Function::kSin, "Sin"},
      {Function::kCos, "Cos"},
      {Function::kExp2, "Exp2"},
      {Function::kNormalCdf, "NormalCdf"},
      {Function::kNormalPdf, "NormalPdf"},
      {Function::kGeluGradient, "GeluGradient"},
      {Function::kGeluTanhGradient, "GeluTanhGradient"},
  };
  std::map<std::string, std::string> found;
  for (const auto& [f, name] : functions)
    found[name] = digest([&](uint32_t u) { return of(f, __builtin_bit_cast(float, u)); });
  found["Pow"] = digest([](uint32_t u) {
    const uint32_t y = u * 2654435761u;
    return pow(__builtin_bit_cast(float, u), u % 4 ? __builtin_bit_cast(float, 0x3E000000u + (y >> 4) % 0x3000000u)
                                                   : static_cast<float>(static_cast<int>(y >> 8) % 41 - 20));
  });
  found["Normal"] = digest([](uint32_t u) { return math::normal_from_bits<math::Float>(u).value; });
  found["TruncatedNormal"] = digest([](uint32_t u) { return math::truncated_normal_from_bits<math::Float>(u).value; });
  found["Uniform"] = digest([](uint32_t u) { return math::uniform_from_bits<math::Float>(u).value; });
  EXPECT_EQ(found, pinned);
}

}  // namespace

#undef EXPECT_SAME  // as some files may be compiled as one
