// Model::evaluation: a network that asks whether it trains is built twice, and the trainer evaluates the second graph.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "softamp/train/keras/layer_classes.h"
#include "tests/refusal.h"
#include "tests/train/trainer_rig.h"

namespace softamp::test {
namespace {

ModelOptions rig_model() {
  ModelOptions options;
  options.batch_size = kRigBatch;
  options.image = {8, 8, 1};
  return options;
}

/// Three layers whose logits are doubled in training only.
Port doubled_in_training(VariableStore& store, Port x) {
  x = three_layers(store, x);
  return store.training() ? store.builder().add("AddV2", {x, x}) : x;
}

TEST(EvaluationGraph, NetworksThatDoNotAskAreBuiltOnce) {
  for (const std::string& name : network_names()) {
    const NetworkInfo info = find_network(name);
    if (info.input.kind != NetworkInput::Kind::kImage) continue;  // gpt_tiny's dropout asks
    ModelOptions options;
    options.batch_size = 1;
    options.image = info.image;
    int calls = 0;
    const Model model = build_model(
        [&](VariableStore& store, Port x) {
          ++calls;
          return info.build(store, x);
        },
        options);
    EXPECT_FALSE(model.evaluation) << name;
    EXPECT_EQ(calls, 1) << name;
  }
}

TEST(EvaluationGraph, IsThereWhereItIsAnother) {
  const Model plain = build_model(three_layers, rig_model()), asks = build_model(doubled_in_training, rig_model());
  ASSERT_TRUE(asks.evaluation);
  EXPECT_TRUE(*asks.evaluation == plain.graph);
  EXPECT_FALSE(asks.graph == plain.graph);
  EXPECT_EQ(asks.variables, plain.variables);
  const Model alike = build_model(
      [](VariableStore& store, Port x) {
        static_cast<void>(store.training());
        return three_layers(store, x);
      },
      rig_model());
  EXPECT_FALSE(alike.evaluation) << "the same graph";
  EXPECT_TRUE(alike.graph == plain.graph);
}

// tests: N280
TEST(EvaluationGraph, IsWhatTheTrainerEvaluates) {
  for (const bool passed : {false, true}) {
    int passes = 0;
    TrainerOptions options = rig_options();
    if (passed)
      options.pass = [&](const Graph& graph, std::span<const std::string>) {
        ++passes;
        return GraphRewrite{graph, {}};
      };
    Trainer plain(build_model(three_layers, rig_model()), options);
    Trainer asks(build_model(doubled_in_training, rig_model()), options);
    const Batch batch = std::move(rig_batches(0, 1, DType::kFloat32)[0]);
    const Trainer::Forward expected = plain.forward(batch), found = asks.forward(batch);
    EXPECT_TRUE(found.logits.same_bits(expected.logits));
    EXPECT_EQ(found.loss, expected.loss);
    EXPECT_TRUE(asks.logits(batch.images).same_bits(expected.logits));
    EXPECT_EQ(passes, passed ? 2 + 3 : 0) << "two gradient graphs, three evaluations";
    EXPECT_NE(asks.step(batch).loss, plain.step(batch).loss) << "a step trains the other graph";
    EXPECT_FALSE(asks.logits(batch.images).same_bits(expected.logits)) << "by the new variables";
  }
}

TEST(EvaluationGraph, OfLayersAsKerasHasTheLossesOfRegularizers) {
  const MixedPrecisionContext precision;
  const auto model = [&](bool asks) {
    return build_layer_model(
        [asks](LayerContext& context, Port images) -> Port {
          const Port rows = layers::flatten(context.store(), images);
          layers::Dense::Options options;
          options.kernel_regularizer = l2_regularizer(0.5);
          layers::Dense dense(context, 10, options);
          const Port logits = dense(rows);
          return asks && context.store().training() ? context.builder().add("AddV2", {logits, logits}) : logits;
        },
        precision, rig_model());
  };
  Trainer plain(model(false), rig_options()), asks(model(true), rig_options());
  ASSERT_TRUE(asks.model().evaluation);
  const Batch batch = std::move(rig_batches(0, 1, DType::kFloat32)[0]);
  EXPECT_EQ(asks.forward(batch).loss, plain.forward(batch).loss);
  EXPECT_TRUE(*asks.model().evaluation == plain.model().graph);
}

TEST(EvaluationGraph, HasTheVariablesOfTraining) {
  const auto refused = [](const Network& network) {
    return refusal<std::invalid_argument>([&] { build_model(network, rig_model()); });
  };
  const auto with_more_where = [](bool training) {
    return [training](VariableStore& store, Port x) {
      if (store.training() == training) store.get({"more", {3}, DType::kFloat32, Initializer::zeros(), true});
      return three_layers(store, x);
    };
  };
  EXPECT_EQ(refused(with_more_where(true)),
            "build_model: variable 'more' is float32[3] where the network trains, and none where it is evaluated; "
            "expected the same");
  EXPECT_EQ(refused(with_more_where(false)),
            "build_model: variable 'more' is none where the network trains, and float32[3] where it is evaluated; "
            "expected the same");
  EXPECT_EQ(refused([](VariableStore& store, Port x) {
              store.get({"first", {store.training() ? 2 : 3}, DType::kFloat32, Initializer::zeros(), true});
              store.get({"second", {store.training() ? 2 : 3}, DType::kFloat32, Initializer::zeros(), true});
              return three_layers(store, x);
            }),
            "build_model: variable 'first' is float32[2] where the network trains, and float32[3] where it is "
            "evaluated; expected the same");
  const LossFunction sum = [](GraphBuilder& b, Port, Port y) { return b.add("Square", {y}); };
  EXPECT_EQ(
      refusal<std::invalid_argument>([&] {
        build_model(
            [](VariableStore& store, Port x) {
              return layers::dense(store, store.training() ? x : store.builder().add("AddV2", {x, x}), 3);
            },
            sum, {{DType::kFloat32, {4, 2}}, {DType::kFloat32, {4, 3}}});
        build_model(
            [](VariableStore& store, Port x) {
              const Port y = layers::dense(store, x, 3);
              return store.training() ? y : store.builder().add("Reshape", {y}, {{"shape", std::vector<int64_t>{12}}});
            },
            sum, {{DType::kFloat32, {4, 2}}, {DType::kFloat32, {4, 3}}});
      }),
      "build_model: the network gives float32[4,3] where it trains, and float32[12] where it is evaluated; "
      "expected the same");
}

}  // namespace
}  // namespace softamp::test
