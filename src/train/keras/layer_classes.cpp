#include "softamp/train/keras/layer_classes.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "src/text/nearest_name.h"
#include "src/text/printable.h"
#include "src/train/cast_node.h"
#include "src/train/keras/kept_weights.h"

namespace softamp::layers {
namespace {

constexpr std::array<std::pair<std::string_view, const char*>, 14> kActivations = {{{"", nullptr},
                                                                                    {"linear", nullptr},
                                                                                    {"relu", "Relu"},
                                                                                    {"relu6", "Relu6"},
                                                                                    {"softmax", "Softmax"},
                                                                                    {"log_softmax", "LogSoftmax"},
                                                                                    {"sigmoid", "Sigmoid"},
                                                                                    {"tanh", "Tanh"},
                                                                                    {"gelu", "Gelu"},
                                                                                    {"leaky_relu", "LeakyRelu"},
                                                                                    {"exponential", "Exp"},
                                                                                    {"softplus", "Softplus"},
                                                                                    {"elu", "Elu"},
                                                                                    {"selu", "Selu"}}};

/// The operation; nullptr: none.
const char* operation_of(std::string_view activation) {
  std::string known;
  graph_detail::Nearest nearest(activation);
  for (const auto& [name, op] : kActivations) {
    if (name == activation) return op;
    if (name.empty()) continue;
    known += (known.empty() ? "" : ", ") + std::string(name);
    nearest.offer(name);
  }
  throw std::invalid_argument("unknown activation '" + files::excerpt(activation) + "'; expected one of " + known +
                              nearest.text());
}

/// Passes a layer's regularizers to its kernel and bias.
template <class Options>
auto regularizers_of(const Options& options) {
  return [&options](std::string_view name, WeightOptions& weight) {
    if (name == "kernel") weight.regularizer = options.kernel_regularizer;
    if (name == "bias") weight.regularizer = options.bias_regularizer;
  };
}

LayerOptions without_autocast(LayerOptions options) {
  if (!options.autocast) options.autocast = false;
  return options;
}

}  // namespace

void check_activation(std::string_view activation) { operation_of(activation); }

Port activate(GraphBuilder& builder, Port x, std::string_view activation) {
  const char* op = operation_of(activation);
  return op ? builder.add(op, {x}) : x;
}

Dense::Dense(LayerContext& context, int64_t units, Options options, LayerOptions layer)
    : Layer(context, std::move(layer)), units_(units), options_(std::move(options)) {
  check_activation(options_.activation);
}

LayerValue Dense::call(const LayerArguments& in) {
  const auto weights = weights_for_functions(regularizers_of(options_));
  return activate(builder(), dense(context().store(), in[0], units_, options_.function, ""), options_.activation);
}

Conv2D::Conv2D(LayerContext& context, int64_t filters, Options options, LayerOptions layer)
    : Layer(context, std::move(layer)), filters_(filters), options_(std::move(options)) {
  check_activation(options_.activation);
  std::string& padding = options_.function.padding;
  for (const auto& [word, ours] : {std::pair{"", "VALID"}, {"valid", "VALID"}, {"same", "SAME"}})
    if (padding == word) padding = ours;
}

LayerValue Conv2D::call(const LayerArguments& in) {
  const auto weights = weights_for_functions(regularizers_of(options_));
  return activate(builder(), conv2d(context().store(), in[0], filters_, options_.function, ""), options_.activation);
}

Activation::Activation(LayerContext& context, std::string activation, LayerOptions layer)
    : Layer(context, std::move(layer)), activation_(std::move(activation)) {
  check_activation(activation_);
}

LayerValue Activation::call(const LayerArguments& in) { return activate(builder(), in[0], activation_); }

LayerValue Flatten::call(const LayerArguments& in) { return flatten(context().store(), in[0]); }

BatchNormalization::BatchNormalization(LayerContext& context, BatchNormOptions options, LayerOptions layer)
    : Layer(context, std::move(layer)), options_(std::move(options)) {
  if (!options_.moving_averages) options_.moving_averages = true;
}

LayerValue BatchNormalization::call(const LayerArguments& in) {
  BatchNormOptions options = options_;
  options.dtype = kept_dtype(options.dtype, type(in[0]).dtype);
  const auto weights = weights_for_functions(kept_as(options.dtype));
  return batch_norm(context().store(), in[0], options, "");
}

LayerValue Add::call(const LayerArguments& in) {
  const LayerValue& values = in[0];
  if (!values.is_list() || values.size() < 2)
    throw GraphError("add '" + name() + "': its argument is " +
                     (values.is_list() ? "a list of " + std::to_string(values.size()) : std::string("no list")) +
                     "; expected a list of at least two");
  Port sum = values[0];
  for (size_t i = 1; i < values.size(); ++i) sum = op("AddV2", {sum, values[i]});
  return sum;
}

Sequential::Sequential(LayerContext& context, LayerOptions layer)
    : Layer(context, without_autocast(std::move(layer))) {}

Layer& Sequential::layer(size_t i) const { return *layers_.at(i); }

LayerValue Sequential::call(const LayerArguments& in) {
  LayerValue value = in[0];
  for (const auto& layer : layers_) value = (*layer)(value);
  return value;
}

}  // namespace softamp::layers

namespace softamp {
namespace {

void check_precision(const Precision& precision, bool ruled) {
  if (ruled || precision != Precision())
    throw std::invalid_argument("build_layer_model: the precision is " + precision.name +
                                "; expected float32 and no rule of layers: policies of the layers say all");
}

/// The losses of regularizers, of each graph that a model is built as.
using LossesOfGraphs = std::vector<std::vector<Port>>;

/// Adds them to the graph's loss, as "loss_fn/total".
Graph with_losses(const Graph& graph, const std::string& loss, std::vector<Port> losses) {
  GraphBuilder builder(graph);
  losses.insert(losses.begin(), builder.graph().port(loss));
  DType widest = DType::kFloat32;
  for (const Port each : losses) widest = std::max(widest, builder.type(each).dtype);
  for (Port& each : losses) each = cast_to(builder, each, widest);
  builder.add_named("loss_fn/total", "AddN", losses, {});
  return builder.build();
}

/// The model with the losses of regularizers added to its own: its graph is the first that was built.
Model with_losses(Model model, LossesOfGraphs losses) {
  if (losses.front().empty()) return model;
  if (model.evaluation) model.evaluation = with_losses(*model.evaluation, model.loss, std::move(losses.back()));
  model.graph = with_losses(model.graph, model.loss, std::move(losses.front()));
  model.loss = "loss_fn/total";
  return model;
}

}  // namespace

Model build_layer_model(const LayerNetwork& network, const MixedPrecisionContext& precision,
                        const ModelOptions& options) {
  check_precision(options.precision, options.layers.has_value());
  LossesOfGraphs losses;
  Model model = build_model(
      [&](VariableStore& store, Port images) {
        LayerContext context(store, precision);
        Port logits = network(context, images);
        logits = cast_to(store.builder(), logits, wide_dtype(store.builder().type(logits).dtype), "logits_cast");
        losses.push_back(context.losses());
        return logits;
      },
      options);
  return with_losses(std::move(model), std::move(losses));
}

Model build_layer_model(const LayerNetwork& network, const MixedPrecisionContext& precision, const LossFunction& loss,
                        const ModelInputs& inputs) {
  check_precision(inputs.precision, false);
  // What is fed is no variable: layers cast it.
  ModelInputs uncast = inputs;
  if (is_floating(inputs.inputs.dtype)) uncast.precision.compute = uncast.precision.parameters = inputs.inputs.dtype;
  LossesOfGraphs losses;
  Model model = build_model(
      [&](VariableStore& store, Port x) {
        LayerContext context(store, precision);
        const Port outputs = network(context, x);
        losses.push_back(context.losses());
        return outputs;
      },
      loss, uncast);
  model.precision = inputs.precision;
  return with_losses(std::move(model), std::move(losses));
}

}  // namespace softamp
