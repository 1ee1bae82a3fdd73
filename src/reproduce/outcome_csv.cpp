#include "src/reproduce/outcome_csv.h"

#include "src/text/csv_cell.h"

namespace softamp::reproduce {
namespace {

std::string cell_csv(const Json& cell) {
  if (cell.is_null()) return {};
  return csv_cell(cell.is_string() ? cell.get<std::string>() : cell.dump());
}

}  // namespace

std::string table_csv(const Table& table) {
  std::string text;
  for (size_t c = 0; c < table.columns.size(); ++c) text += (c ? "," : "") + csv_cell(table.columns[c]);
  text += "\r\n";
  for (const auto& row : table.rows) {
    for (size_t c = 0; c < row.size(); ++c) text += (c ? "," : "") + cell_csv(row[c]);
    text += "\r\n";
  }
  return text;
}

}  // namespace softamp::reproduce
