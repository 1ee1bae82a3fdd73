// Optimizers on graphs: gradients, slots, and the order of their nodes.
#include "softamp/train/optimizer.h"

#include <set>

#include "softamp/findings/tensor_text.h"
#include "softamp/machine/float_environment.h"
#include "src/train/optimizers/optimizer_update.h"

namespace softamp {
namespace {

void check_scalar(const GraphBuilder& b, Port p, DType dtype, const char* what) {
  if (b.type(p) == TensorType{dtype, {}} || (dtype == DType::kFloat32 && b.type(p) == TensorType{DType::kFloat64, {}}))
    return;
  throw GraphError(std::string(what) + " is " + b.graph().port_name(p) + ", " + text_of(b.type(p)) + "; expected a " +
                   name_of(dtype) + " scalar");
}

/// Checks that the variable is one of this builder, and that the gradient fits it.
void check_pair(const GraphBuilder& b, const GradientAndVariable& pair) {
  const Graph& graph = b.graph();
  const Variable& variable = pair.variable;
  const int node = variable.port.node;
  if (node < 0 || node >= graph.size() || graph.node(node).op != "VariableV2" || graph.node(node).name != variable.name)
    throw GraphError("variable '" + variable.name + "' is no VariableV2 of that name in the graph of the update");
  if (pair.slices) {
    const std::string whose = "variable '" + variable.name + "'";
    if (pair.gradient) throw GraphError(whose + " has a gradient and slices; expected one of the two");
    check_slices(b, *pair.slices, whose);
    if (pair.slices->dense_shape != b.type(variable.port).shape)
      throw GraphError("the slices of " + whose + ": dense_shape is " + pair.slices->dense_shape.text() +
                       "; expected " + b.type(variable.port).shape.text() + ", that of the variable");
    return;
  }
  const Port gradient = *pair.gradient;
  if (gradient.node < 0 || gradient.node >= graph.size() || gradient.port < 0 ||
      static_cast<size_t>(gradient.port) >= graph.node(gradient.node).outputs.size())
    throw GraphError("the gradient of variable '" + variable.name + "' is no output of the graph of the update");
  const TensorType &want = b.type(variable.port), &got = b.type(gradient);
  const bool fits = want.dtype == DType::kFloat64 ? got.dtype == want.dtype : got.dtype <= DType::kFloat32;
  if (!(got.shape == want.shape) || !fits)
    throw GraphError("the gradient of variable '" + variable.name + "' is " + graph.port_name(gradient) + ", " +
                     text_of(got) + "; expected " +
                     (want.dtype == DType::kFloat64 ? "float64 " : "float16, bfloat16 or float32 ") +
                     want.shape.text());
}

/// Whether an update by slices changes the rows of these alone (N264).
// implements: N264
bool by_rows(OptimizerKind kind) { return kind != OptimizerKind::kAdam && kind != OptimizerKind::kAdamW; }

/// The update of the touched rows of a variable and its slots: the other rows are not read, and keep their bits.
// implements: N264
UpdateOutputs update_rows(GraphBuilder& b, const OptimizerOptions& options, const UpdateInputs& all, Port touched) {
  const auto instead = [&](Port where_touched, Port elsewhere, const char* name) {
    return b.add("SelectV2", {touched, where_touched, elsewhere}, {}, name);
  };
  const auto read = [&](Port x) {
    return instead(x, b.constant(Tensor::full(b.type(x).dtype, {}, 0), "nothing"), "rows_read");
  };
  UpdateInputs in = all;
  in.variable = read(all.variable);
  for (Port& slot : in.slots) slot = read(slot);
  UpdateOutputs out = options.separate_roundings ? separate_update(b, options, in) : fused_update(b, options, in);
  out.variable = instead(out.variable, all.variable, "rows_written");
  for (size_t i = 0; i < out.slots.size(); ++i) out.slots[i] = instead(out.slots[i], all.slots[i], "rows_written");
  return out;
}

}  // namespace

Optimizer::Optimizer(OptimizerOptions options) : options_(std::move(options)) { options_.validate(); }

// implements: N255
std::vector<VariableSpec> Optimizer::slots(const VariableSpec& variable) const {
  const TensorType type{options_.state.value_or(variable.type.dtype), variable.type.shape};
  const auto slot = [&](const char* name, Initializer initializer = Initializer::zeros()) {
    return VariableSpec{variable.name + "/" + name, type, initializer, false};
  };
  std::vector<VariableSpec> all;
  switch (options_.kind) {
    case OptimizerKind::kSgd: break;
    case OptimizerKind::kMomentum:
    case OptimizerKind::kNesterov: all = {slot("Momentum")}; break;
    case OptimizerKind::kRmsProp: all = {slot("RMSProp", Initializer::ones()), slot("Momentum")}; break;
    case OptimizerKind::kAdam:
    case OptimizerKind::kAdamW: all = {slot("Adam"), slot("Adam_1")}; break;
  }
  if (options_.weight_update == WeightUpdate::kKahan)
    all.push_back({variable.name + "/Compensation", variable.type, Initializer::zeros(), false});
  return all;
}

std::vector<GradientAndVariable> Optimizer::compute_gradients(GraphBuilder& builder, Port loss,
                                                              ListView<Variable> variables,
                                                              const GradientOptions& options) const {
  std::vector<Port> ports;
  for (const Variable& v : variables) ports.push_back(v.port);
  const std::vector<std::optional<Port>> found = gradients(builder, loss, ports, options);
  std::vector<GradientAndVariable> result;
  for (size_t i = 0; i < variables.size(); ++i) result.push_back({found[i], variables[i]});
  return result;
}

void Optimizer::apply_gradients(GraphBuilder& builder, ListView<GradientAndVariable> gradients, Port learning_rate,
                                Port apply, std::optional<Port> decay) const {
  const engine::DefaultEnvironment guard;
  check_scalar(builder, learning_rate, DType::kFloat32, "the learning rate");
  if (decay) check_scalar(builder, *decay, DType::kFloat32, "the decay");
  check_scalar(builder, apply, DType::kBool, "what says whether an update is applied");
  std::set<std::string> seen;
  std::set<DType> dtypes;
  for (const GradientAndVariable& pair : gradients) {
    if (pair.missing()) continue;
    const Variable& variable = pair.variable;
    check_pair(builder, pair);
    if (!seen.insert(variable.name).second)
      throw GraphError("variable '" + variable.name + "' comes twice; expected one gradient for each");
    dtypes.insert(builder.type(variable.port).dtype);
  }
  if (seen.empty()) throw std::invalid_argument("No gradients provided for any variable");
  for (const DType dtype : dtypes) check(dtype);

  for (const auto& [gradient, variable, slices] : gradients) {
    if (!gradient && !slices) continue;
    UpdateInputs in{variable.port, gradient.value_or(Port{}), {}, learning_rate, apply, decay};
    const OptimizerOptions options = options_of(options_, builder.type(variable.port).shape);
    if (options.weight_decay == 0) in.decay.reset();
    const std::vector<VariableSpec> specs = slots({variable.name, builder.type(variable.port), {}, true});
    for (const VariableSpec& s : specs)
      in.slots.push_back(
          builder.add_named(s.name, "VariableV2", {}, {{"dtype", s.type.dtype}, {"shape", s.type.shape}}));

    const auto update = builder.scope("update");
    const auto scope = builder.scope(variable.name);
    if (slices) in.gradient = to_dense(builder, *slices);
    const UpdateOutputs out = slices && by_rows(options_.kind)
                                  ? update_rows(builder, options, in, touched_rows(builder, *slices))
                              : options.separate_roundings ? separate_update(builder, options, in)
                                                           : fused_update(builder, options, in);
    builder.add("Assign", {out.variable}, {{"ref", variable.name}});
    for (size_t i = 0; i < specs.size(); ++i) builder.add("Assign", {out.slots[i]}, {{"ref", specs[i].name}});
  }
}

void Optimizer::minimize(GraphBuilder& builder, Port loss, ListView<Variable> variables, Port learning_rate,
                         Port apply) const {
  apply_gradients(builder, compute_gradients(builder, loss, variables), learning_rate, apply);
}

std::vector<GradientAndVariable> sparse_gradients(GraphBuilder& b, std::vector<GradientAndVariable> gradients) {
  for (GradientAndVariable& pair : gradients) {
    if (!pair.gradient || pair.slices) continue;
    pair.slices = slices_of(b, *pair.gradient);
    if (pair.slices) pair.gradient.reset();
  }
  return gradients;
}

GradientAndVariable sum_gradients(GraphBuilder& b, ListView<GradientAndVariable> parts) {
  if (parts.empty()) throw GraphError("no gradients are given to be summed; expected one part at least");
  std::vector<Port> dense;
  std::vector<IndexedSlices> sparse;
  bool all_sparse = true;
  for (const GradientAndVariable& part : parts) {
    if (part.variable.name != parts[0].variable.name)
      throw GraphError("a gradient of variable '" + part.variable.name + "' among those to be summed of variable '" +
                       parts[0].variable.name + "'");
    if (part.slices) sparse.push_back(*part.slices);
    if (part.gradient) all_sparse = false;
  }
  GradientAndVariable sum{{}, parts[0].variable};
  if (all_sparse) {
    if (!sparse.empty()) sum.slices = concatenate(b, sparse);
    return sum;
  }
  for (const GradientAndVariable& part : parts)
    if (!part.missing()) dense.push_back(part.slices ? to_dense(b, *part.slices) : *part.gradient);
  sum.gradient = dense.size() == 1 ? dense[0] : b.add("AddN", dense, {}, "sum_of_gradients");
  return sum;
}

}  // namespace softamp
