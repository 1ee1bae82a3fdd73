#include "src/reproduce/outcome_text.h"

#include "softamp/numbers/number_text.h"
#include "src/numbers/decimal_text.h"
#include "src/text/columns.h"

#include <sstream>

namespace softamp::reproduce {
namespace {

constexpr size_t kWidth = 100;

std::string table_text(const Table& table) {
  std::vector<std::vector<std::string>> rows = {table.columns};
  std::vector<size_t> right;
  for (size_t c = 0; c < table.columns.size(); ++c)
    if (number_column(table, c)) right.push_back(c);
  for (const auto& row : table.rows) {
    rows.emplace_back();
    for (const Json& cell : row) rows.back().push_back(cell_text(cell));
  }
  return table.title + "\n" + in_columns(rows, right);
}

std::string settings_text(const Json& settings) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& [key, value] : settings.items()) rows.push_back({"  " + key, setting_text(value)});
  return in_columns(rows);
}

std::string checks_text(const Outcome& outcome) {
  std::vector<std::vector<std::string>> rows = {{"  verdict", "what", "ours", "published or derived", "against"}};
  for (const Check& check : outcome.checks)
    rows.push_back({"  " + verdict(check), check.what, check.ours, check.theirs, std::string(name_of(check.against))});
  return "Checks: " + agreement_text(outcome) + " agree\n" + in_columns(rows);
}

}  // namespace

std::string cell_text(const Json& cell) {
  if (cell.is_null()) return "-";
  if (cell.is_boolean()) return cell.get<bool>() ? "yes" : "no";
  if (cell.is_string()) return cell;
  if (cell.is_number_float()) return shortest_decimal(cell.get<double>());
  return cell.dump();
}

bool number_column(const Table& table, size_t column) {
  bool some = false;
  for (const auto& row : table.rows) {
    if (column >= row.size() || row[column].is_null()) continue;
    const Json& cell = row[column];
    if (!cell.is_number() && cell != "nan" && cell != "inf" && cell != "-inf") return false;
    some = true;
  }
  return some;
}

std::string verdict(const Check& check) {
  if (!check.agrees) return "differs";
  return check.against == Against::kRecorded ? "recorded" : "agrees";
}

Agreement agreement(const Outcome& outcome) {
  Agreement a;
  for (const Check& check : outcome.checks) {
    const bool judged = check.against != Against::kRecorded || !check.agrees;
    a.judged += judged;
    a.agreed += judged && check.agrees;
    a.recorded += !judged;
  }
  return a;
}

std::string agreement_text(const Outcome& outcome) {
  if (!outcome.skipped.empty()) return "skipped";
  const Agreement a = agreement(outcome);
  return std::to_string(a.agreed) + " of " + std::to_string(a.judged);
}

std::string agreement_text(const Result& result) {
  return result.failed.empty() ? agreement_text(result.outcome) : "failed";
}

std::string duration_text(double seconds) {
  if (seconds < 9.95) return fixed_places(seconds, 1) + " s";
  if (seconds < 99.5) return fixed_places(seconds, 0) + " s";
  if (seconds < 99.5 * 60) return fixed_places(seconds / 60, 0) + " min";
  if (seconds < 72 * 3600) return fixed_places(seconds / 3600, 1) + " h";
  return fixed_places(seconds / 86400, 0) + " days";
}

std::string setting_text(const Json& value) {
  if (!value.is_structured()) return cell_text(value);
  std::string text;
  for (const auto& [key, part] : value.items())
    text += (text.empty() ? "" : ", ") + (value.is_object() ? key + " " : std::string()) + setting_text(part);
  return text;
}

std::string wrapped(const std::string& text, size_t width) {
  std::string result;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    size_t at = 0;
    for (std::string word; words >> word;) {
      const size_t length = characters(word);
      if (at > 0 && at + 1 + length > width) {
        result += "\n";
        at = 0;
      }
      result += (at ? " " : "") + word;
      at += length + (at ? 1 : 0);
    }
    result += "\n";
  }
  return result;
}

std::string result_text(const Result& result) {
  const Outcome& o = result.outcome;
  std::string text = in_columns({{"experiment", result.name + ": " + result.summary},
                                 {"source", result.source},
                                 {"command", result.command},
                                 {"softamp", result.version}});
  if (!result.failed.empty()) return text + "failed      " + result.failed + "\n";
  if (!o.skipped.empty()) return text + "skipped     " + o.skipped + "\n";
  if (!o.settings.empty()) text += "settings\n" + settings_text(o.settings);
  for (const Table& table : o.tables) text += "\n" + table_text(table);
  if (!o.seen.empty()) text += "\n" + wrapped(o.seen, kWidth);
  if (!o.deviations.empty()) text += "\n" + wrapped("Not as published: " + o.deviations, kWidth);
  if (!o.checks.empty()) text += "\n" + checks_text(o);
  return text;
}

}  // namespace softamp::reproduce
