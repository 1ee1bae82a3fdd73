// numerics_sweep.h's walk for what computes in floating point: the functions, the bodies of kernel/ that elements are
// made by, and the primitives and fast roundings that the CUDA engine's kernels are made of. To be built as the library
// is, without contraction (N83, N84).
// tests: N84
#pragma once

#include "cuda/fast_round.h"
#include "numerics_sweep.h"
#include "softamp/kernel/casts.h"
#include "softamp/kernel/elementwise.h"
#include "softamp/kernel/functions.h"

namespace softamp::kernel_sweep {

using softamp::sweep::Digest;
using softamp::sweep::format;
using softamp::sweep::kChunks;
using softamp::sweep::kCodesPerChunk;
using softamp::sweep::kSemantics;
using softamp::sweep::operand;
using softamp::sweep::semantics;

/// The functions of the first line. Later ones have lines of their own, so that what is pinned stays.
inline constexpr int kFirstFunctions = 16;
enum Family {
  kFunctions,
  kElements,
  kCasts,
  kPrimitives,
  kRoundings,
  kLaterFunctions,
  kFunctions64 = kLaterFunctions + kernel::kFunctionCount - kFirstFunctions,  ///< of float64
  kFormulas64,                                                                ///< steps in binary64
  kFamilies
};

/// An fp32 number near the half of this code, with random low bits.
SOFTAMP_SWEEP uint32_t near_half(uint32_t code, uint32_t salt) {
  const uint64_t value = fp::convert(FloatFormat::fp16(), FloatFormat::fp32(), code & 0xFFFFu, Semantics::ieee()).code;
  return static_cast<uint32_t>(value) ^ ((code * 0x9E3779B9u + salt * 0x85EBCA6Bu) >> 19);
}
SOFTAMP_SWEEP uint64_t code_in(int number, uint32_t code, uint32_t salt) {
  return number == 2 ? near_half((code + salt * 0x9E37u) & 0xFFFFu, salt) : operand(format(number), code, salt);
}

SOFTAMP_SWEEP Rounded function(kernel::Function f, const FloatFormat& t, uint64_t code, const Semantics& s,
                               uint32_t random) {
  return kernel::evaluate(f, t, t, code, s, random);
}
SOFTAMP_SWEEP Rounded element(kernel::Elementwise op, const FloatFormat& t, uint64_t a, uint64_t b, const Semantics& s,
                              uint32_t random) {
  return kernel::elementwise(op, t, a, b, 0.2f, s, random);
}
SOFTAMP_SWEEP Rounded converted(const kernel::CastEnd& from, const kernel::CastEnd& to, uint64_t code,
                                const Semantics& s, uint32_t random) {
  return kernel::cast(from, to, code, s, random);
}

SOFTAMP_SWEEP uint64_t sweep_functions(uint32_t first, int least, int end) {
  Digest digest;
  const RandomBits source{first};
  for (uint32_t code = first; code < first + kCodesPerChunk; ++code)
    for (int f = least; f < end; ++f)
      for (int t = 0; t < 3; ++t) {
        const Semantics s = semantics(static_cast<int>(code + static_cast<uint32_t>(f)) % kSemantics);
        const uint32_t random = source.bits(1, 2, code * 64 + static_cast<uint32_t>(4 * f + t), 32);
        const uint64_t x = code_in(t, code, static_cast<uint32_t>(f) * 2);
        digest.add(function(static_cast<kernel::Function>(f), format(t), x, s, random));
      }
  return digest.hash;
}

SOFTAMP_SWEEP uint64_t sweep_elements(uint32_t first) {
  Digest digest;
  const RandomBits source{first};
  for (uint32_t code = first; code < first + kCodesPerChunk; ++code)
    for (int op = 0; op <= static_cast<int>(kernel::Elementwise::kIsFinite); ++op)
      for (int t = 0; t < 3; ++t) {
        const Semantics s = semantics(static_cast<int>(code + static_cast<uint32_t>(op)) % kSemantics);
        const uint32_t random = source.bits(1, 2, code * 256 + static_cast<uint32_t>(4 * op + t), 32);
        digest.add(element(static_cast<kernel::Elementwise>(op), format(t), code_in(t, code, 2), code_in(t, code, 5), s,
                           random));
      }
  return digest.hash;
}

/// A binary64 number of any exponent, or near a half.
SOFTAMP_SWEEP uint64_t code64(uint32_t code, uint32_t salt) {
  if ((code + salt) % 4 == 0) return operand(FloatFormat::binary64(), code, salt);
  const uint64_t value =
      fp::convert(FloatFormat::fp16(), FloatFormat::binary64(), code & 0xFFFFu, Semantics::ieee()).code;
  return value ^ ((uint64_t{code} * 0x9E3779B97F4A7C15u + salt * 0xD1B54A32D192ED03u) >> 14);
}
SOFTAMP_SWEEP Rounded function64(kernel::Function f, uint64_t code, const Semantics& s) {
  return kernel::evaluate64(f, code, s);
}

SOFTAMP_SWEEP uint64_t sweep_functions64(uint32_t first) {
  Digest digest;
  for (uint32_t code = first; code < first + kCodesPerChunk; ++code)
    for (int f = 0; f < kernel::kFunctionCount; ++f) {
      const auto function = static_cast<kernel::Function>(f);
      if (!kernel::has_binary64(function)) continue;
      const Semantics s = semantics(static_cast<int>(code + static_cast<uint32_t>(f)) % kSemantics);
      digest.add(function64(function, code64(code, static_cast<uint32_t>(f)), s));
    }
  return digest.hash;
}

SOFTAMP_SWEEP uint64_t sweep_formulas64(uint32_t first) {
  Digest digest;
  for (uint32_t code = first; code < first + kCodesPerChunk; ++code)
    for (int op = 0; op <= static_cast<int>(kernel::Elementwise::kSquaredDifference); ++op) {
      const Semantics s = semantics(static_cast<int>(code + static_cast<uint32_t>(op)) % kSemantics);
      digest.add(element(static_cast<kernel::Elementwise>(op), FloatFormat::binary64(), code64(code, 3),
                         code64(code * 7 + 1, 5), s, 0));
    }
  return digest.hash;
}

SOFTAMP_SWEEP uint64_t sweep_casts(uint32_t first) {
  Digest digest;
  const RandomBits source{first};
  const kernel::CastEnd ends[] = {
      {kernel::Number::kFloat, FloatFormat::fp16()}, {kernel::Number::kFloat, FloatFormat::bf16()},
      {kernel::Number::kFloat, FloatFormat::fp32()}, {kernel::Number::kFloat, FloatFormat::binary64()},
      {kernel::Number::kInt32, FloatFormat::fp32()}, {kernel::Number::kBool, FloatFormat::fp32()}};
  for (uint32_t code = first; code < first + kCodesPerChunk; ++code)
    for (uint32_t from = 0; from < 6; ++from)
      for (uint32_t to = 0; to < 6; ++to) {
        const Semantics s = semantics(static_cast<int>(code + from + to) % kSemantics);
        const uint64_t x = from == 5   ? code & 1
                           : from == 4 ? uint64_t{near_half(code, to)}
                           : from == 3 ? operand(FloatFormat::binary64(), code, to)
                                       : code_in(static_cast<int>(from), code, to);
        digest.add(converted(ends[from], ends[to], x, s, source.bits(1, 2, code * 64 + from * 8 + to, 32)));
      }
  return digest.hash;
}

/// A result whose NaNs have no particular bits.
SOFTAMP_SWEEP void add_float(Digest& digest, float x) { digest.add(x == x ? cuda::bits_of(x) : 0x7FC00000u); }

SOFTAMP_SWEEP uint64_t sweep_primitives(uint32_t first) {
  using namespace softamp::cuda;
  Digest digest;
  for (uint32_t code = first; code < first + kCodesPerChunk; ++code)
    for (uint32_t k = 0; k < 8; ++k) {
      const uint32_t any = static_cast<uint32_t>(operand(FloatFormat::fp32(), code, 3 * k));
      const float a = from_bits(k & 1 ? any : near_half(code, k)), b = from_bits(near_half(code ^ 0x1234u, k + 9));
      const float c = k & 2 ? -mul_rn(a, b) : from_bits(static_cast<uint32_t>(operand(FloatFormat::fp32(), code, k)));
      for (const float x : {add_rn(a, b), sub_rn(a, b), mul_rn(a, b), div_rn(a, b), sqrt_rn(a), fma_rn(a, b, c)})
        add_float(digest, x);
      for (const float x : {add_rz(a, b), sub_rz(a, b), mul_rz(a, b), div_rz(a, b), sqrt_rz(a), fma_rz(a, b, c)})
        add_float(digest, x);
      for (const float x :
           {fma_rd(a, b, c), fma_ru(a, b, c), fma_odd(a, b, c), float_of_half(code), float_of_bf16(code)})
        add_float(digest, x);
      digest.add(halves_of_rn(a, b) | uint64_t{halves_of_rz(a, b)} << 32);
      digest.add(half_of_rn(c) | uint64_t{half_of_rz(c)} << 32);
      const uint32_t p = any, q = static_cast<uint32_t>(operand(FloatFormat::fp32(), code, 3 * k + 1));
      digest.add(halves_add_rn(p, q) | uint64_t{halves_mul_rn(p, q)} << 32);
      digest.add(halves_fma_rn(p, q, code << 16 | code));
      if (a == a && b == b) digest.add(bf16s_of_rn(a, b) | uint64_t{bf16_of_rz(a)} << 32);
    }
  return digest.hash;
}

SOFTAMP_SWEEP uint32_t rounded(const cuda::FastRound& round, float x, uint32_t random, bool& rare) {
  return round(x, random, rare);
}
SOFTAMP_SWEEP cuda::FastRound fast_round(const FloatFormat& f, const Semantics& s) {
  return cuda::FastRound::of(f, s, false, true);
}

SOFTAMP_SWEEP uint64_t sweep_roundings(uint32_t first) {
  Digest digest;
  for (int t = 0; t < 2; ++t)
    for (int number = 0; number < kSemantics; ++number) {
      const cuda::FastRound round = fast_round(format(t), semantics(number));
      if (!round.usable) continue;
      for (uint32_t code = first; code < first + kCodesPerChunk; ++code) {
        const RandomBlock block = cuda::random_block(RandomBits{first}, 3, 4, code);
        const float x = cuda::from_bits(code & 1 ? near_half(code, 7) : block.word[0]);
        bool rare = false;
        const uint32_t result = rounded(round, x, block.word[1], rare);
        digest.add(rare ? ~uint64_t{0} : result);
      }
    }
  return digest.hash;
}

/// The digest of one chunk (0 .. kChunks - 1) of one family.
SOFTAMP_SWEEP uint64_t sweep(int family, uint32_t chunk) {
  const uint32_t first = chunk * kCodesPerChunk;
  switch (family) {
    case kFunctions: return sweep_functions(first, 0, kFirstFunctions);
    case kElements: return sweep_elements(first);
    case kCasts: return sweep_casts(first);
    case kPrimitives: return sweep_primitives(first);
    case kRoundings: return sweep_roundings(first);
    case kFunctions64: return sweep_functions64(first);
    case kFormulas64: return sweep_formulas64(first);
  }
  const int f = kFirstFunctions + family - kLaterFunctions;
  return sweep_functions(first, f, f + 1);
}

inline const char* family_name(int family) {
  constexpr const char* kNames[] = {"functions", "elements", "casts", "primitives", "roundings"};
  if (family < kLaterFunctions) return kNames[family];
  if (family >= kFunctions64) return family == kFunctions64 ? "functions64" : "formulas64";
  return kernel::name_of(static_cast<kernel::Function>(kFirstFunctions + family - kLaterFunctions));
}

/// One line per family: its name and digest on the host.
inline void print_digests() {
  for (int family = 0; family < kFamilies; ++family) {
    Digest digest;
    for (uint32_t chunk = 0; chunk < kChunks; ++chunk) digest.add(sweep(family, chunk));
    std::printf("%-12s %016" PRIx64 "\n", family_name(family), digest.hash);
  }
}

}  // namespace softamp::kernel_sweep
