// PrecisionReport::dot: the rewritten graph for Graphviz. Long names and reasons are cut, for the reader and for
// Graphviz; the other renderings have them whole.
#include <map>

#include "softamp/precision/precision_report.h"
#include "src/graph/dot_text.h"
#include "src/precision/report_rows.h"
#include "src/precision/report_text.h"

namespace softamp {
namespace {

using graph_detail::dot_quoted;

constexpr size_t kLongestLabel = 60, kLongestTip = 400;

struct Legend {
  const char *word, *fill;
};
constexpr Legend kLow{"low precision", "#c8e6c9"}, kKept{"kept by a list", "#ffcdd2"}, kUnlisted{"unlisted", "#e0e0e0"},
    kPreserved{"preserved", "#bbdefb"}, kCast{"cast", "#fff59d"};

std::string html(const std::string& text) {
  std::string safe;
  for (const char c : text)
    if (c == '&')
      safe += "&amp;";
    else if (c == '<')
      safe += "&lt;";
    else if (c == '>')
      safe += "&gt;";
    else
      safe += c;
  return safe;
}

/// Words that mechanisms have for "in none of the lists".
bool is_unlisted(const std::string& list) {
  return list.empty() || list == "unlisted" || list == "block" || list == "no layer";
}

class Drawing {
 public:
  explicit Drawing(const PrecisionReport& report) : report_(report), graph_(report.before), after_(report) {}

  std::string text() {
    out_ =
        "digraph softamp {\n  node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\"];\n"
        "  edge [fontname=\"sans-serif\", fontsize=10];\n  fontname=\"sans-serif\";\n  labelloc=t;\n";
    legend();
    nodes();
    casts();
    edges();
    return out_ + "}\n";
  }

 private:
  /// What happened to a node.
  Legend kind(int n) const {
    const OpNode& node = graph_.nodes[static_cast<size_t>(n)];
    if (node.preserved) return kPreserved;
    bool listed = false;
    for (int u = 0; u < static_cast<int>(node.units.size()); ++u) {
      const ElementType before = node.units[static_cast<size_t>(u)].type;
      if (after_.retyped(n, u) || is_low_precision(before)) return kLow;
      if (before == ElementType::kFloat)
        listed |= !is_unlisted(report_.colours.lists[static_cast<size_t>(graph_.unit(n, u))]);
    }
    return listed && !is_constant(node.op) && !is_variable(node.op) ? kKept : kUnlisted;
  }

  /// A line for each type attribute: "T: float32 to float16, allow: ...".
  std::string tip(int n) const {
    const OpNode& node = graph_.nodes[static_cast<size_t>(n)];
    std::string lines = one_line(node.name);
    for (int u = 0; u < static_cast<int>(node.units.size()); ++u) {
      const auto number = static_cast<size_t>(graph_.unit(n, u));
      const TypeUnit& unit = node.units[static_cast<size_t>(u)];
      lines += "\n" + one_line(unit.attribute) + ": " + name_of(unit.type);
      if (after_.retyped(n, u)) lines += std::string(" to ") + name_of(report_.plan.low);
      lines += ", " + one_line(report_.colours.lists[number]) + ": " + one_line(report_.colours.reasons[number]);
    }
    return shortened(lines, kLongestTip);
  }

  void legend() {
    out_ += "  label=<<table border=\"0\" cellspacing=\"4\"><tr><td colspan=\"5\">" +
            html(shortened(one_line(report_.colours.mechanism), kLongestLabel)) + ": " +
            std::to_string(report_.converted_nodes()) + " of " + std::to_string(report_.nodes()) +
            " nodes converted, " + std::to_string(report_.plan.casts.size()) + " casts added</td></tr><tr>";
    for (const Legend& k : {kLow, kKept, kUnlisted, kPreserved, kCast})
      out_ += std::string("<td bgcolor=\"") + k.fill + "\">" + k.word + "</td>";
    out_ += "</tr></table>>;\n";
  }

  void node(int n, const char* indent) {
    const OpNode& node = graph_.nodes[static_cast<size_t>(n)];
    const std::string name = shortened(one_line(node.name), kLongestLabel);
    out_ += indent + ("n" + std::to_string(n)) + " [label=" +
            dot_quoted(node.name == node.op ? name : name + "\n" + shortened(one_line(node.op), kLongestLabel)) +
            ", fillcolor=\"" + kind(n).fill + "\", tooltip=" + dot_quoted(tip(n)) + "];\n";
  }

  void nodes() {
    std::map<int, std::vector<int>> groups;
    for (int n = 0; n < graph_.size(); ++n) {
      const int group = report_.colours.groups.empty() ? -1 : report_.colours.groups[static_cast<size_t>(n)];
      if (group < 0)
        node(n, "  ");
      else
        groups[group].push_back(n);
    }
    for (const auto& [number, members] : groups) {
      out_ += "  subgraph cluster_" + std::to_string(number) + " {\n    label=\"group " + std::to_string(number) +
              "\";\n    color=\"#2e7d32\";\n";
      for (const int n : members) node(n, "    ");
      out_ += "  }\n";
    }
  }

  void casts() {
    for (size_t c = 0; c < report_.plan.casts.size(); ++c) {
      const PlannedCast& cast = report_.plan.casts[c];
      out_ += "  c" + std::to_string(c) +
              " [shape=ellipse, style=filled, label=" + dot_quoted(std::string("Cast\n") + name_of(cast.to)) +
              ", fillcolor=\"" + kCast.fill + "\", tooltip=" + dot_quoted(shortened(one_line(cast.name), kLongestTip)) +
              "];\n";
    }
  }

  void edge(const std::string& from, const std::string& to, ElementType type, int port) {
    out_ += "  " + from + " -> " + to + " [tooltip=" + dot_quoted(name_of(type));
    if (port > 0) out_ += ", label=\":" + std::to_string(port) + "\"";
    if (is_low_precision(type)) out_ += ", color=\"#2e7d32\", penwidth=2";
    if (!is_floating(type)) out_ += ", style=dashed, color=\"#757575\"";
    out_ += "];\n";
  }

  void edges() {
    // Of each node's inputs, which come by a cast: those of node n from first[n] on.
    std::vector<size_t> first{0};
    for (const OpNode& node : graph_.nodes) first.push_back(first.back() + node.inputs.size());
    std::vector<int> through(first.back(), -1);
    std::vector<OpEdge> redirected(  // to an existing Cast; node -1: not
        report_.plan.redirected.empty() ? 0 : first.back());
    for (size_t c = 0; c < report_.plan.casts.size(); ++c)
      for (const auto& [node, input] : report_.plan.casts[c].readers)
        through[first[static_cast<size_t>(node)] + static_cast<size_t>(input)] = static_cast<int>(c);
    for (const CastPlan::Redirect& r : report_.plan.redirected)
      redirected[first[static_cast<size_t>(r.node)] + static_cast<size_t>(r.input)] = r.to;
    for (size_t c = 0; c < report_.plan.casts.size(); ++c) {
      const OpEdge from = report_.plan.casts[c].from;
      edge("n" + std::to_string(from.node), "c" + std::to_string(c), after_.type(from), from.port);
    }
    for (int n = 0; n < graph_.size(); ++n) {
      const auto& inputs = graph_.nodes[static_cast<size_t>(n)].inputs;
      for (size_t i = 0; i < inputs.size(); ++i) {
        const size_t slot = first[static_cast<size_t>(n)] + i;
        const int cast = through[slot];
        const OpEdge from = redirected.empty() || redirected[slot].node < 0 ? inputs[i] : redirected[slot];
        const std::string to = "n" + std::to_string(n);
        if (cast >= 0)
          edge("c" + std::to_string(cast), to, element_type(report_.plan.casts[static_cast<size_t>(cast)].to), 0);
        else if (from.node >= 0)
          edge("n" + std::to_string(from.node), to, after_.type(from), from.port);
      }
    }
  }

  const PrecisionReport& report_;
  const OpGraph& graph_;
  TypesAfter after_;
  std::string out_;
};

}  // namespace

std::string PrecisionReport::dot() const { return Drawing(*this).text(); }

}  // namespace softamp
