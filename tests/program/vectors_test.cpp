// `softamp vectors`: every line against exact rationals, what the lines are made to hold, and that `softamp compute`
// gives and judges the same.
#include "tests/program/process.h"
#include "tests/slice.h"

#include "softamp/names/names.h"
#include "softamp/numerics/chips.h"
#include "tests/oracle/exact_operations.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <sstream>
#include <vector>

namespace softamp::test {
namespace {

namespace exact = oracle::exact;

/// The fields of a line.
std::vector<uint64_t> numbers_of(const std::string& line) {
  std::istringstream in(line);
  std::vector<uint64_t> numbers;
  for (std::string field; in >> field;) numbers.push_back(std::strtoull(field.c_str(), nullptr, 16));
  return numbers;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// An operation on one format, or from one to another, by exact numbers.
Rounded judged(const std::string& kind, const FloatFormat& f, const FloatFormat& to, const std::vector<uint64_t>& x,
               const Semantics& s, uint32_t random) {
  if (kind == "add") return exact::add(f, x[0], x[1], s, random);
  if (kind == "sub") return exact::sub(f, x[0], x[1], s, random);
  if (kind == "mul") return exact::mul(f, x[0], x[1], s, random);
  if (kind == "div") return exact::div(f, x[0], x[1], s, random);
  if (kind == "rem") return exact::rem(f, x[0], x[1], s, random);
  if (kind == "sqrt") return exact::sqrt(f, x[0], s, random);
  if (kind == "mulAdd") return exact::fma(f, x[0], x[1], x[2], s, random);
  if (kind == "to") return exact::convert(f, to, x[0], s, random);
  if (kind == "to_i32") return exact::to_int32(f, x[0], s, false, random);
  if (kind == "roundToInt") return exact::round_to_integral(f, x[0], s, false, random);
  return exact::from_int32(static_cast<int32_t>(static_cast<uint32_t>(x[0])), to, s, random);
}

struct Suite {
  const char* operation;
  const char* kind;
  FloatFormat from, to;
  size_t operands;
};
const Suite kSuites[] = {
    {"f16_add", "add", kFp16, kFp16, 2},       {"bf16_sub", "sub", kBf16, kBf16, 2},
    {"f32_mul", "mul", kFp32, kFp32, 2},       {"e4m3_mul", "mul", kE4m3, kE4m3, 2},
    {"f16_div", "div", kFp16, kFp16, 2},       {"e5m2_rem", "rem", kE5m2, kE5m2, 2},
    {"f143_sqrt", "sqrt", kF143, kF143, 1},    {"f16_mulAdd", "mulAdd", kFp16, kFp16, 3},
    {"tf32_add", "add", kTf32, kTf32, 2},      {"e6p9_add", "add", FloatFormat::ieee(6, 9), FloatFormat::ieee(6, 9), 2},
    {"f32_to_f16", "to", kFp32, kFp16, 1},     {"f64_to_e4m3", "to", kBinary64, kE4m3, 1},
    {"f32_to_i32", "to_i32", kFp32, kFp32, 1}, {"f16_roundToInt", "roundToInt", kFp16, kFp16, 1},
    {"i32_to_f16", "i32_to", kFp16, kFp16, 1}, {"f152_div", "div", kF152, kF152, 2},
};

/// Lines of `vectors`, each judged. What they told is gathered: flags, and how often.
struct Told {
  size_t lines = 0, inexact = 0, underflow = 0, overflow = 0, invalid = 0, poles = 0;
};
Told judge_lines(const Suite& suite, const std::string& options, const Semantics& s, bool field,
                 uint32_t (*number)(uint64_t) = nullptr) {
  Told told;
  const Outcome o = run_softamp(std::string("vectors ") + suite.operation + " " + options);
  EXPECT_EQ(o.code, 0) << o.err;
  const std::vector<std::string> lines = lines_of(o.out);
  size_t wrong = 0;
  for (const std::string& line : lines) {
    const std::vector<uint64_t> x = numbers_of(line);
    EXPECT_EQ(x.size(), suite.operands + (field ? 3 : 2)) << line;
    if (x.size() != suite.operands + (field ? 3 : 2)) return told;
    const uint64_t random = field ? x[suite.operands] : 0;
    const Rounded r =
        judged(suite.kind, suite.from, suite.to, x, s, number ? number(random) : static_cast<uint32_t>(random));
    const uint64_t code = x[x.size() - 2], flags = x[x.size() - 1];
    ++told.lines;
    told.inexact += (flags & kInexact) != 0;
    told.underflow += (flags & kUnderflow) != 0;
    told.overflow += (flags & kOverflow) != 0;
    told.invalid += (flags & kInvalid) != 0;
    told.poles += (flags & kDivideByZero) != 0;
    if ((r.code != code || r.flags != flags) && wrong++ < 3)
      ADD_FAILURE() << suite.operation << " " << options << ": " << line << ", by exact numbers " << std::hex << r.code
                    << " " << int{r.flags};
  }
  EXPECT_EQ(wrong, 0u) << suite.operation << " " << options;
  return told;
}

TEST(Vectors, EveryLineIsTheExactResult) {
  Slice slice(4);
  for (const Suite& suite : kSuites)
    for (const char* rounding : {"nearest", "odd", "down"})
      for (const char* level : {"1", "2"}) {
        if (!slice.takes()) continue;
        const Semantics s = Semantics::ieee(RoundingPolicy::ieee(rounding_from_name(rounding)));
        // The second part of the lines, behind the edges, is asked for by another seed.
        const Told told =
            judge_lines(suite, std::string("--rounding ") + rounding + " --level " + level + " --count 2500", s, false);
        EXPECT_EQ(told.lines, 2500u);
      }
}

TEST(Vectors, StochasticLinesHoldTheRandomNumber) {
  Slice slice(4);
  for (const Suite& suite : kSuites)
    for (const int bits : {1, 13, 20})
      for (const char* variant : {"carry", "rne", "at-least"}) {
        if (suite.from.precision + bits > 40 || !slice.takes()) continue;
        RoundingPolicy p = RoundingPolicy::stochastic_carry(bits);
        p.variant = variant_from_name(variant);
        judge_lines(suite,
                    "--rounding stochastic --variant " + std::string(variant) + " --bits " + std::to_string(bits) +
                        " --count 1500",
                    Semantics::ieee(p), true);
      }
}

/// A chip's word: NVIDIA's bytes, AMD's top bits.
TEST(Vectors, OfAChipHoldItsRandomWord) {
  const Suite suite{"f32_to_e4m3", "to", kFp32, kE4m3, 1};
  const auto check = [&](Chip chip, const char* name, uint32_t (*number)(uint64_t)) {
    judge_lines(suite, std::string("--chip ") + name + " --count 3000", chip_semantics(chip, kE4m3), true, number);
  };
  check(Chip::kAmdCdna4, "amd_cdna4", [](uint64_t word) { return static_cast<uint32_t>(word >> 12); });
  check(Chip::kNvidiaSm100, "b200", [](uint64_t word) { return static_cast<uint32_t>(word & 0xFF); });
  check(Chip::kNvidiaSm103, "nvidia_sm103", [](uint64_t word) { return static_cast<uint32_t>(word >> 8 & 0xFF); });
  check(Chip::kP3109Odd, "p3109_odd", [](uint64_t word) { return static_cast<uint32_t>(word); });
}

TEST(Vectors, TininessAndOverflowAsAsked) {
  RoundingPolicy p;
  p.tininess = Tininess::kBeforeRounding;
  p.overflow = Overflow::kSaturate;
  for (const Suite& suite : kSuites) {
    const std::string kind = suite.kind;
    const bool whole = kind == "to_i32" || kind == "roundToInt",
               exact = kind == "add" || kind == "sub" || kind == "rem";
    const std::string tininess = whole || exact || kind == "i32_to" ? "" : "--tininess before ";
    judge_lines(suite, tininess + (whole ? "" : "--overflow saturate ") + "--count 2500 --seed 3", Semantics::ieee(p),
                false);
  }
}

/// Every flag, ties, and neighbours of the thresholds are among the lines of either level.
// tests: N356
TEST(Vectors, HoldWhatTheyAreMadeFor) {
  for (const char* level : {"1", "2"}) {
    const Told add = judge_lines(kSuites[0], std::string("--count 80000 --level ") + level, Semantics::ieee(), false);
    EXPECT_GT(add.overflow, 1000u);
    EXPECT_GT(add.invalid, 100u);
  }
  const Outcome o = run_softamp("vectors f16_add --count 60000");
  size_t ties = 0, above = 0, at_limit = 0, beyond = 0;
  for (const std::string& line : lines_of(o.out)) {
    const auto x = numbers_of(line);
    if (!kFp16.is_finite(x[0]) || !kFp16.is_finite(x[1])) continue;
    const oracle::Dyadic sum = oracle::decode(kFp16, x[0]).value() + oracle::decode(kFp16, x[1]).value();
    if (sum.sign() == 0) continue;
    const oracle::Gapped gap = oracle::neighbours(kFp16, oracle::exactly(sum.magnitude()));
    const int against = oracle::compare(sum.magnitude(), oracle::point(gap, 1, 1));
    if (gap.on) continue;
    ties += against == 0;
    above +=
        !gap.on &&
        oracle::compare(sum.magnitude() - oracle::point(gap, 1, 1), (gap.high - gap.low) * oracle::Dyadic{1, -3}) < 0 &&
        against > 0;
    at_limit += gap.lower == kFp16.max_finite_code() && against < 0;
    beyond += gap.lower == kFp16.max_finite_code() && against >= 0;
  }
  EXPECT_GT(ties, 2000u);
  EXPECT_GT(above, 1000u);
  EXPECT_GT(at_limit, 200u);
  EXPECT_GT(beyond, 200u);
}

/// Of a stochastic rounding: the last R that stays, and the first that goes up.
// tests: N356
TEST(Vectors, HoldTheRandomNumbersThatDecide) {
  const Semantics s = Semantics::ieee(RoundingPolicy::stochastic_carry(13));
  const Outcome o = run_softamp("vectors f16_mul --rounding stochastic --count 20000 --level 2 --seed 9");
  size_t stays = 0, goes = 0;
  for (const std::string& line : lines_of(o.out)) {
    const auto x = numbers_of(line);
    const auto result = [&](uint64_t r) { return exact::mul(kFp16, x[0], x[1], s, static_cast<uint32_t>(r)).code; };
    if (x[2] < 0x1FFF) stays += result(x[2]) != result(x[2] + 1);
    if (x[2] > 0) goes += result(x[2]) != result(x[2] - 1);
  }
  EXPECT_GT(stays, 500u);
  EXPECT_GT(goes, 500u);
}

// tests: N357
TEST(Vectors, ALineDependsOnItsNumberAndTheSeed) {
  const std::string many = run_softamp("vectors f16_mul --count 5000").out;
  EXPECT_EQ(run_softamp("vectors f16_mul --count 3000").out, many.substr(0, 3000 * 18));
  EXPECT_EQ(run_softamp("vectors e5p11_mul --count 5000").out, many);
  EXPECT_EQ(run_softamp("vectors float16_mul --count 5000 --seed 0").out, many);
  EXPECT_NE(run_softamp("vectors f16_mul --count 5000 --seed 1").out, many);
  EXPECT_EQ(lines_of(run_softamp("vectors e4m3_add --level 2 --count 65536").out).size(), 65536u);
}

/// Every operand, and every pair of 8-bit operands, at level 2.
// tests: N355
TEST(Vectors, LevelTwoTakesEveryOperandWhereItCan) {
  std::set<std::string> operands;
  for (const std::string& line : lines_of(run_softamp("vectors e5m2_mul --level 2 --count 65536").out))
    operands.insert(line.substr(0, 5));
  EXPECT_EQ(operands.size(), 65536u);
  operands.clear();
  for (const std::string& line : lines_of(run_softamp("vectors bf16_sqrt --level 2 --count 65536").out))
    operands.insert(line.substr(0, 4));
  EXPECT_EQ(operands.size(), 65536u);
}

TEST(Vectors, ComputeGivesTheSameLinesAndJudgesThem) {
  const TemporaryFolder folder;
  const std::string file = folder.file("v.txt"), program = "'" SOFTAMP_PROGRAM "' ";
  const Outcome same =
      run_shell(program + "vectors f16_mul --rounding up --count 3000 > " + file + " && cut -d' ' -f1,2 " + file +
                " | " + program + "compute f16_mul --rounding up | cmp - " + file);
  EXPECT_EQ(same.code, 0) << same.out << same.err;
  const Outcome drawn =
      run_shell(program + "vectors f16_mul --rounding stochastic --count 3000 > " + file + " && cut -d' ' -f1,2,3 " +
                file + " | " + program + "compute f16_mul --rounding stochastic --random-field | cmp - " + file);
  EXPECT_EQ(drawn.code, 0) << drawn.out << drawn.err;
  EXPECT_EQ(run_shell(program + "compute f16_mul --rounding stochastic --random-field --check < " + file).out,
            "3000 lines agree\n");
  const Outcome other =
      run_shell(program + "compute f16_mul --rounding stochastic --variant half --random-field --check < " + file);
  EXPECT_EQ(other.code, 1);
  EXPECT_EQ(lines_of(other.out).size(), 11u) << other.out;
  EXPECT_NE(lines_of(other.out).back().find(" of 3000 lines differ"), std::string::npos) << other.out;
}

TEST(Vectors, RefusesWhatItCannotMake) {
  expect_complaint("vectors", "f16_ad", "unknown operation 'f16_ad'; nearest: f16_add");
  expect_complaint("vectors", "f16_add --level 3", "--level: '3': expected a whole number in 1..2");
  expect_complaint("vectors", "f16_add --count 0", "--count: '0'");
  expect_complaint("vectors", "bf16_add --chip amd_cdna3",
                   "--chip: chip amd_cdna3 does not round to bf16: expected f143 or f152");
  expect_complaint("vectors", "f16_eq --chip b200",
                   "--chip: 'nvidia_sm100': expected an operation that rounds to a format");
  expect_complaint("vectors", "f16_add --preset ipu --behaviour inv", "--behaviour: expected esr, nanoo or off");
  expect_complaint("vectors", "f64_add", "unknown operation 'f64_add'");
}

}  // namespace
}  // namespace softamp::test
