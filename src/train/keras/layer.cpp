#include "softamp/train/keras/layer.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "src/text/printable.h"
#include "src/text/read_json.h"
#include "src/train/cast_node.h"

namespace softamp {
namespace layer_detail {

/// Changes a value while alive, then restores it.
template <class T>
class Held {
 public:
  Held(T& place, T value) : place_(place), before_(std::exchange(place, std::move(value))) {}
  ~Held() { place_ = std::move(before_); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

 private:
  T& place_;
  T before_;
};

}  // namespace layer_detail

namespace {

using layer_detail::Held;
using layer_detail::Record;

/// As Keras: the name of a dtype becomes its proper one ("half": float16).
Policy policy_of(const LayerContext& context, const LayerDtype& dtype) {
  if (const DType* type = std::get_if<DType>(&dtype)) return Policy(*type);
  if (const Policy* policy = std::get_if<Policy>(&dtype)) return *policy;
  if (const std::string* name = std::get_if<std::string>(&dtype)) {
    const Policy policy(*name);
    return policy.is_mixed() || !policy.compute_dtype() ? policy : Policy(*policy.compute_dtype());
  }
  return context.precision().global_policy();
}

/// Calls `visit` for this record and all within, each once.
template <class Visit>
void walk(const std::shared_ptr<Record>& record, std::set<const Record*>& seen, const Visit& visit) {
  if (!seen.insert(record.get()).second) return;
  visit(*record);
  for (const auto& part : record->parts) walk(part, seen, visit);
}

std::vector<Weight> weights_of(const std::shared_ptr<Record>& record) {
  std::vector<Weight> all;
  std::set<const Record*> seen;
  walk(record, seen, [&](const Record& r) { all.insert(all.end(), r.weights.begin(), r.weights.end()); });
  return all;
}

std::vector<Port> losses_of(const std::shared_ptr<Record>& record, GraphBuilder& builder) {
  std::vector<Port> all;
  std::set<const Record*> seen;
  walk(record, seen, [&](const Record& r) {
    for (const auto& [weight, regularizer] : r.regularized) {
      const auto scope = builder.scope(weight.name() + "/Regularizer");
      all.push_back(regularizer(builder, weight.value()));
    }
  });
  return all;
}

Regularizer regularizer(const char* op, double rate) {
  return [op, rate](GraphBuilder& builder, Port weight) {
    const Port sum = builder.add("Sum", {builder.add(op, {weight})});
    return builder.add("Mul", {builder.constant(Tensor::full(builder.type(weight).dtype, {}, rate)), sum});
  };
}

}  // namespace

Regularizer l1_regularizer(double rate) { return regularizer("Abs", rate); }
Regularizer l2_regularizer(double rate) { return regularizer("Square", rate); }

// ---- Weights ------------------------------------------------------------------------------------------------------

const Variable& Weight::variable() const {
  if (!context_) throw GraphError("a weight is used that no add_weight has given");
  return variable_;
}

const TensorType& Weight::type() const {
  const Port port = variable().port;
  return context_->builder().type(port);
}

// implements: N291
Port Weight::read() const {
  const Port port = value();
  const auto& wanted = context_->autocast_dtype();
  if (!autocast_ || !wanted || *wanted == dtype()) return port;
  return add_cast(context_->builder(), port, *wanted,
                  name().substr(name().rfind('/') + 1) + "_cast");  // npos + 1 is 0
}

Port Weight::assign(Port value) const {
  const TensorType& own = type();
  GraphBuilder& builder = context_->builder();
  const TensorType& given = builder.type(value);
  if (given.dtype != own.dtype)
    throw DtypeMismatchError("Assign", "value", given.dtype, "ref", own.dtype, name() + "/Assign");
  if (given.shape != own.shape)
    throw GraphError("Assign '" + name() + "': value is " + given.shape.text() + "; expected " + own.shape.text());
  return softamp::assign(builder, variable_, value);
}

const LayerValue& LayerArguments::operator[](size_t i) const {
  if (i >= values_.size())
    throw GraphError(layer_ + " was called with " + std::to_string(values_.size()) + " argument" +
                     (values_.size() == 1 ? "" : "s") + "; it takes argument number " + std::to_string(i));
  return values_[i];
}

// ---- Context ------------------------------------------------------------------------------------------------------

LayerContext::LayerContext(VariableStore& store, const MixedPrecisionContext& precision)
    : store_(store), precision_(precision), top_(std::make_shared<Record>()), current_(top_) {
  if (!builder().graph().preset()) builder().set_preset(Preset::kIeee);
}

std::vector<Weight> LayerContext::weights() const { return weights_of(top_); }

std::vector<Port> LayerContext::losses() { return losses_of(top_, builder()); }

std::string LayerContext::unique_name(const std::string& name) {
  if (name.empty()) throw GraphError("a layer has no name: its default_name() is empty");
  const std::string begin = store_.scope_path() + name;
  // Numbers below the one stored here are taken, so that naming many layers takes linear time.
  for (int64_t& i = next_numbers_[begin];;) {
    const std::string number = i == 0 ? "" : "_" + std::to_string(i);
    ++i;
    if (paths_.contains(begin + number)) continue;
    // The store knows the layers made by functions: if one of them has this name, it opens another scope.
    const auto scope = store_.layer_scope(name + number, name + number);
    if (store_.scope_path() != begin + number + '/') continue;
    paths_.insert(begin + number);
    return name + number;
  }
}

// ---- Layers -------------------------------------------------------------------------------------------------------

/// Opens the layer's scope while alive, unless the layer is in it already.
class Layer::Inside {
 public:
  explicit Inside(Layer& layer)
      : scope_(layer.context_.store().scope(layer.scope_ > 0 ? "" : name_of(layer))),
        length_(layer.scope_, layer.scope_ > 0 ? layer.scope_ : layer.context_.store().scope_path().size()) {}

 private:
  static std::string name_of(Layer& layer) {
    if (layer.name_.empty()) layer.name_ = layer.context_.unique_name(layer.default_name());
    return layer.name_;
  }

  VariableStore::Scope scope_;
  Held<size_t> length_;
};

Layer::Layer(LayerContext& context, LayerOptions options)
    : context_(context),
      name_(std::move(options.name)),
      policy_(policy_of(context, options.dtype)),
      autocast_(options.autocast.value_or(context.precision().dtype_behaviour() == DtypeBehaviour::kV2)) {
  context.precision().check_device(policy_);
}

void Layer::build(const LayerValue&) {}

std::string Layer::where() const { return default_name() + " '" + context_.store().scope_path() + name() + "'"; }

LayerValue Layer::invoke(std::vector<LayerValue> arguments) {
  for (const LayerValue& argument : arguments)
    for (const Port port : argument.ports()) {
      const Graph& graph = builder().graph();
      if (port.node < 0 || port.node >= graph.size() || port.port < 0 ||
          static_cast<size_t>(port.port) >= graph.node(port.node).outputs.size())
        throw GraphError(where() + " was called with output " + std::to_string(port.port) + " of node number " +
                         std::to_string(port.node) + "; expected an output of a node that was added before");
    }
  const Inside inside(*this);
  std::string place = default_name() + " '" + context_.store().scope_path();
  place.back() = '\'';
  LayerValue& first = arguments.front();
  if (!policy_.compute_dtype())
    if (const std::vector<Port> inputs = first.ports(); !inputs.empty()) policy_ = Policy(type(inputs.front()).dtype);

  if (Record& caller = *context_.current_; &caller != record_.get() && caller.known_parts.insert(record_.get()).second)
    caller.parts.push_back(record_);
  const Held<std::shared_ptr<Record>> current(context_.current_, record_);
  if (!built_) {
    const Held<std::optional<DType>> as_kept(context_.autocast_, std::nullopt);
    build(first);
    built_ = true;
  }

  std::optional<DType> compute = compute_dtype();
  if (compute && !is_floating(*compute)) compute.reset();
  if (autocast_ && compute)
    first = first.transformed([&](Port port) {
      const DType dtype = type(port).dtype;
      return is_floating(dtype) && dtype != *compute ? add_cast(builder(), port, *compute, "input_cast") : port;
    });
  const Held<std::optional<DType>> reading(context_.autocast_, compute);
  return call(LayerArguments(std::move(place), std::move(arguments)));
}

Weight Layer::add_weight(std::string_view name, const Shape& shape, WeightOptions options) {
  const Inside inside(*this);
  const DType dtype = options.dtype.value_or(variable_dtype().value_or(DType::kFloat32));
  if (!variable_dtype()) policy_ = Policy(dtype);  // "_infer": as in Keras, the first input decides
  const Initializer usual = is_floating(dtype) ? Initializer::glorot_uniform() : Initializer::zeros();
  const Variable variable = context_.store().create(
      {std::string(name), shape, dtype, options.initializer.value_or(usual), options.trainable});
  const bool autocast = options.autocast && compute_dtype() != variable_dtype() && is_floating(dtype);
  const Weight weight(context_, variable, autocast);
  by_name_.insert_or_assign(context_.store().scope_path().substr(scope_) + std::string(name), weight);
  record_->weights.push_back(weight);
  if (options.regularizer) record_->regularized.emplace_back(weight, std::move(options.regularizer));
  return weight;
}

VariableStore::Scope Layer::weights_for_functions(
    std::function<void(std::string_view name, WeightOptions& options)> adjust) {
  return context_.store().scope_of_variables(
      [this, adjust = std::move(adjust)](const VariableStore::Next&, const VariableRequest& request) -> NodeOutput {
        const std::string key = context_.store().scope_path().substr(scope_) + request.name;
        if (const auto known = by_name_.find(key); known != by_name_.end()) {
          if (known->second.shape() != request.shape)
            throw GraphError(default_name() + " '" + name() + "': weight " + known->second.name() + " is " +
                             known->second.shape().text() + "; this call needs " + request.shape.text());
          return {known->second.read()};
        }
        WeightOptions options;
        options.initializer = request.initializer;
        options.trainable = request.trainable;
        if (!is_floating(request.dtype)) options.dtype = request.dtype;
        if (adjust) adjust(request.name, options);
        return {add_weight(request.name, request.shape, std::move(options)).read()};
      });
}

Port Layer::constant(double value, DType dtype) const { return builder().constant(Tensor::full(dtype, {}, value)); }

Port Layer::random_normal(const Shape& shape, DType dtype) const {
  // The operation gives float32 numbers at best, which float64 holds as they are.
  const DType drawn = dtype == DType::kFloat64 ? DType::kFloat32 : dtype;
  return cast_to(builder(), op("RandomStandardNormal", {}, {{"dtype", drawn}, {"shape", shape}}), dtype);
}

std::vector<Weight> Layer::weights() const { return weights_of(record_); }

std::vector<Weight> Layer::trainable_weights() const {
  std::vector<Weight> all = weights();
  std::erase_if(all, [](const Weight& weight) { return !weight.trainable(); });
  return all;
}

std::vector<Port> Layer::losses() { return losses_of(record_, builder()); }

// ---- Configurations -----------------------------------------------------------------------------------------------

std::string Layer::get_config() const {
  const nlohmann::ordered_json json{{"name", name()}, {"trainable", true}, {"dtype", read_json(policy_.to_json())}};
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

LayerOptions LayerOptions::from_config(std::string_view text) {
  const auto fail = [](const std::string& message) { throw std::invalid_argument("layer configuration: " + message); };
  const auto json = read_json<nlohmann::json>(text, "layer configuration", {kMostWrittenBytes});
  if (!json.is_object()) fail("'" + files::excerpt(text) + "' is no JSON object");
  LayerOptions options;
  if (const auto name = json.find("name"); name != json.end()) {
    if (!name->is_string()) fail(std::string("name is ") + name->type_name() + "; expected a string");
    options.name = name->get<std::string>();
  }
  // null means that the policy is "_infer": the context decides, as for a layer without a dtype.
  if (const auto dtype = json.find("dtype"); dtype != json.end() && !dtype->is_null())
    options.dtype = Policy::from_json(dtype->dump(-1, ' ', true));
  return options;
}

}  // namespace softamp
