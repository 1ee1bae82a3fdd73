// The version of the arithmetic, which every trace and every kept run of a study names.
//
// tests/backend/arithmetic.json holds the history: date, what moved, and the pinned digests of each version. Few files
// include this one, so that a new version compiles little again.
#pragma once

namespace softamp {

/// Rises by one with any change of any bit that an operation gives for the same operands, settings and random bits.
/// What is new beside it, an operation or a format, moves nothing that there was, and raises nothing.
inline constexpr int kArithmeticVersion = 4;

}  // namespace softamp
