// A table of an experiment as comma-separated values (RFC 4180).
#pragma once

#include <string>

#include "src/reproduce/experiment.h"

namespace softamp::reproduce {

/// The columns' names, then the rows; lines end with CR LF; numbers as in JSON; a missing value is an empty cell.
std::string table_csv(const Table& table);

}  // namespace softamp::reproduce
