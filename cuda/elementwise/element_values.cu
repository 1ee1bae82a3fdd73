// Arithmetic, and formulas in fp32, on fp16, bf16 and fp32 by the device's own fp32 arithmetic, and one rounding.
//
//   results of 16 bits, to nearest     the operation to nearest in fp32: an innocent double rounding (N405)
//   stochastic, toward zero the operation toward zero in fp32: the later rounding reads no bit that this
//                                      loses (N402)
//   quotients and roots by way of fp32, formulas in fp32     to nearest in fp32: that is the value
//
// Infinities, NaNs, overflows and other rare cases can be seen in the fp32 value; the body computes them.
#include "cuda/elementwise/elementwise.h"

namespace softamp::cuda {
namespace {

using kernel::Elementwise;

// implements: N405
struct ValueRules {
  bool halves;                       ///< 16-bit codes are fp16's
  bool divides, toward_zero;         ///< the operation
  uint32_t flush_below, flush_sign;  ///< of fp32 operands
  uint32_t value_flush_below;        ///< of an fp32 quotient or root, before its rounding
  FastRound round;
};

bool divides(Elementwise op) {
  return op == Elementwise::kDiv || op == Elementwise::kReciprocal || op == Elementwise::kSqrt ||
         op == Elementwise::kRsqrt || op == Elementwise::kSqrtGrad;
}

/// Elements of kBytes (2, 4) bytes.
template <unsigned kBytes>
struct ValueGroups {
  static constexpr unsigned kAtOnce = 8 / kBytes;                  ///< groups: 64 bytes of each operand
  static constexpr unsigned kMostThreads = 128, kLeastBlocks = 4;  ///< so that 64 KiB of two are on their way

  ValueRules rules;
  ElementBody body;
  GroupOperand in[2];
  void* out;
  bool binary, vectors;
  GroupRun run;

  template <class Block>
  SOFTAMP_HD void operator()(Block& block) const {
    block.each([&](unsigned t) {
      const uint32_t step = run.step_if(rules.round.draws);
      each_group_at_once<Codes, kAtOnce>(
          block, t, run.size, vectors,
          [&](uint64_t first, Codes& read) {
            read.a.load(in[0], first);
            if (binary) read.b.load(in[1], first);
          },
          [&](uint64_t first, const Codes& read) { return group(first, read, step); },
          [&](uint64_t first) { elements(first, step); });
    });
  }

 private:
  struct Codes {
    GroupCodes<kBytes> a, b;
  };

  SOFTAMP_PRIMITIVE bool group(uint64_t first, const Codes& read, uint32_t step) const {
    float x[kGroup], y[kGroup];
    widen<kGroup>(read.a, x);
    widen<kGroup>(read.b, y);
    values<kGroup>(x, y);
    return store_rounded<kBytes>(rules.round, run, step, first, x, out);
  }

  SOFTAMP_HD __attribute__((noinline)) void elements(uint64_t first, uint32_t step) const {
    const kernel::Environment& e = run.environment.environment;
    run.each_pair<kBytes>(in[0], in[1], first, [&](uint64_t i, uint64_t code_a, uint64_t code_b) {
      const uint32_t low_a[] = {static_cast<uint32_t>(code_a)}, low_b[] = {static_cast<uint32_t>(code_b)};
      const uint32_t random = rules.round.draws ? random_word(e, step, 0, i, rules.round.random_bits) : 0;
      float x[1], y[1];
      widen<1>(low_a, x);
      widen<1>(low_b, y);
      values<1>(x, y);
      bool rare = false;
      Rounded r{rules.round(x[0], random, rare), 0};
      if (rare) r = body.rounded(code_a, code_b, e.semantics, random);
      store_element(out, kBytes, i, r.code);
      raise_status(run.status, r.flags, i);
    });
  }

  template <unsigned kCount, class Of>
  SOFTAMP_PRIMITIVE void widen(const Of& code, float (&x)[kCount]) const {
    if constexpr (kBytes == 4) {
      for_each_of<kCount>([&](unsigned j) { x[j] = from_bits(flushed(code[j], rules.flush_below, rules.flush_sign)); });
    } else if (rules.halves) {
      for_each_of<kCount>([&](unsigned j) { x[j] = float_of_half(code[j]); });
    } else {
      for_each_of<kCount>([&](unsigned j) { x[j] = float_of_bf16(code[j]); });
    }
  }

  /// x = op(x, y).
  template <unsigned kCount>
  SOFTAMP_PRIMITIVE void values(float (&x)[kCount], float (&y)[kCount]) const {
    using math::Float;
    const auto each = [&](auto f) { for_each_of<kCount>([&](unsigned j) { x[j] = f(x[j], y[j]); }); };
    if (rules.divides) {
      // Not unrolled: quotients are long.
#if defined(__CUDACC__)
#pragma unroll 1
#endif
      for (unsigned k = 0; k < kCount; ++k) {
        const float value = divided(x[0], y[0]);
        for_each_of<kCount - 1>([&](unsigned j) { x[j] = x[j + 1], y[j] = y[j + 1]; });
        x[kCount - 1] = from_bits(flushed(bits_of(value), rules.value_flush_below, 0x80000000u));
      }
      return;
    }
    if (kBytes == 2 && rules.toward_zero) {
      switch (body.op) {
        case Elementwise::kAdd: each([](float a, float b) { return add_rz(a, b); }); break;
        case Elementwise::kSub: each([](float a, float b) { return sub_rz(a, b); }); break;
        case Elementwise::kMul: each([](float a, float b) { return mul_rz(a, b); }); break;
        default: each([](float a, float) { return mul_rz(a, a); }); break;
      }
      return;
    }
    switch (body.op) {
      case Elementwise::kAdd: each([](float a, float b) { return add_rn(a, b); }); break;
      case Elementwise::kSub: each([](float a, float b) { return sub_rn(a, b); }); break;
      case Elementwise::kMul: each([](float a, float b) { return mul_rn(a, b); }); break;
      case Elementwise::kSquare: each([](float a, float) { return mul_rn(a, a); }); break;
      default:
        kernel::with_constant(body.op, [&](auto constant) {
          if constexpr (kernel::is_fp32_inside(constant.value) && constant.value != Elementwise::kSqrtGrad)
            each([&](float a, float b) {
              return kernel::fp32_formula<constant.value>(Float(a), Float(b), body.alpha).value;
            });
        });
    }
  }

  SOFTAMP_PRIMITIVE float divided(float a, float b) const {
    if (kBytes == 2 && rules.toward_zero) {
      if (body.op == Elementwise::kSqrt) return sqrt_rz(a);
      return body.op == Elementwise::kDiv ? div_rz(a, b) : div_rz(1.0f, a);
    }
    switch (body.op) {
      case Elementwise::kDiv: return div_rn(a, b);
      case Elementwise::kReciprocal: return div_rn(1.0f, a);
      case Elementwise::kSqrt: return sqrt_rn(a);
      case Elementwise::kRsqrt: return div_rn(1.0f, sqrt_rn(a));
      default: return kernel::fp32_formula<Elementwise::kSqrtGrad>(math::Float(a), math::Float(b), 0.0f).value;
    }
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
  r.halves = type == DType::kFloat16;
  r.divides = divides(op);
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

template <unsigned kBytes>
void put(const DeviceCall& call, const ElementwiseLaunch& e, const ValueRules& rules) {
  using Kernel = ValueGroups<kBytes>;
  const bool vectors = e.in[0].at_once() && e.in[1].at_once() && detail::aligned_groups(e.out, kBytes);
  call.device.launch("element_values", at_once_grid(call.device, e.size, Kernel::kMostThreads),
                     Kernel{rules,
                            {e.op, format_of(e.type), e.alpha},
                            {e.in[0], e.in[1]},
                            e.out,
                            kernel::operand_count(e.op) == 2,
                            vectors,
                            {e.size, call.environment, call.status}});
}

}  // namespace

bool launch_values(const DeviceCall& call, const ElementwiseLaunch& e) {
  ValueRules rules;
  const bool narrow_float = e.type == DType::kFloat16 || e.type == DType::kBFloat16 || e.type == DType::kFloat32;
  if (!narrow_float || !kernel::rounds(e.op)) return false;
  if (!rules_of(e.op, e.type, call.environment.environment.semantics, call.status != nullptr, rules)) return false;
  if (e.type == DType::kFloat32)
    put<4>(call, e, rules);
  else
    put<2>(call, e, rules);
  return true;
}

}  // namespace softamp::cuda
