// MindSpore's Model on whole networks: levels, phases, its two examples, targets and managers (MIXED_PRECISION M01 to
// M04, M15 to M20; TUTORIAL X9, X10, X14).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "softamp/precision/kernel_select.h"
#include "tests/train/cell_networks.h"

namespace softamp::test {
namespace {

// ---- MIXED_PRECISION M01, TUTORIAL X14: LeNet5 under O2 ------------------------------------------------------------

// tests: M01, X14
TEST(Model, LeNet5UnderO2) {
  LeNet5 network;
  SoftmaxCrossEntropyWithLogits loss(false, Reduction::kMean);
  AmpModelOptions options;
  options.amp_level = AmpLevel::kO2;
  std::map<std::string, std::vector<double>> seen;  // gradients of the logits, in float16
  int64_t step = 0;
  options.context.executor.observe = [&](uint32_t, const Node& node, int port, const TensorType& type,
                                         const void* data) {
    if (port != 0 || type.dtype != kFloat16 || !node.name.starts_with("gradients/loss_fn/float32_cast_grad")) return;
    Tensor copy(type);
    std::memcpy(copy.data(), data, type.bytes());
    bool finite = true;
    for (const double x : copy.values()) finite = finite && std::isfinite(x);
    seen["finite"].push_back(finite);
  };
  AmpModel model(network, &loss, momentum(), options);
  EXPECT_TRUE(model.has_loss_scale_cell());
  const GeneratorDataset data = random_dataset(256, 32);
  const Batch first = data.at(0);
  const Tensor logits = model.predict(first.images);
  EXPECT_EQ(logits.dtype(), kFloat32);
  double most = 0;
  for (const double x : logits.values()) most = std::max(most, std::abs(x));
  EXPECT_GT(most, 0);

  std::vector<StepResult> results;
  model.train(1, data, [&](int64_t, const StepResult& r) {
    results.push_back(r);
    return ++step < 8;
  });
  EXPECT_EQ(model.step().parameter_count(), 61684);
  // ln(sum e^z) - z_label with |z| <= m lies within 2 m of ln 10; the loss itself is rounded to float32 a few times.
  EXPECT_LT(most, 0.01);
  EXPECT_NEAR(results[0].loss, std::log(10.0), 2 * most + 1e-5);
  for (const StepResult& r : results) EXPECT_TRUE(std::isfinite(r.loss));

  // TUTORIAL X14. The signal at a logit is (softmax - label) scale / 32, up to 0.9 scale / 32: above 65504 down to
  // 2^22.
  ASSERT_EQ(results.size(), 8u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(results[i].scale_before, std::ldexp(1.0f, 24 - static_cast<int>(i)));
    EXPECT_FALSE(results[i].applied) << i;
    EXPECT_FALSE(seen["finite"][i]) << i;
    EXPECT_GT(results[i].nonfinite, 0);
  }
  EXPECT_EQ(results[3].scale_before, 0x1p21f);
  EXPECT_TRUE(seen["finite"][3]) << "0.9 x 2^21 / 32 = 58982";
  // Sums over the batch take one or two more; then steps are applied.
  EXPECT_TRUE(std::any_of(results.begin(), results.end(), [](const StepResult& r) { return r.applied; }));
}

// tests: M01
TEST(Model, TheSameSeedGivesTheSameBits) {
  const auto hashes = [](int threads) {
    LeNet5 network;
    SoftmaxCrossEntropyWithLogits loss(false, Reduction::kMean);
    AmpModelOptions options;
    options.amp_level = AmpLevel::kO2;
    options.context.executor.threads = threads;
    options.loss_scale_manager = std::make_shared<DynamicLossScaleManager>(1024);
    AmpModel model(network, &loss, momentum(), options);
    model.train(1, random_dataset(24, 8));
    std::vector<double> all;
    for (const VariableSpec& v : model.step().parameters())
      for (const double x : model.step().parameter(v.name).values()) all.push_back(x);
    return all;
  };
  const std::vector<double> one = hashes(1);
  EXPECT_EQ(one.size(), 61684u);
  EXPECT_EQ(hashes(2), one);
}

// ---- MIXED_PRECISION M02, M04, M15, M16, TUTORIAL X9, X10: levels
// -------------------------------------------------------------------------------

AmpModel norm_model(NormNet& network, SoftmaxCrossEntropyWithLogits& loss, const AmpModelOptions& options) {
  return AmpModel(network, &loss, momentum(), options);
}

// tests: M01, M02, M04, X10
TEST(Levels, WhatEachDoesToCellsAndLoss) {
  struct LevelRow {
    AmpLevel level;
    std::optional<bool> keep;
    DType conv, norm, norm_output, fc;
    bool scales;
  };
  for (const LevelRow& row : std::vector<LevelRow>{
           {AmpLevel::kO0, {}, kFloat32, kFloat32, kFloat32, kFloat32, false},
           {AmpLevel::kO2, {}, kFloat16, kFloat32, kFloat16, kFloat16, true},
           {AmpLevel::kO2, false, kFloat16, kFloat16, kFloat16, kFloat16, true},
           {AmpLevel::kO3, {}, kFloat16, kFloat32, kFloat16, kFloat16, false},  // Model's own default keeps norms
           {AmpLevel::kO3, false, kFloat16, kFloat16, kFloat16, kFloat16, false},
           {AmpLevel::kAuto, {}, kFloat16, kFloat32, kFloat16, kFloat16, true}}) {
    NormNet network;
    SoftmaxCrossEntropyWithLogits loss(true, Reduction::kMean);
    AmpModelOptions options;
    options.amp_level = row.level;
    options.keep_batchnorm_fp32 = row.keep;
    AmpModel model(network, &loss, momentum(), options);
    const Batch batch = norm_batch();
    model.step().compile(batch.images.type(), batch.labels.type());
    const auto types = dtypes(model.step().gradient_graph());
    const std::string place = name_of(row.level);  // TUTORIAL X10
    EXPECT_EQ(types.at("conv/Conv2D"), row.conv) << place;
    EXPECT_EQ(types.at("bn/FusedBatchNormV3"), row.norm) << place;
    EXPECT_EQ(types.at("fc/MatMul"), row.fc) << place;
    EXPECT_EQ(types.at("loss_fn/SparseSoftmaxCrossEntropyWithLogits"), kFloat32) << place;
    for (const VariableSpec& v : model.step().parameters()) EXPECT_EQ(v.type.dtype, kFloat32) << v.name;
    EXPECT_EQ(types.contains("bn/output_cast") ? types.at("bn/output_cast") : row.norm, row.norm_output) << place;
    if (row.level != AmpLevel::kO0 && row.norm == kFloat32) {
      EXPECT_EQ(types.at("bn/input_cast"), kFloat32);
    }
    EXPECT_EQ(model.has_loss_scale_cell(), row.scales) << place;
    EXPECT_EQ(model.loss_scale(), row.scales ? 0x1p24f : 1) << place;
  }
}

// tests: M02, X10
TEST(Levels, O1RewritesTheForwardGraph) {
  NormNet network;
  SoftmaxCrossEntropyWithLogits loss(true, Reduction::kMean);
  AmpModel model(network, &loss, momentum(), {.amp_level = AmpLevel::kO1});
  EXPECT_FALSE(model.has_loss_scale_cell());
  EXPECT_TRUE(model.train_on(norm_batch()).applied);
  const auto types = dtypes(model.step().gradient_graph());
  EXPECT_EQ(types.at("conv/Conv2D"), kFloat16);
  EXPECT_EQ(types.at("fc/BiasAdd"), kFloat16);
  EXPECT_EQ(types.at("relu/Relu"), kFloat16);
  EXPECT_EQ(types.at("bn/FusedBatchNormV3"), kFloat32);
  EXPECT_EQ(types.at("flatten/Reshape"), kFloat32);  // on no list
  EXPECT_EQ(types.at("loss_fn/SparseSoftmaxCrossEntropyWithLogits"), kFloat32);
  // TUTORIAL X10: derivatives of what is low are low, since the pass acts before them.
  int low = 0;
  for (const auto& [name, type] : types) low += name.starts_with("gradients/") && type == kFloat16;
  EXPECT_GE(low, 4);
}

// tests: M15, M16
TEST(Levels, AutoAndTheTarget) {
  const auto level_on = [](const char* target) {
    NormNet network;
    SoftmaxCrossEntropyWithLogits loss(true);
    AmpModelOptions options;
    options.amp_level = AmpLevel::kAuto;
    options.context.device_target = target;
    options.context.mode = Context::Mode::kGraph;
    return AmpModel(network, &loss, momentum(), options).settings().level;
  };
  EXPECT_EQ(level_on("GPU"), AmpLevel::kO2);
  EXPECT_EQ(level_on("Ascend"), AmpLevel::kO3);
  EXPECT_EQ(invalid([&] { level_on("CPU"); }), "Level `auto` only support when `device_target` is GPU or Ascend.");
  EXPECT_EQ(invalid([&] { level_on("TPU"); }), "device_target is 'TPU'; expected CPU, GPU or Ascend");
}

// tests: M02, X9
TEST(Levels, Overrides) {
  AmpModelOptions o;
  o.set("keep_batchnorm_fp32", false).set("cast_model_type", kBFloat16);
  o.set("loss_scale_manager", std::shared_ptr<LossScaleManager>());
  EXPECT_EQ(o.keep_batchnorm_fp32, false);
  EXPECT_EQ(o.cast_model_type, kBFloat16);
  EXPECT_TRUE(o.loss_scale_manager && !*o.loss_scale_manager);
  EXPECT_EQ(invalid([&] { o.set("amp_lvl", true); }), "Unsupported arg 'amp_lvl'");
  EXPECT_EQ(invalid([&] { o.set("keep_batchnorm_fp32", kFloat16); }),
            "keep_batchnorm_fp32 is of another kind; expected a bool");
  o.amp_level = AmpLevel::kO2;
  NormNet network;
  SoftmaxCrossEntropyWithLogits loss(true, Reduction::kMean);
  AmpModel model = norm_model(network, loss, o);
  EXPECT_TRUE(model.train_on(norm_batch()).applied);
  EXPECT_FALSE(model.has_loss_scale_cell());  // TUTORIAL X9: None is why the page's O2 example runs on a CPU
  const auto types = dtypes(model.step().gradient_graph());
  EXPECT_EQ(types.at("fc/MatMul"), kBFloat16);
  EXPECT_EQ(types.at("bn/FusedBatchNormV3"), kBFloat16);
  o.cast_model_type = kInt32;
  EXPECT_EQ(invalid([&] { norm_model(network, loss, o); }),
            "cast_model_type is int32; expected float16, bfloat16 or float32");
}

// ---- MIXED_PRECISION M03: phases -----------------------------------------------------------------------------------

// tests: M03
TEST(Phases, SevenStepsAndTheirDtypes) {
  LeNet5 network;
  SoftmaxCrossEntropyWithLogits loss(false, Reduction::kMean);
  AmpModelOptions options;
  options.amp_level = AmpLevel::kO2;
  options.loss_scale_manager = std::make_shared<DynamicLossScaleManager>(1024);
  std::map<std::string, std::set<DType>> seen;
  std::vector<std::string> order;
  options.context.executor.observe = [&](uint32_t, const Node& node, int, const TensorType& type, const void*) {
    const std::string phase(phase_of(node.name));
    if (is_floating(type.dtype) && node.op != "VariableV2" && node.op != "Placeholder") seen[phase].insert(type.dtype);
    if (std::find(order.begin(), order.end(), phase) == order.end()) order.push_back(phase);
  };
  AmpModel model(network, &loss, momentum(), options);
  EXPECT_TRUE(model.train_on(random_dataset(2, 2).at(0)).applied);
  using Types = std::set<DType>;
  EXPECT_EQ(seen["cast"], Types{kFloat16});
  EXPECT_EQ(seen["forward"], Types{kFloat16});
  EXPECT_EQ(seen["loss"], Types{kFloat32});  // logits and labels are cast before
  EXPECT_EQ(seen["scale"], Types{kFloat32});
  EXPECT_EQ(seen["backward"], (Types{kFloat16, kFloat32}));
  EXPECT_EQ(seen["unscale"], Types{kFloat32});
  EXPECT_EQ(seen["update"], Types{kFloat32});
  for (const VariableSpec& v : model.step().parameters()) EXPECT_EQ(v.type.dtype, kFloat32);
  // Gradients arrive in float32, by the cast's own gradient.
  const Graph& g = model.step().gradient_graph();
  EXPECT_EQ(g.type(g.port("gradients/fc3/weight_cast_grad/Cast")).dtype, kFloat32);
}

// ---- The manual example ------------------------------------------------------------------------------------------

TEST(Manual, SixtyFourLossesOfExactlyZeroWhileWeightsMove) {
  Manual net(512, 128);
  net.to_float(kFloat16);
  net.dense.to_float(kFloat32);
  SoftmaxCrossEntropyWithLogits loss;
  WithLossCell with_loss(net, loss);
  TrainOneStepCell step(with_loss, momentum(0.1));
  const Batch batch{Tensor::full(kFloat32, {64, 512}, 0.01), Tensor(kFloat32, {64, 128})};
  step.compile(batch.images.type(), batch.labels.type());
  const std::vector<double> before = step.parameter("dense/weight").values(),
                            bias = step.parameter("dense/bias").values();
  const Tensor first = step(batch);
  EXPECT_EQ(first.shape(), Shape{64});
  for (const double x : first.values()) EXPECT_EQ(x, 0);
  // softmax - label with labels of zeros is softmax: every weight under a unit that is on goes down.
  const std::vector<double> after = step.parameter("dense/weight").values();
  int64_t moved = 0;
  for (size_t i = 0; i < after.size(); ++i) {
    EXPECT_LE(after[i], before[i]);
    moved += after[i] != before[i];
  }
  EXPECT_GT(moved, 128 * 512 / 4);
  EXPECT_NE(step.parameter("dense/bias").values(), bias);
  for (int i = 0; i < 3; ++i)
    for (const double x : step(batch).values()) EXPECT_EQ(x, 0);
  EXPECT_EQ(step.last().loss, 0);
}

// ---- MIXED_PRECISION M17, M18: data and metric
// -----------------------------------------------------------------------------------------

Batch numbered(int64_t i) { return {Tensor::full(kFloat32, {1}, static_cast<double>(i)), Tensor::full(kInt32, {}, 0)}; }
std::vector<double> numbers(const Batch& b) { return b.images.values(); }

// tests: M17
TEST(Dataset, BatchesAndRepetitions) {
  GeneratorDataset page(numbered, 1024);
  EXPECT_EQ(page.size(), 1024);
  page.batch(32, true).repeat(1);
  EXPECT_EQ(page.size(), 32);
  EXPECT_EQ(page.at(31).images.shape(), (Shape{32, 1}));
  EXPECT_EQ(page.at(31).images.value(31), 1023);
  EXPECT_EQ(page.at(0).labels.shape(), Shape{32});

  GeneratorDataset five(numbered, 5);
  EXPECT_EQ(numbers(five.at(3)), std::vector<double>{3});
  five.batch(2);
  EXPECT_EQ(five.size(), 3);
  EXPECT_EQ(numbers(five.at(2)), std::vector<double>{4});
  five.repeat(2);
  EXPECT_EQ(five.size(), 6);
  EXPECT_EQ(numbers(five.at(4)), (std::vector<double>{2, 3}));
  EXPECT_EQ(numbers(five.at(5)), std::vector<double>{4});

  GeneratorDataset dropped(numbered, 5), before(numbered, 5);
  dropped.batch(2, true).repeat(3);
  EXPECT_EQ(dropped.size(), 6);
  EXPECT_EQ(numbers(dropped.at(2)), (std::vector<double>{0, 1}));
  before.repeat(2).batch(2, true);  // batches run on over the end of the source
  EXPECT_EQ(before.size(), 5);
  EXPECT_EQ(numbers(before.at(2)), (std::vector<double>{4, 0}));

  GeneratorDataset shuffled(numbered, 100);
  shuffled.shuffle(7).batch(10).repeat(2);
  std::set<double> first, second;
  std::vector<double> order[2];
  for (int64_t i = 0; i < 20; ++i)
    for (const double x : numbers(shuffled.at(i))) {
      (i < 10 ? first : second).insert(x);
      order[i / 10].push_back(x);
    }
  EXPECT_EQ(first.size(), 100u);
  EXPECT_EQ(second.size(), 100u);
  EXPECT_NE(order[0], order[1]);

  EXPECT_EQ(invalid([&] { page.batch(2); }), "dataset: batched twice; expected one call of batch");
  EXPECT_EQ(invalid([] { GeneratorDataset(numbered, 3).batch(0); }), "dataset: batch_size is 0; expected at least 1");
  EXPECT_EQ(invalid([] { GeneratorDataset(numbered, 3).repeat(-1); }),
            "dataset: repeat count is -1; expected at least 1");
  EXPECT_EQ(invalid([] { GeneratorDataset(numbered, 3).repeat(INT64_MAX / 2); }),
            "dataset: repeat count is 4611686018427387903; expected an epoch of at most 2^62 samples");
  GeneratorDataset long_one(numbered, 4);
  long_one.repeat(int64_t{1} << 30).batch(2).repeat(int64_t{1} << 30);
  EXPECT_EQ(long_one.size(), int64_t{1} << 61);
  EXPECT_THROW(long_one.repeat(2), std::invalid_argument);
  EXPECT_EQ(long_one.size(), int64_t{1} << 61);
  EXPECT_THROW(GeneratorDataset(numbered, 0), std::invalid_argument);
  EXPECT_THROW(page.at(32), std::out_of_range);
  GeneratorDataset ragged([](int64_t i) { return Batch{Tensor(kFloat32, {i + 1}), Tensor(kInt32, {})}; }, 2);
  ragged.batch(2);
  EXPECT_TRUE(invalid([&] { ragged.at(0); }).starts_with("dataset: data of sample 1 of a batch is float32 [2]"));
}

// tests: M18
TEST(Accuracy, CountsRowsThatAreRight) {
  Accuracy accuracy;
  EXPECT_THROW(accuracy.eval(), std::runtime_error);
  const Tensor logits = tensor(kFloat32, {4, 3}, {1, 2, 3, 3, 3, 1, 0, -1, -2, std::nan(""), 5, 0});
  Tensor sparse(kInt32, {4});
  sparse.as<int32_t>()[0] = 2;
  sparse.as<int32_t>()[1] = 1;  // a tie goes to the first: wrong
  accuracy.update(logits, sparse);
  EXPECT_EQ(accuracy.eval(), 0.5);
  accuracy.update(logits, tensor(kFloat32, {4, 3}, {0, 0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 1}));
  EXPECT_EQ(accuracy.eval(), 5.0 / 8);
  accuracy.clear();
  EXPECT_THROW(accuracy.eval(), std::runtime_error);
  EXPECT_TRUE(invalid([&] { accuracy.update(logits, Tensor(kInt32, {3})); }).starts_with("accuracy of logits [4,3]"));
}

// tests: M18
TEST(Model, EvaluatesWithAveragesAndMetrics) {
  NormNet network;
  SoftmaxCrossEntropyWithLogits loss(true, Reduction::kMean);
  AmpModelOptions options;
  options.amp_level = AmpLevel::kO2;
  options.loss_scale_manager = std::make_shared<FixedLossScaleManager>(16);
  options.metrics["accuracy"] = std::make_shared<Accuracy>();
  AmpModel model(network, &loss, momentum(0.1), options);
  // Two samples again and again: the network learns them, and averages follow the statistics of their batch.
  GeneratorDataset data(
      [](int64_t i) {
        Batch sample{Tensor::full(kFloat32, {4, 4, 1}, i ? 1.0 : -1.0), Tensor(kInt32, {})};
        sample.labels.as<int32_t>()[0] = i ? 2 : 0;
        return sample;
      },
      2);
  data.batch(2);
  model.train(60, data);
  EXPECT_EQ(model.eval(data), (std::map<std::string, double>{{"accuracy", 1.0}}));
  EXPECT_NE(model.step().parameter("bn/moving_variance").value(0), 1);
  EXPECT_EQ(model.predict(Tensor(kFloat32, {5, 4, 4, 1})).shape(), (Shape{5, 3}));
  // By averages a sample's logits do not depend on those beside it.
  const Tensor images = data.at(0).images.clone(), pair = model.predict(images);
  Tensor alone(kFloat32, {1, 4, 4, 1});
  std::memcpy(alone.data(), images.as<float>().data() + 16, alone.bytes());
  EXPECT_EQ(model.predict(alone).value(0), pair.value(3));
  const Tensor before = model.step().parameter("bn/moving_variance").clone();
  model.eval(data);
  EXPECT_TRUE(model.step().parameter("bn/moving_variance").same_bits(before));
  AmpModel silent(network, &loss, momentum());
  EXPECT_TRUE(invalid([&] { silent.eval(data); }).starts_with("eval without metrics"));
}

// ---- MIXED_PRECISION M19, M20: the target, and who drops
// ---------------------------------------------------------------------------------

// tests: M19, X9
TEST(Model, OnACpuManagersWithAnUpdateCellOnlyWhereNotStrict) {
  constexpr const char* kText =
      "Only `loss_scale_manager=None` or `loss_scale_manager=FixedLossScaleManager(drop_overflow_update=False)`are "
      "supported on device `CPU`. ";
  const auto make = [](const char* target, bool strict, std::shared_ptr<LossScaleManager> manager) {
    return invalid([&] {
      NormNet network;
      SoftmaxCrossEntropyWithLogits loss(true);
      AmpModelOptions options;
      options.amp_level = AmpLevel::kO2;
      options.context.device_target = target;
      options.context.strict = strict;
      options.loss_scale_manager = std::move(manager);
      AmpModel(network, &loss, momentum(), options);
    });
  };
  const auto dynamic = std::make_shared<DynamicLossScaleManager>();
  const auto drops = std::make_shared<FixedLossScaleManager>(),
             keeps = std::make_shared<FixedLossScaleManager>(128, false);
  // TUTORIAL X9
  EXPECT_EQ(make("CPU", true, dynamic), kText);
  EXPECT_EQ(make("CPU", true, drops), kText);
  EXPECT_EQ(make("CPU", true, keeps), "");
  EXPECT_EQ(make("CPU", true, nullptr), "");
  for (const auto& manager : {std::shared_ptr<LossScaleManager>(dynamic), std::shared_ptr<LossScaleManager>(drops)}) {
    EXPECT_EQ(make("CPU", false, manager), "");
    EXPECT_EQ(make("GPU", true, manager), "");
    EXPECT_EQ(make("Ascend", true, manager), "");
  }
}

// tests: M20
TEST(Model, DroppingOrNot) {
  for (const bool drop : {true, false}) {
    Scalar net(times);
    AmpModelOptions options;
    LogLines log;
    options.context.log = log.sink();
    options.loss_scale_manager = std::make_shared<FixedLossScaleManager>(128, drop);
    // Where nothing is dropped the optimizer gets the scale, and divides by it.
    AmpModel model(net, nullptr, CellOptimizer(momentum(0.5), drop ? 1 : 128), options);
    EXPECT_EQ(model.has_loss_scale_cell(), drop);
    EXPECT_EQ(model.loss_scale(), 128);
    EXPECT_TRUE(model.train_on(scalar_batch(0.25)).applied);
    EXPECT_EQ(model.step().parameter("w").value(0), 1 - 0.125);
    EXPECT_EQ(model.train_on(scalar_batch(HUGE_VAL)).applied, !drop);
    model.train_on(scalar_batch(0.25));
    EXPECT_EQ(std::isnan(model.step().parameter("w").value(0)) || std::isinf(model.step().parameter("w").value(0)),
              !drop);
    model.train_on(scalar_batch(-HUGE_VAL));
    EXPECT_EQ(std::isnan(model.step().parameter("w").value(0)), !drop);
    EXPECT_EQ(log.lines().size(), 0u);
  }
  Scalar net(times);
  AmpModelOptions options;
  LogLines log;
  options.context.log = log.sink();
  options.loss_scale_manager = std::make_shared<FixedLossScaleManager>(128, false);
  AmpModel forgotten(net, nullptr, momentum(0.5), options);
  EXPECT_EQ(log.count("the optimizer divides them by 1", LogLevel::kWarning), 1);
}

}  // namespace
}  // namespace softamp::test
