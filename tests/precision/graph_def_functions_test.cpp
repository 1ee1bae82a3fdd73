// Functions of a GraphDef opened to the rewrite: written out as TensorFlow does, or rewritten where they stand; and the
// types of what comes out.
#include <fstream>
#include <regex>
#include <set>

#include "softamp/precision/amp_level.h"
#include "softamp/precision/graph_rewrite.h"
#include "softamp/precision/mechanism.h"
#include "softamp/precision/recipe.h"

#include "tests/precision/graph_def_import_rig.h"
#include "tests/precision/tensorflow_answers.h"

namespace softamp::test {
namespace {

using Strings = std::vector<std::string>;

const std::string kFloatList = "list { type: DT_FLOAT }";

TextAttributes call_of(const std::string& function) {
  return {{"f", func_value(function)}, {"Tin", kFloatList}, {"Tout", kFloatList}};
}
std::string identity_text(const std::string& name, const std::string& input) {
  return node_text(name, "Identity", {input}, kOfFloats);
}
const std::string kInput = placeholder_text("x", Shape{2, 2});
/// relu(a a)
const std::string kLayer = function_text(
    "layer", {{"a", "FLOAT"}}, {{"r", "FLOAT"}},
    node_text("m", "MatMul", {"a", "a"}, kOfFloats) + node_text("relu", "Relu", {"m:product:0"}, kOfFloats),
    {{"r", "relu:activations:0"}});

/// A name without the numbers that names of added nodes have: "/_7", and "/_7" before "_switch".
std::string without_numbers(const std::string& name) {
  std::string text;
  for (size_t at = 0; at < name.size();) {
    const size_t digits = name.compare(at, 2, "/_") == 0 ? at + 2 : name.size();
    const size_t end = std::min(name.find_first_not_of("0123456789", std::min(digits, name.size())), name.size());
    const bool number =
        end > digits && (end == name.size() || name[end] == '/' || name.compare(end, 7, "_switch") == 0);
    if (number)
      at = end;
    else
      text += name[at++];
  }
  return text;
}

struct Rewritten {
  GraphDefFile file;
  std::multiset<std::string> low, casts;  ///< "name.attribute", "name>h"
  std::vector<std::string> notes;
};

/// functions: names of those whose nodes "<function>/<name>" are "<function>|<name>" here.
Rewritten rewritten(const GraphDefFile& original, const std::vector<std::string>& fetches,
                    const std::function<Colouring(const OpGraph&)>& colour,
                    const std::vector<std::string>& functions = {}) {
  Rewritten result{original, {}, {}, {}};
  const GraphDefFile open = original.opened(fetches, &result.notes).with_fused_batch_norm_v2();
  const OpGraph picture = open.op_graph(fetches);
  const CastPlan plan = plan_casts(picture, colour(picture));
  const auto name_of_node = [&](int n) {
    std::string name = picture.nodes[static_cast<size_t>(n)].name;
    for (const std::string& f : functions)
      if (name.starts_with(f + "/")) name[f.size()] = '|';
    return without_numbers(name);
  };
  for (const auto& [n, u] : plan.retyped)
    result.low.insert(name_of_node(n) + "." +
                      picture.nodes[static_cast<size_t>(n)].units[static_cast<size_t>(u)].attribute);
  for (const PlannedCast& c : plan.casts)
    result.casts.insert(name_of_node(c.from.node) + (c.to == DType::kFloat32 ? ">f" : ">h"));
  result.file = open.apply(plan).closed();
  result.file.verify_rewrite_of(original);
  return result;
}

Colouring by_tensorflow(const OpGraph& picture) { return colour_tensorflow(picture, OpLists::tf_2_3()); }

std::vector<std::string> functions_named_in(const std::multiset<std::string>& words) {
  std::set<std::string> names;
  for (const std::string& word : words)
    if (const size_t at = word.find('|'); at != std::string::npos) names.insert(word.substr(0, at));
  return {names.begin(), names.end()};
}

// tests: T08
TEST(GraphDefFunctions, AnswersOfTensorFlowItself) {  // MIXED_PRECISION T08, T16
  std::ifstream in(SOFTAMP_SOURCE_DIR "/tests/precision/tensorflow_functions.txt");
  int graphs = 0;
  size_t half_units = 0;
  while (in) {
    const Answer answer = read_answer(in);
    if (answer.text.empty()) continue;
    SCOPED_TRACE("graph number " + std::to_string(graphs++));
    std::vector<std::string> functions = functions_named_in(answer.half);
    for (const std::string& f : functions_named_in(answer.casts)) functions.push_back(f);
    const Rewritten ours = rewritten(graph_of(answer.text), answer.fetches, by_tensorflow, functions);
    EXPECT_EQ(ours.low, answer.half);
    if (!answer.casts.contains("*")) {
      EXPECT_EQ(ours.casts, answer.casts);
    }
    half_units += ours.low.size();
    // What is written can be read, and a second rewrite adds nothing.
    const GraphDefFile again = GraphDefFile::parse_binary(ours.file.binary(), "again");
    EXPECT_EQ(rewritten(again, answer.fetches, by_tensorflow).casts.size(), 0u);
  }
  EXPECT_EQ(graphs, 52);
  EXPECT_GT(half_units, 500u);
}

// tests: T08
TEST(GraphDefFunctions, EveryMechanismEntersACall) {
  for (const bool by_name : {false, true}) {
    const std::string text =
        kInput +
        (by_name ? node_text("y", "layer", {"x"}) : node_text("y", "PartitionedCall", {"x"}, call_of("layer"))) +
        identity_text("out", "y") + library_text(kLayer);
    for (const char* mechanism : {"tensorflow", "tensorflow=2019", "recipe=full", "recipe=basic",
                                  "policy=mixed_float16", "level=O2", "level=O1"}) {
      const Mechanism m = Mechanism::parse(mechanism);
      const Rewritten r = rewritten(graph_of(text), {"out"}, [&](const OpGraph& g) { return m.colour(g); });
      EXPECT_TRUE(r.low.contains("y/m.T")) << mechanism;
      EXPECT_EQ(r.notes, std::vector<std::string>{}) << mechanism;
    }
  }
}

/// Values are those of before, whether functions are written out by the rewrite or when the graph runs.
TEST(GraphDefFunctions, WrittenOutGraphsRunAlike) {
  const TextAttributes lowered = {{"_lower_using_switch_merge", "b: true"}};
  const auto with = [](TextAttributes all, const TextAttributes& more) {
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  const std::string add = function_text("add", {{"a", "FLOAT"}}, {{"r", "FLOAT"}},
                                        node_text("s", "AddV2", {"a", "a"}, kOfFloats), {{"r", "s:z:0"}});
  const TextAttributes branch = with({{"then_branch", func_value("layer")},
                                      {"else_branch", func_value("add")},
                                      {"Tcond", "type: DT_BOOL"},
                                      {"Tin", kFloatList},
                                      {"Tout", kFloatList}},
                                     lowered);
  const TextAttributes choice = with({{"branches", "list { " + func_value("layer") + " " + func_value("add") + " }"},
                                      {"Tin", kFloatList},
                                      {"Tout", kFloatList}},
                                     lowered);
  const std::string cond =
      function_text("cond", {{"i", "INT32"}, {"a", "FLOAT"}}, {{"go", "BOOL"}},
                    int_text("three", 3) + node_text("l", "Less", {"i", "three:output:0"}, {{"T", "type: DT_INT32"}}),
                    {{"go", "l:z:0"}});
  // Each round calls the layer in a loop of its own.
  const std::string inner = node_text(
      "w", "StatelessWhile", {"zero:output:0", "a"},
      with({{"cond", func_value("cond")}, {"body", func_value("round")}, {"T", "list { type: [DT_INT32, DT_FLOAT] }"}},
           lowered));
  const auto body = [&](const std::string& name, const std::string& nodes, const std::string& result) {
    return function_text(
        name, {{"i", "INT32"}, {"a", "FLOAT"}}, {{"i_", "INT32"}, {"a_", "FLOAT"}},
        int_text("one", 1) + node_text("n", "AddV2", {"i", "one:output:0"}, {{"T", "type: DT_INT32"}}) + nodes,
        {{"i_", "n:z:0"}, {"a_", result}});
  };
  const std::string round = body("round", node_text("c", "PartitionedCall", {"a"}, call_of("add")), "c:output:0");
  const std::string outer = body("outer", int_text("zero", 0) + inner, "w:output:1");
  const std::string library = library_text(kLayer + add + cond + round + outer);
  const auto loop = [&](const std::string& function) {
    return int_text("i", 0) +
           node_text("y", "While", {"i", "x"},
                     with({{"cond", func_value("cond")},
                           {"body", func_value(function)},
                           {"T", "list { type: [DT_INT32, DT_FLOAT] }"}},
                          lowered)) +
           identity_text("out", "y:1");
  };
  Values feeds;
  feeds.emplace("x", Tensor::from_values(DType::kFloat32, Shape{2, 2}, std::vector<double>{1, -2, 0.5, 3}));
  for (const std::string& nodes :
       {node_text("y", "PartitionedCall", {"x"}, call_of("layer")) + identity_text("out", "y"),
        const_text("p", "BOOL", {}, "bool_val: true") + node_text("y", "StatelessIf", {"p", "x"}, branch) +
            identity_text("out", "y"),
        const_text("p", "BOOL", {}, "bool_val: false") + node_text("y", "If", {"p", "x"}, branch) +
            identity_text("out", "y"),
        int_text("k", 0) + node_text("y", "StatelessCase", {"k", "x"}, choice) + identity_text("out", "y"),
        int_text("k", 7) + node_text("y", "Case", {"k", "x"}, choice) + identity_text("out", "y"), loop("round"),
        loop("outer")}) {
    const GraphDefFile file = graph_of(kInput + nodes + library);
    const GraphDefFile open = file.opened(Strings{"out"}).closed();
    EXPECT_NE(open.size(), file.size());
    expect_bits(run_graph_def(open, feeds, {"out"}), run_graph_def(file, feeds, {"out"}), nodes);
    for (const OpNode& node : open.op_graph().nodes) EXPECT_EQ(node.op.find("While"), std::string::npos) << node.name;
  }
}

// tests: T08
TEST(GraphDefFunctions, WhatIsNotWrittenOutIsRewrittenInsideAndNamed) {
  const auto marked = [](std::string function, const std::string& mark) {
    return function.insert(function.rfind('}'), "attr { key: \"" + mark + "\" value { b: true } } ");
  };
  const std::string call = node_text("y", "PartitionedCall", {"x"}, call_of("layer")) + identity_text("out", "y");
  const Rewritten inside =
      rewritten(graph_of(kInput + call + library_text(marked(kLayer, "_noinline"))), {"out"}, by_tensorflow, {"layer"});
  EXPECT_EQ(inside.low, (std::multiset<std::string>{"layer|m.T", "layer|relu.T"}));
  EXPECT_EQ(inside.notes, (Strings{"'y' (PartitionedCall) of function 'layer' is not written out: it is marked "
                                   "'_noinline'"}));
  EXPECT_NE(inside.file.text().find("DT_HALF"), std::string::npos);
  Values feeds;
  feeds.emplace("x", Tensor::full(DType::kFloat32, Shape{2, 2}, 1.5));
  EXPECT_EQ(run_graph_def(inside.file, feeds, {"out"}).value(0), 4.5);
  const Rewritten left =
      rewritten(graph_of(kInput + call + library_text(marked(marked(kLayer, "_noinline"), "_tf_data_function"))),
                {"out"}, by_tensorflow);
  EXPECT_EQ(left.low.size(), 0u);
  EXPECT_EQ(left.notes.back(), "function 'layer' is left as it is: tf.data runs it");
  const Rewritten uncalled =
      rewritten(graph_of(kInput + identity_text("out", "x") + library_text(kLayer)), {"out"}, by_tensorflow);
  EXPECT_EQ(uncalled.notes, Strings{"1 function that nothing in the graph calls is left as it is: 'layer'"});
  EXPECT_NE(uncalled.file.text().find("layer"), std::string::npos);
}

/// A list that a loop fills, and that is read behind it: `go_lower` says whether TensorFlow writes the loop out.
std::string list_text(bool go_lower) {
  const std::string types = "list { type: [DT_INT32, DT_VARIANT, DT_FLOAT] }";
  const TextAttributes elements = {{"element_dtype", "type: DT_FLOAT"}};
  const TextAttributes made = {{"element_dtype", "type: DT_FLOAT"}, {"shape_type", "type: DT_INT32"}};
  const std::vector<std::pair<std::string, std::string>> in = {{"i", "INT32"}, {"l", "VARIANT"}, {"a", "FLOAT"}};
  const std::string cond =
      function_text("cond", in, {{"go", "BOOL"}},
                    int_text("two", 2) + node_text("less", "Less", {"i", "two:output:0"}, {{"T", "type: DT_INT32"}}),
                    {{"go", "less:z:0"}});
  const std::string body =
      function_text("body", in, {{"i_", "INT32"}, {"l_", "VARIANT"}, {"a_", "FLOAT"}},
                    int_text("one", 1) + node_text("n", "AddV2", {"i", "one:output:0"}, {{"T", "type: DT_INT32"}}) +
                        node_text("m", "MatMul", {"a", "a"}, kOfFloats) +
                        node_text("set", "TensorListSetItem", {"l", "i", "m:product:0"}, elements),
                    {{"i_", "n:z:0"}, {"l_", "set:output_handle:0"}, {"a_", "a"}});
  return kInput + int_text("i", 0) + int_text("two", 2) + ints_text("shape", {2, 2}) +
         node_text("empty", "TensorListReserve", {"shape", "two"}, made) +
         node_text("loop", "StatelessWhile", {"i", "empty", "x"},
                   {{"cond", func_value("cond")},
                    {"body", func_value("body")},
                    {"T", types},
                    {"_lower_using_switch_merge", go_lower ? "b: true" : "b: false"}}) +
         node_text("all", "TensorListStack", {"loop:1", "shape"}, elements) +
         node_text("y", "BatchMatMulV2", {"all", "all"}, kOfFloats) + identity_text("out", "y") +
         library_text(cond + body);
}

// tests: T16
TEST(GraphDefFunctions, ListsOfTensorsHaveOneTypeThroughLoops) {
  for (const char* mechanism : {"tensorflow", "tensorflow=2019", "recipe=full", "recipe=basic", "policy=mixed_float16",
                                "level=O2", "level=O1"}) {
    const Mechanism m = Mechanism::parse(mechanism);
    const auto colour = [&](const OpGraph& g) { return m.colour(g); };
    const Rewritten functional = rewritten(graph_of(list_text(false)), {"out"}, colour);
    EXPECT_FALSE(functional.low.contains("all.element_dtype")) << mechanism;
    // A layer of a policy or of O2 is cast at its first input, which is a number of the loop here.
    const bool by_layers = m.kind == Mechanism::Kind::kPolicy || m.value == "O2";
    EXPECT_NE(functional.low.contains("body/m.T"), by_layers) << mechanism;
    const Rewritten lowered = rewritten(graph_of(list_text(true)), {"out"}, colour);
    EXPECT_NE(lowered.low.contains("loop/body/m.T"), by_layers) << mechanism;
  }
  EXPECT_TRUE(rewritten(graph_of(list_text(true)), {"out"}, by_tensorflow).low.contains("all.element_dtype"));
}

/// A recipe that allows some of the list's operations: all of them become low, or none, and each says why not.
// tests: T16
TEST(GraphDefFunctions, ListsOfTensorsStayTogetherUnderARecipe) {
  const auto found = [](bool go_lower, const std::string& allowed) {
    const Recipe recipe = Recipe::parse("{\"allowlist\": [\"MatMul\", " + allowed + "]}");
    std::string text;
    const auto colour = [&](const OpGraph& g) {
      const Colouring c = colour_recipe(g, recipe, DType::kFloat16);
      for (int n = 0; n < g.size(); ++n)
        for (int u = 0; u < static_cast<int>(g.nodes[static_cast<size_t>(n)].units.size()); ++u)
          if (const TypeUnit& unit = g.nodes[static_cast<size_t>(n)].units[static_cast<size_t>(u)];
              unit.attribute == "element_dtype") {
            const auto number = static_cast<size_t>(g.unit(n, u));
            text +=
                g.nodes[static_cast<size_t>(n)].op + (c.low_units[number] ? " low; " : ": " + c.reasons[number] + "; ");
          }
      return c;
    };
    rewritten(graph_of(list_text(go_lower)), {"out"}, colour);
    return text;
  };
  const std::string both = R"("TensorListReserve", "TensorListStack")", all = both + R"(, "TensorListSetItem")";
  EXPECT_EQ(found(true, all), "TensorListReserve low; TensorListStack low; TensorListSetItem low; ");
  EXPECT_EQ(found(true, both),
            "TensorListReserve: list of tensors shared with 'loop/body/set', which stays float32; "
            "TensorListStack: list of tensors shared with 'loop/body/set', which stays float32; "
            "TensorListSetItem: in no list: blocked; ");
  EXPECT_EQ(found(false, all),
            "TensorListReserve: list of tensors shared with 'loop', which stays float32; "
            "TensorListStack: list of tensors shared with 'loop', which stays float32; "
            "TensorListSetItem: list of tensors shared with 'body/l', which stays float32; ");
}

// tests: T16
TEST(GraphDefFunctions, TypesThatDisagreeAreRefusedBeforeAnythingIsWritten) {
  const std::string good = list_text(false);
  const GraphDefFile original = graph_of(good);
  const auto fault = [&](const std::string& is, const std::string& becomes) {
    std::string text = good;
    text.replace(text.find(is), is.size(), becomes);
    return fault_of([&] { graph_of(text).verify_rewrite_of(original); });
  };
  // The list outside half, as it was written before; its operations in the body float.
  std::string half = good;
  for (size_t at = 0; (at = half.find("element_dtype\" value { type: DT_FLOAT", at)) != std::string::npos; ++at)
    if (half.find("library") > at) half.replace(at, 37, "element_dtype\" value { type: DT_HALF");
  half.insert(half.find("node { name: \"y\""),
              node_text("f", "Cast", {"all"}, {{"SrcT", "type: DT_HALF"}, {"DstT", "type: DT_FLOAT"}}));
  half.replace(half.find("input: \"all\" input: \"all\""), 25, "input: \"f\" input: \"f\"");
  EXPECT_EQ(
      fault_of([&] { graph_of(half).verify_rewrite_of(original); }),
      "input: the rewritten graph would not be valid: 'set' (TensorListSetItem) of function 'body' has elements of "
      "float32, but shares its list with 'empty' (TensorListReserve), which has elements of float16; nothing is "
      "written");
  EXPECT_NE(fault("type: [DT_INT32, DT_VARIANT, DT_FLOAT]", "type: [DT_INT32, DT_VARIANT, DT_HALF]").find("float16"),
            std::string::npos);
  EXPECT_NE(fault("input_arg { name: \"a\" type: DT_FLOAT }", "input_arg { name: \"a\" type: DT_HALF }")
                .find("argument 2 is float16 in the function, but float32 at the call"),
            std::string::npos);
  EXPECT_NE(
      fault("output_arg { name: \"go\" type: DT_BOOL }", "output_arg { name: \"go\" type: DT_INT32 }").find("bool"),
      std::string::npos);
  EXPECT_EQ(fault_of([&] { original.verify_rewrite_of(original); }), "");
}

TEST(GraphDefFunctions, FetchedCallsKeepTheirNames) {
  const GraphDefFile file =
      graph_of(kInput + node_text("y", "PartitionedCall", {"x"}, call_of("layer")) + library_text(kLayer));
  const Rewritten r = rewritten(file, {"y"}, by_tensorflow);
  EXPECT_TRUE(r.low.contains("y/m.T"));
  const OpNode y = node_of(r.file.op_graph(Strings{"y"}), "y");
  EXPECT_EQ(y.op, "IdentityN");
  EXPECT_EQ(y.output_types[0], ElementType::kFloat);
}

TEST(GraphDefFunctions, FaultsAreNamed) {
  const std::string call = node_text("y", "PartitionedCall", {"x"}, call_of("layer")) + identity_text("out", "y");
  const auto fault = [&](const std::string& library) {
    return fault_of([&] { graph_of(kInput + call + library_text(library)).opened(Strings{"out"}); });
  };
  const auto layer = [](const std::string& nodes, const std::string& result) {
    return function_text("layer", {{"a", "FLOAT"}}, {{"r", "FLOAT"}}, nodes, {{"r", result}});
  };
  EXPECT_EQ(fault(layer(node_text("m", "MatMul", {"a", "b"}, kOfFloats), "m:product:0")),
            "input: function 'layer': node 'm': 'b' names no node and no argument");
  EXPECT_EQ(fault(layer(node_text("m", "Switch", {"a", "a"}, kOfFloats), "m:output:0")),
            "input: function 'layer': output 'r': 'm:output:0' names no output of this operation");
  EXPECT_EQ(fault(layer(node_text("m", "MatMul", {"a", "a"}, {{"T", "placeholder: \"S\""}}), "m:product:0")),
            "input: function 'layer': its attribute 'S' has no value at the call; expected one");
}

TEST(GraphDefFunctions, GrowthEnds) {
  const auto opened = [](const std::string& call, const TextAttributes& of_the_node) {
    return graph_of(kInput + node_text("y", call, {"x"}) + library_text(doubling_text(20, "n", of_the_node))).opened();
  };
  EXPECT_NE(fault_of([&] { opened("f20", kOfFloats); }).find("functions become more than 2^18 nodes"),
            std::string::npos);
  // A node of 2^20 bytes, 64 times and 512 times.
  TextAttributes large = kOfFloats;
  large.emplace_back("_note", "s: \"" + std::string(size_t{1} << 20, 'a') + "\"");
  EXPECT_EQ(fault_of([&] { opened("f6", large); }), "");
  const std::string fault = fault_of([&] { opened("f9", large); });
  EXPECT_TRUE(std::regex_match(
      fault, std::regex("input: functions become nodes of more than 269[0-9]{6} bytes, their names among them, up to "
                        "'y/[nm/]*'; expected at most 2\\^28 beyond those of the file")))
      << fault;
}

}  // namespace
}  // namespace softamp::test
