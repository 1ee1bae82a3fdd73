// What a run came to: the bounds against the distributions of Boost, first NaNs by step and tensor, runs of every kind.
#include <gtest/gtest.h>

#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

#include "softamp/train/training_run.h"
#include "src/train/run/run_progress.h"
#include "src/train/run/stuck_scale.h"
#include "src/train/run/verdict.h"
#include "tests/files.h"
#include "tests/train/quiet_run.h"
#include "tests/train/trainer_rig.h"

namespace softamp {
namespace {

using test::contains;

TEST(Verdict, RightAnswersBeyondGuessing) {
  for (const int64_t classes : {2, 3, 10, 100})
    for (const int64_t images : {1, 2, 3, 9, 10, 20, 64, 100, 1024, 10000, 60000}) {
      const boost::math::binomial_distribution<double> guessing(static_cast<double>(images),
                                                                1 / static_cast<double>(classes));
      const int64_t least = train_detail::beyond_guessing(images, classes);
      const auto reaching = [&](int64_t right) {
        return right == 0 ? 1 : cdf(complement(guessing, static_cast<double>(right) - 1));
      };
      EXPECT_LE(least > images ? 0 : reaching(least), 0.001 * (1 + 1e-12))
          << images << " images, " << classes << " classes";
      EXPECT_GT(reaching(least - 1), 0.001) << images << " images, " << classes << " classes";
    }
  EXPECT_EQ(train_detail::beyond_guessing(2, 10), 3);  // both right: one of 100
  EXPECT_EQ(train_detail::beyond_guessing(3, 10), 3);  // all right: one of 1000
}

TEST(Verdict, StudentsTail) {
  for (const int64_t freedom : {1, 2, 3, 4, 5, 9, 10, 49, 200})
    for (const double t : {0.0, 0.1, 1.0, -2.5, 4.0, 12.0}) {
      const boost::math::students_t_distribution<double> student(static_cast<double>(freedom));
      EXPECT_NEAR(train_detail::student_tail(t, freedom), 2 * cdf(complement(student, std::fabs(t))), 1e-12);
    }
  EXPECT_EQ(train_detail::student_tail(INFINITY, 3), 0);
}

train_detail::RunFacts facts(std::span<const double> losses, std::optional<Evaluation> evaluation = {}) {
  return {.evaluation = evaluation, .classes = 10, .steps = static_cast<int64_t>(losses.size()), .losses = losses};
}

TEST(Verdict, FollowsFromEvaluationElseFromLosses) {
  const auto of = [](int64_t images, int64_t correct, double loss = 2.5) {
    const std::vector<double> losses(100, 2.5);
    return train_detail::verdict_of(facts(losses, Evaluation{100, images, correct, loss})).line();
  };
  EXPECT_EQ(
      of(1000, 131),
      "trains: 131 of 1000 test images are right (13.1 %); guessing one of 10 has 131 or more right in at most one "
      "of 1000 cases; the loss ends at 2.5, that of guessing is 2.303");
  EXPECT_TRUE(contains(of(1000, 130), "at chance: 130 of 1000 test images are right (13.0 %); "));
  EXPECT_TRUE(contains(of(1000, 130, 1300), "worse than guessing: 130 of 1000 test images are right"));
  EXPECT_TRUE(contains(of(1000, 130, 4.60), "at chance: ")) << "twice ln 10 is 4.605";
  EXPECT_TRUE(contains(of(1000, 130, 4.61), "worse than guessing: "));
  EXPECT_TRUE(
      contains(of(2, 2), "unclear: 2 of 2 test images are right (100.0 %); so few cannot be told from guessing"));
  const auto by_loss = [](double mean, double swing, size_t steps) {
    std::vector<double> losses(steps, 9);
    for (size_t i = steps - steps / 10; i < steps; ++i) losses[i] = i % 2 ? mean + swing : mean - swing;
    return train_detail::verdict_of(facts(losses)).line();
  };
  EXPECT_EQ(
      by_loss(2.0, 0.1, 100),
      "trains: no evaluation; by a t test of the last 10 steps, at 1 in 1000; the loss ends at 2, that of guessing "
      "is 2.303");
  EXPECT_TRUE(contains(by_loss(2.0, 0.5, 100), "at chance: no evaluation"));  // t = 1.8 of 9: one of 20
  EXPECT_TRUE(contains(by_loss(2.0, 0.4, 100), "unclear: no evaluation"));    // t = 2.3: one of 43
  EXPECT_TRUE(contains(by_loss(2.4, 0.001, 100), "at chance: no evaluation"));
  EXPECT_TRUE(contains(by_loss(1300, 20, 100), "worse than guessing: no evaluation"));
  EXPECT_TRUE(contains(by_loss(2.0, 0, 100), "trains: "));
  EXPECT_TRUE(contains(by_loss(2.0, 0, 19), "unclear: no evaluation, and a tenth of the steps is fewer than 2"));
}

TEST(Verdict, ByAGuessOfTokensOrValues) {  // the loss against that of guessing labels by their frequency
  const auto of = [](double loss) {
    Evaluation e{.step = 9, .images = 100, .loss = loss, .kind = NetworkOutput::Kind::kNextToken};
    e.loss_error = 0.1;
    e.guessing = 4.56;
    return train_detail::verdict_of({.evaluation = e, .classes = 0, .steps = 9}).outcome;
  };
  EXPECT_EQ(of(4.2), TrainingOutcome::kTrains);
  EXPECT_EQ(of(4.4), TrainingOutcome::kAtChance);
  EXPECT_EQ(of(9.1), TrainingOutcome::kAtChance);
  EXPECT_EQ(of(1300), TrainingOutcome::kWorseThanGuessing);
}

TEST(Verdict, AResumedRunIsJudgedByAllOfItsSteps) {  // not by a tenth of those that it was resumed for
  const double few[] = {0.122, 0.124, 0.120, 0.121, 0.123, 0.122, 0.121, 0.124, 0.120, 0.122};
  train_detail::RunFacts run = facts(few);
  EXPECT_EQ(train_detail::verdict_of(run).outcome, TrainingOutcome::kUnclear);
  run.steps = 100;
  EXPECT_EQ(train_detail::verdict_of(run).outcome, TrainingOutcome::kTrains);
}

TEST(Verdict, ARunWithoutAnUpdateIsNamed) {
  const std::vector<double> losses(20, 2.31);
  train_detail::RunFacts run = facts(losses, Evaluation{20, 1000, 100, 2.31});
  run.skipped = 19;
  EXPECT_EQ(train_detail::verdict_of(run).outcome, TrainingOutcome::kAtChance);
  run.skipped = 20;
  EXPECT_EQ(train_detail::verdict_of(run).line(),
            "no update: all 20 steps were skipped, and the weights are those of the beginning");
  run.nonfinite = {0, "loss", "", "NaN"};
  EXPECT_TRUE(train_detail::verdict_of(run).line().ends_with("the beginning; at step 0: NaN in the loss"));
  run.nonfinite = {7, "gradient", "a/b", "NaN or infinity"};
  run.skipped = 3;
  EXPECT_EQ(train_detail::verdict_of(run).line(), "diverged: at step 7: NaN or infinity in the gradient 'a/b'");
}

TEST(StuckScale, IsSaidOnceInARowOfSkippedSteps) {
  train_detail::StuckScale stuck;
  const auto add = [&](bool applied, float before, float after) {
    StepResult r;
    r.step = 41;
    r.applied = applied;
    r.scale_before = before;
    r.scale_after = after;
    return stuck.add(r);
  };
  for (int i = 0; i < 30; ++i) EXPECT_EQ(add(false, 8, 4), "") << "it still falls";
  for (int i = 0; i < 9; ++i) EXPECT_EQ(add(false, 1, 1), "");
  EXPECT_TRUE(contains(add(false, 1, 1), "step 41: the last 10 steps were skipped, and the loss scale stays at 1; "));
  for (int i = 0; i < 30; ++i) EXPECT_EQ(add(false, 1, 1), "") << "once";
  EXPECT_EQ(add(true, 1, 1), "");
  for (int i = 0; i < 9; ++i) EXPECT_EQ(add(false, 1, 1), "");
  EXPECT_NE(add(false, 1, 1), "");
}

TEST(Verdict, FirstNaNByStepAndTensor) {
  using namespace test;
  TrainerOptions o = rig_options();
  o.optimizer = sgd(1);
  Trainer trainer(one_weight_model(DType::kFloat16, DType::kFloat32), o);
  FirstNonfinite first;
  const auto step = [&](double w, double x) {
    trainer.set_variable("net/w", Tensor::full(DType::kFloat32, {}, w));
    std::vector<Batch> batch;
    batch.push_back(one_number_batch(DType::kFloat16, x));
    train_detail::note_nonfinite(trainer.step(batch), trainer, first);
    return first.step < 0 ? std::string("none") : std::to_string(first.step) + ": " + first.text();
  };
  EXPECT_EQ(step(1, 1), "none");
  EXPECT_EQ(step(1, INFINITY), "1: NaN in the loss");
  EXPECT_EQ(step(1, NAN), "1: NaN in the loss") << "the first of a series";
  EXPECT_EQ(step(1, 1), "none") << "all is finite again";
  EXPECT_EQ(step(NAN, 1), "4: NaN in the loss");
  EXPECT_EQ(step(1, 1), "none");
  EXPECT_EQ(step(0, 0), "none");
  o.optimizer = sgd(3e38);
  Trainer fast(one_weight_model(DType::kFloat32, DType::kFloat32), o);
  std::vector<Batch> batch;
  batch.push_back(one_number_batch(DType::kFloat32, 2));
  train_detail::note_nonfinite(fast.step(batch), fast, first);
  EXPECT_EQ(first.text(), "infinity in the variable 'net/w'");

  train_detail::RunProgress p;
  p.nonfinite = first;
  p.drift = {3, 4, {0.1, "v", 2, 5}};
  const train_detail::RunProgress back = train_detail::RunProgress::from_json(p.to_json());
  EXPECT_EQ(back.nonfinite.text(), first.text());
  EXPECT_EQ(back.nonfinite.step, first.step);
  EXPECT_EQ(back.to_json(), p.to_json());
}

TEST(Verdict, OfRuns) {
  const auto of = [](const char* more) { return test::quiet_run(test::small_run(more)).verdict.value(); };
  const Verdict good = of(R"({"epochs": 12, "evaluate": true, "test_images": 200, "train_images": 512})");
  EXPECT_EQ(good.outcome, TrainingOutcome::kTrains) << good.line();
  const Verdict still = of(R"({"learning_rate": 0, "evaluate": true, "test_images": 100})");
  EXPECT_EQ(still.outcome, TrainingOutcome::kAtChance) << still.line();
  const Verdict gone = of(R"({"learning_rate": 1e30, "evaluate": true})");
  EXPECT_EQ(gone.outcome, TrainingOutcome::kDiverged) << gone.line();
  EXPECT_TRUE(contains(gone.line(), "diverged: at step ")) << gone.line();
  const RunSummary stopped = test::stopped_run(test::small_run(), {}, 3);
  EXPECT_FALSE(stopped.verdict);
}

}  // namespace
}  // namespace softamp
