// A rounding policy is data (N384): how an exact value becomes a code, in every case.
#pragma once

#include "softamp/numerics/status.h"

namespace softamp {

/// The direction in which an inexact value goes. k quanta <= |x| < k + 1 quanta, d = |x| / quantum - k.
// implements: N38
enum class RoundingMode : uint8_t {
  kNearestEven,  ///< to the nearer; ties to even k. Unbiased over random ties.
  kNearestAway,  ///< to the nearer; ties away from zero. Biased away from zero, only by ties.
  kTowardZero,   ///< k. Biased toward zero by d on average.
  kUp,           ///< toward +infinity.
  kDown,         ///< toward -infinity.
  kStochastic,   ///< k + 1 with probability d (to `random_bits` bits), by random bits passed in.
  /// k or k + 1, whichever is odd: the last bit says that something was cut off. Rounding once more, in any mode, to at
  /// least two bits less gives what one rounding would have given (N38). Overflow gives the largest finite number, as
  /// toward zero: never infinity, which would hide what is odd.
  kOdd,
};

/// How d and the random integer R in [0, 2^r) decide a stochastic rounding, r = random_bits (N12, N13, N18).
// implements: N13, N18
enum class StochasticVariant : uint8_t {
  kCarry,  ///< floor(d 2^r) + R >= 2^r: the IPU's. SRFF. Bias toward zero, below 2^-r quanta.
  kHalf,   ///< floor(d 2^(r+1)) + 2R + 1 >= 2^(r+1). SRF. Bias at most 2^-(r+1) quanta for short d.
  kRne,    ///< d 2^r to the nearest integer, ties to even, + R >= 2^r. SRC. Unbiased over all d of more bits.
  kOdd,    ///< d 2^r to the nearest integer, ties to odd, + R >= 2^r.
  /// floor(d 2^r) >= R: Tenstorrent's. Goes up too often, by one chance in 2^r: with R = 0 even for exact values
  /// (except zero), which is then inexact.
  kAtLeast,
};

/// Which of the discarded bits the random bits are aligned with. The choice matters for subnormal results, which
/// discard more.
// implements: N19, N313
enum class RandomAlignment : uint8_t {
  kTopOfDiscarded,  ///< the top: the highest bit of R counts half a quantum of the result.
  /// Where they would lie if the result were normal: R is added to the source's own significand, of `random_bits` bits
  /// more than the target's. In the subnormal range it counts less and less: r + l bits lie below the quantum of a
  /// result l binades below the normal ones, and kAtLeast adds 2^r - R there. Fixed point has no such range.
  kAsIfNormal,
};

/// What a finite result too large for the format becomes.
// implements: N21
enum class Overflow : uint8_t {
  kInfinity,  ///< infinity, or the largest finite number where the mode rounds toward zero there (IEEE 754, 7.4).
  kSaturate,  ///< the largest finite number, sign kept.
  kNan,       ///< the NaN pattern.
};

/// When a finite result overflows. M = largest finite number, Q = its quantum, 2^E the power of two above it.
// implements: N20
enum class OverflowRule : uint8_t {
  kAfterRounding,  ///< the rounded magnitude, exponent unbounded, exceeds M.
  kExact,          ///< the exact magnitude exceeds M (fp16: 65504).
  kHalfway,        ///< the exact magnitude is at least M + Q/2 (fp16: 65520), in any mode.
  kPower,          ///< the exact magnitude is at least 2^E (fp16: 65536), in any mode.
};

/// Which inexact results are tiny, and so raise underflow. IEEE 754, 7.5, allows both. They differ where the smallest
/// normal number is rounded up to.
// implements: N39
enum class Tininess : uint8_t {
  kAfterRounding,   ///< below the smallest normal number when rounded with an unbounded exponent.
  kBeforeRounding,  ///< the exact magnitude is below the smallest normal number.
};

/// What an infinite exact result becomes.
// implements: N22
enum class InfinityResult : uint8_t {
  kKeep,      ///< infinity; NaN in a format that has none.
  kSaturate,  ///< the largest finite number, sign kept.
  kNan,       ///< the NaN pattern.
};

/// What a subnormal rounded result becomes. Flushing raises no flags of its own.
// implements: N8, N26
enum class Subnormals : uint8_t {
  kKeep,             ///< gradual underflow.
  kFlush,            ///< zero of the same sign.
  kFlushToPositive,  ///< +0.
};

/// The code of every NaN that is written (N23). fp16 in brackets.
// implements: N23
enum class NanPattern : uint8_t {
  kQuiet,          ///< positive, quiet, no payload (0x7E00).
  kNegativeQuiet,  ///< negative, quiet, no payload (0xFE00): x86's default.
  kAllOnes,        ///< positive, every bit below the sign set (0x7FFF): CUDA's.
  kPropagate,      ///< the first NaN operand, made quiet, payload kept from the top; kQuiet without one.
  kInfinity,       ///< no NaN: infinity of the NaN operand's sign, or +infinity; kQuiet in a format without.
  kSigned,         ///< quiet, no payload, of the NaN operand's sign, or of what overflows: AMD's, ONNX's (0xFE00).
};

/// How an exact value becomes a code. The default is IEEE 754's, nearest even.
///
/// random_bits (1..32) [=13]  R of a stochastic rounding is the low random_bits bits of the word handed in
// implements: N12, N15, N27, N28, N30, N31, N384
struct RoundingPolicy {
  RoundingMode mode = RoundingMode::kNearestEven;
  int random_bits = 13;
  StochasticVariant variant = StochasticVariant::kCarry;
  RandomAlignment alignment = RandomAlignment::kTopOfDiscarded;
  Overflow overflow = Overflow::kInfinity;
  OverflowRule overflow_rule = OverflowRule::kAfterRounding;
  InfinityResult infinity = InfinityResult::kKeep;
  Subnormals subnormals = Subnormals::kKeep;
  NanPattern nan = NanPattern::kQuiet;
  /// A value that is, or is rounded or flushed to, zero keeps its sign; false: it becomes +0.
  bool signed_zeros = true;
  /// Raised by an overflow.
  uint8_t overflow_flags = kOverflow | kInexact;
  /// Raised by an infinite result that is not kept.
  uint8_t infinity_flags = 0;
  /// The flags that exist; others are never raised. (The IPU has no inexact and no underflow.)
  uint8_t flags = kAllFlags;
  Tininess tininess = Tininess::kAfterRounding;

  constexpr bool operator==(const RoundingPolicy&) const = default;

  SOFTAMP_INLINE bool stochastic() const { return mode == RoundingMode::kStochastic; }
  /// For a rounding within an operation, which gets no random bits: with R = 0 the other variants truncate, but
  /// kAtLeast would go up.
  SOFTAMP_INLINE RoundingPolicy undrawn() const {
    RoundingPolicy p = *this;
    if (variant == StochasticVariant::kAtLeast) p.variant = StochasticVariant::kCarry;
    return p;
  }
  /// The random word for exact results that get no random bits: the largest R, which changes no exact value in any
  /// variant.
  static constexpr uint32_t kStill = ~uint32_t{0};
  /// Zeros have signs, NaNs are NaNs of one sign, exact values stay, the random bits are aligned with the top, and tiny
  /// is what is so after rounding. Fast code outside bulk rounding supports only this; other policies go through the
  /// bodies.
  // implements: N29, N39
  SOFTAMP_INLINE bool usual() const {
    const bool other_random = variant == StochasticVariant::kAtLeast || alignment != RandomAlignment::kTopOfDiscarded;
    return signed_zeros && nan != NanPattern::kInfinity && nan != NanPattern::kSigned &&
           tininess == Tininess::kAfterRounding && !(stochastic() && other_random);
  }

  static SOFTAMP_INLINE RoundingPolicy ieee(RoundingMode mode = RoundingMode::kNearestEven) {
    RoundingPolicy p;
    p.mode = mode;
    return p;
  }
  /// Nearest even as OCP OFP8's saturating conversions, ONNX's Cast with saturate = 1 and CUDA's SATFINITE have it:
  /// what is too large, infinities too, becomes the largest number of its sign; a NaN stays one (N444).
  // implements: N444
  static SOFTAMP_INLINE RoundingPolicy saturating() {
    RoundingPolicy p;
    p.overflow = Overflow::kSaturate;
    p.infinity = InfinityResult::kSaturate;
    return p;
  }
  /// The same, but infinities become NaN, in any format. ONNX's Cast with saturate = 1 has that in opsets 19 to 23 for
  /// the formats without -0 (f143, f152); for others it is `saturating` there.
  // implements: N444
  static SOFTAMP_INLINE RoundingPolicy saturating_but_infinities() {
    RoundingPolicy p = saturating();
    p.infinity = InfinityResult::kNan;
    return p;
  }
  static SOFTAMP_INLINE RoundingPolicy stochastic_carry(int random_bits = 13) {
    RoundingPolicy p;
    p.mode = RoundingMode::kStochastic;
    p.random_bits = random_bits;
    return p;
  }
};

}  // namespace softamp
