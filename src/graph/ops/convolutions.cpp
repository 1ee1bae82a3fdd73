// Conv2D, depthwise convolution, and their gradients: ports, attributes, shapes.
#include <algorithm>

#include "src/graph/ops/rows.h"
#include "src/graph/window_steps.h"

namespace softamp::operations_of {
namespace {

using graph_detail::check_steps;

std::string axis_name(int axis) { return axis == 1 ? "height" : "width"; }

/// Output extent of an axis (1: height, 2: width).
// implements: N120
int64_t output_extent(const InferenceContext& c, int axis, int64_t input, int64_t kernel) {
  const int64_t stride = c.get_ints("strides")[static_cast<size_t>(axis)];
  const int64_t dilation = c.get_ints("dilations")[static_cast<size_t>(axis)];
  int64_t extent = 0;
  if (kernel < 1) c.fail("the filter's " + axis_name(axis) + " is " + std::to_string(kernel) + "; expected at least 1");
  if (__builtin_mul_overflow(kernel - 1, dilation, &extent) || extent >= Shape::kMaxElements)
    c.fail("the dilated filter's " + axis_name(axis) + " exceeds 2^40");
  extent += 1;
  if (c.get_string("padding") == "SAME") return (input + stride - 1) / stride;
  if (extent > input)
    c.fail("padding VALID: the filter's " + axis_name(axis) + " " + std::to_string(extent) +
           " (dilated) exceeds the input's " + std::to_string(input));
  return (input - extent) / stride + 1;
}

/// A shape from a list of extents; `what` names it in errors.
Shape shape_of(const InferenceContext& c, const std::string& what, std::span<const int64_t> extents) {
  if (extents.size() != 4) c.fail(what + " is " + list_text(extents) + "; expected four extents");
  try {
    return Shape(extents);
  } catch (const std::invalid_argument& e) {
    c.fail(what + ": " + e.what());
  }
}

void check_rank(const InferenceContext& c, const char* what, const Shape& shape) {
  if (shape.rank() != 4) c.fail(std::string(what) + " has shape " + shape.text() + "; expected four dimensions");
}

/// Checks the shapes of a convolution and returns its output's shape.
Shape convolved(const InferenceContext& c, const Shape& input, const Shape& filter, bool depthwise) {
  check_rank(c, "input", input);
  check_rank(c, "filter", filter);
  check_steps(c, "strides");
  check_steps(c, "dilations");
  if (input[3] != filter[2])
    c.fail("input " + input.text() + " has " + std::to_string(input[3]) + " channels, but filter " + filter.text() +
           " takes " + std::to_string(filter[2]));
  const int64_t channels = depthwise ? filter[2] * filter[3] : filter[3];
  const int64_t extents[] = {input[0], output_extent(c, 1, input[1], filter[0]),
                             output_extent(c, 2, input[2], filter[1]), channels};
  const Shape output = shape_of(c, "output", extents);
  // Addresses of random bits: places below 2^35, at most 2^29 roundings to a sum.
  constexpr int64_t kOutputs = int64_t{1} << 35, kProducts = int64_t{1} << 29;
  if (std::max({input.elements(), filter.elements(), output.elements()}) >= kOutputs)
    c.fail("a tensor of 2^35 elements or more");
  const auto product = [](int64_t a, int64_t b, int64_t d) {
    int64_t r = 0;
    return __builtin_mul_overflow(a, b, &r) || __builtin_mul_overflow(r, d, &r) ? INT64_MAX : r;
  };
  if (std::max({product(filter[0], filter[1], depthwise ? 1 : filter[2]), product(filter[0], filter[1], filter[3]),
                product(output[0], output[1], output[2])}) >= kProducts)
    c.fail("sums of 2^29 products or more");
  return output;
}

void check_gradient(const InferenceContext& c, const Shape& gradient, const Shape& output) {
  if (!(gradient == output))
    c.fail("out_backprop has shape " + gradient.text() + "; expected " + output.text() + ", the convolution's output");
}

void infer_forward(InferenceContext& c, bool depthwise) {
  c.output(0, convolved(c, c.shape(0), c.shape(1), depthwise));
}

void infer_input_gradient(InferenceContext& c, bool depthwise) {
  const Shape input = shape_of(c, "attribute input_sizes", c.get_ints("input_sizes"));
  check_gradient(c, c.shape(1), convolved(c, input, c.shape(0), depthwise));
  c.output(0, input);
}

void infer_filter_gradient(InferenceContext& c, bool depthwise) {
  const Shape filter = shape_of(c, "attribute filter_sizes", c.get_ints("filter_sizes"));
  check_gradient(c, c.shape(1), convolved(c, c.shape(0), filter, depthwise));
  c.output(0, filter);
}

using Ints = std::vector<int64_t>;

std::vector<AttributeSpec> convolution_attributes(const char* sizes, const char* sizes_summary) {
  std::vector<AttributeSpec> all;
  if (sizes) all.push_back({sizes, AttributeKind::kInts, std::nullopt, sizes_summary, {}, {}});
  all.push_back({"strides", AttributeKind::kInts, std::nullopt, "[1, h, w, 1], each 1 .. 2^24", {}, {}});
  all.push_back({"padding",
                 AttributeKind::kString,
                 std::nullopt,
                 "SAME: ceil(in / stride) outputs, zeros before and after (one more after); VALID: whole windows only",
                 {"SAME", "VALID"},
                 {}});
  all.push_back({"dilations",
                 AttributeKind::kInts,
                 Attribute(Ints{1, 1, 1, 1}),
                 "[1, h, w, 1]: distance between neighbouring taps",
                 {},
                 {}});
  all.push_back(
      {"data_format", AttributeKind::kString, Attribute(std::string("NHWC")), "order of dimensions", {"NHWC"}, {}});
  all.push_back({"partialsType",
                 AttributeKind::kString,
                 Attribute(std::string()),
                 "dtype of partial sums; empty: as the convolutions' options say",
                 {"", "half", "float"},
                 {}});
  all.push_back({"T", AttributeKind::kType, std::nullopt, "of all tensors", {}, floats()});
  return all;
}

Operation forward(const char* name, const char* summary, bool depthwise) {
  return row(
      name, summary, {{"input", "T"}, {"filter", "T"}}, {{"output", "T"}}, convolution_attributes(nullptr, ""),
      [depthwise](InferenceContext& c) { infer_forward(c, depthwise); }, 2);
}

Operation input_gradient(const char* name, const char* summary, bool depthwise) {
  return row(
      name, summary, {{"filter", "T"}, {"out_backprop", "T"}}, {{"output", "T"}},
      convolution_attributes("input_sizes", "shape of the convolution's input"),
      [depthwise](InferenceContext& c) { infer_input_gradient(c, depthwise); }, 2);
}

Operation filter_gradient(const char* name, const char* summary, bool depthwise) {
  return row(
      name, summary, {{"input", "T"}, {"out_backprop", "T"}}, {{"output", "T"}},
      convolution_attributes("filter_sizes", "shape of the convolution's filter"),
      [depthwise](InferenceContext& c) { infer_filter_gradient(c, depthwise); }, 2);
}

/// The three operations of a kind of convolution; `g` has the shape of its output.
struct Convolution {
  GradientContext& c;
  std::string kind;

  Attributes steps() const { return c.attributes({"strides", "padding", "dilations", "data_format", "partialsType"}); }
  Port forward(Port input, Port filter) const { return c.add(kind, {input, filter}, steps()); }
  Port to_input(Port filter, Port g, const Shape& input) const {
    Attributes all = steps();
    all["input_sizes"] = extents_attribute(input);
    return c.add(kind + "BackpropInput", {filter, g}, all);
  }
  Port to_filter(Port input, Port g, const Shape& filter) const {
    Attributes all = steps();
    all["filter_sizes"] = extents_attribute(filter);
    return c.add(kind + "BackpropFilter", {input, g}, all);
  }
};

constexpr const char* kDepthwise = "DepthwiseConv2dNative";

// implements: N228
void of_forward(GradientContext& c, const char* kind) {
  const Convolution conv{c, kind};
  const Port g = c.arriving();
  if (c.wants(0)) c.set(0, conv.to_input(c.input(1), g, c.shape(0)));
  if (c.wants(1)) c.set(1, conv.to_filter(c.input(0), g, c.shape(1)));
}

/// Inputs: filter, out_backprop; the arriving gradient has the shape of the convolution's input.
void of_input_gradient(GradientContext& c, const char* kind) {
  const Convolution conv{c, kind};
  const Port arriving = c.arriving();
  if (c.wants(0)) c.set(0, conv.to_filter(arriving, c.input(1), c.shape(0)));
  if (c.wants(1)) c.set(1, conv.forward(arriving, c.input(0)));
}

/// Inputs: input, out_backprop; the arriving gradient has the shape of the filter.
void of_filter_gradient(GradientContext& c, const char* kind) {
  const Convolution conv{c, kind};
  const Port arriving = c.arriving();
  if (c.wants(0)) c.set(0, conv.to_input(arriving, c.input(1), c.shape(0)));
  if (c.wants(1)) c.set(1, conv.forward(c.input(0), arriving));
}

}  // namespace

std::vector<Operation> convolutions() {
  return {
      forward("Conv2D",
              "output[n,oh,ow,o] = sum of input[n, oh s + kh d - pad, ow s + kw d - pad, c] filter[kh,kw,c,o]", false)
          .with([](GradientContext& c) { of_forward(c, "Conv2D"); }),
      input_gradient("Conv2DBackpropInput", "the gradient of Conv2D's input: the transposed convolution", false)
          .with([](GradientContext& c) { of_input_gradient(c, "Conv2D"); }),
      filter_gradient("Conv2DBackpropFilter", "the gradient of Conv2D's filter: a sum over the batch", false)
          .with([](GradientContext& c) { of_filter_gradient(c, "Conv2D"); }),
      forward("DepthwiseConv2dNative",
              "output[n,oh,ow, c m + q] = sum of input[n, oh s + kh d - pad, ow s + kw d - pad, c] filter[kh,kw,c,q]",
              true)
          .with([](GradientContext& c) { of_forward(c, kDepthwise); }),
      input_gradient("DepthwiseConv2dNativeBackpropInput", "the gradient of DepthwiseConv2dNative's input", true)
          .with([](GradientContext& c) { of_input_gradient(c, kDepthwise); }),
      filter_gradient("DepthwiseConv2dNativeBackpropFilter", "the gradient of DepthwiseConv2dNative's filter", true)
          .with([](GradientContext& c) { of_filter_gradient(c, kDepthwise); }),
  };
}

}  // namespace softamp::operations_of
