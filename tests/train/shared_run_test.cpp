// Runs whose replicas are shared by ranks: logs, checkpoints and results are those of one process, byte for byte
// (N284).
#include "src/train/run/shared_run.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <mutex>
#include <sstream>

#include "softamp/findings/exception.h"
#include "tests/files.h"
#include "tests/refusal.h"
#include "tests/train/quiet_run.h"
#include "tests/train/ranks.h"

namespace softamp {
namespace {

using namespace test;

/// The files of a run and what it gave.
struct Outcome {
  std::string log, checkpoint;
  RunSummary summary;

  std::string text() const {
    std::ostringstream text;
    text << summary.finished << summary.steps << summary.skipped << summary.replica_drift.first_step;
    for (const double l : summary.losses) text << ' ' << std::hexfloat << l;
    for (const std::string& h : summary.weight_hashes) text << ' ' << h;
    for (const Evaluation& e : summary.evaluations) text << ' ' << e.correct << '/' << e.images << ' ' << e.loss;
    if (summary.verdict) text << summary.verdict->line();
    return text.str();
  }
};

Outcome alone(const TrainSettings& settings, const TemporaryFolder& folder) {
  const std::string log = folder.file("one.jsonl"), file = folder.file("one.npz");
  Outcome o{"", "", quiet_run(settings, {.log = log, .checkpoint = file})};
  o.log = read_text(log);
  o.checkpoint = read_text(file);
  return o;
}

/// stopped_after: 0: never. All ranks must give the same.
Outcome shared(const TrainSettings& settings, const TemporaryFolder& folder, int ranks, RunOutput output = {},
               int64_t stopped_after = 0) {
  output.log = folder.file("shared.jsonl");
  output.checkpoint = folder.file("shared.npz");
  std::vector<Outcome> outcomes(static_cast<size_t>(ranks));
  const auto errors = on_ranks(ranks, [&](Exchange& exchange) {
    RunOutput o = output;
    o.exchange = &exchange;
    // One rank is told to stop; all do.
    int64_t asked = 0;
    if (stopped_after > 0 && exchange.rank() == ranks - 1) o.stop = [&] { return ++asked >= stopped_after; };
    outcomes[static_cast<size_t>(exchange.rank())].summary = quiet_run(settings, o);
  });
  for (const std::string& e : errors) EXPECT_EQ(e, "");
  for (const Outcome& o : outcomes) EXPECT_EQ(o.text(), outcomes[0].text());
  outcomes[0].log = read_text(output.log);
  outcomes[0].checkpoint = read_text(output.checkpoint);
  return std::move(outcomes[0]);
}

TrainSettings run_with(const std::string& more) {
  return settings_over(nlohmann::ordered_json::parse(R"({"network": "small_cnn", "generated": true, "train_images": 64,
      "test_images": 20, "batch_size": 2, "epochs": 2, "seed": 5, "replicas": 4, "evaluate_every": 1})"),
                       more);
}

// tests: N284
TEST(SharedRun, FilesOfOneProcess) {
  const TemporaryFolder folder;
  for (const char* more : {R"({"precision": "mixed", "loss_scale": "dynamic", "shuffle": true, "behaviour": "nanoo"})",
                           R"({"precision": "mixed", "optimizer": "adam", "accumulation": 2, "clip_global_norm": 0.1})",
                           R"({"precision": "float16", "stochastic_rounding": "on", "accumulation": 3})",
                           R"({"precision": "float16", "stochastic_rounding": "on", "replica_drift": true})",
                           R"({"precision": "float16", "stochastic_rounding": "replica_identical_only"})",
                           R"({"precision": "bfloat16", "stochastic_rounding": "on", "replica_invariant": 8})",
                           R"({"precision": "float32", "mechanism": "level=O2", "test_images": 1})"}) {
    const TrainSettings settings = run_with(more);
    const Outcome expected = alone(settings, folder);
    for (const int ranks : {2, 4}) {
      const Outcome found = shared(settings, folder, ranks);
      EXPECT_EQ(found.log, expected.log) << more << ", " << ranks << " ranks";
      EXPECT_TRUE(found.checkpoint == expected.checkpoint) << more << ", " << ranks << " ranks";
      EXPECT_EQ(found.text(), expected.text()) << more << ", " << ranks << " ranks";
    }
  }
}

TEST(SharedRun, ResumesOnAnyNumberOfRanks) {  // N284
  const TemporaryFolder folder;
  for (const bool drift : {false, true}) {
    TrainSettings settings = run_with(R"({"precision": "float16", "stochastic_rounding": "on"})");
    settings.replica_drift = drift;
    const Outcome expected = alone(settings, folder);
    const Outcome first = shared(settings, folder, 4, {}, 3);
    EXPECT_FALSE(first.summary.finished);
    EXPECT_EQ(first.summary.steps, 3);
    shared(settings, folder, 2, {.resume = folder.file("shared.npz")}, 5);
    const Outcome last = shared(settings, folder, 1, {.resume = folder.file("shared.npz")});
    EXPECT_EQ(last.log, expected.log);
    EXPECT_TRUE(last.checkpoint == expected.checkpoint);
  }
}

TEST(SharedRun, ALossAtAnyMomentLosesNoBit) {  // N284
  const TemporaryFolder folder;
  for (const bool drift : {false, true}) {
    TrainSettings settings = run_with(
        R"({"precision": "float16", "stochastic_rounding": "on", "replicas": 2, "train_images": 16, "batch_size": 4})");
    settings.replica_drift = drift;
    settings.behaviour = "oflo";
    const Outcome expected = alone(settings, folder);
    const std::string log = folder.file("shared.jsonl"), file = folder.file("shared.npz");
    int kept = 0, turns = 0, last = 0;
    for (bool ended = false; !ended; last += drift ? 5 : 1) {
      std::filesystem::remove(log);
      std::filesystem::remove(file);
      const auto errors = on_ranks(2, [&](Exchange& exchange) {
        LostExchange lost(exchange, last);
        Exchange& mine = exchange.rank() == 1 ? lost : exchange;
        quiet_run(settings, {.log = log, .checkpoint = file, .checkpoint_every = 1, .exchange = &mine});
      });
      ended = errors[0].empty();
      ++turns;
      if (std::filesystem::exists(file)) {
        ++kept;
        quiet_run(settings, {.log = log, .checkpoint = file, .resume = file});
        ASSERT_EQ(read_text(log), expected.log) << "lost before call " << last << ", drift " << drift;
        ASSERT_TRUE(read_text(file) == expected.checkpoint) << "lost before call " << last << ", drift " << drift;
      }
    }
    EXPECT_GT(last, 30);
    EXPECT_GT(kept, turns / 2);
  }
}

TEST(SharedRun, AnExceptionEndsItAsInOneProcess) {  // N284
  const TemporaryFolder folder;
  const TrainSettings settings =
      run_with(R"({"precision": "float16", "behaviour": "inv div0 oflo", "loss_scale": "65536"})");
  const std::string log = folder.file("one.jsonl"), file = folder.file("one.npz");
  const std::string expected =
      refusal<FloatingPointError>([&] { quiet_run(settings, {.log = log, .checkpoint = file}); });
  const std::string lines = read_text(log), state = read_text(file);
  const auto errors = on_ranks(
      2, [&](Exchange& exchange) { quiet_run(settings, {.log = log, .checkpoint = file, .exchange = &exchange}); });
  EXPECT_EQ(errors, (std::vector<std::string>{expected, expected}));
  EXPECT_EQ(read_text(log), lines);
  EXPECT_TRUE(read_text(file) == state);
}

/// What all ranks are told, where rank 1 has other settings.
std::string refused(const TrainSettings& settings, const TrainSettings& other, RunOutput output = {}) {
  const auto errors = on_ranks(2, [&](Exchange& exchange) {
    RunOutput o = output;
    o.exchange = &exchange;
    quiet_run(exchange.rank() == 0 ? settings : other, o);
  });
  EXPECT_EQ(errors[0], errors[1]);
  return errors[0];
}

TEST(SharedRun, RanksAgreeOnWhatDecidesIt) {
  const TrainSettings settings = run_with("{}");
  EXPECT_EQ(refused(settings, run_with(R"({"seed": 6})")),
            "rank 1 has 'seed' 6, and rank 0 has 'seed' 5; expected the same run on all ranks");
  EXPECT_EQ(refused(settings, run_with(R"({"momentum": 0.5})")),
            "rank 1 has 'momentum' 0.5, and rank 0 has 'momentum' 0.9; expected the same run on all ranks");
  EXPECT_NE(refused(settings, run_with(R"({"test_images": 21})")).find("rank 1 has 'test_images' 21"),
            std::string::npos);
  EXPECT_EQ(refused(settings, run_with(R"({"threads": 1})")), "");
}

TEST(SharedRun, WhatOneRankCannotDoEndsAll) {
  const TemporaryFolder folder;
  const TrainSettings settings = run_with("{}");
  const auto ends = [&](RunOutput output) {
    const auto errors = on_ranks(2, [&](Exchange& exchange) {
      RunOutput o = output;
      o.exchange = &exchange;
      quiet_run(settings, o);
    });
    EXPECT_EQ(errors[1], "rank 0: " + errors[0]);
    return errors[0];
  };
  // Only rank 0 touches files.
  EXPECT_NE(ends({.log = folder.file("none/run.jsonl")}).find("none/run.jsonl"), std::string::npos);
  EXPECT_NE(ends({.resume = folder.file("none.npz")}).find("none.npz"), std::string::npos);
  write_text(folder.file("bad.npz"), "no archive");
  EXPECT_NE(ends({.resume = folder.file("bad.npz")}).find("bad.npz"), std::string::npos);
  const auto full =
      on_ranks(2, [&](Exchange& exchange) { quiet_run(settings, {.log = "/dev/full", .exchange = &exchange}); });
  EXPECT_NE(full[0].find("/dev/full"), std::string::npos);
  EXPECT_EQ(full[1], "rank 0: " + full[0]);
}

TEST(SharedRun, WatchingNeedsOneProcess) {
  const auto errors =
      on_ranks(2, [&](Exchange& exchange) { quiet_run(run_with("{}"), {.print = {"loss"}, .exchange = &exchange}); });
  EXPECT_EQ(
      errors[0],
      "tensors to print are asked for in a run of 2 processes, each of which has a part of the replicas; expected "
      "one process");
}

}  // namespace
}  // namespace softamp
