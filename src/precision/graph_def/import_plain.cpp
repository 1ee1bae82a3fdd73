// Operations that are the same here, attributes and all, and those that are put together from a few.
#include "softamp/graph/operation.h"
#include "src/precision/graph_def/import.h"

namespace softamp::graph_def_detail {
namespace {

/// The attributes that our operation and the node have in common; dtypes follow from the inputs.
Attributes common_attributes(const NodeImport& n, const Operation& op) {
  Attributes all;
  for (const AttributeSpec& spec : op.attributes) {
    if (!n.find(spec.name)) continue;
    if (spec.kind == AttributeKind::kBool) all[spec.name] = n.flag(spec.name, false);
    if (spec.kind == AttributeKind::kInt) all[spec.name] = n.integer(spec.name, 0);
    if (spec.kind == AttributeKind::kFloat) all[spec.name] = n.real(spec.name, 0);
    if (spec.kind == AttributeKind::kString) all[spec.name] = n.text(spec.name, "");
    if (spec.kind == AttributeKind::kInts) all[spec.name] = n.list(spec.name);
  }
  return all;
}

void as_op(NodeImport& n, std::string_view op) {
  n.set_all(n.add(op, n.ports(0, n.inputs.size()), common_attributes(n, operation(op))));
}

void same(NodeImport& n) { as_op(n, n.node.op()); }

void pass_through(NodeImport& n) {
  n.expect_inputs(1);
  if (n.inputs[0].kind == ImportedValue::Kind::kPort || n.inputs[0].kind == ImportedValue::Kind::kVariable) {
    n.add("Identity", {n.port(0)});
    return;
  }
  n.set(0, n.inputs[0]);
}

void pass_through_all(NodeImport& n) {
  for (size_t i = 0; i < n.inputs.size(); ++i) n.set(i, n.inputs[i]);
}

/// x / y, and 0 where y is 0: the quotient is taken of 1 there, so that no flag is raised.
void div_no_nan(NodeImport& n) {
  n.expect_inputs(2);
  const Port x = n.port(0), y = n.port(1);
  const DType t = n.importer.type(y).dtype;
  const Port zero = n.scalar("zero", t, 0);
  const Port is_zero = n.helper("is_zero", "Equal", {y, zero});
  const Port safe = n.helper("divisor", "SelectV2", {is_zero, n.scalar("one", t, 1), y});
  n.add("SelectV2", {is_zero, zero, n.helper("quotient", "RealDiv", {x, safe})});
}

void clip(NodeImport& n) {
  n.expect_inputs(3);
  n.add("Maximum", {n.helper("above", "Minimum", {n.port(0), n.port(2)}), n.port(1)});
}

/// A condition of rank 1 chooses rows.
void select(NodeImport& n) {
  n.expect_inputs(3);
  Port condition = n.port(0);
  const Shape c = n.importer.type(condition).shape, t = n.type(1).shape;
  if (c.rank() == 1 && t.rank() > 1) {
    std::vector<int64_t> extents(static_cast<size_t>(t.rank()), 1);
    extents[0] = c[0];
    condition = n.helper("rows", "Reshape", {condition}, {{"shape", extents}});
  }
  n.add("SelectV2", {condition, n.port(1), n.port(2)});
}

void cast(NodeImport& n) {
  n.expect_inputs(1);
  const DType to = n.dtype("DstT");
  if (n.flag("Truncate", false) && is_floating(to) && is_floating(n.type(0).dtype) && n.type(0).dtype != to)
    n.fail("attribute 'Truncate' is true: bits are cut off; expected a cast that rounds");
  // A number that stays what it is can be an attribute behind the cast, too: the values of OneHot after a rewrite.
  if (n.is_known(0) && n.known(0).elements() == 1 && is_floating(n.known(0).dtype()) && is_floating(to)) {
    const double value[] = {n.known(0).value(0)};
    Tensor same_number = Tensor::from_values(to, n.known(0).shape(), value);
    if (same_number.value(0) == value[0]) {
      n.set_known(0, std::move(same_number));
      return;
    }
  }
  const Port from = n.port(0);
  if (n.importer.type(from).dtype == to)
    n.add("Identity", {from});
  else
    n.add("Cast", {from}, {{"DstT", to}});
}

void relu6_grad(NodeImport& n) {
  n.expect_inputs(2);
  const Port gradients = n.port(0), features = n.port(1);
  const DType t = n.importer.type(features).dtype;
  const Port zero = n.scalar("zero", t, 0);
  const Port inside = n.helper(
      "inside", "LogicalAnd",
      {n.helper("above", "Greater", {features, zero}), n.helper("below", "Less", {features, n.scalar("six", t, 6)})});
  n.add("SelectV2", {inside, gradients, zero});
}

/// In terms of the output, which is below 0 where the input is: g (y + c), where the slope above is `slope`.
void grad_of_elu(NodeImport& n, double slope, double c) {
  n.expect_inputs(2);
  const Port g = n.port(0), y = n.port(1);
  const DType t = n.importer.type(y).dtype;
  const Port below = n.helper("below", "Less", {y, n.scalar("zero", t, 0)});
  const Port bent = n.helper("bent", "Mul", {g, n.helper("slope", "AddV2", {y, n.scalar("added", t, c)})});
  const Port straight = slope == 1 ? g : n.helper("straight", "Mul", {g, n.scalar("scale", t, slope)});
  n.add("SelectV2", {below, bent, straight});
}
void elu_grad(NodeImport& n) { grad_of_elu(n, 1, 1); }
void selu_grad(NodeImport& n) { grad_of_elu(n, 1.0507009873554804934193349852946, 1.7580993408473768599402175208123); }

void softplus_grad(NodeImport& n) {
  n.expect_inputs(2);
  n.add("Mul", {n.port(0), n.helper("slope", "Sigmoid", {n.port(1)})});
}

void softsign(NodeImport& n) {
  n.expect_inputs(1);
  const Port x = n.port(0);
  const Port one = n.scalar("one", n.importer.type(x).dtype, 1);
  n.add("RealDiv", {x, n.helper("divisor", "AddV2", {n.helper("size", "Abs", {x}), one})});
}

void is_inf(NodeImport& n) {
  n.expect_inputs(1);
  const Port x = n.port(0);
  n.add("LogicalNot",
        {n.helper("other", "LogicalOr", {n.helper("finite", "IsFinite", {x}), n.helper("nan", "IsNan", {x})})});
}

/// One dtype of both; the zeros that it passes over add nothing.
void sparse_matmul(NodeImport& n) {
  n.expect_inputs(2);
  as_op(n, "MatMul");
}

void einsum(NodeImport& n) {
  n.expect_inputs(2);
  same(n);
}

void batch_matmul(NodeImport& n) { as_op(n, "BatchMatMulV2"); }
void add_v2(NodeImport& n) { as_op(n, "AddV2"); }
void add_n(NodeImport& n) { as_op(n, "AddN"); }
void real_div(NodeImport& n) { as_op(n, "RealDiv"); }
void reciprocal_grad(NodeImport& n) { as_op(n, "ReciprocalGrad"); }

/// Needs a gradient, which no run takes; only the value goes on.
void stop_gradient(NodeImport& n) {
  n.expect_inputs(1);
  if (n.is_known(0)) return pass_through(n);
  n.add("StopGradient", {n.port(0)});
}

}  // namespace

void add_plain_translations(Translations& all) {
  for (const std::string_view op : words_of(
           "Abs AddN AddV2 Cos Elu Equal Erf Erfc Exp Expm1 Greater GreaterEqual Inv IsFinite IsNan L2Loss LeakyRelu "
           "LeakyReluGrad Less LessEqual Log Log1p LogSoftmax LogicalAnd LogicalNot LogicalOr MatMul BatchMatMulV2 "
           "Maximum Minimum Mul Neg NotEqual OnesLike Pow RealDiv Reciprocal ReciprocalGrad Relu Relu6 ReluGrad Rsqrt "
           "RsqrtGrad SelectV2 Selu Sigmoid SigmoidGrad Sin Softmax SoftmaxCrossEntropyWithLogits Softplus "
           "SparseSoftmaxCrossEntropyWithLogits Sqrt SqrtGrad Square SquaredDifference Sub Tanh TanhGrad ZerosLike"))
    all[op] = {same};
  for (const std::string_view op :
       words_of("Identity Snapshot PreventGradient CheckNumerics EnsureShape RefIdentity _Retval"))
    all[op] = {pass_through};
  all["StopGradient"] = {stop_gradient};
  all["IdentityN"] = {pass_through_all};
  all["Add"] = {add_v2};
  all["AccumulateNV2"] = {add_n};
  all["BatchMatMul"] = all["BatchMatMulV3"] = {batch_matmul};
  all["Cast"] = {cast};
  all["ClipByValue"] = {clip};
  all["Div"] = {real_div};
  all["DivNoNan"] = {div_no_nan};
  all["Einsum"] = {einsum};
  all["InvGrad"] = {reciprocal_grad};
  all["Relu6Grad"] = {relu6_grad};
  all["Select"] = {select};
  all["EluGrad"] = {elu_grad};
  all["SeluGrad"] = {selu_grad};
  all["SoftplusGrad"] = {softplus_grad};
  all["Softsign"] = {softsign};
  all["IsInf"] = {is_inf};
  all["SparseMatMul"] = {sparse_matmul};
}

}  // namespace softamp::graph_def_detail
