// fp32 to fp16 in AVX-512: nearest even by the hardware's conversion, stochastic (carry) by a truncating fma.
#include "emu/bulk/half_avx512_body.h"
#include "emu/bulk/half_kernels.h"
#include "emu/bulk/round_body.h"

namespace softamp::emu {
namespace {

/// A group with rare lanes.
template <class Lanes>
[[gnu::noinline]] HalfGroup rare_group(const RoundPlan& p, HalfRounding how, Lanes lanes, uint8_t& flags) {
  return rare_group_of(p, how, lanes, flags, [&](size_t, const HalfLanes& l, __mmask16 special) {
    const __mmask16 nan = _mm512_cmp_ps_mask(l.result, l.result, _CMP_UNORD_Q);
    const __mmask16 quiet =
        _mm512_mask_test_epi32_mask(nan, _mm512_castps_si512(l.result), _mm512_set1_epi32(0x00400000));
    const unsigned raised = (special & ~nan ? p.on_infinity : 0u) | (quiet ? p.on_quiet_nan : 0u) |
                            (nan & ~quiet ? p.on_signaling_nan : 0u);
    flags = static_cast<uint8_t>(flags | raised);
  });
}

template <bool kStream, bool kValues>
[[gnu::noinline]] uint8_t nearest_groups(const RoundPlan& p, const Slice& slice, uint8_t wanted) {
  const HalfRounding how = nearest_rounding(p, wanted);
  const float* in = static_cast<const float*>(slice.in[0]);
  char* out = static_cast<char*>(slice.out);
  uint8_t flags = 0;
  for (size_t left = slice.count; left != 0; left -= kGroup, in += kGroup, out += kGroup * (kValues ? 4 : 2)) {
    prefetch_operand<kStream>(in, 4 * kGroup);
    prefetch_result<kStream>(out, kGroup * (kValues ? 4 : 2));
    const auto lanes = [in](size_t v) -> HalfLanes {
      const __m512 x = _mm512_loadu_ps(in + 16 * v);
      return {x, x, _mm512_cvtps_ph(x, kNearestEven)};
    };
    HalfGroup g = group_of(lanes);
    if (g.exceeds(how.rare_above)) [[unlikely]]
      g = rare_group(p, how, lanes, flags);
    put_group<kStream, kValues>(g, out);
  }
  return flags;
}

/// Whether some of 64 values are 0 < |x| < 2^-14.
SOFTAMP_LANES bool has_tiny_values(const float* x) {
  __mmask16 tiny = 0;
  for (int v = 0; v < 4; ++v) {
    const __m512i magnitude = _mm512_castps_si512(bits_and(_mm512_loadu_ps(x + 16 * v), 0x7FFFFFFFu));
    tiny |= _mm512_cmplt_epu32_mask(_mm512_sub_epi32(magnitude, _mm512_set1_epi32(1)), _mm512_set1_epi32(0x387FFFFF));
  }
  return tiny != 0;
}

/// While inexact is sought, a conversion to nearest is done as well, which sets MXCSR: both are inexact or neither is.
/// The general rounding looks for underflow, in groups that have tiny values.
template <bool kWide, bool kStream, bool kValues>
[[gnu::noinline]] uint8_t carry_groups(const RoundPlan& p, const RandomPlan& random, const Slice& slice,
                                       uint8_t wanted) {
  const HalfRounding how = carry_rounding();
  const Carry<kWide> carry(p.random_bits);
  RandomStrip<kWide> strip(random, slice, p.random_bits);
  const float* in = static_cast<const float*>(slice.in[0]);
  char* out = static_cast<char*>(slice.out);
  const bool seek_inexact = (wanted & p.on_inexact) != 0;
  bool seek_underflow = (wanted & p.on_underflow) != 0;
  NormalGroups normal;
  uint8_t flags = 0;
  for (size_t begin = 0; begin < slice.count; begin += strip.kElements) {
    const size_t count = slice.count - begin < strip.kElements ? slice.count - begin : strip.kElements;
    strip.fill(begin, count);
    for (size_t j = 0; j < count; j += kGroup, in += kGroup, out += kGroup * (kValues ? 4 : 2)) {
      prefetch_operand<kStream>(in, 4 * kGroup);
      if (!seek_inexact && normal.expected()) {
        const HalfGroup g = carry.normal_group([in](size_t v) { return _mm512_loadu_ps(in + 16 * v); }, strip.at(j));
        if (normal.settled(g.normal())) [[likely]] {
          put_group<kStream, kValues>(g, out);
          continue;
        }
      }
      const char* const numbers = static_cast<const char*>(strip.at(j));
      const auto lanes = [carry, in, numbers](size_t v) {
        return carry.round(_mm512_loadu_ps(in + 16 * v), numbers + v * (kWide ? 64 : 32));
      };
      HalfGroup g = group_of(lanes);
      if (g.exceeds(how.rare_above)) [[unlikely]]
        g = rare_group(p, how, lanes, flags);
      if (seek_inexact)
        for (size_t v = 0; v < 4; ++v)
          asm volatile("" ::"v"(_mm512_cvtps_ph(_mm512_loadu_ps(in + 16 * v), kNearestEven)));
      if (seek_underflow && g.has_tiny() && has_tiny_values(in)) {
        alignas(64) uint32_t codes[kGroup];
        Rounder<Lanes32, kWide ? Random::k32 : Random::k16> exact(p, kUnderflow);
        exact.group(in, strip.at(j), codes);
        flags = static_cast<uint8_t>(flags | (exact.flags() & p.on_underflow));
        seek_underflow = (flags & p.on_underflow) == 0;
      }
      put_group<kStream, kValues>(g, out);
    }
  }
  return flags;
}

template <bool kValues>
uint8_t nearest(const RoundPlan& p, const Slice& slice, uint8_t wanted) {
  return with_mxcsr(p, wanted, p.on_inexact | p.on_underflow, [&] {
    return slice.stream ? nearest_groups<true, kValues>(p, slice, wanted)
                        : nearest_groups<false, kValues>(p, slice, wanted);
  });
}

template <bool kWide, bool kValues>
uint8_t carry(const RoundPlan& p, const RandomPlan& random, const Slice& slice, uint8_t wanted) {
  return with_mxcsr(p, wanted, p.on_inexact, [&] {
    return slice.stream ? carry_groups<kWide, true, kValues>(p, random, slice, wanted)
                        : carry_groups<kWide, false, kValues>(p, random, slice, wanted);
  });
}

}  // namespace

uint8_t round_half_nearest_avx512(const RoundPlan& p, const RandomPlan&, Element, Element to, const Slice& slice,
                                  uint8_t wanted) {
  return to == Element::kF32 ? nearest<true>(p, slice, wanted) : nearest<false>(p, slice, wanted);
}

uint8_t round_half_carry_avx512(const RoundPlan& p, const RandomPlan& random, Element, Element to, const Slice& slice,
                                uint8_t wanted) {
  const bool values = to == Element::kF32;
  if (p.random_bits > 16) return (values ? carry<true, true> : carry<true, false>)(p, random, slice, wanted);
  return (values ? carry<false, true> : carry<false, false>)(p, random, slice, wanted);
}

}  // namespace softamp::emu
