// Gradients of convolutions and pooling: the table's own operations, with the forward operation's steps and partials.
//
// A convolution is linear in each operand, and so are its two gradients: the gradients of each of the three operations
// are the other two. (Conv2DBackpropInput is also a layer, the transposed convolution.)
#include "src/graph/gradient_table.h"

namespace softamp::graph_detail {
namespace {

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

GradientRules gradients_of::convolutions() {
  constexpr const char* kDepthwise = "DepthwiseConv2dNative";
  return {{"Conv2D", [](GradientContext& c) { of_forward(c, "Conv2D"); }},
          {"Conv2DBackpropInput", [](GradientContext& c) { of_input_gradient(c, "Conv2D"); }},
          {"Conv2DBackpropFilter", [](GradientContext& c) { of_filter_gradient(c, "Conv2D"); }},
          {"DepthwiseConv2dNative", [](GradientContext& c) { of_forward(c, kDepthwise); }},
          {"DepthwiseConv2dNativeBackpropInput", [](GradientContext& c) { of_input_gradient(c, kDepthwise); }},
          {"DepthwiseConv2dNativeBackpropFilter", [](GradientContext& c) { of_filter_gradient(c, kDepthwise); }},
          {"MaxPool", max_pool},
          {"AvgPool", average_pool},
          {"AvgPoolGrad", average_pool_gradient}};
}

}  // namespace softamp::graph_detail
