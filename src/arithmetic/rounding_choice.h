// How results are rounded, as words of options choose it: a mode and its random bits, a preset, or a chip.
#pragma once

#include <optional>

#include "softamp/chips/chip_table.h"
#include "softamp/names/names.h"

namespace softamp::detail {

/// Defaults are nearest even, IEEE 754; stochastic rounding by the variant carry, Philox4x32-10, 13 random bits (16
/// with xoroshiro128aox).
struct RoundingChoice {
  RoundingMode mode = RoundingMode::kNearestEven;
  int bits = 0;  ///< 1..32; 0: the engine's default
  StochasticVariant variant = StochasticVariant::kCarry;
  std::optional<Overflow> overflow;  ///< unset: infinity in `ieee`, saturate in `ipu`
  RandomEngine engine = RandomEngine::kPhilox;
  Preset preset = Preset::kIeee;
  /// Rounds as this chip does: of the fields above, only bits (for a p3109 preset), overflow and engine are used.
  std::optional<Chip> chip;
  /// Rounds as this conversion is specified; beside it no other mode, overflow, preset and chip.
  std::optional<CastProfile> cast;
  const char* dashes = "";  ///< before the names of options in messages: "--" in commands

  int random_bits() const;
  /// overflow as a chip's answer.
  ChipOverflow chip_overflow() const;
  /// The semantics of an operation, where there is no chip. Preset `ipu`: nearest or stochastic, saturate or nan, else
  /// std::invalid_argument; its behaviour flags are off, except for esr (stochastic) and nanoo (overflow nan).
  Semantics semantics() const;
  /// The same for results of format `f`, on which a chip's and a cast's semantics depend. Throws std::invalid_argument
  /// if these have no such conversion, or the chip does not offer that overflow.
  Semantics semantics(const FloatFormat& f) const;
  /// The policy that `semantics(f)` applies to results of format `f`. Throws std::invalid_argument if the preset cannot
  /// round that format as asked: the IPU rounds formats wider than 16 bits to nearest only.
  RoundingPolicy policy(const FloatFormat& f) const;
  /// Throws std::invalid_argument where `applied`, the policy of results of format `f`, has another overflow than was
  /// asked for: the IPU's formats wider than 16 bits overflow to infinity.
  void require_overflow(const FloatFormat& f, const RoundingPolicy& applied) const;

 private:
  std::string option(const char* name) const { return dashes + std::string(name); }
};

}  // namespace softamp::detail
