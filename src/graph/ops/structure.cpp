// Operations that move elements. Axes, paddings, sizes are attributes (not inputs, as in TensorFlow): all shapes are
// known when a graph is built. No copy raises a flag; UnsortedSegmentSum, the gradient of GatherV2, is the one sum
// here.
#include "softamp/kernel/structure.h"
#include "src/graph/ops/rows.h"
#include "src/graph/ops/structure_inference.h"

namespace softamp::operations_of {
namespace {

using enum AttributeKind;
using namespace graph_detail;

AttributeSpec integer(const char* name, const char* summary, std::optional<Attribute> value = {}) {
  return {name, kInt, std::move(value), summary, {}, {}};
}
AttributeSpec integers(const char* name, const char* summary, std::optional<Attribute> value = {}) {
  return {name, kInts, std::move(value), summary, {}, {}};
}
AttributeSpec number(const char* name, const char* summary, double value) {
  return {name, kFloat, Attribute(value), summary, {}, {}};
}

using Ints = std::vector<int64_t>;

const Ints& ints(const GradientContext& c, const char* name) { return attribute<Ints>(c.node(), name); }

/// The attribute "axis", counted from 0, of a tensor of this rank.
int64_t axis_of(const GradientContext& c, int rank) {
  const int64_t axis = attribute<int64_t>(c.node(), "axis");
  return axis < 0 ? axis + rank : axis;
}

void reshape(GradientContext& c) { c.set(0, c.reshape(c.arriving(), c.shape())); }

Ints inverse(const Ints& perm) {
  Ints back(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) back[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  return back;
}

void transpose(GradientContext& c) { c.set(0, c.transpose(c.arriving(), inverse(ints(c, "perm")))); }

/// Passes the outputs of a node to the inputs one by one.
void spread(GradientContext& c, Port node) {
  for (size_t i = 0; i < c.inputs(); ++i) c.set(i, {node.node, static_cast<int>(i)});
}

void concat(GradientContext& c) {
  const int64_t axis = axis_of(c, c.shape().rank());
  Ints sizes;
  for (size_t i = 0; i < c.inputs(); ++i) sizes.push_back(c.shape(i)[static_cast<int>(axis)]);
  const Port g = c.arriving();
  if (sizes.size() == 1) return c.set(0, g);
  spread(c, c.add("SplitV", {g}, {{"size_splits", sizes}, {"axis", axis}}));
}

void pack(GradientContext& c) {
  const int64_t axis = axis_of(c, c.shape().rank() + 1), count = static_cast<int64_t>(c.inputs());
  spread(c, c.add("Unpack", {c.arriving()}, {{"num", count}, {"axis", axis}}));
}

/// Split, SplitV, Unpack: all gradients side by side, zeros where none arrives.
void join(GradientContext& c, const char* op) {
  std::vector<Port> parts;
  for (size_t i = 0; i < c.outputs(); ++i) parts.push_back(c.arriving(i));
  c.set(0, c.add(op, parts, {{"axis", axis_of(c, c.shape().rank())}}));
}

void pad(GradientContext& c) {
  const Ints& paddings = ints(c, "paddings");
  Ints begin;
  for (size_t i = 0; i < paddings.size(); i += 2) begin.push_back(paddings[i]);
  c.set(0, c.add("Slice", {c.arriving()}, {{"begin", begin}, {"size", extents_attribute(c.shape())}}));
}

/// A tensor of zeros of this shape with x at `first`.
Port placed(GradientContext& c, Port x, const Ints& first, const Shape& shape) {
  const Shape from = c.type(x).shape;
  if (from == shape) return x;
  Ints paddings;
  for (int a = 0; a < shape.rank(); ++a) {
    const int64_t before = first[static_cast<size_t>(a)];
    paddings.insert(paddings.end(), {before, shape[a] - before - from[a]});
  }
  return c.add("Pad", {x}, {{"paddings", paddings}});
}

void slice(GradientContext& c) { c.set(0, placed(c, c.arriving(), ints(c, "begin"), c.shape())); }

/// x with steps - 1 zeros after each index of an axis: reshaped to a matrix with one row for each index, each row is
/// padded with the zeros at its end.
Port spaced(GradientContext& c, Port x, int axis, int64_t steps) {
  Ints shape = extents_attribute(c.type(x).shape);
  int64_t places = 1, inner = 1;
  for (size_t a = 0; a < shape.size(); ++a) (static_cast<int>(a) <= axis ? places : inner) *= shape[a];
  x = c.reshape(x, Shape{places, inner});
  x = c.add("Pad", {x}, {{"paddings", Ints{0, 0, 0, (steps - 1) * inner}}});
  shape[static_cast<size_t>(axis)] *= steps;
  return c.reshape(x, Shape(shape));
}

/// The slice took the indices first, first + |step|, ... of an axis: axes with a negative step are reversed, then zeros
/// are inserted between, and then around.
// implements: N231
void strided_slice(GradientContext& c) {
  const Shape shape = c.shape();
  const Ints &begin = ints(c, "begin"), &end = ints(c, "end"), &strides = ints(c, "strides");
  const auto bit = [&](const char* mask, size_t a) { return attribute<int64_t>(c.node(), mask) >> a & 1; };
  std::vector<kernel::SliceRange> ranges;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const size_t a = static_cast<size_t>(axis);
    if (a >= begin.size())
      ranges.push_back({0, 1, shape[axis]});
    else if (bit("shrink_axis_mask", a))
      ranges.push_back({begin[a] < 0 ? begin[a] + shape[axis] : begin[a], 1, 1});
    else
      ranges.push_back(
          kernel::strided_range(shape[axis], begin[a], end[a], strides[a], bit("begin_mask", a), bit("end_mask", a)));
  }
  Ints counts, first, turn, length;
  bool turned = false;
  for (kernel::SliceRange& r : ranges) {
    turned = turned || (r.step < 0 && r.count > 1);
    turn.push_back(r.step < 0 && r.count > 1 ? -1 : 1);
    if (r.step < 0) r = {r.start + r.step * (r.count - 1), -r.step, r.count};
    counts.push_back(r.count);
    first.push_back(r.start);
    length.push_back(r.step * (r.count - 1) + 1);
  }
  const Port g = c.arriving();
  if (c.type(g).shape.elements() == 0) return c.set(0, c.zeros({c.dtype(), shape}));
  Port x = c.reshape(g, Shape(counts));
  if (turned) {
    const Ints none(counts.size(), 0);
    const int64_t all = (int64_t{1} << counts.size()) - 1;
    x = c.add("StridedSlice", {x},
              {{"begin", none}, {"end", none}, {"strides", turn}, {"begin_mask", all}, {"end_mask", all}});
  }
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const kernel::SliceRange& r = ranges[static_cast<size_t>(axis)];
    if (r.count > 1 && r.step > 1) x = spaced(c, x, axis, r.step);
  }
  if (c.type(x).shape != Shape(length))  // the zeros after the last index may exceed the axis
    x = c.add("Slice", {x}, {{"begin", Ints(length.size(), 0)}, {"size", length}});
  c.set(0, placed(c, x, first, shape));
}

/// Axis a, repeated m times, is m by its extent: sums over the m. Axes that are not repeated are merged with the one
/// before. If more than 8 axes would be needed, the first ones are summed before the others, with a rounding each time.
// implements: N231
void tile(GradientContext& c) {
  const Shape shape = c.shape();
  const Ints& multiples = ints(c, "multiples");
  Port g = c.arriving();
  Ints now = extents_attribute(c.type(g).shape);
  for (size_t axis = 0; axis < now.size();) {
    Ints view{1}, axes;
    for (size_t a = 0; a < axis; ++a) view[0] *= now[a];
    for (; axis < now.size(); ++axis) {
      const int64_t extent = shape[static_cast<int>(axis)];
      if (multiples[axis] == 1) {
        view.back() *= extent;
        continue;
      }
      if (view.size() + 3 > static_cast<size_t>(Shape::kMaxRank)) break;  // two now, one for the axes that follow
      axes.push_back(static_cast<int64_t>(view.size()));
      view.insert(view.end(), {multiples[axis], extent});
      now[axis] = extent;
    }
    int64_t rest = 1;
    for (size_t a = axis; a < now.size(); ++a) rest *= now[a];
    view.push_back(rest);
    if (!axes.empty()) g = c.add("Sum", {c.reshape(g, Shape(view))}, {{"axes", axes}});
  }
  c.set(0, c.reshape(g, shape));
}

/// Sums into the indices of axis 0; another axis is transposed there and back.
// implements: N231
void gather(GradientContext& c) {
  const Shape params = c.shape(0);
  const int rank = params.rank(), indices = c.shape(1).rank();
  const int axis = static_cast<int>(axis_of(c, rank));
  Ints there, back;  // axes of the arriving gradient: those before, those of the indices, those after
  for (int a = 0; a < indices; ++a) there.push_back(axis + a);
  for (int a = 0; a < axis; ++a) there.push_back(a);
  for (int a = axis + indices; a < rank - 1 + indices; ++a) there.push_back(a);
  for (int a = 0; a < axis; ++a) back.push_back(a + 1);
  back.push_back(0);
  for (int a = axis + 1; a < rank; ++a) back.push_back(a);
  const Port sum =
      c.add("UnsortedSegmentSum", {c.transpose(c.arriving(), there), c.input(1)}, {{"num_segments", params[axis]}});
  c.set(0, c.transpose(sum, back));
}

/// Each position gets the gradient of its segment; zeros if its number is negative.
void segment_sum(GradientContext& c) {
  const Shape data = c.shape(0), ids = c.shape(1);
  if (data.elements() == 0) return c.set(0, c.zeros({c.dtype(), data}));
  const Port g = c.arriving(), none = c.scalar(DType::kInt32, 0);
  if (c.type(g).shape[0] == 0) return c.set(0, c.zeros({c.dtype(), data}));  // all numbers are negative
  const Port taken = c.add("GatherV2", {g, c.add("Maximum", {c.input(1), none})});
  Ints mask = extents_attribute(ids);
  mask.resize(static_cast<size_t>(data.rank()), 1);
  const Port counted = c.reshape(c.add("GreaterEqual", {c.input(1), none}), Shape(mask));
  c.set(0, c.add("SelectV2", {counted, taken, c.scalar(c.dtype(), 0)}));
}

}  // namespace

std::vector<Operation> structure() {
  const AttributeSpec type{"T", kType, {}, "dtype of the elements", {}, {}};
  const std::vector<PortSpec> in{{"input", "T"}}, out{{"output", "T"}}, list{{"values", "T", true}},
      outs{{"output", "T", true}};
  const AttributeSpec axis = integer("axis", "from -rank");
  return {
      row("Reshape", "The elements in row-major order under another shape.", {{"tensor", "T"}}, out,
          {type, integers("shape", "extents; one may be -1: it follows from the others")}, infer_reshape)
          .with(reshape),
      row("ExpandDims", "The same elements with one more axis of extent 1, at place `axis` of the output.", in, out,
          {type, integer("axis", "from -(rank + 1)")}, infer_expand)
          .with(reshape),
      row("Squeeze", "The same elements without axes of extent 1.", in, out,
          {type, integers("squeeze_dims", "which; []: all", std::vector<int64_t>{})}, infer_squeeze)
          .with(reshape),
      row("Transpose", "y[i_0, i_1, ...]: axis a of the output is axis perm[a] of the input.", {{"x", "T"}},
          {{"y", "T"}}, {type, integers("perm", "a permutation of the axes")}, infer_transpose)
          .with(transpose),
      row("ConcatV2", "The inputs side by side along axis.", list, out, {type, axis}, infer_concat).with(concat),
      row("Pack", "The inputs side by side along a new axis.", list, out,
          {type, integer("axis", "from -(rank + 1)", int64_t{0})}, infer_pack)
          .with(pack),
      row("Unpack", "Output i is the slice at place i of axis.", {{"value", "T"}}, outs,
          {type, integer("num", "extent of the axis"), integer("axis", "from -rank", int64_t{0})}, infer_unpack)
          .with([](GradientContext& c) { join(c, "Pack"); }),
      row("Split", "num_split equal parts along axis.", {{"value", "T"}}, outs,
          {type, integer("num_split", "number of parts"), axis}, infer_split)
          .with([](GradientContext& c) { join(c, "ConcatV2"); }),
      row("SplitV", "Parts of the given sizes along axis.", {{"value", "T"}}, outs,
          {type, integers("size_splits", "sizes; their sum is the extent"), axis}, infer_split_v)
          .with([](GradientContext& c) { join(c, "ConcatV2"); }),
      row("Pad", "The input with constant_value around it.", in, out,
          {type, integers("paddings", "before and after axis 0, before and after axis 1, ..."),
           number("constant_value", "rounded to nearest even in T", 0)},
          infer_pad)
          .with(pad),
      row("Slice", "Along each axis a, size[a] places from begin[a] on.", in, out,
          {type, integers("begin", "from 0"), integers("size", "-1: to the end")}, infer_slice)
          .with(slice),
      row("StridedSlice", "Python's begin:end:stride along the first axes.", in, out,
          {type, integers("begin", "negative: from the end"), integers("end", "negative: from the end"),
           integers("strides", "not 0"), integer("begin_mask", "bit a: begin[a] is not read", int64_t{0}),
           integer("end_mask", "bit a: end[a] is not read", int64_t{0}),
           integer("shrink_axis_mask", "bit a: only place begin[a], and the axis is left out", int64_t{0})},
          infer_strided_slice)
          .with(strided_slice),
      row("Tile", "The input multiples[a] times along each axis a.", in, out, {type, integers("multiples", "from 0")},
          infer_tile)
          .with(tile),
      row("GatherV2", "The slices of params at the given indices along axis. An index outside the axis stops the run.",
          {{"params", "T"}, {"indices", "int32"}}, out, {type, integer("axis", "from -rank", int64_t{0})}, infer_gather)
          .with(gather),
      row("UnsortedSegmentSum",
          "output[s] = sum of data[p] over positions p with segment_ids[p] = s: p ascending from +0 in fp32 (float64), "
          "rounded "
          "once; int32 wraps. "
          "Negative ids are left out; an id from num_segments on stops the run.",
          {{"data", "T"}, {"segment_ids", "int32"}}, out,
          {{"T",
            kType,
            {},
            "dtype of the elements",
            {},
            {DType::kBFloat16, DType::kFloat16, DType::kFloat32, DType::kFloat64, DType::kInt32}},
           integer("num_segments", "extent of axis 0 of the output")},
          infer_segment_sum)
          .with(segment_sum),
      row("OneHot", "on_value where the index along axis equals indices, off_value elsewhere.", {{"indices", "int32"}},
          {{"output", "dtype"}},
          {integer("depth", "extent of the new axis"),
           number("on_value", "rounded to nearest even in dtype", 1),
           number("off_value", "rounded to nearest even in dtype", 0),
           integer("axis", "of the output, from -(rank + 1)", int64_t{-1}),
           {"dtype", kType, Attribute(DType::kFloat32), "of the output", {}, {}}},
          infer_one_hot)
          .constant(),
  };
}

}  // namespace softamp::operations_of
