// Everything that is told of a pass, whole: of a small graph as text, of the graphs of examples/ under each mechanism
// as digests.
#include "softamp/precision/precision_report.h"

#include "softamp/graph/graph_json.h"
#include "softamp/precision/mechanism.h"

#include "tests/kept_text.h"
#include "tests/outcomes.h"
#include "tests/precision/graph_def_text.h"

namespace softamp::test::report_texts {
namespace {

std::string all_of(const PrecisionReport& r) {
  return r.summary() + "\n" + r.table() + "\n" + r.csv() + "\n" + r.latex() + "\n" + r.json() + "\n" + r.dot() + "\n";
}

PrecisionReport report_of(const GraphDefFile& file, const Mechanism& mechanism) {
  PrecisionReport report;
  report.before = file.op_graph();
  report.colours = mechanism.colour(report.before);
  report.plan = plan_casts(report.before, report.colours);
  return report;
}

/// A Cast that is there, a constant, a device, a Switch whose second port is read, a float64 and an int32.
const std::string kSmall =
    float_node("first", "Neg", {"p"}) + float_node("x", "Placeholder", {}, "dtype") +
    float_node("w", "Const", {}, "dtype") + node_text("m", "MatMul", {"x", "w"}, kOfFloats, "device: \"/gpu:0\" ") +
    node_text("h", "Cast", {"m"}, {{"SrcT", "type: DT_FLOAT"}, {"DstT", "type: DT_HALF"}}) +
    node_text("n", "Neg", {"h"}, {{"T", "type: DT_HALF"}}) + float_node("e", "Exp", {"m"}) +
    node_text("go", "Placeholder", {}, {{"dtype", "type: DT_BOOL"}}) + float_node("s", "Switch", {"e", "go"}) +
    float_node("r", "Relu", {"s:1"}) + float_node("p", "MatMul", {"r", "s:1"}) +
    node_text("shape", "Shape", {"p"}, {{"T", "type: DT_FLOAT"}, {"out_type", "type: DT_INT32"}}) +
    node_text("wide", "Cast", {"p"}, {{"SrcT", "type: DT_FLOAT"}, {"DstT", "type: DT_DOUBLE"}}) +
    node_text("end", "Reshape", {"p", "shape", "^n"}, kOfFloats);

TEST(Reports, Whole) {
  std::string text;
  for (const char* mechanism : {"recipe=full", "tensorflow"})
    text += all_of(report_of(graph_of(kSmall), Mechanism::parse(mechanism)));
  expect_kept("precision/kept/report.txt", text);
}

TEST(Reports, OfTheExamples) {
  Outcomes outcomes;
  std::string text;
  const std::string folder = SOFTAMP_SOURCE_DIR "/examples/graphs/";
  for (const char* mechanism : {"none", "tensorflow", "tensorflow=2019", "tensorflow=mkl", "recipe=full",
                                "recipe=basic,dtype=fp16", "policy=mixed_float16", "policy=mixed_bfloat16",
                                "policy=float64", "level=O0", "level=O1", "level=O2", "level=O3", "level=auto"}) {
    const Mechanism m = Mechanism::parse(mechanism);
    for (const char* name : {"chain", "conv_norm", "recurrent", "small_cnn", "two_dense_layers"})
      outcomes.add(name + std::string(" ") + mechanism, [&] {
        std::vector<std::string> notes;
        const GraphDefFile file = GraphDefFile::load(folder + name + ".pbtxt").opened({}, &notes);
        const PrecisionReport report = report_of(file, m);
        std::string said = all_of(report) + file.apply(report.plan).closed().text();
        for (const std::string& note : notes) said += note + "\n";
        return said;
      });
    for (const char* name : {"dense", "two_dense_layers", "add_two_numbers"})
      if (m.rewrites())
        outcomes.add(name + std::string(".json ") + mechanism, [&] {
          const GraphFile file = load_graph(folder + name + ".json");
          const GraphRewrite rewrite = m.pass()(file.graph, file.outputs);
          return all_of(rewrite.report) + graph_json(rewrite.graph);
        });
    text += mechanism + (": " + outcomes.digest());
  }
  expect_kept("precision/kept/reports.txt", text + outcomes.refusals(), outcomes.all());
}

/// Calls of each kind, of functions with each mark: what is written out, and the notes.
TEST(Functions, OpenedAreTheseGraphs) {
  Outcomes outcomes;
  std::string text;
  const std::string floats = "list { type: DT_FLOAT }", both = "list { type: DT_RESOURCE type: DT_FLOAT }";
  for (const std::string kind : {"f", "PartitionedCall", "StatefulPartitionedCall", "XlaLaunch", "If", "StatelessIf",
                                 "Case", "While", "SymbolicGradient", "gradient"})
    for (const std::string mark :
         {"", "_noinline", "_XlaMustCompile", "_tf_data_function", "_noinline_of_the_call", "stateful"})
      for (const bool resource : {false, true})
        for (const std::string wait : {"", "^c", "loop", "round"})
          for (const bool lowers : {false, true})
            outcomes.add(kind + " " + mark + (resource ? " resource " : " ") + wait + (lowers ? " lowers" : ""), [&] {
              const bool loop = kind == "While", chooses = kind == "If" || kind == "StatelessIf" || kind == "Case";
              std::vector<std::pair<std::string, std::string>> in, out = {{"r", loop ? "FLOAT" : "FLOAT"}};
              if (resource) in.emplace_back("v", "RESOURCE");
              in.emplace_back("x", "FLOAT");
              std::string nodes = float_node("n", "Neg", {"x"});
              if (mark == "stateful") nodes += node_text("p", "Print", {"x"});
              if (resource) nodes += node_text("q", "ReadVariableOp", {"v"}, {{"dtype", "type: DT_FLOAT"}});
              std::string body = function_text("f", in, out, nodes, {{"r", "n:y:0"}});
              if (mark[0] == '_' && mark != "_noinline_of_the_call")
                body.insert(body.size() - 2, " attr { key: \"" + mark + "\" value { b: true } } ");
              std::string go =
                  function_text("go", in, {{"r", "BOOL"}}, node_text("n", "Const", {}, {{"dtype", "type: DT_BOOL"}}),
                                {{"r", "n:output:0"}});
              // The gradient that the library names, of the same number; a loop of which the call is the body.
              const std::string back =
                  function_text("back", in, out, float_node("b", "Relu", {"x"}), {{"r", "b:activations:0"}}) +
                  "gradient { function_name: \"f\" gradient_func: \"back\" } ";
              const std::string round =
                  float_node("merge", "Merge", {"enter", "next"}) +
                  node_text("more", "Const", {"^merge"}, {{"dtype", "type: DT_BOOL"}}) +
                  node_text("cond", "LoopCond", {"more"}) + float_node("switch", "Switch", {"merge", "cond"}) +
                  float_node("next", "NextIteration", {"y"}) + float_node("exit", "Exit", {"switch"});
              TextAttributes all = {{"f", func_value("f")},
                                    {"function", func_value("f")},
                                    {"then_branch", func_value("f")},
                                    {"else_branch", func_value("f")},
                                    {"body", func_value("f")},
                                    {"cond", func_value("go")},
                                    {"branches", "list { func { name: \"f\" } func { name: \"f\" } }"},
                                    {"Tin", resource ? both : floats},
                                    {"Tout", floats},
                                    {"T", resource ? both : floats},
                                    {"Tcond", "type: DT_BOOL"}};
              if (kind == "XlaLaunch")
                all.insert(all.end(), {{"Tconstants", "list {}"},
                                       {"Targs", resource ? both : floats},
                                       {"Nresources", "i: 0"},
                                       {"Tresults", floats}});
              if (kind == "f") all.clear();  // the function's own types count
              if (lowers) all.emplace_back("_lower_using_switch_merge", "b: true");
              if (mark == "_noinline_of_the_call") all.emplace_back("_noinline", "b: true");
              Inputs inputs;
              if (chooses) inputs.push_back(kind == "Case" ? "i" : "b");
              if (resource) inputs.push_back("v");
              inputs.push_back(wait == "loop" ? "enter" : wait == "round" ? "switch:1" : "x");
              if (wait[0] == '^') inputs.push_back(wait);
              const std::string graph =
                  float_node("x", "Placeholder", {}, "dtype") + float_node("c", "Const", {}, "dtype") +
                  node_text("b", "Placeholder", {}, {{"dtype", "type: DT_BOOL"}}) +
                  node_text("i", "Placeholder", {}, {{"dtype", "type: DT_INT32"}}) +
                  node_text("v", "VarHandleOp", {}, {{"dtype", "type: DT_FLOAT"}}) +
                  node_text("enter", "Enter", {"c"}, {{"T", "type: DT_FLOAT"}, {"is_constant", "b: true"}}) +
                  (wait == "round" ? round : "") +
                  node_text("y", kind == "gradient" ? "SymbolicGradient" : kind, inputs, all) +
                  float_node("out", "Identity", {wait == "round" ? "exit" : "y"}) +
                  library_text(body + go + (kind == "gradient" ? back : ""));
              std::vector<std::string> notes;
              const GraphDefFile opened = graph_of(graph).opened(std::vector<std::string>{"out"}, &notes);
              std::string said = opened.text() + opened.closed().text();
              for (const std::string& note : notes) said += note + "\n";
              return said;
            });
  text += outcomes.digest();
  for (const char* fetch : {"none", "none:0", "none:1", "x", "x:1", "^x", "y:3", "odd:7"})
    outcomes.add(fetch, [&] {
      const std::string graph = float_node("x", "Placeholder", {}, "dtype") + node_text("none", "NoOp") +
                                float_node("odd", "SomethingElse", {"x"});
      return std::to_string(graph_of(graph).op_graph(std::vector<std::string>{fetch}).size());
    });
  text += "fetches: " + outcomes.digest();
  // How a function names tensors: of an argument, of a list of arguments, of a node.
  for (const std::string of : {"x", "xs", "n", "two", "no"})
    for (const std::string output :
         {"", ":0", ":1", ":2", ":-1", ":z", ":y", ":y:0", ":y:1", ":y:z", ":output", ":output:1", ":0:0", ":"})
      for (const std::string reader : {"", "^", "result"})
        outcomes.add(reader + of + output, [&] {
          const std::string named = of + output;
          std::string body = function_text(
              "f", {{"x", "FLOAT"}}, {{"r", "FLOAT"}},
              float_node("n", "Neg", {"x"}) +
                  node_text("two", "Split", {"x", "x"}, {{"T", "type: DT_FLOAT"}, {"num_split", "i: 2"}}) +
                  float_node("m", "Neg", {reader == "result" ? "x" : reader + named}),
              {{"r", reader == "result" ? named : "m:y:0"}});
          const std::string first = "input_arg {";
          body.insert(body.find(first), "input_arg { name: \"xs\" type: DT_FLOAT number_attr: \"N\" } ");
          const std::string graph = float_node("x", "Placeholder", {}, "dtype") +
                                    node_text("y", "f", {"x", "x", "x"}, {{"N", "i: 2"}}) + library_text(body);
          return graph_of(graph).opened(std::vector<std::string>{"y"}).text();
        });
  text += "names: " + outcomes.digest();
  expect_kept("precision/kept/functions.txt", text + outcomes.refusals(), outcomes.all());
}

}  // namespace
}  // namespace softamp::test::report_texts
