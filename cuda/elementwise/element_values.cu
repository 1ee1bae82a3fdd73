// Arithmetic, and formulas in fp32, on fp16, bf16 and fp32 by the device's own fp32 arithmetic, and one rounding.
//
//   results of 16 bits, to nearest     the operation to nearest in fp32: an innocent double rounding (N405)
//   stochastic, toward zero the operation toward zero in fp32: the later rounding reads no bit that this
//                                      loses (N402)
//   quotients and roots by way of fp32, formulas in fp32     to nearest in fp32: that is the value
//
// Infinities, NaNs, overflows and other rare cases can be seen in the fp32 value; the body computes them.
#include "cuda/elementwise/elementwise.h"
#include "cuda/fast_round.h"

namespace softamp::cuda {
namespace {

using kernel::Elementwise;

enum class Reads : uint8_t { kFp16, kBf16, kFp32 };

struct ValueRules {
  Reads reads;
  bool toward_zero;                  ///< the operation
  uint32_t flush_below, flush_sign;  ///< of fp32 operands
  uint32_t value_flush_below;        ///< of the fp32 value, before its rounding
  FastRound round;
};

bool divides(Elementwise op) {
  return op == Elementwise::kDiv || op == Elementwise::kReciprocal || op == Elementwise::kSqrt ||
         op == Elementwise::kRsqrt;
}

/// kDividing: the operations with quotients and roots, whose code is long.
template <bool kDividing>
struct ValueGroups {
  static constexpr unsigned kLeastBlocks = 2;  ///< of 256 threads

  ValueRules rules;
  Elementwise op;
  RareElements rare_elements;
  GroupOperand in[2];
  void* out;
  unsigned out_bytes;
  bool binary, vectors;
  GroupRun run;

  template <class Block>
  SOFTAMP_HD void operator()(Block& block) const {
    block.each([&](unsigned t) {
      const uint32_t step = run.step_if(rules.round.draws);
      each_group(block, t, run.size, [&](uint64_t first, unsigned count) {
        uint32_t a[kGroup], b[kGroup] = {}, code[kGroup] = {};
        load_group(in[0], first, count, a);
        if (binary) load_group(in[1], first, count, b);
        RandomWords words{};
        if (rules.round.draws)
          words = random_words(run.environment.environment, step, 0, first, rules.round.random_bits, count);
        float x[kGroup] = {}, y[kGroup] = {};
        widen(a, x);
        widen(b, y);
        values(x, y);
        uint32_t rare = 0;
        round(x, words, code, rare);
        rare &= (1u << count) - 1;
        if (rare) settle(first, rare, code);
        store_group(out, out_bytes, vectors, first, count, code);
      });
    });
  }

 private:
  using Codes = uint32_t[kGroup];
  using Values = float[kGroup];

  SOFTAMP_PRIMITIVE void widen(const Codes& code, Values& x) const {
    switch (rules.reads) {
      case Reads::kFp16: for_group([&](unsigned j) { x[j] = float_of_half(code[j]); }); break;
      case Reads::kBf16: for_group([&](unsigned j) { x[j] = float_of_bf16(code[j]); }); break;
      case Reads::kFp32:
        for_group([&](unsigned j) { x[j] = from_bits(flushed(code[j], rules.flush_below, rules.flush_sign)); });
        break;
    }
  }

  /// x = op(x, y).
  SOFTAMP_PRIMITIVE void values(Values& x, const Values& y) const {
    using math::Float;
    const auto each = [&](auto f) { for_group([&](unsigned j) { x[j] = f(x[j], y[j]); }); };
    const auto formula = [&](auto f) { for_group([&](unsigned j) { x[j] = f(Float(x[j]), Float(y[j])).value; }); };
    const float alpha = rare_elements.alpha;
    if constexpr (kDividing) {
      if (rules.toward_zero) {
        switch (op) {
          case Elementwise::kDiv: each([](float a, float b) { return div_rz(a, b); }); break;
          case Elementwise::kReciprocal: each([](float a, float) { return div_rz(1.0f, a); }); break;
          default: each([](float a, float) { return sqrt_rz(a); }); break;
        }
        return;
      }
      switch (op) {
        case Elementwise::kDiv: each([](float a, float b) { return div_rn(a, b); }); break;
        case Elementwise::kReciprocal: each([](float a, float) { return div_rn(1.0f, a); }); break;
        case Elementwise::kSqrt: each([](float a, float) { return sqrt_rn(a); }); break;
        case Elementwise::kRsqrt: each([](float a, float) { return div_rn(1.0f, sqrt_rn(a)); }); break;
        default:
          formula([](Float a, Float b) { return kernel::fp32_formula<Elementwise::kSqrtGrad>(a, b, 0.0f); });
          break;
      }
      return;
    } else if (rules.toward_zero) {
      switch (op) {
        case Elementwise::kAdd: each([](float a, float b) { return add_rz(a, b); }); break;
        case Elementwise::kSub: each([](float a, float b) { return sub_rz(a, b); }); break;
        case Elementwise::kMul: each([](float a, float b) { return mul_rz(a, b); }); break;
        default: each([](float a, float) { return mul_rz(a, a); }); break;
      }
      return;
    }
    switch (op) {
      case Elementwise::kAdd: each([](float a, float b) { return add_rn(a, b); }); break;
      case Elementwise::kSub: each([](float a, float b) { return sub_rn(a, b); }); break;
      case Elementwise::kMul: each([](float a, float b) { return mul_rn(a, b); }); break;
      case Elementwise::kSquare: each([](float a, float) { return mul_rn(a, a); }); break;
      default:
        kernel::with_constant(op, [&](auto constant) {
          if constexpr (kernel::is_fp32_inside(constant.value) && constant.value != Elementwise::kSqrtGrad)
            formula([&](Float a, Float b) { return kernel::fp32_formula<constant.value>(a, b, alpha); });
        });
    }
  }

  template <FastRound::Way kWay>
  SOFTAMP_PRIMITIVE void round_by(const Values& x, const RandomWords& words, Codes& code, uint32_t& rare) const {
    for_group([&](unsigned j) {
      bool is_rare = false;
      const float value = from_bits(flushed(bits_of(x[j]), rules.value_flush_below, 0x80000000u));
      code[j] = rules.round.template code<kWay>(value, words.word[j], is_rare) &
                (kWay == FastRound::Way::kFloat ? ~0u : 0xFFFFu);
      rare |= static_cast<uint32_t>(is_rare) << j;
    });
  }
  SOFTAMP_PRIMITIVE void round(const Values& x, const RandomWords& words, Codes& code, uint32_t& rare) const {
    using enum FastRound::Way;
    switch (rules.round.way) {
      case kHalfNearest: round_by<kHalfNearest>(x, words, code, rare); break;
      case kHalfCarry: round_by<kHalfCarry>(x, words, code, rare); break;
      case kBf16Nearest: round_by<kBf16Nearest>(x, words, code, rare); break;
      case kBf16Carry: round_by<kBf16Carry>(x, words, code, rare); break;
      default: round_by<kFloat>(x, words, code, rare); break;
    }
  }

  /// A copy, so that the group itself is in registers.
  SOFTAMP_PRIMITIVE void settle(uint64_t first, uint32_t rare, Codes& code) const {
    Codes r;
    for_group([&](unsigned j) { r[j] = code[j]; });
    rare_elements.settle(in, run.environment, first, rare, r, run.status);
    for_group([&](unsigned j) { code[j] = r[j]; });
  }
};

/// Bits below the format's last that the stochastic rounding of `p` reads.
int bits_read_below(const RoundingPolicy& p) {
  return p.stochastic() ? p.random_bits + (p.variant == StochasticVariant::kCarry ? 0 : 1) : 0;
}

/// False: the preset does not allow it.
bool rules_of(Elementwise op, DType type, const Semantics& s, bool status_wanted, ValueRules& r) {
  const FloatFormat f = format_of(type);
  const RoundingPolicy& p = s.rounding(f);
  const bool wide = type == DType::kFloat32, nearest = p.mode == RoundingMode::kNearestEven;
  // Infinities that count as other numbers cannot always be seen in a result.
  if (!infinities_are_plain(s, f)) return false;
  r.reads = type == DType::kFloat16 ? Reads::kFp16 : wide ? Reads::kFp32 : Reads::kBf16;
  r.flush_below = wide && s.wide_operands_flushed ? kLeastNormal32 : 0;
  r.flush_sign = s.operand_flush_sign == FlushSign::kPositive ? 0 : 0x80000000u;
  r.value_flush_below = 0;
  r.toward_zero = false;
  r.round = FastRound::of(f, s, status_wanted);
  if (!r.round.usable) return false;
  // A zero that flushing makes positive cannot be distinguished from an unflushed negative one.
  if (wide && s.wide.subnormals == Subnormals::kFlushToPositive) return false;
  if (kernel::is_fp32_inside(op)) return true;
  if (divides(op) && !wide && s.divide_by_way_of_fp32) {
    const RoundingPolicy& first = s.wide;
    if (first.mode != RoundingMode::kNearestEven || first.subnormals == Subnormals::kFlushToPositive) return false;
    if (status_wanted && (first.flags & (kInexact | kUnderflow))) return false;
    // The fp32 result is flushed, or then as the operand of the last rounding.
    if (s.wide_operands_flushed && s.operand_flush_sign == FlushSign::kPositive) return false;
    if (s.wide_operands_flushed || first.subnormals == Subnormals::kFlush) r.value_flush_below = kLeastNormal32;
    return true;
  }
  if (op == Elementwise::kRsqrt) return false;  // rounded once
  if (nearest || wide) return nearest;
  r.toward_zero = true;
  // fp32 has so many bits below the format's last; a product of halves is exact.
  const bool exact = type == DType::kFloat16 && (op == Elementwise::kMul || op == Elementwise::kSquare);
  return exact || bits_read_below(p) <= 24 - f.precision;
}

template <bool kDividing>
void put(const DeviceCall& call, const ElementwiseLaunch& e, const ValueRules& rules) {
  const ValueGroups<kDividing> groups{rules,
                                      e.op,
                                      {e.op, format_of(e.type), e.alpha, rules.round.draws},
                                      {e.in[0], e.in[1]},
                                      e.out,
                                      e.out_bytes,
                                      kernel::operand_count(e.op) == 2,
                                      detail::aligned_groups(e.out, e.out_bytes),
                                      e.size,
                                      call.environment,
                                      call.status};
  call.device.launch("element_values", group_grid(call.device, e.size), groups);
}

}  // namespace

bool launch_values(const DeviceCall& call, const ElementwiseLaunch& e) {
  ValueRules rules;
  const bool narrow_float = e.type == DType::kFloat16 || e.type == DType::kBFloat16 || e.type == DType::kFloat32;
  if (!narrow_float || !kernel::rounds(e.op)) return false;
  if (!rules_of(e.op, e.type, call.environment.environment.semantics, call.status != nullptr, rules)) return false;
  if (divides(e.op) || e.op == Elementwise::kSqrtGrad)
    put<true>(call, e, rules);
  else
    put<false>(call, e, rules);
  return true;
}

}  // namespace softamp::cuda
