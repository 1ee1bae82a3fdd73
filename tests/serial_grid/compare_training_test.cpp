// Two backends side by side: equal ones are equal to the end, and what was planted is found where it was planted.
#include "src/train/run/compare_training.h"

#include <vector>

#include "softamp/train/training_run.h"
#include "tests/serial_grid/both.h"
#include "tests/train/quiet_run.h"

namespace softamp {
namespace {

using test::contains;
using CompareTraining = test::BothBackends;

/// Six steps of two images; a slot of momentum for each parameter.
TrainSettings small(const std::string& more = "{}") {
  return test::settings_over(nlohmann::ordered_json::parse(R"({"generated": true, "train_images": 12, "test_images": 2,
                                                               "batch_size": 2, "backend": "cuda", "seed": 5})"),
                             more);
}

TEST_F(CompareTraining, EqualEnginesAreEqualToTheEnd) {
  for (const char* more : {R"({"precision": "mixed", "stochastic_rounding": "on", "loss_scale": "tensorflow",
                               "behaviour": "nanoo"})",
                           R"({"precision": "float16", "optimizer": "adam", "replicas": 2, "batch_size": 1,
                               "accumulation": 2, "clip_global_norm": 1})",
                           R"({"precision": "float16", "stochastic_rounding": "on", "replicas": 2, "batch_size": 1,
                               "replica_invariant": 4})"}) {
    const TrainingComparison found = compare_training(small(more), {.steps = 2});
    EXPECT_FALSE(found.difference) << found.text();
    EXPECT_EQ(found.steps, 2);
    EXPECT_EQ(found.left + " " + found.right, "cuda emu");
    EXPECT_TRUE(contains(found.text(), "compared cuda with emu: 2 equal steps, ")) << found.text();
    EXPECT_TRUE(found.text().ends_with(": all equal")) << found.text();
  }
}

TEST_F(CompareTraining, CountsAllThatItCompares) {
  // small_cnn has 9098 parameters. Each is compared before the first step and after it, and so is its slot; its
  // gradient after it; and four numbers of the result and the loss.
  const TrainingComparison found = compare_training(small(), {.other = "cuda", .steps = 1});
  EXPECT_FALSE(found.difference);
  EXPECT_EQ(found.elements, 5 * 9098 + 5);
}

/// What is found when, before step 1, the second trainer's `name` has bits flipped in one element.
TrainingComparison tampered(const std::string& name, size_t index, const std::string& more = "{}") {
  return compare_training(small(more), {.steps = 3, .on_step = [&](int64_t step, Trainer&, Trainer& right) {
                                          if (step != 1) return;
                                          Tensor value = right.variable(name).clone();
                                          value.as<float>()[index] += 1;
                                          right.set_variable(name, value);
                                        }});
}

/// The last of what a trainer of these settings keeps: a slot.
std::string last_kept(const TrainSettings& settings) {
  std::string name;
  compare_training(settings, {.steps = 1, .on_step = [&](int64_t, Trainer& left, Trainer&) {
                                name = left.state().tensors[0].back().first;
                              }});
  return name;
}

TEST_F(CompareTraining, AChangedParameterShowsInTheLossOfItsStep) {
  const std::string bias = "dense/bias";
  const TrainingComparison found = tampered(bias, 3);
  ASSERT_TRUE(found.difference);
  EXPECT_EQ(found.steps, 1);
  EXPECT_EQ(found.difference->step, 1);
  EXPECT_EQ(found.difference->part, "loss");
  EXPECT_TRUE(found.text().starts_with("step 1: loss: cuda has ")) << found.text();
  EXPECT_TRUE(found.text().ends_with(": the last one differs")) << found.text();
}

TEST_F(CompareTraining, AChangedSlotShowsInTheParameterThatItMoves) {
  const std::string slot = last_kept(small());
  const TrainingComparison found = tampered(slot, 7);
  ASSERT_TRUE(found.difference) << found.text();
  EXPECT_EQ(found.difference->step, 1);
  EXPECT_EQ(found.difference->part, "parameter");
  EXPECT_EQ(found.difference->index, 7);
  EXPECT_TRUE(slot.starts_with(found.difference->tensor)) << slot << ": " << found.text();
  EXPECT_TRUE(contains(found.difference->left, " (0x")) << found.text();
  EXPECT_NE(found.difference->left, found.difference->right);
}

TEST_F(CompareTraining, AChangedSlotThatMovesNothingShowsItself) {
  const std::string still = R"({"learning_rate": 0})", slot = last_kept(small(still));
  const TrainingComparison found = tampered(slot, 2, still);
  ASSERT_TRUE(found.difference) << found.text();
  EXPECT_EQ(found.difference->step, 1);
  EXPECT_EQ(found.difference->part, "slot");
  EXPECT_EQ(found.difference->tensor, slot);
  EXPECT_EQ(found.difference->index, 2);
  EXPECT_TRUE(contains(found.text(), "step 1: slot '" + slot + "', element 2: cuda has ")) << found.text();
}

TEST_F(CompareTraining, OtherInitialValuesAreSeenBeforeTheFirstStep) {
  std::string name;
  const TrainingComparison found =
      compare_training(small(), {.steps = 1, .on_step = [&](int64_t step, Trainer&, Trainer& right) {
                                   ASSERT_EQ(step, -1) << "a step was taken";
                                   name = right.model().variables[1].name;
                                   Tensor value = right.variable(name).clone();
                                   value.as<float>()[1] += 1;
                                   right.set_variable(name, value);
                                 }});
  ASSERT_TRUE(found.difference);
  EXPECT_EQ(found.difference->step, -1);
  EXPECT_EQ(found.difference->part + " " + found.difference->tensor, "parameter " + name);
  EXPECT_EQ(found.difference->index, 1);
  EXPECT_EQ(found.steps, 0);
  EXPECT_TRUE(found.text().starts_with("before the first step: parameter '" + name + "', element 1: cuda has "))
      << found.text();
}

TEST_F(CompareTraining, GradientsAreComparedBeforeWhatTheyChange) {
  // A loss scale that one trainer alone has: its gradients differ, and unscaling, by a power of two, hides it again.
  const TrainingComparison found = compare_training(small(R"({"loss_scale": "tensorflow"})"),
                                                    {.steps = 1, .on_step = [](int64_t step, Trainer&, Trainer& right) {
                                                       if (step != 0) return;
                                                       Trainer::State state = right.state();
                                                       state.loss_scale.scale *= 2;
                                                       right.set_state(state);
                                                     }});
  ASSERT_TRUE(found.difference) << found.text();
  EXPECT_EQ(found.difference->part, "gradient") << found.text();
  EXPECT_EQ(found.difference->step, 0);
}

TEST_F(CompareTraining, StopsWhenAsked) {
  const TrainingComparison found = compare_training(small(), {.steps = 5, .stop = [] { return true; }});
  EXPECT_TRUE(found.stopped);
  EXPECT_FALSE(found.difference);
  EXPECT_LT(found.steps, 2);
}

TEST_F(CompareTraining, AnExceptionOfBothEndsIt) {
  const TrainingComparison found =
      compare_training(small(R"({"precision": "float16", "behaviour": "oflo", "loss_scale": "1e30"})"), {.steps = 2});
  EXPECT_FALSE(found.difference) << found.text();
  EXPECT_TRUE(contains(found.exception, "OFLO")) << found.text();
  EXPECT_EQ(found.steps, 0);
}

TEST_F(CompareTraining, RefusesNoSteps) {
  EXPECT_THROW(compare_training(small(), {.steps = 0}), std::invalid_argument);
}

}  // namespace
}  // namespace softamp
