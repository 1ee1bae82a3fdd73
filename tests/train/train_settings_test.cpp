// Settings of a training run: JSON there and back, every error with its place, and what a trainer gets.
#include "softamp/train/train_settings.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <tuple>

#include "softamp/chips/chip_table.h"
#include "src/train/settings/settings_fields.h"
#include "tests/files.h"
#include "tests/refusal.h"

namespace softamp {
namespace {

using test::contains;
using test::refusal;
using Json = nlohmann::ordered_json;

std::string settings_error(const std::string& json) {
  return refusal<std::invalid_argument>([&] { TrainSettings::from_json(json, "settings.json"); });
}

TEST(TrainSettings, ComeBackFromJson) {
  TrainSettings s;
  s.program = "a \"program\"\n";
  s.network = "lenet5";
  s.precision = "mixed";
  s.seed = UINT64_MAX;
  s.optimizer = "adam";
  s.learning_rate = 0.1 + 0.2;
  s.beta1 = 0.5;
  s.epsilon = 1e-4;
  s.optimizer_state = s.hyperparameters = "float32";
  s.loss_scale = "dynamic";
  s.clip_global_norm = 1;
  s.generated = s.shuffle = true;
  s.threads = 3;
  const TrainSettings t = TrainSettings::from_json(s.to_json());
  EXPECT_EQ(t.to_json(), s.to_json());
  EXPECT_EQ(t.seed, UINT64_MAX);
  EXPECT_EQ(t.learning_rate, 0.1 + 0.2);
  EXPECT_EQ(t.beta1, 0.5);
  EXPECT_FALSE(t.beta2.has_value());
  const Json json = Json::parse(s.to_json(false));
  EXPECT_FALSE(json.contains("threads") || json.contains("backend"));
  EXPECT_EQ(json.size() + 2, Json::parse(s.to_json()).size());
}

TEST(TrainSettings, WhatIsLeftOutKeepsItsDefault) {
  const TrainSettings s = TrainSettings::from_json("{\"epochs\": 3, \"momentum\": null, \"loss_scale\": 128}");
  TrainSettings expected;
  expected.epochs = 3;
  expected.loss_scale = "128";
  EXPECT_EQ(s.to_json(), expected.to_json());
}

TEST(TrainSettings, AnUnknownKeyIsNamedWithTheNearest) {
  EXPECT_EQ(settings_error("{\n  \"epochs\": 2,\n  \"lerning_rate\": 0.1\n}"),
            "settings.json: line 3: 'lerning_rate' is not a setting. Did you mean 'learning_rate'?");
}

TEST(TrainSettings, ErrorsSayLineValueAndWhatWasExpected) {
  const struct {
    const char *json, *parts[3];
  } cases[] = {
      {"{\"epochs\":\n \"many\"}", {"line 1: 'epochs' is \"many\"", "a whole number", ""}},
      {"{\n\"epochs\": 2.5}", {"line 2: 'epochs' is 2.5", "a whole number", ""}},
      {"{\"shuffle\": 1}", {"line 1: 'shuffle' is 1", "true or false", ""}},
      {"{\"network\": 1}", {"line 1: 'network' is 1", "a text", ""}},
      {"{\"learning_rate\": \"0.1\"}", {"'learning_rate' is \"0.1\"", "a number", ""}},
      {"{\"seed\": -1}", {"'seed' is -1", "0 or more", ""}},
      {"{\"replicas\": 4294967297}", {"'replicas' is 4294967297", "32 bits", ""}},
      {"{\"steps\": 18446744073709551615}", {"'steps' is 18446744073709551615", "64 bits", ""}},
      {"{\n\n\"batch_size\": 0}", {"line 3: 'batch_size' is 0", "expected 1..", ""}},
      {"{\"epochs\": -1}", {"'epochs' is -1", "expected 1..", ""}},
      {"{\"learning_rate\": -0.5}", {"'learning_rate' is -0.5", "0 or more", ""}},
      {"{\"momentum\": 1}", {"'momentum' is 1", "not including, 1", ""}},
      {"{\"epsilon\": 0}", {"'epsilon' is 0", "above 0", ""}},
      {"{\"random_bits\": 33}", {"'random_bits' is 33", "0..32", ""}},
      {"{\"amp_block\": 5}", {"'amp_block' is 5", "1, 4, 16", ""}},
      {"{\"replicas\": 257}", {"'replicas' is 257", "1..256", ""}},
      {"{\n\"replica_invariant\": 6}", {"line 2: 'replica_invariant' is 6", "a power of two up to 65536", ""}},
      {"{\"stochastic_rounding\": \"onn\"}", {"'stochastic_rounding' is 'onn'", "replica_identical_only", ""}},
      {"{\"behaviour\": \"inv, overflow\"}", {"'behaviour' is 'overflow'", "oflo", ""}},
      {"{\"partials\": \"bf16\"}", {"'partials' is 'bf16'", "float or half", ""}},
      {"{\"weight_update\": \"kahn\"}", {"'weight_update' is 'kahn'", "default, nearest, stochastic", "kahan"}},
      {"{\"optimizer_state\": \"int32\"}", {"'optimizer_state' is 'int32'", "float16, bfloat16 or float32", ""}},
      {"{\n\"hyperparameters\": \"float64\"}",
       {"line 2: 'hyperparameters' is 'float64'", "float16, bfloat16 or float32", ""}},
      {"{\"optimizer\": \"adamm\"}", {"'optimizer'", "adamm", "adamw"}},
      {"{\"loss_scale\": \"often\"}", {"'loss_scale'", "Could not interpret loss scale identifier", "often"}},
      {"{\"precision\": \"fp8\"}", {"'precision'", "fp8", "--recipe-fp8"}},
      {"{\"network\": \"resnet9\"}", {"'network'", "6N+2", ""}},
      {"{\"backend\": \"tpu\"}", {"'backend' is 'tpu'", "emu", ""}},
      {"{\"epochs\": 1,\n\"epochs\": 2}",
       {"line 2, column 1: the field 'epochs' stands twice", "first at line 1, column 2", ""}},
      {"{\"epochs\": 1,\n\"steps\" 2}", {"line 2, column ", "", ""}},
      {"[1]", {"expected a JSON object", "[1]", ""}},
      {"", {"settings.json: line 1, column 1: ", "", ""}},
      {"{\"epochs\": 1e999}", {"settings.json", "", ""}},
  };
  for (const auto& c : cases) {
    const std::string error = settings_error(c.json);
    EXPECT_EQ(error.rfind("settings.json: ", 0), 0u) << c.json << ": " << error;
    for (const char* part : c.parts) EXPECT_TRUE(contains(error, part)) << c.json << ": " << error;
  }
  // Keys within values are no settings, and count no lines.
  EXPECT_TRUE(contains(settings_error("{\"program\": \"{\\\"x\\\": \\\"\",\n\"data\": [{\"a\": 1}],\n\"epochs\": 0}"),
                       "line 2: 'data' is [{\"a\":1}]"));
  // Found by fuzzing: the parser takes a byte 0 for the end, what counts lines read on past the end of the text.
  EXPECT_TRUE(contains(settings_error(std::string("{\n}\0{\"", 6)), "line 2, column 2: a byte 0"));
}

TEST(TrainSettings, WhatDoesNotGoTogether) {
  const auto error = [](const char* json) {
    return refusal<std::invalid_argument>([&] { TrainSettings::from_json(json).validate(); });
  };
  EXPECT_EQ(error("{}"), "");
  EXPECT_EQ(error("{\"momentum\": 0.5}"), "");
  EXPECT_TRUE(contains(error("{\"optimizer\": \"adam\", \"momentum\": 0.5}"), "'momentum' has no effect on"));
  EXPECT_TRUE(contains(error("{\"weight_decay\": 0.5}"), "adamw"));
  EXPECT_TRUE(contains(error("{\"optimizer\": \"adam\", \"fold_scale_into_rate\": true}"), "not linear"));
  EXPECT_TRUE(contains(error("{\"loss_scale\": \"dynamic\", \"fold_scale_into_rate\": true}"), "fixed"));
  EXPECT_TRUE(contains(error("{\"clip_norm\": 1, \"fold_scale_into_rate\": true}"), "clipping"));
}

TEST(TrainSettings, SlicesOfAStepAreDividedAmongReplicas) {  // N283
  const auto error = [](const char* more) {
    return refusal<std::invalid_argument>(
        [&] { TrainSettings::from_json(std::string("{\"replica_invariant\": 8, ") + more + "}").validate(); });
  };
  for (const int replicas : {1, 2, 8}) {
    TrainSettings s;
    s.replica_invariant = 8;
    s.replicas = replicas;
    EXPECT_EQ(s.spelled_out().accumulation, 8 / replicas);
    s = s.spelled_out();
    const TrainerOptions o = s.trainer_options();
    EXPECT_TRUE(o.replica_invariant);
    EXPECT_EQ(o.accumulation, 8 / replicas);
    EXPECT_EQ(s.spelled_out().to_json(), s.to_json());
  }
  EXPECT_EQ(error("\"replicas\": 3"),
            "settings: 'replicas' is 3, which does not divide the 8 slices of 'replica_invariant'; expected a power of "
            "two up to 8");
  EXPECT_EQ(error("\"replicas\": 2, \"accumulation\": 2"),
            "settings: 'accumulation' is 2; expected 1, or 4: the 8 slices of 'replica_invariant' over 'replicas' 2");
  EXPECT_EQ(error("\"accumulation_dtype\": \"float32\""),
            "settings: 'accumulation_dtype' is float32, but the 8 slices of 'replica_invariant' are summed in float32; "
            "expected none");
  EXPECT_EQ(error("\"accumulation_reduction\": \"mean\""),
            "settings: 'accumulation_reduction' is mean, but the 8 slices of 'replica_invariant' are reduced as "
            "'replica_reduction' says; expected sum");
  EXPECT_EQ(error("\"replica_drift\": true"),
            "settings: 'replica_drift' is true, and 'replica_invariant' is on; expected one of them");
}

// Settings of checkpoints and logs from before these keys: replicas drifted where they rounded stochastically.
TEST(TrainSettings, OldSettingsAreComparedByWhatTheyMeant) {
  const auto without = [](TrainSettings s) {
    auto json = nlohmann::ordered_json::parse(s.to_json(false));
    json.erase("replica_drift");
    json.erase("replica_invariant");
    return json.dump();
  };
  TrainSettings s;
  EXPECT_EQ(train_detail::difference_that_decides(s.to_json(false), without(s)), "");
  s.replicas = 2;
  s.stochastic_rounding = "replica_identical_only";
  EXPECT_EQ(train_detail::difference_that_decides(s.to_json(false), without(s)), "");
  s.stochastic_rounding = "on";
  EXPECT_EQ(train_detail::difference_that_decides(s.to_json(false), without(s)),
            "'replica_drift' is false and was true");
  s.replica_drift = true;
  EXPECT_EQ(train_detail::difference_that_decides(s.to_json(false), without(s)), "");
  TrainSettings a, b;
  a.replica_invariant = b.replica_invariant = 4;
  b.replicas = 2;
  EXPECT_EQ(train_detail::difference_that_decides(a.spelled_out().to_json(false), b.spelled_out().to_json(false)), "");
  b.replica_invariant = 8;
  EXPECT_EQ(train_detail::difference_that_decides(a.to_json(false), b.to_json(false)),
            "'replicas' is 1 and was 2, 'replica_invariant' is 4 and was 8");
}

TEST(TrainSettings, PartialsAccumulatorAndStatisticsReachTheExecutor) {
  const auto options = [](const std::string& more) {
    return TrainSettings::from_json("{\"precision\": \"float16\", " + more + "}").trainer_options().executor;
  };
  const auto partials = [](const PoplarOptions& o) {
    const auto found = o.find("partialsType");
    return found == o.end() ? std::string("float") : found->second;
  };
  for (const auto& [more, matmuls, convolutions] :
       {std::tuple{"\"partials\": \"float\"", "float", "float"},
        {"\"partials\": \"half\"", "half", "half"},
        {"\"partials\": \"half\", \"matmul_partials\": \"fp32\"", "float", "half"},
        {"\"matmul_partials\": \"half\"", "half", "float"},
        {"\"convolution_partials\": \"fp16\"", "float", "half"}}) {
    const ExecutorOptions o = options(more);
    EXPECT_EQ(partials(o.config.matmuls.poplar_options), matmuls) << more;
    EXPECT_EQ(partials(o.config.convolutions.poplar_options), convolutions) << more;
  }
  EXPECT_EQ(options("\"accumulator\": \"tensorcore_hopper\"").accumulator, Accumulator::kTensorCoreHopper);
  EXPECT_EQ(options("\"batch_size\": 8").accumulator, Accumulator::kIpuModelA);
  EXPECT_EQ(options("\"accumulator\": \"ada\", \"tensor_core_operands\": \"float8_e4m3fn\"").tensor_core_operands,
            TensorCoreOperands::kAsE4m3);
  EXPECT_EQ(options("\"batch_size\": 8").tensor_core_operands, TensorCoreOperands::kOwn);
  EXPECT_TRUE(TrainSettings::from_json("{\"bias_in_accumulator\": true}").trainer_options().bias_in_accumulator);
  EXPECT_TRUE(options("\"use_stable_statistics\": true").config.norms.use_stable_statistics);
  EXPECT_EQ(options("\"rounding_variant\": \"rne\"").switches.sr_form, StochasticVariant::kRne);
}

TEST(TrainSettings, AChipSaysBitsAndVariant) {
  TrainSettings s;
  s.stochastic_rounding = "on";
  s.chip = "b200";  // another name of nvidia_sm100
  for (const auto& [precision, dtype] : {std::pair{"float16", DType::kFloat16},
                                         {"mixed", DType::kFloat16},
                                         {"bfloat16", DType::kBFloat16},
                                         {"mixed_bfloat16", DType::kBFloat16}}) {
    s.precision = precision;
    const ChipRounding c = chip_rounding(Chip::kNvidiaSm100, format_of(dtype));
    const ExecutorOptions o = s.trainer_options().executor;
    EXPECT_EQ(o.switches.sr_bits, c.special.random_bits) << precision;
    EXPECT_EQ(o.switches.sr_form, c.special.variant) << precision;
    EXPECT_EQ(s.spelled_out().random_bits, c.special.random_bits) << precision;
    EXPECT_EQ(s.spelled_out().spelled_out().to_json(), s.spelled_out().to_json()) << precision;
    EXPECT_NO_THROW(s.spelled_out().validate()) << precision;
  }
  EXPECT_EQ(TrainSettings::from_json("{\"chip\": \"B200\"}").chip, "nvidia_sm100");
  const auto error = [](TrainSettings t) { return refusal<std::invalid_argument>([&] { t.validate(); }); };
  s.random_bits = 5;
  EXPECT_EQ(
      error(s),
      "settings: 'chip' does not go with the rest: chip nvidia_sm100 rounds to bf16 by 16 random bits: expected no "
      "other number than that");
  s.random_bits = 0;
  s.rounding_variant = "odd";
  EXPECT_EQ(error(s), "settings: 'chip' is 'b200', but 'rounding_variant' is odd; expected the chip's carry");
  s.rounding_variant = "carry";
  s.precision = "float32";
  EXPECT_EQ(error(s),
            "settings: 'chip' is 'b200', but nothing is computed in 16 bits; expected a precision or a mechanism of 16 "
            "bits");
  s.mechanism = "recipe=full";
  EXPECT_EQ(error(s), "");
  s.mechanism = "none";
  s.precision = "float16";
  s.stochastic_rounding = "off";
  EXPECT_EQ(error(s),
            "settings: 'chip' is 'b200', but 'stochastic_rounding' is off; expected on or replica_identical_only");
  s.stochastic_rounding = "on";
  s.chip = "amd_cdna3";
  EXPECT_TRUE(contains(error(s), "'chip' does not go with the rest: chip amd_cdna3 does not round to fp16"))
      << error(s);
  s.chip = "intel_xe";
  EXPECT_TRUE(contains(error(s), "adds its random bits to the source, and training does not")) << error(s);
  s.chip = "b2000";
  EXPECT_TRUE(contains(error(s), "'chip' is not understood: ")) << error(s);
}

TEST(TrainSettings, WithOneChanged) {
  const TrainSettings s;
  EXPECT_EQ(s.with("epochs", "7").epochs, 7);
  EXPECT_EQ(s.with("precision", "fp16").precision, "float16");
  EXPECT_EQ(s.with("network", "lenet5").network, "lenet5");
  EXPECT_EQ(s.with("optimizer_state", "float32").optimizer_state, "float32");
  EXPECT_EQ(s.with("momentum", "0.5").momentum, 0.5);
  EXPECT_EQ(s.with("momentum", "null").momentum, std::nullopt);
  EXPECT_EQ(s.with("loss_scale", "1024").loss_scale, "1024");
  const auto error = [&](const char* key, const char* text) {
    return refusal<std::invalid_argument>([&] { s.with(key, text, "--set"); });
  };
  EXPECT_EQ(error("epoch", "7"), "--set: 'epoch' is not a setting. Did you mean 'epochs'?");
  EXPECT_EQ(error("epochs", "many"), "--set: 'epochs' is \"many\"; expected a whole number of 64 bits");
}

/// Names of the one list become ours, so that logs, checkpoints and comparisons hold one of them.
TEST(TrainSettings, OtherNamesOfDtypesBecomeOurs) {
  const auto read = [](const std::string& key, const std::string& word) {
    return TrainSettings::from_json("{\"" + key + "\": \"" + word + "\"}");
  };
  for (const char* word : {"fp16", "half", "FLOAT16", "f16", "binary16", "float16"}) {
    EXPECT_EQ(read("precision", word).precision, "float16") << word;
    EXPECT_EQ(read("optimizer_state", word).optimizer_state, "float16") << word;
    EXPECT_EQ(read("hyperparameters", word).hyperparameters, "float16") << word;
    EXPECT_EQ(read("accumulation_dtype", word).accumulation_dtype, "float16") << word;
    EXPECT_EQ(read("partials", word).partials, "half") << word;
  }
  for (const char* word : {"fp32", "float", "single", "f32"}) {
    EXPECT_EQ(read("precision", word).precision, "float32") << word;
    EXPECT_EQ(read("partials", word).partials, "float") << word;
  }
  EXPECT_EQ(read("precision", "bf16").precision, "bfloat16");
  EXPECT_EQ(read("precision", "fp64").precision, "float64");
  for (const char* word : {"mixed", "mixed_float16", "mixed_fp16", "mixed_half"})
    EXPECT_EQ(read("precision", word).precision, "mixed") << word;
  EXPECT_EQ(read("precision", "mixed_bf16").precision, "mixed_bfloat16");
  for (const char* word : {"fp8", "mixed_fp32", "int32", "e4m3", "mixed_"})
    EXPECT_ANY_THROW(read("precision", word)) << word;
  // A checkpoint from before holds the word as it was typed.
  EXPECT_EQ(
      train_detail::difference_that_decides(read("optimizer_state", "fp16").to_json(), R"({"optimizer_state": "half"})")
          .find("optimizer_state"),
      std::string::npos);
}

TEST(TrainSettings, BecomeTrainerOptions) {
  TrainSettings s = TrainSettings::from_json(R"({
    "optimizer": "rmsprop", "learning_rate": 0.5, "momentum": 0.25, "rho": 0.75, "epsilon": 0.125,
    "optimizer_state": "float32", "hyperparameters": "bfloat16", "separate_roundings": true, "strict": true,
    "seed": 7, "threads": 2, "amp_block": 4, "partials": "half", "random_bits": 5, "behaviour": "all",
    "stochastic_rounding": "replica_identical_only", "clip_value": 3, "accumulation": 2,
    "accumulation_dtype": "float32", "accumulation_reduction": "mean", "replicas": 4, "replica_reduction": "sum", "loss_scale": "64"})");
  const TrainerOptions o = s.trainer_options();
  EXPECT_EQ(o.optimizer.kind, OptimizerKind::kRmsProp);
  EXPECT_EQ(o.optimizer.learning_rate, 0.5);
  EXPECT_EQ(o.optimizer.momentum, 0.25);
  EXPECT_EQ(o.optimizer.rho, 0.75);
  EXPECT_EQ(o.optimizer.epsilon, 0.125);
  EXPECT_EQ(o.optimizer.state, DType::kFloat32);
  EXPECT_EQ(o.optimizer.hyperparameters, DType::kBFloat16);
  EXPECT_TRUE(o.optimizer.separate_roundings && o.optimizer.strict && o.strict);
  EXPECT_EQ(o.executor.device.memory_per_tile, 0) << "no setting asks for a device's memory";
  EXPECT_EQ(o.executor.seed, 7u);
  EXPECT_EQ(o.executor.threads, 2);
  EXPECT_EQ(o.executor.amp_block, 4);
  EXPECT_EQ(o.executor.switches.sr_bits, 5);
  EXPECT_TRUE(product_options(o.executor.config.matmuls.poplar_options, "matmuls").half_partials);
  EXPECT_TRUE(product_options(o.executor.config.convolutions.poplar_options, "convolutions").half_partials);
  const auto& f = o.executor.config.floating_point_behaviour;
  EXPECT_TRUE(f.inv && f.div0 && f.oflo && f.nanoo && !f.set_all);
  EXPECT_EQ(f.esr, StochasticRoundingBehaviour::kReplicaIdenticalOnly);
  EXPECT_TRUE(o.executor.config.experimental.enable_prng_stability);
  EXPECT_EQ(o.clipping.value, 3);
  EXPECT_EQ(o.accumulation, 2);
  EXPECT_EQ(o.accumulation_dtype.dtype(), DType::kFloat32);
  EXPECT_EQ(o.accumulation_reduction, ReplicaReduction::kMean);
  EXPECT_EQ(o.replicas, 4);
  EXPECT_EQ(o.reduction, ReplicaReduction::kSum);
  EXPECT_EQ(o.loss_scale.initial, 64);

  s = TrainSettings::from_json("{\"fold_scale_into_rate\": true, \"behaviour\": \"all off nanoo\"}");
  EXPECT_EQ(s.trainer_options().loss_scale.unscale, Unscale::kFoldedIntoRate);
  const IpuConfig config = s.trainer_options().executor.config;
  EXPECT_EQ(config.behaviour(), (FloatingPointBehaviour{false, false, false, false, true}));
}

// What is spelled out is what the optimizer uses, no more, and means the same run.
TEST(TrainSettings, HyperparametersAreSpelledOut) {
  const struct {
    const char *optimizer, *numbers;
  } rows[] = {{"sgd", "{}"},
              {"momentum", R"({"momentum": 0.9})"},
              {"nesterov", R"({"momentum": 0.9})"},
              {"rmsprop", R"({"momentum": 0.0, "rho": 0.9, "epsilon": 1e-8})"},
              {"adam", R"({"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8})"},
              {"adamw", R"({"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8, "weight_decay": 0.01})"}};
  for (const auto& row : rows) {
    TrainSettings s;
    s.optimizer = row.optimizer;
    const TrainSettings all = TrainSettings::from_json(s.spelled_out().to_json());
    EXPECT_EQ(all.spelled_out().to_json(), all.to_json());
    EXPECT_NO_THROW(all.validate()) << row.optimizer;
    const Json json = Json::parse(all.to_json());
    Json numbers = Json::object();
    for (const char* key : {"momentum", "rho", "beta1", "beta2", "epsilon", "weight_decay"})
      if (!json[key].is_null()) numbers[key] = json[key];
    EXPECT_EQ(numbers, Json::parse(row.numbers)) << row.optimizer;
    const OptimizerOptions a = s.trainer_options().optimizer, b = all.trainer_options().optimizer;
    EXPECT_EQ(std::tie(a.learning_rate, a.momentum, a.rho, a.beta1, a.beta2, a.epsilon, a.weight_decay),
              std::tie(b.learning_rate, b.momentum, b.rho, b.beta1, b.beta2, b.epsilon, b.weight_decay));
  }
  TrainSettings asked;
  asked.optimizer = "adam";
  asked.beta2 = 0.5;
  EXPECT_EQ(asked.spelled_out().beta2, 0.5);
}

TEST(TrainSettings, WhatWasNullIsTheOptimizersDefault) {
  const TrainSettings now = TrainSettings{}.spelled_out();
  const auto difference = [&](const char* more) {
    Json was = Json::parse(TrainSettings{}.to_json(false));
    was.erase("hyperparameters");  // of a program that did not know it
    was.update(Json::parse(more));
    return train_detail::difference_that_decides(now.to_json(false), was.dump());
  };
  EXPECT_EQ(difference(R"({"loss_scale": "256", "behaviour": "off"})"), "");
  EXPECT_EQ(difference(R"({"loss_scale": "256", "behaviour": "off", "momentum": 0.5})"),
            "'momentum' is 0.9 and was 0.5");
  EXPECT_EQ(difference(R"({"loss_scale": "256", "behaviour": "off", "hyperparameters": "float32"})"),
            "'hyperparameters' is null and was \"float32\"");
  for (const char* odd : {R"({"optimizer": 1})", R"({"optimizer": "adamm"})"})
    EXPECT_TRUE(contains(difference(odd), "'optimizer' is \"momentum\" and was ")) << odd;
}

}  // namespace
}  // namespace softamp
