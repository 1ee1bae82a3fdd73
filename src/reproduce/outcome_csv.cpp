#include "src/reproduce/outcome_csv.h"

namespace softamp::reproduce {
namespace {

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string result = "\"";
  for (const char c : text) result += c == '"' ? std::string("\"\"") : std::string(1, c);
  return result + "\"";
}

std::string cell_csv(const Json& cell) {
  if (cell.is_null()) return {};
  return quoted(cell.is_string() ? cell.get<std::string>() : cell.dump());
}

}  // namespace

std::string table_csv(const Table& table) {
  std::string text;
  for (size_t c = 0; c < table.columns.size(); ++c) text += (c ? "," : "") + quoted(table.columns[c]);
  text += "\r\n";
  for (const auto& row : table.rows) {
    for (size_t c = 0; c < row.size(); ++c) text += (c ? "," : "") + cell_csv(row[c]);
    text += "\r\n";
  }
  return text;
}

}  // namespace softamp::reproduce
