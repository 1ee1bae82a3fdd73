// Training on the CUDA engine: runs that change their backend on the way, exceptions, and the trainer's own features.
#include "softamp/train/training_run.h"

#include <nlohmann/json.hpp>
#include <set>

#include "softamp/findings/exception.h"
#include "softamp/graph/trace.h"
#include "softamp/train/checkpoint.h"
#include "softamp/train/layers.h"
#include "tests/files.h"
#include "tests/serial_grid/both.h"
#include "tests/train/cell_networks.h"
#include "tests/train/quiet_run.h"

namespace softamp {
namespace {

using test::BothBackends;
using test::contains;
using test::quiet_run;
using test::read_text;
using test::said;
using test::said_on_both;
using test::settings_over;
using test::stopped_run;
using test::TemporaryFolder;
using Json = nlohmann::ordered_json;

using TrainingOnBoth = BothBackends;

/// Six steps of two images.
TrainSettings small(const std::string& backend, const std::string& more) {
  Json json = Json::parse(R"({"network": "small_cnn", "generated": true, "train_images": 12, "test_images": 2,
                              "batch_size": 2, "epochs": 1, "seed": 5, "evaluate": false})");
  json["backend"] = backend;
  return settings_over(std::move(json), more);
}

std::string backend_in(const std::string& log) {
  const std::string text = read_text(log);
  return Json::parse(text.substr(0, text.find('\n')))["settings"]["backend"];
}

// A run on emu; and one that goes emu, cuda, emu, each from the checkpoint of the one before: log and checkpoint are
// the same to the byte.
TEST_F(TrainingOnBoth, CheckpointsMoveBetweenBackends) {
  for (const char* more : {R"({"precision": "float16", "stochastic_rounding": "on", "loss_scale": "tensorflow",
                               "behaviour": "nanoo"})",
                           R"({"precision": "mixed", "optimizer": "adam", "replicas": 2, "batch_size": 1})"}) {
    SCOPED_TRACE(more);
    const TemporaryFolder folder;
    const std::string whole_log = folder.file("whole"), whole_file = folder.file("whole.npz");
    const RunSummary whole = quiet_run(small("emu", more), {.log = whole_log, .checkpoint = whole_file, .on_step = {}});
    ASSERT_EQ(whole.steps, 6);
    const std::string log = folder.file("part"), file = folder.file("part.npz");
    EXPECT_FALSE(stopped_run(small("emu", more), {.log = log, .checkpoint = file}, 2).finished);
    EXPECT_FALSE(stopped_run(small("cuda", more), {.log = log, .checkpoint = file, .resume = file}, 2).finished);
    EXPECT_EQ(backend_in(log), "cuda");
    const RunSummary last = quiet_run(small("emu", more), {.log = log, .checkpoint = file, .resume = file});
    EXPECT_EQ(last.weight_hashes, whole.weight_hashes);
    EXPECT_EQ(read_text(log), read_text(whole_log));
    EXPECT_TRUE(read_text(file) == read_text(whole_file)) << "the checkpoints differ";
  }
}

TEST_F(TrainingOnBoth, ARunKnowsWhatAutoTook) {
  const TemporaryFolder folder;
  const TrainSettings settings = small("auto", R"({"steps": 1})");
  quiet_run(settings, {.log = folder.file("log")});
  EXPECT_EQ(backend_in(folder.file("log")), "cuda");
}

/// One dense layer: the cheapest model with a loss.
Model dense_model(const char* precision) {
  ModelOptions o;
  o.batch_size = 3;
  o.image = {2, 2, 2};
  o.precision = Precision::parse(precision);
  return build_model([](VariableStore& s, Port x) { return layers::dense(s, layers::flatten(s, x), 10); }, o);
}

Batch batch_of(const Model& model, double first) {
  std::vector<double> pixels;
  for (int i = 0; i < 24; ++i) pixels.push_back(first * (i - 11.5) / 12);
  return {Tensor::from_values(model.precision.compute, {3, 2, 2, 2}, pixels),
          Tensor::from_values(DType::kInt32, {3}, std::vector<double>{1, 9, 4})};
}

TrainerOptions options_on(const std::string& backend) {
  TrainerOptions o;
  o.executor.backend = backend;
  o.executor.seed = 3;
  o.loss_scale = LossScaleOptions::fixed(1024);
  return o;
}

// tests: N302
TEST_F(TrainingOnBoth, AnEnabledExceptionStopsTheStepAndLeavesAllAsItWas) {
  const std::string text = said_on_both([](const std::string& backend) {
    TrainerOptions o = options_on(backend);
    o.executor.config.set("floating_point_behaviour.oflo", true);
    Trainer trainer(dense_model("float16"), o);
    std::string all;
    for (const double first : {1.0, 0.5, 0.7, 60000.0, 0.9}) {
      all += said(
          [&](const std::string&) {
            const Batch batch = batch_of(trainer.model(), first);
            return trainer.step({&batch, 1}).json();
          },
          "");
      all += " " + trainer.weight_hash() + "\n";
    }
    return all;
  });
  EXPECT_TRUE(contains(text, "error: ")) << text;
  EXPECT_TRUE(contains(text, "OFLO")) << text;
}

TEST_F(TrainingOnBoth, ReplicasAccumulationObserversStateAndLogits) {
  said_on_both([](const std::string& backend) {
    TrainerOptions o = options_on(backend);
    o.executor.config.set("floating_point_behaviour.esr", true);
    o.executor.timings = true;
    o.replicas = 2;
    o.accumulation = 2;
    o.hash_weights = true;
    o.clipping.global_norm = 1;
    Trainer trainer(dense_model("float16"), o);
    std::string all;
    trainer.observe([&all](std::string_view phase, int replica, uint32_t execution, const Node& node, int,
                           const TensorType& type, const void* data) {
      all += std::string(phase) + std::to_string(replica) + std::to_string(execution) + node.name +
             hash_text(data, type.bytes()) + "\n";
    });
    std::vector<Batch> batches;
    for (int i = 0; i < 4; ++i) batches.push_back(batch_of(trainer.model(), 1.0 + i));
    all += trainer.step(batches).json();
    trainer.observe(nullptr);
    const Trainer::State before = trainer.state();
    all += trainer.step(batches).json();
    for (const OperationTime& t : trainer.timings()) all += t.name;
    trainer.set_state(before);
    all += trainer.step(batches).json();
    const Tensor logits = trainer.logits(batches[0].images);
    all += hash_text(logits.data(), logits.bytes());
    Tensor kernel = trainer.variable("dense/kernel").clone();
    kernel.as<uint16_t>()[0] = 0x3C00;
    trainer.set_variable("dense/kernel", kernel);
    const Trainer::Memory m = trainer.memory();
    return all + trainer.step(batches).json() + std::to_string(m.parameters + m.slots + m.activations);
  });
}

// tests: M15
TEST_F(TrainingOnBoth, CellsPlannedWholeAndOperationByOperation) {
  std::set<std::string> ends;
  for (const char* backend : {"emu", "cuda"})
    for (const auto mode : {cells::Context::Mode::kGraph, cells::Context::Mode::kPynative}) {
      test::NormNet network;
      cells::SoftmaxCrossEntropyWithLogits loss(true, cells::Reduction::kMean);
      cells::AmpModelOptions options;
      options.amp_level = AmpLevel::kO2;
      options.context.mode = mode;
      options.context.executor.backend = backend;
      options.context.executor.semantics->narrow.mode = RoundingMode::kStochastic;
      options.loss_scale_manager = std::make_shared<cells::FixedLossScaleManager>(64);
      cells::AmpModel model(network, &loss, test::momentum(0.25), options);
      for (int i = 0; i < 4; ++i) model.train_on(test::norm_batch(i));  // the third step on is a recording on a GPU
      std::string end;
      for (const VariableSpec& v : model.step().parameters()) {
        const Tensor& t = model.step().parameter(v.name);
        end += v.name + " " + hash_text(t.data(), t.bytes()) + "\n";
      }
      ends.insert(end);
    }
  EXPECT_EQ(ends.size(), 1u);
}

}  // namespace
}  // namespace softamp
