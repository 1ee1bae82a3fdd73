// The report of an enabled exception: its text in each layout, and which element it names.
#include "softamp/findings/exception.h"

#include "softamp/findings/registers.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <optional>

using namespace softamp;

namespace {

FloatingPointBehaviour stopping_on(bool inv, bool div0, bool oflo) { return {inv, div0, oflo, false, false}; }

/// What throw_if_enabled throws for this status; nothing where it does not throw.
std::optional<FloatingPointError> thrown(const FpStatus& status, const FloatingPointBehaviour& behaviour) {
  try {
    throw_if_enabled(status, behaviour, {"add", 0, kFp16, {}, false, 3, 5}, [](uint64_t index) {
      return std::vector<uint64_t>{index, 0x3C00};
    });
  } catch (const FloatingPointError& e) {
    return e;
  }
  return std::nullopt;
}

}  // namespace

// tests: G34
TEST(Registers, StatusLine) {
  // TUTORIAL G34
  EXPECT_EQ(status_line(kOverflow | kInexact), "$FP_STS: OFLO: 0x1 DIV0: 0x0 INV: 0x0");
  EXPECT_EQ(status_line(kDivideByZero), "$FP_STS: OFLO: 0x0 DIV0: 0x1 INV: 0x0");
  EXPECT_EQ(status_line(kInvalid), "$FP_STS: OFLO: 0x0 DIV0: 0x0 INV: 0x1");
  EXPECT_EQ(status_line(kAllFlags), "$FP_STS: OFLO: 0x1 DIV0: 0x1 INV: 0x1");
  EXPECT_EQ(status_line(kInexact | kUnderflow), "$FP_STS: OFLO: 0x0 DIV0: 0x0 INV: 0x0");
}

TEST(Registers, ControlLineAndWord) {
  EXPECT_EQ(control_line(ControlRegister::encode({})),
            "$FP_CTL: 0x00180007 INV: 0x1 DIV0: 0x1 OFLO: 0x1 RND: 0x0 ESR: 0x1 NANOO: 0x1");
  const FloatingPointBehaviour off = FloatingPointBehaviour::all_off();
  const char* names[] = {"INV", "DIV0", "OFLO", "ESR", "NANOO"};
  const uint32_t words[] = {0x1, 0x2, 0x4, 0x80000, 0x100000};
  for (int i = 0; i < 5; ++i) {
    FloatingPointBehaviour one = off;
    (i == 0 ? one.inv : i == 1 ? one.div0 : i == 2 ? one.oflo : i == 3 ? one.esr : one.nanoo) = true;
    EXPECT_EQ(ControlRegister::encode(one), words[i]);
    const std::string line = control_line(words[i]);
    for (int j = 0; j < 5; ++j)
      EXPECT_NE(line.find(std::string(" ") + names[j] + (i == j ? ": 0x1" : ": 0x0")), std::string::npos) << line;
    EXPECT_EQ(ControlRegister::decode(ControlRegister::encode(one)), one);
  }
}

TEST(Registers, PrngLines) {
  EXPECT_EQ(prng_lines(Xoroshiro128aox::from_seed_register(0xdeadbeef).registers()),
            "$PRNG_0_0: 0xdeadbeef\n$PRNG_0_1: 0x21524110\n$PRNG_1_0: 0xb7dde42a\n$PRNG_1_1: 0x48221bd5\n");
}

// tests: G34
TEST(FloatingPointError, FullReport) {
  // TUTORIAL G34
  const FloatingPointError e(kOverflow, kOverflow, {"f16_mul", 7, kFp16, {0x7b53, 0xfb53}, false, 1471, 5});
  EXPECT_STREQ(e.what(),
               "floating-point exception: overflow\n"
               "  $FP_STS: OFLO: 0x1 DIV0: 0x0 INV: 0x0\n"
               "  operation: f16_mul, element 7\n"
               "  operands: 0x7b53 (60000), 0xfb53 (-60000)\n"
               "  tile 1471, worker 5");
  EXPECT_EQ(e.report(DumpFormat::kOneLine),
            "floating-point exception: overflow; $FP_STS: OFLO: 0x1 DIV0: 0x0 INV: 0x0; f16_mul, element 7; "
            "operands: 0x7b53 (60000), 0xfb53 (-60000); tile 1471, worker 5");
  EXPECT_EQ(e.index(), 7u);
  EXPECT_EQ(e.operation(), "f16_mul");
  EXPECT_EQ(e.operands(), (std::vector<uint64_t>{0x7b53, 0xfb53}));
  EXPECT_EQ(e.format(), kFp16);
}

TEST(FloatingPointError, JsonReport) {
  const FloatingPointError e(kDivideByZero, kDivideByZero | kInvalid,
                             {"f32_div", 2, kFp32, {0x3f800000, 0}, false, 0, 0}, DumpFormat::kJson);
  const auto json = nlohmann::json::parse(e.what());
  EXPECT_EQ(json["exception"], "divide-by-zero");
  EXPECT_EQ(json["fp_sts"], (nlohmann::json{{"oflo", false}, {"div0", true}, {"inv", true}}));
  EXPECT_EQ(json["operation"], "f32_div");
  EXPECT_EQ(json["index"], 2);
  EXPECT_EQ(json["format"], "fp32");
  EXPECT_EQ(json["operands"][0], (nlohmann::json{{"hex", "0x3f800000"}, {"decimal", "1"}}));
  EXPECT_EQ(json["tile"], 0);
  EXPECT_EQ(json["worker"], 0);
}

TEST(FloatingPointError, IntegerOperands) {
  const FloatingPointError e(kOverflow, kOverflow, {"i32_to_f16", 0, kFp16, {0xfffe0000u}, true, 0, 0});
  EXPECT_NE(std::string(e.what()).find("operands: 0xfffe0000 (-131072)"), std::string::npos) << e.what();
}

TEST(ThrowIfEnabled, OnlyEnabledFlagsStop) {
  for (const uint8_t raised : {kInvalid, kDivideByZero, kOverflow, kUnderflow, kInexact})
    for (int enabled = 0; enabled < 8; ++enabled) {
      FpStatus status;
      status.raise(raised, 4);
      const FloatingPointBehaviour b = stopping_on(enabled & 1, enabled & 2, enabled & 4);
      const bool stops =
          (raised == kInvalid && b.inv) || (raised == kDivideByZero && b.div0) || (raised == kOverflow && b.oflo);
      const auto e = thrown(status, b);
      ASSERT_EQ(e.has_value(), stops) << int(raised) << " under " << enabled;
      if (!stops) continue;
      EXPECT_EQ(e->kinds(), raised);
      EXPECT_EQ(e->index(), 4u);
    }
}

// tests: N37
TEST(ThrowIfEnabled, LowestIndexAmongEnabledAndFlagsOred) {
  FpStatus status;
  status.raise(kInexact, 0);
  status.raise(kInvalid, 9);
  status.raise(kOverflow, 5);
  status.raise(kOverflow | kDivideByZero, 7);
  status.raise(kDivideByZero, 8);
  const auto e = thrown(status, stopping_on(true, true, false));
  ASSERT_TRUE(e);
  EXPECT_EQ(e->index(), 7u) << "overflow at 5 is not enabled";
  EXPECT_EQ(e->kinds(), kDivideByZero);
  EXPECT_EQ(e->operands(), (std::vector<uint64_t>{7, 0x3C00})) << "the operands of that element";
  EXPECT_NE(std::string(e->what()).find("$FP_STS: OFLO: 0x1 DIV0: 0x1 INV: 0x1"), std::string::npos) << e->what();
  EXPECT_NE(std::string(e->what()).find("tile 3, worker 5"), std::string::npos);
}
