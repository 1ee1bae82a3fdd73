// The dot product of two quantised vectors: which sums are exact, what is rounded, and in which order (N485 to N491).
//
// v is the value of an element's code, x the scale of its block (inner_scale), X what its code is multiplied by in all
// (whole_scale). Products enter in ascending k. Roundings are to fp32, nearest even, with gradual underflow, unless a
// mode says otherwise; c, an fp32 number, is what the sum starts from.
//
//   exact        y = RN32(c + sum of v_a X_a v_b X_b), the sum exact
//   fp32_chain   y = fma(RN32(v_a X_a), RN32(v_b X_b), y) for every product, from c on
//   block        for every block: y = RN32(y + RN32(RN32(sum of v_a v_b, exact) x)), from c on; x = x_a x_b exactly
//                where neither is of fp32, else RN32(x_a x_b)
//   hopper       groups of 32 in Hopper's FP8 cores, 13 fraction bits; the accumulator starts from +0 at every block
//   and
//                after every `promote_every` products of one, and is promoted there into the sum y, which starts from c
//   blackwell    y is the accumulator of Blackwell's block-scaled instructions, from c on: mxf4nvf4 (groups of 64)
//   where
//                both operands are e2m1, else mxf8f6f4 (groups of 32)
//
// A block ends where a block of either operand does. In the last three modes y is multiplied at the end by what is not
// in x (last_scale), where there is such a factor: y = RN32(t y). So `block` of NVFP4 is the order of
// TransformerEngine's reference. Where three quarters of one operand, or of both, are what was quantised, the result is
// multiplied by fp32's 4/3, or 16/9, in every mode.
//
// Flags: invalid and overflow.
#pragma once

#include "softamp/numerics/arithmetic.h"
#include "softamp/numerics/block/dot_cores.h"
#include "softamp/numerics/block/exact_sum.h"

namespace softamp::block {

/// How products are summed; the name is in the comment.
// implements: N485
enum class DotMode : uint8_t {
  kExact,      ///< exact
  kFp32Chain,  ///< fp32_chain
  kBlock,      ///< block
  kHopper,     ///< hopper
  kBlackwell,  ///< blackwell
};

/// How a partial sum p of Hopper's is promoted into the sum y.
// implements: N489
enum class Promotion : uint8_t {
  kScalesFirst,  ///< scales_first: y = fma(RN32(x_a x_b), p, y). DeepGEMM.
  kPartnerLast,  ///< partner_last: y = fma(RN32(p x_a), x_b, y). TransformerEngine's reference for cuBLAS.
  kUnfused,      ///< unfused: y = RN32(y + RN32(RN32(p x_a) x_b)). A kernel without a fused multiply-add.
};

/// promotion      [=kScalesFirst] of kHopper
/// promote_every  [=128] of kHopper: products of a partial sum, a multiple of 32; 0: all of a block
struct DotRules {
  DotMode mode = DotMode::kExact;
  Promotion promotion = Promotion::kScalesFirst;
  int promote_every = 128;
};

/// Why these operands cannot be summed so; nullptr where they can.
SOFTAMP_INLINE const char* refusal_of(const DotRules& rules, const DotOperand& a, const DotOperand& b) {
  const bool hopper = rules.mode == DotMode::kHopper, blackwell = rules.mode == DotMode::kBlackwell;
  const bool fp4 = a.fp4() && b.fp4();
  const DotOperand* const both[] = {&a, &b};
  for (const DotOperand* o : both) {
    const BlockFormat& f = o->format;
    const FloatFormat& e = f.element.format;
    if (f.element.storage_bits() > 8) return "elements have at most 8 bits";
    if (f.size < 0) return "a block has 1 or more elements, or (0) all";
    if (!hopper && !blackwell) continue;
    if (f.element.integer || (e != FloatFormat::e4m3() && e != FloatFormat::e5m2() && e != FloatFormat::e2m3() &&
                              e != FloatFormat::e3m2() && e != FloatFormat::e2m1()))
      return "tensor cores take elements of e4m3, e5m2, e2m3, e3m2 and e2m1";
    if (hopper) continue;
    if (f.family == BlockFamily::kFp8 && f.size != 0) return "its instructions take no fp32 scales of blocks";
    if (f.family == BlockFamily::kNvfp4 && !fp4) return "it multiplies NVFP4 only with elements of e2m1";
    if (f.size % (fp4 ? Fp4Group::kSum : ScaledGroup::kLength) != 0)
      return fp4 ? "its blocks of e2m1 are a multiple of 16 long" : "its blocks are a multiple of 32 long";
  }
  if (hopper && (rules.promote_every < 0 || rules.promote_every % ScaledGroup::kLength != 0))
    return "partial sums are a multiple of 32 long";
  return nullptr;
}

/// One dot product: begin before the first product, and where a block of either operand begins; step for every product
/// in order of k; then finish. Operands that refusal_of refuses are not to be given.
class Dot {
 public:
  SOFTAMP_INLINE Dot(const DotRules& rules, const DotOperand& a, const DotOperand& b,
                     const Semantics& s = Semantics::ieee(), uint32_t c = 0)
      : rules_(rules), a_(a), b_(b), s_(s), sum_(c), fp4_(rules.mode == DotMode::kBlackwell && a.fp4() && b.fp4()) {
    if (rules.mode == DotMode::kExact) exact_.add(fp32_operand(c));
  }

  /// The scales of what follows: bytes, or fp32 codes.
  SOFTAMP_INLINE void begin(uint32_t scale_a, uint32_t scale_b) {
    end_block();
    scale_a_ = scale_a;
    scale_b_ = scale_b;
    begun_ = true;
    if (rules_.mode == DotMode::kExact || rules_.mode == DotMode::kFp32Chain) {
      whole_a_ = whole_scale(a_, scale_a);
      whole_b_ = whole_scale(b_, scale_b);
    }
  }

  SOFTAMP_APART void step(uint64_t a, uint64_t b) {
    switch (rules_.mode) {
      case DotMode::kExact:
        exact_.add(product_of(element_operand(a_.format.element, a), fp32_operand(whole_a_)),
                   product_of(element_operand(b_.format.element, b), fp32_operand(whole_b_)));
        return;
      case DotMode::kFp32Chain:
        take(fp::fma(FloatFormat::fp32(), dequantised(a_, whole_a_, a), dequantised(b_, whole_b_, b), sum_, s_));
        return;
      case DotMode::kBlock:
        exact_.add(element_operand(a_.format.element, a), element_operand(b_.format.element, b));
        break;
      case DotMode::kHopper:
        group_.add(a_.format.element, a, b_.format.element, b, 0);
        if (group_.count() == ScaledGroup::kLength) end_group();
        break;
      case DotMode::kBlackwell:
        if (fp4_)
          fp4_group_.add(a, b, a_, scale_a_, b_, scale_b_);
        else
          add_scaled(a, b);
        if (fp4_group_.count() == Fp4Group::kLength || group_.count() == ScaledGroup::kLength) end_group();
        return;
    }
    ++open_;
    if (rules_.mode == DotMode::kHopper && open_ == rules_.promote_every) end_block();
  }

  /// The sum without the factors of the end.
  SOFTAMP_INLINE Rounded sum() {
    end_block();
    if (rules_.mode == DotMode::kExact) take(exact_.round(s_));
    if (rules_.mode == DotMode::kBlackwell && group_.count() + fp4_group_.count() != 0) end_group();
    return {sum_, flags_};
  }

  /// The result.
  SOFTAMP_APART Rounded finish() {
    sum();
    const bool inner = rules_.mode != DotMode::kExact && rules_.mode != DotMode::kFp32Chain;
    if (inner && begun_ && has_last_scale(a_, b_)) take(mul(last_scale(a_, scale_a_, b_, scale_b_), sum_));
    const int quarters = a_.three_quarters() + b_.three_quarters();
    if (quarters != 0) take(mul(quarters == 2 ? 0x3FE38E39u : 0x3FAAAAABu, sum_));
    return {sum_, flags_};
  }

 private:
  SOFTAMP_INLINE Rounded mul(uint32_t x, uint32_t y) const { return fp::mul(FloatFormat::fp32(), x, y, s_); }
  SOFTAMP_INLINE void raise(uint8_t flags) { flags_ = static_cast<uint8_t>(flags_ | (flags & (kInvalid | kOverflow))); }
  SOFTAMP_INLINE void take(Rounded r) {
    sum_ = static_cast<uint32_t>(r.code);
    raise(r.flags);
  }
  /// A step inside: its flags count, its value goes on.
  SOFTAMP_INLINE uint32_t through(Rounded r) {
    raise(r.flags);
    return static_cast<uint32_t>(r.code);
  }

  SOFTAMP_INLINE void add_scaled(uint64_t a, uint64_t b) {
    group_.add(a_.format.element, a, b_.format.element, b, exponent_of(a_, scale_a_) + exponent_of(b_, scale_b_));
  }

  /// The power of two that MX's scale is; 0 for others.
  SOFTAMP_INLINE int exponent_of(const DotOperand& o, uint32_t scale) {
    if (o.format.family != BlockFamily::kMx) return 0;
    if (scale == e8m0::kNan) group_.set_nan();
    return static_cast<int>(scale) - 127;
  }

  SOFTAMP_APART void end_group() {
    if (rules_.mode == DotMode::kHopper) {
      partial_ = through(group_.round(13, TensorCoreResult::kE8m13, partial_, s_));
    } else if (fp4_) {
      take(fp4_group_.round(sum_, s_));
      fp4_group_ = {};
    } else {
      take(group_.round(25, TensorCoreResult::kSingle, sum_, s_));
    }
    group_ = {};
  }

  /// Brings a block's sum, or a partial one, into the sum.
  // implements: N487
  SOFTAMP_APART void end_block() {
    if (open_ == 0) return;
    open_ = 0;
    const uint32_t x = inner_scale(a_, scale_a_), y = inner_scale(b_, scale_b_);
    if (rules_.mode == DotMode::kBlock) {
      const uint32_t products = through(exact_.round(s_));
      exact_ = {};
      take(fp::add(FloatFormat::fp32(), sum_, through(scaled(products, x, y)), s_));
      return;
    }
    if (group_.count() != 0) end_group();
    const uint32_t p = partial_;
    partial_ = 0;
    switch (rules_.promotion) {
      case Promotion::kScalesFirst: take(fma(through(mul(x, y)), p)); break;
      case Promotion::kPartnerLast: take(fma(through(mul(p, x)), y)); break;
      case Promotion::kUnfused:
        take(fp::add(FloatFormat::fp32(), sum_, through(mul(through(mul(p, x)), y)), s_));
        break;
    }
  }
  SOFTAMP_INLINE Rounded fma(uint32_t x, uint32_t y) const { return fp::fma(FloatFormat::fp32(), x, y, sum_, s_); }

  /// d x y, rounded once where both scales are of 8 bits, else d RN32(x y).
  // implements: N487
  SOFTAMP_INLINE Rounded scaled(uint32_t d, uint32_t x, uint32_t y) {
    if (fp32_scaled(a_) || fp32_scaled(b_)) return mul(d, through(mul(x, y)));
    const detail::Operand scale = product_of(fp32_operand(x), fp32_operand(y));
    if (scale.nan()) return mul(d, static_cast<uint32_t>(nan_code(FloatFormat::fp32(), NanPattern::kQuiet)));
    // Of 8 significant bits at most, or a power of two whose subnormal code has trailing zeros.
    const detail::Operand product = product_of(fp32_operand(d), trimmed(scale));
    if (!product.finite() || product.zero()) return mul(d, scale.significand == 0 ? 0 : detail32::kOne);
    return round_and_pack(FloatFormat::fp32(), product.exact(), s_.wide);
  }
  static SOFTAMP_INLINE bool fp32_scaled(const DotOperand& o) { return o.format.family == BlockFamily::kFp8; }
  /// The same number with an odd significand.
  static SOFTAMP_INLINE detail::Operand trimmed(detail::Operand x) {
    while (x.significand != 0 && (x.significand & 1) == 0) x.significand >>= 1, ++x.exponent;
    return x;
  }

  DotRules rules_;
  DotOperand a_, b_;
  Semantics s_;
  uint32_t sum_, partial_ = 0;
  bool fp4_, begun_ = false;
  uint8_t flags_ = 0;
  uint32_t scale_a_ = 0, scale_b_ = 0, whole_a_ = 0, whole_b_ = 0;
  int open_ = 0;  ///< products since the last that entered the sum: kBlock, kHopper
  ExactSum exact_{};
  ScaledGroup group_{};
  Fp4Group fp4_group_{};
};

/// A vector in memory: n codes, a byte each, and ceil(n / size) scales, in bytes or (FP8) fp32 codes.
struct DotVector {
  DotOperand form;
  const uint8_t* codes;
  const uint8_t* scales = nullptr;
  const uint32_t* fp32_scales = nullptr;

  SOFTAMP_INLINE bool begins(uint64_t k) const {
    return k == 0 || (form.format.size != 0 && k % static_cast<uint64_t>(form.format.size) == 0);
  }
  SOFTAMP_INLINE uint32_t scale_of(uint64_t k) const {
    const uint64_t block = form.format.size == 0 ? 0 : k / static_cast<uint64_t>(form.format.size);
    if (form.format.family == BlockFamily::kPlain) return 0;
    return form.format.family == BlockFamily::kFp8 ? fp32_scales[block] : scales[block];
  }
};

/// c plus the dot product of n products.
SOFTAMP_INLINE Rounded dot(const DotRules& rules, const DotVector& a, const DotVector& b, uint64_t n,
                           const Semantics& s = Semantics::ieee(), uint32_t c = 0) {
  Dot sum(rules, a.form, b.form, s, c);
  for (uint64_t k = 0; k < n; ++k) {
    if (a.begins(k) || b.begins(k)) sum.begin(a.scale_of(k), b.scale_of(k));
    sum.step(a.codes[k], b.codes[k]);
  }
  return sum.finish();
}

}  // namespace softamp::block
