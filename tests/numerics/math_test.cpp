// The elementary functions, scalar: special values, signs, symmetry, monotony where it is owed, and golden digests that
// pin every bit of them on every compiler. How close they come to the true values: tests/oracle/math_accuracy_test.cpp.
#include "softamp/numerics/math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "src/files/sha256.h"
#include "tests/ops/function_rows.h"
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

// tests: N403
TEST(Math, FusedIsTheProcessors) {
  std::mt19937 random(1);
  const auto next = [&] { return static_cast<uint32_t>(random()); };
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

TEST(Math, SpecialValues) {
  int functions = 0;
  test::for_each_function_row([&](const test::FunctionRow& row, auto) {
    ++functions;
    EXPECT_FALSE(row.points.empty()) << row.name();
    for (const auto& [x, y] : row.points) EXPECT_SAME(of(row.function, x), y) << row.name() << " of " << x;
  });
  EXPECT_EQ(functions, kernel::kFunctionCount) << "a function has no row in tests/ops/function_rows.h";
  // Zeros of either sign.
  EXPECT_EQ(of(Function::kGeluGradient, -kInf), 0);
  EXPECT_EQ(of(Function::kGeluTanhGradient, -kInf), 0);
}

// tests: N183
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

// tests: N180
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

/// Whoever changes a bit or adds a function adds the new digests to tests/backend/arithmetic.json (N65).
// tests: N180, N200
TEST(Math, GoldenDigests) {
  const auto pinned = softamp::test::pinned_digests("functions");
  std::map<std::string, std::string> found;
  test::for_each_function_row([&](const test::FunctionRow& row, auto) {
    found[row.name()] = digest([&](uint32_t u) { return of(row.function, __builtin_bit_cast(float, u)); });
  });
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
