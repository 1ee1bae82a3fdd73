#include "src/graph/gradient_table.h"

#include <algorithm>
#include <map>

#include "softamp/graph/gradients.h"

namespace softamp {
namespace graph_detail {
namespace {

const std::map<std::string, GradientRule, std::less<>>& table() {
  static const std::map<std::string, GradientRule, std::less<>> kTable = [] {
    std::map<std::string, GradientRule, std::less<>> all;
    for (const GradientRules& family :
         {gradients_of::arithmetic(), gradients_of::functions(), gradients_of::products(), gradients_of::convolutions(),
          gradients_of::reductions(), gradients_of::norms(), gradients_of::structure()})
      for (const auto& [op, rule] : family) all.emplace(op, rule);
    return all;
  }();
  return kTable;
}

/// Their results are integers, truth values, random or given, or piecewise constant.
constexpr const char* kConstantOperations[] = {
    "AllFinite",     "ArgMax",           "ArgMin",       "Const",           "Equal",
    "Fill",          "Greater",          "GreaterEqual", "IsFinite",        "IsNan",
    "Less",          "LessEqual",        "LogicalAnd",   "LogicalNot",      "LogicalOr",
    "NotEqual",      "OneHot",           "OnesLike",     "Placeholder",     "RandomStandardNormal",
    "RandomUniform", "RandomUniformInt", "StopGradient", "TruncatedNormal", "VariableV2",
    "ZerosLike"};

}  // namespace

GradientRule find_gradient(std::string_view op) {
  const auto it = table().find(op);
  return it == table().end() ? nullptr : it->second;
}

void GradientContext::fail(const std::string& message) const {
  throw GraphError(node_.op + " '" + node_.name + "': " + message);
}

Port GradientContext::arriving(size_t output) {
  return arrives(output) ? *arriving_[output] : zeros(node_.outputs[output]);
}

Port GradientContext::arriving() {
  for (size_t i = 1; i < outputs(); ++i)
    if (arrives(i))
      fail("no gradient of output " + std::to_string(i) + " (" + operation(node_.op).outputs[i].name +
           "); expected one of output 0 alone");
  return arriving(0);
}

Attributes GradientContext::attributes(std::initializer_list<const char*> names) const {
  Attributes some;
  for (const char* name : names) some.insert(*node_.attributes.find(name));
  return some;
}

Port GradientContext::scalar(DType t, double value) {
  return add("Fill", {}, {{"dtype", t}, {"shape", Shape{}}, {"value", value}});
}

Port GradientContext::zeros(const TensorType& t) { return add("Fill", {}, {{"dtype", t.dtype}, {"shape", t.shape}}); }

Port GradientContext::cast(Port x, DType t) { return type(x).dtype == t ? x : add("Cast", {x}, {{"DstT", t}}); }

Port GradientContext::reshape(Port x, const Shape& shape) {
  if (type(x).shape == shape) return x;
  return add("Reshape", {x}, {{"shape", std::vector<int64_t>(shape.begin(), shape.end())}});
}

Port GradientContext::sum_to(Port x, const Shape& shape) {
  const Shape from = type(x).shape;
  const int more = from.rank() - shape.rank();
  std::vector<int64_t> axes;
  for (int a = 0; a < from.rank(); ++a)
    if (from[a] != 1 && (a < more || shape[a - more] != from[a])) axes.push_back(a);
  if (!axes.empty()) x = add("Sum", {x}, {{"axes", axes}});
  return reshape(x, shape);
}

Port GradientContext::tile_to(Port x, const Shape& shape) {
  const Shape from = type(x).shape;
  if (from == shape) return x;
  std::vector<int64_t> multiples;
  for (int a = 0; a < shape.rank(); ++a) multiples.push_back(from[a] == shape[a] ? 1 : shape[a]);
  return add("Tile", {x}, {{"multiples", multiples}});
}

Port GradientContext::transpose(Port x, const std::vector<int64_t>& perm) {
  return std::is_sorted(perm.begin(), perm.end()) ? x : add("Transpose", {x}, {{"perm", perm}});
}

}  // namespace graph_detail

Differentiability differentiability(std::string_view op) {
  operation(op);  // throws for an unknown type
  if (graph_detail::find_gradient(op)) return Differentiability::kDifferentiable;
  const auto& constant = graph_detail::kConstantOperations;
  return std::find(std::begin(constant), std::end(constant), op) != std::end(constant) ? Differentiability::kConstant
                                                                                       : Differentiability::kNone;
}

}  // namespace softamp
