// For every differentiable operation the cases that its gradient is checked on.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "softamp/graph/operation.h"
#include "tests/ops/element_rows.h"
#include "tests/ops/product_rows.h"

namespace softamp::test {

struct GradientInput {
  std::vector<int64_t> shape;
  double low = -2, high = 2;         ///< of its numbers
  std::vector<double> numbers = {};  ///< in their place
  std::optional<DType> dtype = {};   ///< in place of the case's
  bool variable = true;
};

struct GradientCase {
  std::string op;
  std::vector<GradientInput> inputs;
  Attributes attributes;
  bool all_outputs = false;  ///< a gradient arrives at each of them, else at output 0
};

/// Gradients of gradients, which nobody has asked for, and updates.
inline const std::set<std::string>& without_gradient() {
  static const std::set<std::string> kNames = {
      "ApplyAdam",     "ApplyGradientDescent", "ApplyMomentum",  "ApplyRMSProp", "FusedBatchNormGradV3", "GeluGrad",
      "GroupNormGrad", "LayerNormGrad",        "LogSoftmaxGrad", "MaxPoolGrad",  "ReciprocalGrad",       "RsqrtGrad",
      "SigmoidGrad",   "SoftmaxGrad",          "SqrtGrad",       "TanhGrad"};
  return kNames;
}

inline const std::vector<GradientCase>& gradient_cases() {
  using Ints = std::vector<int64_t>;
  using In = GradientInput;
  static const auto integers = [](Ints shape, std::vector<double> numbers) {
    return In{std::move(shape), 0, 0, std::move(numbers), DType::kInt32, false};
  };
  static const In condition{{2, 3}, 0, 0, {1, 0, 1, 1, 0, 0}, DType::kBool, false};
  static const auto constant = [](In in) {
    in.variable = false;
    return in;
  };
  static const auto with = [](Attributes a, const char* name, Attribute value) {
    a[name] = std::move(value);
    return a;
  };
  static const auto floats32 = [](Ints shape, double low = -2, double high = 2) {
    return In{std::move(shape), low, high, {}, DType::kFloat32, true};
  };
  static const Attributes unit{{"strides", Ints{1, 1, 1, 1}}, {"padding", "SAME"}};
  static const Attributes steps{{"strides", Ints{1, 2, 1, 1}}, {"padding", "VALID"}, {"dilations", Ints{1, 1, 2, 1}}};
  static const Attributes pool{{"ksize", Ints{1, 2, 2, 1}}, {"strides", Ints{1, 2, 2, 1}}, {"padding", "SAME"}};
  static const Attributes overlap{{"ksize", Ints{1, 3, 2, 1}}, {"strides", Ints{1, 1, 2, 1}}, {"padding", "VALID"}};
  static const std::vector<GradientCase> kCases = [] {
    std::vector<GradientCase> cases = {
        // Arithmetic, broadcast in all ways.
        {"AddV2", {{{2, 3}}, {{2, 3}}}, {}},
        {"AddV2", {{{2, 3}}, {{3}}}, {}},
        {"AddV2", {{{}}, {{2, 1, 3}}}, {}},
        {"Sub", {{{2, 1}}, {{1, 3}}}, {}},
        {"Sub", {{{2, 3}}, {{2, 3}}}, {}},
        {"SquaredDifference", {{{2, 3}}, {{2, 3}}}, {}},
        {"SquaredDifference", {{{2, 1}}, {{3}}}, {}},
        {"Mul", {{{2, 3}}, {{2, 3}}}, {}},
        {"Mul", {{{4, 1, 3}}, {{2, 1}}}, {}},
        {"RealDiv", {{{2, 3}}, {{2, 3}, 0.5, 2}}, {}},
        {"RealDiv", {{{3}}, {{2, 1}, -2, -0.5}}, {}},
        {"Maximum", {{{2, 3}}, {{2, 3}}}, {}},
        {"Maximum", {{{3}}, {{2, 1}}}, {}},
        {"Minimum", {{{2, 3}}, {{3}}}, {}},
        {"Pow", {{{2, 3}, 0.5, 2}, {{2, 3}, 0.5, 2}}, {}},
        {"Pow", {{{2, 1}, 0.5, 2}, {{3}, -2, 2}}, {}},
        {"SelectV2", {condition, {{2, 3}}, {{2, 3}}}, {}},
        {"SelectV2", {condition, {{3}}, {{}}}, {}},
        {"AddN", {{{2, 3}}, {{2, 3}}, {{2, 3}}}, {}},
        {"BiasAdd", {{{2, 2, 3}}, {{3}}}, {}},
        {"BiasAddGrad", {{{4, 3}}}, {}},
        {"BiasAddGrad", {{{2, 2, 3}}}, {}},
        {"Cast", {{{2, 3}}}, {{"DstT", DType::kFloat32}}},
        {"Cast", {{{2, 3}}}, {{"DstT", DType::kBFloat16}}},
        // Gradients of gradients.
        {"ReluGrad", {{{8}}, constant({{8}})}, {}},
        {"LeakyReluGrad", {{{8}}, constant({{8}})}, {{"alpha", 0.3}}},
        // Convolutions and pooling.
        {"Conv2D", {{{1, 4, 4, 2}}, {{3, 3, 2, 2}}}, unit},
        {"Conv2D", {{{1, 5, 5, 2}}, {{2, 2, 2, 3}}}, steps},
        {"Conv2DBackpropInput", {{{3, 3, 2, 2}}, {{1, 4, 4, 2}}}, with(unit, "input_sizes", Ints{1, 4, 4, 2})},
        {"Conv2DBackpropFilter", {{{1, 4, 4, 2}}, {{1, 4, 4, 2}}}, with(unit, "filter_sizes", Ints{3, 3, 2, 2})},
        {"DepthwiseConv2dNative", {{{1, 4, 4, 2}}, {{3, 3, 2, 2}}}, unit},
        {"DepthwiseConv2dNative", {{{1, 5, 5, 2}}, {{2, 2, 2, 1}}}, steps},
        {"DepthwiseConv2dNativeBackpropInput",
         {{{2, 2, 2, 2}}, {{1, 3, 3, 4}}},
         with(unit, "input_sizes", Ints{1, 3, 3, 2})},
        {"DepthwiseConv2dNativeBackpropFilter",
         {{{1, 3, 3, 2}}, {{1, 3, 3, 4}}},
         with(unit, "filter_sizes", Ints{2, 2, 2, 2})},
        {"MaxPool", {{{1, 3, 4, 2}}}, pool},
        {"MaxPool", {{{1, 4, 4, 1}}}, overlap},
        {"AvgPool", {{{1, 3, 4, 2}}}, pool},
        {"AvgPool", {{{1, 4, 4, 1}}}, overlap},
        {"AvgPoolGrad", {{{1, 2, 2, 2}}}, with(pool, "orig_input_shape", Ints{1, 3, 4, 2})},
        // Reductions.
        {"Sum", {{{2, 3}}}, {}},
        {"Sum", {{{2, 3, 2}}}, {{"axes", Ints{-2, 0}}}},
        {"Sum", {{{2, 3}}}, {{"axes", Ints{1}}, {"keep_dims", true}}},
        {"Mean", {{{2, 3}}}, {}},
        {"Mean", {{{2, 3, 2}}}, {{"axes", Ints{1}}}},
        {"Max", {{{2, 5}}}, {}},
        {"Max", {{{2, 3, 2}}}, {{"axes", Ints{1}}, {"keep_dims", true}}},
        {"Min", {{{2, 5}}}, {{"axes", Ints{-1}}}},
        {"L2Loss", {{{2, 3}}}, {}},
        {"Softmax", {{{2, 4}}}, {}},
        {"LogSoftmax", {{{2, 4}}}, {}},
        // Its gradient of the logits holds for rows of labels whose sum is 1.
        {"SoftmaxCrossEntropyWithLogits", {{{2, 4}}, constant({{2, 4}, 0, 0, {0, 1, 0, 0, .25, .5, .125, .125}})}, {}},
        {"SoftmaxCrossEntropyWithLogits", {constant({{2, 4}}), {{2, 4}, 0, 1}}, {}},
        {"SparseSoftmaxCrossEntropyWithLogits", {{{3, 4}}, integers({3}, {3, 0, 1})}, {}},
        // Norms: epsilon and spread such that the bounds of the variance say something.
        {"FusedBatchNormV3",
         {{{2, 2, 3}}, floats32({3}, 0.5, 2), floats32({3}), constant(floats32({3})), constant(floats32({3}, 0.5, 1))},
         {{"epsilon", 0.0625}}},
        {"FusedBatchNormV3",
         {{{2, 2, 3}}, floats32({3}, 0.5, 2), floats32({3}), floats32({3}), floats32({3}, 0.5, 2)},
         {{"epsilon", 0.0625}, {"is_training", false}}},
        {"LayerNorm", {{{3, 4}}, floats32({4}, 0.5, 2), floats32({4})}, {{"epsilon", 0.0625}}},
        {"LayerNorm", {{{2, 2, 2}}, {{2, 2}, 0.5, 2}, {{2, 2}}}, {{"epsilon", 0.0625}, {"begin_norm_axis", 1}}},
        {"GroupNorm", {{{2, 2, 4}}, floats32({4}, 0.5, 2), floats32({4})}, {{"groups", 2}, {"epsilon", 0.0625}}},
        // Structure.
        {"Identity", {{{2, 3}}}, {}},
        {"Assign", {{{2, 3}}}, {{"ref", "held"}}},
        {"PrintTensor", {{{2, 3}}}, {}},
        {"OutfeedEnqueue", {{{2, 3}}}, {{"queue", "q"}}},
        {"Reshape", {{{2, 3}}}, {{"shape", Ints{3, -1}}}},
        {"ExpandDims", {{{2, 3}}}, {{"axis", 1}}},
        {"Squeeze", {{{2, 1, 3, 1}}}, {{"squeeze_dims", Ints{1}}}},
        {"Transpose", {{{2, 3, 4}}}, {{"perm", Ints{2, 0, 1}}}},
        {"ConcatV2", {{{2, 3}}, {{2, 1}}, {{2, 2}}}, {{"axis", -1}}},
        {"ConcatV2", {{{2, 3}}}, {{"axis", 0}}},
        {"Pack", {{{2, 3}}, {{2, 3}}}, {{"axis", -1}}},
        {"Unpack", {{{3, 2}}}, {{"num", 3}}, true},
        {"Unpack", {{{3, 2}}}, {{"num", 2}, {"axis", -1}}},
        {"Split", {{{2, 6}}}, {{"num_split", 3}, {"axis", -1}}, true},
        {"Split", {{{4, 2}}}, {{"num_split", 2}, {"axis", 0}}},
        {"SplitV", {{{2, 6}}}, {{"size_splits", Ints{1, 0, 5}}, {"axis", 1}}, true},
        {"Pad", {{{2, 3}}}, {{"paddings", Ints{0, 1, 2, 0}}, {"constant_value", 3.0}}},
        {"Slice", {{{3, 4}}}, {{"begin", Ints{1, 0}}, {"size", Ints{-1, 2}}}},
        {"StridedSlice", {{{3, 4}}}, {{"begin", Ints{1, 0}}, {"end", Ints{3, 2}}, {"strides", Ints{1, 1}}}},
        {"StridedSlice", {{{2, 7}}}, {{"begin", Ints{0, 1}}, {"end", Ints{2, 7}}, {"strides", Ints{1, 3}}}},
        {"StridedSlice", {{{5, 4}}}, {{"begin", Ints{-1, 3}}, {"end", Ints{0, 0}}, {"strides", Ints{-2, -1}}}},
        {"StridedSlice",
         {{{5, 3}}},
         {{"begin", Ints{-2}}, {"end", Ints{0}}, {"strides", Ints{1}}, {"shrink_axis_mask", 1}}},
        {"StridedSlice",
         {{{5, 4, 2}}},
         {{"begin", Ints{0, 0}}, {"end", Ints{0, 0}}, {"strides", Ints{-3, 2}}, {"begin_mask", 3}, {"end_mask", 3}}},
        {"Tile", {{{2, 3}}}, {{"multiples", Ints{2, 3}}}},
        {"Tile", {{{2, 3, 2}}}, {{"multiples", Ints{1, 2, 1}}}},
        {"Tile", {{{1, 2, 1, 2, 1}}}, {{"multiples", Ints{2, 1, 2, 2, 3}}}},
        {"GatherV2", {{{4, 2}}, integers({2, 2}, {3, 0, 0, 1})}, {}},
        {"GatherV2", {{{2, 4, 2}}, integers({3}, {1, 1, 2})}, {{"axis", 1}}},
        {"GatherV2", {{{2, 4}}, integers({}, {2})}, {{"axis", -1}}},
        {"UnsortedSegmentSum", {{{4, 2}}, integers({4}, {2, -1, 0, 2})}, {{"num_segments", 3}}},
        {"UnsortedSegmentSum", {{{2, 2}}, integers({2, 2}, {1, 1, 0, -1})}, {{"num_segments", 2}}},
    };
    for (const ProductRow& row : product_rows()) cases.push_back({row.op, {{row.a}, {row.b}}, row.attributes});
    for (const ElementRow& row : element_rows())
      if (row.operands() == 1 && row.operation().gradient)
        cases.push_back({row.op, {{{8}, row.x.low, row.x.high}}, row.attributes});
    return cases;
  }();
  return kCases;
}

}  // namespace softamp::test
