// The rules of Gaudi's pass once more, slow and plain, and random recipes to hold it against.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "softamp/precision/recipe.h"
#include "tests/precision/random_dag.h"

namespace softamp::test {

/// A pattern, and what it means, said without regular expressions.
struct KnownPattern {
  const char* pattern;
  std::function<bool(const std::string&)> fits;
};
inline const std::vector<KnownPattern>& known_patterns() {
  static const std::vector<KnownPattern> kPatterns = {
      {"scope1/.*", [](const std::string& n) { return n.starts_with("scope1/"); }},
      {".*_[0-9]*7", [](const std::string& n) { return n.ends_with("7"); }},
      {".*a.*", [](const std::string& n) { return n.find('a') != std::string::npos; }},
      {"[^/]*", [](const std::string& n) { return n.find('/') == std::string::npos; }},
      {"scope[23]", [](const std::string&) { return false; }},  // fits a part alone
  };
  return kPatterns;
}

struct RandomRecipe {
  Recipe recipe;
  std::vector<std::pair<size_t, std::string>> keep, force;  // number of a known pattern, type
};

inline RandomRecipe random_recipe(uint64_t seed, bool exceptions) {
  Dice dice(seed);
  RandomRecipe r;
  const int quiet = dice.below(100);  // some recipes list little
  const auto list = [&](const std::string& op) {
    if (dice.chance(quiet)) return;
    const int kind = dice.below(8);
    if (kind < 2 || kind == 6) r.recipe.allow.push_back(op);
    if ((kind > 1 && kind < 4) || kind == 7) r.recipe.conditional.push_back(op);
    if (kind > 3) r.recipe.strict.push_back(op);
  };
  for (const auto& word : random_dag_detail::vocabulary()) list(word.op);
  for (const char* op : {"Cast", "Placeholder", "VariableV2", "Const"}) list(op);
  const auto except = [&](auto& numbers, auto& out) {
    for (int i = dice.below(3); i > 0; --i) {
      const auto k = static_cast<size_t>(dice.below(static_cast<int>(known_patterns().size())));
      numbers.emplace_back(k, dice.chance(40) ? "MatMul" : "");
      out.push_back({known_patterns()[k].pattern, numbers.back().second});
    }
  };
  if (exceptions) {
    except(r.keep, r.recipe.non_convertible);
    except(r.force, r.recipe.convertible);
  }
  return r;
}

/// For every node whether it is in.
using NodeSet = std::vector<bool>;

/// The rules, sentence by sentence; every question is asked anew, of every node, as long as something changes.
class Transcription {
 public:
  Transcription(const OpGraph& graph, const RandomRecipe& r, DType low) : graph_(graph), r_(r), low_(low) {
    for (int n = 0; n < graph.size(); ++n) classes_.push_back(class_of(graph.nodes[static_cast<size_t>(n)]));
    neighbours_.resize(graph.nodes.size());
    for (int n = 0; n < graph.size(); ++n) {
      const OpNode& node = graph.nodes[static_cast<size_t>(n)];
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (!low_edge(node.inputs[i], n, i)) continue;
        neighbours_[static_cast<size_t>(n)].push_back(node.inputs[i].node);
        neighbours_[static_cast<size_t>(node.inputs[i].node)].push_back(n);
      }
    }
  }

  NodeSet least() const {
    NodeSet c(graph_.nodes.size());
    for (bool changed = true; changed;) {
      changed = false;
      for (int n = 0; n < graph_.size(); ++n)
        if (!c[static_cast<size_t>(n)] && joins(n, c)) changed = c[static_cast<size_t>(n)] = true;
    }
    return c;
  }
  /// Nodes that are a matter of their neighbours.
  std::vector<int> open() const {
    std::vector<int> nodes;
    for (int n = 0; n < graph_.size(); ++n)
      if (possible(n) && (classes_[static_cast<size_t>(n)] == 's' || classes_[static_cast<size_t>(n)] == 'c'))
        nodes.push_back(n);
    return nodes;
  }
  bool closed(const NodeSet& c) const {
    for (int n = 0; n < graph_.size(); ++n)
      if (!c[static_cast<size_t>(n)] && joins(n, c)) return false;
    return true;
  }
  bool changes(int n, int local) const {
    const OpNode& node = graph_.nodes[static_cast<size_t>(n)];
    if (local < 0 || node.op == "Placeholder" || node.op == "Const" || node.op == "VariableV2" || node.op == "Cast" ||
        node.preserved)
      return false;
    const TypeUnit& u = node.units[static_cast<size_t>(local)];
    return u.type == ElementType::kFloat && (low_ == DType::kFloat16 ? u.float16 : u.bfloat16);
  }

 private:
  char class_of(const OpNode& node) const {
    const auto match = [&](const auto& list) {
      for (const auto& [k, type] : list)
        if (known_patterns()[k].fits(node.name) && (type.empty() || type == node.op)) return true;
      return false;
    };
    const auto in = [&](const std::vector<std::string>& list) {
      return std::find(list.begin(), list.end(), node.op) != list.end();
    };
    return match(r_.keep)              ? 'n'
           : match(r_.force)           ? 'f'
           : in(r_.recipe.allow)       ? 'a'
           : in(r_.recipe.strict)      ? 's'
           : in(r_.recipe.conditional) ? 'c'
                                       : 'b';
  }
  bool possible(int n) const {
    for (size_t u = 0; u < graph_.nodes[static_cast<size_t>(n)].units.size(); ++u)
      if (changes(n, static_cast<int>(u))) return true;
    return false;
  }
  bool is_variable_or_constant(int n) const {
    const OpNode& node = graph_.nodes[static_cast<size_t>(n)];
    return node.op == "Const" || node.op == "VariableV2" ||
           (node.op == "Identity" && graph_.nodes[static_cast<size_t>(node.inputs[0].node)].op == "VariableV2");
  }
  bool low_edge(const OpEdge& e, int reader, size_t input) const {
    return changes(e.node, graph_.nodes[static_cast<size_t>(e.node)].output_units[static_cast<size_t>(e.port)]) &&
           changes(reader, graph_.nodes[static_cast<size_t>(reader)].input_units[input]);
  }
  bool joins(int n, const NodeSet& c) const {
    const OpNode& node = graph_.nodes[static_cast<size_t>(n)];
    const char of = classes_[static_cast<size_t>(n)];
    if (!possible(n)) return false;
    if (of == 'a' || of == 'f') return true;
    if (of == 's') {
      int floats = 0;
      for (const OpEdge& e : node.inputs) {
        if (graph_.type(e) != ElementType::kFloat) continue;
        ++floats;
        const OpNode& from = graph_.nodes[static_cast<size_t>(e.node)];
        if (!is_variable_or_constant(e.node) &&
            !(c[static_cast<size_t>(e.node)] && changes(e.node, from.output_units[static_cast<size_t>(e.port)])))
          return false;
      }
      return floats > 0;
    }
    if (of != 'c') return false;
    for (const int m : neighbours_[static_cast<size_t>(n)])
      if (c[static_cast<size_t>(m)]) return true;
    return false;
  }

  const OpGraph& graph_;
  const RandomRecipe& r_;
  DType low_;
  std::vector<char> classes_;
  std::vector<std::vector<int>> neighbours_;  // over tensors that are converted where both are
};

inline std::string units_of(const OpGraph& graph, const Transcription& rules, const NodeSet& nodes) {
  std::string low;
  for (int n = 0; n < graph.size(); ++n)
    for (int u = 0; u < static_cast<int>(graph.nodes[static_cast<size_t>(n)].units.size()); ++u)
      low += nodes[static_cast<size_t>(n)] && rules.changes(n, u) ? '1' : '0';
  return low;
}
inline std::string units_of(const Colouring& c) {
  std::string low;
  for (const uint8_t u : c.low_units) low += u ? '1' : '0';
  return low;
}

/// Groups again: of each converted node, the least number that can be reached over converted tensors.
inline std::vector<int> flooded(const OpGraph& graph, const Colouring& c) {
  std::vector<int> root(graph.nodes.size(), -1);
  for (int n = 0; n < graph.size(); ++n)
    for (size_t u = 0; u < graph.nodes[static_cast<size_t>(n)].units.size(); ++u)
      if (c.is_low(graph.unit(n, static_cast<int>(u)))) root[static_cast<size_t>(n)] = n;
  for (bool changed = true; changed;) {
    changed = false;
    for (int n = 0; n < graph.size(); ++n)
      for (int i = 0; i < static_cast<int>(graph.nodes[static_cast<size_t>(n)].inputs.size()); ++i) {
        const OpEdge& e = graph.nodes[static_cast<size_t>(n)].inputs[static_cast<size_t>(i)];
        int &a = root[static_cast<size_t>(n)], &b = root[static_cast<size_t>(e.node)];
        if (!c.is_low(graph.producer_unit(e)) || !c.is_low(graph.reader_unit(n, i)) || a == b) continue;
        a = b = std::min(a, b);
        changed = true;
      }
  }
  return root;
}

}  // namespace softamp::test
