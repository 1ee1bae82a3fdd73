#include "src/graph/gradient_context.h"

#include <algorithm>

#include "softamp/graph/gradients.h"

namespace softamp {
namespace graph_detail {

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

// implements: N222
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

// implements: N232
Differentiability differentiability(std::string_view op) {
  const Operation& row = operation(op);
  if (row.gradient) return Differentiability::kDifferentiable;
  return row.is_constant ? Differentiability::kConstant : Differentiability::kNone;
}

}  // namespace softamp
