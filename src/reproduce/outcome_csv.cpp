#include "src/reproduce/outcome_csv.h"

#include "src/results/csv.h"

namespace softamp::reproduce {
namespace {

results::Cell cell_of(const Json& cell) {
  if (cell.is_null()) return {};
  if (cell.is_boolean()) return cell.get<bool>();
  if (cell.is_number_unsigned()) return cell.get<uint64_t>();
  if (cell.is_number_integer()) return cell.get<int64_t>();
  if (cell.is_number()) return cell.get<double>();
  return cell.get<std::string>();
}

}  // namespace

std::string table_csv(const Table& table) {
  std::vector<results::Column> columns;
  for (const std::string& name : table.columns) columns.push_back({name});
  std::string text = results::csv_head(columns);
  for (const std::vector<Json>& row : table.rows) {
    results::Row cells;
    for (const Json& cell : row) cells.push_back(cell_of(cell));
    text += results::csv_line(columns, cells);
  }
  return text;
}

}  // namespace softamp::reproduce
