// Fused groups in 32-bit lanes (numerics/tensor_core.h: fused_sum). A product has at most 22 bits and lies below
// 2^(F + 2) quanta, so that eight of them and the accumulator fit a lane; of sixteen, two halves are added, and a carry
// out of the lane is left to the scalar form. The sum becomes fp32 by the conversion, then by two powers of two, all
// toward zero: only the last of these steps can drop bits that the first has kept (subnormal results).
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

[[gnu::noinline]] bool add_lanes(const TensorCoreLanes& c) {
  constexpr size_t kHalf = 8;
  constexpr uint32_t kFraction = 0x007FFFFF, kGreatest = 0x7F7FFFFF;
  const size_t group = static_cast<size_t>(c.group), first = group < kHalf ? group : kHalf;
  U32 rare = {};
  for (size_t lane = 0; lane < kTensorCoreColumns; lane += sizeof(U32) / 4) {
    U32 code = load<U32>(c.sums + lane);
    for (size_t at = 0; at < c.length; at += group) {
      const I32 field = (I32)(code >> 23 & 0xFFu), subnormal = field == 0;
      const I32 exponent = field - subnormal - 127;
      I32 greatest = exponent;
      for (size_t i = 0; i < group; ++i) {
        const I32 e = load<I32>(c.exponents + (at + i) * kTensorCoreColumns + lane) + int32_t{c.a[at + i].exponent};
        greatest = e > greatest ? e : greatest;
      }
      const U32 significand = (code & kFraction) | (~(U32)subnormal & (kFraction + 1));
      const I32 moved = (I32)shr(significand << (c.fraction_bits - 23), (U32)(greatest - exponent));
      const I32 negative = (I32)code < 0;
      const I32 low = ((moved ^ negative) - negative) + aligned_terms(c, at, 0, first, lane, greatest);
      const I32 high = aligned_terms(c, at, first, group, lane, greatest);
      const I32 sum = (I32)((U32)low + (U32)high);
      const I32 quantum = greatest - c.fraction_bits, half = quantum >> 1;
      const F32 value =
          __builtin_convertvector(sum, F32) * power_of_two_lanes(half) * power_of_two_lanes(quantum - half);
      const U32 magnitude = (U32)value & 0x7FFFFFFFu;
      rare |= (U32)((I32)magnitude >= (I32)splat<U32>(kGreatest)) | (U32)(((low ^ sum) & (high ^ sum)) < 0);
      code = (U32)value & (U32)(magnitude != 0);
    }
    store(c.sums + lane, code);
  }
  return !any(rare);
}

bool tensor_core_add(const TensorCoreLanes& c) {
  const TowardZero mode;
  return add_lanes(c);
}

}  // namespace
}  // namespace softamp::emu
