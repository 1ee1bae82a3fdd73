// While as TensorFlow lowers it: Enter, Merge, the condition, Switch, the body, NextIteration; Exit at the end.
#include "src/precision/graph_def/inline_functions.h"
#include "src/precision/graph_def/node_making.h"

namespace softamp::graph_def_detail {
namespace {

using graph_def::AttrValue;
using graph_def::DataType;
using graph_def::NodeDef;

class LoopLowering {
 public:
  LoopLowering(const NodeDef& node, bool kept, LoweringContext& context)
      : node_(node), kept_(kept), context_(context), inputs_(split_inputs(node)), types_(types_of_list(node, "T")) {}

  LoweredNode lower() {
    add_enters();
    for (size_t i = 0; i < count(); ++i) merges_.push_back(is_fixed(i) ? "" : name("merge/_" + std::to_string(i)));
    for (size_t i = 0; i < count(); ++i)
      steps_.push_back(is_fixed(i) ? "" : name("next_iteration/_" + std::to_string(i)));
    for (size_t i = 0; i < count(); ++i)
      if (!is_fixed(i)) add_typed(merges_[i], "Merge", {enters_[i], steps_[i]}, i, 2);
    const std::string condition =
        add_call("cond", [&](size_t i) { return is_fixed(i) ? enters_[i] : merges_[i]; }, {"^" + merges_[first()]});
    const std::string choice = add(made_node(name("LoopCond"), "LoopCond", {condition}, node_.device()));
    for (size_t i = 0; i < count(); ++i) {
      const std::string from(parse_input(inputs_.data[i]).node);
      switches_.push_back(
          is_fixed(i) ? ""
                      : add_typed(name(from + "_switch/_" + std::to_string(i)), "Switch", {merges_[i], choice}, i));
    }
    const std::string inside = add(
        made_identity(name("loop_body_control"), output_name(switches_[first()], 1), types_[first()], node_.device()));
    const std::string body = add_call(
        "body", [&](size_t i) { return is_fixed(i) ? enters_[i] : output_name(switches_[i], 1); }, {"^" + inside});
    add_exits();
    for (size_t i = 0; i < count(); ++i)
      if (!is_fixed(i)) add_typed(steps_[i], "NextIteration", {output_name(body, static_cast<int>(i)), "^" + body}, i);
    return std::move(lowered_);
  }

 private:
  size_t count() const { return types_.size(); }
  /// Resources enter the loop once and do not go around.
  bool is_fixed(size_t i) const { return types_[i] == graph_def::DT_RESOURCE; }
  size_t first() const {
    size_t i = 0;
    while (i < count() && is_fixed(i)) ++i;
    return i;
  }
  std::string name(const std::string& inner) { return context_.free_name(node_.name() + "/" + inner); }
  std::string add(NodeDef node) { return lowered_.nodes.emplace_back(std::move(node)).name(); }
  std::string add_typed(const std::string& name, const char* op, std::vector<std::string> inputs, size_t i,
                        int64_t merged = 0) {
    NodeDef made = made_node(name, op, std::move(inputs), device(i));
    set_type(made, "T", types_[i]);
    if (merged > 0) set_int(made, "N", merged);
    return add(std::move(made));
  }
  /// What holds a value of the loop is where the value comes from.
  std::string device(size_t i) const { return context_.device_of(parse_input(inputs_.data[i]).node); }

  void add_enters() {
    const AttrValue* parallel = find_attribute(node_, "parallel_iterations");
    const std::string waits = inputs_.control.empty()
                                  ? ""
                                  : add(made_node(name("LoopControlInputs"), "NoOp", inputs_.control, node_.device()));
    for (size_t i = 0; i < count(); ++i) {
      std::vector<std::string> inputs{inputs_.data[i]};
      if (!waits.empty()) inputs.push_back("^" + waits);
      NodeDef enter = made_node(name("enter/_" + std::to_string(i)), "Enter", std::move(inputs), device(i));
      set_type(enter, "T", types_[i]);
      (*enter.mutable_attr())["frame_name"].set_s(node_.name());
      (*enter.mutable_attr())["is_constant"].set_b(is_fixed(i));
      set_int(enter, "parallel_iterations", parallel ? parallel->i() : 10);
      enters_.push_back(add(std::move(enter)));
    }
  }

  template <class Input>
  std::string add_call(const char* attribute, const Input& input, const std::vector<std::string>& controls) {
    const graph_def::NameAttrList& f = find_attribute(node_, attribute)->func();
    NodeDef call = made_node(name(attribute), f.name().c_str(), {}, node_.device());
    for (size_t i = 0; i < count(); ++i) call.add_input(input(i));
    for (const std::string& control : controls) call.add_input(control);
    *call.mutable_attr() = f.attr();
    (*call.mutable_attr())["_lower_as_multi_device_function"].set_b(true);
    return add(std::move(call));
  }

  void add_exits() {
    std::vector<std::string> ran;
    for (size_t i = 0; i < count(); ++i) {
      if (is_fixed(i)) {
        lowered_.outputs.push_back(inputs_.data[i]);
        continue;
      }
      lowered_.outputs.push_back(add_typed(name("exit/_" + std::to_string(i)), "Exit", {switches_[i]}, i));
      ran.push_back("^" + lowered_.outputs.back());
    }
    lowered_.control = add(made_node(name("LoopExecuted"), "NoOp", std::move(ran), node_.device()));
    add_namesake(node_, kept_, types_, lowered_);
  }

  const NodeDef& node_;
  const bool kept_;
  LoweringContext& context_;
  const SplitInputs inputs_;
  const std::vector<DataType> types_;
  std::vector<std::string> enters_, merges_, steps_, switches_;
  LoweredNode lowered_;
};

}  // namespace

LoweredNode lower_loop(const NodeDef& node, bool kept, LoweringContext& context) {
  return LoopLowering(node, kept, context).lower();
}

}  // namespace softamp::graph_def_detail
