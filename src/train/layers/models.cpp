#include "softamp/train/models.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

#include "softamp/machine/float_environment.h"
#include "src/train/cast_node.h"

namespace softamp {
namespace {

template <class Size>
int64_t total(const std::vector<VariableSpec>& variables, const Size& size) {
  int64_t sum = 0;
  for (const VariableSpec& variable : variables) sum += size(variable);
  return sum;
}

template <class Options>
std::string mechanism_name(const Options& options) {
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

/// The precision, and the name of a rule of layers, which must go together.
template <class Options>
void apply_rule(Model& model, const Options& options) {
  model.precision = options.precision;
  if (!options.layers) return;
  if (options.precision.compute != DType::kFloat32 || options.precision.parameters != DType::kFloat32)
    fail("the precision is " + options.precision.name + ", and '" + mechanism_name(options) +
         "' says what each layer computes in; expected float32, the precision of what it begins with");
  model.mechanism = mechanism_name(options);
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
                    bool training) {
  GraphBuilder builder;
  if (inputs.layers) builder.set_preset(Preset::kIeee);  // that of the systems whose policies and levels these are
  const DType compute = model.precision.compute;
  Port x = builder.placeholder(model.images, inputs.inputs.dtype, inputs.inputs.shape);
  const Port labels = builder.placeholder(model.labels, inputs.labels.dtype, inputs.labels.shape);
  if (is_floating(inputs.inputs.dtype)) x = cast_to(builder, x, compute, "inputs_cast");
  VariableStore store(builder, inputs.layers, training);
  store.set_dtype(compute);
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
// implements: N280
void assemble(Model& model, const Network& network, const LossFunction& loss, const ModelInputs& inputs) {
  Assembled training = assembled(model, network, loss, inputs, true);
  if (training.asked_training) {
    Assembled evaluation = assembled(model, network, loss, inputs, false);
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

int64_t Model::parameters() const {
  return total(variables, [](const VariableSpec& v) { return v.type.shape.elements(); });
}
int64_t Model::trainable_parameters() const {
  return total(variables, [](const VariableSpec& v) { return v.trainable ? v.type.shape.elements() : 0; });
}
int64_t Model::parameter_bytes() const {
  return total(variables, [](const VariableSpec& v) { return static_cast<int64_t>(v.type.bytes()); });
}

// implements: N273
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
  Model model;
  apply_rule(model, options);
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
            options.loss_in_float32,
            options.layers});
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
  apply_rule(model, inputs);
  model.images = "inputs";
  model.logits = "outputs";
  const Network checked = [&](VariableStore& store, Port x) {
    const Port outputs = network(store, x);
    const TensorType found = output_type(store.builder(), outputs, "the network");
    if (!is_floating(found.dtype)) fail("the network gives " + found.text() + "; expected a floating dtype");
    return outputs;
  };
  assemble(model, checked, loss_function(loss), inputs);
  return model;
}

}  // namespace softamp
