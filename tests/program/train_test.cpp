// `softamp train`: settings in, lines, logs and checkpoints out, and every complaint.
#include "tests/program/process.h"
#include "tests/program/run_log.h"
#include "tests/program/signalled.h"
#include "tests/slice.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <nlohmann/json.hpp>

#include "softamp/data/safetensors.h"
#include "src/data/npz_tensors.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

namespace softamp::test {
namespace {

using nlohmann::json;
/// Few and small steps.
const std::string kTinyTraining = "--set generated=true --set train_images=64 --set test_images=32 --set batch_size=8 ";
const std::string kHalf = "--set precision=float16 --set stochastic_rounding=on ";

TEST(Train, TheDefaultsAreThoseOfTheSettings) {
  const json settings = json_of("train --print-settings");
  EXPECT_EQ(settings["network"], "small_cnn");
  EXPECT_EQ(settings["precision"], "float32");
  EXPECT_EQ(settings["loss_scale"], "256");
  EXPECT_EQ(settings["learning_rate"], 0.01);
}

// What is printed is a file of settings for the same run, to the bit; beside it stands what the updates use.
TEST(Train, PrintedSettingsAreTheRun) {
  const TemporaryFolder folder;
  const std::string run = "train --quiet --json --steps 2 ", asked = kTinyTraining + kHalf + "--set optimizer=adam ";
  const Outcome printed = run_softamp("train --print-settings " + asked);
  ASSERT_EQ(printed.code, 0) << printed.err;
  write_text(folder.file("s.json"), printed.out);
  const json plain = json_of(run + asked), again = json_of(run + folder.file("s.json"));
  EXPECT_EQ(again["weight_hashes"], plain["weight_hashes"]);
  EXPECT_EQ(again["settings"], plain["settings"]);
  EXPECT_EQ(plain["settings"]["beta2"], 0.999);
  EXPECT_TRUE(plain["settings"]["momentum"].is_null()) << "Adam has none";
  const std::string used = "softamp train: used: ";
  ASSERT_EQ(printed.err.find(used), 0u) << printed.err;
  EXPECT_EQ(json::parse(printed.err.substr(used.size())), plain["used"]);
  EXPECT_EQ(plain["used"][0]["beta2"], 0.9990234375);
  EXPECT_EQ(plain["used"][0]["optimizer_state"], "float16");
  EXPECT_EQ(run_softamp("train --print-settings --quiet").err, "");
}

TEST(Train, PrintsATextOfALanguageModel) {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 60; ++i) text += "ab\xFF";
  write_text(folder.file("text.txt"), text);
  write_text(folder.file("net.json"), R"({"softamp_network": 1,
    "input": {"kind": "tokens", "length": 3, "vocabulary": 256, "encoding": "bytes"}, "output": {"kind": "next_token"},
    "layers": [{"type": "embedding", "vocabulary": 256, "units": 8}, {"type": "dense", "units": 256}]})");
  const std::string run =
      "train --quiet --set batch_size=4 --set optimizer=adam --set learning_rate=0.1 --set epochs=4 "
      "--network " +
      folder.file("net.json") + " --data " + folder.file("text.txt") + " ";
  EXPECT_EQ(run_softamp(run + "--sample 4 --sample-from b --temperature 0").out,
            "b\xFF"
            "ab\xFF"
            "\n");
  EXPECT_EQ(json_of(run + "--sample 4 --sample-from b --temperature 0 --json")["sample"],
            "b\xEF\xBF\xBD"
            "ab\xEF\xBF\xBD");
  EXPECT_FALSE(json_of(run + "--json").contains("sample"));
  const auto refused = [&](const std::string& options) { return run_softamp(run + options).err; };
  EXPECT_EQ(refused("--sample 0"), "softamp train: --sample: '0': expected a whole number in 1..1000000\n");
  EXPECT_EQ(refused("--sample 2 --temperature hot"),
            "softamp train: --temperature: 'hot': expected a number, 0 or more\n");
  EXPECT_EQ(refused("--sample 2 --compare emu"), "softamp train: --sample: --compare writes no files\n");
}

TEST(Train, ADoubtfulHyperparameterComesWithItsCure) {
  const std::string adam =
      "train " + kTinyTraining + "--set evaluate=false --steps 1 --set precision=bfloat16 --set optimizer=adam ";
  const std::string warning =
      "softamp train: warning: adam: 1 - beta2 0.001 is 0 in bfloat16: beta2 is rounded to 1; to cure it: --set "
      "hyperparameters=float32\n";
  const std::string narrow = run_softamp(adam).err, wide = run_softamp(adam + "--set hyperparameters=float32").err;
  EXPECT_NE(narrow.find(warning), std::string::npos) << narrow;
  EXPECT_EQ(wide.find("warning"), std::string::npos) << wide;
  EXPECT_NE(wide.find(R"("hyperparameters":"float32","learning_rate":)"), std::string::npos) << wide;
}

TEST(Train, ReportsItsMemory) {  // TUTORIAL G14
  const auto parameters = [](const std::string& precision) {
    const std::string err = run_softamp("train " + kTinyTraining + "--set steps=1 --set precision=" + precision).err;
    const size_t at = err.find("memory: parameters ");
    return at == std::string::npos ? -1 : std::stoi(err.substr(at + 19));
  };
  EXPECT_EQ(parameters("float32"), 4 * 9098);  // all of small_cnn
  EXPECT_EQ(parameters("float16"), 2 * 9098);
}

TEST(Train, KeysAreSetAfterTheFile) {
  const TemporaryFolder folder;
  write_text(folder.file("s.json"), R"({"network": "lenet5", "loss_scale": "torch", "batch_size": 16})");
  const Outcome o = run_softamp("train " + folder.file("s.json") +
                                " --set loss_scale=128 --set shuffle=true --set epsilon=1e-4 --set optimizer=adam "
                                "--set optimizer_state=float16 --print-settings");
  ASSERT_EQ(o.code, 0) << o.err;
  const json settings = json::parse(o.out);
  EXPECT_EQ(settings["network"], "lenet5");
  EXPECT_EQ(settings["batch_size"], 16);
  EXPECT_EQ(settings["loss_scale"], "128") << "text stays text though it looks like a number";
  EXPECT_EQ(settings["shuffle"], true);
  EXPECT_EQ(settings["epsilon"], 1e-4);
  EXPECT_EQ(settings["optimizer_state"], "float16");
}

TEST(Train, EveryFileOfTheExamplesIsUnderstood) {
  for (const auto& file : std::filesystem::directory_iterator(SOFTAMP_SOURCE_DIR "/examples/training")) {
    const std::string name = file.path().string();
    if (name.find("study") != std::string::npos) continue;
    EXPECT_EQ(run_softamp("train " + name + " --print-settings").code, 0) << name;
  }
}

TEST(Train, ComparesTwoBackendsStepByStep) {
  const Outcome o = run_softamp("train " + kTinyTraining + "--compare emu --steps 2");
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(o.out.find("compared emu with emu: 2 equal steps, "), 0u) << o.out;
  EXPECT_NE(o.out.find(" elements: all equal\n"), std::string::npos) << o.out;
  const json document = json_of("train " + kTinyTraining + "--set steps=1 --compare emu --json --quiet");
  EXPECT_EQ(document["equal_steps"], 1);
  EXPECT_EQ(document["compared"], json({"emu", "emu"}));
  EXPECT_TRUE(document["difference"].is_null());
  EXPECT_GT(document["elements"], 5 * 9098);
  const auto refused = [](const std::string& options, const std::string& words) {
    const Outcome bad = run_softamp("train " + kTinyTraining + options);
    EXPECT_EQ(bad.code, 2) << options;
    EXPECT_NE(bad.err.find(words), std::string::npos) << bad.err;
  };
  refused("--compare emu --log x.log", "--log: 'x.log': --compare writes no files");
  refused("--compare emu --find-loss-scale", "--find-loss-scale: expected it without --compare");
  refused("--compare cpu", "--compare: ");
  refused("--steps 0", "--steps: '0': expected a whole number in 1..");
}

// tests: K21, T14
TEST(Train, SpeaksOfDeviceAndShapes) {
  const std::string short_run = "train " + kTinyTraining + "--set evaluate=false --steps 1 ";
  const std::string check = "softamp train: Mixed precision compatibility check (mixed_float16): OK\n";
  const std::string advice = "softamp train: dimension 10: expected a power of two, such as 16 (first in '";
  const auto count = [](const std::string& text, const std::string& what) {
    size_t n = 0;
    for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += what.size()) ++n;
    return n;
  };
  const Outcome policy = run_softamp(short_run + "--policy mixed_float16");
  EXPECT_EQ(policy.code, 0) << policy.err;
  EXPECT_EQ(count(policy.err, check), 1u) << policy.err;
  EXPECT_EQ(count(policy.err, advice), 1u) << policy.err;
  const std::string level = run_softamp(short_run + "--level O2").err;
  EXPECT_EQ(count(level, check), 0u) << "Keras' alone";
  EXPECT_EQ(count(level, advice), 1u) << level;
  const std::string plain = run_softamp(short_run).err;
  EXPECT_EQ(count(plain, "dimension ") + count(plain, "compatibility"), 0u) << plain;
  EXPECT_EQ(run_softamp(short_run + "--policy mixed_float16 --quiet").err, "");
}

TEST(Train, StepsEndTheRun) {
  const Outcome o = run_softamp("train " + kTinyTraining + "--set evaluate=false --steps 3 --json --quiet");
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(json::parse(o.out)["steps"], 3);
}

TEST(Train, SaysWhatItDidInLinesAndInJson) {
  const TemporaryFolder folder;
  const Outcome lines = run_softamp("train " + kTinyTraining + "--set epochs=2 --log " + folder.file("log"));
  ASSERT_EQ(lines.code, 0) << lines.err;
  EXPECT_NE(lines.out.find("Average loss: "), std::string::npos) << lines.out;
  EXPECT_EQ(lines.err.find("softamp train: "), 0u) << lines.err;
  EXPECT_EQ(lines_of(folder.file("log"))[0]["softamp_log"], 1);
  const std::vector<json> steps = steps_of(folder.file("log"));
  ASSERT_EQ(steps.size(), 16u);

  const Outcome document = run_softamp("train " + kTinyTraining + "--set epochs=2 --json --quiet");
  ASSERT_EQ(document.code, 0) << document.err;
  EXPECT_EQ(document.err, "");
  const json run = json::parse(document.out);
  EXPECT_EQ(run["steps"], 16);
  EXPECT_EQ(run["finished"], true);
  EXPECT_EQ(run["epoch_losses"].size(), 2u);
  EXPECT_EQ(run["last_loss"], steps[15]["loss"]) << "the same run";
  EXPECT_EQ(run["evaluations"][0]["images"], 32);
  EXPECT_GT(run["memory"]["parameters"], 0);
}

TEST(Train, ThreadsChangeNoBit) {
  const TemporaryFolder folder;
  const std::string run = "train " + kTinyTraining + kHalf + "--set epochs=1 --quiet --threads ";
  for (const std::string threads : {"1", "2", "3"})
    ASSERT_EQ(run_softamp(run + threads + " --log " + folder.file(threads)).code, 0);
  EXPECT_EQ(steps_of(folder.file("1")).size(), 8u);
  EXPECT_EQ(steps_of(folder.file("1")), steps_of(folder.file("2")));
  EXPECT_EQ(steps_of(folder.file("1")), steps_of(folder.file("3")));
}

TEST(Train, ASignalStopsAfterTheStepAndResumingIsAsIfNeverStopped) {
  const TemporaryFolder folder;
  const std::string settings = kTinyTraining + kHalf + "--set shuffle=true --set evaluate=false --set epochs=40 ";
  ASSERT_EQ(run_softamp("train " + settings + "--quiet --log " + folder.file("whole")).code, 0);
  for (const int signal : {SIGINT, SIGTERM}) {
    const std::string log = folder.file("log" + std::to_string(signal)), state = log + ".npz";
    const std::string line = "exec '" SOFTAMP_PROGRAM "' train " + settings + "--log " + log + " --checkpoint " +
                             state + " 2> " + log + ".err > /dev/null";
    const auto begun = [&] {
      std::error_code none;
      return std::filesystem::file_size(log, none) + 1 > 3000;  // no file: 2^64 - 1 + 1
    };
    const int status = status_after(signal, line, begun);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 128 + signal) << status << read_text(log + ".err");
    EXPECT_NE(read_text(log + ".err").find("continue with --resume " + state), std::string::npos);
    const size_t before = steps_of(log).size();
    EXPECT_LT(before, 320u);
    const Outcome rest = run_softamp("train " + settings + "--quiet --log " + log + " --resume " + state);
    ASSERT_EQ(rest.code, 0) << rest.err;
    EXPECT_EQ(steps_of(log), steps_of(folder.file("whole"))) << "stopped after " << before;
  }
}

TEST(Train, AnEnabledExceptionEndsWithTheDevicesReport) {
  // A scale of 2^60 takes the first gradients beyond float16.
  const Outcome o =
      run_softamp("train " + kTinyTraining + kHalf + "--set loss_scale=2^60 --set behaviour=oflo --quiet");
  EXPECT_EQ(o.code, 3) << o.err;
  EXPECT_NE(o.err.find("$FP_STS: OFLO: 0x1"), std::string::npos) << o.err;
  EXPECT_NE(o.err.find("operation: "), std::string::npos) << o.err;
}

TEST(Train, AnEnabledExceptionIsPrecededByACheckpoint) {
  const TemporaryFolder folder;
  const std::string state = folder.file("a.npz"), log = folder.file("log");
  const std::string train = "train " + kTinyTraining + "--set evaluate=false --checkpoint " + state + " ";
  // The first step passes, then weights are so large that a product overflows.
  const std::string diverging =
      "--set precision=float16 --set seed=5 --set learning_rate=30 --set loss_scale=1 --set behaviour=oflo ";
  const Outcome exception = run_softamp(train + diverging + "--log " + log);
  EXPECT_EQ(exception.code, 3) << exception.err;
  const size_t steps = steps_of(log).size();
  EXPECT_GE(steps, 1u);
  EXPECT_NE(
      exception.err.find("softamp train: the state after " + std::to_string(steps) + " steps is kept in " + state),
      std::string::npos)
      << exception.err;
  const Outcome again = run_softamp(train + diverging + "--quiet --resume " + state);
  EXPECT_EQ(again.code, 3) << "from there to the same exception: " << again.err;
}

TEST(Train, AClosedPipeStopsItAsASignalDoes) {
  const TemporaryFolder folder;
  const std::string state = folder.file("a.npz"), log = folder.file("log"), whole = folder.file("whole");
  const std::string train = "train " + kTinyTraining + kHalf + "--set evaluate=false --set epochs=40 ";
  // run_shell's own code is that of the reader.
  const auto code_of = [&](const std::string& before, const std::string& arguments, const std::string& reader) {
    run_shell("{ " + before + "'" SOFTAMP_PROGRAM "' " + arguments + " 2> " + folder.file("err") + "; echo $? > " +
              folder.file("code") + "; } | " + reader);
    return read_text(folder.file("code"));
  };
  ASSERT_EQ(run_softamp(train + "--quiet --log " + whole).code, 0);
  EXPECT_EQ(code_of("", train + "--log " + log + " --checkpoint " + state, "head -n 1 > /dev/null"), "141\n");
  EXPECT_NE(read_text(folder.file("err")).find("continue with --resume " + state), std::string::npos);
  EXPECT_LT(steps_of(log).size(), 320u);
  ASSERT_EQ(run_softamp(train + "--quiet --log " + log + " --resume " + state).code, 0);
  EXPECT_EQ(steps_of(log), steps_of(whole));
  // At the last line, too.
  EXPECT_EQ(code_of("sleep 0.2; ", train + "--set steps=9", "true"), "141\n");
  EXPECT_EQ(read_text(folder.file("err")).find("cannot write"), std::string::npos);
}

TEST(Train, SettingsArePrintedWhenTheInputIsGood) {
  const TemporaryFolder folder;
  write_text(folder.file("not.npz"), "not an archive");
  for (const std::string& arguments :
       {"--data " + folder.file("none"), "--data " + folder.path().string(),
        kTinyTraining + "--resume " + folder.file("not.npz"), kTinyTraining + "--resume " + folder.file("none.npz"),
        kTinyTraining + "--log " + folder.file("no/such/log"), "--find-loss-scale --data " + folder.file("none")}) {
    const Outcome o = run_softamp("train " + arguments);
    EXPECT_EQ(o.code, 2) << arguments;
    EXPECT_EQ(o.err.find("\"network\""), std::string::npos) << arguments << ": " << o.err;
  }
}

// tests: K23
TEST(Train, TrainsUnderEveryMechanism) {  // MIXED_PRECISION K23: the loss scale of each
  const struct {
    std::string options, mechanism, loss_scale;
  } rows[] = {{"--tensorflow", "tensorflow=2.3", "tensorflow"},
              {"--tensorflow=2019 --dtype bf16", "tensorflow=2019,dtype=bfloat16", "tensorflow"},
              {"--recipe basic", "recipe=basic", "none"},
              {"--recipe full --dtype fp16", "recipe=full,dtype=float16", "none"},
              {"--policy mixed_float16", "policy=mixed_float16", "keras"},
              {"--level O1", "level=O1", "none"},
              {"--mechanism level=O2", "level=O2", "mindspore"},
              {"--level O3 --set loss_scale=64", "level=O3", "64"}};
  for (const auto& row : rows) {
    const Outcome o = run_softamp("train " + kTinyTraining + "--set steps=2 --json " + row.options);
    ASSERT_EQ(o.code, 0) << row.options << o.err;
    EXPECT_NE(o.err.find("softamp train: mechanism " + row.mechanism + ": "), std::string::npos) << o.err;
    const json run = json::parse(o.out);
    EXPECT_EQ(run["settings"]["mechanism"], row.mechanism);
    EXPECT_EQ(run["settings"]["loss_scale"], row.loss_scale);
    EXPECT_EQ(run["settings"]["behaviour"], "off");
    EXPECT_EQ(run["settings"]["preset"], "ieee");
    EXPECT_EQ(run["mechanism"]["mechanism"], row.mechanism);
    EXPECT_GT(run["mechanism"]["low_share"], 0.1);
    EXPECT_GT(run["mechanism"]["casts"], 5);
  }
  const json none = json::parse(run_softamp("train --quiet --json --set steps=1 " + kTinyTraining).out);
  EXPECT_FALSE(none.contains("mechanism") || none["settings"].contains("mechanism"));
  EXPECT_EQ(json::parse(run_softamp("train --print-settings").out)["mechanism"], "none");
}

TEST(Train, DrawsTheLossCurve) {
  const TemporaryFolder folder;
  const Outcome o = run_softamp("train " + kTinyTraining + "--set steps=4 --quiet --plot " + folder.file("loss.svg"));
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_NE(read_text(folder.file("loss.svg")).find("<svg"), std::string::npos);
}

TEST(Train, EveryComplaintNamesValuePlaceAndWhatWasExpected) {
  const TemporaryFolder folder;
  write_text(folder.file("bad.json"), "{\n  \"batch_size\": 8,\n  \"lerning_rate\": 1}");
  write_text(folder.file("cut.json"), "{\"batch_size\": 8,");
  write_text(folder.file("not.npz"), "not an archive");
  write_text(folder.file("empty.json"), "");
  const std::string recipe = folder.file("recipe.json"), good = folder.file("good.json");
  write_text(recipe, R"({"allowlist": ["MatMul"]})");
  write_text(good, "{}");
  const struct {
    std::string arguments, message;
  } rows[] = {
      {folder.file("bad.json"), "bad.json: line 3: 'lerning_rate' is not a setting. Did you mean 'learning_rate'?"},
      {folder.file("cut.json"), "cut.json: line 1, column "},
      {folder.file("empty.json"), "empty.json: line 1, column 1: expected a value"},
      {folder.file("none.json"), "none.json: No such file or directory; expected a JSON file of training settings"},
      {"--set lerning_rate=1", "--set: 'lerning_rate' is not a setting. Did you mean 'learning_rate'?"},
      {"--set batch_size", "--set: 'batch_size': expected KEY=VALUE"},
      {"--set batch_size=0", "--set: 'batch_size' is 0; expected 1..1048576"},
      {"--set batch_size=many", "--set: 'batch_size'"},
      {"--set learning_rate=-0.01", "--set: 'learning_rate' is -0.01"},
      {"--set precision=float17", "float17"},
      {"--set hyperparameters=fp8", "--set: 'hyperparameters' is 'fp8'; expected float16, bfloat16 or float32"},
      {"--set network=resnet9", "6N+2 (8, 14, 20, 26)"},
      {"--set fold_scale_into_rate=true --set optimizer=adam", "adam is not linear"},
      {"--data " + folder.file("none"), folder.file("none")},
      {kTinyTraining + "--resume " + folder.file("not.npz"), "not.npz"},
      {kTinyTraining + "--plot loss.gif", "plot 'loss.gif': expected a file name that ends in .svg, .png or .pdf"},
      {kTinyTraining + "--set steps=1 --log " + folder.file("no/such/log"), "no/such/log"},
      {"--tensorflow --level O2", "--tensorflow and --level at once; expected one mechanism"},
      {"--dtype fp16", "--dtype: 'fp16': expected it with a mechanism"},
      {"--level O7", "--level: mechanism 'level=O7': "},
      {"--mechanism tensorfow", "nearest: tensorflow"},
      {"--policy mixed_float16 --set precision=mixed",
       "'mechanism' is 'policy=mixed_float16', but 'precision' is 'mixed'"},
      {"--recipe " + folder.file("empty.json"), "empty.json"},
      {"--recipe " + recipe + " --log " + recipe, "is the recipe that is read; expected another file"},
      {good + " --log " + good, "--log: '" + good + "' is the file of settings; expected another file"},
      {"--log a.npz --checkpoint ./a.npz", "--checkpoint: './a.npz' is the file of --log; expected another file"},
      {"--log a.npz --resume a.npz", "--log: 'a.npz' is the checkpoint of --resume; expected another file"},
      {"--treads 2", "unknown option '--treads'; nearest: --threads"},
  };
  for (const auto& row : rows) expect_complaint("train --quiet", row.arguments, row.message);
}

// tests: G40
TEST(Train, LostUpdatesAreWarnedOfAndCounted) {
  const TemporaryFolder folder;
  const std::string tiny = "train " + kTinyTraining + "--set evaluate=false --steps 4 --lost-updates ",
                    plain = tiny + "--set precision=float16 --set optimizer=sgd --set learning_rate=0.001 ",
                    log = folder.file("log");
  const Outcome o = run_softamp(plain + "--json --log " + log);
  ASSERT_EQ(o.code, 0) << o.err;
  // The warning is of the first step that loses half of a variable's updates, and of its largest share; the document
  // has the sums of the log's lines.
  const std::vector<json> steps = steps_of(log);
  ASSERT_EQ(steps.size(), 4u);
  std::string warning;
  std::map<std::string, std::pair<int64_t, int64_t>> sums;
  for (const json& step : steps) {
    double worst = 0;
    std::string text;
    ASSERT_GT(step["lost_updates"].size(), 3u);
    for (const auto& [name, counts] : step["lost_updates"].items()) {
      const int64_t moving = counts["moving"], lost = counts["lost"];
      EXPECT_GE(moving, lost);
      sums[name].first += moving;
      sums[name].second += lost;
      const double share = moving ? static_cast<double>(lost) / static_cast<double>(moving) : 0;
      if (warning.empty() && share > 0.5 && share >= worst)  // lines are sorted by name here: equal shares count alike
        worst = share, text = "step " + step["step"].dump() + ": rounding to nearest loses ";
    }
    if (warning.empty()) warning = text;
  }
  ASSERT_NE(warning, "");
  const size_t at = o.err.find("softamp train: warning: " + warning);
  EXPECT_NE(at, std::string::npos) << warning << "\n" << o.err;
  EXPECT_EQ(o.err.find("rounding to nearest loses"), o.err.rfind("rounding to nearest loses"));  // once
  const json totals = json::parse(o.out)["lost_updates"];
  ASSERT_EQ(totals.size(), sums.size());
  for (const json& t : totals) {
    const std::string name = t["variable"];
    EXPECT_EQ(t["moving"], sums[name].first) << t;
    EXPECT_EQ(t["lost"], sums[name].second) << t;
    EXPECT_EQ(t["dtype"], "float16");
    EXPECT_NE(o.err.find("softamp train: " + name + ' '), std::string::npos) << t;
  }
  const std::string masters =
      run_softamp(tiny + "--set precision=mixed --set optimizer=sgd --set learning_rate=0.001").err;
  EXPECT_EQ(masters.find("rounding to nearest loses"), std::string::npos) << masters;
  EXPECT_NE(masters.find("  float32  "), std::string::npos) << masters;
  expect_complaint("train", kTinyTraining + "--lost-updates --set separate_roundings=true",
                   "lost updates are counted of updates that are rounded once");
  expect_complaint("train --quiet", kTinyTraining + "--lost-updates --find-loss-scale",
                   "--lost-updates: --find-loss-scale does not train");
}

// tests: G23
TEST(Train, FindsTheHighestLossScale) {
  const std::string mixed = "train --quiet --set precision=mixed " + kTinyTraining;
  const Outcome found = run_softamp(mixed + "--find-loss-scale --json");
  ASSERT_EQ(found.code, 0) << found.err;
  const double scale = json::parse(found.out)["max_loss_scale"];
  EXPECT_EQ(json::parse(found.out)["overflows"], 2 * scale);
  // With overflow as an exception that scale passes the first step, and twice as much does not.
  const std::string step = mixed + "--set steps=1 --set behaviour=oflo --set loss_scale=";
  EXPECT_EQ(run_softamp(step + std::to_string(scale)).code, 0);
  EXPECT_EQ(run_softamp(step + std::to_string(2 * scale)).code, 3);
  EXPECT_NE(run_softamp("train --quiet " + kTinyTraining + "--find-loss-scale").out.find("where the search ends"),
            std::string::npos);
  const Outcome refused = run_softamp(mixed + "--find-loss-scale --log a.jsonl");
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("--log: 'a.jsonl': --find-loss-scale does not train"), std::string::npos) << refused.err;
}

TEST(Train, SaysWhatBecameOfTheRun) {
  const TemporaryFolder folder;
  const std::string run = "train --set generated=true --set train_images=512 --set test_images=200 --set batch_size=8 ";
  const Outcome o = run_softamp(run + "--set epochs=3 --csv " + folder.file("s.csv"));
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_NE(o.err.find("softamp train: verdict: trains: "), std::string::npos) << o.err;
  EXPECT_NE(o.err.find("; guessing one of 10 has 35 or more right in at most one of 1000 cases; the loss ends at "),
            std::string::npos)
      << o.err;
  const std::string csv = read_text(folder.file("s.csv"));
  EXPECT_EQ(
      csv.find(
          "step,loss,applied,scale_before,scale_after,learning_rate,nonfinite,flags,replica_drift,gradient_norm\n0,2."),
      0u)
      << csv;
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + 192);
  EXPECT_NE(csv.find(",,\n1,"), std::string::npos) << "no norm was asked for";
  const Outcome normed = run_softamp(run + "--quiet --steps 1 --gradient-norms --csv " + folder.file("n.csv"));
  EXPECT_EQ(normed.code, 0) << normed.err;
  const std::string line = read_text(folder.file("n.csv"));
  EXPECT_GT(std::stod(line.substr(line.rfind(',') + 1)), 0.0) << line;
  const json gone = json_of(run + "--set epochs=1 --set learning_rate=1e12 --json --quiet");
  EXPECT_EQ(gone["verdict"]["outcome"], "diverged");
  EXPECT_EQ(
      gone["verdict"]["text"].get<std::string>().find("at step " + gone["verdict"]["nonfinite"]["step"].dump() + ": "),
      0u);
  // An exception ends the run; the steps before it are there.
  const Outcome stopped = run_softamp(run +
                                      "--quiet --set precision=float16 --set behaviour=oflo --set loss_scale=2^60 "
                                      "--csv " +
                                      folder.file("x.csv"));
  EXPECT_EQ(stopped.code, 3);
  EXPECT_EQ(read_text(folder.file("x.csv")).find("step,loss,"), 0u);
  // All steps skipped: the scale begins at 2^24 and has not fallen far enough when the run ends.
  const Outcome idle = run_softamp(run +
                                   "--steps 5 --set precision=float16 --set behaviour=nanoo --set evaluate=false "
                                   "--set learning_rate=1e-7 --set loss_scale=mindspore --json");
  EXPECT_EQ(json::parse(idle.out)["verdict"]["outcome"], "no update") << idle.err;
  EXPECT_NE(idle.err.find("softamp train: skipped: 5 of 5 steps, in which gradients were not finite\n"),
            std::string::npos)
      << idle.err;
  const Outcome refused = run_softamp(run + "--find-loss-scale --csv a.csv");
  EXPECT_NE(refused.err.find("--csv: 'a.csv': --find-loss-scale does not train"), std::string::npos) << refused.err;
}

TEST(Train, AResumedRunGoesOnWithItsTable) {
  const TemporaryFolder folder;
  const std::string run = "train --quiet " + kTinyTraining + "--set epochs=2 ", csv = folder.file("s.csv");
  ASSERT_EQ(run_softamp(run + "--csv " + folder.file("whole.csv")).code, 0);
  const std::string begun = run + "--steps 5 --csv " + csv + " --checkpoint " + folder.file("c.npz");
  ASSERT_EQ(run_softamp(begun).code, 0);
  ASSERT_EQ(run_softamp(run + "--csv " + csv + " --resume " + folder.file("c.npz")).code, 0);
  EXPECT_EQ(read_text(csv), read_text(folder.file("whole.csv"))) << "the lines of steps 0 to 4 stay, those after go";
  ASSERT_EQ(run_softamp(run + "--csv " + csv + " --resume " + folder.file("c.npz")).code, 0);
  EXPECT_EQ(read_text(csv), read_text(folder.file("whole.csv"))) << "of a table that was longer";
  write_text(csv, "mine\n");
  const Outcome refused = run_softamp(run + "--csv " + csv + " --resume " + folder.file("c.npz"));
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("--csv: '" + csv + "' is no table of a run's steps"), std::string::npos) << refused.err;
  EXPECT_EQ(read_text(csv), "mine\n");
}

TEST(Train, FirstWeightsComeFromSafetensors) {
  const TemporaryFolder folder;
  const std::string first = folder.file("first.npz"), tensors = folder.file("first.safetensors");
  const std::string run = "train --quiet --json " + kTinyTraining + "--set steps=2 ";
  const json plain = json_of(run + "--write-initial " + first);
  const std::map<std::string, Tensor> weights = load_npz(first);
  const auto write = [&](const std::string& left_out, safetensors::ElementType type) {
    std::vector<safetensors::Entry> entries;
    for (const auto& [name, tensor] : weights)
      if (name != left_out)
        entries.push_back({.name = name, .type = type, .shape = {tensor.shape().begin(), tensor.shape().end()}});
    safetensors::Writer writer(tensors, entries);
    for (const safetensors::Entry& e : writer.header().tensors)
      writer.write(e.name, {static_cast<const std::byte*>(weights.at(e.name).data()), e.bytes()});
    writer.commit();
  };
  write("", safetensors::ElementType::kF32);
  EXPECT_EQ(json_of(run + "--set seed=9 --initial " + tensors)["weight_hashes"], plain["weight_hashes"]);
  write("", safetensors::ElementType::kI32);
  EXPECT_NE(run_softamp(run + "--initial " + tensors).err.find("a tensor of I32; expected F16, BF16, F32 or F64"),
            std::string::npos);
  write(weights.begin()->first, safetensors::ElementType::kF32);
  EXPECT_NE(run_softamp(run + "--initial " + tensors).err.find("no array for '" + weights.begin()->first + "'"),
            std::string::npos);
}

// Each warning of a hyperparameter names what cures: the run that takes the advice ends better, without that warning.
TEST(Train, WhatAWarningNamesCures) {
  const std::string run =
      "train --json --set generated=true --set train_images=512 --set test_images=64 --set "
      "batch_size=16 --set epochs=2 --set loss_scale=1 ";
  const Slice slice(4);
  for (uint64_t number = 0;
       const std::string asked :
       {"--set precision=float16 --set optimizer=adam ", "--set precision=float16 --set optimizer=adamw ",
        "--set precision=bfloat16 --set optimizer=adam ",
        "--set precision=float16 --set optimizer=rmsprop --set stochastic_rounding=on --set epochs=6 "}) {
    if (!slice.is(number++)) continue;
    SCOPED_TRACE(asked);
    const Outcome ill = run_softamp(run + asked);
    ASSERT_EQ(ill.code, 0) << ill.err;
    std::set<std::string> cures;
    for (size_t at = 0; (at = ill.err.find("; to cure it: ", at)) != std::string::npos;) {
      at += 14;
      cures.insert(ill.err.substr(at, ill.err.find('\n', at) - at));
    }
    EXPECT_FALSE(cures.empty()) << ill.err;
    const auto loss = [](const json& summary) {
      const json& last = summary["epoch_losses"].back();
      return last.is_number() ? last.get<double>() : HUGE_VAL;
    };
    for (const std::string& cure : cures) {
      SCOPED_TRACE(cure);
      const Outcome cured = run_softamp(run + asked + cure);
      ASSERT_EQ(cured.code, 0) << cured.err;
      EXPECT_LT(loss(json::parse(cured.out)), loss(json::parse(ill.out)));
      EXPECT_EQ(cured.err.find("to cure it: "), std::string::npos) << cured.err;
    }
  }
}

TEST(Train, FirstWeightsComeFromFilesAndGoThere) {
  const TemporaryFolder folder;
  const std::string first = folder.file("first.npz"), batches = folder.file("batches");
  const std::string run = "train " + kTinyTraining + "--set steps=2 ";
  const Outcome o = run_softamp(run + "--write-initial " + first + " --write-batches " + batches);
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_TRUE(std::filesystem::exists(batches + "/images.npy"));
  EXPECT_TRUE(std::filesystem::exists(batches + "/labels.npy"));
  const json plain = json_of(run + "--json --quiet");
  const json from = json_of(run + "--initial " + first + " --set seed=9 --json --quiet");
  EXPECT_EQ(from["weight_hashes"], plain["weight_hashes"]);
  EXPECT_EQ(from["settings"]["initial"], first);
  EXPECT_NE(
      run_softamp(run + "--initial " + first + " --set precision=float16")
          .err.find("softamp train: 6 of the arrays in " + first + " are rounded to the dtype of their variable\n"),
      std::string::npos);
  EXPECT_NE(run_softamp(run + "--initial " + first + " --compare emu").out.find("all equal"), std::string::npos);
  for (const auto& [arguments, words] : std::initializer_list<std::pair<std::string, std::string>>{
           {"--initial " + batches + "/images.npy",
            "images.npy: is an array of NumPy (.npy); expected an archive of NumPy (.npz)"},
           {"--initial " + first + " --set network=lenet5", first + ": "},
           {"--initial " + first + " --write-initial " + first, "is the file of first weights; expected another file"},
           {"--find-loss-scale --write-batches b", "--write-batches: 'b': --find-loss-scale does not train"}}) {
    const Outcome refused = run_softamp(run + arguments);
    EXPECT_EQ(refused.code, 2) << arguments;
    EXPECT_NE(refused.err.find(words), std::string::npos) << refused.err;
  }
}

}  // namespace
}  // namespace softamp::test
