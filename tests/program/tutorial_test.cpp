// The tutorial's three programs: their command lines, what they print, how they end, and that they stop and go on.
#include "softamp/train/run_log.h"
#include "tests/program/process.h"
#include "tests/program/run_log.h"
#include "tests/program/signalled.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <vector>

namespace softamp::test {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

const std::string kPrograms = SOFTAMP_BINARY_DIR "/examples/tutorial/";
/// Few, small steps. A batch of 2 keeps the networks quick; their sizes are the tutorial's.
const std::string kTinyTutorial = " --generated --train-images 8 --batch-size 2 ";

class Tutorial : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"stochastic_rounding", "float32_parameter_updates", "ipuestimator_fp16"})
      if (!fs::exists(kPrograms + name)) GTEST_SKIP() << "the programs of examples/tutorial are not built";
  }
  Outcome run(const std::string& line) const { return run_shell(kPrograms + line); }
  std::string file(const std::string& name) const { return folder_.file(name); }
  /// Settings that a command line amounts to.
  json settings(const std::string& line) const { return json_of(run(line + " --print-settings")); }
  TemporaryFolder folder_;
};

bool ends_well(const Outcome& o) {
  const std::string last = "Program ran successfully\n";
  return o.code == 0 && o.out.size() >= last.size() && o.out.substr(o.out.size() - last.size()) == last;
}

// tests: G44, X7
TEST_F(Tutorial, DefaultsAreTheTutorials) {
  // TUTORIAL G44, X7
  const json a = settings("stochastic_rounding float16 8");
  EXPECT_EQ(a["network"], "resnet8");
  EXPECT_EQ(a["optimizer"], "momentum");
  EXPECT_EQ(a["momentum"], 0.9);
  EXPECT_EQ(a["fold_scale_into_rate"], true);
  EXPECT_EQ(a["stochastic_rounding"], "on");
  EXPECT_EQ(a["behaviour"], "off");
  EXPECT_EQ(a["warmup_epochs"], 1);
  const json b = settings("float32_parameter_updates mixed");
  const json estimator = settings("ipuestimator_fp16 mixed");
  for (const json& s : {b, estimator}) {
    EXPECT_EQ(s["network"], "fashion_cnn");
    EXPECT_EQ(s["optimizer"], "adam");
    EXPECT_EQ(s["epsilon"], 1e-4);
    EXPECT_EQ(s["stochastic_rounding"], "off");
    EXPECT_EQ(s["behaviour"], "inv div0 oflo nanoo");
    EXPECT_EQ(s["loss_in_float32"], true);
  }
  EXPECT_EQ(b["warmup_epochs"], 1);
  EXPECT_EQ(b["shuffle"], false);
  EXPECT_EQ(estimator["warmup_epochs"], 0);
  EXPECT_EQ(estimator["shuffle"], true);
  for (const json& s : {a, b, estimator}) {
    EXPECT_EQ(s["batch_size"], 32);
    EXPECT_EQ(s["epochs"], 5);
    EXPECT_EQ(s["loss_scale"], "256");
    EXPECT_EQ(s["learning_rate"], 0.01);
    EXPECT_EQ(s["partials"], "float");
    EXPECT_EQ(s["evaluate"], false);
  }
}

// tests: G44, X7
TEST_F(Tutorial, OptionsReachTheSettings) {
  // TUTORIAL G44, X7
  const json a = settings(
      "stochastic_rounding float32 26 --batch-size 16 --epochs 3 --loss-scaling-factor 1024 --learning-rate 0.5 "
      "--use-float16-partials --disable-stochastic-rounding");
  EXPECT_EQ(a["network"], "resnet26");
  EXPECT_EQ(a["precision"], "float32");
  EXPECT_EQ(a["batch_size"], 16);
  EXPECT_EQ(a["epochs"], 3);
  EXPECT_EQ(a["loss_scale"], "1024");
  EXPECT_EQ(a["learning_rate"], 0.5);
  EXPECT_EQ(a["partials"], "half");
  EXPECT_EQ(a["stochastic_rounding"], "off");
  EXPECT_EQ(a["backend"], "emu");
  const json b =
      settings("ipuestimator_fp16 float32 --no-shuffle --seed 7 --behaviour off --loss-dtype compute --backend auto");
  EXPECT_EQ(b["backend"], "auto");
  EXPECT_EQ(b["shuffle"], false);
  EXPECT_EQ(b["seed"], 7);
  EXPECT_EQ(b["behaviour"], "off");
  EXPECT_EQ(b["loss_in_float32"], false);
  const json c = settings(
      "float32_parameter_updates mixed --seed 7 --set seed=8 --set stochastic_rounding=on --set chip=b200 --set "
      "matmul_partials=half --set use_stable_statistics=true --set accumulator=fp32_chain");
  EXPECT_EQ(c["seed"], 8);
  EXPECT_EQ(c["chip"], "nvidia_sm100");
  EXPECT_EQ(c["random_bits"], 13);
  EXPECT_EQ(c["matmul_partials"], "half");
  EXPECT_EQ(c["convolution_partials"], nullptr);
  EXPECT_EQ(c["use_stable_statistics"], true);
  EXPECT_EQ(c["accumulator"], "fp32_chain");
}

TEST_F(Tutorial, HelpNamesEveryOptionWithItsDefault) {
  for (const std::string name : {"stochastic_rounding", "float32_parameter_updates", "ipuestimator_fp16"}) {
    const Outcome o = run(name + " --help");
    EXPECT_EQ(o.code, 0);
    for (const char* text : {"--batch-size", "[=32]", "--epochs", "[=5]", "--loss-scaling-factor", "[=256]",
                             "--learning-rate", "[=0.01]", "--use-float16-partials", "--checkpoint", "--resume"})
      EXPECT_NE(o.out.find(text), std::string::npos) << name << ": " << text;
    const bool a = name == "stochastic_rounding";
    EXPECT_EQ(o.out.find("--disable-stochastic-rounding") != std::string::npos, a);
    EXPECT_EQ(o.out.find("DEPTH") != std::string::npos, a);
    EXPECT_NE(o.out.find(a ? "float16 or float32" : "mixed or float32"), std::string::npos);
  }
}

// tests: G44
TEST_F(Tutorial, ADepthThatIsNot6NPlus2EndsWithOne) {
  // TUTORIAL G44
  for (const std::string depth : {"9", "2", "0", "-4", "27"}) {
    const Outcome o = run("stochastic_rounding float16 " + depth);
    EXPECT_EQ(o.code, 1) << depth;
    EXPECT_NE(o.err.find("6N+2 (8, 14, 20, 26)"), std::string::npos) << o.err;
    EXPECT_EQ(o.out, "");
  }
}

// tests: G44
TEST_F(Tutorial, OtherUsageErrorsEndWithTwo) {
  // TUTORIAL G44
  const struct {
    std::string line, message;
  } rows[] = {
      {"stochastic_rounding float16", "DEPTH"},
      {"stochastic_rounding float16 eight", "eight"},
      {"stochastic_rounding mixed 8", "mixed"},
      {"float32_parameter_updates", "PRECISION"},
      {"float32_parameter_updates float16", "float16"},
      {"ipuestimator_fp16 mixed 8", "8"},
      {"float32_parameter_updates mixed --disable-stochastic-rounding", "--disable-stochastic-rounding"},
      {"float32_parameter_updates mixed --learning-rate -0.01", "'learning_rate' is -0.01"},
      {"float32_parameter_updates mixed --batch-size 0", "'batch_size' is 0"},
      {"float32_parameter_updates mixed --loss-scaling-factor 0", "loss_scal"},
      {"float32_parameter_updates mixed --data " + file("none"), file("none")},
      {"float32_parameter_updates mixed --plot p.gif", "p.gif"},
      {"ipuestimator_fp16 mixed --generated --resume " + file("none.npz"), "none.npz"},
      {"ipuestimator_fp16 mixed --checkpoint " + file("none/a.npz"), "there is no folder '" + file("none") + "'"},
      {"ipuestimator_fp16 mixed --plot " + file("none/a.svg"), "'" + file("none/a.svg") + "' cannot be written"},
      {"ipuestimator_fp16 mixed --backend tpu", "'backend' is 'tpu'; expected emu, cuda or auto"},
      {"ipuestimator_fp16 mixed --evaluate-every 1", "--evaluate-every"},
      {"ipuestimator_fp16 mixed" + kTinyTutorial + "--replicas 8", "has no whole step of 8 batches of 2"},
      {"ipuestimator_fp16 mixed --set sed=1", "--set: 'sed' is not a setting. Did you mean 'seed'?"},
      {"ipuestimator_fp16 mixed --set seed", "--set: 'seed': expected KEY=VALUE"},
      {"ipuestimator_fp16 mixed --seed -1", "'-1': expected a whole number, 0 or more"},
      {"stochastic_rounding float16 8 --checkpoint-every -1", "'-1': expected a whole number, 0 or more"},
  };
  for (const auto& row : rows) {
    const Outcome o = run(row.line);
    EXPECT_EQ(o.code, 2) << row.line;
    EXPECT_NE(o.err.find(row.message), std::string::npos) << row.line << ": " << o.err;
    EXPECT_EQ(o.err.find(row.line.substr(0, row.line.find(' ')) + ": "), 0u) << o.err;
    EXPECT_EQ(o.out.find("Program ran"), std::string::npos);
  }
}

// tests: G44
TEST_F(Tutorial, PrintsTheTutorialsLines) {
  // TUTORIAL G44
  for (const std::string line : {"stochastic_rounding float16 8", "float32_parameter_updates mixed"}) {
    const Outcome o = run(line + kTinyTutorial + "--epochs 2");
    EXPECT_TRUE(ends_well(o)) << o.out << o.err;
    std::istringstream in(o.out);
    std::vector<std::string> lines;
    for (std::string text; std::getline(in, text);) lines.push_back(text);
    ASSERT_EQ(lines.size(), 5u) << o.out;
    EXPECT_EQ(lines[0], "Executing warmup run...");
    for (const size_t epoch : {1u, 2u}) {
      EXPECT_EQ(lines[epoch].find("Average loss: "), 0u);
      EXPECT_NE(lines[epoch].find(" --- time so far "), std::string::npos);
    }
    EXPECT_EQ(lines[3].find("throughput "), 0u);
    EXPECT_NE(lines[3].find(" images/s"), std::string::npos);
    EXPECT_NE(o.err.find("the generated images"), std::string::npos) << o.err;
  }
  const Outcome estimator = run("ipuestimator_fp16 mixed" + kTinyTutorial + "--epochs 2");
  EXPECT_EQ(estimator.out, "Program ran successfully\n") << estimator.err;
  const std::string& said = estimator.err;
  EXPECT_NE(said.find("INFO: step 4, loss "), std::string::npos) << said;
  EXPECT_NE(said.find("INFO: step 8, loss "), std::string::npos) << said;
  const Outcome quiet =
      run("ipuestimator_fp16 float32" + kTinyTutorial + "--epochs 1 --quiet --evaluate --test-images 4");
  EXPECT_EQ(quiet.err, "");
  EXPECT_EQ(quiet.out.find("Evaluation: "), 0u) << quiet.out;
  EXPECT_TRUE(ends_well(quiet));
}

TEST_F(Tutorial, PrintsAndEnqueuesTensors) {
  const Outcome o = run("float32_parameter_updates mixed" + kTinyTutorial +
                        "--quiet --print loss --enqueue loss --outfeed " + file("steps.npz"));
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_NE(o.err.find("float32_parameter_updates: step 0: loss: "), std::string::npos) << o.err;
  EXPECT_TRUE(fs::exists(file("steps.npz")));
  EXPECT_EQ(run("ipuestimator_fp16 mixed" + kTinyTutorial + "--print loss").code, 2) << "its loop is the estimator's";
}

// tests: G45
TEST_F(Tutorial, TheEstimatorsStepsAreThoseOfTheDirectLoop) {
  // TUTORIAL G45. One epoch: the direct loop's is its warm-up, the estimator's its first.
  for (const std::string precision : {"mixed", "float32"}) {
    ASSERT_EQ(
        run("float32_parameter_updates " + precision + kTinyTutorial + "--shuffle --steps 4 --log " + file("a")).code,
        0);
    ASSERT_EQ(run("ipuestimator_fp16 " + precision + kTinyTutorial + "--steps 4 --log " + file("b")).code, 0);
    std::vector<json> a = steps_of(file("a")), b = steps_of(file("b"));
    ASSERT_EQ(a.size(), 4u);
    ASSERT_EQ(b.size(), 4u);
    for (size_t s = 0; s < 4; ++s) EXPECT_EQ(a[s]["loss"], b[s]["loss"]) << precision << ", step " << s;
  }
}

// tests: G46
TEST_F(Tutorial, AMechanismTakesThePlaceOfTheMethod) {
  const json a = settings("stochastic_rounding float32 8 --level O2");
  EXPECT_EQ(a["mechanism"], "level=O2");
  EXPECT_EQ(a["loss_scale"], "mindspore");
  EXPECT_EQ(a["behaviour"], "off");
  EXPECT_EQ(a["preset"], "ieee");
  EXPECT_EQ(a["fold_scale_into_rate"], false);
  EXPECT_EQ(a["loss_in_float32"], true);
  const json b = settings("float32_parameter_updates float32 --recipe full --dtype fp16 --loss-scaling-factor 64");
  EXPECT_EQ(b["mechanism"], "recipe=full,dtype=float16");
  EXPECT_EQ(b["loss_scale"], "64");
  EXPECT_EQ(settings("ipuestimator_fp16 float32 --mechanism none")["behaviour"], "inv div0 oflo nanoo");
  // TUTORIAL G46. The estimator's loop and the direct one take the same steps.
  for (const std::string mechanism : {"--tensorflow", "--policy mixed_float16"}) {
    const std::string line = " float32" + kTinyTutorial + "--steps 4 --quiet " + mechanism + " --log ";
    ASSERT_EQ(run("float32_parameter_updates --shuffle" + line + file("a")).code, 0);
    ASSERT_EQ(run("ipuestimator_fp16" + line + file("b")).code, 0);
    const std::vector<json> direct = steps_of(file("a")), estimator = steps_of(file("b"));
    ASSERT_EQ(direct.size(), 4u);
    for (size_t s = 0; s < 4; ++s) EXPECT_EQ(direct[s]["loss"], estimator[s]["loss"]) << mechanism << ", step " << s;
  }
  const Outcome both = run("float32_parameter_updates mixed --tensorflow");
  EXPECT_EQ(both.code, 2);
  EXPECT_NE(both.err.find("'mechanism' is 'tensorflow=2.3', but 'precision' is 'mixed'"), std::string::npos)
      << both.err;
  const Outcome two = run("float32_parameter_updates float32 --tensorflow --level O2");
  EXPECT_EQ(two.code, 2);
  EXPECT_NE(two.err.find("--tensorflow and --level: expected one mechanism"), std::string::npos) << two.err;
}

TEST_F(Tutorial, ASignalStopsAfterTheStepAndResumingIsAsIfNeverStopped) {
  for (const std::string program : {"float32_parameter_updates mixed", "ipuestimator_fp16 mixed"}) {
    const std::string log = file(program.substr(0, 3)), state = log + ".npz";
    const std::string line = program + kTinyTutorial + "--epochs 5 ";
    ASSERT_EQ(run(line + "--quiet --log " + log + ".whole").code, 0);
    const std::string stopped = "exec " + kPrograms + line + "--log " + log + " --checkpoint " + state + " 2> " + log +
                                ".err > " + log + ".out";
    const auto steps = [&] {
      const std::string text = read_text(log);
      return std::count(text.begin(), text.end(), '\n') - 1;
    };
    const int status = status_after(SIGINT, stopped, [&] { return steps() >= 2; });
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 128 + SIGINT) << status << read_text(log + ".err");
    EXPECT_NE(read_text(log + ".err").find("continue with --resume " + state), std::string::npos);
    EXPECT_EQ(read_text(log + ".out").find("Program ran"), std::string::npos);
    const size_t before = steps_of(log).size(), all = steps_of(log + ".whole").size();
    ASSERT_EQ(run(line + "--quiet --log " + log + ".rest --resume " + state).code, 0);
    EXPECT_EQ(steps_of(log + ".rest").size(), all - before) << "only what was left";
    const Outcome rest = run(line + "--quiet --log " + log + " --resume " + state);
    EXPECT_TRUE(ends_well(rest)) << rest.err;
    EXPECT_EQ(steps_of(log), steps_of(log + ".whole")) << program;
    const Outcome other = run(line + "--seed 1 --resume " + state);
    EXPECT_EQ(other.code, 2) << "a checkpoint of other settings";
    EXPECT_NE(other.err.find(state), std::string::npos) << other.err;
  }
}

TEST_F(Tutorial, TheEstimatorsLogGoesOnFromAnyCheckpoint) {
  const std::string line = "ipuestimator_fp16 mixed" + kTinyTutorial + "--quiet ", log = file("log"),
                    state = file("s.npz");
  ASSERT_EQ(run(line + "--steps 2 --checkpoint " + state).code, 0);
  ASSERT_EQ(run(line + "--steps 6 --log " + log + " --resume " + state).code, 0);
  const std::vector<json> late = steps_of(log);
  ASSERT_EQ(late.size(), 4u);
  ASSERT_EQ(run(line + "--steps 6 --log " + log + " --resume " + state).code, 0);
  EXPECT_EQ(steps_of(log), late) << "lines after the checkpoint stand once";
  std::ofstream(log) << "my diary\n";
  const Outcome o = run(line + "--steps 6 --log " + log + " --resume " + state);
  EXPECT_EQ(o.code, 2);
  EXPECT_NE(o.err.find("it is not overwritten"), std::string::npos) << o.err;
  EXPECT_EQ(read_text(log), "my diary\n");
}

TEST_F(Tutorial, AKilledEstimatorGoesOn) {
  const std::string log = file("log"), state = file("s.npz"), whole = file("whole");
  const std::string line = "ipuestimator_fp16 mixed" + kTinyTutorial + "--quiet --epochs 10 --checkpoint-every 1 ";
  ASSERT_EQ(run(line + "--log " + whole).code, 0);
  for (const size_t steps : {1, 7}) {
    const int status = status_after(
        SIGKILL, "exec " + kPrograms + line + "--log " + log + " --checkpoint " + state + " > " + file("out"), [&] {
          const std::string text = read_text(log);
          return fs::exists(state) && static_cast<size_t>(std::count(text.begin(), text.end(), '\n')) > steps;
        });
    ASSERT_TRUE(WIFSIGNALED(status)) << status << "; it was to be killed before its end";
    ASSERT_LT(steps_of(log).size(), steps_of(whole).size());
    const Outcome rest = run(line + "--log " + log + " --checkpoint " + state + " --resume " + state);
    ASSERT_TRUE(ends_well(rest)) << rest.err;
    EXPECT_EQ(read_text(log), read_text(whole)) << "killed after " << steps;
    fs::remove(log);
    fs::remove(state);
  }
}

TEST_F(Tutorial, TheEstimatorsLogIsOneRunsAtATime) {
  const std::string log = file("log"), line = "ipuestimator_fp16 mixed" + kTinyTutorial + "--quiet --steps 1 --log ";
  write_text(log, "old\n");
  {
    const RunLog other(log);
    const Outcome o = run(line + log);
    EXPECT_EQ(o.code, 2);
    EXPECT_NE(o.err.find("the log: '" + log + "' is being written by process "), std::string::npos) << o.err;
  }
  EXPECT_EQ(read_text(log), "old\n");
  const Outcome both = run(line + log + " --checkpoint " + log);
  EXPECT_EQ(both.code, 2);
  EXPECT_NE(both.err.find("--log: '" + log + "' is the checkpoint; expected another file"), std::string::npos)
      << both.err;
  EXPECT_EQ(read_text(log), "old\n");
}

TEST_F(Tutorial, AFullDiskLosesNoLineOfTheEstimators) {
  const std::string log = file("log"), state = file("s.npz"), whole = file("whole");
  const std::string line = "ipuestimator_fp16 mixed" + kTinyTutorial + "--quiet ";
  ASSERT_EQ(run(line + "--steps 4 --log " + whole).code, 0);
  ASSERT_EQ(run(line + "--steps 2 --log " + log + " --checkpoint " + state).code, 0);
  // The log is made as long as a file may be, with room for a state below that.
  constexpr size_t kLargest = 8192 * 512;
  std::string text = read_text(log);
  text.insert(text.find("\n", text.find("{\"step\":0,")), kLargest - 100 - text.size(), ' ');
  write_text(log, text);
  const std::string goes_on = line + "--steps 4 --log " + log + " --checkpoint " + state + " --resume " + state;
  const Outcome full = run_shell("trap '' XFSZ; ulimit -f 8192; " + kPrograms + goes_on);
  EXPECT_EQ(full.code, 2);
  EXPECT_NE(full.err.find("the log: '" + log + "' cannot be written: File too large"), std::string::npos) << full.err;
  EXPECT_EQ(steps_of(log).size(), 2u) << "no part of a line";
  ASSERT_TRUE(ends_well(run(goes_on)));
  EXPECT_EQ(steps_of(log), steps_of(whole)) << "the line that the disk did not take is there";
}

TEST_F(Tutorial, TheEstimatorGoesOnWithNoLogThatLacksSteps) {
  const std::string log = file("log"), state = file("s.npz");
  const std::string line = "ipuestimator_fp16 mixed" + kTinyTutorial + "--quiet --log " + log;
  ASSERT_EQ(run(line + " --steps 3 --checkpoint " + state).code, 0);
  std::string text = read_text(log);
  const std::string cut = text.substr(0, text.find("{\"step\":2,") + 20);  // the last line is torn
  write_text(log, cut);
  const Outcome o = run(line + " --steps 4 --resume " + state);
  EXPECT_EQ(o.code, 2);
  EXPECT_NE(o.err.find(log + ": its last whole line is of step 1; expected the log of the run up to its checkpoint, "
                             "after 3 steps"),
            std::string::npos)
      << o.err;
  EXPECT_EQ(read_text(log), cut) << "it is not overwritten";
}

TEST_F(Tutorial, TheEstimatorKnowsItsImagesByTheirContents) {
  const auto images = [&](const std::string& name, char first) {
    const std::string folder = file(name) + "/";
    fs::create_directories(folder);
    for (const std::string part : {"train", "t10k"}) {
      const std::string count{0, 0, 0, 8};
      std::string pixels = std::string{0, 0, 8, 3} + count + std::string{0, 0, 0, 28, 0, 0, 0, 28}, labels;
      for (char i = 0; i < 8; ++i) {
        pixels += std::string(28 * 28, i == 0 && part == "train" ? first : static_cast<char>(7 * i));
        labels += i;
      }
      write_text(folder + part + "-images-idx3-ubyte", pixels);
      write_text(folder + part + "-labels-idx1-ubyte", std::string{0, 0, 8, 1} + count + labels);
    }
    return file(name);
  };
  const std::string a = images("a", 1), b = images("b", 1), state = file("s.npz");
  const std::string line = "ipuestimator_fp16 mixed --batch-size 2 --quiet --data ";
  ASSERT_EQ(run(line + a + " --steps 1 --checkpoint " + state).code, 0);
  EXPECT_EQ(run(line + b + " --steps 2 --resume " + state).code, 0) << "the same images elsewhere";
  images("a", 2);
  const Outcome other = run(line + a + " --steps 2 --resume " + state);
  EXPECT_EQ(other.code, 2) << "other images in the same place";
  EXPECT_NE(other.err.find(state + ": its training images have the hash "), std::string::npos) << other.err;
}

TEST_F(Tutorial, TheEstimatorsLastStateIsKept) {
  // Momentum and a high rate: the first step passes, a later one overflows.
  const std::string state = file("s.npz"), log = file("log");
  const Outcome o = run("ipuestimator_fp16 mixed" + kTinyTutorial + "--learning-rate 100 --quiet --log " + log +
                        " --checkpoint " + state);
  ASSERT_EQ(o.code, 3) << o.err;
  const size_t steps = steps_of(log).size();
  ASSERT_GE(steps, 1u);
  ASSERT_TRUE(fs::exists(state));
  EXPECT_EQ(
      run("ipuestimator_fp16 mixed" + kTinyTutorial + "--learning-rate 100 --quiet --log " + log + " --resume " + state)
          .code,
      3);
  EXPECT_EQ(steps_of(log).size(), steps) << "from there to the same exception";
}

TEST_F(Tutorial, TheEstimatorJudgesEveryTestImage) {
  const std::string line =
      " mixed --generated --train-images 8 --batch-size 8 --steps 1 --evaluate --test-images 5 --quiet --log ";
  ASSERT_EQ(run("ipuestimator_fp16" + line + file("a")).code, 0);
  ASSERT_EQ(run("float32_parameter_updates --shuffle" + line + file("b")).code, 0);
  const json a = lines_of(file("a")).back()["evaluation"], b = lines_of(file("b")).back()["evaluation"];
  EXPECT_EQ(a["images"], 5);
  EXPECT_EQ(a["correct"], b["correct"]);
}

TEST_F(Tutorial, AnExceptionStopsTheProgramWithTheReport) {
  const Outcome o = run("float32_parameter_updates mixed" + kTinyTutorial + "--loss-scaling-factor 1e30 --quiet");
  EXPECT_EQ(o.code, 3) << o.err;
  EXPECT_NE(o.err.find("$FP_STS: OFLO: 0x"), std::string::npos) << o.err;
  EXPECT_EQ(o.out.find("Program ran"), std::string::npos);
  EXPECT_EQ(run("ipuestimator_fp16 mixed" + kTinyTutorial + "--loss-scaling-factor 1e30").code, 3);
}

/// The invocations of the vendor's tests, cut short (TUTORIAL G44).
// tests: G44
TEST_F(Tutorial, RunsOnTheRealData) {
  const fs::path data = SOFTAMP_SOURCE_DIR "/../shared/data";
  if (!fs::exists(data / "cifar-10") || !fs::exists(data / "fashion-mnist"))
    GTEST_SKIP() << "CIFAR-10 and Fashion-MNIST are not in " << data;
  for (const std::string line :
       {"stochastic_rounding float16 8", "stochastic_rounding float32 8", "float32_parameter_updates mixed",
        "float32_parameter_updates float32", "ipuestimator_fp16 mixed", "ipuestimator_fp16 float32"}) {
    const Outcome o = run(line + " --steps 2 --data " + data.string());
    EXPECT_TRUE(ends_well(o)) << line << o.out << o.err;
    EXPECT_EQ(o.err.find("generated images"), std::string::npos);
  }
}

}  // namespace
}  // namespace softamp::test
