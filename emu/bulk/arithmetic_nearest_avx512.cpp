// Arithmetic on halves to nearest even, AVX-512 without arithmetic on halves.
#include "emu/bulk/arithmetic_half_avx512_body.h"
#include "emu/bulk/half_kernels.h"

namespace softamp::emu {
namespace {

template <Operation kOp, bool kStream>
[[gnu::noinline]] uint8_t groups(const ArithmeticPlan& plan, const RandomPlan& random, const Slice& slice,
                                 uint8_t wanted) {
  const RoundPlan& p = plan.round;
  const HalfRounding how = nearest_rounding(p, wanted);
  HalfOperands o = operands_of(slice);
  char* out = static_cast<char*>(slice.out);
  uint8_t flags = 0;
  for (size_t i = 0; i < slice.count; i += kGroup, o.advance(operand_count(kOp)), out += 2 * kGroup) {
    prefetch_operands<kStream, kOp>(o);
    const auto lanes = [o](size_t v) { return nearest_lanes<kOp>(o, v); };
    HalfGroup g = group_of(lanes);
    if (g.exceeds(how.rare_above)) [[unlikely]]
      g = rare_group({plan, random, slice, i, wanted}, how, lanes, flags);
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

uint8_t arithmetic_nearest_avx512(const ArithmeticPlan& plan, const RandomPlan& random, const Slice& slice,
                                  uint8_t wanted) {
  switch (plan.operation) {
    case Operation::kAdd: return nearest<Operation::kAdd>(plan, random, slice, wanted);
    case Operation::kSub: return nearest<Operation::kSub>(plan, random, slice, wanted);
    case Operation::kMul: return nearest<Operation::kMul>(plan, random, slice, wanted);
    case Operation::kDiv: return nearest<Operation::kDiv>(plan, random, slice, wanted);
    case Operation::kFma: break;
  }
  return nearest<Operation::kFma>(plan, random, slice, wanted);
}

}  // namespace softamp::emu
