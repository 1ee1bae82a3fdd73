// One operation on arrays of codes of any format of at most 16 bits, each element exact and then rounded once, bit for
// bit as fp::add, fp::sub and fp::mul give it.
//
// Halves use bulk::add and similar calls. Other formats use binary64, where the product of two codes is exact, and the
// sum is rounded to odd: 53 bits, the last one sticky. A rounding to at most 14 bits with at most 32 random ones reads
// 48 bits, so the result is that of the exact sum (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums:
// proved algorithms using rounding to odd", IEEE Trans. Comput. 57(4), 2008).
#pragma once

#include <cstdint>
#include <span>

#include "softamp/numerics/format.h"
#include "softamp/numerics/semantics.h"
#include "softamp/tensor/bulk.h"

namespace softamp::detail {

enum class CodeOperation : uint8_t { kAdd, kSub, kMul };

/// out[i] = a[i] op b[i]; a stochastic policy reads the random word of (seed, step, operation, first_index + i) of
/// `random`, whose `words` are not used. `out` may be `a` or `b`, but not overlap them otherwise. On the calling
/// thread. Returns the flags that were raised, if they are asked for, else 0. Throws std::invalid_argument if the
/// lengths differ, and for a format of more than 16 bits.
uint8_t code_arithmetic(CodeOperation operation, const FloatFormat& format, const Semantics& semantics,
                        std::span<const uint16_t> a, std::span<const uint16_t> b, std::span<uint16_t> out,
                        const bulk::RandomSource& random, bool flags_wanted = false);

}  // namespace softamp::detail
