// The text that a training run prints at its end: the same for any threads, after resuming, and in parts; what is
// refused before the first step.
#include <gtest/gtest.h>

#include <sstream>

#include "softamp/train/training_run.h"
#include "tests/files.h"
#include "tests/refusal.h"

namespace softamp::test {
namespace {

constexpr const char* kLetters = R"({"softamp_network": 1,
  "input": {"kind": "tokens", "length": 6, "vocabulary": 12}, "output": {"kind": "next_token"},
  "layers": [{"type": "embedding", "vocabulary": 12, "units": 12, "name": "table"},
             {"type": "dense", "units": 12}]})";

struct Letters {
  TemporaryFolder folder;
  TrainSettings settings;
  std::ostringstream lines;

  Letters() {
    std::string text;
    for (int i = 0; i < 100; ++i) text += "abcd\xC3\xA9 ";
    write_text(folder.file("text.txt"), text);
    write_text(folder.file("net.json"), kLetters);
    settings.network = folder.file("net.json");
    settings.data = folder.file("text.txt");
    settings.generated = false;
    settings.batch_size = 4;
    settings.optimizer = "adam";
    settings.learning_rate = 0.1;
    settings.epochs = 8;
    settings.shuffle = true;
    settings.threads = 1;
  }
  RunSummary run(RunOutput::Sample sample, RunOutput output = {}) {
    output.sample = std::move(sample);
    output.report = &lines;
    output.progress = false;
    output.quiet = true;
    return run_training(settings, output);
  }
  std::string refused(RunOutput::Sample sample) {
    return refusal<std::invalid_argument>([&] { (void)run(std::move(sample)); });
  }
};

TEST(TextSample, IsWhatTheNetworkHasLearnt) {
  Letters letters;
  const RunSummary run = letters.run({.tokens = 11, .temperature = 0});
  EXPECT_EQ(run.sample, "abcd\xC3\xA9 abcd\xC3\xA9 ") << "each letter has one that follows";
  EXPECT_EQ(letters.lines.str(), run.sample + "\n") << "printed even if the run is quiet, and nothing else";
  EXPECT_EQ(letters.run({.tokens = 3, .begin = "bc\xC3\xA9", .temperature = 0}).sample, "bc\xC3\xA9 ab");
  EXPECT_EQ(letters.run({}).sample, "");
}

TEST(TextSample, DependsOnItsSeedAndTheWeightsAlone) {
  Letters letters;
  letters.settings.epochs = 1;
  const RunOutput::Sample asked{.tokens = 40, .temperature = 100};
  RunOutput output;
  output.checkpoint = letters.folder.file("run.npz");
  const std::string text = letters.run(asked, output).sample;
  letters.settings.threads = 2;
  const RunSummary without = letters.run({});
  const RunSummary other = letters.run(asked);
  EXPECT_EQ(other.sample, text);
  EXPECT_EQ(other.weight_hashes, without.weight_hashes);
  EXPECT_EQ(other.evaluations[0].loss, without.evaluations[0].loss);
  RunOutput resumed;
  resumed.resume = output.checkpoint;
  const RunSummary alone = letters.run(asked, resumed);
  EXPECT_EQ(alone.sample, text) << "a finished run only draws";
  EXPECT_TRUE(alone.losses.empty());
  RunOutput::Sample seeded = asked;
  seeded.seed = letters.settings.seed;
  EXPECT_EQ(letters.run(seeded, resumed).sample, text);
  seeded.seed = letters.settings.seed + 1;
  EXPECT_NE(letters.run(seeded, resumed).sample, text);
}

TEST(TextSample, OfAModelThatDivergedThereIsNone) {
  Letters letters;
  letters.settings.optimizer = "sgd";
  letters.settings.learning_rate = 1e38;
  letters.settings.epochs = 1;
  const RunSummary run = letters.run({.tokens = 5});
  EXPECT_TRUE(run.finished);
  EXPECT_EQ(run.sample, "");
  EXPECT_EQ(letters.lines.str(), "");
}

TEST(TextSample, Refusals) {
  Letters letters;
  EXPECT_EQ(letters.refused({.tokens = -1}), "a text to draw: -1 tokens; expected 0 to 1000000");
  EXPECT_EQ(letters.refused({.begin = "a"}),
            "a text to draw: how it is drawn is given, but no number of tokens; expected 1 or more");
  EXPECT_EQ(letters.refused({.tokens = 1, .begin = "abx"}),
            "the text to begin with has 'x', which the training text does not have");
  EXPECT_EQ(letters.refused({.tokens = 1, .temperature = -1}),
            "sampling: temperature is -1; expected a finite number, 0 or more");
  letters.settings.network = "small_cnn";
  letters.settings.generated = true;
  EXPECT_EQ(
      letters.refused({.tokens = 1}),
      "a text to draw: the network 'small_cnn' does not predict the next token of a text; expected one that does");
}

}  // namespace
}  // namespace softamp::test
