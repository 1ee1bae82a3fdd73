// GraphDefs of tests: written as text, pictures of them in words, and what goes wrong with them.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "softamp/precision/graph_def.h"

#include "tests/refusal.h"

namespace softamp::test {

using Inputs = std::vector<std::string>;
/// Name and value as text has it: {"T", "type: DT_FLOAT"}.
using TextAttributes = std::vector<std::pair<std::string, std::string>>;

inline const TextAttributes kOfFloats = {{"T", "type: DT_FLOAT"}};

inline std::string node_text(const std::string& name, const std::string& op, const Inputs& inputs = {},
                             const TextAttributes& attributes = {}, const std::string& more = "") {
  std::string text = "node { name: \"" + name + "\" op: \"" + op + "\"";
  for (const std::string& input : inputs) text += " input: \"" + input + "\"";
  for (const auto& [key, value] : attributes) text += " attr { key: \"" + key + "\" value { " + value + " } }";
  return text + " " + more + "}\n";
}

/// A node whose one type attribute is float32.
inline std::string float_node(const std::string& name, const std::string& op, const Inputs& inputs = {},
                              const std::string& attribute = "T") {
  return node_text(name, op, inputs, {{attribute, "type: DT_FLOAT"}});
}

/// A loop that multiplies by a constant matrix until a condition says no more: every kind of node that a loop has.
inline std::string loop_text() {
  return float_node("x", "Placeholder", {}, "dtype") + float_node("w", "Const", {}, "dtype") +
         float_node("enter", "Enter", {"x"}) +
         node_text("merge", "Merge", {"enter", "next"}, {{"T", "type: DT_FLOAT"}, {"N", "i: 2"}}) +
         node_text("go", "Const", {"^merge"}, {{"dtype", "type: DT_BOOL"}}) + node_text("cond", "LoopCond", {"go"}) +
         float_node("switch", "Switch", {"merge", "cond"}) + float_node("body", "MatMul", {"switch:1", "w"}) +
         float_node("next", "NextIteration", {"body"}) + float_node("exit", "Exit", {"switch"}) +
         float_node("fetch", "Identity", {"exit"});
}

/// A function of the library: arguments and results with their types ("FLOAT"), its nodes as of a graph, and which
/// output each result is ("sum:z:0").
inline std::string function_text(const std::string& name, const std::vector<std::pair<std::string, std::string>>& in,
                                 const std::vector<std::pair<std::string, std::string>>& out, const std::string& nodes,
                                 const std::vector<std::pair<std::string, std::string>>& ret) {
  std::string text = "function { signature { name: \"" + name + "\"";
  for (const auto& [arg, type] : in) text += " input_arg { name: \"" + arg + "\" type: DT_" + type + " }";
  for (const auto& [arg, type] : out) text += " output_arg { name: \"" + arg + "\" type: DT_" + type + " }";
  text += " } ";
  std::string body = nodes;
  for (size_t at = 0; (at = body.find("node {", at)) != std::string::npos; at += 10) body.replace(at, 6, "node_def {");
  text += body;
  for (const auto& [key, value] : ret) text += " ret { key: \"" + key + "\" value: \"" + value + "\" }";
  return text + " } ";
}

/// Functions f0 to f`most`, each of which calls the one before twice: f3 becomes 8 nodes with this name and these
/// attributes.
inline std::string doubling_text(int most, const std::string& name, const TextAttributes& attributes) {
  std::string text = function_text("f0", {{"a", "FLOAT"}}, {{"r", "FLOAT"}}, node_text(name, "Neg", {"a"}, attributes),
                                   {{"r", name + ":y:0"}});
  for (int i = 1; i <= most; ++i) {
    const std::string below = "f" + std::to_string(i - 1);
    text += function_text("f" + std::to_string(i), {{"a", "FLOAT"}}, {{"r", "FLOAT"}},
                          node_text("n", below, {"a"}) + node_text("m", below, {"n:r:0"}), {{"r", "m:r:0"}});
  }
  return text;
}
inline std::string library_text(const std::string& functions) { return "library { " + functions + "}"; }
inline std::string func_value(const std::string& name) { return "func { name: \"" + name + "\" }"; }

inline const std::string kExample = SOFTAMP_SOURCE_DIR "/examples/graphs/two_dense_layers.pbtxt";

inline GraphDefFile graph_of(const std::string& text) { return GraphDefFile::parse_text(text, "input"); }

/// What goes wrong with an action, or "".
template <class Action>
std::string fault_of(const Action& action) {
  return refusal<GraphDefError>(action);
}
inline std::string text_fault(const std::string& text) {
  return fault_of([&] { graph_of(text); });
}
inline std::string binary_fault(const std::string& bytes) {
  return fault_of([&] { GraphDefFile::parse_binary(bytes, "input"); });
}
inline std::string picture_fault(const std::string& text, const std::vector<std::string>& fetches = {}) {
  return fault_of([&] { graph_of(text).op_graph(fetches); });
}

inline const OpNode& node_of(const OpGraph& picture, const std::string& name) {
  for (const OpNode& n : picture.nodes)
    if (n.name == name) return n;
  throw std::out_of_range(name);
}

inline std::string units_of(const OpNode& n) {
  std::string all;
  for (const TypeUnit& u : n.units)
    all += (all.empty() ? "" : " ") + u.attribute + ":" + name_of(u.type) + (u.float16 ? ":h" : "") +
           (u.bfloat16 ? ":b" : "");
  return all;
}
/// "0 0 - > 0:float32 -:int32"
inline std::string ports_of(const OpNode& n) {
  const auto unit = [](int16_t u) { return u == OpNode::kNoUnit ? "-" : std::to_string(u); };
  std::string all;
  for (const int16_t u : n.input_units) all += unit(u) + " ";
  all += ">";
  for (size_t p = 0; p < n.output_units.size(); ++p)
    all += " " + unit(n.output_units[p]) + ":" + name_of(n.output_types[p]);
  return all;
}

/// Colours every unit that may become low and whose operation is named.
inline Colouring coloured(const OpGraph& picture, const std::vector<std::string>& ops, DType low = DType::kFloat16) {
  Colouring c = Colouring::nothing(picture, "by hand", low);
  for (int n = 0; n < picture.size(); ++n) {
    const OpNode& node = picture.nodes[static_cast<size_t>(n)];
    for (int u = 0; u < static_cast<int>(node.units.size()); ++u)
      if (std::find(ops.begin(), ops.end(), node.op) != ops.end() && may_become_low(picture, n, u, low))
        c.low_units[static_cast<size_t>(picture.unit(n, u))] = 1;
  }
  return c;
}

}  // namespace softamp::test
