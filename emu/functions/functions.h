// The elementary functions on arrays, by instruction set. Every entry gives the bits of the scalar form in
// kernel/functions.h and numerics/math_normal.h, except for NaNs, whose bits are unspecified here (N23).
#pragma once

#include <cstddef>
#include <cstdint>

#include "softamp/kernel/functions.h"
#include "softamp/tensor/bulk.h"

#include "emu/bulk/instruction_set.h"

namespace softamp::emu {

/// Codes that raise none of the wanted flags: first .. first + more [=all], in each of two ranges.
struct QuietCodes {
  uint16_t first[2] = {0, 0};
  uint16_t more[2] = {0xFFFF, 0xFFFF};
};

/// Arrays of n elements (any n, any alignment). `out` is an input array or overlaps none. One thread; round to nearest,
/// nothing flushed (machine/float_environment.h).
struct FunctionTable {
  using OfNumbers = void (*)(const float* in, float* out, size_t n);
  /// Whether all operands are plain: x > 0, both finite.
  using OfPairs = bool (*)(const float* x, const float* y, float* out, size_t n);
  using OfWords = void (*)(const uint32_t* words, float* out, size_t n);
  /// out[i] = table[in[i]], table of 65537 entries, the last unused; n a multiple of 64, at most 64 groups of 64;
  /// returns a bit for each group with a code that is not quiet. `stream`: `out`, aligned to 64, bypasses the caches.
  using OfCodes = uint64_t (*)(const uint16_t* table, const QuietCodes& quiet, const uint16_t* in, uint16_t* out,
                               size_t n, bool stream);

  OfNumbers function[kernel::kFunctionCount];  ///< by kernel::Function
  OfPairs pow;                                 ///< x^y
  OfWords uniform;                             ///< in [0, 1)
  OfWords normal;                              ///< mean 0, deviation 1
  OfWords truncated_normal;                    ///< the same on [-2, 2]
  OfCodes look_up;

  OfNumbers operator[](kernel::Function f) const { return function[static_cast<int>(f)]; }
};

SOFTAMP_TABLES(FunctionTable, Functions, functions_of)

}  // namespace softamp::emu
