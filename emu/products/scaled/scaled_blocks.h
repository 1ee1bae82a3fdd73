// ScaledMatMul whose accumulation is `block`, by vectors: tiles whose blocks sum exactly in fp32 or binary64; all
// others are left to the body.
#pragma once

#include <vector>

#include "emu/products/scaled/scaled_block_kernels.h"
#include "softamp/kernel/scaled_products.h"

namespace softamp::emu {

/// One operand's values without scales, [rows, k], and how many bits its blocks take.
class ScaledValues {
 public:
  /// `values`: room for all of them. threads: as in EngineSettings.
  ScaledValues(const kernel::ScaledOperand& operand, float* values, int threads);

  const kernel::ScaledOperand& operand() const { return operand_; }
  const float* row(size_t row) const { return values_ + row * operand_.layout.k; }
  /// Of the row's blocks, the most that greatest / least multiple takes in bits; kNever: a row with what is no number.
  int bits(size_t row) const { return bits_[row]; }
  static constexpr int kNever = 1000;

 private:
  int bits_of(size_t row) const;

  kernel::ScaledOperand operand_;
  const float* values_;
  std::vector<int> bits_;
};

class ScaledBlocks {
 public:
  ScaledBlocks(const ScaledValues& a, const ScaledValues& b, bulk::InstructionSet isa);

  /// Rows column .. of b (at most kScaledColumns), as a tile reads them.
  struct Panel {
    size_t column = 0, columns = 0;
    int bits = 0;
    std::vector<float> values, scales;
  };
  void prepare(size_t column, size_t columns, Panel& panel) const;

  /// Rows row .. of a (at most kScaledRows) with a panel of b: their sums, with the factors of the end, [kScaledRows]
  /// [kScaledColumns], where they find what they begin with. False where the body has to do it. The caller looks for
  /// sums that are not normal numbers.
  bool sums(size_t row, size_t rows, const Panel& panel, float* to) const;

 private:
  const ScaledValues &a_, &b_;
  const ScaledBlockKernels& kernels_;
  std::vector<ScaledPiece> pieces_;
  int length_bits_ = 0;  ///< of the longest piece
};

/// Multiplies sums [rows][stride] of rows row .. of a with rows column .. of b by the factors of the end (N488).
void take_last_factors(const kernel::ScaledOperand& a, size_t row, size_t rows, const kernel::ScaledOperand& b,
                       size_t column, size_t columns, float* sums, size_t stride);

/// Whether the fp32 steps inside are the processor's.
bool fp32_steps_serve(const kernel::ScaledRules& rules, const Semantics& semantics);
/// ... and the accumulation is by blocks.
bool blocks_serve(const kernel::ScaledRules& rules, const Semantics& semantics);

}  // namespace softamp::emu
