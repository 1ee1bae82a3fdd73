// What losses, layers, cells and trainers add to a graph, whole, and the messages with which they refuse: digests of
// all, and the first message of each kind.
#include "softamp/graph/graph_text.h"
#include "softamp/train/keras/attention_layers.h"
#include "softamp/train/keras/layer_classes.h"
#include "softamp/train/keras/loss_scale_optimizer.h"
#include "softamp/train/keras/norm_layers.h"
#include "softamp/train/keras/pooling_layers.h"
#include "softamp/train/layers.h"
#include "softamp/train/losses.h"
#include "softamp/train/mindspore/cell.h"
#include "softamp/train/network_file.h"
#include "softamp/train/train_settings.h"
#include "softamp/train/trainer.h"

#include "tests/json_changes.h"
#include "tests/kept_text.h"
#include "tests/outcomes.h"

namespace softamp::test::graph_texts {
namespace {

constexpr DType kHalf = DType::kFloat16, kSingle = DType::kFloat32, kInt = DType::kInt32;

std::string variables_of(const VariableStore& store) {
  std::string said;
  for (const VariableSpec& v : store.variables())
    said += v.name + " " + v.type.text() + " " + v.initializer.text() + (v.trainable ? "\n" : " kept\n");
  return said;
}

TEST(Losses, AreTheseGraphs) {
  Outcomes outcomes;
  std::vector<std::string> names = loss_names();
  names.insert(names.end(), {"", "hubber", "mse"});
  const Shape shapes[] = {{}, {4}, {4, 1}, {4, 3}, {5, 3}, {4, 2, 3}, {4, 0}};
  std::string text;
  for (const std::string& name : names) {
    for (const auto& [t, labels] : {std::pair(kHalf, kHalf),
                                    {kHalf, kInt},
                                    {kSingle, kSingle},
                                    {kSingle, kInt},
                                    {kSingle, DType::kBool},
                                    {DType::kFloat64, kSingle}})
      for (const Shape& x : shapes)
        for (const Shape& y : shapes)
          outcomes.add(name + " " + TensorType{labels, y}.text() + " " + TensorType{t, x}.text(), [&] {
            GraphBuilder b;
            const Port expected = b.placeholder("y", labels, y), given = b.placeholder("x", t, x);
            find_loss(name)(b, expected, given);
            return softamp::text(b.graph());
          });
    text += name + ": " + outcomes.digest();
  }
  expect_kept("train/kept/losses.txt", text + outcomes.refusals(), outcomes.all());
}

/// What a function adds to a graph for each of these inputs.
template <class Add>
void add_each(Outcomes& outcomes, const std::string& name, const std::vector<TensorType>& inputs, const Add& add) {
  for (const TensorType& in : inputs)
    for (const bool training : {true, false})
      outcomes.add(name + " of " + in.text() + (training ? "" : " evaluated"), [&] {
        GraphBuilder b;
        VariableStore store(b, {}, training);
        const Port x = b.placeholder("x", in.dtype, in.shape);
        const std::string more = add(store, x);
        return more + variables_of(store) + softamp::text(b.graph());
      });
}

const std::vector<TensorType> kImages = {
    {kHalf, {2, 4, 4, 3}}, {kSingle, {2, 3, 4, 4}}, {kSingle, {4, 3}}, {kInt, {2, 4, 4, 3}}, {kHalf, {}}};
const std::vector<TensorType> kRows = {{kHalf, {2, 3}}, {kSingle, {2, 3}}, {kSingle, {2, 4, 3}},
                                       {kSingle, {3}},  {kInt, {2, 3}},    {kSingle, {}}};

TEST(Layers, AreTheseGraphs) {
  using namespace layers;
  Outcomes outcomes;
  std::string text;
  const auto each = [&](const std::string& name, const std::vector<TensorType>& inputs, const auto& add) {
    add_each(outcomes, name, inputs, [&](VariableStore& store, Port x) {
      add(store, x);
      return std::string();
    });
    text += name + ": " + outcomes.digest();
  };
  const Initializer one = Initializer::ones(), two = Initializer::constant(2), wide = Initializer::uniform(-1, 2);
  for (const int64_t n : {0, 1, 2, 5})
    for (const char* padding : {"", "SAME", "VALID", "same"}) {
      each("conv2d", kImages, [&](VariableStore& s, Port x) {
        conv2d(s, x, n, {n, 2, padding, n != 2, n == 1, one, two, "half"});
      });
      each("depthwise_conv2d", kImages, [&](VariableStore& s, Port x) {
        depthwise_conv2d(s, x, {n, 1, 2, padding, n != 2, one, two, "float"});
      });
      each("max_pool", kImages, [&](VariableStore& s, Port x) { max_pool(s, x, n, 2, padding); });
      each("average_pool", kImages, [&](VariableStore& s, Port x) { average_pool(s, x, 2, n, padding); });
    }
  each("usual", kImages,
       [&](VariableStore& s, Port x) { residual_block(s, downsample_block(s, conv2d(s, x, 4), 4), 4); });
  each("dense", kRows, [&](VariableStore& s, Port x) { dense(s, x, 4); });
  each("dense relu", kRows, [&](VariableStore& s, Port x) { dense(s, x, 4, {false, true, wide, two, "half"}); });
  each("dense 0", kRows, [&](VariableStore& s, Port x) { dense(s, x, 0, {true, true, wide, two, "word"}); });
  each("dense_column", kRows, [&](VariableStore& s, Port x) { dense_column(s, x, 4); });
  for (const double number : {-0.5, 0.0, 0.5, 1.0, 1.5}) {
    each("batch_norm " + std::to_string(number), kImages, [&](VariableStore& s, Port x) {
      batch_norm(s, x, {number, 0.5, true, true, {}});
    });
    each("batch_norm epsilon " + std::to_string(number), kImages, [&](VariableStore& s, Port x) {
      batch_norm(s, x, {0.5, number, {}, false, kSingle});
    });
    each("group_norm " + std::to_string(number), kImages, [&](VariableStore& s, Port x) {
      group_norm(s, x, {3, number, kHalf});
    });
    each("layer_norm " + std::to_string(number), kRows, [&](VariableStore& s, Port x) {
      layer_norm(s, x, {number, kSingle});
    });
    each("dropout " + std::to_string(number), kRows, [&](VariableStore& s, Port x) { dropout(s, x, number); });
    each("leaky " + std::to_string(number), kRows, [&](VariableStore& s, Port x) {
      activation(s, x, "leaky_relu", {false, number});
    });
    each("attention " + std::to_string(number), {{kSingle, {2, 3, 4}}, {kHalf, {2, 3, 4}}, {kSingle, {3, 4}}},
         [&](VariableStore& s, Port x) {
           self_attention(s, x, {2, number > 0, number, number < 1, one, two, "half"});
         });
    each("block " + std::to_string(number), {{kSingle, {2, 3, 4}}, {kHalf, {2, 3, 4}}}, [&](VariableStore& s, Port x) {
      transformer_block(s, x,
                        {2, static_cast<int64_t>(number * 4), true, number, "relu", 0.5, number < 1, one, two, ""});
    });
  }
  for (const int64_t groups : {0, 1, 2, 3, 4}) {
    each("groups", kImages, [&](VariableStore& s, Port x) { group_norm(s, x, {groups, 0.5, {}}); });
    each("heads", {{kSingle, {2, 3, 4}}},
         [&](VariableStore& s, Port x) { transformer_block(s, x, {.heads = groups}); });
    each("positions", {{kSingle, {2, 3, 4}}, {kHalf, {3, 4}}}, [&](VariableStore& s, Port x) {
      position_embedding(s, x, {groups, two});
    });
    each("embedding", {{kInt, {2, 3}}, {kSingle, {2}}}, [&](VariableStore& s, Port x) {
      embedding(s, x, groups, 2, {kHalf, one});
    });
    each("embedding units", {{kInt, {2, 3}}}, [&](VariableStore& s, Port x) { embedding(s, x, 3, groups); });
  }
  std::vector<std::string> activations = activation_names();
  activations.emplace_back("word");
  for (const std::string& name : activations)
    each("activation " + name, kRows, [&](VariableStore& s, Port x) { activation(s, x, name); });
  each("pooled", kImages, [&](VariableStore& s, Port x) { flatten(s, global_average_pool(s, x)); });
  each("flatten", kRows, [&](VariableStore& s, Port x) { flatten(s, x); });
  expect_kept("train/kept/layers.txt", text + outcomes.refusals(), outcomes.all());
}

TEST(KerasLayers, AreTheseGraphs) {
  using namespace layers;
  Outcomes outcomes;
  std::string text;
  MixedPrecisionContext precision([](LogLevel, const std::string&) {});
  for (const char* policy : {"float32", "mixed_float16", "float16", "_infer"}) {
    const auto each = [&](const std::string& name, const std::vector<TensorType>& inputs, const auto& make) {
      add_each(outcomes, name + " " + policy, inputs, [&](VariableStore& store, Port x) {
        LayerContext context(store, precision);
        LayerOptions options;
        options.dtype = std::string(policy);
        auto layer = make(context, options);
        const LayerValue first = layer(LayerValue(x));
        layer(LayerValue(x));
        std::string said = layer.get_config() + "\n";
        for (const Port loss : context.losses()) said += store.builder().graph().port_name(loss) + " ";
        for (const Port p : first.ports()) said += store.builder().graph().port_name(p) + " ";
        return said;
      });
      text += name + " " + policy + ": " + outcomes.digest();
    };
    const Regularizer l1 = l1_regularizer(0.5), l2 = l2_regularizer();
    each("dense", kRows, [&](LayerContext& c, const LayerOptions& o) { return Dense(c, 4, {"relu", {}, l1, l2}, o); });
    each("dense without", kRows, [&](LayerContext& c, const LayerOptions& o) {
      return Dense(c, 4, {"", {.use_bias = false}, {}, l2}, o);
    });
    each("dense word", kRows, [&](LayerContext& c, const LayerOptions& o) {
      return Dense(c, 4, {"word", {}, {}, {}}, o);
    });
    each("conv2d", kImages, [&](LayerContext& c, const LayerOptions& o) {
      return Conv2D(c, 4, {"tanh", {.kernel = 2, .stride = 2}, l2, l1}, o);
    });
    each("activation", kRows, [&](LayerContext& c, const LayerOptions& o) { return Activation(c, "softmax", o); });
    each("flatten", kImages, [&](LayerContext& c, const LayerOptions& o) { return Flatten(c, o); });
    each("batch", kImages, [&](LayerContext& c, const LayerOptions& o) { return BatchNormalization(c, {}, o); });
    each("add", kImages, [&](LayerContext& c, const LayerOptions& o) { return Add(c, o); });
    each("layer norm", kRows, [&](LayerContext& c, const LayerOptions& o) { return LayerNormalization(c, {0.25}, o); });
    each("group norm", kImages,
         [&](LayerContext& c, const LayerOptions& o) { return GroupNormalization(c, {.groups = 3}, o); });
    each("max", kImages, [&](LayerContext& c, const LayerOptions& o) {
      return MaxPooling2D(c, {{2, 1}, {{1, 2}}, "same"}, o);
    });
    each("average", kImages, [&](LayerContext& c, const LayerOptions& o) {
      return AveragePooling2D(c, {{1, 2}, {}, "valid"}, o);
    });
    each("global", kImages, [&](LayerContext& c, const LayerOptions& o) { return GlobalAveragePooling2D(c, o); });
    for (const int64_t n : {0, 1, 2, (1 << 24), (1 << 24) + 1})
      for (const char* padding : {"same", "full"}) {
        each("sizes", kImages, [&](LayerContext& c, const LayerOptions& o) {
          return MaxPooling2D(c, {{n, 1}, {}, padding}, o);
        });
        each("strides", kImages, [&](LayerContext& c, const LayerOptions& o) {
          return MaxPooling2D(c, {{1, 1}, {{1, n}}, padding}, o);
        });
      }
    for (const double rate : {-0.5, 0.0, 0.5, 1.0})
      each("dropout", kRows,
           [&](LayerContext& c, const LayerOptions& o) { return Dropout(c, rate, {rate != 0.5}, o); });
    for (const int64_t n : {0, 1, 3}) {
      each("embedding", {{kInt, {2, 3}}, {kSingle, {2}}},
           [&](LayerContext& c, const LayerOptions& o) { return Embedding(c, n, 2, o); });
      each("embedding units", {{kInt, {2, 3}}},
           [&](LayerContext& c, const LayerOptions& o) { return Embedding(c, 2, n, o); });
      each("attention", {{kSingle, {2, 3, 4}}, {kSingle, {2, 4}}, {kHalf, {2, 3, 4}}},
           [&](LayerContext& c, const LayerOptions& o) {
             return MultiHeadAttention(c, {n, 2, n, n == 3 ? 0.5 : 0, n != 1, true}, o);
           });
    }
    for (const char* equation : {"abc,cd->abd", "abc,cde->abde", "abc,bc->a", "abc,cd->ab", "...x,xy->...y", "abc->ab",
                                 "ab,bc", "aab,bc->ac", "abc,xd->abd", "abc,cd->abq"})
      for (const char* bias : {"", "d", "de", "b", "q"})
        each(std::string("einsum ") + equation + " " + bias, {{kSingle, {2, 3, 4}}, {kSingle, {2, 3}}},
             [&](LayerContext& c, const LayerOptions& o) {
               return EinsumDense(
                   c,
                   {equation,
                    std::string(equation).ends_with("de") ? std::vector<int64_t>{3, 5, 6} : std::vector<int64_t>{3, 5},
                    bias},
                   o);
             });
  }
  for (const Port p : {Port{-1, 0}, {0, -1}, {0, 0}, {0, 1}, {1, 0}, {9, 0}})
    outcomes.add("called with output " + std::to_string(p.port) + " of node " + std::to_string(p.node), [&] {
      GraphBuilder b;
      VariableStore store(b);
      b.placeholder("x", kSingle, {2, 3});
      LayerContext context(store, precision);
      Dense layer(context, 4);
      layer(LayerValue(p));
      return softamp::text(b.graph());
    });
  text += "ports: " + outcomes.digest();
  expect_kept("train/kept/keras_layers.txt", text + outcomes.refusals(), outcomes.all());
}

/// A cell that owns one cell.
template <class C>
struct Holder : cells::Cell {
  template <class... A>
  explicit Holder(A... arguments) : inner(*this, "inner", std::move(arguments)...) {}
  Port construct(cells::CellBuild& build, std::span<const Port> inputs) override { return inner(build, inputs); }
  C inner;
};

TEST(Cells, AreTheseGraphs) {
  using namespace cells;
  Outcomes outcomes;
  std::string text;
  const auto each = [&](const std::string& name, const std::vector<TensorType>& inputs, auto&& cell) {
    for (const std::optional<DType> compute : {std::optional<DType>(), std::optional(kHalf), std::optional(kInt)})
      for (const bool strict : {false, true})
        for (const size_t count : {1, 2, 3})
          add_each(outcomes,
                   name + (compute ? name_of(*compute) : "") + (strict ? " strict " : " ") + std::to_string(count),
                   inputs, [&](VariableStore& store, Port x) {
                     if (compute) cell.to_float(*compute);
                     if (strict) cell.set_strict();
                     CellBuild build{store, store.training()};
                     std::vector<Port> all(count, x);
                     if (count == 2)
                       all[1] = store.builder().placeholder("labels", name.ends_with("sparse") ? kInt : kSingle,
                                                            name.ends_with("sparse") ? Shape{2} : Shape{2, 3});
                     const Port y = cell(build, all);
                     return store.builder().graph().port_name(y) + std::string(cell.kind()) + "\n";
                   });
    text += name + ": " + outcomes.digest();
  };
  for (const auto format : {DataFormat::kNHWC, DataFormat::kNCHW}) {
    const std::string of = format == DataFormat::kNHWC ? " NHWC" : " NCHW";
    each("conv2d" + of, kImages,
         Holder<Conv2d>(int64_t{3}, int64_t{5}, int64_t{2},
                        Conv2dOptions{2, "valid", true, Initializer::ones(), Initializer::ones(), format}));
    each("conv2d usual" + of, kImages,
         Holder<Conv2d>(int64_t{3}, int64_t{5}, int64_t{2}, Conv2dOptions{.data_format = format}));
    each("batch" + of, kImages, Holder<BatchNorm2d>(int64_t{3}, 0.5, 0.75, format));
    each("max" + of, kImages, Holder<MaxPool2d>(int64_t{2}, int64_t{1}, std::string("same"), format));
  }
  each("batch usual", kImages, Holder<BatchNorm2d>(int64_t{3}));
  each("max usual", kImages, Holder<MaxPool2d>());
  each("dense", kRows, Holder<cells::Dense>(int64_t{3}, int64_t{5}));
  each("dense without", kRows,
       Holder<cells::Dense>(int64_t{3}, int64_t{5},
                            cells::DenseOptions{false, Initializer::ones(), Initializer::ones()}));
  each("relu", kRows, Holder<ReLU>());
  each("flatten", kImages, Holder<cells::Flatten>());
  each("sequence", kRows, Holder<SequentialCell>());
  for (const Reduction r : {Reduction::kNone, Reduction::kMean, Reduction::kSum}) {
    each("loss", kRows, SoftmaxCrossEntropyWithLogits(false, r));
    each("loss sparse", kRows, SoftmaxCrossEntropyWithLogits(true, r));
  }
  expect_kept("train/kept/cells.txt", text + outcomes.refusals(), outcomes.all());
}

/// A dense layer and a norm, two variables of which are kept out of decay.
Model small_model(const TrainSettings& s) {
  ModelOptions options;
  options.batch_size = 2;
  options.image = {2, 2, 1};
  options.classes = 3;
  options.precision = s.precision_value();
  options.loss_in_float32 = s.loss_in_float32;
  options.layers = s.mechanism_value().layer_rule();
  options.mechanism = options.layers ? s.mechanism : "";
  return build_model(
      [](VariableStore& store, Port x) {
        return layers::dense(store, layers::layer_norm(store, layers::flatten(store, x)), 3);
      },
      options);
}

std::string graphs_of(Model model, TrainerOptions options) {
  const Trainer trainer(std::move(model), std::move(options));
  std::string said = text(trainer.gradient_graph()) + text(trainer.update_graph());
  for (const std::string& warning : trainer.warnings()) said += warning + "\n";
  if (const auto& report = trainer.precision_report()) said += report->csv() + report->json();
  return said + trainer.loss_scale().options().to_json();
}

TEST(Trainers, AreTheseGraphs) {
  Outcomes outcomes;
  const std::vector<OrderedJson> values = {
      "sgd",        "momentum", "nesterov", "rmsprop",  "adam",      "adamw",       "nearest",
      "stochastic", "kahan",    "float16",  "bfloat16", "float32",   "float64",     "mixed",
      "256",        "dynamic",  "keras",    "none",     "torch",     "on",          "replica_identical_only",
      "mean",       "sum",      "level=O1", "level=O2", "fp8=mxfp8", "recipe=full", "policy=mixed_float16",
      "cosine",     "ieee",     "ipu",      "all",      "half",      true,          0,
      0.25,         1,          2,          4};
  const auto read = [&](const std::string& document) {
    JsonChanges(OrderedJson::parse(document), values).each([&](const std::string& change, const std::string& changed) {
      outcomes.add(change, [&] {
        const TrainSettings s = TrainSettings::from_json(changed, "s.json");
        TrainerOptions options = s.trainer_options();
        if (s.mechanism_value().rewrites()) options.pass = s.mechanism_value().pass();
        return graphs_of(small_model(s), options);
      });
    });
  };
  read(
      R"({"optimizer": "adamw", "beta1": 0.5, "beta2": 0.75, "epsilon": 0.001, "weight_decay": 0.1, "decay_matrices_only": true, "loss_scale": "dynamic", "precision": "float16",
           "clip_value": 2.5, "clip_norm": 3.5, "clip_global_norm": 4.5, "replicas": 2, "replica_reduction": "mean", "accumulation": 2, "accumulation_reduction": "mean", "accumulation_dtype": "float32",
           "weight_update": "default", "optimizer_state": "float32", "hyperparameters": "float32", "separate_roundings": false})");
  read(
      R"({"optimizer": "momentum", "loss_scale": "256", "fold_scale_into_rate": true, "mechanism": "none", "strict": false, "loss_in_float32": false, "bias_in_accumulator": true, "replica_invariant": 4})");
  read(R"({"mechanism": "policy=mixed_float16", "loss_scale": "keras"})");
  expect_kept("train/kept/trainers.txt", outcomes.text(), outcomes.all());
}

TEST(Trainers, WrappedOptimizersAreTheseGraphs) {
  std::string all;
  for (const bool dynamic : {true, false}) {
    GraphBuilder b;
    VariableStore store(b);
    const Variable v = store.create({"v", {2}, kSingle, Initializer::ones(), true});
    const Port loss = b.add("Sum", {b.add("Square", {v.port})}), rate = b.placeholder("rate", kSingle, {});
    const LossScaleOptimizer optimizer(KerasOptimizer::of(OptimizerKind::kSgd),
                                       {dynamic, dynamic ? std::nullopt : std::optional(8.0), {}});
    optimizer.minimize(b, loss, {v}, rate);
    all += text(b.graph()) + "\n";
  }
  expect_kept("train/kept/wrapped.txt", all);
}

/// Options that settings do not let through.
TEST(Trainers, RefuseOptions) {
  Outcomes outcomes;
  const TrainSettings usual;
  const auto with = [&](const std::string& name, const auto& change) {
    outcomes.add(name, [&] {
      TrainerOptions options = usual.trainer_options();
      change(options);
      return graphs_of(small_model(usual), options);
    });
  };
  for (const int n : {0, 256, 257}) with("replicas " + std::to_string(n), [&](TrainerOptions& o) { o.replicas = n; });
  for (const int n : {-1, 0, 1, 2, 3}) {
    const std::string number = std::to_string(n);
    with("compare_weights_every " + number, [&](TrainerOptions& o) { o.compare_weights_every = n; });
    with("accumulation " + number, [&](TrainerOptions& o) { o.accumulation = n; });
    with("invariant " + number, [&](TrainerOptions& o) { o.replica_invariant = true, o.replicas = n; });
    with("invariant, accumulation " + number,
         [&](TrainerOptions& o) { o.replica_invariant = true, o.accumulation = 65536 * n; });
    const double x = n;
    for (const OptimizerKind kind : {OptimizerKind::kNesterov, OptimizerKind::kRmsProp, OptimizerKind::kAdamW}) {
      const std::string of = std::string(" ") + name_of(kind) + " " + number;
      with("rate" + of,
           [&](TrainerOptions& o) { o.optimizer = OptimizerOptions::of(kind), o.optimizer.learning_rate = x; });
      with("momentum" + of,
           [&](TrainerOptions& o) { o.optimizer = OptimizerOptions::of(kind), o.optimizer.momentum = x / 2; });
      with("rho" + of, [&](TrainerOptions& o) { o.optimizer = OptimizerOptions::of(kind), o.optimizer.rho = x / 2; });
      with("beta1" + of,
           [&](TrainerOptions& o) { o.optimizer = OptimizerOptions::of(kind), o.optimizer.beta1 = x / 2; });
      with("beta2" + of,
           [&](TrainerOptions& o) { o.optimizer = OptimizerOptions::of(kind), o.optimizer.beta2 = x / 2; });
      with("epsilon" + of,
           [&](TrainerOptions& o) { o.optimizer = OptimizerOptions::of(kind), o.optimizer.epsilon = x / 2; });
      with("decay" + of,
           [&](TrainerOptions& o) { o.optimizer = OptimizerOptions::of(kind), o.optimizer.weight_decay = x / 2; });
      with("fold" + of, [&](TrainerOptions& o) {
        o.optimizer = OptimizerOptions::of(kind), o.loss_scale = LossScaleOptions::fixed(8),
        o.loss_scale.unscale = Unscale::kFoldedIntoRate;
      });
    }
    with("clip value " + number, [&](TrainerOptions& o) { o.clipping.value = x; });
    with("clip norm " + number, [&](TrainerOptions& o) { o.clipping.norm = x; });
    with("clip global norm " + number, [&](TrainerOptions& o) { o.clipping.global_norm = x; });
    with("warmup " + number, [&](TrainerOptions& o) { o.optimizer.schedule.warmup_steps = n; });
    with("decay steps " + number, [&](TrainerOptions& o) {
      o.optimizer.schedule = {ScheduleKind::kCosine, 1, n, 0.001};
    });
    with("least rate " + number, [&](TrainerOptions& o) {
      o.optimizer.schedule = {ScheduleKind::kLinear, 0, 9, x / 2};
    });
    const auto scale = [&](const char* name, const auto& change) {
      with(name + (" " + number),
           [&](TrainerOptions& o) { o.loss_scale = LossScaleOptions::tensorflow(), change(o.loss_scale); });
    };
    scale("initial", [&](LossScaleOptions& s) { s.initial = x; });
    scale("growth", [&](LossScaleOptions& s) { s.growth = x; });
    scale("backoff", [&](LossScaleOptions& s) { s.backoff = x / 2; });
    scale("window", [&](LossScaleOptions& s) { s.window = n; });
    scale("min", [&](LossScaleOptions& s) { s.min = x; });
    scale("max", [&](LossScaleOptions& s) { s.max = x; });
    scale("max_consecutive", [&](LossScaleOptions& s) { s.max_consecutive = n; });
    scale("edge", [&](LossScaleOptions& s) { s.histogram = true, s.histogram_edge = x; });
    scale("threshold",
          [&](LossScaleOptions& s) { s.histogram = true, s.histogram_edge = 1, s.histogram_threshold = x / 2; });
  }
  for (const DType t : {DType::kFloat16, DType::kFloat32, DType::kFloat64, DType::kInt32})
    with(std::string("sums of ") + name_of(t), [&](TrainerOptions& o) { o.accumulation_dtype = t; });
  const auto invariant = [&](const char* name, const auto& change) {
    with(name, [&](TrainerOptions& o) { o.replica_invariant = true, o.replicas = 2, change(o); });
  };
  invariant("drift", [](TrainerOptions& o) { o.replica_drift = true; });
  invariant("mean", [](TrainerOptions& o) { o.accumulation_reduction = ReplicaReduction::kMean; });
  invariant("sums", [](TrainerOptions& o) { o.accumulation_dtype = DType::kFloat32; });
  with("drift and stability",
       [](TrainerOptions& o) { o.replica_drift = o.executor.config.experimental.enable_prng_stability = true; });
  with("in order", [](TrainerOptions& o) { o.executor.random = RandomEngine::kXoroshiro128aox; });
  with("lost updates", [](TrainerOptions& o) { o.count_lost_updates = o.optimizer.separate_roundings = true; });
  const auto folded = [&](const char* name, const auto& change) {
    with(name, [&](TrainerOptions& o) {
      o.loss_scale = LossScaleOptions::fixed(8), o.loss_scale.unscale = Unscale::kFoldedIntoRate, change(o);
    });
  };
  folded("moves", [](TrainerOptions& o) { o.loss_scale.dynamic = true; });
  folded("clipped", [](TrainerOptions& o) { o.clipping.norm = 1; });
  folded("clipped by value", [](TrainerOptions& o) { o.clipping.value = 1; });
  folded("clipped together", [](TrainerOptions& o) { o.clipping.global_norm = 1; });
  expect_kept("train/kept/trainer_options.txt", outcomes.text(), outcomes.all());
}

}  // namespace
}  // namespace softamp::test::graph_texts
