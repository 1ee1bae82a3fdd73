// Options that change nothing are refused at the command's door, and taken where one case uses them.
#include "tests/program/outputs/outputs.h"
#include "tests/program/process.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace softamp::test {
namespace {

const std::string kShortSum = "sum --value 0.1 --count 3 ";
const std::string kNoRounding = ": no rounding is stochastic; expected --rounding stochastic";

/// "softamp sum: " before what is said of the first option that is idle.
std::string said(const std::string& arguments) { return "softamp " + arguments.substr(0, arguments.find(' ')) + ": "; }

void expect_refused(const std::string& arguments, const std::string& message) {
  EXPECT_EQ(error_of(arguments), said(arguments) + message + "\n") << arguments;
}

void expect_taken(const std::string& arguments, const std::string& input = "") {
  const Outcome o = run_softamp(arguments, input);
  EXPECT_EQ(o.code, 0) << arguments << ": " << o.err;
}

/// Files that the commands below read.
class Idle : public ::testing::Test {
 protected:
  void SetUp() override {
    graph("half.json", "float16", R"({"name": "y", "op": "MatMul", "inputs": ["x", "x"]})");
    graph("float.json", "float32", R"({"name": "y", "op": "MatMul", "inputs": ["x", "x"]})");
    graph("add.json", "float16", R"({"name": "y", "op": "AddV2", "inputs": ["x", "x"]})");
    graph("random.json", "float32", R"({"name": "y", "op": "RandomUniform", "attributes": {"shape": [2]}})");
  }
  std::string file(const char* name) const { return folder_.file(name); }
  void graph(const char* name, const std::string& dtype, const std::string& node) const {
    write_text(file(name),
               R"({"softamp_graph": 1, "nodes": [{"name": "x", "op": "Const", "attributes": {"value": {"dtype": ")" +
                   dtype + R"(", "shape": [2, 2], "values": [0.1, 0.7, 3, 0.3]}}}, )" + node + "]}");
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(Idle, RandomBitsWithoutAStochasticRounding) {
  for (const char* option :
       {"--bits 8", "--bits 2,3", "--variant half", "--random philox7", "--seed 3", "--replicas 20"}) {
    const std::string name = std::string(option).substr(0, std::string(option).find(' '));
    expect_refused(kShortSum + option, name + kNoRounding);
    expect_refused(kShortSum + "--rounding up,down --format fp16,bf16 " + option, name + kNoRounding);
    expect_taken(kShortSum + "--rounding stochastic " + option);
    expect_taken(kShortSum + "--rounding nearest,stochastic " + option);
  }
  const std::string compute_cure = ", --chip or --behaviour esr";
  for (const char* option : {"--bits 8", "--variant half", "--seed 3", "--random-field"}) {
    const std::string name = std::string(option).substr(0, std::string(option).find(' '));
    expect_refused(std::string("compute f16_add ") + option, name + kNoRounding + compute_cure);
  }
  expect_taken("compute f16_add --rounding stochastic --bits 8 --seed 3", "3C00 1000\n");
  expect_taken("compute f16_add --preset ipu --behaviour esr --bits 8 --seed 3", "3C00 1000\n");
  expect_refused("compute f16_add --rounding stochastic --random-field --seed 3",
                 "--seed: random bits come from --random-field, not from a generator; expected no --random-field");
  expect_refused("vectors f16_add --bits 8", "--bits" + kNoRounding + compute_cure);
  expect_taken("vectors f16_add --count 3 --seed 8");
}

TEST_F(Idle, WhatAnOperationHasNoUseFor) {
  expect_refused("compute f16_add --exact", "--exact: f16_add rounds to no integer; expected T_roundToInt or T_to_i32");
  expect_taken("compute f16_to_i32 --exact", "3D00\n");
  for (const char* option : {"--rounding", "--overflow", "--bits"}) {
    const std::string value = option == std::string("--rounding") ? "up"
                              : option == std::string("--bits")   ? "8"
                                                                  : "nan";
    for (const std::string operation : {"f16_eq", "f32_to_f64"})
      expect_refused("compute " + operation + " " + option + " " + value,
                     std::string(option) + ": '" + value + "': " + operation +
                         " rounds nothing; expected an operation that rounds");
  }
  expect_refused("compute f16_roundToInt --overflow nan",
                 "--overflow: 'nan': f16_roundToInt does not overflow; expected an operation that does, such as T_add");
  expect_taken("compute e2p4_roundToInt --overflow nan");
  expect_refused("vectors i32_to_f16 --tininess before",
                 "--tininess: 'before': i32_to_f16 does not underflow; expected an operation that does, such as T_mul");
}

TEST_F(Idle, OptionsOfARun) {
  const std::string half = "run " + file("half.json") + " ", whole = "run " + file("float.json") + " ";
  const std::string esr = ": no rounding is stochastic; expected esr in --behaviour, and tensors of 16 bits";
  for (const char* option : {"--bits 8", "--variant half", "--random philox7", "--seed 3"}) {
    const std::string name = std::string(option).substr(0, std::string(option).find(' '));
    expect_refused(half + option, name + esr);
    expect_refused(whole + "--behaviour esr " + option, name + esr);
    expect_taken(half + "--behaviour esr " + option);
  }
  expect_taken("run " + file("random.json") + " --seed 3 --random philox7");
  expect_refused("run " + file("random.json") + " --bits 3", "--bits" + esr);
  const std::string products = ": the graph has no products; expected a graph with MatMul, Conv2D or the like";
  for (const char* option : {"--partials", "--block", "--inner", "--accumulator"}) {
    const std::string value = option == std::string("--partials") ? "half"
                              : option == std::string("--block")  ? "4"
                              : option == std::string("--inner")  ? "exact_dot4"
                                                                  : "fp32_chain";
    expect_refused("run " + file("add.json") + " " + option + " " + value,
                   std::string(option) + ": '" + value + "'" + products);
    if (value != "4") expect_taken(half + option + " " + value);
  }
  const std::string block =
      "--block: '4': no product has half partials; expected --partials half, or --inner exact_dot4";
  expect_refused(half + "--block 4", block);
  expect_refused(whole + "--block 4 --partials half",
                 "--partials: 'half': no such result is of fp16; expected --partials float");
  expect_taken(half + "--block 4 --partials half");
  expect_taken(whole + "--block 4 --inner exact_dot4");
  expect_refused(half + "--partials half --block 4 --inner rn32_each",
                 "--inner: 'rn32_each': differs from fma_chain only in half partials of one product each; expected "
                 "--partials half --block 1, or another word");
  expect_taken(half + "--partials half --block 1 --inner rn32_each");
  expect_refused(half + "--print text --steps 3", "--steps: '3': --print runs nothing; expected no --print");
  expect_refused(half + "--json --print text", "--json: --print runs nothing; expected no --print");
}

TEST_F(Idle, OptionsBesideOthers) {
  expect_refused("train --print-settings --log x.jsonl",
                 "--log: 'x.jsonl': --print-settings trains nothing; expected no --print-settings");
  expect_refused("train --print-network lenet5 --steps 3",
                 "--steps: '3': --print-network trains nothing; expected no --print-network");
  expect_taken("train --print-settings --steps 3 --threads 2 --json");
  expect_refused("train --set generated=true --steps 1 --compare-weights 3",
                 "--compare-weights: '3': one process trains; expected several, started by mpirun or srun");
  const std::string study = "study --set generated=true --set steps=1 --grid precision=float16 --seeds 1 ";
  expect_refused(study + "--histograms",
                 "--histograms: nothing shows or keeps them; expected --report, --json or --out");
  const std::string rewrite = "rewrite " SOFTAMP_SOURCE_DIR "/examples/graphs/two_dense_layers.json ";
  expect_refused(rewrite + "--level O2 --cpu", "--cpu: level O2 asks for no GPU; expected no --cpu");
  expect_refused(rewrite + "--recipe full --lenient", "--lenient: recipe full is no file; expected --recipe FILE");
  expect_refused(rewrite + "--advise --remove allow=MatMul",
                 "--remove: --advise takes the systems' recipes as they are; expected no --remove");
  const std::string train = "train --set generated=true --steps 1 --quiet ";
  expect_refused(train + "--lost-updates",
                 "--lost-updates: nothing shows them; expected --log or --json, or no --quiet");
  expect_refused(train + "--gradient-norms", "--gradient-norms: nothing shows them; expected --log, --csv or --plot");
  expect_refused("inspect 0.1 0.2 --format mxfp4 --axis 0", "--axis: '0': the values are one block; expected --file");
  expect_refused("inspect 0.1 --chip ipu --chip nvidia_sm100 --bits 4",
                 "--bits: '4': the chips have numbers of random bits of their own; expected p3109_rne or the like");
  expect_taken("inspect 0.1 --chip ipu --chip p3109_rne --bits 4");
}

/// A judge that knows no rule: it adds options to kept commands, and looks what changes.
TEST_F(Idle, NoOptionOfAKeptCommandIsIdle) {
  if (!kOutputsAreCompared ||
      std::system("python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2> /dev/null") != 0)
    GTEST_SKIP() << "needs python3, of version 3.9 or later, and no sanitizer";
  const Outcome o = run_shell("python3 -B '" SOFTAMP_SOURCE_DIR "/tests/program/idle/idle.py' '" SOFTAMP_PROGRAM "'");
  EXPECT_EQ(o.code, 0) << o.out << o.err;
}

}  // namespace
}  // namespace softamp::test
