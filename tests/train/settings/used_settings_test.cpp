// What settings come to: hyperparameters as they are rounded, in logs beside the settings, and over a resumed run.
#include "src/train/settings/used_settings.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>

#include "softamp/train/checkpoint.h"
#include "softamp/train/training_run.h"
#include "src/train/run/run_data.h"
#include "tests/files.h"
#include "tests/train/quiet_run.h"

namespace softamp {
namespace {

using test::quiet_run;
using test::read_text;
using test::small_run;
using test::stopped_run;
using test::TemporaryFolder;
using test::write_text;
using Json = nlohmann::ordered_json;

// By hand: 0.9 is 0x3b33 in float16 and 0x3f66 in bfloat16.
TEST(UsedSettings, WhatIsUsedIsRounded) {
  const auto used = [](const char* settings, const std::set<DType>& variables) {
    return train_detail::used_settings(TrainSettings::from_json(settings), variables);
  };
  const auto f16 = DType::kFloat16, b16 = DType::kBFloat16, f32 = DType::kFloat32;
  EXPECT_EQ(used(R"({"learning_rate": 0.5})", {f16}),
            R"([{"variables":"float16","optimizer_state":"float16","hyperparameters":"float16","learning_rate":0.5,)"
            R"("momentum":0.89990234375}])");
  EXPECT_EQ(used(R"({"optimizer": "sgd", "learning_rate": 1e30, "accumulation": 2})", {f16, f32}),
            R"([{"variables":"float16","hyperparameters":"float16","accumulation_dtype":"float16",)"
            R"("learning_rate":"inf"},{"variables":"float32","hyperparameters":"float32",)"
            R"("accumulation_dtype":"float32","learning_rate":1.0000000150474662e+30}])");
  EXPECT_EQ(used(R"({"optimizer": "sgd", "learning_rate": 0.5, "accumulation": 4, "replica_invariant": 4})", {f32}),
            R"([{"variables":"float32","hyperparameters":"float32","learning_rate":0.5}])");
  EXPECT_EQ(used(R"({"optimizer": "adamw", "beta1": 0.5, "learning_rate": 0, "optimizer_state": "float32",
                     "strict": true})",
                 {b16}),
            R"([{"variables":"bfloat16","optimizer_state":"float32","hyperparameters":"bfloat16",)"
            R"("learning_rate":0.0,"beta1":0.5,"beta2":1.0,"epsilon":1.0011717677116394e-08,)"
            R"("learning_rate * weight_decay":0.0}])");
  EXPECT_EQ(used(R"({"learning_rate": 1, "hyperparameters": "bfloat16", "fold_scale_into_rate": true,
                     "loss_scale": "64"})",
                 {f32}),
            R"([{"variables":"float32","optimizer_state":"float32","hyperparameters":"bfloat16",)"
            R"("learning_rate":0.015625,"momentum":0.8984375}])");
  // Plain nodes take constants of their own dtype.
  EXPECT_EQ(used(R"({"learning_rate": 0.5, "hyperparameters": "float32", "separate_roundings": true})", {b16}),
            R"([{"variables":"bfloat16","optimizer_state":"bfloat16","hyperparameters":"float32",)"
            R"("learning_rate":0.5,"momentum":0.8984375}])");
  EXPECT_EQ(train_detail::trained_dtypes(TrainSettings::from_json(R"({"precision": "mixed"})")), std::set{f32});
  EXPECT_EQ(train_detail::trained_dtypes(TrainSettings::from_json(R"({"precision": "bfloat16"})")), std::set{b16});
}

// The Apply operations of a trainer's update graph say the same.
TEST(UsedSettings, AreThoseOfTheUpdates) {
  for (const char* more :
       {R"({"precision": "float16"})", R"({"precision": "bfloat16", "optimizer": "adam", "beta1": 0.77})",
        R"({"precision": "float16", "optimizer": "adamw", "hyperparameters": "float32", "optimizer_state": "float32"})",
        R"({"precision": "mixed", "optimizer": "rmsprop", "momentum": 0.3, "hyperparameters": "bfloat16"})",
        R"({"mechanism": "level=O3", "optimizer": "nesterov"})"}) {
    const TrainSettings s = small_run(more);
    const Json used = Json::parse(train_detail::used_settings(s));
    const Trainer trainer(train_detail::model_of(s, find_network(s.network)), s.trainer_options());
    int updates = 0;
    for (const Node& node : trainer.update_graph().nodes()) {
      if (!node.op.starts_with("Apply")) continue;
      ++updates;
      for (const Json& of : used) {
        if (of["variables"] != name_of(node.outputs[0].dtype)) continue;
        EXPECT_EQ(of["optimizer_state"], name_of(node.outputs[1].dtype)) << more;
        for (const char* key : {"momentum", "rho", "beta1", "beta2", "epsilon"})
          if (of.contains(key)) {
            EXPECT_EQ(of[key], std::get<double>(node.attributes.at(key))) << more << key;
          }
      }
    }
    EXPECT_EQ(updates, 6) << more;
  }
}

// Programs of before wrote null for what the optimizer decides, and did not know the setting hyperparameters.
TEST(UsedSettings, GoesOnFromACheckpointOfBefore) {
  const TemporaryFolder folder;
  const std::string log = folder.file("a.jsonl"), file = folder.file("a.npz"), whole = folder.file("whole.jsonl");
  for (const char* optimizer : {"momentum", "adamw"}) {
    const TrainSettings settings = small_run(std::string(R"({"optimizer": ")") + optimizer + "\"}");
    const RunSummary all = quiet_run(settings, {.log = whole});
    stopped_run(settings, {.log = log, .checkpoint = file}, 3);
    const auto as_before = [](Json& s) {
      for (const char* key : {"momentum", "rho", "beta1", "beta2", "epsilon", "weight_decay"}) s[key] = nullptr;
      s.erase("hyperparameters");
    };
    Checkpoint c = load_checkpoint(file);
    Json written = Json::parse(c.settings);
    as_before(written);
    c.settings = written.dump();
    save_checkpoint(c, file);
    const std::string text = read_text(log);
    Json first = Json::parse(text.substr(0, text.find('\n')));
    as_before(first["settings"]);
    first.erase("used");
    write_text(log, first.dump() + text.substr(text.find('\n')));
    const RunSummary rest = quiet_run(settings, {.log = log, .checkpoint = file, .resume = file});
    EXPECT_EQ(rest.weight_hashes, all.weight_hashes) << optimizer;
    EXPECT_EQ(read_text(log), read_text(whole)) << optimizer;
  }
}

// The log says before the first step what the update is then given.
TEST(UsedSettings, TheLogShowsWhatIsUsed) {
  const TemporaryFolder folder;
  for (const char* more : {R"({"precision": "float16"})", R"({"precision": "bfloat16", "optimizer": "adam"})",
                           R"({"precision": "float16", "optimizer": "adam", "hyperparameters": "float32"})",
                           R"({"precision": "float16", "fold_scale_into_rate": true, "learning_rate": 0.3})",
                           R"({"precision": "float64", "optimizer": "rmsprop"})", R"({"mechanism": "level=O3"})"}) {
    const std::string log = folder.file("a.jsonl");
    TrainSettings settings = small_run(more);
    settings.steps = 1;
    quiet_run(settings, {.log = log});
    std::istringstream lines(read_text(log));
    std::string line;
    std::getline(lines, line);
    const Json first = Json::parse(line);
    for (const char* key : {"momentum", "beta1"})
      EXPECT_EQ(first["settings"][key].is_null(), !first["used"][0].contains(key)) << more;
    std::getline(lines, line);
    EXPECT_EQ(first["used"][0]["learning_rate"], Json::parse(line)["learning_rate"]) << more;
  }
}

TEST(UsedSettings, Float32HyperparametersLetAdamTrainBfloat16) {
  const TemporaryFolder folder;
  const auto losses = [&](const char* more, size_t warnings) {
    TrainSettings s = small_run(more);
    s.precision = "bfloat16";
    s.optimizer = "adam";
    s.epochs = 4;
    const RunSummary run = quiet_run(s, {.log = folder.file("a.jsonl")});
    const std::string text = read_text(folder.file("a.jsonl"));
    const Json said = Json::parse(text.substr(0, text.find('\n')))["warnings"];
    EXPECT_EQ(said.size(), warnings) << said;
    if (warnings > 1) {
      EXPECT_EQ(said[1],
                "adam: 1 - beta2 0.001 is 0 in bfloat16: beta2 is rounded to 1; to cure it: --set "
                "hyperparameters=float32");
    }
    return run.epoch_losses;
  };
  const auto narrow = losses("{}", 2), wide = losses(R"({"hyperparameters": "float32"})", 0);
  EXPECT_FALSE(narrow.back() < 100) << narrow.back();
  EXPECT_LT(wide.back(), 2.2);
  EXPECT_LT(wide.back(), wide.front());
}

// What follows from other settings is not said again.
TEST(UsedSettings, ChangedOnesAreThoseThatWereChosen) {
  const auto changed = [](const char* settings) {
    return train_detail::changed_settings(TrainSettings::from_json(settings).spelled_out());
  };
  EXPECT_EQ(changed("{}"), "the defaults");
  EXPECT_EQ(changed(R"({"optimizer": "adam"})"), "optimizer=adam");
  EXPECT_EQ(changed(R"({"optimizer": "adam", "beta1": 0.5})"), "optimizer=adam, beta1=0.5");
  EXPECT_EQ(changed(R"({"mechanism": "level=O2", "epochs": 2})"), "mechanism=level=O2, epochs=2");
  EXPECT_EQ(changed(R"({"behaviour": "all"})"), "behaviour=all");
  EXPECT_EQ(changed(R"({"loss_scale": "64", "momentum": 0.8})"), "momentum=0.8, loss_scale=64");
  EXPECT_EQ(train_detail::changed_settings(TrainSettings()), "the defaults");
}

}  // namespace
}  // namespace softamp
