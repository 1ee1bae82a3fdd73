#include "src/results/csv.h"

#include "src/results/cell_text.h"

namespace softamp::results {
namespace {

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string cell = "\"";
  for (const char c : text) {
    if (c == '"') cell += '"';
    cell += c;
  }
  return cell + '"';
}

/// `text(c)` of each column that programs are shown.
template <class Text>
std::string line_of(const std::vector<Column>& columns, const Text& text) {
  std::string line;
  const char* between = "";
  for (size_t c = 0; c < columns.size(); ++c) {
    if (columns[c].shown == Shown::kToPeople) continue;
    line += between + quoted(text(c));
    between = ",";
  }
  return line + '\n';
}

}  // namespace

std::string csv_head(const std::vector<Column>& columns) {
  return line_of(columns, [&](size_t c) { return columns[c].key; });
}

std::string csv_line(const std::vector<Column>& columns, const Row& row) {
  return line_of(columns, [&](size_t c) { return for_programs(row[c]); });
}

std::string csv(const Table& table) {
  std::string text = csv_head(table.columns);
  for (const Row& row : table.rows) text += csv_line(table.columns, row);
  return text;
}

}  // namespace softamp::results
