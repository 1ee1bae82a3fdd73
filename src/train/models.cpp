#include "softamp/train/models.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <stdexcept>
#include <utility>

#include "softamp/engine/float_environment.h"
#include "softamp/train/layers.h"
#include "src/graph/nearest_name.h"
#include "src/train/cast_node.h"

namespace softamp {
namespace {

constexpr int64_t kClasses = 10;

layers::Conv2DOptions convolution(int64_t kernel, bool bias, bool relu) {
  layers::Conv2DOptions options;
  options.kernel = kernel;
  options.use_bias = bias;
  options.relu = relu;
  return options;
}

template <class Size>
int64_t total(const std::vector<VariableSpec>& variables, const Size& size) {
  int64_t sum = 0;
  for (const VariableSpec& variable : variables) sum += size(variable);
  return sum;
}

std::string mechanism_name(const ModelOptions& options) {
  return options.mechanism.empty() ? "layer rule" : options.mechanism;
}

[[noreturn]] void fail(const std::string& message) { throw std::invalid_argument("build_model: " + message); }

void check(const Precision& precision) {
  const DType compute = precision.compute, parameters = precision.parameters;
  if (!is_floating(compute))
    fail(std::string("the precision computes in ") + name_of(compute) + "; expected a floating dtype");
  if (parameters != compute && (parameters != DType::kFloat32 || compute == DType::kFloat64))
    fail(std::string("the precision keeps parameters in ") + name_of(parameters) + "; expected " +
         (compute == DType::kFloat64 ? "" : "float32 or ") + name_of(compute) + ", in which it computes");
}

TensorType output_type(const GraphBuilder& builder, Port output, const char* of) {
  if (output.node < 0 || output.node >= builder.graph().size()) fail(std::string(of) + " gives no output of a node");
  return builder.type(output);
}

/// One graph of a model, and what its store knows then.
struct Assembled {
  Graph graph;
  std::vector<VariableSpec> variables;
  std::vector<RuledLayer> layers;
  bool asked_training = false;
};

/// Placeholders, network and loss; the model's names and precision are given.
Assembled assembled(const Model& model, const Network& network, const LossFunction& loss, const ModelInputs& inputs,
                    const std::optional<LayerRule>& rule, bool training) {
  GraphBuilder builder;
  const DType compute = model.precision.compute;
  Port x = builder.placeholder(model.images, inputs.inputs.dtype, inputs.inputs.shape);
  const Port labels = builder.placeholder(model.labels, inputs.labels.dtype, inputs.labels.shape);
  if (is_floating(inputs.inputs.dtype)) x = cast_to(builder, x, compute, "inputs_cast");
  VariableStore store(builder, rule, training);
  Port outputs;
  {
    const auto scope =
        store.scope("", model.precision.parameters == compute ? VariableStore::Getter() : float32_parameters());
    outputs = network(store, x);
  }
  const DType wide = wide_dtype(builder.type(outputs).dtype);
  // By their full names: a network that uses one of them is refused.
  outputs = builder.add_named(model.logits, "Identity", {outputs}, {});
  {
    const auto scope = builder.scope("loss_fn");
    if (inputs.loss_in_float32) outputs = cast_to(builder, outputs, wide);
    outputs = loss(builder, labels, outputs);
  }
  if (const TensorType found = output_type(builder, outputs, "the loss"); !is_floating(found.dtype))
    fail("the loss gives " + found.text() + "; expected a floating dtype");
  builder.add_named(model.loss, "Mean", {outputs}, {});
  return {builder.build(), store.variables(), store.ruled_layers(), store.asked_training()};
}

/// Throws for the first variable of the one that the other lacks, or has with another type.
void check_variables(const std::vector<VariableSpec>& training, const std::vector<VariableSpec>& evaluation) {
  struct Texts {
    std::string trained = "none", evaluated = "none";
  };
  std::map<std::string, Texts> texts;
  for (const VariableSpec& v : training) texts[v.name].trained = v.type.text();
  for (const VariableSpec& v : evaluation) texts[v.name].evaluated = v.type.text();
  for (const auto* all : {&training, &evaluation})
    for (const VariableSpec& v : *all)
      if (const auto& [trained, evaluated] = texts[v.name]; trained != evaluated)
        fail("variable '" + v.name + "' is " + trained + " where the network trains, and " + evaluated +
             " where it is evaluated; expected the same");
}

/// The model's graph, and that of its evaluation where the network asks which of the two it is.
void assemble(Model& model, const Network& network, const LossFunction& loss, const ModelInputs& inputs,
              const std::optional<LayerRule>& rule) {
  Assembled training = assembled(model, network, loss, inputs, rule, true);
  if (training.asked_training) {
    Assembled evaluation = assembled(model, network, loss, inputs, rule, false);
    check_variables(training.variables, evaluation.variables);
    const auto outputs = [&](const Graph& graph) { return graph.type(graph.port(model.logits)); };
    if (const TensorType t = outputs(training.graph), e = outputs(evaluation.graph); t != e)
      fail("the network gives " + t.text() + " where it trains, and " + e.text() +
           " where it is evaluated; expected the same");
    if (!(evaluation.graph == training.graph)) model.evaluation = std::move(evaluation.graph);
  }
  model.variables = std::move(training.variables);
  model.layers = std::move(training.layers);
  model.graph = std::move(training.graph);
}

}  // namespace

void check_resnet_depth(int64_t depth) {
  if (depth < 8 || depth % 6 != 2)
    throw std::invalid_argument("the depth of a ResNet is " + std::to_string(depth) +
                                "; it must be of the form 6N+2 (8, 14, 20, 26)");
  if (depth > kDeepestResnet)
    throw std::invalid_argument("the depth of a ResNet is " + std::to_string(depth) + "; expected at most " +
                                std::to_string(kDeepestResnet));
}

Network resnet(int64_t depth) {
  check_resnet_depth(depth);
  return [blocks = (depth - 2) / 6](VariableStore& store, Port images) {
    Port x = layers::conv2d(store, images, 16, convolution(3, true, true));
    int64_t number = 0;
    for (const int64_t filters : {int64_t{16}, int64_t{32}, int64_t{64}})
      for (int64_t i = 0; i < blocks; ++i) {
        x = layers::batch_norm(store, x);
        const std::string name = "block" + std::to_string(++number);
        x = i == 0 && filters > 16 ? layers::downsample_block(store, x, filters, name)
                                   : layers::residual_block(store, x, filters, name);
      }
    return layers::dense(store, layers::global_average_pool(store, x), kClasses);
  };
}

Network fashion_cnn() {
  return [](VariableStore& store, Port images) {
    Port x = layers::conv2d(store, images, 32, convolution(3, false, true));
    x = layers::conv2d(store, x, 32, convolution(3, false, false));
    return layers::dense_column(store, layers::flatten(store, x), kClasses);
  };
}

Network lenet5() {
  return [](VariableStore& store, Port images) {
    Port x = images;
    for (const int64_t filters : {int64_t{6}, int64_t{16}}) {
      layers::Conv2DOptions options = convolution(5, false, true);
      options.padding = "VALID";
      options.kernel_initializer = Initializer::normal(0.01);
      x = layers::max_pool(store, layers::conv2d(store, x, filters, options), 2, 2);
    }
    x = layers::flatten(store, x);
    for (const int64_t units : {int64_t{120}, int64_t{84}, kClasses}) {
      layers::DenseOptions options;
      options.relu = units != kClasses;
      options.kernel_initializer = Initializer::normal(0.02);
      x = layers::dense(store, x, units, options);
    }
    return x;
  };
}

Network small_cnn() {
  return [](VariableStore& store, Port images) {
    Port x = images;
    for (const int64_t filters : {int64_t{8}, int64_t{16}})
      x = layers::max_pool(store, layers::conv2d(store, x, filters, convolution(3, true, true)), 2, 2);
    return layers::dense(store, layers::flatten(store, x), kClasses);
  };
}

Network small_resnet() {
  return [](VariableStore& store, Port images) {
    Port x = layers::max_pool(store, layers::conv2d(store, images, 8, convolution(3, true, true)), 2, 2);
    x = layers::residual_block(store, layers::batch_norm(store, x), 8, "block1");
    x = layers::max_pool(store, x, 2, 2);
    x = layers::downsample_block(store, layers::batch_norm(store, x), 16, "block2");
    return layers::dense(store, layers::flatten(store, x), kClasses);
  };
}

std::vector<std::string> network_names() {
  return {"resnet8", "resnet14", "resnet20", "resnet26", "fashion_cnn", "lenet5", "small_cnn", "small_resnet"};
}

NetworkInfo find_network(std::string_view name) {
  if (name == "fashion_cnn") return {"fashion_cnn", {28, 28, 1}, fashion_cnn(), kClasses};
  if (name == "lenet5") return {"lenet5", {32, 32, 1}, lenet5(), kClasses};
  if (name == "small_cnn") return {"small_cnn", {28, 28, 1}, small_cnn(), kClasses};
  if (name == "small_resnet") return {"small_resnet", {28, 28, 1}, small_resnet(), kClasses};
  constexpr std::string_view kResnet = "resnet";
  if (name.starts_with(kResnet)) {
    int64_t depth = 0;
    const auto [end, error] = std::from_chars(name.data() + kResnet.size(), name.data() + name.size(), depth);
    if (error == std::errc() && end == name.data() + name.size())
      return {std::string(name), {32, 32, 3}, resnet(depth), kClasses};
  }
  std::string known;
  graph_detail::Nearest nearest(name);
  for (const std::string& each : network_names()) {
    known += each + ", ";
    nearest.offer(each);
  }
  throw std::invalid_argument("unknown network '" + graph_detail::printable(name) + "'; expected one of " + known +
                              "or resnet with another depth of the form 6N+2" + nearest.text());
}

int64_t Model::parameters() const {
  return total(variables, [](const VariableSpec& v) { return v.type.shape.elements(); });
}
int64_t Model::trainable_parameters() const {
  return total(variables, [](const VariableSpec& v) { return v.trainable ? v.type.shape.elements() : 0; });
}
int64_t Model::parameter_bytes() const {
  return total(variables, [](const VariableSpec& v) { return static_cast<int64_t>(v.type.bytes()); });
}

Model build_model(const Network& network, const ModelOptions& options) {
  const engine::DefaultEnvironment guard;
  const auto at_least_one = [&](const char* what, int64_t value) {
    if (value < 1) fail(std::string(what) + " is " + std::to_string(value) + "; expected at least 1");
  };
  at_least_one("batch_size", options.batch_size);
  for (const int64_t extent : options.image) at_least_one("an extent of the image", extent);
  at_least_one("classes", options.classes);
  check(options.precision);
  const DType compute = options.precision.compute;
  const bool ruled = options.layers.has_value();
  if (ruled && (compute != DType::kFloat32 || options.precision.parameters != DType::kFloat32))
    fail("the precision is " + options.precision.name + ", and '" + mechanism_name(options) +
         "' says what each layer computes in; expected float32, the precision of what it begins with");

  Model model;
  model.precision = options.precision;
  if (ruled) model.mechanism = mechanism_name(options);
  const auto [height, width, channels] = options.image;
  const Network checked = [&](VariableStore& store, Port images) {
    const Port logits = network(store, images);
    const TensorType found = output_type(store.builder(), logits, "the network");
    // A rule may leave 16 bits; layers of a policy float64 leave that.
    const bool others = (ruled && found.dtype < compute) || found.dtype == DType::kFloat64;
    const TensorType expected{others ? found.dtype : compute, {options.batch_size, options.classes}};
    if (found != expected)
      fail("the network gives " + found.text() + "; expected logits " + name_of(compute) + expected.shape.text());
    return logits;
  };
  const LossFunction loss = [](GraphBuilder& b, Port labels, Port logits) {
    return b.add("SparseSoftmaxCrossEntropyWithLogits", {logits, labels});
  };
  assemble(model, checked, loss,
           {{compute, {options.batch_size, height, width, channels}},
            {DType::kInt32, {options.batch_size}},
            options.precision,
            options.loss_in_float32},
           options.layers);
  return model;
}

Model build_model(const Network& network, const LossFunction& loss, const ModelInputs& inputs) {
  const engine::DefaultEnvironment guard;
  check(inputs.precision);
  if (inputs.inputs.shape.rank() == 0) fail("the inputs are a scalar; expected [batch, ...]");
  if (inputs.labels.shape.rank() == 0) fail("the labels are a scalar; expected [batch, ...]");
  if (inputs.inputs.shape[0] != inputs.labels.shape[0])
    fail("there are " + std::to_string(inputs.inputs.shape[0]) + " inputs and " +
         std::to_string(inputs.labels.shape[0]) + " labels; expected as many labels as inputs");
  Model model;
  model.precision = inputs.precision;
  model.images = "inputs";
  model.logits = "outputs";
  const Network checked = [&](VariableStore& store, Port x) {
    const Port outputs = network(store, x);
    const TensorType found = output_type(store.builder(), outputs, "the network");
    if (!is_floating(found.dtype)) fail("the network gives " + found.text() + "; expected a floating dtype");
    return outputs;
  };
  assemble(model, checked, loss_function(loss), inputs, {});
  return model;
}

}  // namespace softamp
