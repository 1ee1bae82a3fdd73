// What every engine works out once for a ScaledMatMul.
#pragma once

#include <vector>

#include "softamp/engine/product_node.h"
#include "softamp/kernel/scaled_products.h"

namespace softamp::engine {

/// Products of matrices whose operands are quantised first. Both operands as [rows, k], matrix after matrix.
// implements: N492
struct ScaledMatMulNode {
  explicit ScaledMatMulNode(const OpContext& context);

  /// As OpKernel::roundings: of half partials, and of both operands.
  OpKernel::SiteRoundings roundings(uint32_t site) const;

  /// One operand.
  struct Side {
    FloatFormat format = kFp32;     ///< of the input: fp16, bf16, fp32
    bool transposed = false;        ///< its matrices lie as k x rows
    size_t matrices = 0, rows = 0;  ///< rows of one matrix
    block::BlockFormat blocks;
    kernel::ScaledLayout layout{{}, 0, 0};

    size_t elements() const { return layout.rows * layout.k; }
    size_t scale_bytes() const;
    /// Where element `place` of [rows, k] lies in the input.
    size_t source(size_t place) const;
  };

  kernel::ScaledRules rules;
  Side a, b;
  size_t rows, columns, k;
  std::vector<MatMulNode::Pair> batches;
  StartNumbers start;
};

}  // namespace softamp::engine
