// `softamp registers`: scripts, what they print, what they refuse, and how they stop.
#include "tests/program/process.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using softamp::test::Outcome;
using softamp::test::run_softamp;
using softamp::test::TemporaryFolder;
using softamp::test::write_text;

namespace {

/// What a script prints.
std::string printed(const std::string& script) {
  const Outcome o = run_softamp("registers -", script);
  EXPECT_EQ(o.code, 0) << o.err;
  return o.out;
}

}  // namespace

TEST(Registers, BehaviourOverflowAndStatus) {
  EXPECT_EQ(printed("mul 60000 60000 # saturates\n\nget $FP_STS\nbehaviour nanoo\nclear\nget fp_sts\nmul 60000 -60000\n"
                    "get FP_STS\nprint\n"),
            "mul 60000 60000\n  0x7bff (65504)\n"
            "get $FP_STS\n  $FP_STS: 0x00000004\n"
            "behaviour nanoo\n  $FP_CTL: 0x00100000 INV: 0x0 DIV0: 0x0 OFLO: 0x0 RND: 0x0 ESR: 0x0 NANOO: 0x1\n"
            "clear\n"
            "get fp_sts\n  $FP_STS: 0x00000000\n"
            "mul 60000 -60000\n  0x7e00 (nan)\n"
            "get FP_STS\n  $FP_STS: 0x00000005\n"
            "print\n  $FP_CTL: 0x00100000 INV: 0x0 DIV0: 0x0 OFLO: 0x0 RND: 0x0 ESR: 0x0 NANOO: 0x1\n"
            "  $FP_STS: OFLO: 0x1 DIV0: 0x0 INV: 0x1\n"
            "  $PRNG_0_0: 0x00000000\n  $PRNG_0_1: 0xffffffff\n  $PRNG_1_0: 0x00001fff\n  $PRNG_1_1: 0xffffe000\n");
}

// Random words of PRNG_SEED 0xdeadbeef: 697c5ca6164f8239, then 9f53f58c1eb3d820; lane i takes bits 16i.
TEST(Registers, StochasticLanesOfKnownDraws) {
  EXPECT_EQ(
      printed("behaviour esr\nseed 0xdeadbeef\nadd4 1 1 1 1 0x1000 0x1000 0x1000 0x1000\nto_half4 65520 65520 -65520 "
              "65504\n"
              "get $FP_STS\nget $PRNG_SEED\n"),
      "behaviour esr\n  $FP_CTL: 0x00080000 INV: 0x0 DIV0: 0x0 OFLO: 0x0 RND: 0x0 ESR: 0x1 NANOO: 0x0\n"
      "seed 0xdeadbeef\n"
      "add4 1 1 1 1 0x1000 0x1000 0x1000 0x1000\n  0x3c01 (1.0009765625)\n  0x3c00 (1)\n  0x3c00 (1)\n  0x3c00 (1)\n"
      "to_half4 65520 65520 -65520 65504\n  0x7bff (65504)\n  0x7bff (65504)\n  0xfbff (-65504)\n  0x7bff (65504)\n"
      "get $FP_STS\n  $FP_STS: 0x00000004\n"
      "get $PRNG_SEED\n  $PRNG_SEED: 0x00000000\n");
}

TEST(Registers, GeneratorSeedsAndDraws) {
  EXPECT_EQ(printed("seed 0xdeadbeef\nget $PRNG_0_1\nurand64\nseed 0xdeadbeef\nurand32\nset_seed 42 1 7 1471 "
                    "5\nurand64\nurand64\n"),
            "seed 0xdeadbeef\nget $PRNG_0_1\n  $PRNG_0_1: 0x21524110\nurand64\n  0x697c5ca6164f8239\n"
            "seed 0xdeadbeef\nurand32\n  0x164f8239\n"
            "set_seed 42 1 7 1471 5\nurand64\n  0x1e6968f3f1933ee5\nurand64\n  0xad8d5bab12eaae01\n");
  EXPECT_EQ(printed("put $PRNG_0_0 1\nput $PRNG_0_1 0\nput $PRNG_1_0 2\nput $PRNG_1_1 0\nurand64\nurand64\n"),
            "put $PRNG_0_0 1\nput $PRNG_0_1 0\nput $PRNG_1_0 2\nput $PRNG_1_1 0\nurand64\n  0x0000000000000003\n"
            "urand64\n  0x008000300000c003\n");
}

TEST(Registers, EveryOperation) {
  EXPECT_EQ(
      printed("add 1 0.5\nsub 1 0.5\nmul 3 0.5\ndiv 1 4\nrem 5 3\nmin -0 0\nmax 1 2\nfma 2 3 -1\nsqrt 2\nreciprocal 8\n"
              "reciprocal_sqrt 4\nadd.f32 1 0x3f800000\nfma.f32 3 3 1\nsqrt4 1 4 9 16\nto_half 0.1\nto_float 0x3c01\n"
              "to_int -2.5\neq 1 1\nlt 2 1\nle 0x1p-24 0x0001\n"),
      "add 1 0.5\n  0x3e00 (1.5)\nsub 1 0.5\n  0x3800 (0.5)\nmul 3 0.5\n  0x3e00 (1.5)\ndiv 1 4\n  0x3400 (0.25)\n"
      "rem 5 3\n  0xbc00 (-1)\nmin -0 0\n  0x8000 (-0)\nmax 1 2\n  0x4000 (2)\nfma 2 3 -1\n  0x4500 (5)\n"
      "sqrt 2\n  0x3da8 (1.4140625)\nreciprocal 8\n  0x3000 (0.125)\nreciprocal_sqrt 4\n  0x3800 (0.5)\n"
      "add.f32 1 0x3f800000\n  0x40000000 (2)\nfma.f32 3 3 1\n  0x41200000 (10)\n"
      "sqrt4 1 4 9 16\n  0x3c00 (1)\n  0x4000 (2)\n  0x4200 (3)\n  0x4400 (4)\n"
      "to_half 0.1\n  0x2e66 (0.0999755859375)\nto_float 0x3c01\n  0x3f802000 (1.0009765625)\n"
      "to_int -2.5\n  0xfffffffe (-2)\neq 1 1\n  true\nlt 2 1\n  false\nle 0x1p-24 0x0001\n  true\n");
}

TEST(Registers, AnEnabledExceptionEndsTheScript) {
  const Outcome o = run_softamp(
      "registers -", "set_seed 1 2 3 77 4\nbehaviour inv div0 oflo\nadd4 1 1 1 65504 1 inf nan 65504\nadd 1 1\n");
  EXPECT_EQ(o.code, 3);
  EXPECT_EQ(o.out,
            "set_seed 1 2 3 77 4\n"
            "behaviour inv div0 oflo\n  $FP_CTL: 0x00000007 INV: 0x1 DIV0: 0x1 OFLO: 0x1 RND: 0x0 ESR: 0x0 NANOO: 0x0\n"
            "add4 1 1 1 65504 1 inf nan 65504\n  0x4000 (2)\n  0x7e00 (nan)\n  0x7e00 (nan)\n  0x7bff (65504)\n");
  EXPECT_EQ(o.err,
            "floating-point exception: invalid, overflow\n"
            "  $FP_STS: OFLO: 0x1 DIV0: 0x0 INV: 0x1\n"
            "  operation: add, element 2\n"  // the lowest lane that raised an enabled flag
            "  operands: 0x3c00 (1), 0x7e00 (nan)\n"
            "  tile 77, worker 4\n");
}

TEST(Registers, Json) {
  const Outcome o = run_softamp("registers --json -", "behaviour oflo\nprint\nmul 60000 60000\nadd 1 1\n");
  EXPECT_EQ(o.code, 3);
  EXPECT_EQ(o.err, "");
  const auto json = nlohmann::json::parse(o.out);
  ASSERT_EQ(json["steps"].size(), 3u);
  EXPECT_EQ(json["steps"][1]["registers"]["$FP_CTL"], "0x00000004");
  EXPECT_EQ(json["steps"][2]["results"][0], (nlohmann::json{{"hex", "0x7bff"}, {"decimal", "65504"}}));
  EXPECT_EQ(json["steps"][2]["line"], 3);
  EXPECT_EQ(json["exception"]["exception"], "overflow");
  EXPECT_EQ(json["fp_sts"], (nlohmann::json{{"oflo", true}, {"div0", false}, {"inv", false}}));
}

TEST(Registers, ScriptFromAFileAndTheDemonstration) {
  const TemporaryFolder folder;
  write_text(folder.file("script"), "add 1 1");
  const Outcome o = run_softamp("registers " + folder.file("script"));
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(o.out, "add 1 1\n  0x4000 (2)\n");
  EXPECT_EQ(run_softamp("registers", "add 1 1\n").out, "add 1 1\n  0x4000 (2)\n")
      << "a script on standard input needs no -";

  const Outcome demonstration = run_softamp("registers");
  EXPECT_EQ(demonstration.code, 3);
  EXPECT_NE(demonstration.out.find("mul 60000 60000\n  0x7bff (65504)\n"), std::string::npos);
  EXPECT_NE(demonstration.err.find("$FP_STS: OFLO: 0x0 DIV0: 0x1 INV: 0x0"), std::string::npos);
  EXPECT_EQ(demonstration.out.find("add 1 1\n"), std::string::npos) << "the exception comes before";
}

TEST(Registers, OffAndAllAsOtherVerbsHaveThem) {
  const std::string off = "behaviour off\n  $FP_CTL: 0x00000000";
  EXPECT_NE(printed("behaviour off\n").find(off), std::string::npos) << printed("behaviour off\n");
  EXPECT_NE(printed("behaviour none\n").find("$FP_CTL: 0x00000000"), std::string::npos);
  EXPECT_NE(printed("behaviour all\n").find("$FP_CTL: 0x00180007"), std::string::npos);
  EXPECT_NE(printed("behaviour inv off oflo\n").find("$FP_CTL: 0x00000004"), std::string::npos);
}

TEST(Registers, Refusals) {
  const struct {
    const char *line, *message;
  } rows[] = {
      {"ad 1 1", "unknown command 'ad'; nearest: add"},
      {"add 1", "add: 1 words follow; expected operands, 2 words"},
      {"add4 1 1 1 1", "expected operands, 8 words"},
      {"add 1 x", "'x' is not a number"},
      {"add 1 70000", "'70000': expected a magnitude of at most 65504"},
      {"add 1 0x10000", "code of fp16: '0x10000': expected a whole number in 0..65535"},
      {"behaviour inv olfo", "unknown flag 'olfo'; nearest: oflo"},
      {"behaviour", "behaviour: 0 words follow; expected flags"},
      {"put $FP_STS 1", "$FP_STS: '1': expected no write"},
      {"put $FP_CTL 0x10000", "and RND (b16..18) 0"},
      {"put $FP_CLR 16", "expected bits 0..3"},
      {"put $FP_CTR 0", "unknown register '$FP_CTR'; nearest: $fp_clr"},
      {"seed 0x100000000", "expected a whole number in 0..4294967295"},
      {"set_seed 0 0 0 0 6", "worker: '6': expected a whole number in 0..5"},
      {"launch 8", "launch: '8'"},
  };
  for (const auto& row : rows) {
    const Outcome o = run_softamp("registers -", std::string("add 1 1\n") + row.line + "\n");
    EXPECT_EQ(o.code, 2) << row.line;
    EXPECT_EQ(o.out, "add 1 1\n  0x4000 (2)\n") << row.line;
    EXPECT_NE(o.err.find("softamp registers: standard input, line 2: "), std::string::npos) << o.err;
    EXPECT_NE(o.err.find(row.message), std::string::npos) << row.line << ": " << o.err;
  }
}
