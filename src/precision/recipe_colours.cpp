// Gaudi's pass: classes of nodes, which nodes are converted, and groups of neighbours. Every step is linear in nodes
// and edges.
//
// Source: the Gaudi page's rules; recipe.h and docs/MIXED_PRECISION.md say how open points are decided.
#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <unordered_map>

#include "softamp/precision/recipe.h"
#include "src/precision/joined_units.h"
#include "src/precision/name_patterns.h"
#include "src/text/printable.h"
#include "src/text/shortened_list.h"

namespace softamp {
namespace {

using files::excerpt;

enum class Class : uint8_t { kNonConvertible, kConvertible, kAllow, kStrict, kConditional, kBlock };

const char* name_of(Class c) {
  constexpr const char* kNames[] = {"non_convertible", "convertible", "allow", "strict", "conditional", "block"};
  return kNames[static_cast<int>(c)];
}
bool wants(Class c) { return c == Class::kConvertible || c == Class::kAllow; }

class Painter {
 public:
  Painter(const OpGraph& graph, const Recipe& recipe, DType low)
      : graph_(graph), recipe_(recipe), low_(low), readers_(readers(graph)), nodes_(graph.nodes.size()) {}

  Colouring paint() {
    Colouring c = Colouring::nothing(graph_, "recipe " + excerpt(recipe_.name), low_);
    classify();
    find_obstacles();
    grow();
    for (int n = 0; n < graph_.size(); ++n) {
      const std::string why = units(n) > 0 ? reason(n) : "";  // one walk over the neighbours for all units
      for (int u = 0; u < units(n); ++u) {
        const auto unit = static_cast<size_t>(graph_.unit(n, u));
        c.low_units[unit] = at(n).converted && may_become_low(graph_, n, u, low_);
        c.lists[unit] = name_of(at(n).of);
        c.reasons[unit] = reason(n, u, why);
      }
    }
    precision_detail::settle_joined_units(graph_, c);
    for (int n = 0; n < graph_.size(); ++n) at(n).converted = at(n).converted && (units(n) == 0 || any_low(c, n));
    c.groups = groups();
    c.messages = messages(c.groups);
    return c;
  }

 private:
  static constexpr int kNever = std::numeric_limits<int>::max();

  struct State {
    Class of = Class::kBlock;
    int pattern = -1;                ///< the exception that gave the class
    const char* obstacle = nullptr;  ///< why the node is never converted, for any class
    bool converted = false;
    int round = kNever;  ///< steps from the nodes that are always converted
    int missing = 0;     ///< of a strict node: float inputs that are not yet known to be converted
  };

  State& at(int n) { return nodes_[static_cast<size_t>(n)]; }
  const OpNode& node(int n) const { return graph_.nodes[static_cast<size_t>(n)]; }
  int units(int n) const { return static_cast<int>(node(n).units.size()); }

  bool any_low(const Colouring& c, int n) const {
    for (int u = 0; u < units(n); ++u)
      if (c.is_low(graph_.unit(n, u))) return true;
    return false;
  }

  void classify() {
    const precision_detail::NamePatterns keep(recipe_.non_convertible, recipe_.regex, "non_convertible_exceptions");
    const precision_detail::NamePatterns force(recipe_.convertible, recipe_.regex, "convertible_exceptions");
    std::unordered_map<std::string_view, Class> of_op;
    for (const std::string& op : recipe_.allow) of_op.emplace(op, Class::kAllow);
    for (const std::string& op : recipe_.strict) of_op.emplace(op, Class::kStrict);  // allow > strict > conditional
    for (const std::string& op : recipe_.conditional) of_op.emplace(op, Class::kConditional);
    for (int n = 0; n < graph_.size(); ++n) {
      State& s = at(n);
      if ((s.pattern = keep.first_match(node(n).name, node(n).op)) >= 0) {
        s.of = Class::kNonConvertible;
      } else if ((s.pattern = force.first_match(node(n).name, node(n).op)) >= 0) {
        s.of = Class::kConvertible;
      } else if (const auto it = of_op.find(node(n).op); it != of_op.end()) {
        s.of = it->second;
      }
    }
  }

  void find_obstacles() {
    for (int n = 0; n < graph_.size(); ++n) {
      const OpNode& op = node(n);
      bool has_float32 = false, may = false;
      for (int u = 0; u < units(n); ++u) {
        has_float32 = has_float32 || op.units[static_cast<size_t>(u)].type == ElementType::kFloat;
        may = may || may_become_low(graph_, n, u, low_);
      }
      at(n).obstacle = is_constant(op.op)                 ? "a constant stays as it is"
                       : is_variable(op.op)               ? "a variable keeps its type"
                       : op.op.starts_with("Placeholder") ? "an input of the graph keeps its type"
                       : op.op == "Cast"                  ? "a cast says its types itself"
                       : op.preserved                     ? "preserved: fetched or fed"
                       : op.stateful && !op.random        ? "it holds or changes state"
                       : !has_float32                     ? "nothing in it is float32"
                       : may                              ? nullptr
                       : low_ == DType::kBFloat16         ? "it has no bfloat16 kernel"
                                                          : "it has no float16 kernel";
    }
  }

  /// Whether a unit changes its type when its node is converted.
  bool changes(int n, int unit) const {
    return unit >= 0 && !nodes_[static_cast<size_t>(n)].obstacle &&
           may_become_low(graph_, n, unit - graph_.first_unit[static_cast<size_t>(n)], low_);
  }
  /// gives: whether the tensor of an edge becomes low if its producer is converted; takes: whether its reader, if
  /// converted, reads it in low precision. If both hold, the edge joins the two nodes.
  bool gives(const OpEdge& e) const { return changes(e.node, graph_.producer_unit(e)); }
  bool takes(int n, int input) const { return changes(n, graph_.reader_unit(n, input)); }

  bool float_input(int n, int input) const {
    const OpEdge& e = node(n).inputs[static_cast<size_t>(input)];
    const int unit = graph_.reader_unit(n, input);
    return graph_.type(e) == ElementType::kFloat ||
           (unit >= 0 && node(n).units[static_cast<size_t>(unit - graph_.unit(n, 0))].type == ElementType::kFloat);
  }

  /// The least fixed point, breadth first: a node's round does not depend on the order of nodes.
  void grow() {
    std::vector<int> queue;
    const auto join = [&](int n, int round) {
      at(n).converted = true;
      at(n).round = round;
      queue.push_back(n);
    };
    for (int n = 0; n < graph_.size(); ++n) {
      State& s = at(n);
      if (s.obstacle) continue;
      if (wants(s.of)) join(n, 0);
      if (s.of != Class::kStrict) continue;
      bool any = false;
      for (int i = 0; i < static_cast<int>(node(n).inputs.size()); ++i) {
        if (!float_input(n, i)) continue;
        any = true;
        s.missing += !is_constant_or_variable(graph_, node(n).inputs[static_cast<size_t>(i)].node);
      }
      if (any && s.missing == 0) join(n, 0);
      if (!any) s.missing = kNever;
    }
    for (size_t q = 0; q < queue.size(); ++q) {
      const int n = queue[q];
      const int round = at(n).round + 1;
      for (const OpReaders::Read& r : readers_.of(n)) {
        State& s = at(r.node);
        if (s.converted || s.obstacle || !gives({n, r.port})) continue;
        if (s.of == Class::kConditional && takes(r.node, r.input)) join(r.node, round);
        if (s.of == Class::kStrict && float_input(r.node, r.input) && !is_constant_or_variable(graph_, n) &&
            --s.missing == 0)
          join(r.node, round);
      }
      for (int i = 0; i < static_cast<int>(node(n).inputs.size()); ++i) {
        const OpEdge& e = node(n).inputs[static_cast<size_t>(i)];
        State& s = at(e.node);
        if (!s.converted && !s.obstacle && s.of == Class::kConditional && gives(e) && takes(n, i)) join(e.node, round);
      }
    }
  }

  std::string pattern_text(int n) {
    const State& s = at(n);
    const auto& list = s.of == Class::kConvertible ? recipe_.convertible : recipe_.non_convertible;
    const RecipeException& e = list[static_cast<size_t>(s.pattern)];
    return "pattern '" + excerpt(e.pattern) + "'" + (e.type.empty() ? "" : " for " + excerpt(e.type));
  }

  /// The neighbour that a conditional node follows: of those converted in the round before, the first by name.
  std::string leader(int n) {
    int best = -1;
    const auto offer = [&](int m) {
      if (at(m).converted && at(m).round < at(n).round && (best < 0 || node(m).name < node(best).name)) best = m;
    };
    for (int i = 0; i < static_cast<int>(node(n).inputs.size()); ++i)
      if (const OpEdge& e = node(n).inputs[static_cast<size_t>(i)]; gives(e) && takes(n, i)) offer(e.node);
    for (const OpReaders::Read& r : readers_.of(n))
      if (gives({n, r.port}) && takes(r.node, r.input)) offer(r.node);
    return best < 0 ? "" : node(best).name;
  }

  /// Why a strict node stays float32: its first input that does.
  std::string blocking_input(int n) {
    for (int i = 0; i < static_cast<int>(node(n).inputs.size()); ++i) {
      const OpEdge& e = node(n).inputs[static_cast<size_t>(i)];
      if (float_input(n, i) && !is_constant_or_variable(graph_, e.node) && !(at(e.node).converted && gives(e)))
        return "input '" + node(e.node).name + "' stays float32";
    }
    return "it has no float32 input";
  }

  /// What happened to a node.
  std::string reason(int n) {
    const State& s = at(n);
    if (s.of == Class::kNonConvertible) return "kept by " + pattern_text(n);
    const std::string why = s.of == Class::kConvertible ? "forced by " + pattern_text(n) : "allow list";
    if (s.obstacle) return wants(s.of) ? why + ", but " + s.obstacle : s.obstacle;
    switch (s.of) {
      case Class::kStrict:
        return s.converted ? "every input is converted, a variable or a constant" : blocking_input(n);
      case Class::kConditional:
        return s.converted ? "beside '" + leader(n) + "', which is converted" : "no neighbour is converted";
      case Class::kBlock: return "in no list: blocked";
      default: return why;
    }
  }
  /// The same for one of its units, which may have its own reason.
  std::string reason(int n, int u, const std::string& of_node) {
    const TypeUnit& unit = node(n).units[static_cast<size_t>(u)];
    if (at(n).of == Class::kNonConvertible || at(n).obstacle) return of_node;
    if (unit.type != ElementType::kFloat) return "is " + softamp::name_of(unit.type);
    if (!may_become_low(graph_, n, u, low_)) return std::string("has no ") + softamp::name_of(low_) + " kernel";
    return of_node;
  }

  /// Components of converted nodes over edges whose tensor is converted, numbered in the order of the nodes.
  std::vector<int> groups() {
    std::vector<int> parent(nodes_.size());
    std::iota(parent.begin(), parent.end(), 0);
    const auto root = [&](int n) {
      while (parent[static_cast<size_t>(n)] != n)
        n = parent[static_cast<size_t>(n)] = parent[static_cast<size_t>(parent[static_cast<size_t>(n)])];
      return n;
    };
    for (int n = 0; n < graph_.size(); ++n)
      for (int i = 0; at(n).converted && i < static_cast<int>(node(n).inputs.size()); ++i) {
        const OpEdge& e = node(n).inputs[static_cast<size_t>(i)];
        if (!at(e.node).converted || !gives(e) || !takes(n, i)) continue;
        const int a = root(n), b = root(e.node);
        parent[static_cast<size_t>(std::max(a, b))] = std::min(a, b);
      }
    std::vector<int> numbers(nodes_.size(), -1);
    int next = 0;
    for (int n = 0; n < graph_.size(); ++n) {
      if (!at(n).converted) continue;
      const int first = root(n);  // the lowest number of its group: seen before all others
      numbers[static_cast<size_t>(n)] = first == n ? next++ : numbers[static_cast<size_t>(first)];
    }
    return numbers;
  }

  std::vector<std::string> messages(const std::vector<int>& groups) {
    std::vector<std::string> all;
    for (const std::string& warning : recipe_.warnings) all.push_back("WARNING " + warning);
    // Patterns that demand an impossible conversion; by obstacle.
    std::vector<std::pair<const char*, std::vector<int>>> refused;
    for (int n = 0; n < graph_.size(); ++n) {
      if (at(n).of != Class::kConvertible || !at(n).obstacle) continue;
      auto it = std::find_if(refused.begin(), refused.end(), [&](const auto& r) { return r.first == at(n).obstacle; });
      if (it == refused.end()) it = refused.insert(refused.end(), {at(n).obstacle, {}});
      it->second.push_back(n);
    }
    for (const auto& [obstacle, who] : refused) {
      files::ShortenedList names(5);
      for (const int n : who) names.add("'" + excerpt(node(n).name) + "' (" + pattern_text(n) + ")");
      all.push_back("WARNING forced, but never converted: " + names.text() + ": " + obstacle);
    }
    int64_t converted = 0;
    for (const State& s : nodes_) converted += s.converted;
    const int count = groups.empty() ? 0 : 1 + *std::max_element(groups.begin(), groups.end());
    all.push_back("INFO recipe " + excerpt(recipe_.name) + ": " + std::to_string(converted) + " of " +
                  std::to_string(nodes_.size()) + " nodes converted to " + softamp::name_of(low_) + " in " +
                  std::to_string(count) + (count == 1 ? " group" : " groups"));
    return all;
  }

  const OpGraph& graph_;
  const Recipe& recipe_;
  const DType low_;
  const OpReaders readers_;
  std::vector<State> nodes_;
};

}  // namespace

Colouring colour_recipe(const OpGraph& graph, const Recipe& recipe, DType low) {
  if (low != DType::kBFloat16 && low != DType::kFloat16)
    throw std::invalid_argument("recipe " + excerpt(recipe.name) + ": dtype " + name_of(low) +
                                "; expected bfloat16 or float16");
  return Painter(graph, recipe, low).paint();
}

GraphRewrite convert_bfloat16(const Graph& graph, const Recipe& recipe, ListView<std::string> fetches) {
  return rewrite_with(graph, fetches, [&](const OpGraph& picture) { return colour_recipe(picture, recipe); });
}

}  // namespace softamp
