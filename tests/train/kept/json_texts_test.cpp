// Settings, networks and Keras' configurations as JSON with one change: what is read, or the whole message.
#include "softamp/train/keras/layer.h"
#include "softamp/train/keras/loss_scale_optimizer.h"
#include "softamp/train/network_file.h"
#include "softamp/train/train_settings.h"

#include "softamp/graph/graph_text.h"
#include "tests/json_changes.h"
#include "tests/kept_text.h"
#include "tests/outcomes.h"

namespace softamp::test::json_texts {
namespace {

template <class Read>
void try_changes(Outcomes& outcomes, const std::string& document, const std::vector<OrderedJson>& values,
                 const Read& read) {
  JsonChanges(OrderedJson::parse(document), values).each([&](const std::string& change, const std::string& changed) {
    outcomes.add(change, [&] { return read(changed); });
  });
}

TEST(ReadSettings, WithOneChange) {
  Outcomes outcomes;
  std::vector<OrderedJson> values = {nullptr, true, 0, -1, 257, 65537, 1.5, 1e39, "x", OrderedJson::array()};
  for (const char* word : {"float16", "ieee", "ipu", "on", "off", "mean", "sum", "adamw", "sgd", "cosine", "half",
                           "dynamic", "keras", "policy=mixed_float16", "fp8=mxfp8", "all", "nvidia_sm100", "inv,nanoo"})
    values.emplace_back(word);
  const auto read = [](const std::string& text) {
    const TrainSettings s = TrainSettings::from_json(text, "s.json");
    return s.to_json(true, true) + s.spelled_out().to_json();
  };
  const std::string usual = TrainSettings().to_json(true, true);
  try_changes(outcomes, usual, values, read);
  for (
      const char* other :
      {R"({"optimizer": "adamw", "beta1": 0.5, "weight_decay": 0.1, "learning_rate_schedule": "cosine", "decay_steps": 9, "warmup_steps": 3,
            "min_learning_rate": 0.001, "replica_invariant": 4, "replicas": 2, "accumulation": 2, "stochastic_rounding": "on", "chip": "nvidia_sm100",
            "precision": "float16"})",
       R"({"loss_scale": "256", "fold_scale_into_rate": true, "clip_value": 1.5, "mechanism": "policy=mixed_float16", "preset": "ipu", "behaviour": "inv"})"})
    try_changes(outcomes, other, values, read);
  expect_kept("train/kept/settings.txt", usual + "\n" + outcomes.text(), outcomes.all());
}

/// Networks with all layers; what is read is built.
TEST(ReadNetwork, WithOneChange) {
  Outcomes outcomes;
  const std::vector<OrderedJson> values = {nullptr,
                                           true,
                                           false,
                                           0,
                                           -1,
                                           2,
                                           3,
                                           0.25,
                                           1,
                                           1.5,
                                           "",
                                           "relu",
                                           "half",
                                           "VALID",
                                           "zeros",
                                           "normal(1, 2)",
                                           "constant(2",
                                           "uniform(0,1)",
                                           "uniform(1,1)",
                                           "constant(4e38)",
                                           "{i}",
                                           OrderedJson::array(),
                                           OrderedJson::object()};
  const std::string layers[] = {
      R"j([{"type": "conv2d", "filters": 4, "name": "c", "padding": "SAME"}, {"type": "batch_norm", "moving_averages": true},
          {"type": "repeat", "times": 2, "from": 1, "layers": [{"type": "residual", "name": "b{i}", "activation": "relu",
            "layers": [{"type": "depthwise_conv2d", "multiplier": 1, "stride": 1}]}]},
          {"type": "concat", "branches": [[{"type": "max_pool", "size": 2, "stride": 2}], [{"type": "average_pool"}]]},
          {"type": "group_norm", "groups": 2}, {"type": "global_average_pool"}, {"type": "flatten"},
          {"type": "activation", "function": "leaky_relu", "alpha": 0.5}, {"type": "dropout", "rate": 0.5},
          {"type": "sequential", "layers": [{"type": "dense", "units": 10, "kernel_initializer": "truncated_normal(0, 1)"}]}])j",
      R"([{"type": "embedding", "vocabulary": 8, "units": 4}, {"type": "position_embedding", "context": 4},
          {"type": "transformer_block", "heads": 2, "dropout": 0.1}, {"type": "self_attention", "heads": 2, "causal": false},
          {"type": "layer_norm", "epsilon": 0.001}, {"type": "tied_output"}])",
      R"([{"type": "dense_column", "units": 2}])"};
  const std::string inputs[] = {R"({"kind": "image", "shape": [6, 6, 1]})",
                                R"({"kind": "tokens", "length": 4, "vocabulary": 8, "encoding": "bytes"})",
                                R"({"kind": "features", "shape": [3]})"};
  const std::string outputs[] = {R"({"kind": "classes", "count": 10})", R"({"kind": "next_token"})",
                                 R"({"kind": "values", "shape": [2], "loss": "huber"})"};
  for (size_t i = 0; i < 3; ++i)
    try_changes(outcomes,
                R"({"softamp_network": 1, "name": "n", "about": "a", "input": )" + inputs[i] + R"(, "output": )" +
                    outputs[i] + R"(, "layers": )" + layers[i] + "}",
                values, [](const std::string& text_of_file) {
                  const NetworkInfo info = parse_network(text_of_file, "n.json");
                  GraphBuilder b;
                  VariableStore store(b);
                  std::vector<int64_t> extents = {2};
                  extents.insert(extents.end(), info.input.shape.begin(), info.input.shape.end());
                  const bool tokens = info.input.kind == NetworkInput::Kind::kTokens;
                  info.build(store, b.placeholder("x", tokens ? DType::kInt32 : DType::kFloat16,
                                                  Shape(std::span<const int64_t>(extents))));
                  std::string said = info.name + info.output.loss + info.input.encoding + std::to_string(info.classes) +
                                     info.output.shape.text();
                  for (const VariableSpec& v : store.variables())
                    said += v.name + v.type.text() + v.initializer.text() + "\n";
                  return said + text(b.graph());
                });
  expect_kept("train/kept/network.txt", outcomes.text(), outcomes.all());
}

TEST(ReadKerasConfigurations, WithOneChange) {
  Outcomes outcomes;
  std::vector<OrderedJson> values = usual_values();
  for (const char* word : {"adam", "sgd", "LossScaleOptimizer", "mixed_float16"}) values.emplace_back(word);
  for (const OptimizerKind kind : {OptimizerKind::kAdamW, OptimizerKind::kSgd})
    for (const bool dynamic : {true, false}) {
      const LossScaleOptimizer optimizer(KerasOptimizer::of(kind),
                                         {dynamic, dynamic ? std::nullopt : std::optional(8.0), {}});
      try_changes(outcomes, optimizer.get_config(), values,
                  [](const std::string& text) { return LossScaleOptimizer::from_config(text).get_config(); });
    }
  try_changes(
      outcomes,
      R"({"name": "dense", "dtype": {"class_name": "Policy", "config": {"name": "mixed_float16"}}, "units": 3})",
      values, [](const std::string& text) {
        const LayerOptions options = LayerOptions::from_config(text);
        return options.name +
               (std::holds_alternative<Policy>(options.dtype) ? std::get<Policy>(options.dtype).to_json()
                                                              : std::to_string(options.dtype.index())) +
               std::to_string(options.autocast.value_or(false));
      });
  expect_kept("train/kept/keras.txt", outcomes.text(), outcomes.all());
}

}  // namespace
}  // namespace softamp::test::json_texts
