// The registers of a worker's unit, for people.
#pragma once

#include "softamp/numerics/behaviour.h"
#include "softamp/numerics/xoroshiro.h"

#include <string>

namespace softamp {

/// "$FP_STS: OFLO: 0x1 DIV0: 0x0 INV: 0x0", the line of an exception dump that shows the flags. `flags` are Flag bits;
/// inexact and underflow do not exist in this register.
std::string status_line(uint8_t flags);

/// "$FP_CTL: 0x00180007 INV: 0x1 DIV0: 0x1 OFLO: 0x1 RND: 0x0 ESR: 0x1 NANOO: 0x1".
std::string control_line(uint32_t word);

/// "$PRNG_0_0: 0xdeadbeef", one line per register, each ended by a newline.
std::string prng_lines(const PrngRegisters& registers);

}  // namespace softamp
