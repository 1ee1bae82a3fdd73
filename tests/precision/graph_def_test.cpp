// GraphDefs in and out: both forms round, nothing lost, and every error in what a file says.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/files.h"
#include "tests/precision/graph_def_text.h"

namespace softamp::test {
namespace {

using Strings = std::vector<std::string>;

// Wire format by hand: a tag is field * 8 + type, 0 for a varint, 2 for bytes with their length before.
std::string varint_field(int field, uint8_t value) {
  std::string bytes;
  for (int tag = field * 8; tag > 0; tag >>= 7) bytes += static_cast<char>((tag & 0x7f) | (tag > 0x7f ? 0x80 : 0));
  return bytes + static_cast<char>(value);
}
std::string bytes_field(int field, const std::string& value) {
  return std::string(1, static_cast<char>(field * 8 + 2)) + static_cast<char>(value.size()) + value;
}

// ---------------------------------------------------------------------------------------------------- both forms

TEST(GraphDefForms, TextAndBinaryHoldTheSame) {
  const GraphDefFile graph = GraphDefFile::load(kExample);
  EXPECT_EQ(graph.size(), 19);
  const GraphDefFile back = GraphDefFile::parse_binary(graph.binary());
  EXPECT_EQ(back.text(), graph.text());
  EXPECT_EQ(GraphDefFile::parse_text(graph.text()).binary(), graph.binary());
}

TEST(GraphDefForms, EveryKindOfAttributeAndTheLibraryGoRound) {
  const std::string text =
      node_text(
          "a", "Whatever", {"b:1", "b:0", "^c"},
          {{"list",
            "list { i: 1 i: -2 f: 0.1 b: true s: \"\\377\\000x\" type: DT_HALF shape { dim { size: -1 } "
            "unknown_rank: true } tensor { dtype: DT_INT32 int_val: 3 } func { name: \"f\" } }"},
           {"s", "s: \"\\001\\200\""},
           {"i", "i: -9223372036854775808"},
           {"f", "f: 1e-45"},
           {"inf", "f: -inf"},
           {"b", "b: false"},
           {"t",
            "tensor { dtype: DT_HALF tensor_shape { dim { size: 2 name: \"n\" } } half_val: 15360 "
            "resource_handle_val { name: \"r\" hash_code: 7 dtypes_and_shapes { dtype: DT_FLOAT } } "
            "variant_val { type_name: \"v\" metadata: \"m\" tensors { float_val: 0.1 } } }"},
           {"func", "func { name: \"g\" attr { key: \"T\" value { type: DT_BFLOAT16 } } }"},
           {"later", "placeholder: \"T\""},
           {"newer", "type: 77"},
           {"none", ""}},
          "device: \"/gpu:0\" experimental_debug_info { original_node_names: \"o\" } experimental_type { type_id: "
          "TFT_PRODUCT args { type_id: TFT_TENSOR args { type_id: TFT_FLOAT } } } ") +
      node_text("b", "Other") + node_text("c", "NoOp") +
      "library { function { signature { name: \"f\" input_arg { name: \"x\" type_attr: \"T\" is_ref: true } attr { "
      "name: "
      "\"T\" type: \"type\" allowed_values { list { type: DT_FLOAT } } } is_stateful: true control_output: \"c\" } "
      "node_def { name: \"n\" op: \"Relu\" input: \"x\" attr { key: \"T\" value { placeholder: \"T\" } } } ret { key: "
      "\"y\" value: \"n:activations:0\" } attr { key: \"_noinline\" value { b: true } } arg_attr { key: 0 value { attr "
      "{ "
      "key: \"_x\" value { i: 1 } } } } resource_arg_unique_id { key: 1 value: 2 } control_ret { key: \"c\" value: "
      "\"n\" } } gradient { function_name: \"f\" gradient_func: \"g\" } registered_gradients { gradient_func: \"g\" "
      "registered_op_type: \"h\" } }\n"
      "versions { producer: 440 min_consumer: 12 bad_consumers: 3 }\n"
      "debug_info { files: \"a.py\" traces { key: \"a@\" value { file_line_cols { line: 0 } } } }\n";
  const GraphDefFile graph = graph_of(text);
  const std::string written = graph.text();
  EXPECT_EQ(graph_of(written).text(), written);
  EXPECT_EQ(GraphDefFile::parse_binary(graph.binary()).text(), written);
  for (const char* part : {"-9223372036854775808", "e-45", "-inf", "\"\\377\\000x\"", "half_val: 15360", "type: 77",
                           "placeholder: \"T\"", "key: \"none\"", "n:activations:0", "bad_consumers: 3", "line: 0",
                           "hash_code: 7", "TFT_TENSOR", "resource_arg_unique_id", "registered_op_type: \"h\""})
    EXPECT_NE(written.find(part), std::string::npos) << part;
}

TEST(GraphDefForms, BinaryIsTheSameForTheSameGraph) {
  // Attributes are a map, which has no order of its own.
  TextAttributes attributes;
  for (int i = 0; i < 20; ++i) attributes.push_back({"a" + std::to_string(i), "i: " + std::to_string(i)});
  const std::string forwards = graph_of(node_text("n", "Op", {}, attributes)).binary();
  std::reverse(attributes.begin(), attributes.end());
  EXPECT_EQ(graph_of(node_text("n", "Op", {}, attributes)).binary(), forwards);
  EXPECT_EQ(GraphDefFile::parse_binary(forwards).binary(), forwards);
  std::vector<size_t> places;
  for (const char* name : {"a0", "a1", "a10", "a19", "a2", "a9"}) places.push_back(forwards.find(name));
  EXPECT_TRUE(std::is_sorted(places.begin(), places.end())) << "in order of the names";
}

TEST(GraphDefForms, UnknownFieldsSurviveInBinaryAndAreNotLostInText) {
  const std::string in_attribute =
      bytes_field(5, bytes_field(1, "q") + bytes_field(2, varint_field(3, 5) + varint_field(31, 9)));
  const std::string node = bytes_field(1, "n") + bytes_field(2, "Op") + in_attribute + varint_field(100, 42);
  const std::string plain = bytes_field(1, bytes_field(1, "n") + bytes_field(2, "Op"));
  const std::string graph_level = varint_field(200, 7);
  for (const auto& [bytes, name] : std::map<std::string, std::string>{
           {bytes_field(1, node), "node 'n' (Op)"},
           {bytes_field(1, bytes_field(1, "n") + bytes_field(2, "Op") + in_attribute), "node 'n' (Op)"},
           {plain + graph_level, "the graph"},
           {plain + bytes_field(2, varint_field(90, 1)), "library"}}) {
    const GraphDefFile graph = GraphDefFile::parse_binary(bytes, "newer.pb");
    EXPECT_EQ(graph.binary(), bytes);
    const std::string fault = fault_of([&, &g = graph] { g.text(); });
    EXPECT_NE(fault.find("newer.pb: "), std::string::npos) << fault;
    EXPECT_NE(fault.find(name), std::string::npos) << fault;
    EXPECT_NE(fault.find("write .pb"), std::string::npos) << fault;
    EXPECT_EQ(graph.apply({}).binary(), bytes) << "and a rewrite keeps them";
  }
  EXPECT_NE(GraphDefFile::parse_binary(plain).text(), "");
}

TEST(GraphDefForms, FilesAreReadAndWrittenByTheirEnding) {
  const TemporaryFolder folder;
  const GraphDefFile graph = GraphDefFile::load(kExample);
  for (const char* name : {"g.pb", "g.pbtxt", "g.pb.txt"}) {
    graph.save(folder.file(name));
    EXPECT_EQ(GraphDefFile::load(folder.file(name)).binary(), graph.binary()) << name;
  }
  EXPECT_EQ(read_text(folder.file("g.pb")), graph.binary());
  EXPECT_EQ(read_text(folder.file("g.pbtxt")), graph.text());
  EXPECT_NE(fault_of([&] { graph.save(folder.file("g.json")); }).find("g.json: a GraphDef's file ends in .pb"),
            std::string::npos);
  EXPECT_NE(fault_of([&] {
              GraphDefFile::load(folder.file("missing.pb"));
            }).find("missing.pb: No such file or directory; expected a GraphDef"),
            std::string::npos);
  EXPECT_NE(fault_of([&] {
              graph.save(folder.file("no/folder.pb"));
            }).find("folder.pb' cannot be written: No such file or directory"),
            std::string::npos);
  std::filesystem::create_directory(folder.file("is.pb"));
  EXPECT_NE(fault_of([&] { GraphDefFile::load(folder.file("is.pb")); }).find("is a folder"), std::string::npos);
  // Text where the name promises bytes.
  std::filesystem::copy(kExample, folder.file("text.pb"));
  EXPECT_NE(fault_of([&] { GraphDefFile::load(folder.file("text.pb")); }).find("text.pb: "), std::string::npos);
}

TEST(GraphDefForms, BrokenTextIsNamedByLineAndColumn) {
  const auto expect = [](const std::string& text, const std::string& what) {
    EXPECT_EQ(text_fault(text).substr(0, what.size()), what) << text;
  };
  expect("node {\n  name: \"x\"\n  nme: \"y\"\n}", "input: line 3, column 6: Message type");
  expect("node { name: 5 }", "input: line 1, column 14: ");
  expect("node {\n name: \"x", "input: line 2, column ");
  expect("node { attr { key: \"T\" value { type: DT_NONE } } }", "input: line 1, column ");
  expect("node { name: \"a\" name: \"b\" op: \"c\" }", "input: line 1, column ");
  expect("versions { producer: 99999999999 }", "input: line 1, column ");
  expect("\x01\x02", "input: line 1, column 1: ");
  expect("node { name: \"\\377\" op: \"a\" }", "input: nested deeper than 100 messages, or a name is not UTF-8");
  std::string deep, end;
  for (int i = 0; i < 100000; ++i) deep += "func { attr { value { ", end += "} } }";
  expect("node { name: \"x\" op: \"y\" attr { key: \"f\" value { " + deep + end + "} } }", "input: line 1, column ");
  std::string less = "func { name: \"f\" }";
  for (int i = 0; i < 60; ++i) less = "func { attr { value { " + less + " } } }";
  expect("node { name: \"x\" op: \"y\" attr { key: \"f\" value { " + less + "} } }", "input: ");
}

TEST(GraphDefForms, BrokenBytesAreRefusedAndNeverMisread) {
  const std::string bytes = GraphDefFile::load(kExample).binary();
  // Cut anywhere: refused, or, between fields, a smaller graph; that one may have lost the node that another reads.
  int refused = 0;
  for (size_t length = 0; length < bytes.size(); ++length) {
    const std::string fault = binary_fault(bytes.substr(0, length));
    if (fault.empty()) continue;
    ++refused;
    ASSERT_EQ(fault.substr(0, 7), "input: ") << length;
  }
  EXPECT_GT(refused, static_cast<int>(bytes.size()) - 25) << "19 nodes, the versions, and few numbers of one byte";
  EXPECT_NE(binary_fault(bytes.substr(0, 100)).find("within node number 1, at byte"), std::string::npos)
      << binary_fault(bytes.substr(0, 100));
  const std::string bad_node = bytes_field(1, bytes_field(1, "n") + bytes_field(2, "Op") + "\x2a\x7f");
  EXPECT_NE(binary_fault(bytes_field(1, bytes_field(1, "a") + bytes_field(2, "Op")) + bad_node)
                .find("node number 1, at byte 9 ('n'), is broken"),
            std::string::npos);
  EXPECT_NE(binary_fault(bytes_field(1, bytes_field(1, "\xff") + bytes_field(2, "Op"))).find("not UTF-8"),
            std::string::npos);
  // A SavedModel: its version in field 1, its meta graphs in field 2.
  EXPECT_NE(binary_fault(varint_field(1, 1)).find("field 1 is not what a GraphDef has there"), std::string::npos);
  EXPECT_EQ(GraphDefFile::parse_binary("").size(), 0);
}

// ---------------------------------------------------------------------------------------------------- the graph

TEST(GraphDefCheck, NamesAndInputs) {
  const std::string a = node_text("a", "Op");
  const auto expect = [](const std::string& text, const std::string& what) {
    EXPECT_NE(text_fault(text).find("input: " + what), std::string::npos) << text_fault(text);
  };
  expect(a + node_text("b", "Op") + a, "node 'a' (Op): node number 2 has the name of node number 0");
  expect(node_text("", "Op"), "node number 0 is called ''");
  expect(node_text("^a", "Op"), "node number 0 is called '^a'");
  expect(node_text("a:0", "Op"), "node number 0 is called 'a:0'");
  expect(node_text("a", ""), "node 'a' (): it has no operation");
  expect(a + node_text("b", "Op", {"c"}), "node 'b' (Op): input 'c' names no node; expected \"name\", \"name:port\"");
  expect(a + node_text("b", "Op", {"^c"}), "node 'b' (Op): input '^c' names no node");
  expect(a + node_text("b", "Op", {"a:"}), "node 'b' (Op): input 'a:' names no node");
  expect(a + node_text("b", "Op", {"a:x"}), "node 'b' (Op): input 'a:x' names no node");
  expect(a + node_text("b", "Op", {"a:-1"}), "node 'b' (Op): input 'a:-1' names no node");
  expect(a + node_text("b", "Op", {"^a:1"}), "node 'b' (Op): input '^a:1' names no node");
  expect(a + node_text("b", "Op", {""}), "node 'b' (Op): input '' names no node");
  expect(a + node_text("b", "Op", {"a:99999999999999999999"}), "node 'b' (Op): input 'a:9999");
  expect(node_text("layer/kernel", "Op") + node_text("b", "Op", {"layer/kernl"}), "node 'b' (Op): input 'layer/kernl'");
  EXPECT_NE(text_fault(node_text("layer/kernel", "Op") + node_text("b", "Op", {"layer/kernl"})).find("layer/kernel"),
            std::string::npos);
  expect(a + node_text("b", "Op", {"^a", "a"}), "node 'b' (Op): input 'a' stands behind a control input");
  EXPECT_EQ(text_fault(a + node_text("b", "Op", {"a:0", "a:65535", "^a"})), "");
}

TEST(GraphDefCheck, CyclesAreLoopsOrMistakes) {
  EXPECT_EQ(text_fault(loop_text()), "");
  EXPECT_NE(text_fault(node_text("a", "Op", {"a"})).find("a cycle: 'a' <- 'a'; expected"), std::string::npos);
  const std::string around = node_text("tail", "Op", {"b"}) + node_text("a", "Op", {"^c"}) +
                             node_text("b", "Op", {"a"}) + node_text("c", "Op", {"free", "b:1"}) +
                             node_text("free", "Op");
  const std::string fault = text_fault(around);
  EXPECT_NE(fault.find("input: a cycle: "), std::string::npos) << fault;
  for (const char* name : {"'a'", "'b'", "'c'"}) EXPECT_NE(fault.find(name), std::string::npos) << fault;
  EXPECT_EQ(fault.find("'free'"), std::string::npos) << fault;
  EXPECT_EQ(fault.find("'tail'"), std::string::npos) << fault;
  EXPECT_NE(text_fault(node_text("a", "NextIteration", {"b"}) + node_text("b", "Cast", {"a"})).find("a cycle: "),
            std::string::npos)
      << "nothing stands between NextIteration and Merge";
  std::string long_cycle = node_text("n0", "Op", {"n999"});
  for (int i = 1; i < 1000; ++i) long_cycle += node_text("n" + std::to_string(i), "Op", {"n" + std::to_string(i - 1)});
  EXPECT_LT(text_fault(long_cycle).size(), 300u) << "a long cycle is not listed whole";
}

}  // namespace
}  // namespace softamp::test
