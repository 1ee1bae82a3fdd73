// Arithmetic on halves to nearest even by the instructions for halves; groups with rare results are computed in fp32.
#include "emu/bulk/arithmetic_half_avx512_body.h"
#include "emu/bulk/half_kernels.h"

namespace softamp::emu {
namespace {

template <Operation kOp>
SOFTAMP_LANES __m512i native(const HalfOperands& o, size_t first) {
  const auto at = [&](int k) { return _mm512_loadu_ph(o.in[k] + first); };
  if constexpr (kOp == Operation::kAdd) return _mm512_castph_si512(_mm512_add_ph(at(0), at(1)));
  if constexpr (kOp == Operation::kSub) return _mm512_castph_si512(_mm512_sub_ph(at(0), at(1)));
  if constexpr (kOp == Operation::kMul) return _mm512_castph_si512(_mm512_mul_ph(at(0), at(1)));
  if constexpr (kOp == Operation::kFma) return _mm512_castph_si512(_mm512_fmadd_ph(at(0), at(1), at(2)));
}

template <Operation kOp, bool kStream>
[[gnu::noinline]] uint8_t groups(const ArithmeticPlan& plan, const RandomPlan& random, const Slice& slice,
                                 uint8_t wanted) {
  const HalfRounding how = nearest_rounding(plan.round, wanted);
  HalfOperands o = operands_of(slice);
  char* out = static_cast<char*>(slice.out);
  uint8_t flags = 0;
  for (size_t i = 0; i < slice.count; i += kGroup, o.advance(operand_count(kOp)), out += 2 * kGroup) {
    prefetch_operands<kStream, kOp>(o);
    HalfGroup g = {native<kOp>(o, 0), native<kOp>(o, 32)};
    if (g.exceeds(how.rare_above)) [[unlikely]] {
      const auto lanes = [o](size_t v) { return nearest_lanes<kOp>(o, v); };
      g = rare_group({plan, random, slice, i, wanted}, how, lanes, flags);
    }
    put_group<kStream, false>(g, out);
  }
  return flags;
}

template <Operation kOp>
uint8_t nearest(const ArithmeticPlan& plan, const RandomPlan& random, const Slice& slice, uint8_t wanted) {
  return with_mxcsr(plan.round, wanted, plan.round.on_inexact | plan.round.on_underflow, [&] {
    return (slice.stream ? groups<kOp, true> : groups<kOp, false>)(plan, random, slice, wanted);
  });
}

}  // namespace

uint8_t arithmetic_nearest_avx512fp16(const ArithmeticPlan& plan, const RandomPlan& random, const Slice& slice,
                                      uint8_t wanted) {
  switch (plan.operation) {
    case Operation::kAdd: return nearest<Operation::kAdd>(plan, random, slice, wanted);
    case Operation::kSub: return nearest<Operation::kSub>(plan, random, slice, wanted);
    case Operation::kMul: return nearest<Operation::kMul>(plan, random, slice, wanted);
    case Operation::kDiv: return arithmetic_nearest_avx512(plan, random, slice, wanted);  // faster by fp32
    case Operation::kFma: break;
  }
  return nearest<Operation::kFma>(plan, random, slice, wanted);
}

}  // namespace softamp::emu
