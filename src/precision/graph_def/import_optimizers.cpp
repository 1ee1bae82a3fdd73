// The updates of weights. Hyperparameters are inputs there; here the rate is one, and the others are attributes.
#include "src/precision/graph_def/import.h"

namespace softamp::graph_def_detail {
namespace {

using Kind = ImportedValue::Kind;

/// The variables that the first `count` inputs, which are there, name: as they are now.
std::vector<Port> states(NodeImport& n, size_t count) {
  std::vector<Port> now;
  for (size_t i = 0; i < count; ++i) {
    if (n.inputs[i].kind != Kind::kVariable) n.fail("input " + std::to_string(i) + " is no variable");
    now.push_back(n.importer.read(n.inputs[i].variable));
  }
  return now;
}

Port wide(NodeImport& n, const char* suffix, Port p) { return n.cast(suffix, p, wide_dtype(n.importer.type(p).dtype)); }

Port apply(NodeImport& n) {
  Tensor yes(DType::kBool, Shape{});
  yes.as<uint8_t>()[0] = 1;
  return n.constant("apply", std::move(yes));
}

/// Output i of the update is the new value of input i; by reference the weight goes on.
void store(NodeImport& n, Port update, size_t count) {
  for (size_t i = 0; i < count; ++i) n.importer.write(n.inputs[i].variable, Port{update.node, static_cast<int>(i)});
  n.outputs.clear();
  if (!n.node.op().starts_with("Resource")) n.set(0, n.inputs[0]);
}

void gradient_descent(NodeImport& n) {
  n.expect_inputs(3);
  std::vector<Port> from = states(n, 1);
  from.insert(from.end(), {wide(n, "alpha", n.port(1)), n.port(2), apply(n)});
  store(n, n.add("ApplyGradientDescent", from), 1);
}

void momentum(NodeImport& n) {
  n.expect_inputs(5);
  std::vector<Port> from = states(n, 2);
  from.insert(from.end(), {wide(n, "lr", n.port(2)), n.port(3), apply(n)});
  store(n,
        n.add("ApplyMomentum", from,
              {{"momentum", n.number(4, "the momentum")}, {"use_nesterov", n.flag("use_nesterov", false)}}),
        2);
}

/// accum = momentum accum - lr grad; var + accum, or (Nesterov) var + momentum accum - lr grad: each step rounded, as
/// in TensorFlow.
void keras_momentum(NodeImport& n) {
  n.expect_inputs(5);
  const std::vector<Port> from = states(n, 2);
  const Port momentum = n.port(4);
  const Port step = n.helper("step", "Mul", {n.port(3), n.port(2)});
  const Port kept = n.helper("kept", "Mul", {from[1], momentum});
  const Port accum = n.helper("accum", "Sub", {kept, step});
  const Port change = n.flag("use_nesterov", false)
                          ? n.helper("ahead", "Sub", {n.helper("again", "Mul", {accum, momentum}), step})
                          : accum;
  const Port var = n.add("AddV2", {from[0], change});
  n.importer.write(n.inputs[0].variable, var);
  n.importer.write(n.inputs[1].variable, accum);
  n.outputs.clear();
}

void rms_prop(NodeImport& n) {
  n.expect_inputs(8);
  std::vector<Port> from = states(n, 3);
  from.insert(from.end(), {wide(n, "lr", n.port(3)), n.port(7), apply(n)});
  store(n,
        n.add("ApplyRMSProp", from,
              {{"rho", n.number(4, "rho")},
               {"momentum", n.number(5, "the momentum")},
               {"epsilon", n.number(6, "epsilon")}}),
        3);
}

/// The rate is corrected for the first steps, as TensorFlow does before its update: lr sqrt(1 - beta2^t) / (1 -
/// beta1^t).
void adam(NodeImport& n) {
  n.expect_inputs(10);
  if (n.flag("use_nesterov", false)) n.fail("attribute 'use_nesterov' is true; expected false");
  std::vector<Port> from = states(n, 3);
  const Port power1 = n.port(3), power2 = n.port(4), lr = n.port(5);
  const Port one = n.scalar("one", n.importer.type(lr).dtype, 1);
  const Port root = n.helper("root", "Sqrt", {n.helper("rest2", "Sub", {one, power2})});
  const Port rate =
      n.helper("rate", "RealDiv", {n.helper("scaled", "Mul", {lr, root}), n.helper("rest1", "Sub", {one, power1})});
  const Port wide_rate = wide(n, "lr", rate);
  const Port decay = n.scalar("decay", n.importer.type(wide_rate).dtype, 0);
  from.insert(from.end(), {wide_rate, decay, n.port(9), apply(n)});
  store(n,
        n.add("ApplyAdam", from,
              {{"beta1", n.number(6, "beta1")}, {"beta2", n.number(7, "beta2")}, {"epsilon", n.number(8, "epsilon")}}),
        3);
}

}  // namespace

void add_optimizer_translations(Translations& all) {
  all["ApplyGradientDescent"] = all["ResourceApplyGradientDescent"] = {gradient_descent, true};
  all["ApplyMomentum"] = all["ResourceApplyMomentum"] = {momentum, true};
  all["ResourceApplyKerasMomentum"] = {keras_momentum, true};
  all["ApplyRMSProp"] = all["ResourceApplyRMSProp"] = {rms_prop, true};
  all["ApplyAdam"] = all["ResourceApplyAdam"] = {adam, true};
}

}  // namespace softamp::graph_def_detail
