#include "softamp/precision/precision_report.h"

#include <algorithm>
#include <map>
#include <utility>

#include "softamp/machine/float_environment.h"
#include "src/numbers/decimal_text.h"
#include "src/precision/report_rows.h"
#include "src/precision/report_text.h"
#include "src/results/cell_text.h"
#include "src/text/columns.h"

namespace softamp {
namespace {

/// Nodes that have a floating-point unit, and those with one in low precision afterwards.
struct FloatingNodes {
  int64_t all = 0, low = 0;
};

/// A cell that is wider exceeds its column.
constexpr size_t kWidest = 60;

FloatingNodes floating_nodes(const PrecisionReport& report) {
  const TypesAfter after(report);
  FloatingNodes count;
  for (int n = 0; n < report.before.size(); ++n) {
    bool floating = false, low = false;
    const auto& units = report.before.nodes[static_cast<size_t>(n)].units;
    for (int u = 0; u < static_cast<int>(units.size()); ++u) {
      const ElementType type = units[static_cast<size_t>(u)].type;
      floating |= is_floating(type);
      low |= is_low_precision(type) || after.retyped(n, u);
    }
    count.all += floating;
    count.low += floating && low;
  }
  return count;
}

/// Floating-point units under one list that belong to one operation, and those converted.
struct Tally {
  int64_t units = 0, converted = 0;
};

std::string by_list_and_operation(const PrecisionReport& report) {
  std::map<std::pair<std::string_view, std::string_view>, Tally> tallies;
  const TypesAfter after(report);
  for (int n = 0; n < report.before.size(); ++n) {
    const OpNode& node = report.before.nodes[static_cast<size_t>(n)];
    for (int u = 0; u < static_cast<int>(node.units.size()); ++u) {
      if (!is_floating(node.units[static_cast<size_t>(u)].type)) continue;
      Tally& tally = tallies[{report.colours.lists[static_cast<size_t>(report.before.unit(n, u))], node.op}];
      ++tally.units;
      tally.converted += after.retyped(n, u);
    }
  }
  if (tallies.empty()) return "";
  std::vector<std::vector<std::string>> lines = {{"list", "operation", "of floating type", "converted"}};
  for (const auto& [key, tally] : tallies)
    lines.push_back(
        {one_line(key.first), one_line(key.second), std::to_string(tally.units), std::to_string(tally.converted)});
  return "\n" + in_columns(lines, {2, 3}, kWidest);
}

}  // namespace

double PrecisionReport::low_share() const {
  const FloatingNodes count = floating_nodes(*this);
  return engine::in_default_environment(
      [&] { return count.all == 0 ? 0 : static_cast<double>(count.low) / static_cast<double>(count.all); });
}

int64_t PrecisionReport::groups() const {
  std::vector<int> numbers;
  for (const int group : colours.groups)
    if (group >= 0) numbers.push_back(group);
  std::sort(numbers.begin(), numbers.end());
  return std::unique(numbers.begin(), numbers.end()) - numbers.begin();
}

std::string PrecisionReport::summary() const {
  const engine::DefaultEnvironment guard;
  const FloatingNodes floating = floating_nodes(*this);
  const int64_t to_low = plan.casts_to_low(), to_float = plan.casts_to_float32(), counted = plan.casts_to_low_counted();
  const std::string low = name_of(plan.low);
  std::vector<std::vector<std::string>> lines;
  lines.push_back({"mechanism", one_line(colours.mechanism) + ", low precision " + low});
  lines.push_back({"nodes", std::to_string(nodes()) + ", " + std::to_string(converted_nodes()) + " converted"});
  lines.push_back({"casts", std::to_string(plan.casts.size()) + " added: " + std::to_string(to_low) + " to " + low +
                                " (" + std::to_string(to_low - counted) + " of constants and variables), " +
                                std::to_string(to_float) + " to float32"});
  lines.push_back({"low precision", percent_text(low_share()) + ": " + std::to_string(floating.low) + " of " +
                                        std::to_string(floating.all) + " nodes of floating type, afterwards"});
  if (!colours.groups.empty()) lines.push_back({"groups", std::to_string(groups())});
  return in_columns(lines, {}, kWidest) + by_list_and_operation(*this);
}

std::string PrecisionReport::table() const {
  const ReportTable table(*this);
  const std::vector<size_t> shown = results::shown_to_people(table.columns());
  const auto cells = [&](size_t line) {
    const results::Row row = line == 0 ? results::Row() : table.row(line - 1);
    std::vector<std::string> text;
    for (const size_t c : shown) {
      const results::Column& column = table.columns()[c];
      text.push_back(line == 0 ? column.title() : one_line(results::for_people(row[c], column, "")));
    }
    return text;
  };
  std::vector<size_t> right;
  for (size_t i = 0; i < shown.size(); ++i)
    if (table.columns()[shown[i]].right) right.push_back(i);
  return in_columns(table.rows() + 1, cells, right, kWidest);
}

}  // namespace softamp
