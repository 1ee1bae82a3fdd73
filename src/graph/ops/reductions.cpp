// Sums, means, extrema and their places over axes. Order and rounding: kernel/reductions.h.
#include "src/graph/ops/rows.h"

namespace softamp::operations_of {
namespace {

using enum AttributeKind;

/// Maps -rank .. rank - 1 to 0 .. rank - 1.
int64_t axis_of(InferenceContext& c, const char* attribute, int64_t axis) {
  const int64_t rank = c.shape(0).rank();
  if (axis < -rank || axis >= rank)
    c.fail("attribute '" + std::string(attribute) + "' holds " + std::to_string(axis) + "; expected an axis of " +
           c.shape(0).text() + ": " + std::to_string(-rank) + " .. " + std::to_string(rank - 1));
  return axis < 0 ? axis + rank : axis;
}

/// The output's shape; `elements` receives how many elements make one output.
Shape without(InferenceContext& c, const bool (&reduced)[Shape::kMaxRank], bool keep_dims, int64_t& elements) {
  std::vector<int64_t> extents;
  elements = 1;
  for (int a = 0; a < c.shape(0).rank(); ++a) {
    if (reduced[a]) elements *= c.shape(0)[a];
    if (!reduced[a])
      extents.push_back(c.shape(0)[a]);
    else if (keep_dims)
      extents.push_back(1);
  }
  return Shape(extents);
}

Shape over_axes(InferenceContext& c, int64_t& elements) {
  bool reduced[Shape::kMaxRank] = {};
  const std::vector<int64_t>& axes = c.get_ints("axes");
  for (int a = 0; a < c.shape(0).rank(); ++a) reduced[a] = axes.empty();
  for (const int64_t axis : axes) {
    bool& seen = reduced[axis_of(c, "axes", axis)];
    if (seen) c.fail("attribute 'axes' holds axis " + std::to_string(axis) + " twice");
    seen = true;
  }
  return without(c, reduced, c.get_bool("keep_dims"), elements);
}

void infer_sum(InferenceContext& c) {
  int64_t elements = 1;
  c.output(0, over_axes(c, elements));
  if (c.get_string("accumulator") != "half") return;
  if (c.get_type("T") != DType::kFloat16)
    c.fail(std::string("accumulator half needs elements of float16, not ") + name_of(c.get_type("T")));
  constexpr int64_t kMost = int64_t{1} << 29;
  if (elements > kMost)
    c.fail("accumulator half sums at most " + std::to_string(kMost) + " elements to an output, not " +
           std::to_string(elements));
}

void need_elements(InferenceContext& c, int64_t elements, int64_t outputs) {
  if (elements == 0 && outputs != 0) c.fail("no elements of " + c.shape(0).text() + " to choose from");
}

void infer_extremum(InferenceContext& c) {
  int64_t elements = 1;
  const Shape shape = over_axes(c, elements);
  need_elements(c, elements, shape.elements());
  c.output(0, shape);
}

void infer_place(InferenceContext& c) {
  bool reduced[Shape::kMaxRank] = {};
  if (c.shape(0).rank() == 0) c.fail("a scalar has no axis to search");
  reduced[axis_of(c, "axis", c.get_int("axis"))] = true;
  int64_t elements = 1;
  const Shape shape = without(c, reduced, c.get_bool("keep_dims"), elements);
  need_elements(c, elements, shape.elements());
  if (elements > INT32_MAX) c.fail("the axis has " + std::to_string(elements) + " elements; expected at most 2^31 - 1");
  c.output(0, shape);
}

void infer_bias_gradient(InferenceContext& c) {
  const int rank = c.shape(0).rank();
  if (rank < 2) c.fail("out_backprop is " + c.shape(0).text() + "; expected a rank of 2 or more, channels last");
  c.output(0, Shape{c.shape(0)[rank - 1]});
}

Operation reduction(const char* name, const char* summary, std::vector<DType> types, int sites,
                    void (*infer)(InferenceContext&)) {
  return row(name, summary, {{"input", "T"}}, {{"output", "T"}},
             {{"T", kType, {}, "dtype of the elements", {}, std::move(types)},
              {"axes", kInts, std::vector<int64_t>{}, "axes to reduce, from the end if negative; none: all", {}, {}},
              {"keep_dims", kBool, false, "the axes stay, with extent 1", {}, {}}},
             infer, sites);
}

Operation place(const char* name, const char* summary, const std::vector<DType>& types) {
  return row(name, summary, {{"input", "T"}}, {{"output", "int32"}},
             {{"T", kType, {}, "dtype of the elements", {}, types},
              {"axis", kInt, int64_t{0}, "the axis that goes", {}, {}},
              {"keep_dims", kBool, false, "the axis stays, with extent 1", {}, {}}},
             infer_place);
}

/// The input's shape with extents of 1 for the reduced axes; `count`: elements per output.
Shape kept(const GradientContext& c, int64_t& count) {
  const Shape shape = c.shape();
  const auto& axes = attribute<std::vector<int64_t>>(c.node(), "axes");
  std::vector<int64_t> extents(shape.begin(), shape.end());
  count = 1;
  const auto reduce = [&](int64_t axis) { count *= std::exchange(extents[static_cast<size_t>(axis)], 1); };
  if (axes.empty())
    for (int a = 0; a < shape.rank(); ++a) reduce(a);
  for (const int64_t axis : axes) reduce(axis < 0 ? axis + shape.rank() : axis);
  return Shape(extents);
}

// implements: N229
void sum(GradientContext& c) {
  int64_t count = 1;
  const Shape keep = kept(c, count);
  c.set(0, c.tile_to(c.reshape(c.arriving(), keep), c.shape()));
}

/// Whether dtype t holds this positive integer exactly.
bool holds(DType t, int64_t count) {
  const uint64_t n = static_cast<uint64_t>(count);
  const int digits = t == DType::kFloat64 ? 53 : t == DType::kFloat32 ? 24 : t == DType::kFloat16 ? 11 : 8;
  return static_cast<int>(std::bit_width(n >> std::countr_zero(n))) <= digits && (t != DType::kFloat16 || n <= 65504);
}

/// Divides first, then copies. If a 16-bit format cannot hold the number of elements, divides in fp32.
// implements: N229
void mean(GradientContext& c) {
  int64_t count = 1;
  const Shape keep = kept(c, count);
  Port g = c.reshape(c.arriving(), keep);
  if (count > 1) {
    const DType t = holds(c.dtype(), count) ? c.dtype() : wide_of(c.dtype());
    g = c.cast(c.add("RealDiv", {c.cast(g, t), c.scalar(t, static_cast<double>(count))}), c.dtype());
  }
  c.set(0, c.tile_to(g, c.shape()));
}

/// Equal extrema share g: each gets g divided by their number. The quotient of 16-bit formats is formed in fp32, which
/// holds the number.
// implements: N226
void extremum(GradientContext& c) {
  int64_t count = 1;
  const Shape keep = kept(c, count);
  const DType t = c.dtype(), wide = wide_of(t);
  const Port place = c.add("Equal", {c.input(0), c.reshape(c.output(), keep)});
  Port g = c.reshape(c.arriving(), keep);
  if (count > 1) {
    const Port number = c.sum_to(c.cast(place, wide), keep);
    g = c.cast(c.add("RealDiv", {c.cast(g, wide), number}), t);
  }
  c.set(0, c.add("SelectV2", {place, g, c.scalar(t, 0)}));
}

/// t g: half the sum of squares.
// implements: N229
void half_square(GradientContext& c) { c.set(0, c.add("Mul", {c.input(0), c.arriving()})); }

/// The gradient of BiasAddGrad, which is linear.
void bias_add_gradient(GradientContext& c) {
  const Port g = c.arriving();
  const Shape shape = c.shape();
  std::vector<int64_t> extents(static_cast<size_t>(shape.rank()), 1);
  extents.back() = shape[shape.rank() - 1];
  c.set(0, c.tile_to(c.reshape(g, Shape(extents)), shape));
}

}  // namespace

std::vector<Operation> reductions() {
  using enum DType;
  const std::vector<DType> floats = {kFloat16, kBFloat16, kFloat32, kFloat64};
  const std::vector<DType> numbers = {kFloat16, kBFloat16, kFloat32, kFloat64, kInt32};
  const AttributeSpec accumulator = {
      "accumulator", AttributeKind::kString, std::string("float"), "dtype of the partial sums", {"float", "half"}, {}};
  std::vector<Operation> ops = {
      reduction("Sum", "The sum over axes, in tree order; int32 wraps.", numbers, 2, infer_sum).with(sum),
      reduction("Mean", "The sum over axes divided by the number of elements.", floats, 2, infer_sum).with(mean),
      reduction("Max", "The greatest element; NaN if there is one, -0 below +0.", numbers, 1, infer_extremum)
          .with(extremum),
      reduction("Min", "The least element; NaN if there is one, -0 below +0.", numbers, 1, infer_extremum)
          .with(extremum),
      place("ArgMax", "The lowest index of the greatest element, or of the first NaN.", numbers).constant(),
      place("ArgMin", "The lowest index of the least element, or of the first NaN.", numbers).constant(),
      row("L2Loss", "Half the sum of squares of all elements.", {{"t", "T"}}, {{"output", "T"}},
          {{"T", kType, {}, "dtype of the elements", {}, floats}}, [](InferenceContext& c) { c.output(0, Shape{}); })
          .with(half_square),
      row("BiasAddGrad", "The sum over all axes except the last, in partials of 1024.", {{"out_backprop", "T"}},
          {{"output", "T"}}, {{"T", kType, {}, "dtype of the elements", {}, {kFloat16, kBFloat16, kFloat32}}},
          infer_bias_gradient)
          .with(bias_add_gradient),
  };
  ops[0].attributes.push_back(accumulator);
  ops[1].attributes.push_back(accumulator);
  return ops;
}

}  // namespace softamp::operations_of
