// Bad usage: each error names the value, the place and what was expected; exit code 2, nothing on standard output.
#include "tests/program/process.h"

#include "softamp/numerics/version.h"
#include "softamp/tensor/bulk.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <regex>

namespace softamp::test {
namespace {

bool starts_with(const std::string& text, const std::string& start) { return text.rfind(start, 0) == 0; }

const std::string kSum = "sum --value 0.0001 --count 10 ";

TEST(Errors, UnknownVerbsAndOptionsAreNamedWithTheNearest) {
  EXPECT_EQ(error_of("smu"),
            "softamp: unknown verb 'smu'; nearest: sum; known: sum, inspect, formats, chips, round, compute, "
            "vectors, registers, run, rewrite, compare, train, study, operations, demo, reproduce, selftest, "
            "completions, man\n");
  EXPECT_TRUE(starts_with(error_of("sum --vale 1 --count 3"),
                          "softamp sum: unknown option '--vale'; nearest: --value; known: --"));
  EXPECT_TRUE(starts_with(error_of("sum --formt=fp16"), "softamp sum: unknown option '--formt'; nearest: --format;"));
  EXPECT_TRUE(starts_with(error_of("formats --jsn"), "softamp formats: unknown option '--jsn'; nearest: --json;"));
  EXPECT_TRUE(starts_with(error_of(""), "softamp: A subcommand is required"));
}

TEST(Errors, UnknownWordsAreNamedWithTheNearest) {
  EXPECT_TRUE(starts_with(
      error_of(kSum + "--format fp61"),
      "softamp sum: --format: unknown format 'fp61'; nearest: fp16; known: fp16 (float16, half, f16, binary16), "));
  EXPECT_TRUE(starts_with(error_of(kSum + "--rounding neerest"),
                          "softamp sum: --rounding: unknown rounding 'neerest'; nearest: nearest; known: "));
  EXPECT_TRUE(starts_with(error_of(kSum + "--variant cary"),
                          "softamp sum: --variant: unknown variant 'cary'; nearest: carry; known: "));
  EXPECT_TRUE(starts_with(error_of(kSum + "--overflow inifnity"),
                          "softamp sum: --overflow: unknown overflow rule 'inifnity'; nearest: infinity; known: "));
  EXPECT_TRUE(starts_with(error_of(kSum + "--random filox"),
                          "softamp sum: --random: unknown random engine 'filox'; nearest: philox; known: "));
  EXPECT_TRUE(starts_with(error_of(kSum + "--preset ieeee"),
                          "softamp sum: --preset: unknown preset 'ieeee'; nearest: ieee; known: "));
}

TEST(Errors, NumbersOutOfRangeAreRefusedWithTheRange) {
  EXPECT_EQ(error_of(kSum + "--bits 0"), "softamp sum: --bits: '0': expected a whole number in 1..32\n");
  EXPECT_EQ(error_of(kSum + "--bits 33"), "softamp sum: --bits: '33': expected a whole number in 1..32\n");
  EXPECT_EQ(error_of("sum --value 1 --count 0"),
            "softamp sum: --count: '0': expected a whole number in 1..4294967295\n");
  EXPECT_EQ(error_of("sum --value 1 --count 4294967296"),
            "softamp sum: --count: '4294967296': expected a whole number in 1..4294967295\n");
  EXPECT_EQ(error_of("sum --value 1 --count 1e4"),
            "softamp sum: --count: '1e4': expected a whole number in 1..4294967295\n");
  EXPECT_EQ(error_of(kSum + "--replicas -3"), "softamp sum: --replicas: '-3': expected a whole number in 1..1048576\n");
  EXPECT_EQ(error_of(kSum + "--replicas 0"), "softamp sum: --replicas: '0': expected a whole number in 1..1048576\n");
  EXPECT_EQ(error_of(kSum + "--seed 18446744073709551616"),
            "softamp sum: --seed: '18446744073709551616': expected a whole number in 0..18446744073709551615\n");
  EXPECT_EQ(run_softamp(kSum + "--rounding stochastic --seed 0xffffffffffffffff").code, 0);
}

TEST(Errors, OperandsThatAreNoNumbersOfTheFormat) {
  EXPECT_EQ(
      error_of("sum --value abc --count 3"),
      "softamp sum: --value: 'abc' is not a number: expected decimal (1.5e-3), hexadecimal (0x1.8p-10), inf or nan\n");
  EXPECT_EQ(error_of("sum --value inf --count 3"), "softamp sum: --value: 'inf': expected a finite number\n");
  EXPECT_EQ(error_of("sum --value 1 --start 1e5 --count 3"),
            "softamp sum: --start: '1e5': expected a magnitude of at most 65504, the largest number of fp16\n");
  EXPECT_TRUE(starts_with(error_of(kSum + "--format fp64"),
                          "softamp sum: --format: 'fp64': expected a format of at most 24 bits"));
  EXPECT_TRUE(starts_with(error_of(kSum + "--format e9p4"),
                          "softamp sum: --format: format 'e9p4': expected e<E>p<P> with 2 to 8"));
}

TEST(Errors, WhatThePresetDoesNotHave) {
  EXPECT_EQ(error_of(kSum + "--preset ipu --rounding up"),
            "softamp sum: --rounding: 'up': expected nearest or stochastic with --preset ipu\n");
  EXPECT_EQ(error_of(kSum + "--preset ipu --overflow infinity"),
            "softamp sum: --overflow: 'infinity': expected saturate or nan with --preset ipu\n");
  EXPECT_TRUE(starts_with(error_of(kSum + "--preset ipu --rounding stochastic --format fp32"),
                          "softamp sum: --rounding: 'stochastic': expected nearest for fp32 with --preset ipu"));
}

TEST(Errors, MissingThings) {
  EXPECT_TRUE(starts_with(error_of("sum --count 3"), "softamp sum: --value is required"));
  EXPECT_TRUE(starts_with(error_of("sum --value 3"), "softamp sum: --count is required"));
  EXPECT_TRUE(starts_with(error_of("inspect"), "softamp inspect: 0 values: expected one number or code"));
  EXPECT_TRUE(starts_with(error_of("inspect 1 2"), "softamp inspect: 2 values: expected one number or code"));
  EXPECT_TRUE(starts_with(error_of(kSum + "--format"), "softamp sum: --format"));
}

TEST(Errors, CodesAndTextsToInspect) {
  EXPECT_EQ(error_of("inspect 0x12345"), "softamp inspect: '0x12345': expected a code of fp16 in 0x0000..0xffff\n");
  EXPECT_EQ(error_of("inspect 0x100 --format e4m3"),
            "softamp inspect: '0x100': expected a code of e4m3 in 0x00..0xff\n");
  EXPECT_EQ(error_of("inspect 0xzz"), "softamp inspect: '0xzz': expected a code of fp16 in 0x0000..0xffff\n");
  EXPECT_TRUE(starts_with(error_of("inspect one"), "softamp inspect: 'one' is not a number: expected decimal"));
}

TEST(Errors, PlotsThatCannotBeDrawn) {
  const TemporaryFolder folder;
  EXPECT_EQ(error_of(kSum + "--plot a.gif"),
            "softamp sum: plot 'a.gif': expected a file name that ends in .svg, .png or .pdf\n");
  const std::string file = folder.file("missing/a.png");
  EXPECT_EQ(error_of(kSum + "--plot " + file),
            "softamp sum: '" + file + "' cannot be written: No such file or directory\n");
  const std::string svg = folder.file("a.svg");
  // Before anything is computed or written.
  const std::string log = folder.file("run.jsonl"), csv = folder.file("runs.csv");
  for (const std::string& verb :
       {kSum, "train --log " + log + " ", "study --grid precision=float16 --csv " + csv + " "}) {
    const Outcome outcome = run_shell("PATH= '" SOFTAMP_PROGRAM "' " + verb + "--plot " + svg);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_EQ(outcome.err, "softamp " + verb.substr(0, verb.find(' ')) +
                               ": cannot run gnuplot, which draws the plots: " +
                               "it is not on PATH; install it (Debian: gnuplot-nox)\n");
    EXPECT_EQ(folder.entries(), 0u);
  }
}

TEST(Errors, AFullDiskIsNotSuccess) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  const Outcome outcome = run_shell("'" SOFTAMP_PROGRAM "' formats > /dev/full");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.err, "softamp formats: cannot write to standard output: No space left on device\n");
}

TEST(Help, TheVersionSaysWhatTheProgramIsMadeOf) {
  const Outcome outcome = run_softamp("--version");
  EXPECT_EQ(outcome.code, 0);
  const auto best = bulk::name(bulk::best_instruction_set());
  const std::regex lines("softamp \\d+\\.\\d+\\.\\d+\narithmetic: version " + std::to_string(kArithmeticVersion) +
                         "\ncompiler: (GCC|Clang) \\d+\\.\\d+.*\ninstruction sets: portable.*; the best that this "
                         "machine has: " +
                         best + "\nCUDA: (no|yes, for compute capability \\d+\\.\\d(, \\d+\\.\\d)*)\n");
  EXPECT_TRUE(std::regex_match(outcome.out, lines)) << outcome.out;

  const nlohmann::json document = nlohmann::json::parse(run_softamp("--version --json").out);
  EXPECT_TRUE(starts_with(outcome.out, "softamp " + document["version"].get<std::string>() + "\n"));
  EXPECT_EQ(document["arithmetic"], kArithmeticVersion);
  EXPECT_NE(outcome.out.find(document["compiler"].get<std::string>()), std::string::npos);
  EXPECT_EQ(document["instruction_sets"]["best_here"], best);
  const auto built = document["instruction_sets"]["built"].get<std::vector<std::string>>();
  EXPECT_NE(std::find(built.begin(), built.end(), best), built.end());
  EXPECT_EQ(document["cuda"], outcome.out.find("CUDA: yes") != std::string::npos);
  EXPECT_EQ(document["cuda"], !document["cuda_architectures"].empty());
  EXPECT_EQ(error_of("--json"), "softamp: A subcommand is required; see `softamp --help`\n");
  EXPECT_EQ(error_of("--json formats"), "softamp: --json: expected --version beside it, or a verb before it\n");
}

TEST(Help, EveryVerbHasAnExampleAndTheExitCodesAreDocumented) {
  const Outcome outcome = run_softamp("--help");
  EXPECT_EQ(outcome.code, 0);
  for (const char* line : {"  0  success", "  1  a check failed", "  2  bad usage or bad input",
                           "  3  an enabled floating-point exception stopped the run"})
    EXPECT_NE(outcome.out.find(line), std::string::npos) << line;
  for (const std::string verb : {"sum", "inspect", "formats", "round", "compute", "registers", "selftest"}) {
    EXPECT_NE(outcome.out.find("softamp " + verb), std::string::npos) << verb;
    const Outcome help = run_softamp(verb + " --help");
    EXPECT_EQ(help.code, 0) << verb;
    EXPECT_NE(help.out.find("softamp " + verb), std::string::npos) << verb << " has no example";
  }
}

}  // namespace
}  // namespace softamp::test
