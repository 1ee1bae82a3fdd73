// Policy("float64"): layers, losses and optimizers compute in binary64, and a network trains in it. The training is
// written out once more on doubles; a float32 anywhere in it would show, nine digits before the end.
#include <gtest/gtest.h>

#include <cmath>

#include "softamp/graph/gradients.h"
#include "softamp/train/checkpoint.h"
#include "softamp/train/keras/attention_layers.h"
#include "softamp/train/keras/norm_layers.h"
#include "softamp/train/keras/pooling_layers.h"
#include "softamp/train/trainer.h"
#include "tests/files.h"
#include "tests/train/keras/keras_bench.h"

namespace softamp::test {
namespace {

using enum DType;

constexpr size_t kRows = 4, kFeatures = 6, kHidden = 5, kOut = 3;

Model two_dense_layers(const char* policy) {
  MixedPrecisionContext precision;
  precision.set_global_policy(policy);
  ModelOptions options;
  options.batch_size = kRows;
  options.image = {2, 3, 1};
  options.classes = kOut;
  return build_layer_model(
      [&](LayerContext& context, Port images) {
        layers::Sequential model(context);
        model.add<layers::Flatten>();
        model.add<layers::Dense>(static_cast<int64_t>(kHidden), layers::Dense::Options{.activation = "relu"});
        model.add<layers::Dense>(static_cast<int64_t>(kOut));
        return model(images);
      },
      precision, options);
}

std::vector<Batch> images_of(uint64_t seed) {
  std::vector<Batch> batches(1);
  batches[0].images = initial_value(Initializer::uniform(-1, 1), {kFloat32, {kRows, 2, 3, 1}}, "images", seed);
  batches[0].labels = tensor(kInt32, {kRows}, {0, 1, 2, static_cast<double>(seed % 3)});
  return batches;
}

/// Dense, relu, dense, cross-entropy, mean; plain descent.
struct OnDoubles {
  std::vector<double> w1, b1, w2, b2;

  double step(const std::vector<double>& x, const std::vector<double>& labels, double rate) {
    std::vector<double> h(kRows * kHidden), dz(kRows * kOut), dh(h.size());
    double loss = 0;
    for (size_t n = 0; n < kRows; ++n) {
      for (size_t j = 0; j < kHidden; ++j) {
        double sum = 0;
        for (size_t i = 0; i < kFeatures; ++i) sum += x[n * kFeatures + i] * w1[i * kHidden + j];
        h[n * kHidden + j] = std::max(sum + b1[j], 0.0);
      }
      double z[kOut], total = 0;
      for (size_t k = 0; k < kOut; ++k) {
        double sum = 0;
        for (size_t j = 0; j < kHidden; ++j) sum += h[n * kHidden + j] * w2[j * kOut + k];
        z[k] = sum + b2[k];
        total += std::exp(z[k]);
      }
      const auto label = static_cast<size_t>(labels[n]);
      loss += (std::log(total) - z[label]) / kRows;
      for (size_t k = 0; k < kOut; ++k) dz[n * kOut + k] = (std::exp(z[k]) / total - (k == label)) / kRows;
    }
    for (size_t n = 0; n < kRows; ++n)
      for (size_t j = 0; j < kHidden; ++j)
        for (size_t k = 0; k < kOut; ++k)
          if (h[n * kHidden + j] > 0) dh[n * kHidden + j] += dz[n * kOut + k] * w2[j * kOut + k];
    const auto descend = [&](std::vector<double>& w, std::vector<double>& b, const std::vector<double>& in,
                             const std::vector<double>& d, size_t rows, size_t columns) {
      for (size_t i = 0; i < rows; ++i)
        for (size_t j = 0; j < columns; ++j)
          for (size_t n = 0; n < kRows; ++n) w[i * columns + j] -= rate * in[n * rows + i] * d[n * columns + j];
      for (size_t j = 0; j < columns; ++j)
        for (size_t n = 0; n < kRows; ++n) b[j] -= rate * d[n * columns + j];
    };
    descend(w1, b1, x, dh, kFeatures, kHidden);
    descend(w2, b2, h, dz, kHidden, kOut);
    return loss;
  }
};

TrainerOptions plain_descent() {
  TrainerOptions o;
  o.optimizer = OptimizerOptions::of(OptimizerKind::kSgd);
  o.optimizer.learning_rate = 0.1;  // no fp32 number
  o.executor.print = [](const std::string&) {};
  return o;
}

// tests: K01, K10
TEST(KerasFloat64, K10APolicyFloat64Trains) {
  // MIXED_PRECISION K01, K10: compute and variable dtype float64, from the first input to the updated weight.
  Trainer trainer(two_dense_layers("float64"), plain_descent());
  const Graph& graph = trainer.model().graph;
  for (const VariableSpec& v : trainer.model().variables) EXPECT_EQ(v.type.dtype, kFloat64) << v.name;
  EXPECT_EQ(graph.type(graph.port(trainer.model().loss)).dtype, kFloat64);
  const std::string dense = "sequential/dense", second = "sequential/dense_1";
  const auto values = [&](const std::string& name) { return trainer.variable(name).values(); };
  OnDoubles expected{values(dense + "/kernel"), values(dense + "/bias"), values(second + "/kernel"),
                     values(second + "/bias")};
  double first = 0, last = 0;
  for (uint64_t step = 0; step < 100; ++step) {
    const std::vector<Batch> batches = images_of(step % 2);
    const double loss = expected.step(batches[0].images.values(), batches[0].labels.values(), 0.1);
    const StepResult r = trainer.step(batches);
    // Sums of at most six terms, in another order, and a hundred steps of them.
    EXPECT_NEAR(r.loss, loss, 1e-13) << step;
    EXPECT_EQ(r.learning_rate, 0.1);
    (step == 0 ? first : last) = r.loss;
  }
  EXPECT_LT(last, first / 2) << "it learns";
  const std::pair<std::string, const std::vector<double>*> all[] = {{dense + "/kernel", &expected.w1},
                                                                    {dense + "/bias", &expected.b1},
                                                                    {second + "/kernel", &expected.w2},
                                                                    {second + "/bias", &expected.b2}};
  for (const auto& [name, wanted] : all) {
    const std::vector<double> found = values(name);
    bool finer = false;
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_NEAR(found[i], (*wanted)[i], 1e-13) << name << " " << i;
      finer = finer || found[i] != static_cast<double>(static_cast<float>(found[i]));
    }
    EXPECT_TRUE(finer) << name << " holds more than fp32 numbers";
  }
}

TEST(KerasFloat64, EveryOptimizerAndACheckpoint) {
  const TemporaryFolder folder;
  for (const OptimizerKind kind : {OptimizerKind::kSgd, OptimizerKind::kMomentum, OptimizerKind::kNesterov,
                                   OptimizerKind::kRmsProp, OptimizerKind::kAdam, OptimizerKind::kAdamW})
    for (const bool separate : {false, true}) {
      TrainerOptions o = plain_descent();
      o.optimizer = OptimizerOptions::of(kind);
      o.optimizer.separate_roundings = separate;
      o.loss_scale = LossScaleOptions::fixed(1024);
      o.clipping.global_norm = 1.5;
      o.accumulation = 2;
      o.replicas = 2;
      Trainer one(two_dense_layers("float64"), o), other(two_dense_layers("float64"), o);
      const auto batches = [](uint64_t seed) {
        std::vector<Batch> all;
        for (uint64_t i = 0; i < 4; ++i) all.push_back(std::move(images_of(seed + i)[0]));
        return all;
      };
      one.step(batches(1));
      const std::string file = folder.file(std::string(name_of(kind)) + ".npz");
      save_checkpoint({"{}", "{}", one.state()}, file);
      other.set_state(load_checkpoint(file).state);
      const StepResult a = one.step(batches(5)), b = other.step(batches(5));
      EXPECT_EQ(a.loss, b.loss) << name_of(kind);
      EXPECT_EQ(one.weight_hash(), other.weight_hash()) << name_of(kind);
      for (const VariableSpec& v : one.model().variables) EXPECT_EQ(one.variable(v.name).dtype(), kFloat64);
    }
}

// tests: K10
TEST(KerasFloat64, ReadyLayersStayInIt) {
  // MIXED_PRECISION K10. Each has a gradient, too.
  Bench b;
  b.precision.set_global_policy("float64");
  const Port image = b.placeholder(kFloat32, {2, 6, 6, 4}, "image"), ids = b.placeholder(kInt32, {2, 3}, "ids");
  layers::Conv2D conv(b.context, 4, {.activation = "tanh"});
  layers::BatchNormalization batch_norm(b.context);
  layers::LayerNormalization layer_norm(b.context, {});
  layers::GroupNormalization group_norm(b.context, {.groups = 2});
  layers::MaxPooling2D greatest(b.context, {});
  layers::GlobalAveragePooling2D mean(b.context);
  layers::Dense dense(b.context, 4, {.activation = "gelu"});
  layers::Dropout dropout(b.context, 0.5);
  const LayerValue x = dropout(dense(mean(greatest(group_norm(layer_norm(batch_norm(conv(image))))))));
  layers::Embedding embedding(b.context, 7, 8);
  layers::MultiHeadAttention attention(b.context, {.num_heads = 2, .key_dim = 4});
  const LayerValue sequence = embedding(ids);
  const Port y = attention(sequence, sequence);
  EXPECT_EQ(b.dtype(x), kFloat64);
  EXPECT_EQ(b.dtype(y), kFloat64);
  EXPECT_EQ(b.count("Cast"), 1) << "of the image";
  const auto summed = [&](Port p, std::vector<int64_t> axes) { return b.builder.add("Sum", {p}, {{"axes", axes}}); };
  const Port loss = b.builder.add("AddV2", {summed(x, {0, 1}), summed(y, {0, 1, 2})});
  std::vector<Port> variables;
  for (const VariableSpec& v : b.store.variables()) {
    EXPECT_EQ(v.type.dtype, kFloat64) << v.name;
    if (v.trainable) variables.push_back(b.builder.graph().port(v.name));
  }
  for (const auto& gradient : gradients(b.builder, loss, variables)) {
    ASSERT_TRUE(gradient);
    EXPECT_EQ(b.dtype(*gradient), kFloat64);
  }
  for (const Node& node : b.builder.graph().nodes())
    for (const TensorType& t : node.outputs)
      EXPECT_TRUE(t.dtype != kFloat32 || node.name == "image") << node.op << " " << node.name;
}

// tests: K01
TEST(KerasFloat64, K08OtherDtypesAreCarried) {
  // MIXED_PRECISION K01, K08: int64 and uint8 pass through a layer as they are, and through a run.
  Bench b;
  const Port wide = b.placeholder(kInt64, {2}, "wide"), byte = b.placeholder(kUint8, {3}, "byte");
  Custom layer(b.context,
               [](Custom& self, const LayerArguments& in) {
                 return LayerValue::list({self.op("Identity", {in[0][0]}),
                                          self.op("Reshape", {in[0][1]}, {{"shape", std::vector<int64_t>{3, 1}}})});
               },
               {.dtype = "mixed_float16"});
  const LayerValue out = layer(LayerValue::list({wide, byte}));
  const Tensor numbers = tensor(kInt64, {2}, {-0x1p62, 3}), bytes = tensor(kUint8, {3}, {0, 7, 255});
  const RunResult r = b.run({{"wide", &numbers}, {"byte", &bytes}}, {out[0], out[1]});
  EXPECT_TRUE(r.values[0].same_bits(numbers));
  EXPECT_EQ(r.values[1].values(), bytes.values());
  EXPECT_EQ(b.count("Cast"), 0);
  EXPECT_THROW(b.builder.add("AddV2", {wide, wide}), GraphError) << "nothing computes with them";
  EXPECT_EQ(refusal<GraphError>([&] {
              b.builder.add("VariableV2", {}, {{"dtype", kString}, {"shape", Shape{2}}}, "words");
            }),
            "VariableV2 'words': there are no tensors of strings, so no variable of them");
}

}  // namespace
}  // namespace softamp::test
