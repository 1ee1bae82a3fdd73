// Tables as comma-separated values (RFC 4180, but lines end in LF): the keys, then a line a row. What there is not is
// an empty cell, a NaN is "nan", infinities are "inf" and "-inf"; numbers have all digits that tell them. A cell with a
// comma, a quote or a line end is in quotes.
#pragma once

#include <string>
#include <vector>

#include "src/results/table.h"

namespace softamp::results {

std::string csv(const Table& table);

/// The same line by line, for a table that grows: the keys, and one row.
std::string csv_head(const std::vector<Column>& columns);
std::string csv_line(const std::vector<Column>& columns, const Row& row);

}  // namespace softamp::results
