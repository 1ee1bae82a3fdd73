#include "src/precision/graph_def/function_body.h"

#include <charconv>

#include "src/precision/graph_def/op_facts.h"
#include "src/text/printable.h"

namespace softamp::graph_def_detail {
namespace {

using files::excerpt;
using graph_def::AttrValue;
using graph_def::DataType;
using graph_def::FunctionDef;
using graph_def::NodeDef;
using ArgDef = graph_def::OpDef::ArgDef;

constexpr int64_t kMostEnds = 65535;  // elements of one argument or result

[[noreturn]] void fail_function(std::string_view place, const FunctionDef& function, const std::string& what) {
  throw GraphDefError(std::string(place) + ": function '" + excerpt(function.signature().name()) + "': " + what);
}

bool has_placeholder(const AttrValue& value) {
  const auto in_function = [](const graph_def::NameAttrList& f) {
    for (const auto& [key, inner] : f.attr())
      if (has_placeholder(inner)) return true;
    return false;
  };
  if (value.value_case() == AttrValue::kPlaceholder) return true;
  if (value.value_case() == AttrValue::kFunc) return in_function(value.func());
  if (value.value_case() == AttrValue::kList)
    for (const graph_def::NameAttrList& f : value.list().func())
      if (in_function(f)) return true;
  return false;
}

class BodyReader {
 public:
  BodyReader(const FunctionLibrary& library, const FunctionDef& function, const GraphDefAttributes& attributes,
             std::string_view place)
      : library_(library), function_(function), attributes_(attributes), place_(place) {}

  FunctionBody read() {
    body_.function = function_.signature().name();
    for (const NodeDef& node : function_.node_def())
      if (!names_.emplace(node.name(), &node).second) fail("two nodes are called '" + excerpt(node.name()) + "'");
    for (const ArgDef& argument : function_.signature().input_arg()) add_argument(argument);
    body_.arguments = body_.nodes.size();
    for (const NodeDef& node : function_.node_def()) add_node(node);
    const size_t inside = body_.nodes.size();
    for (const ArgDef& result : function_.signature().output_arg()) add_result(result);
    body_.results = body_.nodes.size() - inside;
    for (const auto& [name, node] : function_.control_ret()) {
      if (!names_.contains(node)) fail("control result '" + excerpt(name) + "' names no node");
      body_.control_results.emplace(name, node);
    }
    return std::move(body_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { fail_function(place_, function_, what); }

  const AttrValue& attribute(const std::string& name) const {
    const auto given = attributes_.find(name);
    if (given != attributes_.end()) return given->second;
    for (const graph_def::OpDef::AttrDef& a : function_.signature().attr())
      if (a.name() == name && a.has_default_value()) return a.default_value();
    fail("its attribute '" + excerpt(name) + "' has no value at the call; expected one");
  }

  std::vector<DataType> types_of(const ArgDef& end) const {
    if (!end.type_list_attr().empty()) {
      std::vector<DataType> types;
      for (const int t : attribute(end.type_list_attr()).list().type()) types.push_back(static_cast<DataType>(t));
      return types;
    }
    int64_t count = 1;
    if (!end.number_attr().empty()) count = attribute(end.number_attr()).i();
    if (count < 0 || count > kMostEnds)
      fail("'" + excerpt(end.name()) + "' has " + std::to_string(count) + " elements");
    const DataType type = end.type_attr().empty() ? end.type() : attribute(end.type_attr()).type();
    return std::vector<DataType>(static_cast<size_t>(count), type);
  }

  static NodeDef end_node(std::string name, const char* op, DataType type, size_t index) {
    NodeDef node;
    node.set_name(std::move(name));
    node.set_op(op);
    (*node.mutable_attr())["T"].set_type(type);
    (*node.mutable_attr())["index"].set_i(static_cast<int64_t>(index));
    return node;
  }

  std::string free_name(std::string name) const {
    while (names_.contains(name)) name += '_';
    return name;
  }

  void add_argument(const ArgDef& argument) {
    const bool list = !argument.type_list_attr().empty() || !argument.number_attr().empty();
    auto& nodes = arguments_[argument.name()];
    for (const DataType type : types_of(argument)) {
      const size_t index = body_.nodes.size();
      const std::string name = free_name(argument.name() + (list ? "_" + std::to_string(nodes.size()) : ""));
      body_.texts.emplace(name, argument.name() + (list ? ":" + std::to_string(nodes.size()) : ""));
      body_.nodes.push_back(end_node(name, "_Arg", type, index));
      nodes.push_back(name);
    }
  }

  AttrValue filled(const AttrValue& value) const {
    if (!has_placeholder(value)) return value;
    if (value.value_case() == AttrValue::kPlaceholder) return attribute(value.placeholder());
    AttrValue copy = value;
    const auto fill = [&](graph_def::NameAttrList& f) {
      for (auto& [key, inner] : *f.mutable_attr()) inner = filled(inner);
    };
    if (copy.value_case() == AttrValue::kFunc) fill(*copy.mutable_func());
    if (copy.value_case() == AttrValue::kList)
      for (graph_def::NameAttrList& f : *copy.mutable_list()->mutable_func()) fill(f);
    return copy;
  }

  void add_node(const NodeDef& node) {
    if (node.op() == "_Arg" || node.op() == "_Retval")
      fail("node '" + excerpt(node.name()) + "' is an " + node.op() +
           "; expected arguments and results in the signature");
    NodeDef copy = node;
    copy.clear_input();
    for (auto& [key, value] : *copy.mutable_attr()) value = filled(value);
    for (const std::string& text : node.input()) {
      if (text.starts_with('^'))
        copy.add_input("^" + control(text.substr(1), node));
      else
        for (std::string& input : data(text, "node '" + excerpt(node.name()) + "'")) copy.add_input(std::move(input));
    }
    body_.nodes.push_back(std::move(copy));
  }

  std::string control(const std::string& name, const NodeDef& node) const {
    if (names_.contains(name)) return name;
    const auto argument = arguments_.find(name);
    if (argument == arguments_.end() || argument->second.empty())
      fail("node '" + excerpt(node.name()) + "': input '^" + excerpt(name) + "' names no node and no argument");
    return argument->second[0];
  }

  /// Digits alone; -1: anything else.
  static int index_of(std::string_view text) {
    int index = -1;
    const auto end = std::from_chars(text.data(), text.data() + text.size(), index);
    return end.ec == std::errc() && end.ptr == text.data() + text.size() && index >= 0 ? index : -1;
  }

  /// The tensors that a text of a function names: several for an output that is a list.
  std::vector<std::string> data(const std::string& text, const std::string& reader) {
    const auto refuse = [&](const char* what) { fail(reader + ": '" + excerpt(text) + "' names " + what); };
    const size_t colon = text.find(':');
    const std::string name = text.substr(0, colon);
    const std::string rest = colon == std::string::npos ? "" : text.substr(colon + 1);
    if (const auto argument = arguments_.find(name); argument != arguments_.end()) {
      if (rest.empty()) return argument->second;
      const int index = index_of(rest);
      if (index < 0 || static_cast<size_t>(index) >= argument->second.size()) refuse("no element of this argument");
      return {argument->second[static_cast<size_t>(index)]};
    }
    const auto node = names_.find(name);
    if (node == names_.end()) refuse("no node and no argument");
    const size_t second = rest.find(':');
    const std::string output = rest.substr(0, second);
    int index = second == std::string::npos ? -1 : index_of(std::string_view(rest).substr(second + 1));
    if (second != std::string::npos && index < 0) refuse("no output");
    OutputRun run;
    if (index_of(output) >= 0 || output.empty()) {
      run.first = std::max(index_of(output), 0);  // as a GraphDef has it
    } else {
      const auto found = output_run(library_, *node->second, output);
      if (!found) refuse("no output of this operation");
      const auto [other, fresh] = only_outputs_.emplace(name, output);
      if (!fresh && other->second != output && !knows_outputs(library_, node->second->op()))
        fail(reader + ": '" + excerpt(text) + "' and output '" + excerpt(other->second) + "' are of operation '" +
             excerpt(node->second->op()) + "', which is not known: expected one whose outputs' order is");
      run = *found;
    }
    const int first = std::max(index, 0), last = index < 0 ? run.count : index + 1;
    if (run.first + last > kMostEnds) refuse("no output");
    std::vector<std::string> inputs;
    for (int i = first; i < last; ++i) {
      inputs.push_back(output_name(name, run.first + i));
      body_.texts.emplace(inputs.back(),
                          output.empty() || index_of(output) >= 0 ? output : output + ":" + std::to_string(i));
    }
    return inputs;
  }

  void add_result(const ArgDef& result) {
    const auto ret = function_.ret().find(result.name());
    if (ret == function_.ret().end()) fail("it does not say what its output '" + excerpt(result.name()) + "' is");
    const std::vector<std::string> tensors = data(ret->second, "output '" + excerpt(result.name()) + "'");
    const std::vector<DataType> types = types_of(result);
    if (tensors.size() != types.size())
      fail("its output '" + excerpt(result.name()) + "' is " + std::to_string(tensors.size()) + " tensors; expected " +
           std::to_string(types.size()));
    for (size_t i = 0; i < types.size(); ++i) {
      const size_t index = body_.nodes.size();
      NodeDef node = end_node(free_name(result.name() + "_RetVal" + (types.size() > 1 ? "_" + std::to_string(i) : "")),
                              "_Retval", types[i], index);
      node.add_input(tensors[i]);
      body_.nodes.push_back(std::move(node));
    }
  }

  const FunctionLibrary& library_;
  const FunctionDef& function_;
  const GraphDefAttributes& attributes_;
  std::string_view place_;
  FunctionBody body_;
  std::unordered_map<std::string_view, const NodeDef*> names_;
  std::unordered_map<std::string, std::vector<std::string>> arguments_;
  std::unordered_map<std::string, std::string> only_outputs_;  ///< by node: the first output that is read
};

/// What a function calls the only output of an operation that a rewrite adds.
const char* added_output(std::string_view op) { return op == "Cast" ? "y:0" : "output:0"; }

}  // namespace

FunctionBody body_of(const FunctionLibrary& library, const FunctionDef& function, const GraphDefAttributes& attributes,
                     std::string_view place) {
  return BodyReader(library, function, attributes, place).read();
}

bool is_parametrised(const FunctionDef& function) {
  const auto of_call = [](const ArgDef& end) {
    return !end.type_attr().empty() || !end.number_attr().empty() || !end.type_list_attr().empty();
  };
  for (const ArgDef& end : function.signature().input_arg())
    if (of_call(end)) return true;
  for (const ArgDef& end : function.signature().output_arg())
    if (of_call(end)) return true;
  for (const NodeDef& node : function.node_def())
    for (const auto& [key, value] : node.attr())
      if (has_placeholder(value)) return true;
  return false;
}

DataType type_of_end(const NodeDef& arg_or_retval) { return arg_or_retval.attr().at("T").type(); }

FunctionDef function_of(const FunctionLibrary& library, const FunctionDef& original, const FunctionBody& body,
                        std::string_view place) {
  std::unordered_map<std::string_view, const NodeDef*> nodes;
  for (const NodeDef& node : body.nodes) nodes.emplace(node.name(), &node);
  const auto text_of = [&](const std::string& input) -> std::string {
    if (input.starts_with('^')) {
      const NodeDef& node = *nodes.at(std::string_view(input).substr(1));
      return "^" + (node.op() == "_Arg" ? body.texts.at(node.name()) : node.name());
    }
    const InputName name = parse_input(input);
    const NodeDef& node = *nodes.at(name.node);
    const auto known = body.texts.find(output_name(name.node, name.port));
    if (node.op() == "_Arg") return known->second;
    if (known != body.texts.end()) return node.name() + (known->second.empty() ? "" : ":" + known->second);
    std::vector<std::string> outputs{"output", "outputs", "output_false", "output_true", "value_index"};
    if (const FunctionDef* called = library.find(node.op())) {
      outputs.clear();
      for (const ArgDef& end : called->signature().output_arg()) outputs.push_back(end.name());
    }
    for (const std::string& output : outputs)
      if (const auto run = output_run(library, node, output);
          run && name.port >= run->first && name.port < run->first + run->count && node.op() != "Cast")
        return node.name() + ":" + output + ":" + std::to_string(name.port - run->first);
    if (name.port > 0) fail_function(place, original, "no name is known of output '" + excerpt(input) + "'");
    return node.name() + ":" + added_output(node.op());
  };
  FunctionDef function = original;
  function.clear_node_def();
  size_t result = 0;
  std::vector<std::string> results;
  for (const NodeDef& node : body.nodes) {
    if (node.op() == "_Arg") continue;
    if (node.op() == "_Retval") {
      results.push_back(text_of(node.input(0)));
      continue;
    }
    NodeDef& copy = *function.add_node_def();
    copy = node;
    for (std::string& input : *copy.mutable_input()) input = text_of(input);
  }
  for (const ArgDef& end : original.signature().output_arg())
    (*function.mutable_ret())[end.name()] = results.at(result++);
  return function;
}

}  // namespace softamp::graph_def_detail
