// The commit that the program was built from: cmake/commit.cmake writes it.
#pragma once

namespace softamp::program {

/// 40 hexadecimal digits, and "-dirty" if files differed from it; "" where the sources are no checkout.
extern const char* const kCommit;

}  // namespace softamp::program
