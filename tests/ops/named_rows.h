// Test rows as GoogleTest's parameters: each has its name in the case,
// "Rows/EveryRow.IsBuiltWrittenReadAndPrinted/Conv2D", by which --gtest_filter chooses it and a report says which one
// failed.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <ostream>
#include <string>
#include <vector>

namespace softamp::test {

template <class Row>
struct NamedRow {
  const Row* row;
  std::string name;
  size_t number;  ///< among all rows, from 0

  friend void PrintTo(const NamedRow& r, std::ostream* out) { *out << r.name; }
};

/// The rows for which wanted(row) holds [=all], by the names of their operations; a second one of a name is Name_2. The
/// vector must stay.
template <class Row, class Wanted>
std::vector<NamedRow<Row>> named(const std::vector<Row>& rows, const Wanted& wanted) {
  std::vector<NamedRow<Row>> all;
  std::map<std::string, int> uses;
  for (const Row& row : rows) {
    if (!wanted(row)) continue;
    const int use = ++uses[row.op];
    all.push_back(
        {&row, use == 1 ? row.op : row.op + "_" + std::to_string(use), static_cast<size_t>(&row - rows.data())});
  }
  return all;
}
template <class Row>
std::vector<NamedRow<Row>> named(const std::vector<Row>& rows) {
  return named(rows, [](const Row&) { return true; });
}

/// A suite of cases that each get a row.
template <class Row>
class RowTest : public ::testing::TestWithParam<NamedRow<Row>> {
 protected:
  const Row& row() const { return *this->GetParam().row; }
};

/// The name of a row's case, for INSTANTIATE_TEST_SUITE_P.
inline constexpr auto kNameOfRow = [](const auto& info) { return info.param.name; };

}  // namespace softamp::test
