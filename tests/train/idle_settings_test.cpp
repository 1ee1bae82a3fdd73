// Settings of training that change nothing: refused with the reason where they are, taken where one case uses them.
#include "src/train/settings/idle_settings.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/refusal.h"

namespace softamp::train_detail {
namespace {

/// Each case is a JSON object without its braces.
std::string said(const std::vector<std::string>& cases) {
  std::vector<TrainSettings> all;
  for (const std::string& one : cases) all.push_back(TrainSettings::from_json("{" + one + "}"));
  const SettingFault fault = first_idle_setting(all);
  return fault.key.empty() ? "taken" : fault.key + " " + fault.what;
}
std::string said(const std::string& settings) { return said(std::vector{settings}); }

const std::string kHalf = R"("precision": "float16")", kDrawn = kHalf + R"(, "stochastic_rounding": "on")";

struct Row {
  std::string setting;           ///< what changes nothing beside `idle`, and something beside `used`
  std::string idle, used, says;  ///< `says`: a part of the reason
};

TEST(IdleSettings, AreRefusedWithTheReason) {
  const Row rows[] = {
      {R"("random_bits": 8)", kHalf, kDrawn, "no rounding is stochastic; expected 'stochastic_rounding' on"},
      {R"("random_bits": 8)", kHalf, kHalf + R"(, "weight_update": "stochastic")", "no rounding is stochastic"},
      {R"("random_bits": 8)", R"("weight_update": "stochastic")", kHalf + R"(, "weight_update": "stochastic")",
       "no rounding is"},
      {R"("rounding_variant": "rne")", kHalf, kDrawn, "no rounding is stochastic"},
      {R"("stochastic_rounding": "on")", R"("seed": 1)", kHalf, "nothing has 16 bits"},
      {R"("stochastic_rounding": "on")", R"("seed": 1)", R"("optimizer_state": "bfloat16")", "nothing has 16 bits"},
      {R"("stochastic_rounding": "on")", R"("seed": 1)", R"("mechanism": "level=O2")", "nothing has 16 bits"},
      {R"("loss_in_float32": false)", R"("seed": 1)", kHalf, "the outputs have no 16 bits"},
      {R"("optimizer_state": "float32")", kHalf + R"(, "optimizer": "sgd")", kHalf, "sgd keeps no state"},
      {R"("accumulation_dtype": "float32")", kHalf, kHalf + R"(, "accumulation": 2)", "an update has one micro-batch"},
      {R"("accumulation_reduction": "mean")", kHalf, kHalf + R"(, "accumulation": 2)", "an update has one micro-batch"},
      {R"("replica_reduction": "sum")", kHalf, R"("replicas": 2)", "there is one replica"},
      {R"("replica_reduction": "sum")", kHalf, R"("replica_invariant": 2)", "there is one replica"},
      {R"("replica_drift": true)", kDrawn, kDrawn + R"(, "replicas": 2)", "there is one replica"},
      {R"("validation_split": 0.5)", R"("generated": true)", R"("data": "folder")",
       "generated images are made in two parts"},
      {R"("weight_update": "stochastic")", R"("precision": "float64")", R"("seed": 1)",
       "float64 is rounded to nearest alone"},
      {R"("separate_roundings": true)", R"("precision": "float64")", R"("seed": 1)",
       "float64 is rounded at every operation"},
      {R"("bias_in_accumulator": true)", R"("precision": "float64")", R"("seed": 1)",
       "no product of the network has a bias"},
      {R"("evaluate_every": 1)", R"("evaluate": false)", R"("seed": 1)", "nothing is evaluated"},
      {R"("amp_block": 4)", kHalf, kHalf + R"(, "partials": "half")",
       "no product has half partials; expected 'partials' half"},
      {R"("amp_block": 4)", kHalf, kHalf + R"(, "matmul_partials": "half")", "no product has half partials"},
      {R"("partials": "half")", R"("precision": "bfloat16")", kHalf, "no such result is of fp16"},
      {R"("partials": "half")", R"("seed": 1)", R"("mechanism": "level=O1")", "no such result is of fp16"},
      {R"("convolution_partials": "half")", kHalf + R"(, "network": "gpt_tiny")", kHalf, "there is no convolution"},
      {R"("use_stable_statistics": true)", R"("network": "lenet5")", R"("network": "resnet8")",
       "the network has no norms"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.setting + " beside " + row.idle);
    const std::string idle = row.setting + ", " + row.idle, used = row.setting + ", " + row.used;
    const std::string key = row.setting.substr(1, row.setting.find('"', 1) - 1);
    EXPECT_EQ(said(idle).substr(0, key.size() + 16), key + " has no effect: ");
    EXPECT_NE(said(idle).find(row.says), std::string::npos) << said(idle);
    EXPECT_EQ(said(row.idle), "taken");
    EXPECT_EQ(said(used), "taken");
    EXPECT_EQ(said({idle, used}), "taken");
    EXPECT_EQ(said({used, idle}), "taken");
    EXPECT_NE(said({idle, idle}), "taken");
    EXPECT_NE(said({idle, row.used}), "taken") << "another case, which does not ask for it, does not use it";
  }
}

// What a program writes names every key, with what follows from others; it is a file of settings again.
TEST(IdleSettings, WhatWasWrittenIsTaken) {
  for (const std::string& settings :
       {std::string(), kHalf, kDrawn, kDrawn + R"(, "chip": "nvidia_sm100")", std::string(R"("replica_invariant": 4)"),
        std::string(R"("optimizer": "adam")"), std::string(R"("mechanism": "level=O2")"),
        std::string(R"("loss_scale": "torch")"), kHalf + R"(, "replicas": 4, "replica_invariant": 4)"}) {
    const TrainSettings s = TrainSettings::from_json("{" + settings + "}");
    ASSERT_EQ(said(settings), "taken") << settings;
    const std::string written = s.spelled_out().to_json(true, true);
    EXPECT_EQ(said(written.substr(1, written.size() - 2)), "taken") << written;
  }
}

TEST(IdleSettings, TheDoorRefusesAndARunDoesNot) {
  const TrainSettings s = TrainSettings::from_json(R"({"random_bits": 8})");
  EXPECT_NO_THROW(s.validate());
  EXPECT_EQ(test::refusal<std::invalid_argument>([&] { s.refuse_idle(); }),
            "settings: 'random_bits' has no effect: no rounding is stochastic; expected 'stochastic_rounding' on, or "
            "'weight_update' stochastic, with 16 bits");
}

TEST(IdleSettings, StateOfFloat64IsRefusedAtOnce) {
  for (const char* precision : {R"("precision": "float64")", R"("mechanism": "policy=float64")"}) {
    const TrainSettings s =
        TrainSettings::from_json("{" + std::string(precision) + R"(, "optimizer_state": "float32"})");
    EXPECT_EQ(test::refusal<std::invalid_argument>([&] { s.validate(); }),
              "settings: 'optimizer_state' is float32, but variables of float64 keep their state in float64; expected "
              "none");
  }
}

}  // namespace
}  // namespace softamp::train_detail
