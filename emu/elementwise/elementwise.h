// Element-wise operations by the vector: which forms there are, and the kernels of each instruction set.
//
// A form computes whole groups of 64 elements. It reports the groups with a rare operand or result (NaN, infinity,
// overflow, zero divisor); the body in kernel/ computes those again, element by element, and raises their flags. So a
// form must be right only where no flag but inexact and underflow is raised.
#pragma once

#include <cstddef>
#include <cstdint>

#include "softamp/kernel/elementwise.h"

#include "emu/bulk/instruction_set.h"
#include "emu/bulk/plan.h"

namespace softamp::emu {

/// What a form reads and writes.
enum class LaneForm : uint8_t {
  kCode16,     ///< selections on 16-bit codes
  kCode32,     ///< selections on fp32 codes
  kFp32,       ///< fp32 operands, fp32 results rounded to nearest even
  kBf16,       ///< bf16 operands, bf16 results: through fp32, an innocent double rounding (24 >= 2 x 8 + 2, N405)
  kFp16To32,   ///< fp16 operands, the fp32 value of the operation
  kBf16To32,   ///< bf16 operands, the same
  kFp16To64,   ///< fp16 operands, binary64 results rounded to odd (N403's idea in 53 bits: any policy can follow)
  kBf16To64,   ///< bf16 operands, the same
  kFp32To64,   ///< fp32 operands, the same
  kFp64,       ///< binary64 to nearest even
  kInt32,      ///< wrapping
  kCompare16,  ///< 16-bit codes to truth values
  kCompare32,  ///< fp32 codes to truth values
  kCompareInt32,
};

/// Constants of a form, worked out from the preset.
struct LaneParameters {
  uint32_t infinity = 0x7F800000u;   ///< magnitude of the codes' infinity
  uint32_t sign = 0x80000000u;       ///< the codes' sign
  uint32_t rare_from = 0x7F800000u;  ///< selections: operand magnitudes from here on are for the body
  uint32_t flush_below = 0;          ///< fp32 operand magnitudes below become zeros (0: none)
  uint32_t flush_sign = ~0u;         ///< and keep these bits of the sign
  uint32_t result_flush_below = 0;   ///< fp32 result magnitudes below become zeros
  uint32_t result_flush_sign = ~0u;
  uint32_t six = 0x40C00000u;   ///< the code of 6
  float alpha = 0;              ///< of the leaky operations; a factor
  float shift = 0;              ///< an addend
  bool zero_is_rare = false;    ///< a zero sum may be -0 (rounding down)
  uint32_t nan = 0x7FC00000u;   ///< the code of a NaN result
  bool infinity_stays = false;  ///< an infinite fp32 result is the result, of whatever cause
};

/// Groups whose values are right and whose flags are not known: those of NaN results, by an invalid operation or a NaN
/// operand, and those of infinite results, by an overflow or a pole.
struct Suspects {
  uint64_t nan = 0, infinite = 0;

  /// Those that the body must compute while `wanted` is sought.
  uint64_t of_interest(uint8_t wanted) const {
    return (wanted & kInvalid ? nan | infinite : 0) | (wanted & (kOverflow | kDivideByZero) ? infinite : 0);
  }
};

/// One call: `count` elements, a multiple of kGroup, at most 64 groups.
struct LaneCall {
  const void* in[3];
  void* out;
  size_t count;
  bool stream;
  const LaneParameters* parameters;
  Suspects* suspects = nullptr;  ///< where null, groups with NaNs and infinities are for the body
};

/// Returns a bit for each group that the body must compute.
using LaneKernel = uint64_t (*)(const LaneCall&);

/// Conversions and others that are no operation of kernel::Elementwise.
enum class LaneMove : uint8_t {
  kSelect8,  ///< in[0] bytes 0 or 1: in[1] where 1, else in[2]; elements of 1, 2, 4, 8 bytes
  kSelect16,
  kSelect32,
  kSelect64,
  kFp16ToFp32,  ///< exact; nothing is rare
  kBf16ToFp32,
  kFp32ToFp32,  ///< operands flushed, nothing is rare
  kWidenFp16,   ///< to fp32 results: NaN and infinity rare, results flushed
  kWidenBf16,
  kAddFp16,  ///< fp32 out += fp16 in[0]
  kAddBf16,
  kAddFp32,
  kFinishFp32,   ///< fp32 values: NaN and infinity rare, results flushed
  kFp32ToBf16,   ///< the same, and rounded to nearest even
  kAffineFp32,   ///< fma(in[0], alpha, shift); nothing is rare
  kFp32ToInt32,  ///< truncated; NaN and out of range rare
  kInt32ToFp32,  ///< to nearest even
  kInt32ToFp64,
  kFp64ToInt32,
  kBoolToInt32,
  kInt32ToBool,  ///< x != 0
};

struct LaneTable {
  LaneKernel (*form)(LaneForm, kernel::Elementwise);  ///< null where there is no such form of the operation
  LaneKernel (*move)(LaneMove);
  /// 32-bit random words of elements first .. first + count - 1; both multiples of 64.
  void (*words)(const RandomPlan&, uint64_t first, size_t count, uint32_t* out);
};

SOFTAMP_TABLES(LaneTable, Lanes, lanes_of)

}  // namespace softamp::emu
