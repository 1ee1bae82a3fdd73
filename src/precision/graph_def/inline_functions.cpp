#include "src/precision/graph_def/inline_functions.h"

#include <algorithm>

#include "src/precision/graph_def/inline_rules.h"
#include "src/precision/graph_def/loop_frames.h"
#include "src/precision/graph_def/node_making.h"
#include "src/text/printable.h"

namespace softamp::graph_def_detail {
namespace {

using files::excerpt;
using graph_def::AttrValue;
using graph_def::DataType;
using graph_def::FunctionDef;
using graph_def::NodeDef;

constexpr size_t kMostNodes = size_t{1} << 18;
constexpr uint64_t kMostBytes = uint64_t{1} << 28;  // of those nodes, beyond what the file itself has

class Inliner : public LoweringContext {
 public:
  Inliner(const FunctionLibrary& library, std::vector<NodeDef> nodes, OutputTexts texts,
          const std::unordered_set<std::string>& keep, std::string_view place)
      : library_(library), keep_(keep), place_(place), dead_(library, place) {
    result_.texts = std::move(texts);
    given_ = nodes.size();
    const LoopFrames frames(nodes);
    for (NodeDef& node : nodes) {
      const std::string beside =
          is_call(library, node) || is_branch(node.op()) || is_loop(node.op()) ? frames.control_of(node.name()) : "";
      names_.insert(node.name());
      const int n = add(std::move(node), -1);
      if (!beside.empty()) inside_.emplace(n, beside);
    }
  }

  InlinedNodes run() {
    for (size_t n = 0; n < nodes_.size(); ++n) {
      if (is_call(library_, nodes_[n]) || is_branch(nodes_[n].op()) || is_loop(nodes_[n].op()))
        nodes_[n] = redirected(std::move(nodes_[n]));
      const bool functional = is_branch(nodes_[n].op()) || is_loop(nodes_[n].op());
      if (functional && has_flag(nodes_[n].attr(), "_lower_using_switch_merge"))
        lower(n);
      else if (is_call(library_, nodes_[n]))
        write_out(n);
    }
    for (size_t n = 0; n < nodes_.size(); ++n)
      if (!gone_[n]) {
        if (n < given_ || keep_.contains(nodes_[n].name())) result_.roots.insert(nodes_[n].name());
        result_.nodes.push_back(redirected(std::move(nodes_[n])));
      }
    drop_missing_colocations();
    return std::move(result_);
  }

  std::string free_name(const std::string& name) override {
    std::string free = name;
    for (int i = 1; !names_.insert(free).second; ++i) free = name + "_" + std::to_string(i);
    return free;
  }
  std::string device_of(std::string_view node) const override {
    const auto it = numbers_.find(std::string(node));
    return it == numbers_.end() ? "" : nodes_[static_cast<size_t>(it->second)].device();
  }

 private:
  /// A function that a node comes from, and what it was called in.
  struct Origin {
    const FunctionDef* function;
    int outer;
  };

  int add(NodeDef node, int origin) {
    if (nodes_.size() >= kMostNodes)
      throw GraphDefError(std::string(place_) + ": functions become more than 2^18 nodes, up to '" +
                          excerpt(node.name()) + "'");
    const uint64_t bytes = node.ByteSizeLong();
    (origin < 0 ? most_bytes_ : bytes_) += bytes;
    if (origin >= 0 && bytes_ > most_bytes_)
      throw GraphDefError(std::string(place_) + ": functions become nodes of more than " + std::to_string(most_bytes_) +
                          " bytes, their names among them, up to '" + excerpt(node.name()) +
                          "'; expected at most 2^28 beyond those of the file");
    for (const std::string& input : node.input())
      if (input.starts_with('^')) awaited_.insert(input.substr(1));
    const int n = static_cast<int>(nodes_.size());
    numbers_[node.name()] = n;
    nodes_.push_back(std::move(node));
    origins_.push_back(origin);
    gone_.push_back(0);
    return n;
  }

  void note(const NodeDef& call, std::string_view function, const std::string& why) {
    result_.notes.push_back("'" + excerpt(call.name()) + "' (" + excerpt(call.op()) + ") of function '" +
                            excerpt(std::string(function)) + "' is not written out: " + why);
  }

  bool is_inside(int origin, const FunctionDef* function) const {
    for (; origin >= 0; origin = chain_[static_cast<size_t>(origin)].outer)
      if (chain_[static_cast<size_t>(origin)].function == function) return true;
    return false;
  }

  /// TensorFlow makes a call wait for all that it reads where it takes a resource and waits for nothing, or reads what
  /// enters a loop once; and a call in a loop waits for something of the loop, so that its constants are in the loop.
  void make_strict(size_t n) {
    NodeDef& call = nodes_[n];
    const SplitInputs inputs = split_inputs(call);
    bool resource = false, constant_enter = false;
    for (const char* list : {"Tin", "T"})
      for (const DataType type : types_of_list(call, list)) resource = resource || type == graph_def::DT_RESOURCE;
    if (const FunctionCall direct = call_of(library_, call); direct.function && !direct.partitioned)
      for (const auto& end : direct.function->signature().input_arg())
        resource = resource || end.type() == graph_def::DT_RESOURCE;
    for (const std::string& input : inputs.data) {
      const auto from = numbers_.find(std::string(parse_input(input).node));
      if (from == numbers_.end()) continue;
      const NodeDef& node = nodes_[static_cast<size_t>(from->second)];
      constant_enter = constant_enter || (node.op() == "Enter" && has_flag(node.attr(), "is_constant"));
    }
    if ((resource && inputs.control.empty()) || constant_enter)
      for (const std::string& input : inputs.data) {
        const std::string from(parse_input(input).node);
        const auto node = numbers_.find(from);
        if (node != numbers_.end() && nodes_[static_cast<size_t>(node->second)].op() != "Placeholder")
          add_control(call, from);
      }
    if (const auto beside = inside_.find(static_cast<int>(n));
        beside != inside_.end() && split_inputs(call).control.empty())
      add_control(call, beside->second);
  }

  void add_control(NodeDef& node, const std::string& from) {
    const std::string text = "^" + from;
    if (std::find(node.input().begin(), node.input().end(), text) != node.input().end()) return;
    node.add_input(text);
    awaited_.insert(from);
  }

  void lower(size_t n) {
    if (const std::string obstacle = lowering_obstacle(library_, nodes_[n]); !obstacle.empty()) {
      result_.notes.push_back("'" + excerpt(nodes_[n].name()) + "' (" + excerpt(nodes_[n].op()) +
                              ") is not written out: " + obstacle);
      return;
    }
    make_strict(n);
    const NodeDef node = nodes_[n];
    const bool kept = keep_.contains(node.name());
    LoweredNode lowered = is_loop(node.op()) ? lower_loop(node, kept, *this) : lower_branches(node, kept, *this);
    leave(n, std::move(lowered.outputs), std::move(lowered.control));
    for (NodeDef& made : lowered.nodes) add(std::move(made), origins_[n]);
  }

  void leave(size_t n, std::vector<std::string> outputs, std::string control) {
    gone_[n] = 1;
    const std::string& name = nodes_[n].name();
    instead_.emplace(name, std::move(outputs));
    instead_of_control_.emplace(name, std::move(control));
  }

  void write_out(size_t n) {
    const FunctionCall call = call_of(library_, nodes_[n]);
    if (!call.function) {
      if (const AttrValue* f = find_attribute(nodes_[n], "f"); f && f->value_case() == AttrValue::kFunc)
        note(nodes_[n], f->func().name(),
             nodes_[n].op() == "SymbolicGradient" ? "its gradient is only made when it runs"
                                                  : "there is no such function in the library");
      return;
    }
    const std::string& function = call.function->signature().name();
    if (is_for_xla(nodes_[n])) return note(nodes_[n], function, "XLA compiles it");
    if (is_inside(origins_[n], call.function)) return note(nodes_[n], function, "it calls itself");
    const bool of_branch = has_flag(nodes_[n].attr(), "_lower_as_multi_device_function");
    const FunctionBody body = body_of(library_, *call.function, *call.attributes, place_);
    const InlineSituation situation{of_branch, call.partitioned || of_branch, awaited_.contains(nodes_[n].name())};
    if (std::string why = inline_obstacle(library_, nodes_[n], *call.function, body, situation, dead_); !why.empty())
      return note(nodes_[n], function, why);
    make_strict(n);
    chain_.push_back({call.function, origins_[n]});
    copy_body(n, body, situation.several_devices, static_cast<int>(chain_.size()) - 1);
  }

  /// Names of a body's nodes after it is written out.
  struct Renamed {
    std::unordered_map<std::string_view, std::string> names;
    std::string text(const std::string& input) const {
      const InputName name = parse_input(input);
      const std::string& now = names.at(name.node);
      return name.control ? "^" + now : output_name(now, name.port);
    }
  };

  void copy_body(size_t n, const FunctionBody& body, bool several_devices, int origin) {
    const NodeDef call = nodes_[n];
    const SplitInputs inputs = split_inputs(call);
    const std::string around = "Func/" + call.name() + "/";
    std::string begin;
    if (!inputs.control.empty())
      begin = nodes_[static_cast<size_t>(
                         add(made_node(free_name(around + "input_control_node"), "NoOp", inputs.control, call.device()),
                             origin))]
                  .name();
    const std::vector<std::string> waits = begin.empty() ? std::vector<std::string>() : std::vector{"^" + begin};
    Renamed renamed;
    for (size_t i = 0; i < body.arguments; ++i)
      renamed.names.emplace(body.nodes[i].name(), free_name(around + "input/_" + std::to_string(i)));
    const size_t results = body.nodes.size() - body.results;
    for (size_t i = body.arguments; i < results; ++i)
      renamed.names.emplace(body.nodes[i].name(), free_name(call.name() + "/" + body.nodes[i].name()));
    for (size_t i = 0; i < body.arguments; ++i) {
      const std::string device = several_devices ? device_of(parse_input(inputs.data[i]).node) : call.device();
      NodeDef identity =
          made_identity(renamed.names.at(body.nodes[i].name()), inputs.data[i], type_of_end(body.nodes[i]), device);
      for (const std::string& wait : waits) identity.add_input(wait);
      add(std::move(identity), origin);
    }
    for (size_t i = body.arguments; i < results; ++i)
      add(copied(body.nodes[i], call, renamed, waits, several_devices), origin);
    std::vector<std::string> outputs;
    for (size_t i = results; i < body.nodes.size(); ++i) {
      outputs.push_back(free_name(around + "output/_" + std::to_string(i - results)));
      add(made_identity(outputs.back(), renamed.text(body.nodes[i].input(0)), type_of_end(body.nodes[i]),
                        several_devices ? "" : call.device()),
          origin);
    }
    for (const auto& [output, text] : body.texts) {
      const InputName name = parse_input(output);
      if (const auto now = renamed.names.find(name.node); now != renamed.names.end() && !is_argument(body, name.node))
        result_.texts.emplace(output_name(now->second, name.port), text);
    }
    finish_call(n, body, renamed, outputs, waits, several_devices, origin);
  }

  static bool is_argument(const FunctionBody& body, std::string_view name) {
    for (size_t i = 0; i < body.arguments; ++i)
      if (body.nodes[i].name() == name) return true;
    return false;
  }

  NodeDef copied(const NodeDef& node, const NodeDef& call, const Renamed& renamed,
                 const std::vector<std::string>& waits, bool several_devices) {
    NodeDef copy = node;
    copy.set_name(renamed.names.at(node.name()));
    copy.set_device(inlined_device(node.device(), call.device(), several_devices));
    for (std::string& input : *copy.mutable_input()) input = renamed.text(input);
    // What has no inputs must not run where the call would not have; nor must what is in a function that it calls.
    if (node.input_size() == 0 || (is_call(library_, node) && split_inputs(node).control.empty()))
      for (const std::string& wait : waits) copy.add_input(wait);
    auto& attributes = *copy.mutable_attr();
    if (const auto frame = attributes.find("frame_name"); frame != attributes.end())
      frame->second.set_s(call.name() + "/" + frame->second.s());
    if (const auto colocated = attributes.find("_class"); colocated != attributes.end())
      for (std::string& text : *colocated->second.mutable_list()->mutable_s())
        if (text.starts_with("loc:@"))
          if (const auto now = renamed.names.find(std::string_view(text).substr(5)); now != renamed.names.end())
            text = "loc:@" + now->second;
    return copy;
  }

  void finish_call(size_t n, const FunctionBody& body, const Renamed& renamed, const std::vector<std::string>& outputs,
                   const std::vector<std::string>& waits, bool several_devices, int origin) {
    const NodeDef call = nodes_[n];
    const bool kept = keep_.contains(call.name());
    std::string end;
    if (kept || awaited_.contains(call.name())) {
      std::vector<std::string> ran;
      if (several_devices)
        for (const auto& [name, node] : body.control_results) ran.push_back("^" + renamed.names.at(node));
      else
        for (const std::string& output : outputs) ran.push_back("^" + output);
      if (ran.empty()) ran = waits;
      end = free_name("Func/" + call.name() + "/output_control_node");
      add(made_node(end, "NoOp", std::move(ran), call.device()), origin);
    }
    leave(n, outputs, end);
    if (!kept) return;
    NodeDef same = made_node(call.name(), outputs.empty() ? "NoOp" : "IdentityN", outputs, call.device());
    std::vector<DataType> types;
    for (size_t r = body.nodes.size() - body.results; r < body.nodes.size(); ++r)
      types.push_back(type_of_end(body.nodes[r]));
    if (!outputs.empty()) set_types(same, "T", types);
    same.add_input("^" + end);
    add(std::move(same), origin);
  }

  /// The node with inputs that name what stands in place of nodes that are gone.
  NodeDef redirected(NodeDef node) const {
    for (std::string& input : *node.mutable_input()) {
      InputName name = parse_input(input);
      while (true) {
        const std::string from(name.node);
        if (name.control) {
          const auto now = instead_of_control_.find(from);
          if (now == instead_of_control_.end()) break;
          input = "^" + now->second;
        } else {
          const auto now = instead_.find(from);
          if (now == instead_.end()) break;
          if (static_cast<size_t>(name.port) >= now->second.size())
            fail_node(place_, node, "input '" + excerpt(input) + "' names an output that the function does not have");
          input = now->second[static_cast<size_t>(name.port)];
        }
        name = parse_input(input);
      }
    }
    // Two calls may have become one: the same control input twice says nothing more.
    std::unordered_set<std::string> controls;
    const auto inputs = node.input();
    node.clear_input();
    for (const std::string& input : inputs)
      if (!input.starts_with('^') || controls.insert(input).second) node.add_input(input);
    return node;
  }

  /// TensorFlow refuses a node that is to be beside one that is not there.
  void drop_missing_colocations() {
    std::unordered_set<std::string_view> there;
    for (const NodeDef& node : result_.nodes) there.insert(node.name());
    for (NodeDef& node : result_.nodes) {
      const auto it = node.mutable_attr()->find("_class");
      if (it == node.mutable_attr()->end()) continue;
      AttrValue::ListValue kept = it->second.list();
      kept.clear_s();
      for (const std::string& text : it->second.list().s()) {
        const std::string_view beside = text.starts_with("loc:@") ? std::string_view(text).substr(5) : "";
        if (beside.empty() || there.contains(beside) || !names_.contains(std::string(beside))) kept.add_s(text);
      }
      if (kept.s_size() == it->second.list().s_size()) continue;
      if (kept.s_size() == 0)
        node.mutable_attr()->erase(it);
      else
        *it->second.mutable_list() = kept;
    }
  }

  const FunctionLibrary& library_;
  const std::unordered_set<std::string>& keep_;
  std::string_view place_;
  DeadResults dead_;
  InlinedNodes result_;
  size_t given_ = 0;                                                 ///< nodes that were there before
  uint64_t bytes_ = 0, most_bytes_ = kMostBytes + library_.bytes();  ///< of the nodes that functions become
  std::vector<NodeDef> nodes_;
  std::vector<int> origins_;  ///< per node: what it comes from, in chain_
  std::vector<char> gone_;
  std::vector<Origin> chain_;
  std::unordered_set<std::string> names_, awaited_;
  std::unordered_map<std::string, int> numbers_;
  std::unordered_map<int, std::string> inside_;  ///< calls in loops of the graph itself: what they can wait for
  std::unordered_map<std::string, std::vector<std::string>> instead_;
  std::unordered_map<std::string, std::string> instead_of_control_;
};

}  // namespace

InlinedNodes with_inlined_functions(const FunctionLibrary& library, std::vector<NodeDef> nodes, OutputTexts texts,
                                    const std::unordered_set<std::string>& keep, std::string_view place) {
  return Inliner(library, std::move(nodes), std::move(texts), keep, place).run();
}

}  // namespace softamp::graph_def_detail
