// Graph JSON: what is read, what is refused and with which words, and that what is written reads back as it was.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "softamp/graph/graph_json.h"
#include "softamp/graph/operation.h"
#include "tests/files.h"
#include "tests/graph/structure_cases.h"
#include "tests/refusal.h"

using namespace softamp;
namespace fs = std::filesystem;

namespace {

JsonOptions named(const char* source = "g.json") {
  JsonOptions o;
  o.source = source;
  return o;
}

std::string refusal(const std::string& text, const JsonOptions& options = named()) {
  return test::refusal<GraphError>([&] { read_graph_json(text, options); });
}

/// A graph of these nodes.
std::string with_nodes(const std::string& nodes) { return R"({"softamp_graph": 1, "nodes": [)" + nodes + "]}"; }

const std::string kX = R"({"name": "x", "op": "Placeholder", "attributes": {"dtype": "float16", "shape": [2, 3]}})";

/// x, and a node n with this op, these inputs, these attributes.
std::string with_node(const std::string& op, const std::string& inputs, const std::string& attributes) {
  return with_nodes(kX + R"(, {"name": "n", "op": ")" + op + R"(", "inputs": )" + inputs + R"(, "attributes": )" +
                    attributes + "}");
}

/// x, and a constant n of this value.
std::string with_value(const std::string& value) { return with_node("Const", "[]", R"({"value": )" + value + "}"); }

}  // namespace

TEST(GraphJson, NodesInAnyOrder) {
  const GraphFile file = read_graph_file(R"({
    "outputs": ["y", "parts:1"],
    "nodes": [
      {"name": "y", "op": "Transpose", "inputs": ["parts:1"], "attributes": {"perm": [1, 0], "T": "half"}},
      {"name": "parts", "op": "Split", "inputs": ["x"], "attributes": {"num_split": 2, "axis": 0}},
      {"name": "c", "op": "Const", "attributes": {"value": {"dtype": "int32", "shape": [], "values": [7]}}},
      {"name": "x", "op": "Placeholder", "attributes": {"dtype": "float16", "shape": [2, 3]}}
    ], "softamp_graph": 1})");
  ASSERT_EQ(file.graph.size(), 4);
  const char* const order[] = {"c", "x", "parts", "y"};
  for (int i = 0; i < 4; ++i) EXPECT_EQ(file.graph.node(i).name, order[i]);
  EXPECT_EQ(file.graph.type(file.graph.port("y")), (TensorType{DType::kFloat16, {3, 1}}));
  EXPECT_EQ(file.outputs, (std::vector<std::string>{"y", "parts:1"}));
  EXPECT_NO_THROW(verify(file.graph));
}

TEST(GraphJson, RefusesWithPlaceAndExpectation) {
  const struct {
    std::string text, message;
  } rows[] = {
      // no JSON, or not ours
      {"", "line 1, column 1: "},
      {"{\"softamp_graph\": 1,\n \"nodes\": [,]}", "line 2, column 12: "},
      {"{\"softamp_graph\": 1, \"nodes\": []} x", "line 1, column 35: "},
      {"{\"softamp_graph\": 1, \"nodes\": [\"\xff\"]}", "line 1, column 33: "},
      {"[]", "expected an object with the field 'softamp_graph', found array"},
      {"{}", "the field 'softamp_graph' is missing; expected 1"},
      {R"({"softamp_graph": 0, "nodes": []})", "'softamp_graph': expected 1, found number 0"},
      {R"({"softamp_graph": 2, "nodes": []})",
       "its \"softamp_graph\" is 2: it is of a newer version of softamp than this one, which reads 1"},
      {R"({"softamp_graph": 1})", "the field 'nodes' is missing; expected a list"},
      {R"({"softamp_graph": 1, "nodes": {}})", "'nodes': expected a list, found object"},
      {R"({"softamp_graph": 1, "nodes": [], "output": []})", "unknown field 'output'; nearest: outputs"},
      {R"({"softamp_graph": 1, "nodes": [], "nodes": []})", "the field 'nodes' stands twice in an object"},
      {R"({"softamp_graph": 1, "nodes": [], "outputs": ["y"]})", "the graph has no node 'y'"},
      {R"({"softamp_graph": 1, "nodes": [], "outputs": "y"})",
       "'outputs': expected a list of names, found string \"y\""},
      {std::string(40, '['), "nested deeper than 16"},
      {std::string("{}\0{", 4), "line 1, column 3: a byte 0"},
      {R"({"softamp_graph": 1e999, "nodes": []})", "line 1, column 19: the number 1e999 is beyond binary64"},
      // nodes
      {with_nodes("7"), "nodes[0]: expected an object, found number 7"},
      {with_nodes("{}"), "nodes[0]: the field 'name' is missing"},
      {with_nodes(R"({"name": 7})"), "nodes[0]: 'name': expected a string, found number 7"},
      {with_nodes(R"({"name": "a b", "op": "Const"})"), "nodes[0]: 'a b' is not a valid node name: expected letters"},
      {with_nodes(R"({"name": "x"})"), "node 'x': the field 'op' is missing"},
      {with_nodes(R"({"name": "x", "op": "Placehold"})"),
       "node 'x': unknown operation 'Placehold'; nearest: Placeholder"},
      {with_nodes(R"({"name": "x", "op": "Const", "attribute": {}})"),
       "node 'x': unknown field 'attribute'; nearest: attributes"},
      {with_nodes(kX + "," + kX), "node 'x': the name is taken by nodes[0]; expected a name of its own"},
      {with_nodes(R"({"name": "x", "op": "Const", "attributes": []})"),
       "node 'x': 'attributes': expected an object, found array"},
      // inputs
      {with_node("Identity", "\"x\"", "{}"), "node 'n': 'inputs': expected a list of names, found string \"x\""},
      {with_node("Identity", "[0]", "{}"), "node 'n': input 0: expected \"name\" or \"name:port\", found number 0"},
      {with_node("Identity", "[\"xx\"]", "{}"), "node 'n': input 0: the graph has no node 'xx'; nearest: x"},
      {with_node("Identity", "[\"^x\"]", "{}"), "node 'n': input 0: the graph has no node '^x'; nearest: x"},
      {with_node("Identity", "[\"x:a\"]", "{}"), "node 'n': input 0: 'x:a': expected \"name\" or \"name:port\""},
      {with_node("Identity", "[\"x:99999999999\"]", "{}"), "node 'n': input 0: 'x:99999999999': expected"},
      {with_node("Identity", "[\"x:1\"]", "{}"), "node 'n': input 0: node 'x' has 1 outputs; port 1 is not among them"},
      {with_node("Identity", "[]", "{}"), "Identity 'n': 0 inputs; expected 1 (input)"},
      {with_node("Identity", "[\"n\"]", "{}"), "the nodes form a cycle: 'n' reads 'n'"},
      {with_nodes(
           kX +
           R"(, {"name": "a", "op": "Pack", "inputs": ["x", "c"]}, {"name": "b", "op": "Identity", "inputs": ["a"]},
                         {"name": "c", "op": "Identity", "inputs": ["b"]}, {"name": "d", "op": "Identity", "inputs": ["c"]})"),
       "the nodes form a cycle: 'a' reads 'c' reads 'b' reads 'a'"},
      // attributes
      {with_node("Reshape", "[\"x\"]", "{}"), "Reshape 'n': attribute 'shape' is missing; expected kind ints"},
      {with_node("Reshape", "[\"x\"]", R"({"shap": [6]})"),
       "node 'n': unknown attribute 'shap' of Reshape; nearest: shape"},
      {with_node("Reshape", "[\"x\"]", R"({"shape": 6})"),
       "node 'n': attribute 'shape': expected a list of integers, found number 6"},
      {with_node("Reshape", "[\"x\"]", R"({"shape": [6.0]})"),
       "node 'n': attribute 'shape': expected an integer of 64 bits, found number 6.0"},
      {with_node("Reshape", "[\"x\"]", R"({"shape": [9223372036854775808]})"),
       "node 'n': attribute 'shape': expected an integer of 64 bits, found number 9223372036854775808"},
      {with_node("Reshape", "[\"x\"]", R"({"shape": [7]})"),
       "Reshape 'n': an input of shape [2,3] has 6 elements; shape [7] has 7"},
      {with_node("Reshape", "[\"x\"]", R"({"shape": [6], "T": "float17"})"),
       "node 'n': attribute 'T': expected float16, bfloat16, float32, float64, int32, bool, int64, uint8 or string, "
       "found "
       "string \"float17\""},
      {with_node("Reshape", "[\"x\"]", R"({"shape": [6], "T": "float32"})"),
       "node 'n': Input 'tensor' of 'Reshape' Op has type float16 that does not match expected type of float32."},
      {with_node("Pad", "[\"x\"]", R"({"paddings": [0,0,0,0], "constant_value": true})"),
       "node 'n': attribute 'constant_value': expected a number, found boolean true"},
      {with_node("PrintTensor", "[\"x\"]", R"({"message": 1})"),
       "node 'n': attribute 'message': expected a string, found number 1"},
      {with_node("Placeholder", "[]", R"({"dtype": "bool", "shape": [-1]})"),
       "node 'n': attribute 'shape': dimension -1 of shape [-1] is negative"},
      {with_node("Placeholder", "[]", R"({"dtype": "bool", "shape": [1048576, 1048577]})"),
       "node 'n': attribute 'shape': shape [1048576,1048577] has more than 2^40 elements"},
      {with_node("Placeholder", "[]", R"({"dtype": "bool", "shape": [18446744073709551615]})"),
       "node 'n': attribute 'shape': dimension 18446744073709551615 is above 2^40"},
      {with_node("Placeholder", "[]", R"({"dtype": "bool", "shape": [2.5]})"),
       "node 'n': attribute 'shape': expected a dimension, an integer from 0, found number 2.5"},
      {with_node("Assign", "[\"x\"]", R"({"ref": "v"})"),
       "Assign 'n': attribute 'ref' is 'v'; expected the name of a VariableV2"},
      // constants
      {with_value("3"), "node 'n': attribute 'value': expected {\"dtype\", \"shape\", \"values\"}, found number 3"},
      {with_value(R"({"shape": [1], "values": [1]})"), "node 'n': attribute 'value': the field 'dtype' is missing"},
      {with_value(R"({"dtype": "bool", "values": [1]})"), "node 'n': attribute 'value': the field 'shape' is missing"},
      {with_value(R"({"dtype": "bool", "shape": []})"),
       "node 'n': attribute 'value': the field 'values' (or 'base64', 'npy') is missing"},
      {with_value(R"({"dtype": "bool", "shape": [], "values": [1], "npy": "a"})"),
       "node 'n': attribute 'value': 'npy' and 'values'; expected one of them"},
      {with_value(R"({"dtype": "bool", "shape": [], "value": [1]})"),
       "node 'n': attribute 'value': unknown field 'value'; expected 'dtype'"},
      {with_value(R"({"dtype": "bool", "shape": [2], "values": [1]})"),
       "node 'n': attribute 'value': 'values' has 1 numbers; shape [2] expects 2"},
      {with_value(R"({"dtype": "bool", "shape": [1], "values": [2]})"),
       "'values'[0]: expected true or false, found number 2"},
      {with_value(R"({"dtype": "int32", "shape": [1], "values": [2147483648]})"),
       "'values'[0]: expected an int32, found number 2147483648"},
      {with_value(R"({"dtype": "int32", "shape": [1], "values": [-2147483649]})"),
       "'values'[0]: expected an int32, found number -2147483649"},
      {with_value(R"({"dtype": "int32", "shape": [1], "values": [1.5]})"),
       "'values'[0]: expected an int32, found number 1.5"},
      {with_value(R"({"dtype": "float16", "shape": [1], "values": [null]})"),
       "'values'[0]: expected a number, found null null"},
      {with_value(R"({"dtype": "float16", "shape": [1], "values": ["one"]})"),
       "'values'[0]: 'one' is no number: expected decimal, nan, inf, -inf or a code 0x3c00"},
      {with_value(R"({"dtype": "float16", "shape": [1], "values": ["0x13c00"]})"),
       "'values'[0]: '0x13c00' is no code of 16 bits in hexadecimal"},
      {with_value(R"({"dtype": "float16", "shape": [1], "values": ["0x"]})"),
       "'values'[0]: '0x' is no code of 16 bits"},
      {with_value(R"({"dtype": "float16", "shape": [1099511627776], "values": [1]})"),
       "node 'n': attribute 'value': 2199023255552 bytes, where constants may have 2147483648 in all"},
      {with_value(R"({"dtype": "float16", "shape": [1073741824], "values": [1]})"),
       "'values' has 1 numbers; shape [1073741824] expects"},
      {with_value(R"({"dtype": "float16", "shape": [3], "base64": "AAAA"})"),
       "'base64' has 4 letters; 6 bytes expect 8"},
      {with_value(R"({"dtype": "float16", "shape": [3], "base64": "AAAAAAA="})"),
       "'base64' holds something other than base64"},
      {with_value(R"({"dtype": "float16", "shape": [2], "base64": "AAAAAB=="})"),
       "'base64' holds something other than base64"},
      {with_value(R"({"dtype": "bool", "shape": [3], "base64": "AAEC"})"), "'base64': a bool is 2; expected 0 or 1"},
      {with_value(R"({"dtype": "float16", "shape": [3], "npy": "a.npy"})"),
       "'npy': no folder is given in which such files would lie"},
  };
  for (const auto& row : rows) {
    const std::string found = refusal(row.text);
    EXPECT_EQ(found.rfind("g.json: ", 0), 0u) << found;
    EXPECT_NE(found.find(row.message), std::string::npos) << found << "\nexpected " << row.message;
  }
}

TEST(GraphJson, AMismatchKeepsItsKindAndItsWords) {
  try {
    read_graph_json(with_nodes(kX + R"(, {"name": "i", "op": "Identity", "inputs": ["x"]},
                                      {"name": "n", "op": "GatherV2", "inputs": ["x", "i"]})"),
                    named());
    FAIL();
  } catch (const DtypeMismatchError& e) {
    EXPECT_STREQ(e.what(),
                 "g.json: node 'n': Input 'indices' of 'GatherV2' Op has type float16 that does not match "
                 "expected type of int32.");
    EXPECT_EQ(e.node, "n");
  }
}

TEST(GraphJson, LimitsAreObeyed) {
  JsonOptions o = named();
  o.most_nodes = 0;
  EXPECT_EQ(refusal(with_nodes(kX), o), "g.json: 1 nodes; expected at most 0");
  o = named();
  o.most_constant_bytes = 7;
  const std::string four = R"({"dtype": "float16", "shape": [2], "values": [1, 2]})";
  EXPECT_EQ(refusal(with_value(four), o), "");
  EXPECT_EQ(refusal(with_nodes(R"({"name": "a", "op": "Const", "attributes": {"value": )" + four +
                               R"(}}, {"name": "b", "op": "Const", "attributes": {"value": )" + four + "}}"),
                    o),
            "g.json: node 'b': attribute 'value': 4 bytes, where constants may have 7 in all");
  std::string splits = R"({"name": "x", "op": "Placeholder", "attributes": {"dtype": "bool", "shape": [65536]}})";
  for (const char* name : {"a", "b", "c"})
    splits += std::string(R"(, {"name": ")") + name +
              R"(", "op": "Split", "inputs": ["x"], "attributes": {"num_split": 65536, "axis": 0}})";
  o = named();
  o.most_nodes = 10;
  EXPECT_EQ(refusal(with_nodes(splits), o),
            "g.json: node 'b': the graph has too many outputs; expected at most two to a node");
  o = named();
  o.most_bytes = with_value(four).size();
  EXPECT_EQ(refusal(with_value(four), o), "");
  --o.most_bytes;
  EXPECT_EQ(refusal(with_value(four), o),
            "g.json: " + std::to_string(o.most_bytes + 1) + " bytes; expected at most " + std::to_string(o.most_bytes));
  o = named();
  o.deepest = 5;
  EXPECT_EQ(refusal(with_value(four), o), "g.json: line 1, column " +
                                              std::to_string(with_value(four).find(four) + four.find('[') + 1) +
                                              ": nested deeper than 5");
  o.deepest = 6;
  EXPECT_EQ(refusal(with_value(four), o), "");
}

TEST(GraphJson, ValuesAreReadToTheBit) {
  const Graph g = read_graph_json(with_value(
      R"({"dtype": "float16", "shape": [9], "values": [1, -0.0, "0x7e01", "nan", "inf", "-inf", "0.1", 65520, "0x1.8p-24"]})"));
  const Tensor& t = *attribute<std::shared_ptr<const Tensor>>(g.node(g.find("n")), "value");
  const uint16_t codes[] = {0x3c00, 0x8000, 0x7e01, 0x7e00, 0x7c00, 0xfc00, 0x2e66, 0x7c00, 0x0002};
  for (size_t i = 0; i < 9; ++i) EXPECT_EQ(t.as<uint16_t>()[i], codes[i]) << i;
  const Graph wide = read_graph_json(
      with_value(R"({"dtype": "float64", "shape": [4], "values": [0.1, "0.1", "+2.5e-308", "0x7ff0000000000001"]})"));
  const Tensor& d = *attribute<std::shared_ptr<const Tensor>>(wide.node(wide.find("n")), "value");
  EXPECT_EQ(d.as<double>()[0], 0.1);
  EXPECT_EQ(d.as<double>()[1], 0.1);
  EXPECT_EQ(d.as<double>()[2], 2.5e-308);
  EXPECT_EQ(d.code(3), 0x7ff0000000000001u);
}

/// A text of float64 is a number like that of any float: decimal or hexadecimal, rounded once.
// tests: N214
TEST(GraphJson, HexadecimalAndDecimalTextsOfFloat64) {
  const auto json = [](const std::string& text) {
    return with_value(R"({"dtype": "float64", "shape": [1], "values": [")" + text + "\"]}");
  };
  const auto value = [&](const std::string& text) {
    const Graph g = read_graph_json(json(text));
    return attribute<std::shared_ptr<const Tensor>>(g.node(g.find("n")), "value")->as<double>()[0];
  };
  EXPECT_EQ(value("0x1.8p-3"), 0x1.8p-3);
  EXPECT_EQ(value("-0x1.fffffffffffffp1023"), -0x1.fffffffffffffp1023);
  EXPECT_EQ(value("0x1p-1074"), 0x1p-1074);
  EXPECT_EQ(value("0x1.00000000000008p0"), 1) << "a tie";
  EXPECT_EQ(value("0x1.000000000000080000000000000001p0"), 0x1.0000000000001p0);
  for (const std::string text :
       {"9007199254740993", "9007199254740993.00000000000000000001", "4.9e-324", "2.4703282292062328e-324",
        "2.2250738585072011e-308", "1.7976931348623158e308", "179769313486231570000e288", "0.1", "-0", "1e23"})
    EXPECT_EQ(value(text), std::strtod(text.c_str(), nullptr)) << text;
  std::mt19937_64 random(7);
  for (int i = 0; i < 300; ++i) {
    const std::string text = std::to_string(random()) + std::to_string(random() % 1000) + "e" +
                             std::to_string(static_cast<int>(random() % 600) - 320);
    EXPECT_EQ(value(text), std::strtod(text.c_str(), nullptr)) << text;
  }
  for (const std::string text : {"0x1p1024", "1e309", "-1e400", "0x1p-1076", "1e-400"})
    EXPECT_EQ(refusal(json(text)),
              "g.json: node 'n': attribute 'value': 'values'[0]: '" + text + "' is no number in the range of float64");
}

TEST(GraphJson, FilesBesideTheGraph) {
  const test::TemporaryFolder folder;
  fs::create_directory(folder.path() / "weights");
  Tensor w(DType::kBFloat16, {2, 40});
  for (size_t i = 0; i < 80; ++i) w.as<uint16_t>()[i] = static_cast<uint16_t>(i * 800);
  save_npy(w, folder.path() / "weights" / "w.npy");
  const auto text = [](const std::string& file, const char* shape = "[2, 40]") {
    return with_value(R"({"dtype": "bfloat16", "shape": )" + std::string(shape) + R"(, "npy": ")" + file + "\"}");
  };
  std::ofstream(folder.path() / "g.json") << text("weights/w.npy");
  const Graph g = load_graph(folder.path() / "g.json").graph;
  EXPECT_TRUE(attribute<std::shared_ptr<const Tensor>>(g.node(g.find("n")), "value")->same_bits(w));

  JsonOptions o = named();
  o.folder = folder.path() / "weights";
  EXPECT_EQ(refusal(text("w.npy"), o), "");
  for (const std::string bad : {"../weights/w.npy", "/etc/passwd", "", "a/../../weights/w.npy", ".."})
    EXPECT_EQ(refusal(text(bad), o),
              "g.json: node 'n': attribute 'value': 'npy' is '" + bad + "'; expected a relative path without '..'");
  EXPECT_EQ(refusal(text("w.npy", "[40, 2]"), o),
            "g.json: node 'n': attribute 'value': 'npy': the file has shape (2, 40); expected [40,2]");
  EXPECT_NE(refusal(text("v.npy"), o).find("cannot open"), std::string::npos);
  save_npy(Tensor(DType::kFloat32, {2, 40}), folder.path() / "weights" / "f.npy");
  EXPECT_NE(refusal(text("f.npy"), o).find("'npy': the file holds float32[2,40]; expected bfloat16[2,40]"),
            std::string::npos);
  EXPECT_THROW(load_graph(folder.path() / "none.json"), GraphError);
  EXPECT_THROW(load_graph(folder.path()), GraphError);
}

TEST(GraphJson, WrittenGraphsReadBackEqual) {
  std::mt19937 random(5);
  for (int round = 0; round < 100; ++round) {
    GraphBuilder b;
    const DType dtype = static_cast<DType>(round % 6);
    for (const char* op :
         {"Transpose", "ConcatV2", "Pack", "Unpack", "Split", "SplitV", "Pad", "Slice", "StridedSlice", "Tile"})
      test::add_random(b, random, op, dtype);
    Tensor bits(dtype, {test::pick(random, 0, 100)});  // as numbers, and beyond 64 elements as base64
    for (size_t i = 0; i < bits.bytes(); ++i)
      static_cast<uint8_t*>(bits.data())[i] = dtype == DType::kBool ? random() & 1 : static_cast<uint8_t>(random());
    b.constant(std::move(bits));
    const Graph g = b.build();
    const std::string text = graph_json(g, {"Const"});
    const GraphFile back = read_graph_file(text);
    ASSERT_TRUE(back.graph == g) << text;
    EXPECT_EQ(back.outputs, std::vector<std::string>{"Const"});
    EXPECT_EQ(graph_json(back.graph, back.outputs), text);
  }
}

TEST(GraphJson, EveryCodeOfAHalfRoundTrips) {
  GraphBuilder b;
  for (uint32_t first = 0; first < 65536; first += 64) {
    Tensor t(DType::kFloat16, {64});
    for (uint32_t i = 0; i < 64; ++i) t.as<uint16_t>()[i] = static_cast<uint16_t>(first + i);
    b.constant(std::move(t));
  }
  const Graph g = b.build();
  EXPECT_TRUE(read_graph_json(graph_json(g)) == g);
}

TEST(GraphJson, FloatAttributesRoundTrip) {
  for (const double value : {0.1, -0.0, 1e300, 5e-324, HUGE_VAL, -HUGE_VAL}) {
    GraphBuilder b;
    b.add("Pad", {b.placeholder("x", DType::kFloat64, {1})},
          {{"paddings", std::vector<int64_t>{1, 1}}, {"constant_value", value}});
    const Graph g = b.build();
    EXPECT_TRUE(read_graph_json(graph_json(g)) == g) << value;
  }
}

TEST(GraphJson, ADeepChainAndAWideGraphAreReadInOrder) {
  std::string nodes;
  const int count = 20000;
  for (int i = count; i-- > 0;)
    nodes += R"({"name": "n)" + std::to_string(i) + R"(", "op": "Identity", "inputs": [")" +
             (i == 0 ? "x" : "n" + std::to_string(i - 1)) + "\"]}, ";
  const Graph g = read_graph_json(with_nodes(nodes + kX));
  ASSERT_EQ(g.size(), count + 1);
  for (int i = 0; i < count; ++i) ASSERT_EQ(g.node(i + 1).name, "n" + std::to_string(i));
}

// Every file that the fuzzer kept is refused with a message, or reads back after it is written again.
TEST(GraphJsonCorpus, EveryFileIsRefusedOrUnderstood) {
  size_t files = 0, understood = 0;
  for (const auto& entry : fs::directory_iterator(SOFTAMP_SOURCE_DIR "/tests/fuzz/corpus/graph_json")) {
    ++files;
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    JsonOptions o = named();
    o.most_constant_bytes = 1 << 20;
    try {
      const GraphFile file = read_graph_file(text, o);
      verify(file.graph);
      EXPECT_TRUE(read_graph_json(graph_json(file.graph, file.outputs)) == file.graph) << entry.path();
      ++understood;
    } catch (const GraphError& e) {
      EXPECT_EQ(std::string(e.what()).rfind("g.json: ", 0), 0u) << e.what();
    }
  }
  EXPECT_GE(files, 10u);
  EXPECT_GE(understood, 4u);
  EXPECT_LT(understood, files);
}
