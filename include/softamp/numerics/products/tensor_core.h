// How the matrix units of NVIDIA's GPUs sum products: vendor behaviour, reverse engineered. Nothing here is documented
// by the vendor. The model is that of MMA-Sim (arXiv 2511.10909; microsoft/MMA-Sim @c785138), which found it by tests;
// that of 8-bit operands with an fp16 result, and of `mma.sync` on Hopper and Blackwell, was found in results of the
// chips (N475 to N478); the floors are those of MMA-Sim 2.1.1 (N326). chips/tensor_core_table.h says what such results
// confirm.
//
// One fused group (N109, N326). Every product keeps its significand s_a s_b in [0, 4) and its exponent e_a + e_b; it
// is not normalised. Subnormal operands have s < 1 at the format's least exponent. The accumulator C is one more term.
// With E the largest exponent of a term that is not zero, but at least the instruction's floor, every term is truncated
// toward zero to a multiple of 2^(E - F), and the truncated terms are summed exactly. The sum becomes fp32 by
// truncation, or fp16 by rounding to nearest even; for 8-bit operands on some families fp32 with 13 fraction bits
// ("e8m13"). A sum that is too large becomes an infinity. A product of k > group terms is a chain of groups in
// ascending k, the sum of one being C of the next; a last, shorter group is filled up with zeros.
//
// 8-bit operands by `mma.sync` on Hopper and Blackwell (N477): 32 products are two groups of 16 from +0, first those
// with k mod 4 in {0, 1}, then those in {2, 3}, and C is added last, to nearest even.
//
// Not established, so our choice: the sign of a zero sum (+0 here, as in the reference model).
#pragma once

#include "softamp/numerics/accumulator.h"
#include "softamp/numerics/round.h"
#include "softamp/numerics/semantics.h"

namespace softamp {

/// What a fused group's sum becomes.
// implements: N476
enum class TensorCoreResult : uint8_t {
  kSingle,  ///< fp32, toward zero.
  kHalf,    ///< fp16, to nearest even; C is fp16, too.
  kE8m13,   ///< fp32 whose last ten bits are zero, toward zero.
};

/// Which products make a group, and where C comes in.
// implements: N477
enum class TensorCoreOrder : uint8_t {
  kChain,  ///< each group takes the next products and the sum so far: the first of them C.
  kPairs,  ///< two groups to a step, of the products with k mod 4 < 2 and of the others, from +0; C last, to nearest.
};

/// The parameters of one instruction.
struct TensorCore {
  FloatFormat operand;  ///< fp16, bf16, tf32, e4m3, e5m2
  int fraction_bits;    ///< F (13 .. 25)
  int group;            ///< products of a fused group (4 .. 32); 0: the family has no such instruction
  TensorCoreResult result;
  TensorCoreOrder order = TensorCoreOrder::kChain;
  int floor = -133;  ///< terms are aligned to no exponent below it (-139 .. -19)

  constexpr bool operator==(const TensorCore&) const = default;
  SOFTAMP_INLINE bool exists() const { return group != 0; }
  /// Products of one step of the chain (4 .. 32).
  SOFTAMP_INLINE int step() const { return order == TensorCoreOrder::kPairs ? 2 * group : group; }
};

/// What a family's instructions are, by operands; group 0 where it has none.
struct TensorCoreFamily {
  struct Instruction {
    int fraction_bits = 0, group = 0;
    /// Of the result that is not fp16.
    TensorCoreResult result = TensorCoreResult::kSingle;
    TensorCoreOrder order = TensorCoreOrder::kChain;
  };
  Instruction f16, bf16, tf32, f8;
  int floor = 0, half_floor = 0;  ///< of results of fp32 and e8m13, and of fp16
};

/// The presets (N326, N476 to N478); nothing for accumulators that are no tensor cores. Products of fp16 numbers do not
/// reach the floors of fp32 results, so that no result shows Volta's and Turing's.
SOFTAMP_INLINE TensorCoreFamily tensor_core_family(Accumulator a) {
  constexpr TensorCoreResult kE8m13 = TensorCoreResult::kE8m13, kSingle = TensorCoreResult::kSingle;
  constexpr TensorCoreOrder kPairs = TensorCoreOrder::kPairs;
  switch (a) {
    case Accumulator::kIpuModelA:
    case Accumulator::kFp32Chain: break;
    case Accumulator::kTensorCoreVolta: return {{23, 4}, {}, {}, {}, -131, -19};
    case Accumulator::kTensorCoreTuring: return {{24, 8}, {}, {}, {}, -132, -20};
    case Accumulator::kTensorCoreAmpere: return {{24, 8}, {24, 8}, {24, 4}, {}, -132, -20};
    case Accumulator::kTensorCoreAda: return {{24, 8}, {24, 8}, {24, 4}, {13, 16, kE8m13}, -132, -20};
    case Accumulator::kTensorCoreHopper: return {{25, 16}, {25, 16}, {25, 8}, {13, 32, kE8m13}, -133, -21};
    case Accumulator::kTensorCoreBlackwell: return {{25, 16}, {25, 16}, {25, 8}, {25, 32}, -133, -21};
    case Accumulator::kTensorCoreHopperMma:
    case Accumulator::kTensorCoreBlackwellMma:
      return {{25, 16}, {25, 16}, {25, 8}, {25, 16, kSingle, kPairs}, -133, -21};
  }
  return {};
}

/// The instruction of a family for operands of `format` with an fp32 accumulator; group 0 where it has none, or `a` is
/// no tensor core. fp32 stands for tf32: the instruction reads fp32 codes, and truncates them to 10 fraction bits.
/// halves: the fp16 accumulator, only for operands of fp16 and of 8 bits.
// implements: N109, N326, N476
SOFTAMP_INLINE TensorCore tensor_core(Accumulator a, const FloatFormat& format, bool halves = false) {
  const bool tf32 = format == FloatFormat::fp32() || format == FloatFormat::tf32();
  const bool f8 = format == FloatFormat::e4m3() || format == FloatFormat::e5m2();
  const TensorCoreFamily family = tensor_core_family(a);
  TensorCoreFamily::Instruction i;
  if (f8) i = family.f8;
  if (format == FloatFormat::fp16()) i = family.f16;
  if (format == FloatFormat::bf16() && !halves) i = family.bf16;
  if (tf32 && !halves) i = family.tf32;
  return {tf32 ? FloatFormat::tf32() : format,         i.fraction_bits, i.group,
          halves ? TensorCoreResult::kHalf : i.result, i.order,         halves ? family.half_floor : family.floor};
}

/// What a tensor core that is fed `format` reads of an operand: the fp32 code of the nearest number of that format,
/// ties to even, the greatest where it is too large. Infinities and NaNs stay as they are. tf32 (fp32) stays, too:
/// tensor_core_term truncates it.
// implements: N479
SOFTAMP_GENERAL uint32_t tensor_core_operand(const FloatFormat& format, uint32_t code) {
  const FloatFormat single = FloatFormat::fp32();
  const int m = format.mantissa_bits();
  if (format == FloatFormat::tf32() || format == single || !single.is_finite(code)) return code;
  const uint32_t sign = code & 0x80000000u, magnitude = code & 0x7FFFFFFFu;
  const int exponent = static_cast<int>(magnitude >> 23) - 127;
  const int least = format.min_exponent();
  uint32_t rounded = 0;
  if (exponent >= least || least == single.min_exponent()) {
    const int drop = single.mantissa_bits() - m;
    const uint32_t odd = magnitude >> drop & 1;
    rounded = (magnitude + (1u << (drop - 1)) - 1 + odd) >> drop << drop;
  } else {
    // A multiple of the least subnormal number, 2^(least - m); the code is a normal one of fp32, or rounds to 0.
    const int drop = single.mantissa_bits() - m + least - exponent;
    if (drop <= 24) {
      const uint32_t significand = (magnitude & 0x007FFFFF) | 0x00800000u;
      const uint32_t odd = drop < 24 ? significand >> drop & 1 : 0;
      const uint32_t count = (significand + (1u << (drop - 1)) - 1 + odd) >> drop;
      if (count != 0) {
        const int top = 63 - detail::countl_zero(uint64_t{count});
        rounded = (static_cast<uint32_t>(least - m + top + 127) << 23) | ((count << (23 - top)) & 0x007FFFFF);
      }
    }
  }
  const uint32_t greatest = static_cast<uint32_t>(format.max_finite_code());
  const uint32_t most = ((greatest >> m) + static_cast<uint32_t>(127 - format.bias)) << 23 |
                        (greatest & static_cast<uint32_t>(format.mantissa_mask())) << (23 - m);
  return sign | (rounded < most ? rounded : most);
}

/// A finite operand: significand 2^(exponent - mantissa bits of its format), the exponent not below the format's least.
struct TensorCoreTerm {
  int16_t significand;
  int16_t exponent;
};
/// The exponent of a zero operand: its products have an exponent below every floor.
// implements: N328
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

/// The sum of two numbers of one format, fp16 or fp32, to nearest even; both may be infinite, not with two signs. A
/// zero is +0.
// implements: N477
SOFTAMP_INLINE uint32_t add_nearest(const FloatFormat& f, uint32_t x, uint32_t y) {
  if (f.is_infinity(x)) return x;
  if (f.is_infinity(y)) return y;
  const int m = f.mantissa_bits();
  if ((x & f.magnitude_mask()) < (y & f.magnitude_mask())) {
    const uint32_t less = x;
    x = y, y = less;
  }
  const auto field = [&](uint32_t code) { return static_cast<int>((code & f.magnitude_mask()) >> m); };
  const auto significand = [&](uint32_t code) {
    return (code & f.mantissa_mask()) | (field(code) != 0 ? uint64_t{1} << m : 0);
  };
  const int ex = field(x) | (field(x) == 0), ey = field(y) | (field(y) == 0);
  // 38 bits below the greater one's last; what lies further down only has to be seen.
  const uint64_t greater = significand(x) << 38, less = shift_right_jam(significand(y) << 38, ex - ey);
  const bool same = ((x ^ y) & f.sign_mask()) == 0;
  const Exact sum{(x & f.sign_mask()) != 0, ex - f.bias - m - 38, same ? greater + less : greater - less};
  const Rounded r = round_and_pack(f, sum, RoundingPolicy{});
  return (r.code & f.magnitude_mask()) == 0 ? 0 : static_cast<uint32_t>(r.code);
}

}  // namespace detail

/// The fp32 code of an fp16 one, exactly; a NaN becomes a tensor core's.
SOFTAMP_INLINE uint32_t tensor_core_single(uint32_t half) {
  const uint32_t sign = (half & 0x8000) << 16, magnitude = half & 0x7FFF;
  if (magnitude > 0x7C00) return 0x7FFFFFFF;
  if (magnitude == 0x7C00) return sign | 0x7F800000;
  if (magnitude >= 0x0400) return sign | ((magnitude << 13) + (112u << 23));
  if (magnitude == 0) return sign;
  const int top = 63 - detail::countl_zero(uint64_t{magnitude});  // of a multiple of 2^-24
  return sign | static_cast<uint32_t>(127 - 24 + top) << 23 | ((magnitude << (23 - top)) & 0x007FFFFF);
}

/// The fp16 code of the C that an fp16 accumulator begins with: the fp32 number rounded to nearest even.
// implements: N480
SOFTAMP_INLINE uint32_t tensor_core_half(uint32_t single) {
  const uint32_t sign = single >> 16 & 0x8000, magnitude = single & 0x7FFFFFFF;
  if (magnitude > 0x7F800000) return 0x7FFF;
  if (magnitude >= 0x477FF000) return sign | 0x7C00;  // 65520, halfway to 65536
  const int exponent = static_cast<int>(magnitude >> 23) - 127, drop = exponent >= -14 ? 13 : -1 - exponent;
  if (drop > 24) return sign;
  const uint32_t significand = exponent >= -14 ? magnitude - (112u << 23) : (magnitude & 0x007FFFFF) | 0x00800000u;
  return sign | (significand + (1u << (drop - 1)) - 1 + (significand >> drop & 1)) >> drop;
}

/// One fused group of finite terms: `count` products p[i] 2^(e[i] - 2 m), m the mantissa bits of the operands, and
/// the finite accumulator c (a code of fp32, or of fp16 where that is the result). An infinity says overflow.
// implements: N109, N328
SOFTAMP_INLINE uint32_t fused_sum(const TensorCore& t, const int32_t* p, const int32_t* e, int count, uint32_t c) {
  const bool halves = t.result == TensorCoreResult::kHalf;
  const int c_bits = halves ? 10 : 23;
  const uint32_t c_field = halves ? c >> 10 & 0x1F : c >> 23 & 0xFF;
  const uint32_t c_fraction = c & ((1u << c_bits) - 1);
  const uint32_t c_magnitude = c_fraction | (c_field != 0 ? 1u << c_bits : 0u);
  const int c_exponent = c_magnitude == 0 ? t.floor : static_cast<int>(c_field | (c_field == 0)) - (halves ? 15 : 127);
  const bool c_negative = (c >> (halves ? 15 : 31) & 1) != 0;

  int greatest = c_exponent;  // above the floor, but for a zero
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

/// A group (0, 1) of a step of TensorCoreOrder::kPairs: those of `count` products, in ascending k, that are in it, and
/// the finite sum so far. An infinity says overflow.
// implements: N477
SOFTAMP_INLINE uint32_t pair_group_sum(const TensorCore& t, const int32_t* p, const int32_t* e, int count, int group,
                                       uint32_t sum) {
  int32_t some_p[16] = {}, some_e[16] = {};
  int n = 0;
  for (int i = 0; i < count; ++i)
    if ((i >> 1 & 1) == group) some_p[n] = p[i], some_e[n] = e[i], ++n;
  return fused_sum(t, some_p, some_e, n, sum);
}

/// One step of the chain over finite terms: at most t.step() products, as fused_sum takes them, and C.
// implements: N477
SOFTAMP_INLINE uint32_t fused_step(const TensorCore& t, const int32_t* p, const int32_t* e, int count, uint32_t c) {
  if (t.order == TensorCoreOrder::kChain) return fused_sum(t, p, e, count, c);
  const FloatFormat f = t.result == TensorCoreResult::kHalf ? FloatFormat::fp16() : FloatFormat::fp32();
  uint32_t sum = pair_group_sum(t, p, e, count, 0, 0);
  if (f.is_finite(sum)) sum = pair_group_sum(t, p, e, count, 1, sum);
  return detail::add_nearest(f, sum, c);
}

/// One step of the chain, special values included. NaN (0x7FFFFFFF, in fp16 0x7FFF) if a term is NaN, for Inf 0 and
/// Inf - Inf; else an infinite term gives its infinity.
// implements: N109, N110
class FusedGroup {
 public:
  SOFTAMP_INLINE int count() const { return count_; }

  /// Adds the product of two operands, at most t.step() of them; fp32 codes, exact values of t.operand's (of tf32 any).
  SOFTAMP_GENERAL void add(const TensorCore& t, uint32_t a, uint32_t b) {
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
  SOFTAMP_GENERAL Rounded round(const TensorCore& t, uint32_t c, const Semantics& s) const {
    const FloatFormat f = t.result == TensorCoreResult::kHalf ? FloatFormat::fp16() : FloatFormat::fp32();
    bool nan = nan_ || f.is_nan(c), loud = loud_ || f.is_signaling_nan(c);
    bool invalid = zero_times_infinity_;
    const bool negative = (c & f.sign_mask()) != 0;
    const bool pairs = t.order == TensorCoreOrder::kPairs;
    bool plus = f.is_infinity(c) && !negative, minus = f.is_infinity(c) && negative;
    if (!pairs) plus = plus || infinite_[0] || infinite_[2], minus = minus || infinite_[1] || infinite_[3];
    bool overflow = false;
    uint32_t code = 0;
    if (pairs && !nan && !invalid) {
      // Each group meets a sum that may be infinite, and C meets the last.
      for (int group = 0; group < 2 && !invalid; ++group) {
        bool up = infinite_[2 * group] || code == f.infinity_code();
        bool down = infinite_[2 * group + 1] || code == (f.infinity_code() | f.sign_mask());
        invalid = up && down;
        if (up || down)
          code = static_cast<uint32_t>(f.infinity_code() | (down ? f.sign_mask() : 0));
        else
          code = pair_group_sum(t, product_, exponent_, count_, group, code);
        overflow = overflow || (f.is_infinity(code) && !up && !down);
      }
      plus = plus || code == f.infinity_code();
      minus = minus || code == (f.infinity_code() | f.sign_mask());
    }
    if (!nan && plus && minus) invalid = true;
    if (nan || invalid) {
      const bool raises = invalid || loud || s.quiet_nan_is_invalid;
      const int flags = (raises ? kInvalid : 0) | (overflow ? kOverflow : 0);
      return {f.magnitude_mask(), static_cast<uint8_t>(flags & s.rounding(f).flags)};
    }
    if (!plus && !minus) {
      code = pairs ? detail::add_nearest(f, code, c) : fused_sum(t, product_, exponent_, count_, c);
      overflow = f.is_infinity(code);
    } else {
      code = static_cast<uint32_t>(f.infinity_code() | (minus ? f.sign_mask() : 0));
    }
    return {code, static_cast<uint8_t>(overflow ? kOverflow & s.rounding(f).flags : 0)};
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
      infinite_[2 * (count_ >> 1 & 1) + (((a ^ b) & 0x80000000u) != 0)] = true;
    }
  }

  static constexpr int kMost = 32;
  int32_t product_[kMost] = {}, exponent_[kMost] = {};
  int count_ = 0;
  bool nan_ = false, loud_ = false, zero_times_infinity_ = false;
  bool infinite_[4] = {};  ///< positive and negative products with k mod 4 < 2; the others
};

}  // namespace softamp
