// A cell as text, for programs and for people.
#pragma once

#include <string>
#include <vector>

#include "src/results/table.h"

namespace softamp::results {

/// All digits that tell the number, "nan", "inf", "true"; "" of nothing.
std::string for_programs(const Cell& cell);

/// As many digits as the column asks for, "yes"; `nothing` of nothing.
std::string for_people(const Cell& cell, const Column& column, const char* nothing = "-");

/// The places of the columns that people are shown.
std::vector<size_t> shown_to_people(const std::vector<Column>& columns);

/// The heads of these columns, and the cells of each row.
std::vector<std::vector<std::string>> lines_for_people(const Table& table, const char* nothing = "-");

}  // namespace softamp::results
