// What a result stands on: every JSON document says it, and its command makes the same document again.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "softamp/data/npy.h"
#include "softamp/numerics/version.h"
#include "softamp/tensor/tensor.h"
#include "tests/program/process.h"

namespace softamp::test {
namespace {

using nlohmann::json;

const std::string kInputs = SOFTAMP_SOURCE_DIR "/examples/graphs/", kInputArray = kInputs + "x.npy",
                  kInputGraph = kInputs + "dense.json";

/// As coreutils have it.
std::string sha256(const std::string& file) { return run_shell("sha256sum " + file).out.substr(0, 64); }

TEST(Provenance, IsInEveryDocument) {
  const json version = json_of("--version --json");
  const TemporaryFolder folder;
  const std::string wide = folder.file("x.npy");
  save_npy(Tensor::from_values(DType::kFloat32, {2}, {0.3, 5}), wide);
  const std::string train =
      " --set generated=true --set train_images=16 "
      "--set test_images=8 --set batch_size=8 --set epochs=1 --quiet --json";
  struct Case {
    std::string arguments;
    std::vector<std::string> inputs;
  };
  for (const Case& c :
       {Case{"sum --value 0.1 --count 7 --json", {}}, Case{"sum --values " + kInputArray + " --json", {kInputArray}},
        Case{"inspect 0.1 --json", {}}, Case{"formats --json", {}}, Case{"chips ipu --json", {}},
        Case{"round " + wide + " " + folder.file("o.npy") + " --format e4m3 --json", {wide}},
        Case{"run " + kInputGraph + " --feed x=" + kInputArray + " --json", {kInputGraph, kInputArray}},
        Case{"rewrite " + kInputGraph + " --recipe full --quiet --report json", {kInputGraph}},
        Case{"compare " + kInputArray + " " + kInputArray + " --json", {kInputArray}}, Case{"train" + train, {}},
        Case{"study --grid precision=float16 --seeds 1" + train, {}}}) {
    const Outcome o = run_softamp(c.arguments);
    ASSERT_EQ(o.code, 0) << c.arguments << "\n" << o.err;
    const json p = json::parse(o.out).at("provenance");
    EXPECT_EQ(p.at("version"), version.at("version"));
    EXPECT_EQ(p.at("arithmetic"), kArithmeticVersion);
    EXPECT_EQ(p.at("instruction_set"), version.at("instruction_sets").at("best_here"));
    EXPECT_EQ(p.at("command"), "softamp " + c.arguments);
    json inputs;
    for (const std::string& input : c.inputs) inputs[input] = sha256(input);
    EXPECT_EQ(p.value("inputs", json()), inputs) << c.arguments;
    EXPECT_EQ(run_softamp(p.at("command").get<std::string>().substr(8)).out, o.out) << "the same command again";
  }
}

TEST(Provenance, OfAnArrayThatIsReplacedIsOfWhatWasRead) {
  const TemporaryFolder folder;
  const std::string x = folder.file("x.npy");
  save_npy(Tensor::from_values(DType::kFloat32, {2}, {0.3, 5}), x);
  const std::string before = sha256(x);
  const Outcome o = run_softamp("round " + x + " " + x + " --format e2m1 --rounding up --json");
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(json::parse(o.out)["provenance"]["inputs"][x], before);
}

TEST(Provenance, AnInstructionSetThatWasAskedForIsNamed) {
  const json p =
      json::parse(run_softamp("run " + kInputGraph + " --feed x=" + kInputArray + " --isa portable --json").out);
  EXPECT_EQ(p["provenance"]["instruction_set"], "portable");
}

TEST(Provenance, IsTheFirstLineOfATableForLatex) {
  const Outcome o = run_softamp("sum --value 0.1 --count '7' --latex /dev/stdout");
  EXPECT_EQ(o.out.substr(0, o.out.find('\n')),
            "% softamp " + json_of("--version --json")["version"].get<std::string>() + ", arithmetic " +
                std::to_string(kArithmeticVersion) + ": softamp sum --value 0.1 --count 7 --latex /dev/stdout");
}

}  // namespace
}  // namespace softamp::test
