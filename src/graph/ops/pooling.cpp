// Maximum and average pooling, and their gradients: ports, attributes, shapes.

#include "src/graph/ops/rows.h"
#include "src/graph/window_steps.h"

namespace softamp::operations_of {
namespace {

using graph_detail::check_steps;

/// The shape of the pooled `input`.
Shape pooled(const InferenceContext& c, const Shape& input) {
  if (input.rank() != 4) c.fail("input has shape " + input.text() + "; expected four dimensions");
  check_steps(c, "ksize");
  check_steps(c, "strides");
  if (input.elements() >= int64_t{1} << 35) c.fail("a tensor of 2^35 elements or more");
  const bool same = c.get_string("padding") == "SAME";
  int64_t extents[4] = {input[0], 0, 0, input[3]};
  for (int axis = 1; axis <= 2; ++axis) {
    const int64_t window = c.get_ints("ksize")[static_cast<size_t>(axis)];
    const int64_t stride = c.get_ints("strides")[static_cast<size_t>(axis)];
    if (!same && window > input[axis])
      c.fail("padding VALID: the window's " + std::string(axis == 1 ? "height " : "width ") + std::to_string(window) +
             " exceeds the input's " + std::to_string(input[axis]));
    extents[axis] = same ? (input[axis] + stride - 1) / stride : (input[axis] - window) / stride + 1;
  }
  return Shape(extents);
}

void check_shape(const InferenceContext& c, const char* what, const Shape& is, const Shape& expected) {
  if (!(is == expected))
    c.fail(std::string(what) + " has shape " + is.text() + "; expected " + expected.text() + ", the pooled shape");
}

void infer_pool(InferenceContext& c) { c.output(0, pooled(c, c.shape(0))); }

void infer_max_gradient(InferenceContext& c) {
  const Shape output = pooled(c, c.shape(0));
  check_shape(c, "orig_output", c.shape(1), output);
  check_shape(c, "grad", c.shape(2), output);
  c.output(0, c.shape(0));
}

void infer_average_gradient(InferenceContext& c) {
  const std::vector<int64_t>& extents = c.get_ints("orig_input_shape");
  if (extents.size() != 4) c.fail("attribute orig_input_shape is " + list_text(extents) + "; expected four extents");
  Shape input;
  try {
    input = Shape(extents);
  } catch (const std::invalid_argument& e) {
    c.fail(std::string("attribute orig_input_shape: ") + e.what());
  }
  check_shape(c, "grad", c.shape(0), pooled(c, input));
  c.output(0, input);
}

std::vector<AttributeSpec> pooling_attributes(bool with_shape = false) {
  std::vector<AttributeSpec> all;
  if (with_shape)
    all.push_back({"orig_input_shape", AttributeKind::kInts, std::nullopt, "shape of the pooling's input", {}, {}});
  all.push_back({"ksize", AttributeKind::kInts, std::nullopt, "[1, h, w, 1]: extents of the window", {}, {}});
  all.push_back({"strides", AttributeKind::kInts, std::nullopt, "[1, h, w, 1], each 1 .. 2^24", {}, {}});
  all.push_back({"padding",
                 AttributeKind::kString,
                 std::nullopt,
                 "SAME: ceil(in / stride) windows, cut to the input; VALID: whole windows only",
                 {"SAME", "VALID"},
                 {}});
  all.push_back(
      {"data_format", AttributeKind::kString, Attribute(std::string("NHWC")), "order of dimensions", {"NHWC"}, {}});
  all.push_back({"T", AttributeKind::kType, std::nullopt, "of all tensors", {}, floats()});
  return all;
}

Attributes windows(const GradientContext& c) { return c.attributes({"ksize", "strides", "padding", "data_format"}); }

void max_pool(GradientContext& c) {
  c.set(0, c.add("MaxPoolGrad", {c.input(0), c.output(), c.arriving()}, windows(c)));
}

void average_pool(GradientContext& c) {
  Attributes all = windows(c);
  all["orig_input_shape"] = extents_attribute(c.shape());
  c.set(0, c.add("AvgPoolGrad", {c.arriving()}, all));
}

/// AvgPoolGrad is the transpose of AvgPool.
void average_pool_gradient(GradientContext& c) { c.set(0, c.add("AvgPool", {c.arriving()}, windows(c))); }

}  // namespace

std::vector<Operation> pooling() {
  return {
      row("MaxPool", "the maximum of each window; a NaN wins, -0 is below +0", {{"input", "T"}}, {{"output", "T"}},
          pooling_attributes(), infer_pool)
          .with(max_pool),
      row("MaxPoolGrad", "each window's gradient goes to its first maximum; sums of several windows",
          {{"orig_input", "T"}, {"orig_output", "T"}, {"grad", "T"}}, {{"output", "T"}}, pooling_attributes(),
          infer_max_gradient),
      row("AvgPool", "the mean of the window's elements that lie in the input", {{"value", "T"}}, {{"output", "T"}},
          pooling_attributes(), infer_pool)
          .with(average_pool),
      row("AvgPoolGrad", "each window's gradient, divided by its number of elements, goes to all of them",
          {{"grad", "T"}}, {{"output", "T"}}, pooling_attributes(true), infer_average_gradient)
          .with(average_pool_gradient),
  };
}

}  // namespace softamp::operations_of
