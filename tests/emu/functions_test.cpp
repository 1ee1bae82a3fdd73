// The elementary functions of every instruction set have the scalar form's bits, for any length, alignment and in
// place.
#include "emu/functions/functions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "emu/bulk/dispatch.h"

namespace softamp::emu {
namespace {

using bulk::InstructionSet;
using kernel::Function;
using math::Float;

uint32_t code(float x) { return std::isnan(x) ? 0x7FC00000u : __builtin_bit_cast(uint32_t, x); }

/// Codes by a stride, and neighbourhoods of what is special. Not a multiple of any vector's length.
std::vector<uint32_t> words() {
  std::vector<uint32_t> out;
  for (uint64_t u = 0; u < uint64_t{1} << 32; u += 30011) out.push_back(static_cast<uint32_t>(u));
  for (const uint32_t u :
       {0u, 0x80000000u, 0x7F800000u, 0xFF800000u, 0x00800000u, 0x3F800000u, 0xBF800000u, 0x3F3504F3u, 0x42B17218u,
        0xC2CFF1B4u, 0x3F200000u, 0x3F6CCCCDu, 0x47800000u, 0x41680000u, 0x7FFFFFFFu, 0x4B800000u, 0x5A000000u})
    for (uint32_t i = 0; i < 7; ++i) out.push_back(u + i - 3);
  if (out.size() % 2 == 0) out.push_back(1);
  return out;
}
std::vector<float> numbers() {
  std::vector<float> out;
  for (const uint32_t u : words()) out.push_back(__builtin_bit_cast(float, u));
  return out;
}

TEST(Functions, EverySetHasTheScalarBits) {
  const std::vector<float> in = numbers();
  std::vector<float> scalar(in.size()), out(in.size());
  for (int f = 0; f < kernel::kFunctionCount; ++f) {
    for (size_t i = 0; i < in.size(); ++i) scalar[i] = kernel::function_of(static_cast<Function>(f), in[i]);
    for (const InstructionSet set : bulk::instruction_sets()) {
      const FunctionTable& table = functions_of(set);
      table[static_cast<Function>(f)](in.data(), out.data(), in.size());
      for (size_t i = 0; i < in.size(); ++i)
        ASSERT_EQ(code(out[i]), code(scalar[i])) << bulk::name(set) << " function " << f << " of " << in[i];
    }
  }
}

TEST(Functions, PowersHaveTheScalarBits) {
  const std::vector<float> x = numbers();
  std::vector<float> y, out(x.size());
  const float special[] = {0.0f, -0.0f, 1, -1, 2, 0.5f, INFINITY, -INFINITY, NAN, 3, -3};
  for (size_t i = 0; i < x.size(); ++i) {
    const uint32_t u = static_cast<uint32_t>(i) * 2654435761u;
    const float small = (static_cast<int>(u >> 16) - 32768) * 0x1p-11f;
    y.push_back(i % 3 == 0 ? __builtin_bit_cast(float, u) : i % 3 == 1 ? small : special[u % 11]);
  }
  for (const InstructionSet set : bulk::instruction_sets()) {
    const FunctionTable& table = functions_of(set);
    table.pow(x.data(), y.data(), out.data(), x.size());
    for (size_t i = 0; i < x.size(); ++i)
      ASSERT_EQ(code(out[i]), code(math::pow(Float(x[i]), Float(y[i])).value))
          << bulk::name(set) << " " << x[i] << "^" << y[i];
  }
}

/// Strips of positive finite bases and finite exponents, and what pow says of one operand that is not such.
TEST(Functions, PowersOfPlainOperands) {
  std::vector<float> x, y;
  for (const float v : numbers())
    if (v > 0 && v < INFINITY) {
      const uint32_t u = static_cast<uint32_t>(x.size()) * 2654435761u;
      x.push_back(v), y.push_back((static_cast<int>(u >> 16) - 32768) * (u & 1 ? 0x1p-11f : 0x1p-15f));
    }
  std::vector<float> out(x.size());
  for (const InstructionSet set : bulk::instruction_sets()) {
    const FunctionTable& table = functions_of(set);
    EXPECT_TRUE(table.pow(x.data(), y.data(), out.data(), x.size()));
    for (size_t i = 0; i < x.size(); ++i)
      ASSERT_EQ(code(out[i]), code(math::pow(Float(x[i]), Float(y[i])).value))
          << bulk::name(set) << " " << x[i] << "^" << y[i];
    for (const size_t n : {1, 63, 64, 130}) {
      std::vector<float> a(n, 3), b(n, 2);
      for (const float odd : {0.0f, -0.0f, -1.0f, -0x1p-149f, INFINITY, -INFINITY, NAN, -NAN})
        for (size_t i = 0; i < n; ++i) {
          const bool one = odd == 0 || odd == -1.0f || odd == -0x1p-149f;  // an exponent like any other
          a[i] = odd;
          EXPECT_FALSE(table.pow(a.data(), b.data(), out.data(), n)) << bulk::name(set) << " " << odd << " at " << i;
          a[i] = 3, b[i] = odd;
          EXPECT_EQ(table.pow(a.data(), b.data(), out.data(), n), one) << bulk::name(set) << " " << odd;
          b[i] = 2;
        }
      a[0] = 0x1p-149f, b[0] = -0x1.fffffep127f;
      EXPECT_TRUE(table.pow(a.data(), b.data(), out.data(), n));
    }
  }
}

TEST(Functions, NumbersOfWordsHaveTheScalarBits) {
  const std::vector<uint32_t> in = words();
  std::vector<float> out(in.size());
  for (const InstructionSet set : bulk::instruction_sets()) {
    const FunctionTable& table = functions_of(set);
    table.uniform(in.data(), out.data(), in.size());
    for (size_t i = 0; i < in.size(); ++i)
      ASSERT_EQ(code(out[i]), code(math::uniform_from_bits<Float>(in[i]).value)) << bulk::name(set) << " " << in[i];
    table.normal(in.data(), out.data(), in.size());
    for (size_t i = 0; i < in.size(); ++i)
      ASSERT_EQ(code(out[i]), code(math::normal_from_bits<Float>(in[i]).value)) << bulk::name(set) << " " << in[i];
    table.truncated_normal(in.data(), out.data(), in.size());
    for (size_t i = 0; i < in.size(); ++i)
      ASSERT_EQ(code(out[i]), code(math::truncated_normal_from_bits<Float>(in[i]).value))
          << bulk::name(set) << " " << in[i];
  }
}

TEST(Functions, AnyLengthAndAlignmentInPlaceAndNothingElse) {
  for (const InstructionSet set : bulk::instruction_sets())
    for (size_t n = 0; n < 50; ++n)
      for (size_t offset = 0; offset < 3; ++offset) {
        std::vector<float> x(60, 7), y(60, 7);
        for (size_t i = 0; i < n; ++i) x[offset + i] = y[offset + i] = 0.25f * static_cast<float>(i) - 3;
        functions_of(set)[Function::kExp](x.data() + offset, x.data() + offset, n);
        functions_of(set).pow(y.data() + offset, y.data() + offset, y.data() + offset, n);
        for (size_t i = 0; i < x.size(); ++i) {
          const bool inside = i >= offset && i < offset + n;
          const float v = 0.25f * static_cast<float>(i - offset) - 3;
          ASSERT_EQ(code(x[i]), inside ? code(math::exp(Float(v)).value) : code(7)) << bulk::name(set) << " " << n;
          ASSERT_EQ(code(y[i]), inside ? code(math::pow(Float(v), Float(v)).value) : code(7)) << bulk::name(set);
        }
      }
}

TEST(Functions, TheBestSetIsTheKernels) {
  EXPECT_NO_THROW(functions_of(InstructionSet::kAuto));
  EXPECT_EQ(&functions_of(InstructionSet::kAuto), &functions_of(bulk::best_instruction_set()));
}

}  // namespace
}  // namespace softamp::emu
