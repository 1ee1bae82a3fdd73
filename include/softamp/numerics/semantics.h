// What an operation does apart from rounding: the presets `ieee` and `ipu`, and every open question about the IPU as a
// switch.
#pragma once

#include "softamp/numerics/behaviour.h"
#include "softamp/numerics/format.h"
#include "softamp/numerics/rounding.h"

namespace softamp {

/// fp16 infinity as an operand (`half_inf_operand`).
enum class InfinityOperand : uint8_t {
  kIeee,        ///< an infinity.
  kMaxFinite,   ///< +-65504, the largest finite number.
  kNan,         ///< a NaN.
  kNextBinade,  ///< the extended value +-65536 = 2^(max_exponent + 1).
};

/// What a reciprocal, reciprocal root (or logarithm) of zero raises (`pole_flag`).
enum class PoleFlag : uint8_t { kDivideByZero, kNone, kInvalid };

/// float -> int32 of a NaN or an out-of-range value (`f2i_range`); invalid is raised in each case.
enum class IntegerRange : uint8_t {
  kIndefinite,  ///< 0x80000000 for either sign.
  kClamp,       ///< the nearest limit; NaN gives 0x80000000.
  kWrap,        ///< the integer's low 32 bits; NaN and infinity give 0x80000000.
};

/// Flags of an fp16 overflow under nanoo (`oflo_with_nanoo`).
enum class OfloWithNanoo : uint8_t { kOfloAndInv, kInvOnly };

/// Flags of an infinity narrowed to fp16, which becomes NaN (`inf_to_half_flags`).
enum class InfToHalfFlags : uint8_t { kInvIfNanoo, kNone, kInv, kOflo, kOfloAndInv };

/// fp32 overflow (`f32_overflow_result`).
enum class F32OverflowResult : uint8_t { kInfinity, kNanIfNanoo, kSaturate };

/// Zero that replaces a flushed fp32 subnormal (`f32_flush_sign`).
enum class FlushSign : uint8_t { kSame, kPositive };

/// Codes that f32class gives to the infinities (`class_codes`).
enum class ClassCodes : uint8_t { kPositiveIs3, kNegativeIs3 };

/// Which bits of a 64-bit draw lane i of a 4-lane group takes (`sr_lane_map`).
enum class LaneMap : uint8_t {
  kAscending,    ///< bits 16i .. 16i+15 of one draw.
  kDescending,   ///< lane 0 takes the top 16 bits.
  kDrawPerLane,  ///< one draw per lane, low bits.
};

/// When the generator advances (`sr_advance`).
enum class DrawAdvance : uint8_t {
  kEveryGroup,       ///< once per rounding of a group, exact or not.
  kOnlyWhenInexact,  ///< only if some lane of the group is inexact.
};

/// Draws of a group of 1..3 lanes (`sr_tail`).
enum class TailDraws : uint8_t { kOneDraw, kDrawPerElement };

/// How the 4-lane groups of an array are distributed over the six workers of a tile (`work_split`).
enum class WorkSplit : uint8_t {
  kGrains,      ///< group g to worker g mod 6.
  kContiguous,  ///< each worker takes one contiguous run of groups, the first ones one more.
  kOneStream,   ///< worker 0 takes all.
};

/// Which half of a draw urand32 returns (`urand32_half`).
enum class Urand32Half : uint8_t { kLow, kHigh, kXor };

/// Layout of the exception report (`dump_format`).
enum class DumpFormat : uint8_t { kFull, kOneLine, kJson };

/// Which random source a stochastic rounding reads; it fixes the default number of random bits.
enum class RandomEngine : uint8_t { kPhilox, kPhilox7, kXoroshiro128aox };

/// What is not publicly known about the IPU: one field for each row of N60 in docs/NUMERICS.md, with the row's name.
/// The defaults are the preset `ipu`.
// implements: N50, N53, N54, N60, N389
struct IpuSwitches {
  int sr_bits = 0;  ///< 1..32, or 0: 16 with xoroshiro128aox, 13 with Philox
  StochasticVariant sr_form = StochasticVariant::kCarry;
  LaneMap sr_lane_map = LaneMap::kAscending;
  DrawAdvance sr_advance = DrawAdvance::kEveryGroup;
  bool sr_draw_when_off = false;
  TailDraws sr_tail = TailDraws::kOneDraw;
  WorkSplit work_split = WorkSplit::kGrains;
  OverflowRule overflow_rule = OverflowRule::kAfterRounding;
  NanPattern nan_pattern = NanPattern::kQuiet;
  InfinityOperand half_inf_operand = InfinityOperand::kIeee;
  InfToHalfFlags inf_to_half_flags = InfToHalfFlags::kInvIfNanoo;
  F32OverflowResult f32_overflow_result = F32OverflowResult::kInfinity;
  OfloWithNanoo oflo_with_nanoo = OfloWithNanoo::kOfloAndInv;
  PoleFlag pole_flag = PoleFlag::kDivideByZero;
  bool sts_when_disabled = true;  ///< record a condition whose exception is not enabled
  bool f32_daz = true;
  bool f32_ftz = true;
  FlushSign f32_flush_sign = FlushSign::kSame;
  IntegerRange f2i_range = IntegerRange::kIndefinite;
  DumpFormat dump_format = DumpFormat::kFull;
  Urand32Half urand32_half = Urand32Half::kLow;
  ClassCodes class_codes = ClassCodes::kPositiveIs3;
  bool fp8_sr = true;  ///< stochastic rounding applies to fp8 results too

  constexpr bool operator==(const IpuSwitches&) const = default;
};

/// Everything that decides the outcome of a scalar operation, apart from its operands and its random word.
// implements: N46, N47, N54
struct Semantics {
  /// Rounding of results in formats of more than 16 bits (fp32, tf32), of 9..16 bits, and of up to 8 bits.
  RoundingPolicy wide, narrow, quarter;
  /// A quiet NaN operand raises invalid, too (IEEE 754: only a signalling one does).
  bool quiet_nan_is_invalid = false;
  /// Division and square root of narrow formats are first rounded to fp32, nearest even, as on the IPU.
  bool divide_by_way_of_fp32 = false;
  /// fp32 and tf32 subnormal operands count as zeros.
  bool wide_operands_flushed = false;
  FlushSign operand_flush_sign = FlushSign::kSame;
  InfinityOperand narrow_infinity = InfinityOperand::kIeee;
  PoleFlag pole = PoleFlag::kDivideByZero;
  IntegerRange integer_range = IntegerRange::kIndefinite;
  ClassCodes class_codes = ClassCodes::kPositiveIs3;

  // implements: N59
  SOFTAMP_INLINE const RoundingPolicy& rounding(const FloatFormat& f) const {
    return f.storage_bits() > 16 ? wide : f.storage_bits() > 8 ? narrow : quarter;
  }
  /// Whether results of format f read their random word.
  SOFTAMP_INLINE bool draws(const FloatFormat& f) const { return rounding(f).stochastic(); }
  /// Whether every policy is usual (RoundingPolicy::usual).
  SOFTAMP_INLINE bool usual() const { return wide.usual() && narrow.usual() && quarter.usual(); }

  constexpr bool operator==(const Semantics&) const = default;

  /// IEEE 754-2019, default exception handling, tininess detected after rounding.
  static SOFTAMP_INLINE Semantics ieee(const RoundingPolicy& policy = {}) {
    Semantics s;
    s.wide = s.narrow = s.quarter = policy;
    return s;
  }

  /// The IPU under behaviour `b`: fp32 nearest even and flushing; fp16 and fp8 nearest even or (esr) stochastic,
  /// saturating or (nanoo) NaN on overflow, never infinite. The caller must stop on exceptions.
  // implements: N46, N47, N48, N49, N50, N53
  static constexpr SOFTAMP_HD Semantics ipu(const FloatingPointBehaviour& b = FloatingPointBehaviour::all_off(),
                                            const IpuSwitches& w = {}, RandomEngine engine = RandomEngine::kPhilox) {
    constexpr uint8_t kIpuFlags = kInvalid | kDivideByZero | kOverflow;
    Semantics s;
    s.wide.flags = s.narrow.flags = kIpuFlags;
    s.wide.nan = s.narrow.nan = w.nan_pattern;
    s.wide.overflow_flags = kOverflow;
    if (w.f32_ftz)
      s.wide.subnormals = w.f32_flush_sign == FlushSign::kSame ? Subnormals::kFlush : Subnormals::kFlushToPositive;
    if (w.f32_overflow_result == F32OverflowResult::kSaturate) s.wide.overflow = Overflow::kSaturate;
    if (w.f32_overflow_result == F32OverflowResult::kNanIfNanoo && b.nanoo) {
      s.wide.overflow = Overflow::kNan;
      s.wide.overflow_flags = kOverflow | kInvalid;
    }

    s.narrow.mode = b.esr ? RoundingMode::kStochastic : RoundingMode::kNearestEven;
    s.narrow.random_bits = w.sr_bits ? w.sr_bits : engine == RandomEngine::kXoroshiro128aox ? 16 : 13;
    s.narrow.variant = w.sr_form;
    s.narrow.overflow_rule = w.overflow_rule;
    s.narrow.overflow = b.nanoo ? Overflow::kNan : Overflow::kSaturate;
    s.narrow.overflow_flags = kOverflow;
    if (b.nanoo)
      s.narrow.overflow_flags = w.oflo_with_nanoo == OfloWithNanoo::kInvOnly ? kInvalid : kOverflow | kInvalid;
    s.narrow.infinity = InfinityResult::kNan;
    switch (w.inf_to_half_flags) {
      case InfToHalfFlags::kInvIfNanoo: s.narrow.infinity_flags = b.nanoo ? kInvalid : 0; break;
      case InfToHalfFlags::kNone: s.narrow.infinity_flags = 0; break;
      case InfToHalfFlags::kInv: s.narrow.infinity_flags = kInvalid; break;
      case InfToHalfFlags::kOflo: s.narrow.infinity_flags = kOverflow; break;
      case InfToHalfFlags::kOfloAndInv: s.narrow.infinity_flags = kOverflow | kInvalid; break;
    }
    s.quarter = s.narrow;
    if (!w.fp8_sr) s.quarter.mode = RoundingMode::kNearestEven;

    s.quiet_nan_is_invalid = true;
    s.divide_by_way_of_fp32 = true;
    s.wide_operands_flushed = w.f32_daz;
    s.operand_flush_sign = w.f32_flush_sign;
    s.narrow_infinity = w.half_inf_operand;
    s.pole = w.pole_flag;
    s.integer_range = w.f2i_range;
    s.class_codes = w.class_codes;
    return s;
  }
};

}  // namespace softamp
