// How the matrix units of NVIDIA's GPUs sum products: vendor behaviour, reverse engineered. Nothing here is documented
// by the vendor. The model is that of MMA-Sim (arXiv 2511.10909; microsoft/MMA-Sim @c785138), which found it by tests.
//
// One fused group (N109, N326). Every product keeps its significand s_a s_b in [0, 4) and its exponent e_a + e_b; it
// is not normalised. Subnormal operands have s < 1 at the format's least exponent. The accumulator C is one more term.
// With E the largest exponent of a term, every term is truncated toward zero to a multiple of 2^(E - F), and the
// truncated terms are summed exactly. The sum becomes fp32 by truncation, or fp16 by rounding to nearest even; for
// 8-bit operands on some families fp32 with 13 fraction bits ("e8m13"). A sum that is too large becomes an infinity. A
// product of k > group terms is a chain of groups in ascending k, the sum of one being C of the next; a last, shorter
// group is filled up with zeros.
//
// Not established, so our choice: the sign of a zero sum (+0 here, as in the reference model); that a zero term has the
// exponent -126 for any other factor (so it never raises E above that of a zero C).
#pragma once

#include "softamp/numerics/round.h"
#include "softamp/numerics/semantics.h"

namespace softamp {

/// How the products of an output are summed (`accumulator`).
enum class Accumulator : uint8_t {
  kIpuModelA,            ///< ipu_model_a: the IPU's, as partialsType, amp_block and amp_inner say.
  kFp32Chain,            ///< fp32_chain: float partials of fp32 fused multiply-adds in ascending k.
  kTensorCoreVolta,      ///< tensorcore_volta (V100)
  kTensorCoreTuring,     ///< tensorcore_turing (`T4`)
  kTensorCoreAmpere,     ///< tensorcore_ampere (A100)
  kTensorCoreAda,        ///< tensorcore_ada (`L40`)
  kTensorCoreHopper,     ///< tensorcore_hopper (H100)
  kTensorCoreBlackwell,  ///< tensorcore_blackwell (B200)
};
inline constexpr int kAccumulators = 8;

SOFTAMP_INLINE bool is_tensor_core(Accumulator a) { return a >= Accumulator::kTensorCoreVolta; }

/// The name that options take: "ipu_model_a", "tensorcore_volta".
constexpr const char* name_of(Accumulator a) {
  switch (a) {
    case Accumulator::kIpuModelA: return "ipu_model_a";
    case Accumulator::kFp32Chain: return "fp32_chain";
    case Accumulator::kTensorCoreVolta: return "tensorcore_volta";
    case Accumulator::kTensorCoreTuring: return "tensorcore_turing";
    case Accumulator::kTensorCoreAmpere: return "tensorcore_ampere";
    case Accumulator::kTensorCoreAda: return "tensorcore_ada";
    case Accumulator::kTensorCoreHopper: return "tensorcore_hopper";
    case Accumulator::kTensorCoreBlackwell: break;
  }
  return "tensorcore_blackwell";
}

/// How products enter the fp32 sum of the IPU's accumulator, which is not public (`amp_inner`, N106).
enum class AmpInner : uint8_t {
  kFmaChain,  ///< fma_chain: one fused multiply-add each, in ascending k.
  kRn32Each,  ///< rn32_each: the same, in blocks of one too: with half partials those round twice, to fp32 and to fp16.
  kExactDot4,  ///< exact_dot4: the accumulator and up to four products of a block, exact, rounded to fp32 once.
};

/// The name that options take.
constexpr const char* name_of(AmpInner inner) {
  return inner == AmpInner::kFmaChain ? "fma_chain" : inner == AmpInner::kRn32Each ? "rn32_each" : "exact_dot4";
}

/// What a fused group's sum becomes.
enum class TensorCoreResult : uint8_t {
  kSingle,  ///< fp32, toward zero.
  kHalf,    ///< fp16, to nearest even; C is fp16, too.
  kE8m13,   ///< fp32 whose last ten bits are zero, toward zero.
};

/// The parameters of one instruction.
struct TensorCore {
  FloatFormat operand;  ///< fp16, bf16, tf32, e4m3, e5m2
  int fraction_bits;    ///< F (13 .. 25)
  int group;            ///< products of a fused group (4 .. 32); 0: the family has no such instruction
  TensorCoreResult result;

  constexpr bool operator==(const TensorCore&) const = default;
  SOFTAMP_INLINE bool exists() const { return group != 0; }
};

/// The instruction of a family for operands of `format` with an fp32 accumulator (N326); group 0 where it has none, or
/// `a` is no tensor core. fp32 stands for tf32: the instruction reads fp32 codes, and truncates them to 10 fraction
/// bits. halves: the fp16 accumulator, only for fp16 operands.
SOFTAMP_INLINE TensorCore tensor_core(Accumulator a, const FloatFormat& format, bool halves = false) {
  const bool f16 = format == FloatFormat::fp16(), bf16 = format == FloatFormat::bf16();
  const bool tf32 = format == FloatFormat::fp32() || format == FloatFormat::tf32();
  const bool f8 = format == FloatFormat::e4m3() || format == FloatFormat::e5m2();
  const TensorCoreResult to = halves ? TensorCoreResult::kHalf : TensorCoreResult::kSingle;
  TensorCore t{tf32 ? FloatFormat::tf32() : format, 0, 0, to};
  if (halves && !f16) return t;
  switch (a) {
    case Accumulator::kIpuModelA:
    case Accumulator::kFp32Chain: break;
    case Accumulator::kTensorCoreVolta: t.fraction_bits = 23, t.group = f16 ? 4 : 0; break;
    case Accumulator::kTensorCoreTuring: t.fraction_bits = 24, t.group = f16 ? 8 : 0; break;
    case Accumulator::kTensorCoreAmpere: t.fraction_bits = 24, t.group = f16 || bf16 ? 8 : tf32 ? 4 : 0; break;
    case Accumulator::kTensorCoreAda:
      t.fraction_bits = 24, t.group = f16 || bf16 ? 8 : tf32 ? 4 : 0;
      if (f8) t.fraction_bits = 13, t.group = 16, t.result = TensorCoreResult::kE8m13;
      break;
    case Accumulator::kTensorCoreHopper:
      t.fraction_bits = 25, t.group = f16 || bf16 ? 16 : tf32 ? 8 : 0;
      if (f8) t.fraction_bits = 13, t.group = 32, t.result = TensorCoreResult::kE8m13;
      break;
    case Accumulator::kTensorCoreBlackwell:
      t.fraction_bits = 25, t.group = f16 || bf16 ? 16 : tf32 ? 8 : f8 ? 32 : 0;
      break;
  }
  return t;
}

/// A finite operand: significand 2^(exponent - mantissa bits of its format), the exponent not below the format's least.
struct TensorCoreTerm {
  int16_t significand;
  int16_t exponent;
};
/// The exponent of a zero operand: its products have an exponent below all others.
inline constexpr int kTensorCoreZero = -1000;

/// The operand whose fp32 code is `code`: exact except for tf32, which is truncated toward zero.
SOFTAMP_INLINE TensorCoreTerm tensor_core_term(const FloatFormat& format, uint32_t code) {
  const uint32_t field = code >> 23 & 0xFF;
  int exponent = static_cast<int>(field | (field == 0)) - 127;
  uint32_t significand = (code & 0x007FFFFF) | (field != 0 ? 0x00800000u : 0u);
  int drop = FloatFormat::fp32().mantissa_bits() - format.mantissa_bits();
  if (exponent < format.min_exponent()) {
    drop += format.min_exponent() - exponent;
    exponent = format.min_exponent();
  }
  significand = drop < 32 ? significand >> drop : 0;
  if (significand == 0) return {0, static_cast<int16_t>(kTensorCoreZero)};
  const int value = static_cast<int>(significand);
  return {static_cast<int16_t>(code >> 31 ? -value : value), static_cast<int16_t>(exponent)};
}

namespace detail {

/// sum 2^exponent, truncated toward zero to fp32; too large: infinity. Zero is +0.
SOFTAMP_INLINE uint32_t truncate_to_fp32(int64_t sum, int exponent) {
  if (sum == 0) return 0;
  const uint32_t sign = sum < 0 ? 0x80000000u : 0u;
  const uint64_t magnitude = sum < 0 ? uint64_t{0} - static_cast<uint64_t>(sum) : static_cast<uint64_t>(sum);
  const int zeros = countl_zero(magnitude), top = exponent + 63 - zeros;  // 2^top <= |x| < 2^(top + 1)
  if (top > 127) return sign | 0x7F800000u;
  const uint64_t significand = magnitude << zeros >> 40;
  // The significand's leading one adds the last 1 to the exponent field.
  if (top >= -126) return sign | ((static_cast<uint32_t>(top + 126) << 23) + static_cast<uint32_t>(significand));
  const int lost = -126 - top;  // below the least exponent
  const uint32_t code = lost < 24 ? static_cast<uint32_t>(significand >> lost) : 0;
  return code == 0 ? 0 : sign | code;
}

/// sum 2^exponent to the nearest fp16, ties to even; zero is +0.
SOFTAMP_INLINE uint32_t round_to_fp16(int64_t sum, int exponent) {
  const uint64_t magnitude = sum < 0 ? uint64_t{0} - static_cast<uint64_t>(sum) : static_cast<uint64_t>(sum);
  const Rounded r = round_and_pack(FloatFormat::fp16(), {sum < 0, exponent, magnitude}, RoundingPolicy{});
  return (r.code & 0x7FFF) == 0 ? 0 : static_cast<uint32_t>(r.code);
}

}  // namespace detail

/// One fused group of finite terms: `count` products p[i] 2^(e[i] - 2 m), m the mantissa bits of the operands, and
/// the finite accumulator c (a code of fp32, or of fp16 where that is the result). An infinity says overflow.
SOFTAMP_INLINE uint32_t fused_sum(const TensorCore& t, const int32_t* p, const int32_t* e, int count, uint32_t c) {
  const bool halves = t.result == TensorCoreResult::kHalf;
  const int c_bits = halves ? 10 : 23;
  const uint32_t c_field = halves ? c >> 10 & 0x1F : c >> 23 & 0xFF;
  const uint32_t c_fraction = c & ((1u << c_bits) - 1);
  const uint32_t c_magnitude = c_fraction | (c_field != 0 ? 1u << c_bits : 0u);
  // A zero has fp32's least exponent, as its field says by itself there.
  const int c_exponent =
      halves && c_magnitude == 0 ? -126 : static_cast<int>(c_field | (c_field == 0)) - (halves ? 15 : 127);
  const bool c_negative = (c >> (halves ? 15 : 31) & 1) != 0;

  int greatest = c_exponent;
  for (int i = 0; i < count; ++i) greatest = e[i] > greatest ? e[i] : greatest;
  // F >= 2 m in every instruction: products are shifted up, then down by the difference of exponents.
  const int up = t.fraction_bits - 2 * t.operand.mantissa_bits();
  int64_t sum = 0;
  for (int i = 0; i < count; ++i) {
    const int lack = greatest - e[i];
    const uint32_t magnitude = static_cast<uint32_t>(p[i] < 0 ? -p[i] : p[i]) << up >> (lack < 31 ? lack : 31);
    sum += p[i] < 0 ? -static_cast<int64_t>(magnitude) : static_cast<int64_t>(magnitude);
  }
  const int c_up = t.fraction_bits - c_bits;
  const int c_lack = greatest - c_exponent + (c_up < 0 ? -c_up : 0);
  const uint32_t c_moved = c_magnitude << (c_up > 0 ? c_up : 0) >> (c_lack < 31 ? c_lack : 31);
  sum += c_negative ? -static_cast<int64_t>(c_moved) : static_cast<int64_t>(c_moved);

  const int quantum = greatest - t.fraction_bits;
  if (halves) return detail::round_to_fp16(sum, quantum);
  const uint32_t code = detail::truncate_to_fp32(sum, quantum);
  if (t.result != TensorCoreResult::kE8m13) return code;
  return (code & 0x7FFFFC00u) == 0 ? 0 : code & ~0x3FFu;
}

/// One fused group, special values included. NaN (0x7FFFFFFF, in fp16 0x7FFF) if a term is NaN, for Inf 0 and
/// Inf - Inf; else an infinite term gives its infinity.
class FusedGroup {
 public:
  SOFTAMP_INLINE int count() const { return count_; }

  /// Adds the product of two operands, at most t.group of them; fp32 codes, exact values of t.operand's (of tf32 any).
  SOFTAMP_INLINE void add(const TensorCore& t, uint32_t a, uint32_t b) {
    const bool special = (a & 0x7F800000u) == 0x7F800000u || (b & 0x7F800000u) == 0x7F800000u;
    product_[count_] = 0;
    exponent_[count_] = 2 * kTensorCoreZero;
    if (special) {
      add_special(t.operand, a, b);
    } else {
      const TensorCoreTerm x = tensor_core_term(t.operand, a), y = tensor_core_term(t.operand, b);
      product_[count_] = x.significand * y.significand;
      exponent_[count_] = x.exponent + y.exponent;
    }
    ++count_;
  }

  /// The sum of what was added and of `c`, a code of the result's format (fp32; fp16). Flags: invalid for Inf 0 and
  /// Inf - Inf, and for NaNs as `s` says; overflow where a finite sum is too large.
  SOFTAMP_INLINE Rounded round(const TensorCore& t, uint32_t c, const Semantics& s) const {
    const FloatFormat f = t.result == TensorCoreResult::kHalf ? FloatFormat::fp16() : FloatFormat::fp32();
    bool nan = nan_ || f.is_nan(c), loud = loud_ || f.is_signaling_nan(c);
    bool invalid = zero_times_infinity_;
    const bool negative = (c & f.sign_mask()) != 0;
    const bool plus = infinite_[0] || (f.is_infinity(c) && !negative);
    const bool minus = infinite_[1] || (f.is_infinity(c) && negative);
    if (!nan && plus && minus) invalid = true;
    if (nan || invalid) {
      const bool raises = invalid || loud || s.quiet_nan_is_invalid;
      return {f.magnitude_mask(), static_cast<uint8_t>(raises ? kInvalid & s.rounding(f).flags : 0)};
    }
    if (plus || minus) return {f.infinity_code() | (minus ? f.sign_mask() : 0), 0};
    const uint32_t code = fused_sum(t, product_, exponent_, count_, c);
    return {code, static_cast<uint8_t>(f.is_infinity(code) ? kOverflow & s.rounding(f).flags : 0)};
  }

 private:
  SOFTAMP_INLINE void add_special(const FloatFormat& operand, uint32_t a, uint32_t b) {
    const FloatFormat f = FloatFormat::fp32();
    const auto zero = [&](uint32_t x) { return f.is_finite(x) && tensor_core_term(operand, x).significand == 0; };
    if (f.is_nan(a) || f.is_nan(b)) {
      nan_ = true;
      loud_ = loud_ || f.is_signaling_nan(a) || f.is_signaling_nan(b);
    } else if (zero(a) || zero(b)) {
      zero_times_infinity_ = true;
    } else {
      infinite_[((a ^ b) & 0x80000000u) != 0] = true;
    }
  }

  static constexpr int kMost = 32;
  int32_t product_[kMost] = {}, exponent_[kMost] = {};
  int count_ = 0;
  bool nan_ = false, loud_ = false, zero_times_infinity_ = false;
  bool infinite_[2] = {};
};

}  // namespace softamp
