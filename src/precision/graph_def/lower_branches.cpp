// If and Case as TensorFlow lowers them: a Switch for each input, a call on each side, a Merge for each output.
#include <algorithm>

#include "src/precision/graph_def/inline_functions.h"
#include "src/precision/graph_def/node_making.h"

namespace softamp::graph_def_detail {
namespace {

using graph_def::AttrValue;
using graph_def::DataType;
using graph_def::NameAttrList;
using graph_def::NodeDef;

bool is_case(std::string_view op) { return op == "Case" || op == "StatelessCase"; }

std::vector<const NameAttrList*> branches_of(const NodeDef& node) {
  std::vector<const NameAttrList*> branches;
  if (is_case(node.op())) {
    if (const AttrValue* value = find_attribute(node, "branches"))
      for (const NameAttrList& f : value->list().func()) branches.push_back(&f);
    return branches;
  }
  for (const char* name : {"else_branch", "then_branch"}) {  // by the number of the Switch's output
    const AttrValue* value = find_attribute(node, name);
    if (value && value->value_case() == AttrValue::kFunc) branches.push_back(&value->func());
  }
  return branches;
}

std::string functions_obstacle(const FunctionLibrary& library, const std::vector<const NameAttrList*>& functions,
                               size_t expected) {
  if (functions.size() != expected || functions.empty()) return "its attributes do not name its functions";
  for (const NameAttrList* f : functions)
    if (!library.find(f->name())) return "function '" + f->name() + "' is not in the library";
  return "";
}

std::string name_of_input(const std::string& input) { return std::string(parse_input(input).node); }

class Branches {
 public:
  Branches(const NodeDef& node, bool kept, LoweringContext& context)
      : node_(node),
        kept_(kept),
        context_(context),
        inputs_(split_inputs(node)),
        branches_(branches_of(node)),
        case_(is_case(node.op())) {}

  LoweredNode lower() {
    add_pivots();
    std::vector<std::string> calls;
    const std::vector<std::string> switched = switches();
    for (size_t b = 0; b < branches_.size(); ++b) calls.push_back(add_call(b, switched));
    const std::vector<DataType> types = types_of_list(node_, "Tout");
    for (size_t o = 0; o < types.size(); ++o) {
      std::vector<std::string> sides;
      for (size_t b = 0; b < calls.size(); ++b) sides.push_back(output_name(calls[side(b)], static_cast<int>(o)));
      lowered_.outputs.push_back(
          merge(name((case_ ? "merge/_" : "output/_") + std::to_string(o)), std::move(sides), types[o]));
    }
    std::vector<std::string> ran;
    for (size_t b = 0; b < calls.size(); ++b) ran.push_back(pivots_[side(b)]);
    for (size_t b = 0; b < calls.size(); ++b) ran.push_back("^" + calls[side(b)]);
    lowered_.control = merge(name("branch_executed"), std::move(ran), case_ ? graph_def::DT_INT32 : graph_def::DT_BOOL);
    add_namesake(node_, kept_, types, lowered_);
    return std::move(lowered_);
  }

 private:
  std::string name(const std::string& inner) { return context_.free_name(node_.name() + "/" + inner); }
  NodeDef& add(NodeDef node) { return lowered_.nodes.emplace_back(std::move(node)); }
  /// "then" comes before "else", though it is the Switch's second output.
  size_t side(size_t b) const { return case_ ? b : branches_.size() - 1 - b; }

  NodeDef switch_node(const std::string& name, const std::string& data, DataType type,
                      const std::string& device) const {
    NodeDef made = made_node(name, case_ ? "_SwitchN" : "Switch", {data, inputs_.data[0]}, device);
    set_type(made, "T", type);
    if (case_) set_int(made, "num_outs", static_cast<int64_t>(branches_.size()));
    return made;
  }

  void add_pivots() {
    const DataType type = case_ ? graph_def::DT_INT32 : graph_def::DT_BOOL;
    NodeDef chooser = switch_node(name(case_ ? "branch_index" : "switch_pred"), inputs_.data[0], type, node_.device());
    for (const std::string& control : inputs_.control) chooser.add_input(control);
    const std::string chosen = add(std::move(chooser)).name();
    for (size_t b = 0; b < branches_.size(); ++b) {
      const std::string word = case_ ? std::to_string(b) : b == 0 ? "f" : "t";
      pivots_.push_back(
          add(made_identity(name("pivot_" + word), output_name(chosen, static_cast<int>(b)), type, node_.device()))
              .name());
    }
  }

  std::vector<std::string> switches() {
    const std::vector<DataType> types = types_of_list(node_, "Tin");
    std::vector<std::string> names;
    for (size_t i = 1; i < inputs_.data.size(); ++i) {
      const std::string from = name_of_input(inputs_.data[i]);
      names.push_back(add(switch_node(name(from + "/_" + std::to_string(i - 1)), inputs_.data[i], types[i - 1],
                                      context_.device_of(from)))
                          .name());
    }
    return names;
  }

  std::string add_call(size_t b, const std::vector<std::string>& switched) {
    NodeDef call = made_node(name(case_    ? "branch" + std::to_string(b)
                                  : b == 0 ? "else"
                                           : "then"),
                             branches_[b]->name().c_str(), {}, node_.device());
    for (const std::string& s : switched) call.add_input(output_name(s, static_cast<int>(b)));
    call.add_input("^" + pivots_[b]);
    *call.mutable_attr() = branches_[b]->attr();
    (*call.mutable_attr())["_lower_as_multi_device_function"].set_b(true);
    return add(std::move(call)).name();
  }

  std::string merge(const std::string& name, std::vector<std::string> inputs, DataType type) {
    int64_t data = 0;
    for (const std::string& input : inputs) data += !input.starts_with('^');
    NodeDef made = made_node(name, "Merge", std::move(inputs), node_.device());
    set_type(made, "T", type);
    set_int(made, "N", data);
    return add(std::move(made)).name();
  }

  const NodeDef& node_;
  const bool kept_;
  LoweringContext& context_;
  const SplitInputs inputs_;
  const std::vector<const NameAttrList*> branches_;
  const bool case_;
  std::vector<std::string> pivots_;
  LoweredNode lowered_;
};

}  // namespace

void add_namesake(const NodeDef& node, bool kept, const std::vector<DataType>& types, LoweredNode& lowered) {
  const bool gives = kept && !types.empty();
  NodeDef same = made_node(node.name(), gives ? "IdentityN" : "NoOp",
                           gives ? lowered.outputs : std::vector<std::string>(), node.device());
  if (gives) set_types(same, "T", types);
  same.add_input("^" + lowered.control);
  lowered.nodes.push_back(std::move(same));
}

bool is_branch(std::string_view op) { return op == "If" || op == "StatelessIf" || is_case(op); }
bool is_loop(std::string_view op) { return op == "While" || op == "StatelessWhile"; }

std::string lowering_obstacle(const FunctionLibrary& library, const NodeDef& node) {
  const size_t data = split_inputs(node).data.size();
  if (is_loop(node.op())) {
    std::vector<const NameAttrList*> functions;
    for (const char* name : {"cond", "body"}) {
      const AttrValue* value = find_attribute(node, name);
      if (value && value->value_case() == AttrValue::kFunc) functions.push_back(&value->func());
    }
    if (data == 0) return "it has no inputs";
    const std::vector<DataType> types = types_of_list(node, "T");
    if (types.size() != data) return "its attribute 'T' does not say the types of its inputs";
    if (std::count(types.begin(), types.end(), graph_def::DT_RESOURCE) == static_cast<std::ptrdiff_t>(data))
      return "all that goes around in it are resources";
    return functions_obstacle(library, functions, 2);
  }
  const std::vector<const NameAttrList*> branches = branches_of(node);
  if (data == 0 || types_of_list(node, "Tin").size() + 1 != data)
    return "its attribute 'Tin' does not say the types of its inputs";
  if (!is_case(node.op())) {
    const AttrValue* condition = find_attribute(node, "Tcond");
    if (!condition || condition->type() != graph_def::DT_BOOL) return "its condition is no bool";
  }
  return functions_obstacle(library, branches, is_case(node.op()) ? branches.size() : 2);
}

LoweredNode lower_branches(const NodeDef& node, bool kept, LoweringContext& context) {
  return Branches(node, kept, context).lower();
}

}  // namespace softamp::graph_def_detail
