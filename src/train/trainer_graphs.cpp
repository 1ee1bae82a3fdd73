#include "src/train/trainer_graphs.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "softamp/graph/gradients.h"
#include "softamp/precision/bias_start.h"
#include "src/train/cast_node.h"
#include "src/train/layer_report.h"
#include "src/train/replicas/replica_options.h"

namespace softamp {
namespace {

/// Gradients are summed over micro-batches inside the gradient graph, so that every rounding has its own operation id.
// implements: N276
Port running_sum(GraphBuilder& b, const VariableSpec& variable, Port gradient, DType dtype, GradientStepGraph& step) {
  const TensorType type{dtype, variable.type.shape};
  const std::string name = "accumulate/" + variable.name;
  const Port sum = b.add_named(name, "VariableV2", {}, {{"dtype", type.dtype}, {"shape", type.shape}});
  step.sums.push_back(name);
  const auto scope = b.scope("accumulate");
  gradient = cast_to(b, gradient, type.dtype);
  return b.add("Assign", {b.add("AddV2", {sum, gradient})}, {{"ref", name}});
}

/// Applies the pass to the graph so far. The step fetches Identity nodes, which keep name and dtype.
void rewrite(GraphBuilder& b, const GraphPass& pass, GradientStepGraph& step) {
  const auto hand_on = [&b](const std::string& fetch, const char* scope_name, const std::string& name) {
    const auto scope = b.scope(scope_name);
    return b.graph().port_name(b.add("Identity", {b.graph().port(fetch)}, {}, name));
  };
  const bool scales = step.scaled_loss != step.loss;
  step.loss = hand_on(step.loss, "loss_fn", "fetched");
  step.scaled_loss = scales ? hand_on(step.scaled_loss, "scale", "fetched") : step.loss;
  std::vector<std::string> fetches{step.loss};
  if (scales) fetches.push_back(step.scaled_loss);
  for (size_t i = 0; i < step.gradients.size(); ++i) {
    step.gradients[i] = hand_on(step.gradients[i], "gradients", "fetched/" + step.variables[i].name);
    fetches.push_back(step.gradients[i]);
  }
  GraphRewrite rewritten = pass(b.build(), fetches);
  step.report = std::move(rewritten.report);
  step.state = std::move(rewritten.state);
  b = GraphBuilder(rewritten.graph);
}

/// Neighbours are added, then neighbouring sums, to the last (N283).
// implements: N283
Port tree_sum(GraphBuilder& b, std::vector<Port> parts) {
  while (parts.size() > 1) {
    for (size_t i = 0; i < parts.size() / 2; ++i)
      parts[i] = b.add("AddN", {parts[2 * i], parts[2 * i + 1]}, {}, "all_reduce");
    parts.resize(parts.size() / 2);
  }
  return parts[0];
}

/// Sums gradients of one variable, of replicas in a chain in rank order in float32 (N277), or in their own float64; of
/// slices in a tree.
Port sum_of(GraphBuilder& b, std::vector<Port> parts, const TrainerOptions& options) {
  const DType wide = wide_dtype(b.type(parts[0]).dtype);
  for (Port& p : parts) p = cast_to(b, p, wide, "to_float32");
  return options.replica_invariant ? tree_sum(b, std::move(parts)) : b.add("AddN", parts, {}, "all_reduce");
}

/// Reduces all gradients of one variable, given as these parts. Means over replicas and over micro-batches are one
/// division.
// implements: N277, N283
Port reduce(GraphBuilder& b, std::vector<Port> parts, const TrainerOptions& options) {
  const int count = gradients_of_a_step(options);
  const double divided_by = reduction_divisor(options);
  if (count == 1 && divided_by == 1) return parts[0];
  const Port sum = count == 1 ? cast_to(b, parts[0], wide_dtype(b.type(parts[0]).dtype), "to_float32")
                              : sum_of(b, std::move(parts), options);
  if (divided_by == 1) return sum;
  const Port divisor = b.constant(Tensor::full(b.type(sum).dtype, {}, divided_by), "replicas");
  return b.add("RealDiv", {sum, divisor}, {}, "all_reduce_mean");
}

/// Unscales as the preset says; all presets except MindSpore's give float32.
// implements: N260, N278
std::vector<Port> unscale(GraphBuilder& b, std::vector<Port> gradients, const std::optional<Port>& scale, Unscale how) {
  if (!scale) return gradients;
  if (how == Unscale::kReciprocalInGradientDtype) {
    const Port reciprocal = b.add("Reciprocal", {*scale}, {}, "reciprocal");
    std::map<DType, Port> by_dtype{{DType::kFloat32, reciprocal}};
    for (Port& g : gradients) {
      const DType dtype = b.type(g).dtype;
      if (!by_dtype.contains(dtype)) by_dtype[dtype] = add_cast(b, reciprocal, dtype, "reciprocal_cast");
      g = cast_to(b, b.add("Mul", {g, by_dtype[dtype]}), wide_dtype(dtype), "to_float32");
    }
    return gradients;
  }
  std::vector<std::optional<Port>> scaled;
  for (const Port& g : gradients) scaled.emplace_back(cast_to(b, g, wide_dtype(b.type(g).dtype), "to_float32"));
  const auto done = get_unscaled_gradients(b, scaled, *scale, how == Unscale::kReciprocal);
  for (size_t i = 0; i < gradients.size(); ++i) gradients[i] = *done[i];
  return gradients;
}

/// One AllFinite per dtype; their conjunction.
Port all_finite(GraphBuilder& b, const std::vector<Port>& gradients, const std::vector<VariableSpec>& variables,
                UpdateStepGraph& update) {
  std::map<DType, std::vector<size_t>> by_dtype;
  for (size_t i = 0; i < gradients.size(); ++i) by_dtype[b.type(gradients[i]).dtype].push_back(i);
  std::optional<Port> all;
  for (const auto& [dtype, members] : by_dtype) {
    std::vector<Port> inputs;
    for (const size_t i : members) {
      inputs.push_back(gradients[i]);
      update.checked.push_back(variables[i].name);
    }
    const Port finite = b.add("AllFinite", inputs);
    update.nonfinite.push_back(b.graph().port_name({finite.node, 1}));
    all = all ? b.add("LogicalAnd", {*all, finite}) : finite;
  }
  return *all;
}

}  // namespace

GradientStepGraph build_gradient_graph(const Model& model, const TrainerOptions& options) {
  GradientStepGraph step;
  GraphBuilder b(model.graph);
  const Port loss = b.graph().port(model.loss);
  step.loss = model.loss;
  Port scaled = loss;
  if (options.loss_scale.dynamic || options.loss_scale.initial != 1) {
    const auto scope = b.scope("scale");
    const Port scale = b.placeholder("loss_scale", DType::kFloat32, {});
    step.loss_scale = b.graph().port_name(scale);
    scaled = get_scaled_loss(b, loss, scale);
  }
  step.scaled_loss = b.graph().port_name(scaled);

  std::vector<Variable> trainable;
  std::vector<VariableSpec> specs;
  for (const VariableSpec& v : model.variables) {
    if (!v.trainable) continue;
    trainable.push_back({v.name, b.graph().port(v.name), true});
    specs.push_back(v);
  }
  const std::vector<GradientAndVariable> computed =
      Optimizer(options.optimizer).compute_gradients(b, scaled, trainable);
  for (size_t i = 0; i < computed.size(); ++i) {
    if (!computed[i].gradient) continue;
    step.variables.push_back(specs[i]);
    step.gradients.push_back(b.graph().port_name(*computed[i].gradient));
  }
  if (step.variables.empty()) throw std::invalid_argument("No gradients provided for any variable of the model");
  if (options.pass) rewrite(b, options.pass, step);
  if (options.bias_in_accumulator) {
    std::vector<std::string> fetches = step.gradients;
    fetches.insert(fetches.end(), {step.loss, step.scaled_loss});
    b = GraphBuilder(start_with_bias(b.build(), fetches));
  }
  if (!model.mechanism.empty()) step.report = report_of_layers(b.graph(), model);
  if (options.accumulation > 1 && !options.replica_invariant)
    for (size_t i = 0; i < step.variables.size(); ++i) {
      const Port gradient = b.graph().port(step.gradients[i]);
      step.gradients[i] = b.graph().port_name(
          running_sum(b, step.variables[i], gradient, options.accumulation_dtype.of(step.variables[i]), step));
    }
  step.graph = b.build();
  return step;
}

void count_nonfinite(const UpdateStepGraph& update, const RunResult& run, StepResult& result) {
  size_t next = 0;
  for (size_t f = 1; f <= update.nonfinite.size(); ++f)
    for (const int32_t count : run.values[f].as<int32_t>()) {
      const std::string& name = update.checked[next++];
      if (count) result.nonfinite_by_variable.emplace_back(name, count);
      result.nonfinite += count;
    }
}

// implements: N284
ReductionGraph build_reduction_graph(const TensorType& part, int count, bool whole, const TrainerOptions& options) {
  ReductionGraph reduction;
  GraphBuilder b;
  std::vector<Port> parts;
  for (int p = 0; p < count; ++p) {
    parts.push_back(b.placeholder("part/" + std::to_string(p), part.dtype, part.shape));
    reduction.parts.push_back(b.graph().port_name(parts.back()));
  }
  const Port sum = whole ? reduce(b, std::move(parts), options) : sum_of(b, std::move(parts), options);
  reduction.sum = b.graph().port_name(sum);
  reduction.graph = b.build();
  return reduction;
}

UpdateStepGraph build_update_graph(const GradientStepGraph& step, const Optimizer& optimizer,
                                   const TrainerOptions& options) {
  UpdateStepGraph update;
  GraphBuilder b;
  std::vector<Variable> variables;
  for (const VariableSpec& v : step.variables)
    variables.push_back(
        {v.name, b.add_named(v.name, "VariableV2", {}, {{"dtype", v.type.dtype}, {"shape", v.type.shape}}), true});

  const Unscale how = options.loss_scale.unscale;
  std::optional<Port> scale;
  std::vector<Port> gradients;
  {
    const auto scope = b.scope("unscale");
    if (!step.loss_scale.empty() && how != Unscale::kFoldedIntoRate) {
      scale = b.placeholder("loss_scale", DType::kFloat32, {});
      update.loss_scale = b.graph().port_name(*scale);
    }
    for (size_t i = 0; i < variables.size(); ++i) {
      const TensorType& type = step.graph.type(step.graph.port(step.gradients[i]));
      std::vector<Port> parts;
      update.gradients.emplace_back();
      for (int p = 0; p < gradients_of_a_step(options); ++p) {
        parts.push_back(
            b.placeholder("gradient/" + std::to_string(p) + "/" + variables[i].name, type.dtype, type.shape));
        update.gradients.back().push_back(b.graph().port_name(parts.back()));
      }
      gradients.push_back(reduce(b, std::move(parts), options));
      update.reduced.push_back(b.graph().port_name(gradients.back()));
    }
    gradients = unscale(b, gradients, scale, how);
    for (const Port& g : gradients) update.unscaled.push_back(b.graph().port_name(g));
  }
  Port apply;
  {
    const auto scope = b.scope("update");
    const Port allowed = b.placeholder("allowed", DType::kBool, {});
    update.apply = b.graph().port_name(allowed);
    const Port finite = all_finite(b, gradients, step.variables, update);
    update.finite = b.graph().port_name(finite);
    update.skips_nonfinite =
        options.loss_scale.skip_overflowed && options.loss_scale.overflow_from != OverflowFrom::kStatus;
    apply = update.skips_nonfinite ? b.add("LogicalAnd", {allowed, finite}, {}, "apply") : allowed;
  }
  const GradientClipping& clip = options.clipping;
  if (clip.value || clip.norm || clip.global_norm) {
    DType wide = DType::kFloat32;
    for (const Port& g : gradients) wide = std::max(wide, b.type(g).dtype);
    for (Port& g : gradients) g = cast_to(b, g, wide, "clip/to_float32");
    gradients = clip_gradients(b, gradients, clip);
  }

  std::map<DType, std::vector<GradientAndVariable>> by_dtype;
  for (size_t i = 0; i < variables.size(); ++i) {
    // A float64 variable takes float64 alone, and others no float64.
    const DType variable = step.variables[i].type.dtype, of = b.type(gradients[i]).dtype;
    if ((variable == DType::kFloat64) != (of == DType::kFloat64))
      gradients[i] = cast_to(b, gradients[i], wide_dtype(variable), "update/cast");
    update.applied.push_back(b.graph().port_name(gradients[i]));
    by_dtype[variable].push_back({gradients[i], variables[i]});
    for (VariableSpec& slot : optimizer.slots(step.variables[i])) update.slots.push_back(std::move(slot));
  }
  for (const auto& [dtype, members] : by_dtype) {
    const Port rate = b.placeholder(std::string("learning_rate/") + name_of(dtype), wide_dtype(dtype), {});
    update.rates.emplace_back(b.graph().port_name(rate), dtype);
    std::optional<Port> decay;
    if (optimizer.feeds_decay()) {
      decay = b.placeholder(std::string("decay/") + name_of(dtype), wide_dtype(dtype), {});
      update.decays.push_back(b.graph().port_name(*decay));
    }
    optimizer.apply_gradients(b, members, rate, apply, decay);
  }
  update.graph = b.build();
  return update;
}

}  // namespace softamp
