// Slow transcriptions of what vendors and others publish of stochastic rounding on their chips, on bit patterns. They
// share no code with the rounding policy, nor with each other: each computes in the terms of its own document.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

namespace oracle::chips {

/// A target as these documents speak of it. emax: exponent of the largest number. max_code, nan and infinity: codes
/// without a sign; infinity 0 where there is none. fnuz: no -0, the only NaN is the sign bit alone.
struct Target {
  int mantissa, emin, emax;
  uint32_t sign, max_code, infinity, nan;
  bool fnuz;
};
inline constexpr Target kF16{10, -14, 15, 0x8000, 0x7BFF, 0x7C00, 0x7E00, false};
inline constexpr Target kBf16{7, -126, 127, 0x8000, 0x7F7F, 0x7F80, 0x7FC0, false};
inline constexpr Target kTf32{10, -126, 127, 0x40000, 0x3FBFF, 0x3FC00, 0x3FE00, false};
inline constexpr Target kE4m3{3, -6, 8, 0x80, 0x7E, 0, 0x7F, false};
inline constexpr Target kE5m2{2, -14, 15, 0x80, 0x7B, 0x7C, 0x7E, false};
inline constexpr Target kF143{3, -7, 7, 0x80, 0x7F, 0, 0x80, true};
inline constexpr Target kF152{2, -15, 15, 0x80, 0x7F, 0, 0x80, true};

inline float float_of(uint32_t bits) {
  float f;
  std::memcpy(&f, &bits, sizeof f);
  return f;
}
inline bool is_nan(uint32_t x) { return (x & 0x7FFFFFFF) > 0x7F800000; }
inline bool is_infinite(uint32_t x) { return (x & 0x7FFFFFFF) == 0x7F800000; }

/// A magnitude with its sign; the FNUZ formats have no -0.
inline uint32_t with_sign(const Target& t, bool negative, uint32_t code) {
  return negative && !(t.fnuz && code == 0) ? code | t.sign : code;
}

/// PTX ISA: the random bits are added to the bits that a truncation cuts off; the carry out of that sum rounds away
/// from zero. Fixed-point: the value as a number of 2^-149, cut above its q-th bit.
inline uint32_t nvidia(const Target& t, uint32_t x, uint32_t r, uint32_t bits, bool satfinite) {
  const uint32_t all_ones = t.sign - 1;
  if (is_nan(x)) return all_ones;
  const bool negative = x >> 31;
  const uint32_t beyond = satfinite ? t.max_code : t.infinity ? t.infinity : all_ones;
  if (is_infinite(x)) return with_sign(t, negative, beyond);
  const int field = static_cast<int>(x >> 23 & 0xFF);
  uint64_t mantissa = (x & 0x7FFFFF) | (field ? 0x800000u : 0u);
  int exponent = (field ? field : 1) - 127;  // of the bit of weight 2^23 in `mantissa`
  if (mantissa == 0) return with_sign(t, negative, 0);
  while (mantissa < 0x800000) mantissa <<= 1, --exponent;
  const int kept_exponent = exponent < t.emin ? t.emin : exponent;
  const int cut = 23 - t.mantissa + (kept_exponent - exponent);
  uint64_t kept = 0, top = 0;  // what stays; the first `bits` bits of what is cut off
  if (cut < 60) {
    kept = mantissa >> cut;
    const uint64_t off = mantissa & ((uint64_t{1} << cut) - 1);
    top = static_cast<int>(bits) <= cut ? off >> (cut - static_cast<int>(bits)) : off << (static_cast<int>(bits) - cut);
  }
  kept += (top + r) >> bits;
  if (kept == uint64_t{2} << t.mantissa)
    return kept_exponent + 1 > t.emax
               ? with_sign(t, negative, beyond)
               : with_sign(t, negative, static_cast<uint32_t>(kept_exponent + 2 - t.emin) << t.mantissa);
  if (kept >> t.mantissa == 0) return with_sign(t, negative, static_cast<uint32_t>(kept));
  if (kept_exponent > t.emax) return with_sign(t, negative, beyond);
  const uint32_t code = (static_cast<uint32_t>(kept_exponent + 1 - t.emin) << t.mantissa) |
                        (static_cast<uint32_t>(kept) & ((1u << t.mantissa) - 1));
  return with_sign(t, negative, code > t.max_code ? beyond : code);
}

/// bf16 in the two operations of a published software emulation that was compared with the chip: add the 16 bits to the
/// pattern of a number within bf16's range, truncate; saturating.
inline uint32_t nvidia_bf16_satfinite(uint32_t x, uint32_t r16) {
  if (is_nan(x)) return 0x7FFF;
  const uint32_t magnitude = x & 0x7FFFFFFF;
  const uint32_t sum = magnitude <= 0x7F7F0000 ? magnitude + r16 : magnitude;
  const uint32_t code = sum >> 16 > 0x7F7F ? 0x7F7F : sum >> 16;
  return code | (x >> 31) << 15;
}

/// AMD: the mantissa field of 23 bits, implicit one left out where the result is normal; a subnormal result's, implicit
/// one put in, is shifted right first. The seed's top 23 - m bits are added at the bottom; an overflow of the field
/// counts up the exponent. A NaN of OCP's formats of 8 bits has the operand's sign. infinite: code of an infinite
/// operand.
inline uint32_t amd(const Target& t, uint32_t x, uint32_t seed, bool clamp, uint32_t infinite) {
  const bool negative = x >> 31;
  const uint32_t nan = t.sign == 0x80 && !t.fnuz ? with_sign(t, negative, t.nan) : t.nan;
  if (is_nan(x)) return nan;
  if (is_infinite(x)) return infinite == t.nan ? nan : with_sign(t, negative, infinite);
  if ((x & 0x7FFFFFFF) == 0) return with_sign(t, negative, 0);
  const uint32_t beyond = clamp ? t.max_code : t.infinity ? t.infinity : t.nan;
  const auto too_large = [&] { return beyond == t.nan ? nan : with_sign(t, negative, beyond); };
  const int field = static_cast<int>(x >> 23 & 0xFF);
  int exponent = (field ? field : 1) - 127;
  uint32_t mantissa = x & 0x7FFFFF;
  if (exponent > t.emax) return too_large();
  int biased;
  if (field == 0 || exponent < t.emin) {
    if (field) mantissa |= 0x800000;
    const int down = t.emin - exponent;
    mantissa = down > 31 ? 0 : mantissa >> down;
    biased = 0;
    // bf16 shares the exponents of fp32: its subnormals are fp32's own, not shifted at all.
  } else {
    biased = exponent - t.emin + 1;
  }
  mantissa += seed >> (9 + t.mantissa);
  if (mantissa >= 0x800000) ++biased;
  const uint32_t code =
      static_cast<uint32_t>(biased) << t.mantissa | (mantissa >> (23 - t.mantissa) & ((1u << t.mantissa) - 1));
  return code > t.max_code ? too_large() : with_sign(t, negative, code);
}

/// Intel's srnd, fp32 to fp16: R is added to the source's mantissa, bit 0 on bit 0; the sum is normalised, then
/// truncated to the target, whose subnormals have fewer bits. Denormals kept; NaN and infinity as IEEE 754.
inline uint32_t intel_to_f16(uint32_t x, uint32_t r13) {
  if (is_nan(x)) return 0x7E00;
  const uint32_t sign = x >> 31 << 15;
  if (is_infinite(x)) return sign | 0x7C00;
  const uint32_t field = x >> 23 & 0xFF;
  if ((x & 0x7FFFFFFF) == 0) return sign;
  // The source's mantissa as it stands, the implicit one in front.
  uint32_t mantissa = (x & 0x7FFFFF) | (field ? 0x800000 : 0);
  int exponent = (field ? static_cast<int>(field) : 1) - 127;
  mantissa += r13 & 0x1FFF;
  if (mantissa >= 0x1000000) mantissa >>= 1, ++exponent;  // normalised: the bit lost is below all that stays
  if (exponent > 15) return sign | 0x7C00;
  if (exponent >= -14 && mantissa >= 0x800000)
    return sign | static_cast<uint32_t>(exponent + 15) << 10 | (mantissa >> 13 & 0x3FF);
  const int down = 13 + (-14 - exponent);
  return sign | (down > 31 ? 0 : mantissa >> down);
}

/// Intel's srnd, fp16 to bf8 (e5m2): the same exponents, 8 bits fewer.
inline uint32_t intel_to_bf8(uint32_t half, uint32_t r8) {
  const uint32_t sign = half >> 15 << 7, magnitude = half & 0x7FFF;
  if (magnitude > 0x7C00) return 0x7E;
  if (magnitude == 0x7C00) return sign | 0x7C;
  return sign | (magnitude + (r8 & 0xFF)) >> 8;  // carries run from mantissa into exponent, up to infinity
}

/// Tenstorrent's SFPSTOCHRND. Returns the float, whose low 13 (or 16) bits are zero.
inline uint32_t tenstorrent(uint32_t x, uint32_t prng, bool to_7_bits) {
  prng &= 0x7FFFFF;
  const uint32_t exponent = x >> 23 & 0xFF;
  if (exponent == 0) return 0;
  if (exponent == 255) return x & 0xFF800000;
  const uint32_t mask = to_7_bits ? 0xFFFF : 0x1FFF;
  const uint32_t discarded = x & mask;
  const bool up = discarded << (to_7_bits ? 7 : 10) >= prng;
  return x - discarded + (up ? mask + 1 : 0);
}

/// gfloat's four, in binary64, which holds what is asked for exactly: |x| in quanta, its fraction in 2^-r.
enum class P3109 { kFastest, kFast, kRne, kOdd };
inline double nearest_integer(double v, bool ties_to_odd) {
  const double below = std::floor(v), rest = v - below;
  const bool odd = std::fmod(below, 2) != 0;
  return below + (rest > 0.5 || (rest == 0.5 && odd != ties_to_odd));
}
inline uint32_t p3109(const Target& t, uint32_t x, P3109 mode, uint32_t random, int bits, bool saturate) {
  if (is_nan(x)) return t.nan;
  const bool negative = x >> 31;
  const auto signed_or_nan = [&](uint32_t code) { return code == t.nan ? code : with_sign(t, negative, code); };
  const uint32_t beyond = saturate ? t.max_code : t.infinity ? t.infinity : t.nan;
  if (is_infinite(x)) return signed_or_nan(beyond);
  const double v = std::fabs(double{float_of(x)});
  if (v == 0) return with_sign(t, negative, 0);
  int exponent;
  std::frexp(v, &exponent);
  --exponent;
  if (exponent < t.emin) exponent = t.emin;
  const double quantum = std::ldexp(1.0, exponent - t.mantissa);
  const double quanta = v / quantum, below = std::floor(quanta), delta = quanta - below;
  const double numbers = std::ldexp(1.0, bits);
  bool away = false;
  switch (mode) {
    case P3109::kFastest: away = std::floor(delta * numbers) + random >= numbers; break;
    case P3109::kFast: away = std::floor(delta * 2 * numbers) + (2.0 * random + 1) >= 2 * numbers; break;
    case P3109::kRne: away = nearest_integer(delta * numbers, false) + random >= numbers; break;
    case P3109::kOdd: away = nearest_integer(delta * numbers, true) + random >= numbers; break;
  }
  const double result = (below + away) * quantum;
  const double implicit = std::ldexp(1.0, t.emin);
  if (result < implicit)
    return with_sign(t, negative, static_cast<uint32_t>(result / std::ldexp(1.0, t.emin - t.mantissa)));
  int e;
  std::frexp(result, &e);
  --e;
  const auto fraction = static_cast<uint32_t>(std::ldexp(result, t.mantissa - e)) & ((1u << t.mantissa) - 1);
  if (e > t.emax) return signed_or_nan(beyond);
  const uint32_t code = static_cast<uint32_t>(e - t.emin + 1) << t.mantissa | fraction;
  return code > t.max_code ? signed_or_nan(beyond) : with_sign(t, negative, code);
}

/// The IPU (N12, N20): |x| = (m + delta) u; up where floor(delta 2^16) + R >= 2^16. Too large, by the rounded value:
/// the largest number, or NaN under nanoo. Infinite operands become NaN; fp32 subnormals count as zeros of their sign.
inline uint32_t ipu(const Target& t, uint32_t x, uint32_t random, bool nanoo) {
  if (is_nan(x) || is_infinite(x)) return t.nan;
  const bool negative = x >> 31;
  if ((x & 0x7F800000) == 0) return with_sign(t, negative, 0);
  const double v = std::fabs(double{float_of(x)});
  double u = std::ldexp(1.0, static_cast<int>(std::floor(std::log2(v))) - t.mantissa);
  while (v / u >= std::ldexp(2.0, t.mantissa)) u *= 2;  // log2 may be off by one next to a power of two
  while (v / u < std::ldexp(1.0, t.mantissa)) u /= 2;
  u = std::fmax(u, std::ldexp(1.0, t.emin - t.mantissa));
  const double m = std::floor(v / u), delta = v / u - m;
  const double y = (m + (std::floor(delta * 65536) + random >= 65536 ? 1 : 0)) * u;
  const double greatest = std::ldexp(2 - std::ldexp(1.0, -t.mantissa), t.emax);
  if (y > greatest) return nanoo ? t.nan : with_sign(t, negative, t.max_code);
  if (y < std::ldexp(1.0, t.emin))
    return with_sign(t, negative, static_cast<uint32_t>(std::ldexp(y, t.mantissa - t.emin)));
  int e;
  const double f = std::frexp(y, &e);  // y = f 2^e, f in [1/2, 1)
  return with_sign(t, negative,
                   static_cast<uint32_t>(e - t.emin) << t.mantissa |
                       (static_cast<uint32_t>(std::ldexp(f, t.mantissa + 1)) & ((1u << t.mantissa) - 1)));
}

}  // namespace oracle::chips
