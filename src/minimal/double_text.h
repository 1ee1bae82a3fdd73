// Doubles as text, as nlohmann's JSON library writes them: by Grisu2, whose decimals lead back to the number and are
// nearly always the shortest. The text is part of files that must be equal to the byte. Source of the algorithm:
// F. Loitsch, "Printing Floating-Point Numbers Quickly and Accurately with Integers", PLDI 2010; the range of its
// scaled exponents is that library's, -60 .. -32.
#pragma once

#include <string>

namespace softamp::minimal {

/// "0.1", "1.0", "1e-05", "-0.0"; infinities and NaN: "null".
std::string double_text(double value);

}  // namespace softamp::minimal
