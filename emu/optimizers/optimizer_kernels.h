// The inner loops of updates, by instruction set: the formulas of kernel/optimizers.h up to r, on fp32 operands, for
// groups of 64 elements. Groups with an infinite or NaN value are reported: the body computes them again.
#pragma once

#include <cstddef>
#include <cstdint>

#include "softamp/tensor/bulk.h"

#include "emu/bulk/instruction_set.h"

namespace softamp::emu {

/// The sums of kernel::update.
enum class Stage : uint8_t { kFused, kNesterov, kMean, kMeanSquare, kScaledStep, kAdam, kAdamStep };
constexpr size_t kStages = 7;

/// The form in which a stage writes its exact sum.
enum class Leaves : uint8_t {
  kFp32,       ///< the result: fp32 to nearest even, flushed as the call says
  kTruncated,  ///< 24 bits toward zero: carry with at most 13 random bits reads no further in a half (N402)
  kOdd32,      ///< 24 bits rounded to odd, what lies below 2^-100 at 2^-100: any deterministic rounding to a half
  kOdd64,      ///< binary64 rounded to odd: any rounding that reads at most 50 bits
};
constexpr size_t kLeaves = 4;

/// One call. Operands and constants, in the order of the functions of kernel::update:
///
///   kFused        in x, z                  constants factor of x
///   kNesterov     in var, grad, accum      constants rate, share
///   kMean(Square) in old, grad             constants share, 1 - share
///   kScaledStep   in mom, grad, ms         constants share, rate, epsilon
///   kAdam         in var, m, v             constants rate, epsilon, decay
///   kAdamStep     the same from +0 instead of var, which decays
struct StageCall {
  const float* in[3] = {};
  double constants[3] = {};
  void* out = nullptr;        ///< floats, or doubles of kOdd64; at the start of a cache line
  size_t count = 0;           ///< a multiple of kGroup, at most 64 groups
  bool flush = false;         ///< kFp32: subnormal results become zeros of their sign
  bool zero_is_rare = false;  ///< a zero sum may be -0 (rounding down)
};

/// Returns a bit for each group that the body must compute.
using StageKernel = uint64_t (*)(const StageCall&);

struct UpdateKernels {
  StageKernel stage[kStages][kLeaves];
  /// Copies, bypassing the caches; both pointers at the start of a cache line; bytes a multiple of 64.
  void (*stream)(const void* from, size_t bytes, void* to);
  /// How many of n codes have every bit of `exponent` set.
  uint64_t (*not_finite16)(const uint16_t* codes, size_t n, uint16_t exponent);
  uint64_t (*not_finite32)(const uint32_t* codes, size_t n);
};

SOFTAMP_TABLES(UpdateKernels, Updates, updates_of)

}  // namespace softamp::emu
