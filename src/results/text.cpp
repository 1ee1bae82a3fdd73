#include "src/results/text.h"

#include "src/results/cell_text.h"
#include "src/text/columns.h"
#include "src/text/printable.h"

namespace softamp::results {

std::string text(const Table& table, size_t widest) {
  const std::vector<size_t> shown = shown_to_people(table.columns);
  std::vector<size_t> right;
  for (size_t i = 0; i < shown.size(); ++i)
    if (table.columns[shown[i]].right) right.push_back(i);
  std::vector<std::vector<std::string>> lines = lines_for_people(table);
  for (auto& line : lines)
    for (std::string& cell : line) cell = files::printable(cell);
  return in_columns(lines, right, widest);
}

}  // namespace softamp::results
