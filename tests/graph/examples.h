// A small graph for every operation of the table: what tests over the whole table run on. An operation whose inputs are
// not all of shape [2,3] has its row here; a new one without a row fails the tests that ask for it.
#pragma once

#include "softamp/graph/operation.h"
#include "tests/ops/product_rows.h"
#include "tests/ops/random_rows.h"

namespace softamp::test {

using Ints = std::vector<int64_t>;

struct Example {
  const char* op;
  std::vector<Shape> inputs;
  Attributes attributes;
};

inline const std::vector<Example>& examples() {
  static const Attributes window{{"ksize", Ints{1, 2, 2, 1}}, {"strides", Ints{1, 2, 2, 1}}, {"padding", "SAME"}};
  static const auto with = [](Attributes a, const char* name, Attribute value) {
    a[name] = std::move(value);
    return a;
  };
  static const Attributes convolution{{"strides", Ints{1, 1, 1, 1}}, {"padding", "SAME"}};
  static const std::vector<Example> rows = {
      {"Const", {}, {{"value", std::make_shared<const Tensor>(Tensor::full(DType::kFloat16, {3}, 0.1))}}},
      {"Reshape", {{2, 3}}, {{"shape", Ints{3, -1}}}},
      {"ExpandDims", {{2, 3}}, {{"axis", 1}}},
      {"Transpose", {{2, 3}}, {{"perm", Ints{1, 0}}}},
      {"ConcatV2", {{2, 3}, {2, 4}}, {{"axis", -1}}},
      {"Pack", {{2, 3}, {2, 3}}, {}},
      {"Unpack", {{2, 3}}, {{"num", 2}}},
      {"Split", {{2, 3}}, {{"num_split", 3}, {"axis", 1}}},
      {"SplitV", {{2, 3}}, {{"size_splits", Ints{1, 2}}, {"axis", 1}}},
      {"Pad", {{2, 3}}, {{"paddings", Ints{0, 1, 1, 0}}}},
      {"Slice", {{2, 3}}, {{"begin", Ints{0, 1}}, {"size", Ints{-1, 2}}}},
      {"StridedSlice", {{2, 3}}, {{"begin", Ints{0, 2}}, {"end", Ints{2, 0}}, {"strides", Ints{1, -1}}}},
      {"Tile", {{2, 3}}, {{"multiples", Ints{2, 1}}}},
      {"GatherV2", {{2, 3}, {4}}, {}},
      {"UnsortedSegmentSum", {{2, 3}, {2}}, {{"num_segments", 2}}},
      {"OneHot", {{2, 3}}, {{"depth", 4}}},
      {"Assign", {{2, 3}}, {{"ref", "variable"}}},
      {"Conv2D", {{1, 4, 4, 2}, {3, 3, 2, 5}}, convolution},
      {"Conv2DBackpropInput", {{3, 3, 2, 5}, {1, 4, 4, 5}}, with(convolution, "input_sizes", Ints{1, 4, 4, 2})},
      {"Conv2DBackpropFilter", {{1, 4, 4, 2}, {1, 4, 4, 5}}, with(convolution, "filter_sizes", Ints{3, 3, 2, 5})},
      {"DepthwiseConv2dNative", {{1, 4, 4, 2}, {3, 3, 2, 5}}, convolution},
      {"DepthwiseConv2dNativeBackpropInput",
       {{3, 3, 2, 5}, {1, 4, 4, 10}},
       with(convolution, "input_sizes", Ints{1, 4, 4, 2})},
      {"DepthwiseConv2dNativeBackpropFilter",
       {{1, 4, 4, 2}, {1, 4, 4, 10}},
       with(convolution, "filter_sizes", Ints{3, 3, 2, 5})},
      {"MaxPool", {{1, 4, 4, 2}}, window},
      {"AvgPool", {{1, 4, 4, 2}}, window},
      {"MaxPoolGrad", {{1, 4, 4, 2}, {1, 2, 2, 2}, {1, 2, 2, 2}}, window},
      {"AvgPoolGrad", {{1, 2, 2, 2}}, with(window, "orig_input_shape", Ints{1, 4, 4, 2})},
      {"BiasAdd", {{2, 3}, {3}}, {}},
      {"SparseSoftmaxCrossEntropyWithLogits", {{2, 3}, {2}}, {}},
      {"FusedBatchNormV3", {{1, 4, 4, 2}, {2}, {2}, {2}, {2}}, {}},
      {"FusedBatchNormGradV3", {{1, 4, 4, 2}, {1, 4, 4, 2}, {2}, {2}, {2}}, {}},
      {"LayerNorm", {{2, 3}, {3}, {3}}, {}},
      {"LayerNormGrad", {{2, 3}, {2, 3}, {3}, {2}, {2}}, {}},
      {"GroupNorm", {{1, 4, 4, 6}, {6}, {6}}, {{"groups", 2}}},
      {"GroupNormGrad", {{1, 4, 4, 6}, {1, 4, 4, 6}, {6}, {1, 2}, {1, 2}}, {{"groups", 2}}},
      {"OutfeedEnqueue", {{2, 3}}, {{"queue", "q"}}},
      {"ApplyGradientDescent", {{2, 3}, {}, {2, 3}, {}}, {}},
      {"ApplyMomentum", {{2, 3}, {2, 3}, {}, {2, 3}, {}}, {{"momentum", 0.9}}},
      {"ApplyRMSProp", {{2, 3}, {2, 3}, {2, 3}, {}, {2, 3}, {}}, {{"rho", 0.9}, {"momentum", 0.5}, {"epsilon", 0.001}}},
      {"ApplyAdam",
       {{2, 3}, {2, 3}, {2, 3}, {}, {}, {2, 3}, {}},
       {{"beta1", 0.9}, {"beta2", 0.999}, {"epsilon", 0.001}}},
  };
  return rows;
}
/// Of an operation that has test rows, the first of them says it.
inline std::optional<Example> example_of(const Operation& op) {
  for (const Example& e : examples())
    if (op.name == e.op) return e;
  for (const test::ProductRow& row : test::product_rows())
    if (op.name == row.op) return Example{row.op.c_str(), {Shape(row.a), Shape(row.b)}, row.attributes};
  for (const test::RandomRow& row : test::random_rows())
    if (op.name == row.op) return Example{row.op.c_str(), {}, row.ranges[0]};
  return std::nullopt;
}

/// A graph with one node "example" of `op`, T (and other free dtypes) float16 where the operation allows it. Throws
/// GraphError where there is no row for an operation that needs one.
inline Graph example_graph(const Operation& op) {
  const std::optional<Example> row = example_of(op);
  GraphBuilder b;
  b.add("VariableV2", {}, {{"dtype", DType::kFloat16}, {"shape", Shape{2, 3}}}, "variable");
  std::vector<Port> inputs;
  for (size_t i = 0; i < (row ? row->inputs.size() : op.inputs.size()); ++i) {
    const PortSpec& port = op.inputs[std::min(i, op.inputs.size() - 1)];
    inputs.push_back(
        b.placeholder("x", parse_dtype(port.type).value_or(DType::kFloat16), row ? row->inputs[i] : Shape{2, 3}));
  }
  Attributes attributes = row ? row->attributes : Attributes{};
  for (const AttributeSpec& a : op.attributes) {
    if (a.default_value || attributes.contains(a.name)) continue;
    if (a.kind == AttributeKind::kShape) attributes[a.name] = Shape{2, 3};
    if (a.kind == AttributeKind::kType && (a.name == "DstT" || (a.name == "dtype" && !attributes.contains("value"))))
      attributes[a.name] = DType::kFloat16;
  }
  b.add(op.name, inputs, attributes, "example");
  return b.build();
}

}  // namespace softamp::test
