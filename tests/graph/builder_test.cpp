// The graph's builder, its verifier and its messages: each fault names the node and what was expected, word for word
// where the field has words for it.
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "softamp/graph/operation.h"

#include "tests/refusal.h"

using namespace softamp;
using softamp::test::refusal;

namespace {

using Ints = std::vector<int64_t>;

}  // namespace

TEST(Operations, TheTableIsSortedCompleteAndFoundByName) {
  std::string last;
  for (const Operation& op : operations()) {
    EXPECT_LT(last, op.name);
    last = op.name;
    EXPECT_EQ(find_operation(op.name), &op);
    EXPECT_FALSE(op.summary.empty()) << op.name;
    EXPECT_GE(op.sites, 1) << op.name;
    EXPECT_LE(op.sites, 3) << op.name << ": kernel::Environment has room for three";
    bool optional = false;
    for (const PortSpec& port : op.inputs) {
      EXPECT_FALSE(optional && !port.optional) << op.name << ": only the last inputs may be left out";
      EXPECT_FALSE(port.variadic && &port != &op.inputs.back()) << op.name;
      optional = port.optional;
    }
    for (const AttributeSpec& a : op.attributes) {
      EXPECT_FALSE(a.name.empty());
      if (!a.default_value) continue;
      EXPECT_EQ(a.default_value->index(), static_cast<size_t>(a.kind)) << op.name << "." << a.name;
    }
  }
  for (const char* name : {"Placeholder", "Const", "Identity", "VariableV2", "Assign", "PrintTensor", "OutfeedEnqueue",
                           "Reshape", "GatherV2", "OneHot"})
    EXPECT_NE(find_operation(name), nullptr) << name;
  EXPECT_EQ(find_operation("Reshap"), nullptr);
  EXPECT_EQ(refusal<GraphError>([] { operation("Reshap"); }), "unknown operation 'Reshap'; nearest: Reshape");
  EXPECT_EQ(refusal<GraphError>([] { operation("transpose"); }), "unknown operation 'transpose'; nearest: Transpose");
  const std::string table = operation_table_markdown();
  for (const Operation& op : operations()) EXPECT_NE(table.find("| `" + op.name + "` |"), std::string::npos);
}

TEST(Builder, NamesAreScopedUniqueAndWellFormed) {
  GraphBuilder b;
  const auto name = [&](Port p) { return b.graph().node(p.node).name; };
  const Port x = b.placeholder("x", DType::kFloat16, {2});
  EXPECT_EQ(name(x), "x");
  EXPECT_EQ(name(b.placeholder("x", DType::kFloat16, {2})), "x_1");
  EXPECT_EQ(name(b.placeholder("x_2", DType::kFloat16, {2})), "x_2");
  EXPECT_EQ(name(b.placeholder("x", DType::kFloat16, {2})), "x_3");
  EXPECT_EQ(name(b.add("Identity", {x})), "Identity");
  {
    const auto outer = b.scope("layer");
    const auto inner = b.scope("conv.1");
    EXPECT_EQ(name(b.add("Identity", {x}, {}, "y")), "layer/conv.1/y");
    EXPECT_EQ(name(b.add("Identity", {x}, {}, "y")), "layer/conv.1/y_1");
  }
  EXPECT_EQ(name(b.add("Identity", {x}, {}, "y")), "y");
  EXPECT_EQ(refusal<GraphError>([&] { b.add_named("y", "Identity", {x}, {}); }),
            "the name 'y' is taken; expected a new one");
  for (const char* bad : {"_y", "-y", "/y", "a b", "a:0", "\xc3\xa9", "a\\b", "a>b"})
    EXPECT_EQ(refusal<GraphError>([&] { b.add("Identity", {x}, {}, bad); }),
              std::string("'") + bad +
                  "' is not a valid node name: expected letters, digits and '.', then these and '_', '-', '/'");
  for (const char* good : {".", "9", "a_-./b"}) EXPECT_EQ(name(b.add("Identity", {x}, {}, good)), good);
  EXPECT_EQ(refusal<GraphError>([&] { const auto s = b.scope("a b"); }).substr(0, 34),
            "'a b' is not a valid scope name: e");
}

TEST(Builder, PortsAreFoundByText) {
  GraphBuilder b;
  const Port x = b.placeholder("in/x", DType::kFloat16, {4, 2});
  b.add("Split", {x}, {{"num_split", 2}, {"axis", 0}}, "parts");
  const Graph g = b.build();
  EXPECT_EQ(g.port("in/x"), (Port{0, 0}));
  EXPECT_EQ(g.port("parts:1"), (Port{1, 1}));
  EXPECT_EQ(g.port_name({1, 1}), "parts:1");
  EXPECT_EQ(g.port_name({1, 0}), "parts");
  EXPECT_EQ(g.type({1, 1}), (TensorType{DType::kFloat16, {2, 2}}));
  EXPECT_EQ(refusal<GraphError>([&] { g.port("part"); }), "the graph has no node 'part'; nearest: parts");
  for (const char* bad : {"parts:2", "parts:-1", "parts:", "parts:1x", "parts:99999999999"})
    EXPECT_EQ(refusal<GraphError>([&] { g.port(bad); }),
              std::string("'") + bad +
                  "': node 'parts' has 2 outputs; expected \"name\" or \"name:port\" with "
                  "a port from 0");
}

// tests: G05
TEST(Builder, UnlikeDtypesAreTheFieldsErrorToTheLetter) {
  // TUTORIAL G05
  GraphBuilder b;
  const Port half = b.placeholder("h", DType::kFloat16, {2, 2}), wide = b.placeholder("w", DType::kFloat32, {2, 2});
  const struct {
    const char *op, *first, *second;
  } rows[] = {{"AddV2", "x", "y"}, {"Sub", "x", "y"}, {"Mul", "x", "y"}, {"RealDiv", "x", "y"}, {"MatMul", "a", "b"}};
  for (const auto& row : rows) {
    EXPECT_EQ(refusal<GraphError>([&] {
                b.add(row.op, {half, wide});
              }),
              std::string("Input '") + row.second + "' of '" + row.op +
                  "' Op has type float32 that does not match type float16 of argument '" + row.first + "'.");
  }
  try {
    b.add("AddV2", {half, wide}, {}, "sum");
    FAIL();
  } catch (const DtypeMismatchError& e) {
    EXPECT_STREQ(e.what(),
                 "Input 'y' of 'AddV2' Op has type float32 that does not match type float16 of argument 'x'.");
    EXPECT_EQ(e.op, "AddV2");
    EXPECT_EQ(e.input, "y");
    EXPECT_EQ(e.argument, "x");
    EXPECT_EQ(e.type, DType::kFloat32);
    EXPECT_EQ(e.expected, DType::kFloat16);
    EXPECT_EQ(e.node, "sum");
  }
  EXPECT_EQ(refusal<GraphError>([&] {
              b.add("GatherV2", {half, wide});
            }),
            "Input 'indices' of 'GatherV2' Op has type float32 that does not match expected type of int32.");
  EXPECT_EQ(refusal<GraphError>([&] {
              b.add("Identity", {half}, {{"T", DType::kFloat32}});
            }),
            "Input 'input' of 'Identity' Op has type float16 that does not match expected type of float32.");
  EXPECT_EQ(refusal<GraphError>([&] {
              b.add("ConcatV2", {half, half, wide}, {{"axis", 0}});
            }),
            "Input 'values[2]' of 'ConcatV2' Op has type float32 that does not match type float16 of argument "
            "'values[0]'.");
  const Port flag = b.placeholder("flag", DType::kBool, {2, 2}), ids = b.placeholder("ids", DType::kInt32, {2});
  EXPECT_EQ(refusal<GraphError>([&] {
              b.add("UnsortedSegmentSum", {flag, ids}, {{"num_segments", 2}}, "s");
            }),
            "UnsortedSegmentSum 's': Value passed to parameter 'data' has DataType bool not in list of allowed values: "
            "bfloat16, float16, float32, float64, int32");
  EXPECT_EQ(b.graph().size(), 4) << "what was refused left nothing behind";
}

TEST(Builder, InputsAndAttributesAreChecked) {
  GraphBuilder b;
  const Port x = b.placeholder("x", DType::kFloat16, {2, 3});
  const auto add = [&](const char* op, std::vector<Port> in, Attributes attributes) {
    return refusal<GraphError>([&] { b.add(op, std::move(in), std::move(attributes), "n"); });
  };
  EXPECT_EQ(add("Reshapes", {x}, {}), "node 'n': unknown operation 'Reshapes'; nearest: Reshape");
  EXPECT_EQ(add("Reshape", {}, {}), "Reshape 'n': 0 inputs; expected 1 (tensor)");
  EXPECT_EQ(add("Reshape", {x, x}, {}), "Reshape 'n': 2 inputs; expected 1 (tensor)");
  EXPECT_EQ(add("ConcatV2", {}, {}), "ConcatV2 'n': 0 inputs; expected at least 1 (values)");
  EXPECT_EQ(add("Identity", {{7, 0}}, {}),
            "Identity 'n': input 0 is output 0 of node number 7; expected an output of a node that was added before");
  EXPECT_EQ(add("Identity", {{0, 1}}, {}),
            "Identity 'n': input 0 is output 1 of node number 0; expected an output of a node that was added before");
  EXPECT_EQ(add("Reshape", {x}, {}), "Reshape 'n': attribute 'shape' is missing; expected kind ints");
  EXPECT_EQ(add("Reshape", {x}, {{"shap", Ints{6}}}), "Reshape 'n': unknown attribute 'shap'; nearest: shape");
  EXPECT_EQ(add("Reshape", {x}, {{"shape", 6}}),
            "Reshape 'n': attribute 'shape' is 6, of kind int; expected kind ints");
  EXPECT_EQ(add("Transpose", {x}, {{"perm", "NHWC"}}),
            "Transpose 'n': attribute 'perm' is 'NHWC', of kind string; expected kind ints");
  EXPECT_EQ(add("ConcatV2", {x, x}, {{"axis", 0}, {"N", 3}}),
            "ConcatV2 'n': attribute 'N' is 3, but 'values' has 2 inputs");
  EXPECT_EQ(
      add("Const", {}, {{"value", std::make_shared<const Tensor>(DType::kBool, Shape{})}, {"dtype", DType::kInt32}}),
      "Const 'n': attribute 'dtype' is int32, but the value is of bool");
  EXPECT_EQ(add("Const", {}, {{"value", std::shared_ptr<const Tensor>()}}),
            "Const 'n': attribute 'value' is a null tensor");
  EXPECT_EQ(b.type(b.add("ConcatV2", {x, x}, {{"axis", 0}})).shape, (Shape{4, 3}));
  EXPECT_EQ(attribute<int64_t>(b.graph().node(1), "N"), 2);
  EXPECT_EQ(attribute<DType>(b.graph().node(1), "T"), DType::kFloat16);
  EXPECT_EQ(refusal<GraphError>([&] { attribute<int64_t>(b.graph().node(1), "T"); }),
            "ConcatV2 'ConcatV2': no attribute T of that kind");
}

TEST(Builder, StructureShapesAreInferredOrRefused) {
  GraphBuilder b;
  const Port x = b.placeholder("x", DType::kFloat32, {2, 3, 4});
  const Port one = b.placeholder("one", DType::kFloat32, {1, 3, 1});
  const Port ids = b.placeholder("ids", DType::kInt32, {5});
  const struct {
    const char* op;
    std::vector<Port> inputs;
    Attributes attributes;
    const char* expected;  // a shape, or what follows "Op 'n': "
  } rows[] = {
      {"Reshape", {x}, {{"shape", Ints{6, -1}}}, "[6,4]"},
      {"Reshape", {x}, {{"shape", Ints{-1, -1}}}, "attribute 'shape' is [-1,-1]; expected at most one -1"},
      {"Reshape", {x}, {{"shape", Ints{5, -1}}}, "an input of shape [2,3,4] cannot be given the shape [5,-1]"},
      {"Reshape", {x}, {{"shape", Ints{25}}}, "an input of shape [2,3,4] has 24 elements; shape [25] has 25"},
      {"Reshape", {x}, {{"shape", Ints{-2, 12}}}, "dimension -2 of shape [-2,12] is negative"},
      {"Reshape",
       {x},
       {{"shape", Ints{INT64_MAX, INT64_MAX}}},
       "shape [9223372036854775807,9223372036854775807] has more than 2^40 elements"},
      {"ExpandDims", {x}, {{"axis", -1}}, "[2,3,4,1]"},
      {"ExpandDims", {x}, {{"axis", 4}}, "axis 4 is not in [-4, 4)"},
      {"Squeeze", {one}, {}, "[3]"},
      {"Squeeze", {one}, {{"squeeze_dims", Ints{-1}}}, "[1,3]"},
      {"Squeeze", {one}, {{"squeeze_dims", Ints{1}}}, "dimension 1 of [1,3,1] is not 1"},
      {"Transpose", {x}, {{"perm", Ints{2, 0, 1}}}, "[4,2,3]"},
      {"Transpose", {x}, {{"perm", Ints{2, 0, 0}}}, "attribute 'perm' is [2,0,0]; expected a permutation of 0 to 2"},
      {"Transpose",
       {x},
       {{"perm", Ints{1, 0}}},
       "attribute 'perm' is [1,0], of length 2; expected 3 for an input of shape [2,3,4]"},
      {"ConcatV2",
       {x, one},
       {{"axis", 1}},
       "input 1 has shape [1,3,1]; expected that of input 0, [2,3,4], but for axis 1"},
      {"Pack", {x, x}, {{"axis", -1}}, "[2,3,4,2]"},
      {"Pack", {x, one}, {}, "input 1 has shape [1,3,1]; expected that of input 0, [2,3,4]"},
      {"Unpack", {x}, {{"num", 4}, {"axis", -1}}, "[2,3]"},
      {"Unpack", {x}, {{"num", 3}}, "attribute 'num' is 3; expected dimension 0 of shape [2,3,4], from 1 to 65536"},
      {"Split", {x}, {{"num_split", 2}, {"axis", 2}}, "[2,3,2]"},
      {"Split",
       {x},
       {{"num_split", 2}, {"axis", 1}},
       "attribute 'num_split' is 2; expected from 1 to 65536 and a divisor of dimension 1 of shape [2,3,4]"},
      {"SplitV", {x}, {{"size_splits", Ints{1, 3}}, {"axis", 2}}, "[2,3,1]"},
      {"SplitV",
       {x},
       {{"size_splits", Ints{1, 2}}, {"axis", 2}},
       "attribute 'size_splits' is [1,2], which leaves 1 of dimension 2 of shape [2,3,4]"},
      {"SplitV",
       {x},
       {{"size_splits", Ints{5, -1}}, {"axis", 2}},
       "attribute 'size_splits' is [5,-1]; expected sizes from 0 whose sum is dimension 2 of shape [2,3,4]"},
      {"Pad", {x}, {{"paddings", Ints{1, 1, 0, 0, 0, 2}}}, "[4,3,6]"},
      {"Pad",
       {x},
       {{"paddings", Ints{1, 1, 0, 0, 0, -2}}},
       "attribute 'paddings' is [1,1,0,0,0,-2]; expected numbers from 0 to 2^40"},
      {"Slice", {x}, {{"begin", Ints{0, 1, 2}}, {"size", Ints{2, 1, -1}}}, "[2,1,2]"},
      {"Slice",
       {x},
       {{"begin", Ints{0, 1, 2}}, {"size", Ints{2, 3, -1}}},
       "begin [0,1,2], size [2,3,-1] leaves an input of shape [2,3,4]"},
      {"StridedSlice", {x}, {{"begin", Ints{0, -1}}, {"end", Ints{1, -4}}, {"strides", Ints{1, -2}}}, "[1,2,4]"},
      {"StridedSlice",
       {x},
       {{"begin", Ints{1}}, {"end", Ints{2}}, {"strides", Ints{1}}, {"shrink_axis_mask", 1}},
       "[3,4]"},
      {"StridedSlice",
       {x},
       {{"begin", Ints{2}}, {"end", Ints{3}}, {"strides", Ints{1}}, {"shrink_axis_mask", 1}},
       "begin 2 of dimension 0 leaves an input of shape [2,3,4]"},
      {"StridedSlice",
       {x},
       {{"begin", Ints{1}}, {"end", Ints{2}}, {"strides", Ints{0}}},
       "strides [0]: expected none of 0"},
      {"StridedSlice",
       {x},
       {{"begin", Ints{INT64_MIN}}, {"end", Ints{INT64_MAX}}, {"strides", Ints{INT64_MAX}}},
       "[1,3,4]"},
      {"StridedSlice",
       {x},
       {{"begin", Ints{INT64_MAX}}, {"end", Ints{INT64_MIN}}, {"strides", Ints{INT64_MIN}}},
       "[1,3,4]"},
      {"Tile", {x}, {{"multiples", Ints{1, 2, 0}}}, "[2,6,0]"},
      {"Tile",
       {x},
       {{"multiples", Ints{1, 2, INT64_MAX}}},
       "attribute 'multiples' is [1,2,9223372036854775807]; expected numbers from 0 that keep the output below 2^40 "
       "elements"},
      {"GatherV2", {x, ids}, {{"axis", 1}}, "[2,5,4]"},
      {"GatherV2", {x, ids}, {{"axis", 3}}, "axis 3 is not in [-3, 3)"},
      {"UnsortedSegmentSum",
       {x, ids},
       {{"num_segments", 7}},
       "segment_ids of shape [5]; expected the first dimensions of data, of shape [2,3,4]"},
      {"OneHot", {ids}, {{"depth", 9}}, "[5,9]"},
      {"OneHot", {ids}, {{"depth", -9}}, "attribute 'depth' is -9; expected at least 0"},
  };
  for (const auto& row : rows) {
    std::string found;
    try {
      found = b.type(b.add(row.op, row.inputs, row.attributes)).shape.text();
    } catch (const GraphError&) {
      found = refusal<GraphError>([&] { b.add_named("n", row.op, row.inputs, row.attributes); });
      const std::string place = std::string(row.op) + " 'n': ";
      EXPECT_EQ(found.substr(0, place.size()), place);
      found = found.substr(place.size());
    }
    EXPECT_EQ(found, row.expected) << row.op;
  }
}

// tests: N92
TEST(Builder, OperationIdsAreConsecutiveFromOne) {
  GraphBuilder b;
  const Port x = b.placeholder("x", DType::kFloat16, {2});
  for (int i = 0; i < 5; ++i) b.add("Identity", {x});
  const Graph g = b.build();
  for (int i = 0; i < g.size(); ++i) EXPECT_EQ(g.node(i).operation_id, static_cast<uint32_t>(i + 1));
  EXPECT_EQ(b.graph().size(), 0) << "the builder is empty afterwards";

  GraphBuilder again(g);  // a pass goes on from a graph
  again.add("Identity", {{0, 0}});
  const Graph longer = again.build();
  EXPECT_EQ(longer.size(), 7);
  EXPECT_EQ(longer.node(6).name, "Identity_5");
  EXPECT_EQ(longer.node(6).operation_id, 7u);
  uint32_t next = 1;
  for (const Node& node : longer.nodes()) {
    EXPECT_EQ(node.operation_id, next);
    next += static_cast<uint32_t>(operation(node.op).sites);
  }
}

TEST(Builder, AssignNamesAVariableOfItsType) {
  GraphBuilder b;
  b.add("VariableV2", {}, {{"dtype", DType::kFloat16}, {"shape", Shape{2}}}, "weights");
  const Port x = b.placeholder("x", DType::kFloat16, {2}), y = b.placeholder("y", DType::kFloat32, {2});
  const auto build = [&](Port value, const char* ref) {
    GraphBuilder c(b.graph());
    c.add("Assign", {value}, {{"ref", ref}}, "set");
    return refusal<GraphError>([&] { c.build(); });
  };
  EXPECT_EQ(build(x, "weights"), "");
  EXPECT_EQ(build(x, "weight"),
            "Assign 'set': attribute 'ref' is 'weight'; expected the name of a VariableV2; nearest: weights");
  EXPECT_EQ(build(x, "x"), "Assign 'set': attribute 'ref' is 'x'; expected the name of a VariableV2");
  EXPECT_EQ(build(y, "weights"), "Assign 'set': the value is float32[2], but the variable 'weights' is float16[2]");
}

TEST(Verify, AcceptsWhatWasBuilt) {
  GraphBuilder b;
  const Port x = b.placeholder("x", DType::kFloat16, {4, 2});
  b.add("Split", {x}, {{"num_split", 2}, {"axis", 0}});
  b.constant(Tensor::full(DType::kBool, {2}, 1));
  const Graph g = b.build();
  EXPECT_NO_THROW(verify(g));
  EXPECT_NO_THROW(verify(Graph{}));
  EXPECT_TRUE(g == GraphBuilder(g).build());
}

TEST(Verify, CatchesEveryPlantedFault) {
  GraphBuilder b;
  const Port x = b.placeholder("x", DType::kFloat16, {4, 2});
  const Port y = b.add("Identity", {x}, {}, "y");
  b.add("Transpose", {y}, {{"perm", Ints{1, 0}}}, "z");
  const Graph good = b.build();
  const auto broken = [&](auto change) {
    Graph g = good;
    change(const_cast<Node*>(g.nodes().data()));
    return refusal<GraphError>([&] { verify(g); });
  };
  EXPECT_EQ(broken([](Node*) {}), "");
  EXPECT_EQ(broken([](Node* n) { n[1].inputs[0].node = 2; }),
            "Identity 'y': input 0 is output 0 of node number 2; expected an output of a node that was added before");
  EXPECT_EQ(broken([](Node* n) { n[2].name = "y"; }), "the name 'y' is taken; expected a new one");
  EXPECT_EQ(broken([](Node* n) { n[2].name = "w"; }), "Transpose 'w': the name leads to another node");
  EXPECT_EQ(broken([](Node* n) {
              n[2].outputs[0].shape = Shape{4, 2};
            }),
            "Transpose 'z': output 0 is float16[4,2]; inferred float16[2,4]");
  EXPECT_EQ(broken([](Node* n) { n[2].outputs[0].dtype = DType::kFloat32; }),
            "Transpose 'z': output 0 is float32[2,4]; inferred float16[2,4]");
  EXPECT_EQ(broken([](Node* n) { n[2].attributes.erase("T"); }),
            "Transpose 'z': attribute 'T' is not set; expected float16");
  EXPECT_EQ(broken([](Node* n) { n[2].attributes["T"] = DType::kFloat32; }),
            "Input 'x' of 'Transpose' Op has type float16 that does not match expected type of float32.");
  EXPECT_EQ(broken([](Node* n) { n[2].attributes["more"] = true; }).substr(0, 39),
            "Transpose 'z': unknown attribute 'more'");
  EXPECT_EQ(broken([](Node* n) { n[2].operation_id = 2; }), "Transpose 'z': operation id 2; expected 3");
  EXPECT_EQ(broken([](Node* n) { n[2].op = "Sort"; }).substr(0, 35), "node 'z': unknown operation 'Sort';");
  EXPECT_EQ(broken([](Node* n) { n[1].outputs.clear(); }), "Identity 'y': 0 outputs; inferred 1");
}

// Thousands of names: the table of names grows, and finds each, its neighbours and none beside them.
TEST(Builder, EveryNameOfALargeGraphIsFound) {
  for (const size_t room : {size_t{0}, size_t{5}, size_t{9000}}) {
    GraphBuilder b;
    b.reserve(room);
    for (int i = 0; i < 5000; ++i) b.placeholder("scope/x_" + std::to_string(7 * i), DType::kFloat16, {});
    const Graph g = b.build(), copy = g;
    for (int i = 0; i < 5000; ++i) {
      ASSERT_EQ(copy.find("scope/x_" + std::to_string(7 * i)), i);
      ASSERT_EQ(copy.find("scope/x_" + std::to_string(7 * i + 1)), -1);
    }
    EXPECT_EQ(copy.find(""), -1);
  }
  EXPECT_EQ(Graph().find("x"), -1);
}

TEST(Builder, ACopiedNodeIsTheSameWhereItsInputsHaveTheirTypes) {
  GraphBuilder b;
  const Port x = b.placeholder("x", DType::kFloat16, {4, 2});
  b.add("Softmax", {x}, {{"device", "/cpu:0"}}, "y");
  const Graph g = b.build();
  GraphBuilder again;
  const Port other = again.placeholder("other", DType::kFloat16, {4, 2});
  const int number = again.add_copy(g, 1, {other}).node;
  EXPECT_EQ(refusal<GraphError>([&] { again.add_copy(g, 1, {other}); }), "the name 'y' is taken; expected a new one");
  EXPECT_EQ(refusal<GraphError>([&] { again.add_copy(g, 0, {other}); }).substr(0, 29), "Placeholder 'x': 1 input; exp");
  const Graph copied = again.build();
  EXPECT_EQ(copied.node(number).attributes, g.node(1).attributes);
  EXPECT_EQ(copied.node(number).outputs, g.node(1).outputs);
  EXPECT_NO_THROW(verify(copied));
  // Another type: everything is inferred again, or refused.
  GraphBuilder wide;
  const Port larger = wide.placeholder("x", DType::kFloat16, {5, 2});
  const Port y = wide.add_copy(g, 1, {larger});
  EXPECT_EQ(wide.type(y).shape, (Shape{5, 2}));
  GraphBuilder unlike;
  const Port single = unlike.placeholder("x", DType::kFloat32, {4, 2});
  EXPECT_THROW(unlike.add_copy(g, 1, {single}), DtypeMismatchError);
  EXPECT_THROW(unlike.add_copy(g, 1, {Port{7, 0}}), GraphError);
}

/// What a thread that has completed no node before makes of one.
Node completed_alone(const std::string& op, const std::vector<TensorType>& inputs, const Attributes& attributes) {
  Node node;
  std::thread([&] {
    GraphBuilder b;
    std::vector<Port> ports;
    for (const TensorType& type : inputs) ports.push_back(b.placeholder("x", type.dtype, type.shape));
    node = b.graph().node(b.add(op, ports, attributes, "y").node);
  }).join();
  return node;
}

TEST(Builder, ANodeLikeOneBeforeIsCompletedLikeItAndNoOther) {
  const TensorType square{DType::kFloat16, {4, 4}}, wide{DType::kFloat16, {4, 4, 1}}, single{DType::kFloat32, {4, 4}};
  const struct {
    std::string op;
    std::vector<TensorType> inputs;
    Attributes attributes;
  } rows[] = {
      {"MatMul", {square, square}, {}},
      {"MatMul", {square, square}, {{"transpose_a", true}}},
      {"MatMul", {square, square}, {{"transpose_b", true}}},
      {"MatMul", {square, square}, {{"device", "/cpu:0"}}},
      {"MatMul", {single, single}, {}},
      {"Mul", {square, square}, {}},
      {"AddV2", {square, square}, {}},
      {"AddV2", {square, wide}, {}},
      {"AddV2", {wide, square}, {}},
      {"AddN", {square, square}, {}},
      {"AddN", {square, square, square}, {}},
      {"Cast", {square}, {{"DstT", DType::kFloat32}}},
      {"Cast", {square}, {{"DstT", DType::kInt32}}},
      {"LeakyRelu", {square}, {{"alpha", int64_t{0}}}},
      {"LeakyRelu", {square}, {{"alpha", 0.0}}},
      {"LeakyRelu", {square}, {{"alpha", -0.0}}},
      {"Transpose", {square}, {{"perm", std::vector<int64_t>{0, 1}}}},
      {"Transpose", {square}, {{"perm", std::vector<int64_t>{1, 0}}}},
      {"Reshape", {square}, {{"shape", std::vector<int64_t>{16}}}},
      {"Reshape", {square}, {{"shape", std::vector<int64_t>{2, -1}}}},
  };
  GraphBuilder b;
  for (int time = 0; time < 3; ++time)
    for (const auto& row : rows) {
      std::vector<Port> inputs;
      for (const TensorType& type : row.inputs) inputs.push_back(b.placeholder("x", type.dtype, type.shape));
      const Node& node = b.graph().node(b.add(row.op, inputs, row.attributes).node);
      const Node alone = completed_alone(row.op, row.inputs, row.attributes);
      EXPECT_EQ(node.attributes, alone.attributes) << row.op;
      EXPECT_EQ(node.attributes.size(), alone.attributes.size()) << row.op;
      EXPECT_EQ(node.outputs, alone.outputs) << row.op;
    }
  // What is refused names each node, and a name that is taken comes first.
  const Port x = b.placeholder("vector", DType::kFloat16, {4});
  for (const char* name : {"first", "second"})
    EXPECT_EQ(refusal<GraphError>([&] {
                b.add_named(name, "MatMul", {x, x}, {});
              }).substr(0, 9 + std::strlen(name)),
              "MatMul '" + std::string(name) + "'");
  EXPECT_EQ(refusal<GraphError>([&] {
              b.add_named("vector", "MatMul", {x, x}, {});
            }),
            "the name 'vector' is taken; expected a new one");
  EXPECT_EQ(refusal<GraphError>([&] {
              b.add_named("vector", "MatMul", {{-1, 0}, x}, {});
            }),
            "the name 'vector' is taken; expected a new one");
  EXPECT_NO_THROW(verify(b.build()));
}

TEST(Attributes, AreSortedAndACopyIsItsOwn) {
  const Attributes first{{"b", 2}, {"a", true}, {"b", 3}};
  EXPECT_EQ(first.size(), 2u);
  EXPECT_EQ(first.begin()->first, "a");
  EXPECT_EQ(std::get<int64_t>(first.at("b")), 2) << "of entries with one name the first";
  EXPECT_THROW((void)first.at("c"), std::out_of_range);
  Attributes second = first;
  EXPECT_EQ(second.begin(), first.begin()) << "nothing is copied before something changes";
  second["b"] = 5.0;
  second.emplace("a", false);
  second.insert_or_assign("0", DType::kInt32);
  EXPECT_EQ(std::get<int64_t>(first.at("b")), 2);
  EXPECT_EQ(first.size(), 2u);
  EXPECT_EQ(std::get<double>(second.at("b")), 5.0);
  EXPECT_TRUE(std::get<bool>(second.at("a"))) << "emplace leaves what is there";
  EXPECT_EQ(second.begin()->first, "0");
  EXPECT_NE(first, second);
  Attributes third = second;
  EXPECT_EQ(third.erase("0"), 1u);
  EXPECT_EQ(third.erase("0"), 0u);
  EXPECT_TRUE(second.contains("0"));
  third["b"] = 2;
  EXPECT_EQ(third, first);
  EXPECT_TRUE(Attributes().empty());
  EXPECT_EQ(Attributes().find("a"), Attributes().end());
}
