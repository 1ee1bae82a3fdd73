#include "src/results/cell_text.h"

#include "softamp/numbers/number_text.h"
#include "src/numbers/decimal_text.h"

namespace softamp::results {
namespace {

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

std::string number_text(double number, const Column& column) {
  if (column.places) return fixed_places(number, *column.places);
  return column.digits ? significant_digits(number, *column.digits) : shortest_decimal(number);
}

}  // namespace

std::string for_programs(const Cell& cell) {
  return std::visit(
      Overloaded{[](std::monostate) { return std::string(); },
                 [](bool yes) { return std::string(yes ? "true" : "false"); },
                 [](std::integral auto number) { return std::to_string(number); },
                 [](double number) { return shortest_decimal(number); }, [](const std::string& text) { return text; }},
      cell.value());
}

std::string for_people(const Cell& cell, const Column& column, const char* nothing) {
  return std::visit(Overloaded{[&](std::monostate) { return std::string(nothing); },
                               [](bool yes) { return std::string(yes ? "yes" : "no"); },
                               [](std::integral auto number) { return std::to_string(number); },
                               [&](double number) { return number_text(number, column); },
                               [](const std::string& text) { return text; }},
                    cell.value());
}

std::vector<size_t> shown_to_people(const std::vector<Column>& columns) {
  std::vector<size_t> places;
  for (size_t c = 0; c < columns.size(); ++c)
    if (columns[c].shown != Shown::kToPrograms) places.push_back(c);
  return places;
}

std::vector<std::vector<std::string>> lines_for_people(const Table& table, const char* nothing) {
  const std::vector<size_t> shown = shown_to_people(table.columns);
  std::vector<std::vector<std::string>> lines(1);
  for (const size_t c : shown) lines[0].push_back(table.columns[c].title());
  for (const Row& row : table.rows) {
    lines.emplace_back();
    for (const size_t c : shown) lines.back().push_back(for_people(row[c], table.columns[c], nothing));
  }
  return lines;
}

}  // namespace softamp::results
