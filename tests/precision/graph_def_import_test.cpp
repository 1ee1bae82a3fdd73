// GraphDefs made into graphs: each operation against the one of ours that a person would build, bit for bit.
#include "tests/precision/graph_def_import_rig.h"

#include <functional>

namespace softamp::test {
namespace {

using Build = Port (*)(GraphBuilder& b, const std::vector<Port>& in);

/// One operation of a GraphDef, its tensors fed, its attributes and constants as text.
struct OperationCase {
  const char* op;
  std::vector<Shape> fed;  ///< float32 placeholders in0, in1, ...
  Inputs inputs;           ///< [=the placeholders]
  TextAttributes attributes;
  std::string constants;  ///< nodes
  Build by_hand;
  DType low = DType::kFloat16;  ///< the second dtype that it is tried in
};

Tensor fed_value(DType t, const Shape& s, size_t i) { return drawn_tensor(t, s, static_cast<uint32_t>(i + 1)); }

void expect_case(const OperationCase& c) {
  for (const auto& [dtype, type] : {std::pair{DType::kFloat32, "FLOAT"}, std::pair{DType::kFloat16, "HALF"}}) {
    std::string text = c.constants;
    Inputs inputs = c.inputs;
    Values feeds;
    GraphBuilder b;
    std::vector<Port> in;
    for (size_t i = 0; i < c.fed.size(); ++i) {
      const std::string name = "in" + std::to_string(i);
      text += placeholder_text(name, c.fed[i], type);
      if (c.inputs.empty()) inputs.push_back(name);
      feeds.emplace(name, fed_value(dtype, c.fed[i], i));
      in.push_back(b.placeholder(name, dtype, c.fed[i]));
    }
    TextAttributes attributes = c.attributes;
    attributes.emplace_back("T", type_value(type));
    const Port by_hand = c.by_hand(b, in);
    const Graph graph = b.build();
    const Tensor wanted = std::move(run_graph(graph, feeds, {graph.port_name(by_hand)})[0]);
    const Tensor is = run_graph_def(graph_of(text + node_text("y", c.op, inputs, attributes)), feeds, {"y"});
    expect_bits(is, wanted, std::string(c.op) + " " + type);
  }
}

TEST(GraphDefImport, OperationsOfTheSameNameAreOurs) {
  for (const char* op :
       {"Abs",  "Neg",      "Square",  "Sqrt",       "Rsqrt",     "Reciprocal", "Inv",    "Exp",   "Expm1",
        "Log",  "Log1p",    "Tanh",    "Sigmoid",    "Erf",       "Erfc",       "Relu",   "Relu6", "Elu",
        "Selu", "Softplus", "Softmax", "LogSoftmax", "ZerosLike", "OnesLike",   "L2Loss", "Sin",   "Cos"})
    for (const auto& [dtype, type] : {std::pair{DType::kFloat32, "FLOAT"}, std::pair{DType::kBFloat16, "BFLOAT16"}}) {
      GraphBuilder b;
      b.add(op, {b.placeholder("x", dtype, {3, 4})}, {}, "y");
      Values feeds;
      feeds.emplace("x", fed_value(dtype, {3, 4}, 0));
      const std::string text =
          placeholder_text("x", {3, 4}, type) + node_text("y", op, {"x"}, {{"T", type_value(type)}});
      expect_bits(run_graph_def(graph_of(text), feeds), run_graph(b.build(), feeds, {"y"})[0], op);
    }
  for (const char* op :
       {"AddV2", "Sub", "Mul", "RealDiv", "Maximum", "Minimum", "SquaredDifference", "Equal", "Less", "GreaterEqual",
        "ReluGrad", "TanhGrad", "SigmoidGrad", "SqrtGrad", "RsqrtGrad", "AddN", "Pow"}) {
    GraphBuilder b;
    const Port x = b.placeholder("x", DType::kFloat32, {3, 4}), z = b.placeholder("z", DType::kFloat32, {3, 4});
    b.add(op, {x, z}, {}, "y");
    Values feeds;
    feeds.emplace("x", fed_value(DType::kFloat32, {3, 4}, 0));
    feeds.emplace("z", fed_value(DType::kFloat32, {3, 4}, 1));
    const std::string text = placeholder_text("x", {3, 4}) + placeholder_text("z", {3, 4}) +
                             node_text("y", op, {"x", "z"}, {{"T", "type: DT_FLOAT"}, {"N", "i: 2"}});
    expect_bits(run_graph_def(graph_of(text), feeds), run_graph(b.build(), feeds, {"y"})[0], op);
  }
}

using Ints = std::vector<int64_t>;
const Ints kOnes4 = {1, 1, 1, 1};

std::vector<OperationCase> product_cases() {
  return {
      {"MatMul",
       {{4, 3}, {5, 4}},
       {},
       {{"transpose_a", "b: true"}, {"transpose_b", "b: true"}},
       "",
       [](GraphBuilder& b, const std::vector<Port>& in) {
         return b.add("MatMul", in, {{"transpose_a", true}, {"transpose_b", true}});
       }},
      {"BatchMatMul",
       {{2, 3, 4}, {2, 5, 4}},
       {},
       {{"adj_y", "b: true"}},
       "",
       [](GraphBuilder& b, const std::vector<Port>& in) {
         return b.add("BatchMatMulV2", in, {{"adj_y", true}});
       }},
      {"Einsum",
       {{2, 3, 4}, {4, 5}},
       {},
       {{"equation", "s: \"abc,cd->abd\""}, {"N", "i: 2"}},
       "",
       [](GraphBuilder& b, const std::vector<Port>& in) {
         return b.add("Einsum", in, {{"equation", std::string("abc,cd->abd")}});
       }},
      {"Conv2D",
       {{2, 5, 6, 3}, {3, 2, 3, 4}},
       {},
       {{"strides", "list { i: [1, 2, 1, 1] }"}, {"padding", "s: \"SAME\""}, {"dilations", "list { i: [1, 1, 2, 1] }"}},
       "",
       [](GraphBuilder& b, const std::vector<Port>& in) {
         return b.add(
             "Conv2D", in,
             {{"strides", Ints{1, 2, 1, 1}}, {"padding", std::string("SAME")}, {"dilations", Ints{1, 1, 2, 1}}});
       }},
      {"Conv2D",  // channels second: the same numbers in other places
       {{2, 3, 5, 6}, {3, 2, 3, 4}},
       {},
       {{"strides", "list { i: [1, 1, 2, 1] }"},
        {"padding", "s: \"EXPLICIT\""},
        {"explicit_paddings", "list { i: [0, 0, 0, 0, 1, 2, 0, 1] }"},
        {"data_format", "s: \"NCHW\""}},
       "",
       [](GraphBuilder& b, const std::vector<Port>& in) {
         const Port x = b.add("Transpose", {in[0]}, {{"perm", Ints{0, 2, 3, 1}}});
         const Port p = b.add("Pad", {x}, {{"paddings", Ints{0, 0, 1, 2, 0, 1, 0, 0}}});
         const Port y = b.add("Conv2D", {p, in[1]}, {{"strides", Ints{1, 2, 1, 1}}, {"padding", std::string("VALID")}});
         return b.add("Transpose", {y}, {{"perm", Ints{0, 3, 1, 2}}});
       }},
      {"DepthwiseConv2dNative",
       {{2, 5, 6, 3}, {3, 2, 3, 2}},
       {},
       {{"strides", "list { i: [1, 1, 1, 1] }"}, {"padding", "s: \"VALID\""}},
       "",
       [](GraphBuilder& b, const std::vector<Port>& in) {
         return b.add("DepthwiseConv2dNative", in, {{"strides", kOnes4}, {"padding", std::string("VALID")}});
       }},
      {"Conv2DBackpropInput",
       {{3, 3, 2, 4}, {2, 4, 5, 5}},
       {"sizes", "in0", "in1"},
       {{"strides", "list { i: [1, 1, 1, 1] }"}, {"padding", "s: \"SAME\""}, {"data_format", "s: \"NCHW\""}},
       ints_text("sizes", {2, 2, 5, 5}),
       [](GraphBuilder& b, const std::vector<Port>& in) {
         const Port g = b.add("Transpose", {in[1]}, {{"perm", Ints{0, 2, 3, 1}}});
         const Port y =
             b.add("Conv2DBackpropInput", {in[0], g},
                   {{"input_sizes", Ints{2, 5, 5, 2}}, {"strides", kOnes4}, {"padding", std::string("SAME")}});
         return b.add("Transpose", {y}, {{"perm", Ints{0, 3, 1, 2}}});
       }},
      {"Conv2DBackpropFilter",
       {{2, 5, 5, 2}, {2, 5, 5, 4}},
       {"in0", "sizes", "in1"},
       {{"strides", "list { i: [1, 1, 1, 1] }"}, {"padding", "s: \"SAME\""}},
       ints_text("sizes", {3, 3, 2, 4}),
       [](GraphBuilder& b, const std::vector<Port>& in) {
         return b.add("Conv2DBackpropFilter", in,
                      {{"filter_sizes", Ints{3, 3, 2, 4}}, {"strides", kOnes4}, {"padding", std::string("SAME")}});
       }},
      {"MaxPool",
       {{1, 3, 4, 4}},
       {},
       {{"ksize", "list { i: [1, 1, 2, 2] }"},
        {"strides", "list { i: [1, 1, 2, 1] }"},
        {"padding", "s: \"VALID\""},
        {"data_format", "s: \"NCHW\""}},
       "",
       [](GraphBuilder& b, const std::vector<Port>& in) {
         const Port x = b.add("Transpose", in, {{"perm", Ints{0, 2, 3, 1}}});
         const Port y =
             b.add("MaxPool", {x},
                   {{"ksize", Ints{1, 2, 2, 1}}, {"strides", Ints{1, 2, 1, 1}}, {"padding", std::string("VALID")}});
         return b.add("Transpose", {y}, {{"perm", Ints{0, 3, 1, 2}}});
       }},
      {"AvgPoolGrad",
       {{1, 2, 2, 3}},
       {"sizes", "in0"},
       {{"ksize", "list { i: [1, 2, 2, 1] }"}, {"strides", "list { i: [1, 2, 2, 1] }"}, {"padding", "s: \"SAME\""}},
       ints_text("sizes", {1, 4, 3, 3}),
       [](GraphBuilder& b, const std::vector<Port>& in) {
         return b.add("AvgPoolGrad", in,
                      {{"orig_input_shape", Ints{1, 4, 3, 3}},
                       {"ksize", Ints{1, 2, 2, 1}},
                       {"strides", Ints{1, 2, 2, 1}},
                       {"padding", std::string("SAME")}});
       }},
      {"BiasAdd",
       {{2, 3, 4, 5}, {3}},
       {},
       {{"data_format", "s: \"NCHW\""}},
       "",
       [](GraphBuilder& b, const std::vector<Port>& in) {
         const Port x = b.add("Reshape", {in[1]}, {{"shape", Ints{3, 1, 1}}});
         return b.add("AddV2", {in[0], x});
       }},
      {"BiasAddGrad",
       {{2, 3, 4, 5}},
       {},
       {{"data_format", "s: \"NCHW\""}},
       "",
       [](GraphBuilder& b, const std::vector<Port>& in) {
         return b.add("BiasAddGrad", {b.add("Transpose", in, {{"perm", Ints{0, 2, 3, 1}}})});
       }},
  };
}

std::vector<OperationCase> structure_cases() {
  return {
      {"Sum",
       {{2, 3, 4}},
       {"in0", "axes"},
       {{"keep_dims", "b: true"}},
       ints_text("axes", {0, -1}),
       [](GraphBuilder& b, const std::vector<Port>& in) {
         return b.add("Sum", in, {{"axes", Ints{0, 2}}, {"keep_dims", true}});
       }},
      {"Mean",  // no axes: nothing is reduced
       {{2, 3}},
       {"in0", "axes"},
       {},
       ints_text("axes", {}),
       [](GraphBuilder& b, const std::vector<Port>& in) { return b.add("Identity", in); }},
      {"Reshape",
       {{2, 6}},
       {"in0", "shape"},
       {},
       ints_text("shape", {3, -1}),
       [](GraphBuilder& b, const std::vector<Port>& in) {
         return b.add("Reshape", in, {{"shape", Ints{3, 4}}});
       }},
      {"Transpose",
       {{2, 3, 4}},
       {"in0", "perm"},
       {},
       ints_text("perm", {2, 0, 1}),
       [](GraphBuilder& b, const std::vector<Port>& in) {
         return b.add("Transpose", in, {{"perm", Ints{2, 0, 1}}});
       }},
      {"ConcatV2",
       {{2, 3}, {2, 1}},
       {"in0", "in1", "axis"},
       {{"N", "i: 2"}},
       int_text("axis", -1),
       [](GraphBuilder& b, const std::vector<Port>& in) {
         return b.add("ConcatV2", in, {{"axis", int64_t{1}}});
       }},
      {"PadV2",
       {{2, 3}},
       {"in0", "paddings", "value"},
       {},
       const_text("paddings", "INT32", {2, 2}, "int_val: [1, 0, 0, 2]") +
           const_text("value", "FLOAT", {}, "float_val: 2.5"),
       [](GraphBuilder& b, const std::vector<Port>& in) {
         return b.add("Pad", in, {{"paddings", Ints{1, 0, 0, 2}}, {"constant_value", 2.5}});
       }},
      {"Slice",
       {{4, 3}},
       {"in0", "begin", "size"},
       {},
       ints_text("begin", {1, 0}) + ints_text("size", {2, -1}),
       [](GraphBuilder& b, const std::vector<Port>& in) {
         return b.add("Slice", in, {{"begin", Ints{1, 0}}, {"size", Ints{2, 3}}});
       }},
      {"StridedSlice",  // x[..., 1, None, ::-2]
       {{2, 3, 4, 5}},
       {"in0", "begin", "end", "strides"},
       {{"ellipsis_mask", "i: 1"},
        {"shrink_axis_mask", "i: 2"},
        {"new_axis_mask", "i: 4"},
        {"begin_mask", "i: 8"},
        {"end_mask", "i: 8"}},
       ints_text("begin", {0, 1, 0, 0}) + ints_text("end", {0, 2, 0, 0}) + ints_text("strides", {1, 1, 1, -2}),
       [](GraphBuilder& b, const std::vector<Port>& in) {
         const Port y = b.add("StridedSlice", in,
                              {{"begin", Ints{0, 0, 1, 0}},
                               {"end", Ints{2, 3, 2, 0}},
                               {"strides", Ints{1, 1, 1, -2}},
                               {"begin_mask", int64_t{8}},
                               {"end_mask", int64_t{8}},
                               {"shrink_axis_mask", int64_t{4}}});
         return b.add("Reshape", {y}, {{"shape", Ints{2, 3, 1, 3}}});
       }},
      {"BroadcastTo",
       {{3, 1}},
       {"in0", "shape"},
       {},
       ints_text("shape", {2, 3, 4}),
       [](GraphBuilder& b, const std::vector<Port>& in) {
         return b.add("Tile", {b.add("Reshape", in, {{"shape", Ints{1, 3, 1}}})}, {{"multiples", Ints{2, 1, 4}}});
       }},
      {"Split",
       {{2, 6}},
       {"axis", "in0"},
       {{"num_split", "i: 3"}},
       int_text("axis", 1),
       [](GraphBuilder& b, const std::vector<Port>& in) {
         return b.add("Split", in, {{"num_split", int64_t{3}}, {"axis", int64_t{1}}});
       }},
      {"SplitV",
       {{2, 6}},
       {"in0", "sizes", "axis"},
       {{"num_split", "i: 3"}},
       ints_text("sizes", {1, -1, 2}) + int_text("axis", 1),
       [](GraphBuilder& b, const std::vector<Port>& in) {
         return b.add("SplitV", in, {{"size_splits", Ints{1, 3, 2}}, {"axis", int64_t{1}}});
       }},
      {"ReverseV2",
       {{2, 3}},
       {"in0", "axes"},
       {},
       ints_text("axes", {-1}),
       [](GraphBuilder& b, const std::vector<Port>& in) {
         return b.add("StridedSlice", in,
                      {{"begin", Ints{0, 0}},
                       {"end", Ints{0, 0}},
                       {"strides", Ints{1, -1}},
                       {"begin_mask", int64_t{3}},
                       {"end_mask", int64_t{3}}});
       }},
      {"GatherV2",
       {{4, 3}},
       {"in0", "indices", "axis"},
       {{"Tparams", "type: DT_FLOAT"}},
       ints_text("indices", {2, 0, 2}) + int_text("axis", 0),
       [](GraphBuilder& b, const std::vector<Port>& in) {
         const double indices[] = {2, 0, 2};
         return b.add("GatherV2", {in[0], b.constant(Tensor::from_values(DType::kInt32, {3}, indices))});
       }},
      {"Unpack",
       {{2, 3}},
       {},
       {{"num", "i: 3"}, {"axis", "i: 1"}},
       "",
       [](GraphBuilder& b, const std::vector<Port>& in) {
         return b.add("Unpack", in, {{"num", int64_t{3}}, {"axis", int64_t{1}}});
       }},
      {"Add",
       {{3}, {2, 3}},
       {},
       {},
       "",
       [](GraphBuilder& b, const std::vector<Port>& in) { return b.add("AddV2", in); }},
      {"ClipByValue",
       {{3, 4}, {}, {}},
       {},
       {},
       "",
       [](GraphBuilder& b, const std::vector<Port>& in) {
         return b.add("Maximum", {b.add("Minimum", {in[0], in[2]}), in[1]});
       }},
      {"LeakyRelu",
       {{3, 4}},
       {},
       {{"alpha", "f: 0.125"}},
       "",
       [](GraphBuilder& b, const std::vector<Port>& in) {
         return b.add("LeakyRelu", in, {{"alpha", 0.125}});
       }},
      {"StridedSliceGrad",  // of x[1, 1:3], x of [2, 4, 3]
       {{2, 3}},
       {"shape", "begin", "end", "strides", "in0"},
       {{"shrink_axis_mask", "i: 1"}},
       ints_text("shape", {2, 4, 3}) + ints_text("begin", {1, 1}) + ints_text("end", {2, 3}) +
           ints_text("strides", {1, 1}),
       [](GraphBuilder& b, const std::vector<Port>& in) {
         return b.add("Pad", {b.add("Reshape", in, {{"shape", Ints{1, 2, 3}}})},
                      {{"paddings", Ints{1, 0, 1, 1, 0, 0}}});
       }},
      {"SparseMatMul",
       {{2, 3}, {4, 3}},
       {},
       {{"transpose_b", "b: true"}, {"b_is_sparse", "b: true"}},
       "",
       [](GraphBuilder& b, const std::vector<Port>& in) {
         return b.add("MatMul", in, {{"transpose_b", true}});
       }},
      {"DivNoNan",
       {{3, 4}, {3, 4}},
       {},
       {},
       "",
       [](GraphBuilder& b, const std::vector<Port>& in) {  // no divisor of these is 0
         return b.add("RealDiv", in);
       }},
  };
}

TEST(GraphDefImport, ProductsAreOurs) {
  for (const OperationCase& c : product_cases()) expect_case(c);
}

TEST(GraphDefImport, WhatMovesElementsIsOurs) {
  for (const OperationCase& c : structure_cases()) expect_case(c);
}

/// Formulas of several operations, each rounded: against binary64.
TEST(GraphDefImport, WhatIsPutTogetherFromAFew) {
  const auto elu = [](double g, double y) { return y < 0 ? g * (y + 1) : g; };
  const double scale = 1.0507009873554805, alpha = 1.6732632423543772;
  const std::pair<const char*, std::function<double(double, double)>> rows[] = {
      {"EluGrad", elu},
      {"SeluGrad", [&](double g, double y) { return y < 0 ? g * (y + scale * alpha) : g * scale; }},
      {"SoftplusGrad", [](double g, double x) { return g / (std::exp(-x) + 1); }},
      {"Relu6Grad", [](double g, double x) { return x > 0 && x < 6 ? g : 0; }},
      {"Softsign", [](double x, double) { return x / (1 + std::fabs(x)); }},
      {"IsInf", [](double, double) { return 0; }},
  };
  for (const auto& [op, formula] : rows) {
    const bool one = std::string(op) == "Softsign" || std::string(op) == "IsInf";
    Values feeds;
    feeds.emplace("a", fed_value(DType::kFloat32, {64}, 1));
    feeds.emplace("b", fed_value(DType::kFloat32, {64}, 2));
    const std::string text = placeholder_text("a", {64}) + placeholder_text("b", {64}) +
                             node_text("y", op, one ? Inputs{"a"} : Inputs{"a", "b"}, {{"T", "type: DT_FLOAT"}});
    const Tensor y = run_graph_def(graph_of(text), feeds, {"y"});
    for (int64_t i = 0; i < 64; ++i) {
      const double wanted = formula(feeds.at("a").value(i), feeds.at("b").value(i));
      EXPECT_NEAR(y.value(i), wanted, std::fabs(wanted) * 1e-6) << op;
    }
  }
}

TEST(GraphDefImport, DivisionByZeroIsZeroWithoutAFlag) {
  const std::string text = const_text("x", "FLOAT", {3}, "float_val: [1, 0, -4]") +
                           const_text("z", "FLOAT", {3}, "float_val: [0, 0, 2]") +
                           float_node("y", "DivNoNan", {"x", "z"});
  const ImportedGraph imported = import_graph(graph_of(text));
  ExecutorOptions options;
  options.status = true;
  const std::string fetches[] = {"y"};
  const RunResult result = make_executor(imported.graph, options)->run({}, fetches);
  EXPECT_EQ(result.values[0].values(), (std::vector<double>{0, 0, -2}));
  EXPECT_EQ(result.flags, 0);
}

TEST(GraphDefImport, BatchNormalisationInBothLayouts) {
  for (const bool training : {false, true}) {
    std::string text = placeholder_text("x", {2, 3, 4, 4});
    Values feeds;
    feeds.emplace("x", fed_value(DType::kFloat32, {2, 3, 4, 4}, 0));
    GraphBuilder b;
    std::vector<Port> in = {
        b.add("Transpose", {b.placeholder("x", DType::kFloat32, {2, 3, 4, 4})}, {{"perm", Ints{0, 2, 3, 1}}})};
    for (const char* name : {"scale", "offset", "mean", "variance"}) {
      text += placeholder_text(name, {3});
      Tensor value = fed_value(DType::kFloat32, {3}, feeds.size());
      for (float& v : value.as<float>()) v = std::fabs(v) + 0.25f;
      feeds.emplace(name, std::move(value));
      in.push_back(b.placeholder(name, DType::kFloat32, {3}));
    }
    const Attributes attributes{{"epsilon", static_cast<double>(0.002f)}, {"is_training", training}};
    const Port norm = b.add("FusedBatchNormV3", in, attributes);
    const Port y = b.add("Transpose", {norm}, {{"perm", Ints{0, 3, 1, 2}}}, "y");
    Port g = b.placeholder("g", DType::kFloat32, {2, 3, 4, 4});
    g = b.add("Transpose", {g}, {{"perm", Ints{0, 2, 3, 1}}});
    const Port gradient =
        b.add("FusedBatchNormGradV3", {g, in[0], in[1], Port{norm.node, 3}, Port{norm.node, 4}}, attributes);
    const Port dx = b.add("Transpose", {gradient}, {{"perm", Ints{0, 3, 1, 2}}}, "dx");
    feeds.emplace("g", fed_value(DType::kFloat32, {2, 3, 4, 4}, 9));
    const Graph graph = b.build();
    const TextAttributes of_norm = {{"T", "type: DT_FLOAT"},
                                    {"U", "type: DT_FLOAT"},
                                    {"epsilon", "f: 0.002"},
                                    {"is_training", training ? "b: true" : "b: false"},
                                    {"data_format", "s: \"NCHW\""}};
    text += node_text("norm", "FusedBatchNormV3", {"x", "scale", "offset", "mean", "variance"}, of_norm) +
            placeholder_text("g", {2, 3, 4, 4}) +
            node_text("grad", "FusedBatchNormGradV3", {"g", "x", "scale", "norm:3", "norm:4", "norm:5"}, of_norm);
    const GraphDefFile file = graph_of(text);
    const auto wanted = [&](Port p) { return std::move(run_graph(graph, feeds, {graph.port_name(p)})[0]); };
    expect_bits(run_graph_def(file, feeds, {"norm"}), wanted(y), "y");
    expect_bits(run_graph_def(file, feeds, {"norm:1"}), wanted({norm.node, 1}), "mean");
    expect_bits(run_graph_def(file, feeds, {"norm:2"}), wanted({norm.node, 2}), "variance");
    expect_bits(run_graph_def(file, feeds, {"grad"}), wanted(dx), "gradient of x");
    expect_bits(run_graph_def(file, feeds, {"grad:1"}), wanted({gradient.node, 1}), "gradient of scale");
    expect_bits(run_graph_def(file, feeds, {"grad:2"}), wanted({gradient.node, 2}), "gradient of offset");
  }
}

TEST(GraphDefImport, ConstantsInEveryForm) {
  struct Row {
    const char* type;
    const char* values;
    DType dtype;
    std::vector<double> wanted;
  };
  const Row rows[] = {
      {"FLOAT", "float_val: [1.5, -2, 0.25]", DType::kFloat32, {1.5, -2, 0.25}},
      {"FLOAT", "float_val: [1.5, -2]", DType::kFloat32, {1.5, -2, -2}},
      {"FLOAT", "float_val: 7", DType::kFloat32, {7, 7, 7}},
      {"FLOAT", "", DType::kFloat32, {0, 0, 0}},
      {"FLOAT",
       R"(tensor_content: "\000\000\200\077\000\000\000\300\000\000\200\076")",
       DType::kFloat32,
       {1, -2, 0.25}},
      {"DOUBLE", "double_val: [1e-300, 2, 3]", DType::kFloat64, {1e-300, 2, 3}},
      {"HALF", "half_val: [15360, 49152]", DType::kFloat16, {1, -2, -2}},
      {"BFLOAT16", "half_val: [16256, 49152]", DType::kBFloat16, {1, -2, -2}},
      {"HALF", R"(tensor_content: "\000\074\000\300\001\000")", DType::kFloat16, {1, -2, 0x1p-24}},
      {"INT32", "int_val: [1, -2]", DType::kInt32, {1, -2, -2}},
      {"INT64", "int64_val: [1, -2147483648]", DType::kInt32, {1, -2147483648.0, -2147483648.0}},
      {"INT64",
       R"(tensor_content: "\001\000\000\000\000\000\000\000\377\377\377\377\377\377\377\377\002\000\000\000\000\000\000\000")",
       DType::kInt32,
       {1, -1, 2}},
      {"UINT8", "int_val: [1, 255]", DType::kInt32, {1, 255, 255}},
      {"UINT8", R"(tensor_content: "\001\377\002")", DType::kInt32, {1, 255, 2}},
      {"INT8", R"(tensor_content: "\001\377\002")", DType::kInt32, {1, -1, 2}},
      {"INT16", R"(tensor_content: "\001\000\377\377\002\001")", DType::kInt32, {1, -1, 258}},
      {"UINT16", R"(tensor_content: "\001\000\377\377\002\001")", DType::kInt32, {1, 65535, 258}},
      {"BOOL", "bool_val: [true, false]", DType::kBool, {1, 0, 0}},
      {"BOOL", R"(tensor_content: "\001\000\007")", DType::kBool, {1, 0, 1}},
  };
  for (const Row& row : rows) {
    const Tensor is = run_graph_def(graph_of(const_text("c", row.type, {3}, row.values)), {}, {"c"});
    EXPECT_EQ(is.dtype(), row.dtype) << row.type << ' ' << row.values;
    EXPECT_EQ(is.values(), row.wanted) << row.type << ' ' << row.values;
  }
  // What contradicts itself is refused.
  const auto refused = [](const char* type, const char* values, const std::string& attribute = "") {
    std::string text = const_text("c", type, {3}, values);
    if (!attribute.empty()) text.replace(text.find("type: DT_"), 9 + std::string(type).size(), "type: " + attribute);
    return refusal<GraphDefError>([&] { import_graph(graph_of(text), {{"c"}, {}, {}, {}}); });
  };
  EXPECT_NE(refused("UINT8", "int_val: 300").find("its int_val 300 is no DT_UINT8; expected 0 .. 255"),
            std::string::npos);
  EXPECT_NE(refused("INT16", "int_val: -32769").find("its int_val -32769 is no DT_INT16"), std::string::npos);
  EXPECT_NE(refused("INT32", "float_val: 1")
                .find("its tensor of type DT_INT32 has values in the list of another type; expected them in its own"),
            std::string::npos);
  EXPECT_NE(refused("INT32", "int_val: 1", "DT_FLOAT")
                .find("attribute 'dtype' is DT_FLOAT, and its tensor is of DT_INT32; expected one type"),
            std::string::npos)
      << refused("INT32", "int_val: 1", "DT_FLOAT");
  // One value everywhere takes no room in the graph.
  for (const auto& [type, value] : {std::pair("UINT8", "int_val: 200"), {"INT64", "int64_val: 200"}}) {
    const Tensor large = run_graph_def(graph_of(const_text("c", type, {2048}, value)), {}, {"c"});
    EXPECT_EQ(text_of_tensor(large).substr(0, 22), "int32[2048] 200.000000");
  }
  const ImportedGraph large =
      import_graph(graph_of(const_text("c", "FLOAT", {1 << 20, 1 << 19}, "float_val: -0.5")), {{"c"}, {}, {}, {}});
  EXPECT_EQ(large.graph.node(0).op, "Fill");
  EXPECT_EQ(run_graph_def(graph_of(const_text("c", "HALF", {64, 32}, "half_val: 49152")), {}, {"c"}).value(2047), -2);
}

TEST(GraphDefImport, ArithmeticOfShapesIsSettled) {
  const std::string x = placeholder_text("x", {2, 3, 4}) + node_text("s", "Shape", {"x"}, {{"T", "type: DT_FLOAT"}}) +
                        ints_text("zero", {0}) + ints_text("one", {1}) + ints_text("three", {3}) + int_text("i", 1) +
                        int_text("seven", 7) + int_text("minus", -2) + ints_text("perm", {2, 0, 1});
  const auto value = [&](const std::string& node) {
    Values feeds;
    feeds.emplace("x", fed_value(DType::kFloat32, {2, 3, 4}, 0));
    const GraphDefFile file = graph_of(x + node);
    const ImportedGraph imported = import_graph(file, {{"y"}, {{"x", Shape{2, 3, 4}}}, {}});
    EXPECT_LE(imported.graph.size(), 2) << node;  // the constant, and what was asked for its shape
    return run_graph_def(file, feeds, {"y"}).values();
  };
  const TextAttributes t = {{"T", "type: DT_INT32"}};
  using V = std::vector<double>;
  EXPECT_EQ(value(node_text("y", "Identity", {"s"}, t)), (V{2, 3, 4}));
  EXPECT_EQ(value(node_text("y", "Size", {"x"}, {{"T", "type: DT_FLOAT"}})), (V{24}));
  EXPECT_EQ(value(node_text("y", "Rank", {"x"}, {{"T", "type: DT_FLOAT"}})), (V{3}));
  EXPECT_EQ(value(node_text("y", "StridedSlice", {"s", "one", "three", "one"}, t)), (V{3, 4}));
  EXPECT_EQ(value(node_text("y", "StridedSlice", {"s", "one", "three", "one"},
                            {{"T", "type: DT_INT32"}, {"shrink_axis_mask", "i: 1"}})),
            (V{3}));
  EXPECT_EQ(value(ints_text("back", {-1}) + node_text("y", "StridedSlice", {"s", "zero", "zero", "back"},
                                                      {{"begin_mask", "i: 1"}, {"end_mask", "i: 1"}})),
            (V{4, 3, 2}));
  EXPECT_EQ(value(node_text("y", "Slice", {"s", "one", "one"}, t)), (V{3}));
  EXPECT_EQ(value(node_text("y", "Prod", {"s", "zero"}, t)), (V{24}));
  EXPECT_EQ(value(node_text("y", "Sum", {"s", "zero"}, {{"keep_dims", "b: true"}})), (V{9}));
  EXPECT_EQ(value(node_text("y", "Max", {"s", "zero"}, t)), (V{4}));
  EXPECT_EQ(value(node_text("y", "Pack", {"i", "seven"}, {{"N", "i: 2"}})), (V{1, 7}));
  const std::string axis = int_text("axis", 0);
  EXPECT_EQ(value(axis + node_text("y", "ConcatV2", {"s", "one", "axis"}, {{"N", "i: 2"}})), (V{2, 3, 4, 1}));
  EXPECT_EQ(value(axis + node_text("y", "GatherV2", {"s", "perm", "axis"}, {{"Tparams", "type: DT_INT32"}})),
            (V{4, 2, 3}));
  EXPECT_EQ(value(node_text("y", "FloorDiv", {"seven", "minus"}, t)), (V{-4}));
  EXPECT_EQ(value(node_text("y", "FloorMod", {"seven", "minus"}, t)), (V{-1}));
  EXPECT_EQ(value(node_text("y", "Mul", {"s", "seven"}, t)), (V{14, 21, 28}));
  EXPECT_EQ(value(node_text("y", "Range", {"minus", "seven", "three"}, t) + "").size(), 3u);
  EXPECT_EQ(value(node_text("y", "InvertPermutation", {"perm"}, t)), (V{1, 2, 0}));
  EXPECT_EQ(value(node_text("y", "Less", {"s", "three"}, t)), (V{1, 0, 0}));
  EXPECT_EQ(value(node_text("y", "Cast", {"s"}, {{"SrcT", "type: DT_INT32"}, {"DstT", "type: DT_FLOAT"}})),
            (V{2, 3, 4}));
  EXPECT_EQ(value(node_text("y", "Reshape", {"s", "three"}, t)), (V{2, 3, 4}));
  EXPECT_EQ(value(node_text("y", "ExpandDims", {"seven", "axis"}, t) + axis), (V{7}));
  EXPECT_EQ(value(node_text("y", "Unpack", {"s"}, {{"num", "i: 3"}})), (V{2}));
  EXPECT_EQ(value(node_text("y", "Fill", {"three", "seven"}, t)), (V{7, 7, 7}));
  EXPECT_EQ(value(ints_text("b", {3, 1}) + node_text("y", "BroadcastArgs", {"s", "b"}, t)), (V{2, 3, 4}));
  EXPECT_EQ(value(ints_text("b", {3, 1}) + node_text("r", "BroadcastGradientArgs", {"s", "b"}, t) +
                  node_text("y", "Identity", {"r:1"}, t)),
            (V{0, 2}));
  EXPECT_EQ(value(ints_text("b", {1, 4}) + node_text("r", "ConcatOffset", {"i", "b", "b"}, {{"N", "i: 2"}}) +
                  node_text("y", "Identity", {"r:1"}, t)),
            (V{0, 4}));
}

}  // namespace
}  // namespace softamp::test
