#include "src/precision/report_rows.h"

namespace softamp {
namespace {

constexpr int kFirstReference = 100;

ElementType referenced(ElementType t) {
  const int code = static_cast<int>(t);
  return static_cast<ElementType>(code > kFirstReference ? code - kFirstReference : code);
}

}  // namespace

bool is_floating(ElementType t) {
  const ElementType of = referenced(t);
  return of == ElementType::kFloat || of == ElementType::kDouble || is_low_precision(of);
}

bool is_low_precision(ElementType t) {
  return referenced(t) == ElementType::kHalf || referenced(t) == ElementType::kBFloat16;
}

TypesAfter::TypesAfter(const PrecisionReport& report)
    : graph_(report.before), low_(element_type(report.plan.low)), retyped_(static_cast<size_t>(report.before.units())) {
  for (const auto& [node, unit] : report.plan.retyped) retyped_[static_cast<size_t>(graph_.unit(node, unit))] = 1;
}

ElementType TypesAfter::type(const OpEdge& edge) const {
  const int unit = graph_.producer_unit(edge);
  return unit >= 0 && retyped_[static_cast<size_t>(unit)] ? low_ : graph_.type(edge);
}

std::vector<ReportRow> report_rows(const PrecisionReport& report) {
  const OpGraph& graph = report.before;
  const auto nodes = static_cast<size_t>(graph.size());
  // Casts by unit; those at ports without attribute by node.
  std::vector<int64_t> in(static_cast<size_t>(graph.units())), out(in.size()), bare_in(nodes), bare_out(nodes);
  std::vector<int> last_of_unit(in.size(), -1), last_of_node(nodes, -1);  // the cast that was counted last
  for (size_t c = 0; c < report.plan.casts.size(); ++c) {
    const PlannedCast& cast = report.plan.casts[c];
    const int from = graph.producer_unit(cast.from);
    ++(from >= 0 ? out[static_cast<size_t>(from)] : bare_out[static_cast<size_t>(cast.from.node)]);
    for (const auto& [node, input] : cast.readers) {
      const int to = graph.reader_unit(node, input);
      int& last = to >= 0 ? last_of_unit[static_cast<size_t>(to)] : last_of_node[static_cast<size_t>(node)];
      if (last == static_cast<int>(c)) continue;
      last = static_cast<int>(c);
      ++(to >= 0 ? in[static_cast<size_t>(to)] : bare_in[static_cast<size_t>(node)]);
    }
  }
  const TypesAfter after(report);
  std::vector<ReportRow> rows;
  rows.reserve(in.size());
  for (int n = 0; n < graph.size(); ++n) {
    const auto at = static_cast<size_t>(n);
    const OpNode& node = graph.nodes[at];
    const int group = report.colours.groups.empty() ? -1 : report.colours.groups[at];
    for (int u = 0; u < static_cast<int>(node.units.size()); ++u) {
      const TypeUnit& unit = node.units[static_cast<size_t>(u)];
      const auto number = static_cast<size_t>(graph.unit(n, u));
      const ElementType type = after.retyped(n, u) ? element_type(report.plan.low) : unit.type;
      rows.push_back({n, u, unit.attribute, report.colours.lists[number], report.colours.reasons[number], unit.type,
                      type, group, in[number], out[number]});
    }
    if (!node.units.empty() && bare_in[at] == 0 && bare_out[at] == 0) continue;
    const ElementType fixed = node.output_types.empty() ? ElementType::kUnknown : node.output_types[0];
    rows.push_back({n, -1, "", "", "no type attribute", fixed, fixed, group, bare_in[at], bare_out[at]});
  }
  return rows;
}

ReportTable::ReportTable(const PrecisionReport& report)
    : report_(report),
      rows_(report_rows(report)),
      columns_{{"node"},
               {"op"},
               {.key = "device", .shown = results::Shown::kToPrograms},
               {.key = "layer", .shown = results::Shown::kToPrograms},
               {"attribute"},
               {"list"},
               {"before"},
               {"after"},
               {.key = "casts_in", .head = "in", .right = true},
               {.key = "casts_out", .head = "out", .right = true},
               {.key = "group",
                .right = true,
                .shown = report.colours.groups.empty() ? results::Shown::kToPrograms : results::Shown::kEverywhere},
               {"reason"}} {}

results::Row ReportTable::row(size_t number) const {
  const ReportRow& row = rows_[number];
  const OpNode& node = report_.before.nodes[static_cast<size_t>(row.node)];
  return {node.name,
          node.op,
          node.device,
          node.layer,
          row.attribute,
          row.list,
          name_of(row.before),
          name_of(row.after),
          row.casts_in,
          row.casts_out,
          row.group < 0 ? results::Cell() : results::Cell(row.group),
          row.reason};
}

}  // namespace softamp
