// ScaledMatMul whose accumulation is `hopper`, by vectors: groups of 32 products in a tensor core's lanes
// (tensor_core_kernels.h), promoted into fp32 sums. What is no number, or may be too large on the way, is left to the
// body.
#pragma once

#include <array>
#include <vector>

#include "emu/products/scaled/scaled_block_kernels.h"
#include "emu/products/tensor_core_kernels.h"
#include "softamp/kernel/scaled_products.h"

namespace softamp::emu {

class ScaledGroups {
 public:
  /// threads: as in EngineSettings.
  ScaledGroups(const kernel::ScaledRules& rules, const kernel::ScaledOperand& a, const kernel::ScaledOperand& b,
               bulk::InstructionSet isa, int threads);

  /// What a thread works with.
  struct Panel {
    std::vector<int32_t> significands, exponents;
    std::vector<float> scales;
  };
  /// Rows row .. of a with rows column .. of b, at most kTensorCoreColumns: sums [rows][kTensorCoreColumns], which hold
  /// what they begin with; without the factors of the end. NaN where the body has to do it.
  void sums(size_t row, size_t rows, size_t column, size_t columns, Panel& panel, float* sums) const;

 private:
  /// Products begin .. end - 1 make a partial sum; `place` is where their terms lie, in whole groups.
  struct Piece {
    size_t begin, end, place, length;
  };
  void lay_out(const Piece& piece, size_t column, size_t columns, Panel& panel) const;

  const kernel::ScaledRules& rules_;
  const kernel::ScaledOperand &a_, &b_;
  const TensorCoreKernels& groups_;
  const ScaledBlockKernels& kernels_;
  std::vector<Piece> pieces_;
  size_t padded_ = 0;                           ///< terms of a row
  std::vector<TensorCoreTerm> terms_;           ///< of a
  std::array<TensorCoreTerm, 256> of_b_;        ///< of each code
  std::vector<uint8_t> special_a_, special_b_;  ///< whether a row has an infinity or a NaN
};

/// Whether the fp32 steps are the processor's, and lanes take these elements.
bool groups_serve(const kernel::ScaledRules& rules, const Semantics& semantics, bulk::InstructionSet isa);

}  // namespace softamp::emu
