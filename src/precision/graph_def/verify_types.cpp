// Whether the types of a GraphDef agree: along every edge, between calls and the functions that they call, within these
// functions, and between the operations that share a list of tensors, through calls and bodies.
#include <algorithm>
#include <map>
#include <numeric>

#include "src/precision/graph_def/function_body.h"
#include "src/precision/graph_def/graph_def_impl.h"
#include "src/text/printable.h"

namespace softamp {
namespace {

using files::excerpt;
using graph_def::AttrValue;
using graph_def::FunctionDef;
using graph_def::GraphDef;
using graph_def::NodeDef;
using graph_def_detail::FunctionBody;
using graph_def_detail::FunctionLibrary;

/// A function that a node calls: its arguments are the node's inputs from `first` on.
struct CalledFunction {
  const FunctionDef* function;
  size_t first = 0;
  bool gives = true;  ///< its results are the node's outputs
};

std::vector<CalledFunction> called_by(const FunctionLibrary& library, const NodeDef& node) {
  std::vector<CalledFunction> called;
  const auto add = [&](const char* attribute, size_t first, bool gives) {
    const AttrValue* value = graph_def_detail::find_attribute(node, attribute);
    if (!value) return;
    std::vector<std::string> names;
    if (value->value_case() == AttrValue::kFunc) names.push_back(value->func().name());
    for (const graph_def::NameAttrList& f : value->list().func()) names.push_back(f.name());
    for (const std::string& name : names)
      if (const FunctionDef* f = library.find(name)) called.push_back({f, first, gives});
  };
  const std::string& op = node.op();
  if (const FunctionDef* own = library.find(op)) called.push_back({own, 0, true});
  if (op == "PartitionedCall" || op == "StatefulPartitionedCall") add("f", 0, true);
  if (op == "If" || op == "StatelessIf") add("then_branch", 1, true), add("else_branch", 1, true);
  if (op == "Case" || op == "StatelessCase") add("branches", 1, true);
  if (op == "While" || op == "StatelessWhile") add("cond", 0, false), add("body", 0, true);
  return called;
}

/// The graph and all functions whose types their signatures say, side by side; checks them when it is made.
class TypedParts {
 public:
  TypedParts(const graph_def_detail::HeldGraph& held, const GraphDefFile& file)
      : held_(held), library_(held.graph.library()) {
    parts_.push_back(file.op_graph());
    nodes_.emplace_back(held.graph.node().begin(), held.graph.node().end());
    for (const FunctionDef* f : reached_from(library_, held.graph.node())) add(*f);
    begin_.push_back(0);
    for (const OpGraph& part : parts_) begin_.push_back(begin_.back() + part.units() + part.size());
    parent_.resize(static_cast<size_t>(begin_.back()));
    std::iota(parent_.begin(), parent_.end(), 0);
    for (size_t p = 0; p < parts_.size(); ++p) join_handles(p);
    for (size_t p = 0; p < parts_.size(); ++p)
      for (int n = 0; n < parts_[p].size(); ++n)
        for (const CalledFunction& called : called_by(library_, nodes_[p][static_cast<size_t>(n)])) check(p, n, called);
  }

  /// Lists of tensors whose operations take them for lists of two floating types: "" or the first fault.
  std::string mixed_list() {
    std::map<int, std::pair<ElementType, std::string>> first;
    for (size_t p = 0; p < parts_.size(); ++p)
      for (int n = 0; n < parts_[p].size(); ++n) {
        const OpNode& node = parts_[p].nodes[static_cast<size_t>(n)];
        if (node.op.find("TensorList") == std::string::npos) continue;
        for (const TypeUnit& unit : node.units) {
          if (unit.attribute != "element_dtype" || !is_floating_element(unit.type)) continue;
          const auto [at, fresh] = first.emplace(root(fixed(p, n)), std::pair(unit.type, where(p, n)));
          if (!fresh && at->second.first != unit.type)
            return where(p, n) + " has elements of " + name_of(unit.type) + ", but shares its list with " +
                   at->second.second + ", which has elements of " + name_of(at->second.first);
        }
      }
    return "";
  }

 private:
  static bool is_floating_element(ElementType t) {
    return t == ElementType::kFloat || t == ElementType::kHalf || t == ElementType::kBFloat16;
  }

  void add(const FunctionDef& function) {
    if (graph_def_detail::is_parametrised(function)) return;
    const FunctionBody body = body_of(library_, function, {}, held_.place);
    numbers_.emplace(&function, parts_.size());
    ends_.emplace(&function, std::pair(body.arguments, body.results));
    GraphDef graph;
    for (const NodeDef& node : body.nodes) *graph.add_node() = node;
    *graph.mutable_library() = held_.graph.library();
    const auto place = held_.place + ": function '" + excerpt(function.signature().name()) + "'";
    parts_.push_back(GraphDefFile::parse_binary(graph.SerializeAsString(), place).op_graph());
    nodes_.push_back(body.nodes);
  }

  std::string where(size_t part, int n) const {
    const OpNode& node = parts_[part].nodes[static_cast<size_t>(n)];
    std::string text = "'" + excerpt(node.name) + "' (" + excerpt(node.op) + ")";
    for (const auto& [function, number] : numbers_)
      if (number == part) text += " of function '" + excerpt(function->signature().name()) + "'";
    return text;
  }

  static ElementType plain(ElementType t) {
    constexpr int kReference = 100;
    return static_cast<int>(t) > kReference ? static_cast<ElementType>(static_cast<int>(t) - kReference) : t;
  }

  /// A call's inputs and outputs against the ends of the function.
  void check(size_t p, int n, const CalledFunction& called) {
    const auto of = numbers_.find(called.function);
    if (of == numbers_.end()) return;
    const OpGraph &outside = parts_[p], &inside = parts_[of->second];
    const OpNode& node = outside.nodes[static_cast<size_t>(n)];
    const auto [arguments, results] = ends_.at(called.function);
    const auto fail = [&](const std::string& what) {
      throw GraphDefError(held_.place + ": node " + where(p, n) + ": function '" +
                          excerpt(called.function->signature().name()) + "' " + what);
    };
    if (node.inputs.size() != arguments + called.first)
      fail("takes " + std::to_string(arguments) + " arguments, but " +
           std::to_string(node.inputs.size() - std::min(node.inputs.size(), called.first)) + " are given");
    const auto compare = [&](const char* end, size_t i, ElementType given, ElementType wanted) {
      if (plain(given) != plain(wanted) && given != ElementType::kUnknown && wanted != ElementType::kUnknown)
        fail(std::string(end) + " " + std::to_string(i) + " is " + name_of(wanted) + " in the function, but " +
             name_of(given) + " at the call");
    };
    for (size_t i = 0; i < arguments; ++i) {
      const OpEdge& e = node.inputs[i + called.first];
      compare("argument", i, outside.type(e), inside.nodes[i].output_types[0]);
      if (outside.type(e) == ElementType::kVariant) unite(key(p, e), key(of->second, {static_cast<int>(i), 0}));
    }
    if (!called.gives) return;
    const size_t first = inside.nodes.size() - results;
    if (node.known && node.output_types.size() != results)
      fail("gives " + std::to_string(results) + " results; the call has " + std::to_string(node.output_types.size()));
    for (size_t i = 0; i < std::min(results, node.output_types.size()); ++i) {
      const OpEdge& e = inside.nodes[first + i].inputs[0];
      compare("result", i, node.output_types[i], inside.type(e));
      if (inside.type(e) == ElementType::kVariant) unite(key(p, {n, static_cast<int>(i)}), key(of->second, e));
    }
  }

  // Keys of handles: units, and behind them one for the ports of fixed type of each node.
  int fixed(size_t p, int n) const { return begin_[p] + parts_[p].units() + n; }
  int key(size_t p, const OpEdge& e) const {
    const int unit = parts_[p].producer_unit(e);
    return unit < 0 ? fixed(p, e.node) : begin_[p] + unit;
  }
  void join_handles(size_t p) {
    for (int n = 0; n < parts_[p].size(); ++n)
      for (int i = 0; i < static_cast<int>(parts_[p].nodes[static_cast<size_t>(n)].inputs.size()); ++i) {
        const OpEdge& e = parts_[p].nodes[static_cast<size_t>(n)].inputs[static_cast<size_t>(i)];
        if (parts_[p].type(e) != ElementType::kVariant) continue;
        const int unit = parts_[p].reader_unit(n, i);
        unite(key(p, e), unit < 0 ? fixed(p, n) : begin_[p] + unit);
      }
  }
  int root(int k) {
    while (parent_[static_cast<size_t>(k)] != k)
      k = parent_[static_cast<size_t>(k)] = parent_[static_cast<size_t>(parent_[static_cast<size_t>(k)])];
    return k;
  }
  void unite(int a, int b) {
    a = root(a), b = root(b);
    parent_[static_cast<size_t>(std::max(a, b))] = std::min(a, b);
  }

  const graph_def_detail::HeldGraph& held_;
  const FunctionLibrary library_;
  std::vector<OpGraph> parts_;
  std::vector<std::vector<NodeDef>> nodes_;
  std::map<const FunctionDef*, size_t> numbers_;
  std::map<const FunctionDef*, std::pair<size_t, size_t>> ends_;  ///< counts of arguments and results
  std::vector<int> begin_, parent_;
};

}  // namespace

void GraphDefFile::verify_rewrite_of(const GraphDefFile& original) const {
  std::string fault;
  try {
    TypedParts parts(*impl_, *this);
    fault = parts.mixed_list();
    if (fault.empty() || !TypedParts(*original.impl_, original).mixed_list().empty()) return;
  } catch (const GraphDefError& e) {
    TypedParts(*original.impl_, original);  // a fault that was there before is the file's
    fault = e.what();
  }
  throw GraphDefError(impl_->place + ": the rewritten graph would not be valid: " + fault + "; nothing is written");
}

}  // namespace softamp
