// The kernels of each instruction set, by name. Every entry gives the scalar reference's bits.
#pragma once

#include "emu/bulk/plan.h"

namespace softamp::emu {

/// Each returns the flags that its slice raised, among those of `wanted`; others are undefined.
using RoundKernel = uint8_t (*)(const RoundPlan&, const RandomPlan&, Element from, Element to, const Slice&,
                                uint8_t wanted);
using WidenKernel = uint8_t (*)(const WidenPlan&, Element from, Element to, const Slice&, uint8_t wanted);
using ArithmeticKernel = uint8_t (*)(const ArithmeticPlan&, const RandomPlan&, const Slice&, uint8_t wanted);

/// The general kernels support every plan, `nearest` and `aligned` most roundings of fp32. The others, null if a set
/// has none, do what their names say: fp32 to fp16, and arithmetic on halves, under the plans that choose.cpp lets
/// through.
struct KernelTable {
  RoundKernel round;
  WidenKernel widen;
  ArithmeticKernel arithmetic;
  RoundKernel nearest;  ///< fp32, to nearest even, where nearest_serves accepts
  RoundKernel aligned;  ///< fp32, stochastic roundings that aligned_serves accepts
  RoundKernel half_nearest;
  RoundKernel half_carry;
  ArithmeticKernel arithmetic_nearest;
  ArithmeticKernel arithmetic_carry;
  int carry_bits;  ///< the most random bits that the carry kernels serve: R must fit a float's mantissa
};

extern const KernelTable kPortableKernels;
#if defined(SOFTAMP_HAS_AVX2)
extern const KernelTable kAvx2Kernels;
#endif
#if defined(SOFTAMP_HAS_AVX512)
extern const KernelTable kAvx512Kernels;
#endif
#if defined(SOFTAMP_HAS_AVX512FP16)
extern const KernelTable kAvx512Fp16Kernels;
#endif
#if defined(SOFTAMP_HAS_NEON)
extern const KernelTable kNeonKernels;
#endif

/// The kernel for a call: a fast one if it supports the plan, else the general one.
RoundKernel choose(const KernelTable& table, const RoundPlan& plan, Element from, Element to);
ArithmeticKernel choose(const KernelTable& table, const ArithmeticPlan& plan);
/// Whether round_nearest_body.h supports the plan.
bool nearest_serves(const RoundPlan& plan);
/// Whether round_aligned_body.h supports the plan. kAlignedGuard: bits that it has below fp32's last.
bool aligned_serves(const RoundPlan& plan);
constexpr int kAlignedGuard = 7;

/// The scalar reference for one element of an arithmetic slice: kernels call it for lanes with NaN, infinity or a zero
/// divisor.
Rounded reference_lane(const ArithmeticPlan& plan, const RandomPlan& random, const Slice& slice, size_t i);

}  // namespace softamp::emu
