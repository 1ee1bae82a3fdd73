// Chips that round stochastically in hardware, each as data: one literal of RoundingPolicy per format that it converts
// to, and how it takes its random number R out of the machine's random word (N310 to N322).
//
// A preset holds what is public, with its source; chips/chip_table.h prints it with its evidence. There is none for
// AWS Trainium, Intel Gaudi and Google's TPU: what their stochastic rounding does to the bits is not public. Flags are
// IEEE 754's, though most of these units have none; the IPU's are its own.
#pragma once

#include "softamp/numerics/semantics.h"

namespace softamp {

// implements: N310
enum class Chip : uint8_t {
  kIpu,            ///< Graphcore's IPU: fp16 results of the arithmetic, and of conversions.
  kNvidiaSm100,    ///< NVIDIA B200, sm_100a: cvt.rs.
  kNvidiaSm103,    ///< NVIDIA B300, sm_103a: cvt.rs, which takes the bytes of the random word in another order.
  kAmdCdna3,       ///< AMD CDNA3: v_cvt_sr_{fp8,bf8}_f32.
  kAmdCdna4,       ///< AMD CDNA4: the same to OCP's formats, and v_cvt_sr_{f16,bf16}_f32.
  kIntelXe,        ///< Intel Xe: srnd.
  kTenstorrentWh,  ///< Tenstorrent Wormhole: SFPSTOCHRND.
  kP3109Fastest,   ///< IEEE P3109's StochasticA, as gfloat's StochasticFastest has it.
  kP3109Fast,      ///< gfloat's StochasticFast.
  kP3109Rne,       ///< gfloat's Stochastic.
  kP3109Odd,       ///< gfloat's StochasticOdd.
  kExact,          ///< no chip: carry with 23 random bits, which sees all that a normal result of a float discards.
};

inline constexpr int kChipCount = 12;

/// Where R is taken from the random word, for value i of the packed result that the word serves (0: the lowest).
// implements: N311
enum class RandomSlice : uint8_t {
  kLowBits,        ///< the low r bits; one value per word.
  kTopBits,        ///< the top r bits; one value per word.
  kHalves,         ///< the low r bits of 16-bit lane i.
  kBytes,          ///< byte i.
  kPermutedBytes,  ///< byte 1, 0, 3, 2 for i = 0, 1, 2, 3; those of the odd values with their bits reversed.
};

/// Values that one random word serves: 1, 2 or 4.
SOFTAMP_INLINE int lanes_of(RandomSlice slice) {
  return slice == RandomSlice::kHalves ? 2 : slice >= RandomSlice::kBytes ? 4 : 1;
}
/// R of r bits (1 .. 32 / lanes_of(slice); kPermutedBytes: 8) for value `lane` (0: the lowest of the packed result).
// implements: N329
SOFTAMP_INLINE uint32_t slice_of(RandomSlice slice, int r, uint32_t word, int lane) {
  const uint32_t mask = ~uint32_t{0} >> (32 - r);
  switch (slice) {
    case RandomSlice::kLowBits: break;
    case RandomSlice::kTopBits: return word >> (32 - r);
    case RandomSlice::kHalves: return word >> 16 * (lane & 1) & mask;
    case RandomSlice::kBytes: return word >> 8 * (lane & 3) & mask;
    case RandomSlice::kPermutedBytes: {
      uint32_t byte = word >> 8 * ((lane & 3) ^ 1) & 0xFF;
      if (lane & 1) {
        byte = (byte & 0xF0) >> 4 | (byte & 0x0F) << 4;
        byte = (byte & 0xCC) >> 2 | (byte & 0x33) << 2;
        byte = (byte & 0xAA) >> 1 | (byte & 0x55) << 1;
      }
      return byte;
    }
  }
  return word & mask;
}

/// What a finite value too large becomes, if the chip has a choice.
enum class ChipOverflow : uint8_t {
  kUsual,       ///< the chip's default.
  kSpecial,     ///< infinity, or NaN: without .satfinite, FP16_OVFL = 0, nanoo.
  kSaturating,  ///< the largest finite number: .satfinite, FP16_OVFL = 1, nanoo off.
};

/// One conversion of a chip.
struct ChipRounding {
  bool exists = false;  ///< the chip has it; else the fields below have no meaning
  FloatFormat from = FloatFormat::fp32(), to = FloatFormat::fp16();
  RandomSlice slice = RandomSlice::kLowBits;
  RoundingPolicy special, saturating;  ///< the policy under either answer to overflow
  bool has_special = true, has_saturating = true;
  bool usually_saturating = false;

  SOFTAMP_INLINE bool has(ChipOverflow o) const {
    return o == ChipOverflow::kUsual || (o == ChipOverflow::kSpecial ? has_special : has_saturating);
  }
  /// Only where has(o).
  SOFTAMP_INLINE const RoundingPolicy& policy(ChipOverflow o = ChipOverflow::kUsual) const {
    const bool saturate = o == ChipOverflow::kUsual ? usually_saturating : o == ChipOverflow::kSaturating;
    return saturate ? saturating : special;
  }
  /// Values that one random word serves.
  SOFTAMP_INLINE int lanes() const { return lanes_of(slice); }
  /// Value 0 reads bits first_bit() to last_bit() of the word, and no others.
  SOFTAMP_INLINE int first_bit() const {
    return slice == RandomSlice::kTopBits ? 32 - special.random_bits : slice == RandomSlice::kPermutedBytes ? 8 : 0;
  }
  SOFTAMP_INLINE int last_bit() const { return first_bit() + special.random_bits - 1; }
};

namespace detail {

/// The same policy with saturation. infinity: what an infinite operand becomes then.
SOFTAMP_INLINE RoundingPolicy saturated(RoundingPolicy p, InfinityResult infinity) {
  p.overflow = Overflow::kSaturate;
  p.infinity = infinity;
  return p;
}

SOFTAMP_INLINE ChipRounding made(const FloatFormat& to, RandomSlice slice, const RoundingPolicy& special,
                                 const RoundingPolicy& saturating) {
  ChipRounding c;
  c.exists = true;
  c.to = to;
  c.slice = slice;
  c.special = special;
  c.saturating = saturating;
  return c;
}

/// ESR of the control register: 16 bits of a 64-bit draw per lane (`sr_bits`, `sr_lane_map`), carry; an infinite
/// operand gives NaN, a result too large the largest number, or NaN under nanoo. N12 (US 11,169,778; r and form
/// assumed); to fp8 plausible, `fp8_sr`.
SOFTAMP_INLINE Semantics ipu_semantics(bool nanoo) {
  FloatingPointBehaviour behaviour = FloatingPointBehaviour::all_off();
  behaviour.esr = true;
  behaviour.nanoo = nanoo;
  return Semantics::ipu(behaviour, {}, RandomEngine::kXoroshiro128aox);
}
SOFTAMP_INLINE ChipRounding ipu_rounding(const FloatFormat& to) {
  if (to != FloatFormat::fp16() && to != FloatFormat::f143() && to != FloatFormat::f152()) return {};
  ChipRounding c = made(to, RandomSlice::kHalves, ipu_semantics(true).rounding(to), ipu_semantics(false).rounding(to));
  c.usually_saturating = true;
  return c;
}

/// PTX ISA 8.7, cvt [vendor]: the random bits are added to the mantissa bits that are cut off, the carry decides; 13
/// bits to f16, 16 to bf16, 8 to f8. That subnormal results are kept, with the bits at the top of what is cut off:
/// N343, Quack. .satfinite: beyond the greatest number, infinities too, the greatest number; f8 only has that form.
/// NaN: all ones. Without .satfinite overflow is not spelled out: infinity (N323).
// implements: N316, N323
SOFTAMP_INLINE ChipRounding nvidia_rounding(const FloatFormat& to, bool sm103) {
  const bool f16 = to == FloatFormat::fp16(), bf16 = to == FloatFormat::bf16();
  const bool f8 = to == FloatFormat::e4m3() || to == FloatFormat::e5m2();
  if (!f16 && !bf16 && !f8) return {};
  RoundingPolicy p = RoundingPolicy::stochastic_carry(f16 ? 13 : bf16 ? 16 : 8);
  p.nan = NanPattern::kAllOnes;
  const RandomSlice bytes = sm103 ? RandomSlice::kPermutedBytes : RandomSlice::kBytes;  // N311
  ChipRounding c = made(to, f8 ? bytes : RandomSlice::kHalves, p, saturated(p, InfinityResult::kSaturate));
  c.has_special = !f8;
  c.usually_saturating = f8;
  return c;
}

/// CDNA4 ISA, ROCm's amd_hip_ocp_host.hpp (the vendor's model): subnormal results are shifted right first, what
/// leaves is dropped; then the top 23 - m bits of the seed are added and the sum is truncated. FP16_OVFL = 0: infinity,
/// or NaN in the fp8 formats without; = 1: the greatest number, for infinite operands, too, except in f16, where they
/// stay (LLVM's AMDGPU usage guide); for bf16 nothing is documented. CDNA3's fp8 are the FNUZ formats, and its host
/// model makes NaN of an infinite operand in either case (amd_hip_fp8.h). A NaN of OCP's fp8, that of an overflow too,
/// has the sign of what it is made from. f16 and bf16: by the same formula (third party).
// implements: N314, N316, N317
SOFTAMP_INLINE ChipRounding amd_rounding(const FloatFormat& to, bool cdna4) {
  const bool f16 = to == FloatFormat::fp16(), bf16 = to == FloatFormat::bf16();
  const bool ocp = to == FloatFormat::e4m3() || to == FloatFormat::e5m2();
  const bool fnuz = to == FloatFormat::f143() || to == FloatFormat::f152();
  if (cdna4 ? !ocp && !f16 && !bf16 : !fnuz) return {};
  RoundingPolicy p = RoundingPolicy::stochastic_carry(23 - to.mantissa_bits());
  if (ocp) p.nan = NanPattern::kSigned;
  InfinityResult infinity = InfinityResult::kSaturate;
  if (fnuz) infinity = InfinityResult::kNan;
  if (f16) infinity = InfinityResult::kKeep;
  ChipRounding c = made(to, RandomSlice::kTopBits, p, saturated(p, infinity));
  c.has_saturating = !bf16;
  return c;
}

/// vISA SRND: src1[12:0], to bf8 src1[7:0], is added to the source's mantissa, bit 0 on bit 0; the sum is
/// normalised and truncated. So a subnormal fp16, whose quantum lies higher, hardly ever rounds up. The source of bf8
/// is fp16, whose subnormals have bf8's exponent: there the bits lie at the top of what is cut off, always.
// implements: N313, N316, N318
SOFTAMP_INLINE ChipRounding intel_rounding(const FloatFormat& to) {
  const bool f16 = to == FloatFormat::fp16();
  if (!f16 && to != FloatFormat::e5m2()) return {};
  RoundingPolicy p = RoundingPolicy::stochastic_carry(f16 ? 13 : 8);
  if (f16) p.alignment = RandomAlignment::kAsIfNormal;
  ChipRounding c = made(to, RandomSlice::kLowBits, p, p);
  if (!f16) c.from = FloatFormat::fp16();
  c.has_saturating = false;  // srnd.sat of newer parts: its result for infinities is not documented
  return c;
}

/// Functional model of SFPSTOCHRND (third party): discarded bits << 10 (or 7) >= 23 random bits goes up, a bug of the
/// hardware that R = 0 shows on exact values; denormals and -0 become +0, NaNs the infinity of their sign. The result
/// is a float of 10 or 7 mantissa bits, in the range of fp32: tf32 and bf16. (A store to fp16 afterwards only moves the
/// limits.)
// implements: N315, N316
SOFTAMP_INLINE ChipRounding tenstorrent_rounding(const FloatFormat& to) {
  if (to != FloatFormat::tf32() && to != FloatFormat::bf16()) return {};
  RoundingPolicy p = RoundingPolicy::stochastic_carry(23);
  p.variant = StochasticVariant::kAtLeast;
  p.subnormals = Subnormals::kFlushToPositive;
  p.nan = NanPattern::kInfinity;
  p.signed_zeros = false;
  ChipRounding c = made(to, RandomSlice::kLowBits, p, p);
  c.has_saturating = false;
  return c;
}

/// IEEE P3109's stochastic roundings as gfloat's round.py has them (N13), into any format of ours; r is free.
// implements: N319
SOFTAMP_INLINE ChipRounding p3109_rounding(const FloatFormat& to, StochasticVariant variant, int bits) {
  if (!to.valid() || to == FloatFormat::binary64() || bits < 1 || bits > 32) return {};
  RoundingPolicy p = RoundingPolicy::stochastic_carry(bits);
  p.variant = variant;
  return made(to, RandomSlice::kLowBits, p, saturated(p, InfinityResult::kSaturate));
}

}  // namespace detail

/// Whether the user chooses R's number of bits.
SOFTAMP_INLINE bool chip_bits_are_free(Chip chip) { return chip >= Chip::kP3109Fastest && chip <= Chip::kP3109Odd; }

/// How `chip` rounds to format `to`; `exists` is false where it does not.
/// bits (1..32; 0: 8) [=0] random bits of the p3109 presets; other chips ignore it
// implements: N310
SOFTAMP_INLINE ChipRounding chip_rounding(Chip chip, const FloatFormat& to, int bits = 0) {
  const int free_bits = bits ? bits : 8;
  switch (chip) {
    case Chip::kIpu: return detail::ipu_rounding(to);
    case Chip::kNvidiaSm100: return detail::nvidia_rounding(to, false);
    case Chip::kNvidiaSm103: return detail::nvidia_rounding(to, true);
    case Chip::kAmdCdna3: return detail::amd_rounding(to, false);
    case Chip::kAmdCdna4: return detail::amd_rounding(to, true);
    case Chip::kIntelXe: return detail::intel_rounding(to);
    case Chip::kTenstorrentWh: return detail::tenstorrent_rounding(to);
    case Chip::kP3109Fastest: return detail::p3109_rounding(to, StochasticVariant::kCarry, free_bits);
    case Chip::kP3109Fast: return detail::p3109_rounding(to, StochasticVariant::kHalf, free_bits);
    case Chip::kP3109Rne: return detail::p3109_rounding(to, StochasticVariant::kRne, free_bits);
    case Chip::kP3109Odd: return detail::p3109_rounding(to, StochasticVariant::kOdd, free_bits);
    case Chip::kExact: return detail::p3109_rounding(to, StochasticVariant::kCarry, 23);
  }
  return {};
}

/// The semantics under which fp::convert, bulk::round and their like give what the chip gives, R being the low bits of
/// the word passed in (chip_random takes it from the chip's word). If the chip has no such conversion, or does not
/// offer that overflow, these are IEEE 754's semantics with nearest even; ask ChipRounding first, or
/// chips/chip_table.h, which throws. Results in formats of another width than `to` are rounded to nearest; by `ipu`,
/// as the IPU does.
SOFTAMP_INLINE Semantics chip_semantics(Chip chip, const FloatFormat& to, ChipOverflow overflow = ChipOverflow::kUsual,
                                        int bits = 0) {
  const ChipRounding c = chip_rounding(chip, to, bits);
  Semantics s;
  if (!c.exists || !c.has(overflow)) return s;
  if (chip == Chip::kIpu) return detail::ipu_semantics(overflow == ChipOverflow::kSpecial);
  if (chip == Chip::kNvidiaSm100 || chip == Chip::kNvidiaSm103)
    s.wide.nan = s.narrow.nan = s.quarter.nan = NanPattern::kAllOnes;
  (to.storage_bits() > 16 ? s.wide : to.storage_bits() > 8 ? s.narrow : s.quarter) = c.policy(overflow);
  if (chip == Chip::kTenstorrentWh) {
    s.wide_operands_flushed = true;
    s.operand_flush_sign = FlushSign::kPositive;
  }
  return s;
}

/// R for value `lane` (0 .. lanes() - 1; 0 is the lowest of the packed result) out of the chip's random word. Of a
/// 64-bit draw of the IPU, lanes 2 and 3 take the high word's lanes 0 and 1.
// implements: N311
SOFTAMP_INLINE uint32_t chip_random(const ChipRounding& c, uint32_t word, int lane = 0) {
  return slice_of(c.slice, c.special.random_bits, word, lane);
}

}  // namespace softamp
