// Batch, layer and group normalisation and their gradients. Formulas: kernel/norms.h.
#include "softamp/numbers/number_text.h"
#include "src/graph/ops/rows.h"

namespace softamp::operations_of {
namespace {

using enum AttributeKind;

void expect(InferenceContext& c, size_t input, const char* name, const Shape& shape) {
  if (c.shape(input) != shape)
    c.fail(std::string(name) + " is " + c.shape(input).text() + "; expected " + shape.text() + " for x " +
           c.shape(0).text());
}

void need_norm_epsilon(InferenceContext& c) {
  if ((c.get_type("T") == DType::kFloat64) != (c.get_type("U") == DType::kFloat64))
    c.fail(std::string("T is ") + name_of(c.get_type("T")) + " and U is " + name_of(c.get_type("U")) +
           "; float64 goes with float64 alone");
  const double epsilon = c.get_float("epsilon");
  if (!(epsilon >= 0 && epsilon <= 1))
    c.fail("attribute 'epsilon' is " + shortest_decimal(epsilon) + "; expected 0 .. 1");
}

/// fp16 statistics need halves, and few enough of them for their roundings' addresses.
void need_statistics(InferenceContext& c, int64_t elements) {
  if (c.get_string("statistics") != "half") return;
  if (c.get_type("T") != DType::kFloat16)
    c.fail(std::string("statistics half needs elements of float16, not ") + name_of(c.get_type("T")));
  constexpr int64_t kMost = (int64_t{1} << 28) - 1;
  if (elements > kMost)
    c.fail("statistics half covers at most " + std::to_string(kMost) + " elements, not " + std::to_string(elements));
}

int64_t channels_last(InferenceContext& c, int least_rank) {
  const Shape& x = c.shape(0);
  if (x.rank() < least_rank)
    c.fail("x is " + x.text() + "; expected a rank of at least " + std::to_string(least_rank) + ", channels last");
  return x[x.rank() - 1];
}

int64_t rows_of(const Shape& x) {
  int64_t rows = 1;
  for (int a = 0; a + 1 < x.rank(); ++a) rows *= x[a];
  return rows;
}

void infer_batch(InferenceContext& c) {
  const Shape channels{channels_last(c, 2)};
  need_norm_epsilon(c);
  const double factor = c.get_float("exponential_avg_factor");
  if (!(factor >= 0 && factor <= 1))
    c.fail("attribute 'exponential_avg_factor' is " + shortest_decimal(factor) + "; expected 0 .. 1");
  expect(c, 1, "scale", channels);
  expect(c, 2, "offset", channels);
  const bool unread = c.get_bool("is_training") && factor == 1;
  for (const size_t input : {size_t{3}, size_t{4}})
    if (!(unread && c.shape(input) == Shape{0})) expect(c, input, input == 3 ? "mean" : "variance", channels);
  need_statistics(c, c.get_bool("is_training") ? rows_of(c.shape(0)) : 0);
  c.output(0, c.shape(0));
  for (size_t port = 1; port < 5; ++port) c.output(port, channels);
}

/// A gradient's: outputs for x, and for scale and offset, which have the shape `parameters`. The names are those of the
/// inputs from 2 on.
void infer_gradients(InferenceContext& c, const Shape& parameters, const Shape& statistics, const char* scale,
                     const char* mean, const char* variance) {
  expect(c, 1, "x", c.shape(0));
  expect(c, 2, scale, parameters);
  expect(c, 3, mean, statistics);
  expect(c, 4, variance, statistics);
  c.output(0, c.shape(0));
  c.output(1, parameters);
  c.output(2, parameters);
}

/// Of a norm that shows the mean and the variance, each of the shape `shown`, of `elements` numbers.
void infer_shown(InferenceContext& c, const Shape& parameters, const Shape& shown, int64_t elements) {
  expect(c, 1, "gamma", parameters);
  expect(c, 2, "beta", parameters);
  need_statistics(c, elements);
  c.output(0, c.shape(0));
  c.output(1, shown);
  c.output(2, shown);
}

void infer_batch_gradient(InferenceContext& c) {
  const Shape channels{channels_last(c, 2)};
  need_norm_epsilon(c);
  infer_gradients(c, channels, channels, "scale", "reserve_space_1", "reserve_space_2");
}

/// The axes before the normalised ones, and these, of input `input`.
void split_axes(InferenceContext& c, Shape& outer, Shape& inner) {
  const Shape& x = c.shape(0);
  const int64_t rank = x.rank();
  int64_t axis = c.get_int("begin_norm_axis");
  if (axis < -rank || axis >= rank)
    c.fail("attribute 'begin_norm_axis' is " + std::to_string(axis) + "; expected an axis of " + x.text() + ": " +
           std::to_string(-rank) + " .. " + std::to_string(rank - 1));
  if (axis < 0) axis += rank;
  outer = Shape(x.extents().first(static_cast<size_t>(axis)));
  inner = Shape(x.extents().subspan(static_cast<size_t>(axis)));
  if (inner.elements() == 0 && outer.elements() != 0) c.fail("the normalised axes of " + x.text() + " are empty");
}

void infer_layer(InferenceContext& c) {
  Shape outer, inner;
  split_axes(c, outer, inner);
  need_norm_epsilon(c);
  infer_shown(c, inner, outer, inner.elements());
}

void infer_layer_gradient(InferenceContext& c) {
  Shape outer, inner;
  split_axes(c, outer, inner);
  need_norm_epsilon(c);
  infer_gradients(c, inner, outer, "gamma", "mean", "variance");
}

Shape group_statistics(InferenceContext& c) {
  const int64_t channels = channels_last(c, 2), groups = c.get_int("groups");
  if (groups < 1 || channels % groups != 0 || channels == 0)
    c.fail("attribute 'groups' is " + std::to_string(groups) + "; expected a divisor of the " +
           std::to_string(channels) + " channels");
  if (c.shape(0)[0] != 0 && c.shape(0).elements() == 0) c.fail("the samples of " + c.shape(0).text() + " are empty");
  need_norm_epsilon(c);
  return Shape{c.shape(0)[0], groups};
}

void infer_group(InferenceContext& c) {
  const Shape statistics = group_statistics(c), channels{channels_last(c, 2)};
  const int64_t groups = statistics.elements();
  infer_shown(c, channels, statistics, groups ? c.shape(0).elements() / groups : 0);
}

void infer_group_gradient(InferenceContext& c) {
  const Shape statistics = group_statistics(c), channels{channels_last(c, 2)};
  infer_gradients(c, channels, statistics, "gamma", "mean", "variance");
}

const AttributeSpec& elements() {
  static const AttributeSpec kSpec{"T", kType, {}, "dtype of x and y", {}, floats()};
  return kSpec;
}
const AttributeSpec& parameters() {
  static const AttributeSpec kSpec{"U", kType,
                                   {},  "dtype of scale and offset; float64 where T is",
                                   {},  {DType::kFloat16, DType::kFloat32, DType::kFloat64}};
  return kSpec;
}
AttributeSpec epsilon(double value) { return {"epsilon", kFloat, value, "(0 .. 1) added to the variance", {}, {}}; }
const AttributeSpec& training() {
  static const AttributeSpec kSpec{
      "is_training", kBool, true, "statistics of the batch itself, not those given", {}, {}};
  return kSpec;
}
const AttributeSpec& layout() {
  static const AttributeSpec kSpec{"data_format", kString, std::string("NHWC"), "channels last", {"NHWC"}, {}};
  return kSpec;
}
const AttributeSpec& statistics() {
  static const AttributeSpec kSpec{
      "statistics", kString, std::string("float"), "dtype that sums and squares are rounded to", {"float", "half"}, {}};
  return kSpec;
}
const AttributeSpec& stable() {
  static const AttributeSpec kSpec{
      "use_stable_statistics", kString,
      std::string(),           "subtract the mean before squaring; '': as the engine's norms.use_stable_statistics",
      {"", "false", "true"},   {}};
  return kSpec;
}

/// Sets the gradients of x, scale and offset from the three outputs of `gradient`.
void set_outputs(GradientContext& c, Port gradient) {
  for (size_t i = 0; i < 3; ++i) c.set(i, {gradient.node, static_cast<int>(i)});
}

/// In training the given mean and variance do not affect y. If x is normalised by them, then with i = 1 / sqrt(variance
/// + epsilon), A = the sum of g over a channel and B = that of g (x - mean) i:
///   mean: -scale i A      variance: -(scale / 2) i^2 B
/// in fp32 (float64), from the reserve_space outputs, which hold the variance unchanged.
// implements: N228
void batch_norm(GradientContext& c) {
  const bool training = attribute<bool>(c.node(), "is_training");
  const Port gradient = c.add("FusedBatchNormGradV3", {c.arriving(), c.input(0), c.input(1), c.output(3), c.output(4)},
                              c.attributes({"epsilon", "is_training", "data_format"}));
  set_outputs(c, gradient);
  if (training || (!c.wants(3) && !c.wants(4))) return;
  const DType wide = wide_of(c.dtype());
  const DType t = c.dtype(3);
  const Port scale = c.cast(c.input(1), wide);
  const Port sum = c.add("AddV2", {c.output(4), c.scalar(wide, attribute<double>(c.node(), "epsilon"))});
  const Port inverse = c.add("Rsqrt", {sum});
  if (c.wants(3)) {
    const Port offset = c.cast({gradient.node, 2}, wide);
    c.set(3, c.cast(c.add("Neg", {c.add("Mul", {c.add("Mul", {scale, inverse}), offset})}), t));
  }
  if (c.wants(4)) {
    const Port half = c.add("Mul", {scale, c.scalar(wide, -0.5)});
    const Port factor = c.add("Mul", {half, c.add("Square", {inverse})});
    c.set(4, c.cast(c.add("Mul", {factor, c.cast({gradient.node, 1}, wide)}), t));
  }
}

void layer_norm(GradientContext& c) {
  set_outputs(c, c.add("LayerNormGrad", {c.arriving(), c.input(0), c.input(1), c.output(1), c.output(2)},
                       c.attributes({"epsilon", "begin_norm_axis"})));
}

void group_norm(GradientContext& c) {
  set_outputs(c, c.add("GroupNormGrad", {c.arriving(), c.input(0), c.input(1), c.output(1), c.output(2)},
                       c.attributes({"epsilon", "groups", "data_format"})));
}

}  // namespace

std::vector<Operation> norms() {
  const AttributeSpec axis{"begin_norm_axis", kInt, int64_t{-1}, "first of the normalised axes", {}, {}};
  const AttributeSpec groups{"groups", kInt, {}, "number of groups of consecutive channels", {}, {}};
  const std::vector<PortSpec> gradients = {{"x_backprop", "T"}, {"scale_backprop", "U"}, {"offset_backprop", "U"}};
  return {
      row("FusedBatchNormV3",
          "(x - mean) / sqrt(variance + epsilon) scale + offset per channel; reserve_space: mean and variance used.",
          {{"x", "T"}, {"scale", "U"}, {"offset", "U"}, {"mean", "U"}, {"variance", "U"}},
          {{"y", "T"},
           {"batch_mean", "U"},
           {"batch_variance", "U"},
           {"reserve_space_1", "wide"},
           {"reserve_space_2", "wide"}},
          {elements(),
           parameters(),
           epsilon(1e-4),
           training(),
           layout(),
           {"exponential_avg_factor", kFloat, 1.0, "(0 .. 1) weight of the new running estimates", {}, {}},
           statistics(),
           stable()},
          infer_batch, 3)
          .with(batch_norm),
      row("FusedBatchNormGradV3", "Gradients of batch normalisation.",
          {{"y_backprop", "T"}, {"x", "T"}, {"scale", "U"}, {"reserve_space_1", "wide"}, {"reserve_space_2", "wide"}},
          gradients, {elements(), parameters(), epsilon(1e-4), training(), layout()}, infer_batch_gradient, 3),
      row("LayerNorm", "(x - mean) / sqrt(variance + epsilon) gamma + beta over the last axes of each row.",
          {{"x", "T"}, {"gamma", "U"}, {"beta", "U"}}, {{"y", "T"}, {"mean", "wide"}, {"variance", "wide"}},
          {elements(), parameters(), epsilon(1e-3), axis, statistics(), stable()}, infer_layer, 3)
          .with(layer_norm),
      row("LayerNormGrad", "Gradients of layer normalisation, from its mean and variance.",
          {{"y_backprop", "T"}, {"x", "T"}, {"gamma", "U"}, {"mean", "wide"}, {"variance", "wide"}}, gradients,
          {elements(), parameters(), epsilon(1e-3), axis}, infer_layer_gradient, 3),
      row("GroupNorm", "(x - mean) / sqrt(variance + epsilon) gamma + beta over each group of channels of each sample.",
          {{"x", "T"}, {"gamma", "U"}, {"beta", "U"}}, {{"y", "T"}, {"mean", "wide"}, {"variance", "wide"}},
          {elements(), parameters(), epsilon(1e-3), groups, layout(), statistics(), stable()}, infer_group, 3)
          .with(group_norm),
      row("GroupNormGrad", "Gradients of group normalisation, from its mean and variance.",
          {{"y_backprop", "T"}, {"x", "T"}, {"gamma", "U"}, {"mean", "wide"}, {"variance", "wide"}}, gradients,
          {elements(), parameters(), epsilon(1e-3), groups, layout()}, infer_group_gradient, 3),
  };
}

}  // namespace softamp::operations_of
