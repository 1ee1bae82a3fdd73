// One call, cut into units of whole blocks that any thread computes in any order.
#pragma once

#include "emu/blocks/block_kernels.h"
#include "emu/blocks/block_reference.h"

namespace softamp::emu {

class BlockWork {
 public:
  BlockWork(const BlockCall& call, const BlockArrays& arrays);
  BlockWork(const BlockWork&) = delete;
  BlockWork& operator=(const BlockWork&) = delete;

  void run() const;

 private:
  struct Strip;

  bool quantizes() const { return a_.in != nullptr; }
  uint64_t units() const;
  void run_blocks() const;
  void run_units() const;
  void huge_block(uint64_t index) const;
  // Units: blocks side by side, of one row or of tiles; a block deep, columns side by side; and all columns, if few.
  void rows_unit(uint64_t unit, Strip& strip) const;
  void columns_unit(uint64_t unit, Strip& strip) const;
  void few_columns_unit(uint64_t unit, Strip& strip) const;

  /// Factors of n blocks from strip.amax, or from scales `index` on, which are written otherwise; whether one of them
  /// is special. x: the blocks' elements, where they choose between scales.
  bool scale(Strip& strip, uint64_t index, size_t n, const float* x = nullptr, size_t elements = 0) const;
  void special_blocks(const Strip& strip, uint64_t index, size_t n) const;
  /// Elements first .. first + n - 1 of the array. `run`: how many have a factor in common.
  void elements(Strip& strip, uint64_t first, size_t n, size_t run) const;
  void elements_by(Strip& strip, uint64_t first, size_t n, Factors factor, Factors decode) const;
  void rounded(Strip& strip, uint64_t first, size_t n, Factors factor, Factors decode) const;

  Passing passing(const void* out) const {
    return {stream_ && reinterpret_cast<uintptr_t>(out) % 64 == 0, call_.inner == 1 && call_.rows == 1};
  }

  const BlockCall& call_;
  BlockArrays a_;
  BlockPlan plan_;
  const BlockKernels& kernels_;
  RoundKernel round_ = nullptr;
  bool in_place_, stream_, divides_;
  // As the units see it: rows of whole blocks are one row.
  uint64_t length_, blocks_, bands_;
  uint64_t per_unit_ = 1;  ///< blocks of a unit, or columns
};

}  // namespace softamp::emu
