#include "softamp/train/variable.h"

#include <utility>

#include "src/text/nearest_name.h"
#include "src/text/printable.h"
#include "src/train/cast_node.h"

namespace softamp {

Port assign(GraphBuilder& builder, const Variable& variable, Port value, std::string_view name) {
  return builder.add("Assign", {value}, {{"ref", variable.name}}, name);
}

VariableStore::Scope::Scope(VariableStore& store, std::string_view name, Getter getter, bool reuse, bool custom)
    : store_(store), length_(store.scope_.size()), has_getter_(getter != nullptr), reuse_before_(store.reuse_) {
  std::string path = store.scope_;
  if (!name.empty()) {
    nodes_.reset(new GraphBuilder::Scope(store.builder_.scope(name)));  // throws for a malformed name
    path.append(name) += '/';
    store.opened_.insert(path);
  }
  if (has_getter_) store.getters_.push_back({std::move(getter), custom});
  store.scope_ = std::move(path);
  store.reuse_ = store.reuse_ || reuse;
}

VariableStore::Scope::~Scope() {
  // Forgets the scopes within this one: if entered again, it counts its layers from the start.
  const std::string& path = store_.scope_;
  if (path.size() > length_) {
    const auto first = store_.opened_.upper_bound(path);
    auto last = first;
    while (last != store_.opened_.end() && last->starts_with(path)) ++last;
    store_.opened_.erase(first, last);
  }
  store_.scope_.resize(length_);
  store_.reuse_ = reuse_before_;
  if (has_getter_) store_.getters_.pop_back();
}

VariableStore::Scope VariableStore::scope(std::string_view name, Getter getter, bool reuse) {
  return Scope(*this, name, std::move(getter), reuse);
}

VariableStore::Scope VariableStore::scope_of_variables(Getter source) {
  return Scope(*this, "", std::move(source), false, false);
}

VariableStore::Scope VariableStore::layer_scope(std::string_view name, std::string_view default_name) {
  std::string unique(name);
  if (name == default_name)
    for (int i = 1; opened_.contains(scope_ + unique + '/'); ++i) unique = std::string(name) + "_" + std::to_string(i);
  return Scope(*this, unique, {}, false);
}

// implements: N265
NodeOutput VariableStore::get(const VariableRequest& request) {
  if (!getters_.empty() && getters_.back().custom) ++getter_calls_;
  return pass(getters_.size(), request);
}

// implements: N265
NodeOutput VariableStore::pass(size_t outer, const VariableRequest& request) {
  if (outer == 0) return create(request);
  return getters_[outer - 1].getter(Next(*this, outer - 1), request);
}

Variable VariableStore::create(const VariableRequest& request) {
  const std::string path = scope_ + request.name;
  if (const auto known = by_name_.find(path); known != by_name_.end()) {
    if (!reuse_) throw GraphError("Variable " + path + " already exists, disallowed. Did you mean to set reuse=True?");
    const TensorType& found = builder_.type(known->second.port);
    const std::string sharing = "Trying to share variable " + path + ", but specified ";
    if (found.shape != request.shape)
      throw GraphError(sharing + "shape " + request.shape.text() + " and found shape " + found.shape.text() + ".");
    if (found.dtype != request.dtype)
      throw GraphError(sharing + "dtype " + name_of(request.dtype) + " and found dtype " + name_of(found.dtype) + ".");
    return known->second;
  }
  const Port port = builder_.add_named(path, "VariableV2", {}, {{"dtype", request.dtype}, {"shape", request.shape}});
  specs_.push_back({path, {request.dtype, request.shape}, request.initializer, request.trainable});
  return by_name_.emplace(path, Variable{path, port, request.trainable}).first->second;
}

const Variable& VariableStore::variable(std::string_view full_path) const {
  if (const auto known = by_name_.find(full_path); known != by_name_.end()) return known->second;
  throw GraphError("there is no variable '" + files::excerpt(full_path) + "' among " + std::to_string(specs_.size()) +
                   graph_detail::nearest_of(full_path, specs_, &VariableSpec::name));
}

std::optional<LayerPrecision> VariableStore::layer_precision(std::string_view kind) {
  if (!rule_ || !*rule_) return std::nullopt;
  const std::string path = scope_.substr(0, scope_.empty() ? 0 : scope_.size() - 1);
  const LayerPrecision precision = (*rule_)(kind, path);
  const auto check = [&](const char* what, DType dtype) {
    if (dtype > DType::kFloat32 && (precision.compute != DType::kFloat64 || dtype != DType::kFloat64))
      throw GraphError(std::string(kind) + " '" + path + "': the layer's rule " + what + " " + name_of(dtype) +
                       "; expected float16, bfloat16 or float32, or float64 for all of it");
  };
  check("computes in", precision.compute);
  check("keeps variables in", precision.variables);
  if (precision.compute == DType::kFloat64 && precision.variables != DType::kFloat64)
    throw GraphError(std::string(kind) + " '" + path +
                     "': the layer's rule computes in float64 and keeps variables in " + name_of(precision.variables) +
                     "; expected float64");
  if (precision.output) check("gives out", *precision.output);
  ruled_.push_back({std::string(kind), path, precision});
  return precision;
}

// implements: N266
VariableStore::Getter float32_parameters() {
  return [](const VariableStore::Next& next, const VariableRequest& request) -> NodeOutput {
    if (!request.trainable || request.dtype == DType::kFloat32) return next(request);
    VariableRequest master = request;
    master.dtype = DType::kFloat32;
    const NodeOutput value = next(master);
    return {add_cast(next.builder(), value.port, request.dtype, request.name + "_cast")};
  };
}

}  // namespace softamp
