// Descriptors 0, 1 and 2 of a program that was started without them.
#pragma once

namespace softamp::program {

/// Takes those that are closed (`>&-`), so that no file opened later gets their numbers, and with them what is printed.
/// They stay of no use: reading from 0, and writing to 1 or 2, is an error, as if they were closed. Call it first.
void occupy_standard_descriptors();

}  // namespace softamp::program
