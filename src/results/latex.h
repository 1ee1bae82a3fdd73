// Tables as LaTeX: a tabular with the rules of the package booktabs, to be read by \input.
#pragma once

#include <string>

#include "src/results/table.h"

namespace softamp::results {

/// What people are shown. The title is a comment in front; characters that LaTeX reads as commands are escaped;
/// "1.5e-05" becomes 1.5 times a power of ten, "2^-24" a power, "-1.5" a number with a minus sign,
/// "inf" the sign of infinity.
std::string latex(const Table& table);

}  // namespace softamp::results
