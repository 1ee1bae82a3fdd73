// Training under every mechanism of mixed precision: what each layer and each phase computes in which dtype, what a
// pass over the gradient graph may and may not touch, how far training ends from float32, and what a bad recipe does.
#include "softamp/precision/mechanism.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>

#include "softamp/train/checkpoint.h"
#include "softamp/train/graphcore/estimator.h"
#include "tests/files.h"
#include "tests/graph/executor_check.h"
#include "tests/pinned_digests.h"
#include "tests/train/mechanism_rig.h"
#include "tests/train/real_images.h"

namespace softamp::mechanisms {
namespace {

using test::refusal;
using test::TemporaryFolder;

// Layers under a rule.

LayerRule everything_in(DType compute, DType variables) {
  return [=](std::string_view, std::string_view) {
    LayerPrecision p;
    p.compute = compute;
    p.variables = variables;
    p.reason = "by hand";
    return p;
  };
}

// tests: X13
TEST(LayersUnderARule, CastInputsAndVariablesOnce) {
  // TUTORIAL X13
  GraphBuilder b;
  VariableStore store(b, everything_in(kF16, kF32));
  const Port x = b.placeholder("x", kF32, {2, 6, 6, 3});
  Port y = layers::conv2d(store, x, 4);
  EXPECT_EQ(b.type(y).dtype, kF16);
  y = layers::dense(store, layers::flatten(store, layers::max_pool(store, y, 2, 2)), 5, {.relu = true});
  y = layers::dense_column(store, y, 3, "column");
  const Graph g = b.build();
  std::vector<std::string> casts;
  for (const Node& n : g.nodes()) {
    if (n.op == "Cast") casts.push_back(n.name);
    if (n.op == "VariableV2") {
      EXPECT_EQ(n.outputs[0].dtype, kF32) << n.name;
    }
    if (n.op == "MatMul" || n.op == "Conv2D" || n.op == "MaxPool") {
      EXPECT_EQ(n.outputs[0].dtype, kF16) << n.name;
    }
  }
  EXPECT_EQ(casts, (std::vector<std::string>{"conv2d/input_cast", "conv2d/kernel_cast", "conv2d/bias_cast",
                                             "dense/kernel_cast", "dense/bias_cast", "column/weights_cast",
                                             "column/biases_cast"}));
  ASSERT_EQ(store.ruled_layers().size(), 3u);
  EXPECT_EQ(store.ruled_layers()[2].kind, "dense");
  EXPECT_EQ(store.ruled_layers()[2].path, "column");
}

TEST(LayersUnderARule, KeepInputsAndVariablesWhereTheRuleSaysSo) {
  GraphBuilder b;
  VariableStore store(b, [](std::string_view kind, std::string_view path) {
    LayerPrecision p;
    p.compute = p.variables = path == "low" ? kF16 : kF32;
    if (kind == "conv2d") p.output = DType::kBFloat16;
    p.cast_input = path != "as_it_is";
    return p;
  });
  const Port x = b.placeholder("x", kF16, {2, 6, 6, 3});
  EXPECT_EQ(b.type(layers::conv2d(store, x, 4, {.use_bias = false}, "low")).dtype, DType::kBFloat16);
  EXPECT_EQ(b.type(store.variable("low/kernel").port).dtype, kF16);
  EXPECT_EQ(b.graph().find("low/kernel_cast"), -1);
  EXPECT_EQ(b.type(layers::dense(store, b.placeholder("r", kF16, {2, 3}), 4)).dtype, kF32);
  // An input that is kept does not fit the layer's variables: an error, not a promotion.
  EXPECT_THROW(layers::conv2d(store, x, 4, {}, "as_it_is"), DtypeMismatchError);
}

TEST(LayersUnderARule, ResidualSumsOfTwoDtypesAreOfTheBlocks) {
  GraphBuilder b;
  VariableStore store(b, [](std::string_view kind, std::string_view path) {
    LayerPrecision p;
    if (path == "block/conv2d_1") p.compute = kF16;
    if (kind == "residual_block") p.compute = DType::kBFloat16;
    return p;
  });
  const Port y = layers::residual_block(store, b.placeholder("x", kF32, {1, 4, 4, 2}), 2);
  EXPECT_EQ(b.type(y).dtype, DType::kBFloat16);
  EXPECT_EQ(dtype(b.graph(), "block/AddV2"), "bfloat16");
}

TEST(LayersUnderARule, ADtypeThatLayersDoNotHaveIsRefused) {
  GraphBuilder b;
  VariableStore store(b, everything_in(DType::kFloat64, kF32));
  const Port x = b.placeholder("x", kF32, {2, 3});
  EXPECT_EQ(refusal<GraphError>([&] { layers::dense(store, x, 4, {}, "fc"); }),
            "dense 'fc': the layer's rule computes in float64 and keeps variables in float32; expected float64");
  VariableStore whole(b, everything_in(DType::kInt32, kF32));
  EXPECT_EQ(
      refusal<GraphError>([&] { layers::dense(whole, x, 4, {}, "fc2"); }),
      "dense 'fc2': the layer's rule computes in int32; expected float16, bfloat16 or float32, or float64 for all "
      "of it");
  ModelOptions options = tiny_options();
  options.layers = everything_in(kF16, kF32);
  options.precision = Precision::parse("mixed");
  EXPECT_EQ(refusal<std::invalid_argument>([&] { build_model(tiny_network, options); }),
            "build_model: the precision is mixed, and 'layer rule' says what each layer computes in; expected float32, "
            "the precision of what it begins with");
}

// tests: M04, X10
TEST(Mechanisms, DtypesOfEveryTensorAtO2) {
  Trainer trainer(tiny_model("level=O2"), tiny_trainer("level=O2"));
  const Graph& g = trainer.gradient_graph();
  // TUTORIAL X10: every cell in float16 but BatchNorm, whose result is cast to float16; variables and the loss in
  // float32.
  const std::pair<const char*, const char*> rows[] = {{"images", "float32"},
                                                      {"conv2d/input_cast", "float16"},
                                                      {"conv2d/Conv2D", "float16"},
                                                      {"conv2d/Relu", "float16"},
                                                      {"batch_normalization/input_cast", "float32"},
                                                      {"batch_normalization/FusedBatchNormV3", "float32"},
                                                      {"batch_normalization/output_cast", "float16"},
                                                      {"batch_normalization/gamma_cast", ""},
                                                      {"block1/conv2d/Conv2D", "float16"},
                                                      {"block1/AddV2", "float16"},
                                                      {"block1/Relu", "float16"},
                                                      {"MaxPool", "float16"},
                                                      {"block2/conv2d_2/Conv2D", "float16"},
                                                      {"group_norm/GroupNorm", "float16"},
                                                      {"Mean", "float16"},
                                                      {"dense/MatMul", "float16"},
                                                      {"logits", "float16"},
                                                      {"loss_fn/Cast", "float32"},
                                                      {"loss", "float32"},
                                                      {"scale/scaled_loss", "float32"}};
  for (const auto& [name, expected] : rows) EXPECT_EQ(dtype(g, name), expected) << name;
  for (const Node& n : g.nodes()) {
    if (n.op == "VariableV2") {
      EXPECT_EQ(n.outputs[0].dtype, kF32) << n.name;
    }
    if (n.op == "Conv2DBackpropFilter" || n.op == "MatMul") {
      EXPECT_EQ(n.outputs[0].dtype, kF16) << n.name;
    }
    if (n.op.starts_with("FusedBatchNorm")) {
      EXPECT_EQ(n.outputs[0].dtype, kF32) << n.name;
    }
  }
  // Level O3 has no exception.
  const Model o3 = tiny_model("level=O3");
  EXPECT_EQ(dtype(o3.graph, "batch_normalization/FusedBatchNormV3"), "float16");
  EXPECT_EQ(dtype(o3.graph, "loss"), "float32");
}

// tests: M03
TEST(Mechanisms, PhasesOfAStepUnderARuleAndAPass) {
  for (const std::string mechanism : {"level=O2", "tensorflow=2.3"}) {
    SCOPED_TRACE(mechanism);
    Trainer trainer(tiny_model(mechanism), tiny_trainer(mechanism));
    std::map<std::string, std::set<std::string>> dtypes;
    trainer.observe([&](std::string_view phase, int, uint32_t, const Node& node, int, const TensorType& type,
                        const void*) {
      const bool gradient_of_cast =
          node.name.starts_with("gradients/") && node.name.find("_grad/") != std::string::npos;
      if (node.op == "Cast" && phase != "unscale" && phase != "update" && phase != "loss") {
        EXPECT_TRUE(phase == "cast" || (mechanism == "level=O2" && gradient_of_cast)) << node.name << " in " << phase;
      }
      if (is_floating(type.dtype)) dtypes[std::string(phase)].insert(name_of(type.dtype));
    });
    trainer.step(batches_of(0, 1));
    using Set = std::set<std::string>;
    EXPECT_TRUE(dtypes["cast"].contains("float16"));
    EXPECT_EQ(dtypes["loss"], Set{"float32"});
    EXPECT_EQ(dtypes["scale"], Set{"float32"});
    EXPECT_EQ(dtypes["backward"], (Set{"float16", "float32"}));
    EXPECT_EQ(dtypes["unscale"], Set{"float32"});
    EXPECT_EQ(dtypes["update"], Set{"float32"});
  }
  EXPECT_EQ(phase_of("gradients/dense/MatMul_grad/MatMul-0-CastToFp32-AutoMixedPrecision"), "cast");
  EXPECT_EQ(phase_of("dense/kernel_cast_1"), "cast");
  EXPECT_EQ(phase_of("gradients/dense/kernel_cast_grad/Cast"), "backward");
  EXPECT_EQ(phase_of("dense_cast_1/MatMul"), "forward");
}

// The pass over the gradient graph.

/// A pass that changes nothing, and remembers what it was given.
struct Spy {
  std::vector<Graph> graphs;
  std::vector<std::vector<std::string>> fetches;
  GraphPass pass() {
    return [this](const Graph& graph, std::span<const std::string> fetched) {
      graphs.push_back(graph);
      fetches.emplace_back(fetched.begin(), fetched.end());
      return rewrite_with(graph, fetched, [](const OpGraph& g) { return Colouring::nothing(g, "spy", kF16); });
    };
  }
};

TEST(Mechanisms, APassThatChangesNothingChangesNoBit) {
  for (const int accumulation : {1, 2}) {
    TrainerOptions o = tiny_trainer();
    o.loss_scale = LossScaleOptions::fixed(256);
    o.accumulation = accumulation;
    o.replicas = 2;
    Trainer plain(tiny_model(), o);
    Spy spy;
    o.pass = spy.pass();
    Trainer passed(tiny_model(), o);
    EXPECT_TRUE(plain.update_graph() == passed.update_graph());
    EXPECT_EQ(weights_after(plain, 2), weights_after(passed, 2));
    const Batch batch = std::move(batches_of(0, 1)[0]);
    EXPECT_TRUE(plain.logits(batch.images).same_bits(passed.logits(batch.images)));
    ASSERT_EQ(spy.graphs.size(), 2u) << "gradients, logits";
    EXPECT_EQ(spy.fetches[1], std::vector<std::string>{"logits"});
    for (const std::string& fetch : spy.fetches[0]) {
      const Graph& g = spy.graphs[0];
      EXPECT_EQ(g.node(g.port(fetch).node).op, "Identity") << fetch;
    }
    // Sums over micro-batches are none of the pass's business.
    for (const Node& n : spy.graphs[0].nodes()) EXPECT_FALSE(n.name.starts_with("accumulate/")) << n.name;
    ASSERT_TRUE(passed.precision_report());
    EXPECT_EQ(passed.precision_report()->converted_nodes(), 0);
    EXPECT_FALSE(plain.precision_report());
  }
}

TEST(Mechanisms, FetchesAndStateStayFloat32) {
  for (const std::string& mechanism : kAll) {
    if (!Mechanism::parse(mechanism).rewrites()) continue;
    SCOPED_TRACE(mechanism);
    TrainerOptions o = tiny_trainer(mechanism);
    o.accumulation = 2;
    const Trainer trainer(tiny_model(), o);
    const Graph& g = trainer.gradient_graph();
    int low = 0;
    for (const Node& n : g.nodes()) {
      const bool kept = n.op == "VariableV2" || n.op == "Assign" || n.op == "Placeholder" ||
                        n.name.starts_with("accumulate/") || n.name.find("fetched") != std::string::npos;
      if (kept && is_floating(n.outputs[0].dtype)) {
        EXPECT_EQ(n.outputs[0].dtype, kF32) << n.name;
      }
      low += is_low(n.outputs[0].dtype);
    }
    EXPECT_GT(low, 5);
    o.pass = {};
    o.loss_scale = tiny_trainer(mechanism).loss_scale;
    EXPECT_TRUE(trainer.update_graph() == Trainer(tiny_model(), o).update_graph());
  }
}

TEST(Mechanisms, TheReportSaysWhatTheGraphIs) {
  for (const std::string& mechanism : kAll) {
    SCOPED_TRACE(mechanism);
    const Trainer trainer(tiny_model(mechanism), tiny_trainer(mechanism));
    ASSERT_TRUE(trainer.precision_report());
    const PrecisionReport& report = *trainer.precision_report();
    int64_t casts = 0, low = 0, floating = 0;
    for (const Node& n : trainer.gradient_graph().nodes()) {
      if (n.op == "Cast") {
        ++casts;
        continue;
      }
      bool has_floating = false, has_low = false;
      for (const auto& [name, value] : n.attributes)
        if (const DType* t = std::get_if<DType>(&value)) {
          has_floating = has_floating || is_floating(*t);
          has_low = has_low || is_low(*t);
        }
      floating += has_floating;
      low += has_low;
    }
    EXPECT_EQ(static_cast<int64_t>(report.plan.casts.size()), casts);
    EXPECT_EQ(report.nodes(), trainer.gradient_graph().size() - casts);
    EXPECT_EQ(report.converted_nodes(), low);
    EXPECT_DOUBLE_EQ(report.low_share(), static_cast<double>(low) / static_cast<double>(floating));
    EXPECT_GT(low, 0);
    for (const std::string& reason : report.colours.reasons) EXPECT_FALSE(reason.empty());
    EXPECT_FALSE(report.summary().empty());
    EXPECT_FALSE(report.table().empty());
    EXPECT_EQ(nlohmann::json::parse(report.json())["casts"].size(), static_cast<size_t>(casts));
  }
}

TEST(Mechanisms, TwoAtOnceAreRefused) {
  TrainerOptions o = tiny_trainer("tensorflow");
  EXPECT_NE(refusal<std::invalid_argument>([&] { Trainer(tiny_model("level=O2"), o); }).find("'level=O2' at once"),
            std::string::npos);
  ModelOptions mixed = tiny_options();
  mixed.precision = Precision::parse("mixed");
  const Model model =
      build_model([](VariableStore& s, Port x) { return layers::dense(s, layers::flatten(s, x), 10); }, mixed);
  EXPECT_NE(refusal<std::invalid_argument>([&] { Trainer(model, o); }).find("the precision mixed; expected float32"),
            std::string::npos);
  const auto error = [](const char* json) {
    return refusal<std::invalid_argument>([&] { TrainSettings::from_json(json).validate(); });
  };
  const std::string both = error(R"({"mechanism": "tensorflow", "precision": "mixed"})");
  EXPECT_NE(both.find("'mechanism' is 'tensorflow', but 'precision' is 'mixed'"), std::string::npos) << both;
  EXPECT_NE(error(R"({"mechanism": "tensorfow"})").find("nearest: tensorflow"), std::string::npos);
  EXPECT_NE(error(R"({"mechanism": "tensorflow", "fold_scale_into_rate": true})").find("'tensorflow' moves"),
            std::string::npos);
}

// What follows from a mechanism.

// tests: G46, K23
TEST(Mechanisms, BringTheirOwnLossScale) {
  const std::pair<const char*, const char*> rows[] = {{"none", "fixed"},
                                                      {"tensorflow", "tensorflow"},
                                                      {"recipe=full", "none"},
                                                      {"policy=mixed_float16", "keras"},
                                                      {"policy=mixed_bfloat16", "none"},
                                                      {"policy=float32", "none"},
                                                      {"level=O1", "none"},
                                                      {"level=O2", "mindspore"},
                                                      {"level=O3", "none"}};
  for (const auto& [mechanism, scale] : rows) {
    TrainSettings s;
    s.mechanism = mechanism;
    EXPECT_EQ(s.trainer_options().loss_scale.name, scale) << mechanism;
    EXPECT_EQ(s.trainer_options().executor.preset, s.mechanism == "none" ? Preset::kIpu : Preset::kIeee) << mechanism;
    EXPECT_FALSE(s.trainer_options().executor.config.behaviour().nanoo) << mechanism;
    s.loss_scale = "1024";
    s.behaviour = "off";
    EXPECT_EQ(s.trainer_options().loss_scale.initial, 1024) << mechanism;
    EXPECT_FALSE(s.trainer_options().executor.config.behaviour().nanoo) << mechanism;
  }
}

// Hashes of weights, and losses, that runs had before there were mechanisms.
TEST(Mechanisms, RunsWithoutOneAreWhatTheyWere) {
  auto pinned = test::pinned_digests("training");
  const struct {
    const char* precision;
    double loss;
  } rows[] = {{"float32", 2.267808437347412}, {"mixed", 2.2677531242370605}};
  for (const auto& row : rows) {
    TrainSettings s;
    s.precision = row.precision;
    s.generated = true;
    s.train_images = 64;
    s.batch_size = 16;
    s.epochs = 1;
    s.evaluate = false;
    const RunSummary run = quiet_run(s);
    EXPECT_EQ(run.weight_hashes, std::vector<std::string>{pinned[row.precision]}) << row.precision;
    EXPECT_EQ(run.losses.back(), row.loss) << row.precision;
    EXPECT_FALSE(run.mechanism);
  }
}

TEST(Mechanisms, SettingsWithoutOneAreWhatTheyWere) {
  const Json json = Json::parse(TrainSettings{}.spelled_out().to_json());
  EXPECT_FALSE(json.contains("mechanism"));
  EXPECT_EQ(json["loss_scale"], "256");
  EXPECT_EQ(json["behaviour"], "off");
  TrainSettings s;
  s.mechanism = "level=O2";
  EXPECT_EQ(TrainSettings::from_json(s.to_json()).mechanism, "level=O2");
}

// Runs.

TEST(Mechanisms, SameBitsForAnyNumberOfThreads) {
  for (const std::string& mechanism : kAll) {
    const auto hashes = [&](int threads) {
      TrainSettings s = small(mechanism, R"({"steps": 3, "batch_size": 32})");
      s.threads = threads;
      return quiet_run(s).weight_hashes;
    };
    EXPECT_EQ(hashes(1), hashes(2)) << mechanism;
  }
}

TEST(Mechanisms, ARunGoneOnWithIsOneThatWasNeverStopped) {
  for (const std::string& mechanism : kAll) {
    SCOPED_TRACE(mechanism);
    const TemporaryFolder folder;
    const TrainSettings s =
        small(mechanism, R"({"steps": 4, "accumulation": 2, "batch_size": 8, "stochastic_rounding": "on"})");
    const RunSummary whole = quiet_run(s);
    int64_t done = 0;
    RunOutput part;
    part.checkpoint = folder.file("c.npz");
    part.on_step = [&](const StepResult&) { ++done; };
    part.stop = [&] { return done >= 2; };
    EXPECT_FALSE(quiet_run(s, part).finished);
    RunOutput rest;
    rest.resume = part.checkpoint;
    const RunSummary second = quiet_run(s, rest);
    EXPECT_EQ(second.weight_hashes, whole.weight_hashes);
    EXPECT_EQ(second.losses, std::vector<double>(whole.losses.begin() + 2, whole.losses.end()));
    // Another mechanism's run is another run.
    EXPECT_NE(refusal<CheckpointError>([&] {
                quiet_run(small("none", R"({"steps": 4, "accumulation": 2, "batch_size": 8,
                      "stochastic_rounding": "on"})"),
                          rest);
              }).find("'mechanism'"),
              std::string::npos);
  }
}

// tests: K22
TEST(Mechanisms, VariablesOfOneLoadUnderAnother) {
  const TemporaryFolder folder;
  Trainer mixed(tiny_model("policy=mixed_float16"), tiny_trainer("policy=mixed_float16"));
  const std::string weights = weights_after(mixed, 3);
  save_checkpoint({"{}", "{}", mixed.state()}, folder.file("mixed.npz"));
  const Trainer::State state = load_checkpoint(folder.file("mixed.npz")).state;
  for (const std::string mechanism : {"none", "tensorflow=2.3", "recipe=full", "level=O2"}) {
    SCOPED_TRACE(mechanism);
    TrainerOptions o = tiny_trainer(mechanism);
    o.loss_scale = LossScaleOptions::keras();
    Trainer other(tiny_model(mechanism), o);
    EXPECT_NE(other.weight_hash(), weights);
    other.set_state(state);
    EXPECT_EQ(other.weight_hash(), weights);
    for (const VariableSpec& v : mixed.model().variables)
      EXPECT_TRUE(other.variable(v.name).same_bits(mixed.variable(v.name))) << v.name;
  }
}

TEST(Mechanisms, AnEstimatorTakesBothWays) {
  for (const std::string mechanism : {"tensorflow=2.3", "level=O2"}) {
    SCOPED_TRACE(mechanism);
    const Mechanism m = Mechanism::parse(mechanism);
    RunConfig config;
    config.features = {kF32, {kBatch, 12, 12, 1}};
    config.executor = tiny_trainer(mechanism).executor;
    config.trainer = tiny_trainer(mechanism);
    config.layers = m.layer_rule();
    config.mechanism = m.text();
    Estimator estimator(
        [&](VariableStore& store, Port features, Port labels, EstimatorMode) -> EstimatorSpec {
          GraphBuilder& b = store.builder();
          Port logits = b.add("Identity", {tiny_network(store, features)}, {}, "logits");
          const auto scope = b.scope("loss_fn");
          if (b.type(logits).dtype != kF32) logits = b.add("Cast", {logits}, {{"DstT", kF32}});
          const Port losses = b.add("SparseSoftmaxCrossEntropyWithLogits", {logits, labels});
          return {b.add("Mean", {losses}), {}, m.loss_scale()};
        },
        config);
    ASSERT_TRUE(estimator.trainer().precision_report());
    EXPECT_GT(estimator.trainer().precision_report()->low_share(), 0.2);
    int64_t next = 0;
    EXPECT_EQ(estimator.train([&] { return std::move(batches_of(next++, 1)[0]); }, 2), 2);
  }
}

// How far from float32 training ends.

/// Test loss minus that of float32 from the same seed: mean and standard deviation over seeds 100 .. 123, as measured
/// (SOFTAMP_SEEDS=24 prints them anew). In float32 the loss is 0.257 on average, at the first step 2.4.
struct Distance {
  const char* mechanism;
  double mean, deviation;
};
constexpr int kMeasured = 24;
const Distance kDistances[] = {{"tensorflow=2.3", -0.0040, 0.0372}, {"recipe=basic", -0.0003, 0.0256},
                               {"recipe=full", 0.0028, 0.0364},     {"policy=mixed_float16", 0.0066, 0.0325},
                               {"level=O1", -0.0074, 0.0416},       {"level=O2", 0.0223, 0.0608},
                               {"level=O3", 0.0022, 0.0499}};

// The mean distance of n other seeds lies within k standard errors of the measured one, where the variance of their
// difference is sd^2 (1 / n + 1 / 24). k = 4: one run in 16,000 of normally distributed distances would lie outside;
// as results are the same bits everywhere, the test cannot fail by chance, only by a change of the arithmetic.
// tests: T19
TEST(Mechanisms, TrainingEndsAsNearFloat32AsMeasured) {
  // MIXED_PRECISION T19
  const char* const asked = std::getenv("SOFTAMP_SEEDS");
  const int seeds = asked ? std::atoi(asked) : 2;
  const uint64_t first = asked ? 100 : 0;
  std::vector<Learned> float32;
  for (int s = 0; s < seeds; ++s) float32.push_back(learn("none", first + static_cast<uint64_t>(s)));
  for (const Distance& d : kDistances) {
    double sum = 0, squares = 0, skipped = 0;
    for (int s = 0; s < seeds; ++s) {
      const Learned l = learn(d.mechanism, first + static_cast<uint64_t>(s));
      const double distance = l.loss - float32[static_cast<size_t>(s)].loss;
      sum += distance;
      squares += distance * distance;
      skipped += static_cast<double>(l.skipped) / seeds;
    }
    const double mean = sum / seeds;
    if (asked)
      std::printf("%-22s mean %+.4f, standard deviation %.4f, skipped steps %.2f\n", d.mechanism, mean,
                  std::sqrt((squares - seeds * mean * mean) / (seeds - 1)), skipped);
    else
      EXPECT_LE(std::fabs(mean - d.mean), 4 * d.deviation * std::sqrt(1.0 / seeds + 1.0 / kMeasured)) << d.mechanism;
    // Scales of 2^24 overflow until they fit (TUTORIAL X14); other systems' are smaller.
    if (std::string(d.mechanism) == "level=O2") {
      EXPECT_GE(skipped, 3);
    } else {
      EXPECT_LE(skipped, 2) << d.mechanism;
    }
  }
}

// Bad recipes.

TEST(Mechanisms, ABadRecipeDoesNotTrainAndTheReportSaysWhy) {
  const TemporaryFolder folder;
  const auto recipe = [&](const std::string& name, const std::vector<RecipeException>& forced) {
    Recipe r = Recipe::basic();
    r.convertible.insert(r.convertible.end(), forced.begin(), forced.end());
    r.dump(folder.file(name));
    return "recipe=" + folder.file(name) + ",dtype=fp16";
  };
  const double float32 = sensitive_run("none").first;
  const auto [good, good_report] = sensitive_run(recipe("good.json", {}));
  const double guessing = std::log(10.0);
  EXPECT_LT(float32, guessing / 2);
  EXPECT_LT(good, guessing / 2) << "float16 products alone do no harm";
  const struct {
    const char *name, *pattern, *node;
  } rows[] = {{"softmax.json", "(gradients/)?loss_fn/.*", "loss_fn/Softmax"},
              {"sums.json", "normalise/.*", "normalise/Sum"}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const auto [bad, report] = sensitive_run(recipe(row.name, {{row.pattern, ""}}));
    EXPECT_FALSE(std::isfinite(bad)) << bad;
    EXPECT_NE(report.table().find("forced by pattern '" + std::string(row.pattern) + "'"), std::string::npos);
    for (int n = 0; n < report.before.size(); ++n) {
      if (report.before.nodes[static_cast<size_t>(n)].name != row.node) continue;
      const auto unit = static_cast<size_t>(report.before.unit(n, 0));
      EXPECT_TRUE(report.colours.low_units[unit]);
      EXPECT_EQ(report.colours.lists[unit], "convertible");
      EXPECT_EQ(report.colours.reasons[unit], "forced by pattern '" + std::string(row.pattern) + "'");
      EXPECT_FALSE(good_report.colours.low_units[unit]);
    }
  }
}

// MIXED_PRECISION T19: under the rewrite the accuracy is that of float32. A slice of Fashion-MNIST, the same for both:
// differences of each seed's pair of runs; docs/RESULTS.md has more images and epochs.
// tests: T19
TEST(Mechanisms, TheRewriteIsAsAccurateAsFloat32OnFashionMnist) {
  std::string missing;
  const std::filesystem::path folder = test::fashion_mnist_folder(missing);
  if (!missing.empty()) GTEST_SKIP() << "Fashion-MNIST is not there: " << missing;
  const auto accuracy = [&](const char* mechanism, uint64_t seed) {
    TrainSettings s;
    s.mechanism = mechanism;
    s.data = folder.string();
    s.train_images = 1024;
    s.test_images = 1000;
    s.epochs = 2;
    s.learning_rate = 0.02;
    s.seed = seed;
    return 100 * quiet_run(s).evaluations.back().accuracy();
  };
  double difference = 0;
  for (uint64_t seed = 0; seed < 3; ++seed) {
    const double float32 = accuracy("none", seed);
    EXPECT_GT(float32, 60) << "nothing was learned";
    difference += (accuracy("tensorflow=2.3", seed) - float32) / 3;
  }
  EXPECT_LT(std::fabs(difference), 1) << "points of accuracy";
}

}  // namespace
}  // namespace softamp::mechanisms
