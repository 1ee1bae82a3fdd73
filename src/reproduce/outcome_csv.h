// A table of an experiment as comma-separated values (results/csv.h).
#pragma once

#include <string>

#include "src/reproduce/experiment.h"

namespace softamp::reproduce {

std::string table_csv(const Table& table);

}  // namespace softamp::reproduce
