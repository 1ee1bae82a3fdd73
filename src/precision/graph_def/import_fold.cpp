// Arithmetic of shapes: what reads nothing but known integers is settled while the graph is made.
#include <algorithm>
#include <functional>
#include <numeric>

#include "src/precision/graph_def/import.h"

namespace softamp::graph_def_detail {
namespace {

using Ints = std::vector<int64_t>;

/// Elements of `in` at base + the sum of index times step along each axis of `out`.
Tensor picked(const Tensor& in, const Shape& out, int64_t base, std::span<const int64_t> steps) {
  const Ints from = integers_of(in);
  Ints all(static_cast<size_t>(out.elements()));
  std::vector<int64_t> index(static_cast<size_t>(out.rank()), 0);
  for (size_t i = 0; i < all.size(); ++i) {
    int64_t at = base;
    for (size_t a = 0; a < index.size(); ++a) at += index[a] * steps[a];
    all[i] = from[static_cast<size_t>(at)];
    for (size_t a = index.size(); a-- > 0;) {
      if (++index[a] < out[static_cast<int>(a)]) break;
      index[a] = 0;
    }
  }
  return tensor_of(in.dtype() == DType::kUint8 ? DType::kInt32 : in.dtype(), out, all);
}

Ints row_steps(const Shape& shape) {
  Ints steps(static_cast<size_t>(shape.rank()));
  int64_t step = 1;
  for (int a = shape.rank(); a-- > 0; step *= shape[a]) steps[static_cast<size_t>(a)] = step;
  return steps;
}

/// Broadcast to `out`, its result for NumPy's rules.
Tensor stretched(const Tensor& in, const Shape& out) {
  const Ints steps = row_steps(in.shape());
  Ints used(static_cast<size_t>(out.rank()), 0);
  for (int a = 0; a < in.shape().rank(); ++a)
    if (in.shape()[a] != 1)
      used[static_cast<size_t>(a + out.rank() - in.shape().rank())] = steps[static_cast<size_t>(a)];
  return picked(in, out, 0, used);
}

/// int32 that leaves 32 bits wraps, as on a device; int64 is refused before it does.
int64_t wrapped(DType t, int64_t v) {
  return t == DType::kInt32 ? static_cast<int32_t>(static_cast<uint32_t>(static_cast<uint64_t>(v))) : v;
}

[[noreturn]] void leave_64_bits() { throw std::invalid_argument("arithmetic of shapes leaves 64 bits"); }

int64_t sum_of(int64_t a, int64_t b) {
  int64_t r = 0;
  if (__builtin_add_overflow(a, b, &r)) leave_64_bits();
  return r;
}
int64_t difference_of(int64_t a, int64_t b) {
  int64_t r = 0;
  if (__builtin_sub_overflow(a, b, &r)) leave_64_bits();
  return r;
}
int64_t product_of(int64_t a, int64_t b) {
  int64_t r = 0;
  if (__builtin_mul_overflow(a, b, &r)) leave_64_bits();
  return r;
}

int64_t floor_div(int64_t a, int64_t b) {
  if (b == 0) throw std::invalid_argument("a shape is divided by 0");
  if (b == -1) return difference_of(0, a);
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

std::function<int64_t(int64_t, int64_t)> binary_of(std::string_view op) {
  if (op == "AddV2" || op == "Add") return sum_of;
  if (op == "Sub") return difference_of;
  if (op == "Mul") return product_of;
  if (op == "FloorDiv" || op == "Div") return floor_div;
  if (op == "FloorMod") return [](int64_t a, int64_t b) { return b == -1 ? 0 : a - b * floor_div(a, b); };
  if (op == "Maximum") return [](int64_t a, int64_t b) { return std::max(a, b); };
  if (op == "Minimum") return [](int64_t a, int64_t b) { return std::min(a, b); };
  return {};
}

std::function<bool(int64_t, int64_t)> comparison_of(std::string_view op) {
  if (op == "Equal") return std::equal_to<int64_t>();
  if (op == "NotEqual") return std::not_equal_to<int64_t>();
  if (op == "Greater") return std::greater<int64_t>();
  if (op == "GreaterEqual") return std::greater_equal<int64_t>();
  if (op == "Less") return std::less<int64_t>();
  if (op == "LessEqual") return std::less_equal<int64_t>();
  if (op == "LogicalAnd") return std::logical_and<int64_t>();
  if (op == "LogicalOr") return std::logical_or<int64_t>();
  return {};
}

void require_small(const Shape& shape) {
  if (shape.elements() > kMostKnown)
    throw std::invalid_argument("arithmetic of shapes makes " + shape.text() + "; expected at most 65536 numbers");
}

bool fold_binary(NodeImport& n) {
  const auto number = binary_of(n.node.op());
  const auto truth = comparison_of(n.node.op());
  if (!number && !truth) return false;
  n.expect_inputs(2);
  const Tensor &a = n.known(0), &b = n.known(1);
  const Shape shape = broadcast(a.shape(), b.shape());
  require_small(shape);
  const Ints x = integers_of(stretched(a, shape)), y = integers_of(stretched(b, shape));
  Ints z(x.size());
  const DType t = a.dtype() == DType::kUint8 ? DType::kInt32 : a.dtype();
  for (size_t i = 0; i < z.size(); ++i) z[i] = number ? wrapped(t, number(x[i], y[i])) : truth(x[i], y[i]);
  n.set_known(0, tensor_of(truth ? DType::kBool : t, shape, z));
  return true;
}

bool fold_reduction(NodeImport& n) {
  const std::string& op = n.node.op();
  const bool all = op == "All", any = op == "Any", prod = op == "Prod", sum = op == "Sum", max = op == "Max",
             min = op == "Min";
  if (!all && !any && !prod && !sum && !max && !min) return false;
  n.expect_inputs(2);
  const Tensor& in = n.known(0);
  const Ints axes = n.ints(1, "the axes"), from = integers_of(in), steps = row_steps(in.shape());
  std::vector<bool> gone(static_cast<size_t>(in.shape().rank()), false);
  for (const int64_t a : axes) {
    const int64_t axis = a < 0 ? a + in.shape().rank() : a;
    if (axis < 0 || axis >= in.shape().rank()) n.fail("axis " + std::to_string(a) + " of shape " + in.shape().text());
    gone[static_cast<size_t>(axis)] = true;
  }
  Ints extents, kept;
  for (int a = 0; a < in.shape().rank(); ++a) {
    if (!gone[static_cast<size_t>(a)]) kept.push_back(in.shape()[a]);
    if (!gone[static_cast<size_t>(a)])
      extents.push_back(in.shape()[a]);
    else if (n.flag("keep_dims", false))
      extents.push_back(1);
  }
  const Ints out_steps = row_steps(Shape(kept));
  Ints result(static_cast<size_t>(Shape(kept).elements()), all || prod ? 1 : max ? INT64_MIN : min ? INT64_MAX : 0);
  for (size_t i = 0; i < from.size(); ++i) {
    size_t at = 0, k = 0;
    for (int a = 0; a < in.shape().rank(); ++a)
      if (!gone[static_cast<size_t>(a)])
        at += static_cast<size_t>(static_cast<int64_t>(i) / steps[static_cast<size_t>(a)] % in.shape()[a] *
                                  out_steps[k++]);
    int64_t& r = result[at];
    const int64_t v = from[i];
    if (all || any) r = all ? r && v : r || v;
    if (max || min) r = max ? std::max(r, v) : std::min(r, v);
    if (prod) r = product_of(r, v);
    if (sum) r = sum_of(r, v);
  }
  if ((max || min) && from.empty() && !result.empty()) n.fail("no elements to choose from");
  for (int64_t& r : result) r = wrapped(in.dtype(), r);
  n.set_known(0, tensor_of(in.dtype() == DType::kUint8 ? DType::kInt32 : in.dtype(), Shape(extents), result));
  return true;
}

/// Axes over which a gradient is summed, so that it has the shape that was broadcast.
bool fold_broadcast(NodeImport& n) {
  if (n.node.op() != "BroadcastGradientArgs" && n.node.op() != "BroadcastArgs") return false;
  n.expect_inputs(2);
  const Shape a = n.shape_from(0, "a shape"), b = n.shape_from(1, "a shape"), both = broadcast(a, b);
  const DType t = n.known(0).dtype();
  if (n.node.op() == "BroadcastArgs") {
    n.set_known(0, tensor_of(t, Shape{both.rank()}, both.extents()));
    return true;
  }
  for (size_t i = 0; i < 2; ++i) {
    const Shape& own = i == 0 ? a : b;
    Ints axes;
    for (int axis = 0; axis < both.rank(); ++axis) {
      const int at = axis - (both.rank() - own.rank());
      // TensorFlow sums over an axis where both are 1, too; its length is 1.
      if (at < 0 || (own[at] == 1 && both[axis] != 1)) axes.push_back(axis);
    }
    n.set_known(i, tensor_of(t, Shape{static_cast<int64_t>(axes.size())}, axes));
  }
  return true;
}

bool fold_source(NodeImport& n) {
  const std::string& op = n.node.op();
  if (op == "Range") {
    n.expect_inputs(3);
    const int64_t start = n.one_int(0, "the start"), limit = n.one_int(1, "the limit"),
                  delta = n.one_int(2, "the step");
    if (delta == 0) n.fail("the step is 0");
    Ints all;
    for (int64_t v = start; delta > 0 ? v < limit : v > limit; v = sum_of(v, delta)) {
      if (static_cast<int64_t>(all.size()) >= kMostKnown) n.fail("a range of more than 65536 numbers");
      all.push_back(v);
    }
    n.set_known(0, tensor_of(n.known(0).dtype(), Shape{static_cast<int64_t>(all.size())}, all));
    return true;
  }
  if (op == "Fill") {
    n.expect_inputs(2);
    const Shape shape = n.shape_from(0, "the shape");
    if (shape.elements() > kMostKnown || n.known(1).elements() != 1) return false;
    n.set_known(0, stretched(n.known(1), shape));
    return true;
  }
  if (op == "InvertPermutation") {
    const Ints p = n.ints(0, "the permutation");
    Ints inverse(p.size(), -1);
    for (size_t i = 0; i < p.size(); ++i) {
      if (p[i] < 0 || p[i] >= static_cast<int64_t>(p.size())) n.fail("no permutation");
      inverse[static_cast<size_t>(p[i])] = static_cast<int64_t>(i);
    }
    n.set_known(0, tensor_of(n.known(0).dtype(), n.known(0).shape(), inverse));
    return true;
  }
  return false;
}

int64_t axis_in(const NodeImport& n, int64_t axis, int rank) {
  if (axis < -rank || axis >= rank)
    n.fail("axis " + std::to_string(axis) + "; expected " + std::to_string(-rank) + " .. " + std::to_string(rank - 1));
  return axis < 0 ? axis + rank : axis;
}

/// Known tensors side by side along axis 0 of vectors, or as a new axis of scalars: all that arithmetic of shapes
/// needs.
bool fold_joined(NodeImport& n) {
  const std::string& op = n.node.op();
  const bool pack = op == "Pack", concat_v2 = op == "ConcatV2";
  if (!pack && !concat_v2 && op != "Concat") return false;
  const size_t begin = op == "Concat" ? 1 : 0, end = n.inputs.size() - (concat_v2 ? 1 : 0);
  if (begin >= end) n.fail("no inputs; expected one or more");
  Ints all;
  for (size_t i = begin; i < end; ++i) {
    if (n.known(i).shape().rank() != (pack ? 0 : 1)) return false;
    const Ints more = integers_of(n.known(i));
    all.insert(all.end(), more.begin(), more.end());
  }
  require_small(Shape{static_cast<int64_t>(all.size())});
  const int64_t axis = pack ? n.integer("axis", 0) : n.one_int(concat_v2 ? end : 0, "the axis");
  axis_in(n, axis, 1);
  const DType t = n.known(begin).dtype();
  n.set_known(0, tensor_of(t == DType::kUint8 ? DType::kInt32 : t, Shape{static_cast<int64_t>(all.size())}, all));
  return true;
}

bool fold_moved(NodeImport& n) {
  const std::string& op = n.node.op();
  if (op == "Select" || op == "SelectV2") {
    n.expect_inputs(3);
    if (n.known(0).elements() != 1) return false;
    n.set(0, n.inputs[integers_of(n.known(0))[0] ? 1 : 2]);
    return true;
  }
  if (op == "GatherV2" || op == "Gather") {
    const Tensor &params = n.known(0), &indices = n.known(1);
    if (params.shape().rank() != 1 || n.integer("batch_dims", 0) != 0) return false;
    const Ints from = integers_of(params), places = integers_of(indices);
    Ints all;
    for (const int64_t p : places) {
      if (p < 0 || p >= static_cast<int64_t>(from.size()))
        n.fail("index " + std::to_string(p) + " of " + params.shape().text());
      all.push_back(from[static_cast<size_t>(p)]);
    }
    n.set_known(0, tensor_of(params.dtype(), indices.shape(), all));
    return true;
  }
  if (op == "Unpack") {
    const Tensor& in = n.known(0);
    if (in.shape().rank() != 1) return false;
    if (n.integer("num", 0) != in.elements())
      n.fail("attribute 'num' is " + std::to_string(n.integer("num", 0)) + " for shape " + in.shape().text());
    for (int64_t i = 0; i < in.elements(); ++i) n.set_known(static_cast<size_t>(i), picked(in, Shape{}, i, {}));
    return true;
  }
  if (op == "Reshape") {
    n.expect_inputs(2);
    const Tensor& in = n.known(0);
    Ints shape = n.ints(1, "the shape");
    int64_t rest = 1;
    for (const int64_t s : shape) (void)__builtin_mul_overflow(rest, s == -1 ? int64_t{1} : s, &rest);
    for (int64_t& s : shape)
      if (s == -1 && rest > 0) s = in.elements() / rest;
    if (Shape(shape).elements() != in.elements()) n.fail("shape " + Shape(shape).text() + " of " + in.shape().text());
    n.set_known(0, tensor_of(in.dtype() == DType::kUint8 ? DType::kInt32 : in.dtype(), Shape(shape), integers_of(in)));
    return true;
  }
  if (op == "ExpandDims" || op == "Squeeze") {
    const Tensor& in = n.known(0);
    Ints extents(in.shape().begin(), in.shape().end());
    if (op == "ExpandDims")
      extents.insert(extents.begin() + axis_in(n, n.one_int(1, "the axis"), in.shape().rank() + 1), 1);
    else if (in.elements() == 1)
      extents.clear();
    else
      std::erase(extents, 1);
    if (op == "Squeeze" && !n.list("squeeze_dims").empty() &&
        extents.size() + n.list("squeeze_dims").size() != static_cast<size_t>(in.shape().rank()))
      return false;
    n.set_known(0,
                tensor_of(in.dtype() == DType::kUint8 ? DType::kInt32 : in.dtype(), Shape(extents), integers_of(in)));
    return true;
  }
  return false;
}

bool fold_unary(NodeImport& n) {
  const std::string& op = n.node.op();
  if (op != "Neg" && op != "LogicalNot" && op != "Cast") return false;
  n.expect_inputs(1);
  const Tensor& in = n.known(0);
  Ints all = integers_of(in);
  if (op == "Cast") {
    const ElementType to = n.element("DstT");
    const DType t = to == ElementType::kInt64 ? DType::kInt64 : n.dtype("DstT");
    if (is_floating(t)) {
      std::vector<double> values(all.begin(), all.end());
      for (size_t i = 0; i < all.size(); ++i)
        if (static_cast<int64_t>(values[i]) != all[i]) n.fail("an integer of more than 53 bits");
      n.set_known(0, Tensor::from_values(t, in.shape(), values));
      return true;
    }
    n.set_known(0, tensor_of(t, in.shape(), all));
    return true;
  }
  for (int64_t& v : all) v = op == "Neg" ? wrapped(in.dtype(), difference_of(0, v)) : !v;
  n.set_known(0, tensor_of(in.dtype() == DType::kUint8 ? DType::kInt32 : in.dtype(), in.shape(), all));
  return true;
}

/// begin:end:stride of a vector; other ranks are left to the graph.
bool fold_slice(NodeImport& n) {
  const std::string& op = n.node.op();
  if (op != "StridedSlice" && op != "Slice") return false;
  const Tensor& in = n.known(0);
  if (in.shape().rank() != 1) return false;
  const int64_t count = in.shape()[0];
  const Ints begin = n.ints(1, "begin"), end = n.ints(2, op == "Slice" ? "size" : "end");
  if (begin.size() != 1 || end.size() != 1) return false;
  if (op == "Slice") {
    const bool begins = begin[0] >= 0 && begin[0] <= count;
    const int64_t size = begins && end[0] == -1 ? count - begin[0] : end[0];
    if (!begins || size < 0 || size > count - begin[0]) n.fail("a slice outside of " + in.shape().text());
    n.set_known(0, picked(in, Shape{size}, begin[0], Ints{1}));
    return true;
  }
  n.expect_inputs(4);
  const Ints strides = n.ints(3, "strides");
  if (strides.size() != 1 || strides[0] == 0 || (n.integer("ellipsis_mask", 0) | n.integer("new_axis_mask", 0)) != 0)
    return false;
  const auto place = [&](int64_t p, int64_t low, int64_t high) { return std::clamp(p < 0 ? p + count : p, low, high); };
  if (n.integer("shrink_axis_mask", 0) & 1) {
    const int64_t at = begin[0] < 0 ? begin[0] + count : begin[0];
    if (at < 0 || at >= count) n.fail("place " + std::to_string(begin[0]) + " of " + in.shape().text());
    n.set_known(0, picked(in, Shape{}, at, {}));
    return true;
  }
  const int64_t step = strides[0], low = step > 0 ? 0 : -1, high = step > 0 ? count : count - 1;
  const int64_t from = n.integer("begin_mask", 0) & 1 ? (step > 0 ? low : high) : place(begin[0], low, high);
  const int64_t to = n.integer("end_mask", 0) & 1 ? (step > 0 ? high : low) : place(end[0], low, high);
  const int64_t span = step > 0 ? to - from : from - to, size = span > 0 ? (span - 1) / std::abs(step) + 1 : 0;
  n.set_known(0, picked(in, Shape{size}, from, Ints{step}));
  return true;
}

}  // namespace

bool fold(NodeImport& n) {
  if (n.inputs.empty()) return false;
  for (size_t i = 0; i < n.inputs.size(); ++i)
    if (!n.is_known_integer(i)) return false;
  const bool folded = fold_binary(n) || fold_reduction(n) || fold_broadcast(n) || fold_source(n) || fold_joined(n) ||
                      fold_moved(n) || fold_unary(n) || fold_slice(n);
  // A file of many small nodes must not take more memory than it gives reason for.
  int64_t bytes = 0;
  for (const ImportedValue& output : n.outputs)
    if (output.known) bytes += static_cast<int64_t>(output.known->tensor.bytes());
  if (folded) n.importer.count_expanded(bytes);
  return folded;
}

}  // namespace softamp::graph_def_detail
