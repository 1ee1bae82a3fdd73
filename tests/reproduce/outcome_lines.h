// All that an experiment found, as lines that a person can review: tests/reproduce/results/ keeps such texts.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/files/sha256.h"
#include "src/numbers/decimal_text.h"
#include "src/reproduce/outcome_text.h"

namespace softamp::reproduce::test {

/// Whole where it is a result of a narrow format: a multiple of 2^-40 that fp32 holds. Others to six digits and 14
/// places, which no other std::pow or std::log moves.
inline std::string kept_number(double value) {
  const double scaled = std::ldexp(value, 40), least = 1e-14;
  if (static_cast<double>(static_cast<float>(value)) == value && scaled == std::nearbyint(scaled))
    return round_trip_text(value);
  const bool tiny = std::abs(value) < 1e5 * least;
  return significant_digits(tiny ? std::nearbyint(value / least) * least : value, 6);
}

inline std::string kept_cell(const Json& cell) {
  if (cell.is_number_float()) return kept_number(cell.get<double>());
  if (!cell.is_structured()) return cell_text(cell);
  std::string text;
  for (const auto& [key, part] : cell.items())
    text += (text.empty() ? "" : ", ") + (cell.is_object() ? key + " " : std::string()) + kept_cell(part);
  return "[" + text + "]";
}

inline std::string joined_cells(const std::vector<std::string>& cells) {
  std::string line;
  for (const std::string& cell : cells) line += (line.empty() ? "" : " | ") + cell;
  return line;
}

inline std::string short_digest(const std::string& text) {
  Sha256 digest;
  digest.add(text.data(), text.size());
  return digest.hex().substr(0, 12);
}

/// All of at most `most` parts; of more the first and the last, unless `most` is 0, and a digest of all.
inline std::string abridged(const std::vector<std::string>& parts, size_t most, const std::string& between) {
  std::string text, all;
  for (const std::string& part : parts) all += between + part;
  if (parts.size() <= most) return all;
  const std::string ends = most == 0 ? "" : between + parts.front() + between + parts.back();
  return ends + between + "of " + std::to_string(parts.size()) + ", all " + short_digest(all);
}

inline std::string axis_text(const std::string& label, int log, const std::optional<PlotRange>& range) {
  std::string text = label + (log ? ", log " + std::to_string(log) : "");
  if (range) text += ", " + kept_number(range->least) + " to " + kept_number(range->greatest);
  return text;
}

inline std::string curve_line(const Curve& curve) {
  constexpr std::array kStyles = {"thin", "bold", "reference", "points", "bars"};
  std::vector<std::string> points;
  for (size_t i = 0; i < std::max(curve.x.size(), curve.y.size()); ++i)
    points.push_back((i < curve.x.size() ? kept_number(curve.x[i]) : "none") + " " +
                     (i < curve.y.size() ? kept_number(curve.y[i]) : "none"));
  return "curve " + curve.title + " (" + kStyles.at(static_cast<size_t>(curve.style)) +
         (curve.colour ? " " + std::to_string(curve.colour) : "") + (curve.dashed ? " dashed" : "") + ")" +
         abridged(points, curve.title.empty() ? 0 : 4, "; ") + "\n";
}

inline std::string figure_lines(const Figure& figure) {
  const Plot& plot = figure.plot;
  std::string text = "\nfigure " + figure.name + ": " + plot.title + (plot.subtitle.empty() ? "" : "; ") +
                     plot.subtitle + "\nx " + axis_text(plot.x_label, plot.x_log, plot.x_range) + "\ny " +
                     axis_text(plot.y_label, plot.y_log, plot.y_range) + "\n";
  if (plot.equal_aspect) text += "equal aspect\n";
  for (const Curve& curve : plot.curves) text += curve_line(curve);
  if (!plot.panel.empty()) text += "panel " + axis_text(plot.panel_label, 0, plot.panel_range) + "\n";
  for (const Curve& curve : plot.panel) text += curve_line(curve);
  for (const PlotStrip& strip : plot.strips) {
    text += "strip " + axis_text(strip.label, strip.y_log, {}) + "\n";
    for (const Curve& curve : strip.curves) text += curve_line(curve);
  }
  return text + "caption " + figure.caption + "\n";
}

inline std::string table_lines(const Table& table) {
  constexpr size_t kMostRows = 30;
  std::vector<std::string> rows;
  for (const auto& row : table.rows) {
    std::vector<std::string> cells;
    for (const Json& cell : row) cells.push_back(kept_cell(cell));
    rows.push_back(joined_cells(cells));
  }
  return "\ntable " + table.name + ": " + table.title + "\n" + joined_cells(table.columns) +
         abridged(rows, kMostRows, "\n") + "\n";
}

/// Each sentence on a line.
inline std::string sentences(const std::string& begin, std::string text) {
  if (text.empty()) return "";
  for (size_t at = 0; (at = text.find(". ", at)) != std::string::npos;) text.replace(at, 2, ".\n");
  return "\n" + begin + text + "\n";
}

/// All of it, or digests alone of tables, figures and checks.
inline std::string outcome_lines(const Outcome& o, bool in_full = true) {
  if (!o.skipped.empty()) return "skipped: " + o.skipped + "\n";
  std::string text;
  const auto add = [&](const std::string& name, const std::string& lines) {
    text += in_full ? lines : name + ", all " + short_digest(lines) + "\n";
  };
  for (const auto& [key, value] : o.settings.items()) text += key + ": " + kept_cell(value) + "\n";
  for (const Table& table : o.tables) add("table " + table.name, table_lines(table));
  for (const Figure& figure : o.figures) add("figure " + figure.name, figure_lines(figure));
  text += sentences("seen: ", o.seen) + sentences("deviations: ", o.deviations);
  std::string checks;
  std::map<std::string, int> verdicts;
  for (const Check& c : o.checks) {
    const std::string judged = verdict(c) + ", " + std::string(name_of(c.against));
    ++verdicts[judged];
    checks += joined_cells({judged, c.what, c.ours, c.theirs == c.ours ? "=" : c.theirs}) + "\n";
  }
  text += "\n";
  for (const auto& [judged, count] : verdicts) text += std::to_string(count) + " " + judged + "\n";
  add("checks", checks);
  return text;
}

}  // namespace softamp::reproduce::test
