// Arithmetic on halves under stochastic rounding (carry), AVX-512.
#include "emu/bulk/arithmetic_body.h"
#include "emu/bulk/arithmetic_half_avx512_body.h"
#include "emu/bulk/half_kernels.h"

namespace softamp::emu {
namespace {

/// The general rounding looks for underflow, in groups that have tiny results.
template <Operation kOp, bool kWide, class Lanes>
[[gnu::noinline]] uint8_t underflow_of(const ArithmeticPlan& plan, const HalfOperands& o, const void* numbers,
                                       Lanes lanes) {
  __mmask16 tiny = 0;
  for (size_t v = 0; v < 4; ++v) {
    const __m512i magnitude = _mm512_castps_si512(bits_and(lanes(v).result, 0x7FFFFFFFu));
    tiny |= _mm512_cmplt_epu32_mask(_mm512_sub_epi32(magnitude, _mm512_set1_epi32(1)), _mm512_set1_epi32(0x387FFFFF));
  }
  if (!tiny) return 0;
  const Unseen what_placeholders_do;
  const char* in[3];
  for (int k = 0; k < 3; ++k) in[k] = reinterpret_cast<const char*>(o.in[k]);
  alignas(64) double values[kGroup];
  alignas(64) uint32_t codes[kGroup];
  exact_values(plan, in, values);
  Rounder<Lanes64, kWide ? Random::k32 : Random::k16> exact(plan.round, kUnderflow);
  exact.group(values, numbers, codes);
  return static_cast<uint8_t>(exact.flags() & plan.round.on_underflow);
}

/// While inexact is sought, the operation is also done to nearest even, which sets MXCSR: both are inexact or neither
/// is.
template <Operation kOp, CarryWay kWay, bool kWide, bool kStream>
[[gnu::noinline]] uint8_t groups(const ArithmeticPlan& plan, const RandomPlan& random, const Slice& slice,
                                 uint8_t wanted) {
  const RoundPlan& p = plan.round;
  const HalfRounding how = carry_rounding();
  const Carry<kWide> carry(p.random_bits);
  RandomStrip<kWide> strip(random, slice, p.random_bits);
  HalfOperands o = operands_of(slice);
  char* out = static_cast<char*>(slice.out);
  // Tiny sums of halves are exact.
  const bool can_underflow = kOp != Operation::kAdd && kOp != Operation::kSub;
  const bool seek_inexact = (wanted & p.on_inexact) != 0;
  bool seek_underflow = can_underflow && (wanted & p.on_underflow) != 0;
  NormalGroups normal;
  uint8_t flags = 0;
  for (size_t begin = 0; begin < slice.count; begin += strip.kElements) {
    const size_t count = slice.count - begin < strip.kElements ? slice.count - begin : strip.kElements;
    strip.fill(begin, count);
    for (size_t j = 0; j < count; j += kGroup, o.advance(operand_count(kOp)), out += 2 * kGroup) {
      prefetch_operands<kStream, kOp>(o);
      const char* const numbers = static_cast<const char*>(strip.at(j));
      if constexpr (kWay != CarryWay::kExact)
        if (!seek_inexact && normal.expected()) {
          const HalfGroup g = carry.normal_group([o](size_t v) { return carried<kOp, kWay>(o, v); }, numbers);
          if (normal.settled(g.normal())) [[likely]] {
            put_group<kStream, false>(g, out);
            continue;
          }
        }
      const auto lanes = [o, carry, numbers](size_t v) {
        return carry_lanes<kOp, kWay>(carry, o, v, numbers + v * (kWide ? 64 : 32));
      };
      HalfGroup g = group_of(lanes);
      if (g.exceeds(how.rare_above)) [[unlikely]]
        g = rare_group({plan, random, slice, begin + j, wanted}, how, lanes, flags);
      if (seek_inexact)
        for (size_t v = 0; v < 4; ++v) asm volatile("" ::"v"(nearest_lanes<kOp>(o, v).half));
      if (seek_underflow && g.has_tiny()) {
        flags = static_cast<uint8_t>(flags | underflow_of<kOp, kWide>(plan, o, numbers, lanes));
        seek_underflow = (flags & p.on_underflow) == 0;
      }
      put_group<kStream, false>(g, out);
    }
  }
  return flags;
}

template <Operation kOp, CarryWay kWay, bool kWide>
uint8_t carry(const ArithmeticPlan& plan, const RandomPlan& random, const Slice& slice, uint8_t wanted) {
  return with_mxcsr(plan.round, wanted, plan.round.on_inexact, [&] {
    return (slice.stream ? groups<kOp, kWay, kWide, true> : groups<kOp, kWay, kWide, false>)(plan, random, slice,
                                                                                             wanted);
  });
}

template <Operation kOp>
uint8_t operation(const ArithmeticPlan& plan, const RandomPlan& random, const Slice& slice, uint8_t wanted) {
  constexpr int kTruncatedBits = 13;  // N402
  const int r = plan.round.random_bits;
  if constexpr (kOp == Operation::kMul)
    return (r > 16 ? carry<kOp, CarryWay::kTruncated, true> : carry<kOp, CarryWay::kTruncated, false>)(plan, random,
                                                                                                       slice, wanted);
  if constexpr (kOp == Operation::kDiv)
    if (plan.by_way_of_fp32)
      return (r > 16 ? carry<kOp, CarryWay::kByFp32, true> : carry<kOp, CarryWay::kByFp32, false>)(plan, random, slice,
                                                                                                   wanted);
  if constexpr (kOp != Operation::kMul) {
    if (r > 16) return carry<kOp, CarryWay::kExact, true>(plan, random, slice, wanted);
    if (r > kTruncatedBits) return carry<kOp, CarryWay::kExact, false>(plan, random, slice, wanted);
    return carry<kOp, CarryWay::kTruncated, false>(plan, random, slice, wanted);
  }
}

}  // namespace

uint8_t arithmetic_carry_avx512(const ArithmeticPlan& plan, const RandomPlan& random, const Slice& slice,
                                uint8_t wanted) {
  switch (plan.operation) {
    case Operation::kAdd: return operation<Operation::kAdd>(plan, random, slice, wanted);
    case Operation::kSub: return operation<Operation::kSub>(plan, random, slice, wanted);
    case Operation::kMul: return operation<Operation::kMul>(plan, random, slice, wanted);
    case Operation::kDiv: return operation<Operation::kDiv>(plan, random, slice, wanted);
    case Operation::kFma: break;
  }
  return operation<Operation::kFma>(plan, random, slice, wanted);
}

}  // namespace softamp::emu
