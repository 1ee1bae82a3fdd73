// `softamp formats`: the table, against limits published with each format.
#include "tests/program/process.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cfloat>
#include <sstream>

namespace softamp::test {
namespace {

using nlohmann::json;

TEST(Formats, LimitsOfEachFormat) {
  const Outcome outcome = run_softamp("formats --json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const struct {
    const char* name;
    int bits, exponent_bits, precision, bias;
    double max, min_normal, min_subnormal, epsilon;
    bool infinity, negative_zero;
    const char* nan_codes;
  } expected[] = {
      {"fp16", 16, 5, 11, 15, 65504, 0x1p-14, 0x1p-24, 0x1p-10, true, true, "0x7c01..7fff, 0xfc01..ffff"},
      {"bf16", 16, 8, 8, 127, 0x1.fep127, 0x1p-126, 0x1p-133, 0x1p-7, true, true, "0x7f81..7fff, 0xff81..ffff"},
      {"tf32", 19, 8, 11, 127, 0x1.ffcp127, 0x1p-126, 0x1p-136, 0x1p-10, true, true, "0x3fc01..3ffff, 0x7fc01..7ffff"},
      {"fp32", 32, 8, 24, 127, FLT_MAX, FLT_MIN, FLT_TRUE_MIN, FLT_EPSILON, true, true,
       "0x7f800001..7fffffff, 0xff800001..ffffffff"},
      {"fp64", 64, 11, 53, 1023, DBL_MAX, DBL_MIN, DBL_TRUE_MIN, DBL_EPSILON, true, true,
       "0x7ff0000000000001..7fffffffffffffff, 0xfff0000000000001..ffffffffffffffff"},
      {"e4m3", 8, 4, 4, 7, 448, 0x1p-6, 0x1p-9, 0x1p-3, false, true, "0x7f, 0xff"},
      {"e5m2", 8, 5, 3, 15, 57344, 0x1p-14, 0x1p-16, 0x1p-2, true, true, "0x7d..7f, 0xfd..ff"},
      {"f143", 8, 4, 4, 8, 240, 0x1p-7, 0x1p-10, 0x1p-3, false, false, "0x80"},
      {"f152", 8, 5, 3, 16, 57344, 0x1p-15, 0x1p-17, 0x1p-2, false, false, "0x80"},
      {"e2m1", 4, 2, 2, 1, 6, 1, 0.5, 0.5, false, true, "none"},
      {"e2m3", 6, 2, 4, 1, 7.5, 1, 0.125, 0.125, false, true, "none"},
      {"e3m2", 6, 3, 3, 3, 28, 0.25, 0.0625, 0.25, false, true, "none"},
  };
  const json formats = json::parse(outcome.out)["formats"];
  ASSERT_EQ(formats.size(), std::size(expected));
  for (size_t i = 0; i < formats.size(); ++i) {
    const json& f = formats[i];
    const auto& e = expected[i];
    EXPECT_EQ(f["name"], e.name);
    EXPECT_EQ(f["bits"], e.bits) << e.name;
    EXPECT_EQ(f["exponent_bits"], e.exponent_bits) << e.name;
    EXPECT_EQ(f["precision"], e.precision) << e.name;
    EXPECT_EQ(f["bias"], e.bias) << e.name;
    EXPECT_EQ(f["max"], e.max) << e.name;
    EXPECT_EQ(f["min_normal"], e.min_normal) << e.name;
    EXPECT_EQ(f["min_subnormal"], e.min_subnormal) << e.name;
    EXPECT_EQ(f["epsilon"], e.epsilon) << e.name;
    EXPECT_EQ(f["infinity"], e.infinity) << e.name;
    EXPECT_EQ(f["negative_zero"], e.negative_zero) << e.name;
    EXPECT_EQ(f["nan_codes"], e.nan_codes) << e.name;
  }
}

TEST(Formats, TheTableHasALineForEach) {
  const Outcome outcome = run_softamp("formats");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.err, "");
  std::istringstream lines(outcome.out);
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line.rfind("format  bits   e   p  bias", 0), 0u);
  for (const char* name :
       {"fp16", "bf16", "tf32", "fp32", "fp64", "e4m3", "e5m2", "f143", "f152", "e2m1", "e2m3", "e3m2"}) {
    std::getline(lines, line);
    EXPECT_EQ(line.rfind(name, 0), 0u) << line;
    EXPECT_NE(line.back(), ' ');
  }
  EXPECT_NE(outcome.out.find("float16, half, f16, binary16"), std::string::npos);
}

TEST(Formats, FixedPointFormatsAreNamedWithTheirLimits) {
  const std::string table = run_softamp("formats").out;
  EXPECT_NE(table.find("q<I>.<F> names a fixed-point format"), std::string::npos) << table;
  EXPECT_NE(table.find("  q2.14  from -2 to 1.99993896484375 in steps of 2^-14\n"), std::string::npos) << table;
  EXPECT_NE(table.find("  q8.8   from -128 to 127.99609375 in steps of 2^-8\n"), std::string::npos) << table;
  const json examples = json::parse(run_softamp("formats --json").out)["fixed_point_examples"];
  ASSERT_EQ(examples.size(), 4u);
  EXPECT_EQ(examples[0]["name"], "q2.14");
  EXPECT_EQ(examples[0]["fraction_bits"], 14);
  EXPECT_EQ(examples[0]["least"], -2.0);
  EXPECT_EQ(examples[0]["greatest"], 2 - 0x1p-14);
  EXPECT_EQ(examples[0]["step"], 0x1p-14);
}

}  // namespace
}  // namespace softamp::test
