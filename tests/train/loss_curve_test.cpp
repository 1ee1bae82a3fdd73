// The plot of a run, and the norm of the gradients that it shows.
#include "src/train/run/loss_curve.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "softamp/data/sampler.h"
#include "softamp/train/trainer.h"
#include "softamp/train/training_run.h"
#include "src/train/run/run_data.h"
#include "tests/files.h"
#include "tests/train/quiet_run.h"

namespace softamp {
namespace {

using test::contains;
using test::quiet_run;
using test::read_text;
using test::small_run;
using test::TemporaryFolder;

TEST(LossCurve, MeansAndPlaces) {
  const double losses[] = {4, 2, INFINITY, 6, 8};
  EXPECT_EQ(train_detail::running_mean(losses, 2), (std::vector<double>{4, 3, INFINITY, INFINITY, 7}));
  TrainSettings s = small_run();
  s.warmup_epochs = 1;
  const double epochs[] = {1.5, 0.5};
  train_detail::StepCurves steps;
  for (const double loss : losses) {
    StepResult step;
    step.loss = loss;
    step.learning_rate = 0.5;
    steps.add(step);
  }
  Plot plot = train_detail::loss_curve(s, steps, 3, epochs, 10);
  ASSERT_EQ(plot.curves.size(), 3u);
  EXPECT_EQ(plot.curves[0].x, (std::vector<double>{3, 4, 5, 6, 7}));
  EXPECT_EQ(plot.curves[2].x, (std::vector<double>{15, 25}));
  EXPECT_TRUE(plot.strips.empty()) << "nothing changes, and no norm is computed";
  const auto labels = [](const Plot& p) {
    std::string text;
    for (const PlotStrip& strip : p.strips) text += strip.label + ", ";
    return text;
  };
  steps.loss_scales = {4, 4, 2, 2, 2};
  plot = train_detail::loss_curve(s, steps, 3, epochs, 10);
  ASSERT_EQ(labels(plot), "loss scale, ");
  EXPECT_EQ(plot.strips[0].curves[0].x, (std::vector<double>{3, 5, 5, 7}));
  EXPECT_EQ(plot.strips[0].curves[0].y, (std::vector<double>{4, 4, 2, 2}));
  EXPECT_EQ(plot.strips[0].y_log, 2);
  steps.learning_rates[4] = 0.25;
  steps.gradient_norms = {NAN, 1, INFINITY, 30, 2};
  plot = train_detail::loss_curve(s, steps, 3, epochs, 10);
  ASSERT_EQ(labels(plot), "learning rate, loss scale, gradient norm, ");
  EXPECT_EQ(plot.strips[2].curves[0].x, plot.curves[0].x);
  EXPECT_EQ(plot.strips[2].y_log, 10);
  TrainSettings adam = s;
  adam.optimizer = "adam";
  EXPECT_EQ(labels(train_detail::loss_curve(adam, steps, 3, epochs, 10)),
            "rate, bias corrected, loss scale, gradient norm, ");
}

double norm_in(const Trainer& trainer, double scale) {
  double sum = 0;
  for (const auto& [name, gradient] : trainer.gradients()[0])
    for (int64_t i = 0; i < gradient.elements(); ++i) sum += std::pow(gradient.value(i) / scale, 2);
  return std::sqrt(sum);
}

// The norm is that of the unscaled gradients, before clipping, wherever the scale is taken out.
TEST(GradientNorm, IsOfUnscaledGradientsBeforeClipping) {
  for (const char* precision : {"float32", "float16", "mixed"})
    for (const char* more :
         {R"("loss_scale": "none")", R"("loss_scale": "64", "clip_global_norm": 0.015625)",
          R"("loss_scale": "64", "fold_scale_into_rate": true)", R"("loss_scale": "mindspore_fixed")"}) {
      SCOPED_TRACE(std::string(precision) + ", " + more);
      const TrainSettings s = train_detail::settled(
          small_run(std::string(R"({"optimizer": "sgd", "precision": ")") + precision + "\", " + more + "}"));
      const NetworkInfo network = find_network(s.network);
      const train_detail::SampleSets data = train_detail::load_data(s, network);
      const Sampler sampler(data.train->count(), s.batch_size, s.shuffle, s.seed);
      TrainerOptions o = s.trainer_options();
      o.gradient_norms = o.keep_gradients = true;
      Trainer trainer(train_detail::model_of(s, network), o);
      const StepResult step = trainer.step(train_detail::batches_of(s, *data.train, sampler, 0, nullptr));
      const double norm = norm_in(trainer, static_cast<double>(step.scale_before));
      ASSERT_TRUE(step.gradient_norm.has_value());
      EXPECT_GT(norm, 0.1);
      EXPECT_NEAR(*step.gradient_norm, norm, 1e-3 * norm);
      EXPECT_NE(step.json().find("\"gradient_norm\":"), std::string::npos);
    }
}

// It changes no bit of a run; clipping computes it where somebody reads it.
TEST(GradientNorm, ChangesNoBit) {
  const TrainSettings plain = small_run(R"({"precision": "float16", "stochastic_rounding": "on"})");
  const RunSummary without = quiet_run(plain), with = quiet_run(plain, {.gradient_norms = true});
  EXPECT_EQ(without.losses, with.losses);
  EXPECT_EQ(without.weight_hashes, with.weight_hashes);
  for (const char* more : {"{}", R"({"clip_norm": 1})"}) {
    std::vector<bool> has;
    quiet_run(small_run(more), {.on_step = [&](const StepResult& r) { has.push_back(r.gradient_norm.has_value()); }});
    EXPECT_EQ(has, std::vector<bool>(16, std::string(more) != "{}"));
  }
}

TEST(LossCurve, IsDrawn) {
  if (std::system("gnuplot --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "there is no gnuplot";
  const TemporaryFolder folder;
  quiet_run(small_run(), {.plot = folder.file("curve.svg")});
  EXPECT_TRUE(contains(read_text(folder.file("curve.svg")), "mean of an epoch"));
  EXPECT_FALSE(contains(read_text(folder.file("curve.svg")), "gradient norm"));
  // A resumed run draws all steps, with the norms that its log has.
  TrainSettings s = small_run();
  s.learning_rate_schedule = "cosine";
  s.decay_steps = 100;
  s.loss_scale = "dynamic";
  s.steps = 4;
  const RunOutput first{.log = folder.file("log"), .checkpoint = folder.file("c.npz"), .gradient_norms = true};
  quiet_run(s, first);
  s.steps = 8;
  quiet_run(s, {.log = folder.file("log"),
                .checkpoint = folder.file("c.npz"),
                .resume = folder.file("c.npz"),
                .plot = folder.file("curve.svg")});
  const std::string drawn = read_text(folder.file("curve.svg"));
  EXPECT_TRUE(contains(drawn, "gradient norm"));
  EXPECT_TRUE(contains(drawn, "learning rate"));
}

}  // namespace
}  // namespace softamp
