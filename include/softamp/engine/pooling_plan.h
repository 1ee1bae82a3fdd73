// What follows from a pooling's dtype and preset, for fast code. No functions here: files compiled for one instruction
// set include it.
#pragma once

#include <cstdint>

namespace softamp::engine {

/// Codes are 16 bits wide, or (kFp32) 32.
struct PoolingPlan {
  enum class Type : uint8_t { kFp16, kBf16, kFp32 } type;
  /// Operands with magnitudes in (0, flush_below) become zeros with these bits of their sign; 0: none.
  uint32_t operand_flush_below, operand_flush_kept;
  /// The same of results of the maximum.
  uint32_t result_flush_below, result_flush_kept;
};

}  // namespace softamp::engine
