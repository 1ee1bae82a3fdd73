// Tables as text for people: aligned columns under their heads, two spaces apart.
#pragma once

#include <cstddef>
#include <limits>
#include <string>

#include "src/results/table.h"

namespace softamp::results {

/// widest: cells wider than this do not widen their column [=none].
std::string text(const Table& table, size_t widest = std::numeric_limits<size_t>::max());

}  // namespace softamp::results
