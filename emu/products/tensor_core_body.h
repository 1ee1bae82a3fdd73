// Fused groups in 32-bit lanes (numerics/products/tensor_core.h: fused_sum). A product has at most 22 bits and lies
// below 2^(F + 2) quanta, so that eight of them and the accumulator fit a lane; of more, pieces of eight are added, and
// a carry out of the lane is left to the scalar form. The sum becomes fp32 by the conversion, then by two powers of
// two, all toward zero: only the last of these steps can drop bits that the first has kept (subnormal results). It
// becomes fp16 in integers.
#pragma once

#include "emu/bulk/mxcsr_body.h"
#include "emu/products/tensor_core_kernels.h"

namespace softamp::emu {
namespace {

/// 2^q, -126 <= q <= 127.
SOFTAMP_LANES F32 power_of_two_lanes(I32 q) { return (F32)((U32)(q + 127) << 23); }

/// Adds the terms [begin, end) of a group, aligned to 2^(greatest - F).
SOFTAMP_LANES I32 aligned_terms(const TensorCoreLanes& c, size_t at, size_t begin, size_t end, size_t lane,
                                I32 greatest) {
  I32 sum = {};
  for (size_t i = begin; i < end; ++i) {
    const TensorCoreTerm a = c.a[at + i];
    const size_t place = (at + i) * kTensorCoreColumns + lane;
    const I32 p = load<I32>(c.significands + place) * (int32_t{a.significand} * (1 << c.up));
    const I32 lack = greatest - (load<I32>(c.exponents + place) + int32_t{a.exponent});
    const I32 negative = p < 0;
    sum += ((I32)shr((U32)((p ^ negative) - negative), (U32)lack) ^ negative) - negative;
  }
  return sum;
}

/// sum 2^quantum as fp32, toward zero.
SOFTAMP_LANES F32 scaled_lanes(I32 sum, I32 quantum) {
  const I32 half = quantum >> 1;
  return __builtin_convertvector(sum, F32) * power_of_two_lanes(half) * power_of_two_lanes(quantum - half);
}

/// The fp32 code of sum 2^quantum rounded to fp16, to nearest even; the code of 65536 or more if it is too large. The
/// magnitude is below 2^31.
SOFTAMP_LANES U32 half_lanes(I32 sum, I32 quantum) {
  const I32 negative = sum < 0;
  const U32 magnitude = (U32)((sum ^ negative) - negative);
  // The place of the leading bit: conversion is toward zero.
  const I32 top = (I32)((U32) __builtin_convertvector((I32)magnitude, F32) >> 23) - 127;
  const I32 normal = top + quantum - 10, least = splat<I32>(-24);
  const I32 target = normal > least ? normal : least;
  const U32 drop = (U32)(target - quantum);
  const U32 rounded = shr(magnitude + shl(splat<U32>(1), drop - 1) - 1 + (shr(magnitude, drop) & 1), drop);
  const I32 drops = (I32)drop > 0;
  const U32 kept = drops ? rounded : magnitude;  // at most 2^11
  return (U32)scaled_lanes((I32)kept, drops ? target : quantum) | ((U32)sum & 0x80000000u);
}

template <TensorCoreResult kResult>
[[gnu::noinline]] bool add_lanes(const TensorCoreLanes& c) {
  constexpr size_t kPiece = 8;
  constexpr bool kHalf = kResult == TensorCoreResult::kHalf;
  constexpr uint32_t kFraction = 0x007FFFFF, kTooLarge = kHalf ? 0x47800000 : 0x7F7FFFFF;
  constexpr uint32_t kKept = kResult == TensorCoreResult::kE8m13 ? ~0x3FFu : ~0u;
  const size_t group = static_cast<size_t>(c.group), first = group < kPiece ? group : kPiece;
  U32 rare = {};
  for (size_t lane = 0; lane < kTensorCoreColumns; lane += sizeof(U32) / 4) {
    U32 code = load<U32>(c.sums + lane);
    for (size_t at = 0; at < c.length; at += group) {
      const I32 field = (I32)(code >> 23 & 0xFFu), subnormal = field == 0;
      const I32 exponent = field - subnormal - 127;
      I32 greatest = exponent;
      if constexpr (kHalf) {  // not below fp16's least exponent
        const I32 least = splat<I32>(-14);
        greatest = exponent < least ? least : exponent;
      }
      greatest = (I32)(code << 1) == 0 ? splat<I32>(c.floor) : greatest;
      for (size_t i = 0; i < group; ++i) {
        const I32 e = load<I32>(c.exponents + (at + i) * kTensorCoreColumns + lane) + int32_t{c.a[at + i].exponent};
        greatest = e > greatest ? e : greatest;
      }
      const U32 significand = (code & kFraction) | (~(U32)subnormal & (kFraction + 1));
      const I32 moved = (I32)shr(significand << 7, (U32)(greatest - exponent + (30 - c.fraction_bits)));
      const I32 negative = (I32)code < 0;
      I32 sum = ((moved ^ negative) - negative) + aligned_terms(c, at, 0, first, lane, greatest);
      for (size_t begin = first; begin < group; begin += kPiece) {
        const I32 piece = aligned_terms(c, at, begin, begin + kPiece, lane, greatest);
        const I32 both = (I32)((U32)sum + (U32)piece);
        rare |= (U32)(((sum ^ both) & (piece ^ both)) < 0);
        sum = both;
      }
      const I32 quantum = greatest - c.fraction_bits;
      if constexpr (kHalf)
        code = half_lanes(sum, quantum);
      else
        code = (U32)scaled_lanes(sum, quantum) & kKept;
      const U32 magnitude = code & 0x7FFFFFFFu;
      rare |= (U32)((I32)magnitude >= (I32)splat<U32>(kTooLarge));
      code &= (U32)(magnitude != 0);
    }
    store(c.sums + lane, code);
  }
  return !any(rare);
}

bool tensor_core_add(const TensorCoreLanes& c) {
  const TowardZero mode;
  switch (c.result) {
    case TensorCoreResult::kSingle: return add_lanes<TensorCoreResult::kSingle>(c);
    case TensorCoreResult::kHalf: return add_lanes<TensorCoreResult::kHalf>(c);
    case TensorCoreResult::kE8m13: break;
  }
  return add_lanes<TensorCoreResult::kE8m13>(c);
}

}  // namespace
}  // namespace softamp::emu
