// The version of the arithmetic, which every trace and every kept run of a study names.
//
// tests/backend/arithmetic.json holds the history: date, what moved, and the pinned digests of each version. Few files
// include this one, so a new version recompiles little.
#pragma once

namespace softamp {

/// Rises by one when any operation gives any other bit for the same operands, settings and random bits. A new operation
/// or format changes no old result, and does not raise it.
// implements: N65
inline constexpr int kArithmeticVersion = 6;

}  // namespace softamp
