// Updates by plain nodes: every product, sum, quotient and root is rounded, with an operation id of its own.
//
// If `apply` is false, a SelectV2 keeps the old values, and the gradient counts as zeros, so that the cause of the
// skipped step raises no flag in the update.
#include "src/train/cast_node.h"
#include "src/train/optimizers/optimizer_update.h"

namespace softamp {
namespace {

/// Adds nodes whose operands are cast to one dtype.
class Words {
 public:
  Words(GraphBuilder& builder, DType dtype) : b_(builder), dtype_(dtype) {}

  Port to(Port x, std::string_view name) const { return cast_to(b_, x, dtype_, name); }
  Port number(double value, std::string_view name) const { return b_.constant(Tensor::full(dtype_, {}, value), name); }
  Port mul(Port x, Port y) const { return b_.add("Mul", {x, y}); }
  Port add(Port x, Port y) const { return b_.add("AddV2", {x, y}); }
  Port sub(Port x, Port y) const { return b_.add("Sub", {x, y}); }
  Port div(Port x, Port y) const { return b_.add("RealDiv", {x, y}); }
  Port square(Port x) const { return b_.add("Square", {x}); }
  Port sqrt(Port x) const { return b_.add("Sqrt", {x}); }
  /// keep * old + (1 - keep) * value
  Port mean(Port old, Port value, double keep, const std::string& name) const {
    return add(mul(number(keep, name), old), mul(number(1 - keep, "one_minus_" + name), value));
  }

 private:
  GraphBuilder& b_;
  DType dtype_;
};

/// Kahan's compensation, the last slot, has the variable's dtype, the others that of the first.
DType slot_dtype(const GraphBuilder& b, const OptimizerOptions& o, const UpdateInputs& in) {
  const size_t own = in.slots.size() - (o.weight_update == WeightUpdate::kKahan ? 1 : 0);
  return b.type(own ? in.slots[0] : in.variable).dtype;
}

}  // namespace

// implements: N259
UpdateOutputs separate_update(GraphBuilder& b, const OptimizerOptions& o, const UpdateInputs& in) {
  const DType dtype = b.type(in.variable).dtype;
  const RoundedHyperparameters h = rounded_hyperparameters(o, dtype);
  const Words var(b, dtype), slot(b, slot_dtype(b, o, in));

  const Port zeros = b.add("ZerosLike", {in.gradient});
  const Port gradient = b.add("SelectV2", {in.apply, in.gradient, zeros}, {}, "gradient");
  const Port rate = var.to(in.learning_rate, "learning_rate");

  Port change;  // what is subtracted from the variable
  std::vector<Port> slots;
  switch (o.kind) {
    case OptimizerKind::kSgd: change = var.mul(rate, var.to(gradient, "to_variable")); break;
    case OptimizerKind::kMomentum:
    case OptimizerKind::kNesterov: {
      const Port momentum = slot.number(h.momentum, "momentum"), g = slot.to(gradient, "to_slot");
      const Port accum = slot.add(slot.mul(momentum, in.slots[0]), g);
      slots = {accum};
      const Port step = o.kind == OptimizerKind::kMomentum ? accum : slot.add(g, slot.mul(momentum, accum));
      change = var.mul(rate, var.to(step, "to_variable"));
      break;
    }
    case OptimizerKind::kRmsProp: {
      const Port g = slot.to(gradient, "to_slot"), slot_rate = slot.to(in.learning_rate, "learning_rate_of_slot");
      const Port ms = slot.mean(in.slots[0], slot.square(g), h.rho, "rho");
      const Port root = slot.sqrt(slot.add(ms, slot.number(h.epsilon, "epsilon")));
      const Port old = slot.mul(slot.number(h.momentum, "momentum"), in.slots[1]);
      const Port mom = slot.add(old, slot.div(slot.mul(slot_rate, g), root));
      slots = {ms, mom};
      change = var.to(mom, "to_variable");
      break;
    }
    case OptimizerKind::kAdam:
    case OptimizerKind::kAdamW: {
      const Port g = slot.to(gradient, "to_slot");
      const Port m = slot.mean(in.slots[0], g, h.beta1, "beta1");
      const Port v = slot.mean(in.slots[1], slot.square(g), h.beta2, "beta2");
      slots = {m, v};
      const Port root = var.add(var.to(slot.sqrt(v), "root_to_variable"), var.number(h.epsilon, "epsilon"));
      change = var.div(var.mul(rate, var.to(m, "to_variable")), root);
      if (o.kind == OptimizerKind::kAdamW) {
        const Port decay = in.decay ? var.to(*in.decay, "decay") : var.number(h.decay, "decay");
        change = var.add(change, var.mul(decay, in.variable));
      }
      break;
    }
  }
  const auto under = [&](WeightUpdate how) {
    const Port one = b.constant(Tensor::full(wide_dtype(dtype), {}, 1), "one");
    const Attributes rounding{{"weight_update", std::string(rounding_of(how))}};
    return b.add("ApplyGradientDescent", {in.variable, one, change, in.apply}, rounding);
  };

  const auto where_applied = [&](Port now, Port before) {
    return b.add("SelectV2", {in.apply, now, before}, {}, "applied");
  };
  UpdateOutputs out;
  switch (o.weight_update) {
    case WeightUpdate::kDefault: out.variable = where_applied(var.sub(in.variable, change), in.variable); break;
    case WeightUpdate::kNearest:
    case WeightUpdate::kStochastic: out.variable = under(o.weight_update); break;
    case WeightUpdate::kKahan: out = compensated_update(b, in, b.add("Neg", {change})); break;
  }
  std::vector<Port> own;
  for (size_t i = 0; i < slots.size(); ++i) own.push_back(where_applied(slots[i], in.slots[i]));
  out.slots.insert(out.slots.begin(), own.begin(), own.end());
  return out;
}

}  // namespace softamp
