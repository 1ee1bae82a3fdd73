// The whole pipe of the TestFloat suite, wherever it is installed: its generator makes the operands, `softamp compute`
// the results, its verifier judges them against SoftFloat.
#include "tests/program/process.h"

#include <gtest/gtest.h>

#include <string>

using softamp::test::Outcome;
using softamp::test::run_shell;

namespace {

struct Pipe {
  const char* operation;
  const char* operands;  ///< what the generator is asked for
};

bool suite_is_installed() { return run_shell("command -v testfloat_gen && command -v testfloat_ver").code == 0; }

struct Rounding {
  const char *ours, *theirs;
};
constexpr Rounding kRoundings[] = {{"nearest", "-rnear_even"},
                                   {"nearest-away", "-rnear_maxMag"},
                                   {"zero", "-rminMag"},
                                   {"down", "-rmin"},
                                   {"up", "-rmax"},
                                   {"odd", "-rodd"}};

/// Where the two settings of tininess can differ.
bool can_be_tiny(const std::string& operation) {
  for (const char* part : {"_mul", "_to_f16", "f64_to_f32"})
    if (operation.find(part) != std::string::npos && operation.substr(0, 3) != "i32") return true;
  return false;
}

/// Whether no rounding changes a result.
bool is_exact(const std::string& operation) {
  for (const char* part : {"_eq", "_le", "_lt", "_to_f64"})
    if (operation.find(part) != std::string::npos) return true;
  return false;
}

/// Lines with results, by the shell command that writes them, judged by the suite.
void judge_lines(const std::string& lines, const std::string& operation, const Rounding& rounding,
                 const std::string& tininess, bool exact) {
  const std::string command = "set -o pipefail; " + lines +
                              (is_exact(operation) ? "" : std::string(" --rounding ") + rounding.ours) +
                              (can_be_tiny(operation) ? " --tininess " + tininess : "") + (exact ? " --exact" : "") +
                              " | testfloat_ver -tininess" + tininess + " " + rounding.theirs +
                              (exact ? " -exact " : " -notexact ") + operation;
  const Outcome o = run_shell("bash -c \"" + command + "\"");
  EXPECT_EQ(o.code, 0) << command << '\n' << o.out << o.err;
  EXPECT_NE(o.out.find("no errors found in"), std::string::npos) << command << '\n' << o.out << o.err;
}

void judge(const Pipe& pipe, const Rounding& rounding, const std::string& tininess, bool exact) {
  judge_lines(
      std::string("testfloat_gen -level 1 ") + pipe.operands + " | '" SOFTAMP_PROGRAM "' compute " + pipe.operation,
      pipe.operation, rounding, tininess, exact);
}

constexpr Pipe kPipes[] = {
    {"f16_add", "f16 2"},      {"f16_sub", "f16 2"},      {"f16_mul", "f16 2"},          {"f16_div", "f16 2"},
    {"f16_rem", "f16 2"},      {"f16_sqrt", "f16"},       {"f16_mulAdd", "f16 3"},       {"f16_eq", "f16 2"},
    {"f16_le", "f16 2"},       {"f16_lt", "f16 2"},       {"f16_eq_signaling", "f16 2"}, {"f16_le_quiet", "f16 2"},
    {"f16_lt_quiet", "f16 2"}, {"f16_roundToInt", "f16"}, {"f16_to_i32", "f16"},         {"f16_to_f32", "f16"},
    {"f16_to_f64", "f16"},     {"i32_to_f16", "i32"},     {"i32_to_f32", "i32"},         {"f32_to_f16", "f32"},
    {"f64_to_f16", "f64"},     {"f64_to_f32", "f64"},     {"f32_to_i32", "f32"},         {"f32_to_f64", "f32"},
    {"f32_add", "f32 2"},      {"f32_sub", "f32 2"},      {"f32_mul", "f32 2"},          {"f32_div", "f32 2"},
    {"f32_rem", "f32 2"},      {"f32_sqrt", "f32"},       {"f32_mulAdd", "f32 3"},       {"f32_eq", "f32 2"},
    {"f32_le", "f32 2"},       {"f32_lt", "f32 2"},       {"f32_roundToInt", "f32"},
};

}  // namespace

TEST(TestFloatPipe, EveryOperationInEveryRounding) {
  if (!suite_is_installed())
    GTEST_SKIP() << "testfloat_gen and testfloat_ver are not on PATH; the golden lines still ran";
  for (const Pipe& pipe : kPipes)
    for (const Rounding& rounding : kRoundings) {
      const std::string operation = pipe.operation;
      judge(pipe, rounding, "after", false);
      if (can_be_tiny(operation)) judge(pipe, rounding, "before", false);
      if (operation.find("roundToInt") != std::string::npos || operation.find("to_i32") != std::string::npos)
        judge(pipe, rounding, "after", true);
    }
}

/// Our own vectors are in the suite's form, and right by its verifier.
TEST(TestFloatPipe, OurVectorsAreJudgedByTheSuite) {
  if (!suite_is_installed())
    GTEST_SKIP() << "testfloat_gen and testfloat_ver are not on PATH; vectors are judged by exact numbers elsewhere";
  for (const Pipe& pipe : kPipes)
    for (const Rounding& rounding : kRoundings)
      judge_lines("'" SOFTAMP_PROGRAM "' vectors " + std::string(pipe.operation) + " --level 2 --count 100000",
                  pipe.operation, rounding, can_be_tiny(pipe.operation) ? "before" : "after", false);
}
