// The body of every product: one chain per output, for MatMul and for convolutions alike (N101 to N105).
//
// Operands are fp16, bf16 or fp32 numbers, widened exactly to fp32 (`widen_operand`). Per output, k ascending:
//
//   acc = +0
//   per block of products:   acc = fma(a, b, acc) for each, in fp32, to nearest even, underflow gradual
//                            partials of type half: acc is rounded to fp16 once, under the narrow policy
//   result = acc rounded once to the output's format, by fp::convert; not rounded if acc and the format are both half
//
// With `exact_each` (amp_block 1, N104) every product is a block, and the partial is the exact a b + p
// rounded once to fp16: no fp32 step. Independent partials (sums over a batch, N105): the chain starts anew from +0 in
// each, their sums are added up in ascending order by fp32 additions to nearest even, from the first partial on.
//
// With a tensor core as accumulator the products enter in its fused groups (numerics/products/tensor_core.h) instead,
// in ascending k: the groups of an output, or of an independent partial, follow each other without regard to blocks;
// the last may be shorter. The chain stays a float: result and sums of partials as above. Its fp16 accumulator rounds
// in each group and is widened at the end. Operands may be rounded to another format on their way in (`operands`).
//
// A chain may begin with a number C in the place of +0 (N480): `start`.
//
// Random bits: a rounding inside the chain reads site 0 at product_index(block number, output), the final one site 1 at
// index = output.
//
// Flags: invalid and overflow of every step (the fp32 chain raises only those), and all flags of the roundings to the
// partials type and to the output. A value flushed on entry or at the end raises nothing.
#pragma once

#include "softamp/kernel/environment.h"
#include "softamp/kernel/exact_dot.h"
#include "softamp/numerics/arithmetic.h"
#include "softamp/numerics/convert.h"
#include "softamp/numerics/products/tensor_core.h"

namespace softamp::kernel {

/// The type of partial sums between blocks (`partialsType`).
enum class PartialsType : uint8_t { kFloat, kHalf };

// implements: N104, N106, N108
struct ProductRules {
  FloatFormat a = kFp16, b = kFp16;  ///< of the operands: fp16, bf16, fp32
  FloatFormat output = kFp16;        ///< fp16, bf16, fp32
  PartialsType partials = PartialsType::kFloat;
  bool exact_each = false;      ///< half partials, amp_block 1: see above; not with kRn32Each, kExactDot4
  bool independent = false;     ///< the sum is made of independent partials
  bool round_partials = false;  ///< those are rounded to fp16 at their end (`partialsType.interTile` = half)
  AmpInner inner = AmpInner::kFmaChain;
  /// A tensor core must exist (core_of), and excludes half partials, rounded ones, flush_inner and any other `inner`.
  Accumulator accumulator = Accumulator::kIpuModelA;
  TensorCoreOperands operands = TensorCoreOperands::kOwn;  ///< what a tensor core is fed
  bool half_accumulator = false;                           ///< of a tensor core: fp16; not with bf16 and tf32
  bool flush_inner = false;  ///< `f32_flush_inner`: fp32 subnormals are flushed at every step, as the wide policy says
  bool stochastic_off = false;  ///< `disableSRForAMPVertices`: roundings that would be stochastic go to nearest even

  constexpr bool operator==(const ProductRules&) const = default;
};

/// The format that a product's tensor core is fed.
// implements: N479
SOFTAMP_INLINE FloatFormat fed_format(const ProductRules& rules) {
  switch (rules.operands) {
    case TensorCoreOperands::kOwn: break;
    case TensorCoreOperands::kAsFp16: return FloatFormat::fp16();
    case TensorCoreOperands::kAsBf16: return FloatFormat::bf16();
    case TensorCoreOperands::kAsE4m3: return FloatFormat::e4m3();
    case TensorCoreOperands::kAsE5m2: return FloatFormat::e5m2();
  }
  return rules.a;
}

/// The tensor core of a product; one that does not exist where the accumulator is none, or lacks these operands.
SOFTAMP_INLINE TensorCore core_of(const ProductRules& rules) {
  return tensor_core(rules.accumulator, fed_format(rules), rules.half_accumulator);
}

/// The semantics that a product's operands, C and roundings follow. A tensor core brings its own handling of
/// subnormals: it keeps them, whatever the preset says.
// implements: N100, N108
SOFTAMP_INLINE Semantics product_semantics(const ProductRules& rules, Semantics s) {
  if (rules.stochastic_off && s.narrow.stochastic()) s.narrow.mode = RoundingMode::kNearestEven;
  if (is_tensor_core(rules.accumulator)) {
    s.wide.subnormals = s.narrow.subnormals = Subnormals::kKeep;
    s.wide_operands_flushed = false;
  }
  return s;
}

/// The semantics of the fp32 sums inside a product, from those of its roundings.
SOFTAMP_INLINE Semantics chain_semantics(const ProductRules& rules, Semantics s) {
  s.wide.mode = RoundingMode::kNearestEven;
  if (!rules.flush_inner) {
    s.wide.subnormals = Subnormals::kKeep;
    s.wide_operands_flushed = false;
  }
  return s;
}

/// The fp32 code of an operand: its exact value. fp32 subnormals and fp16 infinities become what the preset says; a NaN
/// keeps sign, payload and signalling bit, and the operation raises its flag.
// implements: N100
SOFTAMP_INLINE uint32_t widen_operand(const FloatFormat& f, uint64_t code, const Semantics& s) {
  const softamp::detail::Operand x = softamp::detail::unpack(f, code, s);
  const uint32_t sign = x.negative ? 0x80000000u : 0u;
  if (x.nan()) {
    const uint32_t payload = static_cast<uint32_t>(code & f.mantissa_mask())
                             << (FloatFormat::fp32().mantissa_bits() - f.mantissa_bits());
    return sign | 0x7F800000u | (payload ? payload : 0x00400000u);
  }
  if (x.infinite()) return sign | 0x7F800000u;
  return static_cast<uint32_t>(round_and_pack(FloatFormat::fp32(), x.exact(), RoundingPolicy{}).code);
}

/// What a chain has where it begins with C, an fp32 number of `widen_operand`: half partials and the fp16 accumulator
/// take it rounded to fp16, to nearest even, without a flag. `s`: of the product.
// implements: N480
SOFTAMP_INLINE uint32_t chain_start(const ProductRules& rules, uint32_t c, const Semantics& s) {
  if (rules.half_accumulator) return tensor_core_single(tensor_core_half(c));
  if (rules.partials != PartialsType::kHalf) return c;
  return widen_operand(FloatFormat::fp16(), tensor_core_half(c), s);
}

/// One output's chain: step for every product in order of k, end_block where a block ends, close_partial where an
/// independent partial does (after its last end_block), then finish.
// implements: N101, N385
class ProductChain {
 public:
  /// `environment.semantics` are the preset's; `output` is the result's place.
  SOFTAMP_INLINE ProductChain(const ProductRules& rules, const Environment& environment, uint64_t output)
      : rules_(rules),
        environment_(environment),
        s_(product_semantics(rules, environment.semantics)),
        inner_(chain_semantics(rules, s_)),
        output_(output),
        core_(core_of(rules)) {}

  /// Begins with c (chain_start), before the first step; not where partials are independent.
  SOFTAMP_INLINE void start(uint32_t c) {
    acc_ = chain_start(rules_, c, s_);
    if (rules_.partials == PartialsType::kHalf || rules_.half_accumulator)
      half_ = static_cast<uint16_t>(tensor_core_half(c));
  }

  /// Continues a chain after all its products: `sum` (fp32; where partials are independent, all of them) raised
  /// `flags`.
  SOFTAMP_INLINE void resume(uint32_t sum, uint8_t flags) {
    acc_ = total_ = sum;
    flags_ = flags;
  }

  /// The next product: a b, fp32 codes from widen_operand. With exact_each its block's number is `block`.
  // implements: N101
  SOFTAMP_INLINE void step(uint32_t a, uint32_t b, uint64_t block) {
    if (rules_.exact_each) {
      const uint32_t word = environment_.draw(s_.narrow, 0, product_index(block, output_));
      const Rounded r = exact_step(a, b, word);
      half_ = static_cast<uint16_t>(r.code);
      raise(r.flags);
    } else if (core_.exists()) {
      if (rules_.operands == TensorCoreOperands::kOwn)
        group_.add(core_, a, b);
      else
        group_.add(core_, tensor_core_operand(core_.operand, a), tensor_core_operand(core_.operand, b));
      if (group_.count() == core_.step()) end_group();
    } else if (rules_.inner == AmpInner::kExactDot4) {
      dot_.add(a, b, inner_);
      if (dot_.count() == 4) end_dot();
    } else {
      take(fp::fma(FloatFormat::fp32(), a, b, acc_, inner_));
    }
  }

  // implements: N103
  SOFTAMP_INLINE void end_block(uint64_t block) {
    if (dot_.count() != 0) end_dot();
    if (rules_.partials == PartialsType::kHalf && !rules_.exact_each) round_to_half(block);
  }

  /// Ends an independent partial, whose last block was `block`.
  // implements: N105
  SOFTAMP_INLINE void close_partial(uint64_t block) {
    if (rules_.exact_each) acc_ = widened_half();
    if (group_.count() != 0) end_group();
    if (rules_.round_partials && rules_.partials == PartialsType::kFloat) round_to_half(block);
    if (any_partial_) {
      const uint32_t partial = acc_;
      acc_ = total_;
      take(fp::add(FloatFormat::fp32(), acc_, partial, inner_));
    }
    total_ = acc_;
    any_partial_ = true;
    acc_ = 0;
    half_ = 0;
  }

  /// The output's code, and the flags of the whole chain.
  // implements: N102, N107
  SOFTAMP_INLINE Rounded finish() {
    if (group_.count() != 0) end_group();
    if (rules_.independent) {
      acc_ = total_;
    } else if (rules_.partials == PartialsType::kHalf) {
      if (rules_.output == FloatFormat::fp16()) return {half_, flags_};
      acc_ = widened_half();
    }
    if (rules_.output == FloatFormat::fp32()) return {finish_fp32(), flags_};
    const uint32_t word = environment_.draw(s_.narrow, 1, output_);
    const Rounded r = fp::convert(FloatFormat::fp32(), rules_.output, acc_, s_, word);
    return {r.code, static_cast<uint8_t>(flags_ | r.flags)};
  }

 private:
  // implements: N107
  SOFTAMP_INLINE void raise(uint8_t flags) { flags_ = static_cast<uint8_t>(flags_ | flags); }
  SOFTAMP_INLINE void take(Rounded r) {
    acc_ = static_cast<uint32_t>(r.code);
    raise(r.flags & (kInvalid | kOverflow));
  }
  // implements: N106
  SOFTAMP_INLINE void end_dot() {
    take(dot_.round(acc_, inner_));
    dot_ = {};
  }
  // implements: N481
  SOFTAMP_INLINE void end_group() {
    if (rules_.half_accumulator) {
      const Rounded r = group_.round(core_, half_, inner_);
      half_ = static_cast<uint16_t>(r.code);
      take({tensor_core_single(half_), r.flags});
    } else {
      take(group_.round(core_, acc_, inner_));
    }
    group_ = {};
  }
  /// A partial is an operand again, so the preset decides what an infinity in it is.
  SOFTAMP_INLINE uint32_t widened_half() const { return widen_operand(FloatFormat::fp16(), half_, s_); }

  // implements: N103
  SOFTAMP_INLINE void round_to_half(uint64_t block) {
    const uint32_t word = environment_.draw(s_.narrow, 0, product_index(block, output_));
    const Rounded r = fp::convert(FloatFormat::fp32(), FloatFormat::fp16(), acc_, s_, word);
    raise(r.flags);
    half_ = static_cast<uint16_t>(r.code);
    acc_ = widened_half();
  }

  /// fma(a, b, half_) of fp32 factors, rounded once to fp16; for fp16 factors it is fp::fma.
  // implements: N104
  SOFTAMP_INLINE Rounded exact_step(uint32_t a, uint32_t b, uint32_t word) const {
    using softamp::detail::Operand;
    const Operand x = softamp::detail::unpack(FloatFormat::fp32(), a, inner_),
                  y = softamp::detail::unpack(FloatFormat::fp32(), b, inner_);
    const Operand z = softamp::detail::unpack(FloatFormat::fp16(), half_, s_);
    const bool zero_times_infinity = (x.zero() && y.infinite()) || (x.infinite() && y.zero());
    if (x.nan() || y.nan() || z.nan()) {
      uint8_t flags = zero_times_infinity ? kInvalid : 0;
      if (x.nan()) flags = static_cast<uint8_t>(flags | softamp::detail::nan_flags(FloatFormat::fp32(), a, s_));
      if (y.nan()) flags = static_cast<uint8_t>(flags | softamp::detail::nan_flags(FloatFormat::fp32(), b, s_));
      if (z.nan()) flags = static_cast<uint8_t>(flags | softamp::detail::nan_flags(FloatFormat::fp16(), half_, s_));
      const uint64_t code =
          x.nan()   ? softamp::detail::nan_from(FloatFormat::fp16(), FloatFormat::fp32(), a, s_.narrow.nan)
          : y.nan() ? softamp::detail::nan_from(FloatFormat::fp16(), FloatFormat::fp32(), b, s_.narrow.nan)
                    : softamp::detail::nan_from(FloatFormat::fp16(), FloatFormat::fp16(), half_, s_.narrow.nan);
      return {code, static_cast<uint8_t>(flags & s_.narrow.flags)};
    }
    const bool negative = x.negative != y.negative, infinite = x.infinite() || y.infinite();
    if (zero_times_infinity || (infinite && z.infinite() && z.negative != negative))
      return softamp::detail::invalid_result(FloatFormat::fp16(), s_);
    if (infinite) return pack_infinity(FloatFormat::fp16(), negative, s_.narrow);
    if (z.infinite()) return pack_infinity(FloatFormat::fp16(), z.negative, s_.narrow);
    return fp::detail::add_any(FloatFormat::fp16(), fp::detail::product(x.parts(), y.parts()), z.parts(), s_, word);
  }

  // implements: N102
  SOFTAMP_INLINE uint32_t finish_fp32() const {
    if (FloatFormat::fp32().is_nan(acc_))
      return static_cast<uint32_t>(
          softamp::detail::nan_from(FloatFormat::fp32(), FloatFormat::fp32(), acc_, s_.wide.nan));
    const bool flushed = FloatFormat::fp32().is_subnormal(acc_) && s_.wide.subnormals != Subnormals::kKeep;
    if (!flushed && acc_ << 1 != 0) return acc_;
    const bool negative = acc_ >> 31 != 0 && !(flushed && s_.wide.subnormals == Subnormals::kFlushToPositive);
    return static_cast<uint32_t>(zero_code(FloatFormat::fp32(), negative, s_.wide));
  }

  ProductRules rules_;
  const Environment& environment_;
  Semantics s_, inner_;  ///< of roundings to halves and results, and of the fp32 sum
  uint64_t output_;
  uint32_t acc_ = 0;   ///< fp32
  uint16_t half_ = 0;  ///< the partial, where that is a half
  uint32_t total_ = 0;
  bool any_partial_ = false;
  uint8_t flags_ = 0;
  ExactDot dot_{};
  TensorCore core_;
  FusedGroup group_{};
};

}  // namespace softamp::kernel
