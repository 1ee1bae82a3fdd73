// What every engine works out once for a matrix product: MatMul and BatchMatMulV2.
#pragma once

#include <string_view>
#include <vector>

#include "softamp/engine/op_kernel.h"
#include "softamp/engine/product_schedule.h"
#include "softamp/kernel/products.h"

namespace softamp::engine {

/// Whether only kernel/products.h can compute the product, output by output, because these rules break what faster code
/// assumes. `semantics`: of the product (kernel::product_semantics).
bool needs_body(const kernel::ProductRules& rules, const Semantics& semantics);

/// How many stochastic roundings site `site` of a product makes, as OpKernel::roundings says: `blocks` block numbers
/// and `outputs` outputs.
OpKernel::SiteRoundings product_roundings(const kernel::ProductRules& rules, uint32_t site, uint64_t blocks,
                                          uint64_t outputs);

/// What the chains of a node's products begin with in the place of +0 (N480): its operand C, fp32 numbers, one for each
/// output or one for each column.
// implements: N480
struct StartNumbers {
  bool given = false;
  size_t row = 0, matrix = 0;    ///< numbers from one row, and from one matrix, to the next; 0: they are the same
  size_t rows = 0, columns = 0;  ///< of a matrix of the result

  /// Input 2, if the node has it. `rows`, `columns`: of a matrix of the result.
  static StartNumbers of(const OpContext& context, size_t rows, size_t columns);
  /// The first of matrix `batch`; null where there are none.
  const uint32_t* at(const void* const* in, size_t batch) const {
    return given ? static_cast<const uint32_t*>(in[2]) + batch * matrix : nullptr;
  }
  /// What the chain of output `index`, counted through all matrices, begins with. `first`: at(in, 0), not null.
  SOFTAMP_HD uint32_t of_output(const uint32_t* first, uint64_t index, const Semantics& s) const {
    const uint64_t within = index % (rows * columns);
    const uint64_t place = index / (rows * columns) * matrix + within / columns * row + within % columns;
    return kernel::widen_operand(kFp32, first[place], s);
  }
};

/// Products of matrices, rows x k (transposed: k x rows) by k x columns (transposed: columns x k), row-major, dense;
/// the results one after the other.
struct MatMulNode {
  /// `transpose_a`, `transpose_b`: names of the attributes that say whether operands are transposed. Warnings go to the
  /// context's.
  MatMulNode(const OpContext& context, const char* transpose_a, const char* transpose_b);

  /// The two factors at which the chain of an output first raises a flag; empty if a rounding raises it. `in`: the
  /// operands in the host's memory.
  std::vector<uint64_t> operands_at(const void* const* in, const kernel::Environment& environment,
                                    uint64_t index) const;
  OpKernel::SiteRoundings roundings(uint32_t site) const;

  /// The matrices of each product, by number among their operand's; an extent of 1 stretches over a batch.
  struct Pair {
    size_t a, b;
  };
  bool transpose_a, transpose_b;
  kernel::ProductRules rules;
  size_t rows, columns, k;
  Schedule schedule;
  std::vector<Pair> batches;
  StartNumbers start;
};

/// The pairs of a batch: one for each matrix of the result.
std::vector<MatMulNode::Pair> matrix_pairs(const Shape& a, const Shape& b, const Shape& out);

}  // namespace softamp::engine
