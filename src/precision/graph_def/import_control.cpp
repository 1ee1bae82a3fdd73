// Calls, branches and loops: written out, which takes conditions that are known. Loops of Enter and Exit run in
// import_order.cpp.
#include "src/precision/graph_def/import.h"
#include "src/text/nearest_name.h"

namespace softamp::graph_def_detail {
namespace {

using graph_def::AttrValue;
using graph_def::NameAttrList;
using Kind = ImportedValue::Kind;

constexpr int kMostRounds = 10000;

const NameAttrList& function_of(const NodeImport& n, std::string_view attribute) {
  const AttrValue* value = n.find(attribute);
  if (!value || value->value_case() != AttrValue::kFunc)
    n.fail("attribute '" + std::string(attribute) + "' is " + (value ? kind_of(*value) : "missing") +
           "; expected a function");
  return value->func();
}

void set_outputs(NodeImport& n, std::vector<ImportedValue> values) { n.outputs = std::move(values); }

void call(NodeImport& n) {
  const NameAttrList& f = function_of(n, "f");
  set_outputs(n, n.importer.call(n, f.name(), f.attr(), n.inputs, n.name + "/"));
}

/// What a condition is, as TensorFlow reads it: a number that is not 0.
bool truth(const NodeImport& n, const ImportedValue& value) {
  if (value.kind != Kind::kKnown || value.known->tensor.elements() != 1)
    n.fail(
        "its condition is not known before the graph runs; expected a constant, or arithmetic of known shapes: "
        "branches and loops are written out");
  const Tensor& t = value.known->tensor;
  return is_floating(t.dtype()) ? t.value(0) != 0 : integers_of(t)[0] != 0;
}

/// The number of a branch.
int64_t chosen(const NodeImport& n, const ImportedValue& value) {
  if (value.kind != Kind::kKnown || value.known->tensor.elements() != 1 || is_floating(value.known->tensor.dtype()))
    n.fail(
        "the number of its branch is not known before the graph runs; expected a constant, or arithmetic of known "
        "shapes: branches are written out");
  return integers_of(value.known->tensor)[0];
}

void branch(NodeImport& n) {
  if (n.inputs.empty()) n.fail("no inputs; expected a condition");
  const NameAttrList& f = function_of(n, truth(n, n.inputs[0]) ? "then_branch" : "else_branch");
  set_outputs(n, n.importer.call(n, f.name(), f.attr(), {n.inputs.begin() + 1, n.inputs.end()}, n.name + "/"));
}

void choose(NodeImport& n) {
  const AttrValue* branches = n.find("branches");
  const int count = branches ? branches->list().func_size() : 0;
  if (n.inputs.empty() || count == 0) n.fail("no index, or no branches; expected both");
  int64_t index = chosen(n, n.inputs[0]);
  if (index < 0 || index >= count) index = count - 1;
  const NameAttrList& f = branches->list().func(static_cast<int>(index));
  set_outputs(n, n.importer.call(n, f.name(), f.attr(), {n.inputs.begin() + 1, n.inputs.end()}, n.name + "/"));
}

void switch_to_one(NodeImport& n) {
  n.expect_inputs(2);
  const int64_t count = n.integer("num_outs", 0);
  if (count < 1 || count > 65535) n.fail("num_outs is " + std::to_string(count) + "; expected 1 to 65535");
  int64_t index = chosen(n, n.inputs[1]);
  if (index < 0 || index >= count) index = count - 1;
  for (int64_t o = 0; o < count; ++o)
    n.set(static_cast<size_t>(o), o == index ? n.inputs[0] : ImportedValue::of(Kind::kDead));
}

void loop(NodeImport& n) {
  const NameAttrList &condition = function_of(n, "cond"), &body = function_of(n, "body");
  std::vector<ImportedValue> values = n.inputs;
  for (int round = 0;; ++round) {
    const std::string prefix = n.name + "/" + std::to_string(round) + "/";
    const std::vector<ImportedValue> go =
        n.importer.call(n, condition.name(), condition.attr(), values, prefix + "cond/");
    if (go.size() != 1) n.fail("its condition has " + std::to_string(go.size()) + " results; expected one");
    if (go[0].kind == Kind::kFailed) break;
    if (!truth(n, go[0])) break;
    if (round >= kMostRounds) n.fail("it has more than 10000 rounds");
    values = n.importer.call(n, body.name(), body.attr(), values, prefix + "body/");
    if (values.size() != n.inputs.size())
      n.fail("its body has " + std::to_string(values.size()) + " results; expected " + std::to_string(n.inputs.size()));
  }
  set_outputs(n, std::move(values));
}

void switch_to(NodeImport& n) {
  n.expect_inputs(2);
  const bool taken = truth(n, n.inputs[1]);
  n.set(taken ? 1 : 0, n.inputs[0]);
  n.set(taken ? 0 : 1, ImportedValue::of(Kind::kDead));
}

void merge(NodeImport& n) {
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    if (n.inputs[i].kind == Kind::kDead) continue;
    n.set(0, n.inputs[i]);
    const int64_t index[] = {static_cast<int64_t>(i)};
    n.set_known(1, tensor_of(DType::kInt32, Shape{}, index));
    return;
  }
  n.fail("no inputs; expected one or more");
}

/// What enters a loop, leaves it, goes to its next round, or says whether there is one.
void pass_on(NodeImport& n) {
  n.expect_inputs(1);
  n.set(0, n.inputs[0]);
}

}  // namespace

void add_control_translations(Translations& all) {
  all["PartitionedCall"] = {call};
  all["StatefulPartitionedCall"] = {call, true};
  all["StatelessIf"] = {branch};
  all["If"] = {branch, true};
  all["StatelessCase"] = {choose};
  all["Case"] = {choose, true};
  all["_SwitchN"] = {switch_to_one};
  all["StatelessWhile"] = {loop};
  all["While"] = {loop, true};
  all["Switch"] = all["RefSwitch"] = {switch_to};
  for (const char* op : {"Enter", "RefEnter", "Exit", "RefExit", "NextIteration", "RefNextIteration", "LoopCond"})
    all[op] = {pass_on};
  all["Merge"] = all["RefMerge"] = {merge, false, true};
}

}  // namespace softamp::graph_def_detail
