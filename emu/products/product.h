// Matrix products on the CPU: the engine under MatMul, and under the
// convolutions, which pass it their operands row by row. out(i, j) = sum over k of A(i, k) B(k, j), by the one chain
// per output that kernel/products.h defines.
//
// Order: k ascending for any tiles; tiles are cut along rows and columns, k never split between threads. Values, flags
// and lowest offending index depend on neither threads nor instruction set.
//
// Use:
//   const ProductPlan plan(rules, semantics, isa);  // reusable
//   const Schedule schedule = Schedule::plain(k, block, batch_sum);
//   run_product(plan, {rows, columns, &schedule, &operands, out}, environment, {threads, &status});
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "emu/bulk/plan.h"
#include "softamp/engine/product_schedule.h"
#include "softamp/kernel/environment.h"
#include "softamp/kernel/products.h"
#include "softamp/tensor/bulk.h"

namespace softamp::emu {

using engine::ChainBlock;
using engine::kPartialLength;
using engine::Schedule;

/// Where a problem's operands come from, as fp32 (kernel::widen_operand of each
/// code), and where its outputs go. Called by several threads at once, for any
/// part, a part possibly more than once.
class ProductOperands {
 public:
  virtual ~ProductOperands() = default;
  /// to[i * stride + (k - k0)] = A(row0 + i, k),  i < rows, k0 <= k < k1.
  virtual void a_rows(size_t row0, size_t rows, size_t k0, size_t k1, float* to, size_t stride) const = 0;
  /// to[(k - k0) * stride + j] = B(k, col0 + j),  j < columns, k0 <= k < k1.
  virtual void b_rows(size_t k0, size_t k1, size_t col0, size_t columns, float* to, size_t stride) const = 0;
  /// The place in the output, in elements, of (row, column 0); the row's other
  /// columns follow it (N72: < 2^35).
  virtual uint64_t row_output(size_t row) const = 0;
};

struct ProductProblem {
  size_t rows, columns;
  const Schedule* schedule;
  const ProductOperands* operands;
  void* out;                        ///< codes of rules.output: uint16_t or float; element
                                    ///< row_output(row) + column
  const uint32_t* start = nullptr;  ///< what chains begin with, fp32: of (row, column) at row * start_row + column;
                                    ///< null: +0. Not where partials are independent.
  size_t start_row = 0;
};

struct ProductKernels;

/// How products under rules and semantics are computed by an instruction set.
struct ProductPlan {
  /// reference: every output by kernel/products.h. Throws std::invalid_argument
  /// where machine or build lack `isa`.
  ProductPlan(const kernel::ProductRules& rules, const Semantics& semantics,
              bulk::InstructionSet isa = bulk::InstructionSet::kAuto, bool reference = false);

  /// How blocks are computed, from the most special way to the most general.
  enum class Way : uint8_t {
    kFloat,        ///< no rounding inside
    kNative,       ///< after every product, nearest, by arithmetic on halves
    kNearestEach,  ///< after every product, nearest
    kCarryEach,    ///< after every product, stochastic
    kNearest,      ///< at the end of a block, nearest
    kCarry,        ///< at the end of a block, stochastic
    kGeneralEach,  ///< after every product, any policy
    kGeneral,      ///< at the end of a block, any policy
    kTensorCore,   ///< in a tensor core's groups
    kScalar,       ///< by kernel/products.h, output by output
  };

  kernel::ProductRules rules;
  Semantics semantics;
  const ProductKernels* kernels;
  Way way;
  Way careful;              ///< used where `way` meets overflow, infinity or NaN
  RoundPlan half;           ///< roundings to partials of type half
  RoundPlan result;         ///< the final rounding to fp16 or bf16, exact where the
                            ///< chain ends in a half
  bool rounds_result;       ///< `result` is a rounding
  bool carries_result;      ///< ... that ProductKernels::result does
  bool products_exact;      ///< products of two operands are exact in fp32
  bool chain_can_overflow;  ///< finite operands can overflow fp32
};

struct ProductSettings {
  int threads = 0;                              ///< (0: all; 1 .. 1024) [=0]
  FpStatus* status = nullptr;                   ///< merged into: invalid and overflow, with the
                                                ///< lowest output index [=nullptr: not sought]
  const std::function<bool()>* stop = nullptr;  ///< as OpCall::stop
};

/// What the chain of (row, column) is to begin with, widened; and as chain_start gives it.
uint32_t widened_start(const ProductPlan& plan, const ProductProblem& problem, size_t row, size_t column);
uint32_t start_of(const ProductPlan& plan, const ProductProblem& problem, size_t row, size_t column);

/// Computes all outputs of the problem. `environment.semantics` is the plan's.
/// k = 0 gives +0, or what chains begin with. Random bits: site 0, index product_index(block number,
/// output) for roundings inside the product; site 1, index output, for the
/// final one.
void run_product(const ProductPlan& plan, const ProductProblem& problem, const kernel::Environment& environment,
                 const ProductSettings& settings = {});

/// Widens a run of codes (kernel::widen_operand of each), by vectors; `format`
/// fp16, bf16 or fp32. For ProductOperands.
void widen_operands(const ProductPlan& plan, const FloatFormat& format, const void* codes, size_t count, float* to);
/// Whether the codes are fp32 numbers that widening leaves as they are: operands can be read in place.
bool are_operands(const ProductPlan& plan, const FloatFormat& format, const void* codes, size_t count);
/// to[c * to_stride + r] = from[r * from_stride + c],  r < rows, c < columns;
/// by vectors. For ProductOperands.
void transpose(const ProductPlan& plan, const float* from, size_t rows, size_t columns, size_t from_stride, float* to,
               size_t to_stride);

/// A plain matrix product's operands: A of rows x k (transposed: k x rows), B
/// of k x columns (transposed: columns x k), row-major, dense; out row-major,
/// its element (0, 0) at place `first_output`.
class MatMulOperands final : public ProductOperands {
 public:
  MatMulOperands(const ProductPlan& plan, const void* a, bool transpose_a, const void* b, bool transpose_b, size_t rows,
                 size_t columns, size_t k, uint64_t first_output = 0)
      : plan_(plan),
        a_(a),
        b_(b),
        transpose_a_(transpose_a),
        transpose_b_(transpose_b),
        rows_(rows),
        columns_(columns),
        k_(k),
        first_output_(first_output) {}

  void a_rows(size_t row0, size_t rows, size_t k0, size_t k1, float* to, size_t stride) const override;
  void b_rows(size_t k0, size_t k1, size_t col0, size_t columns, float* to, size_t stride) const override;
  uint64_t row_output(size_t row) const override { return first_output_ + row * columns_; }

 private:
  const ProductPlan& plan_;
  const void* a_;
  const void* b_;
  bool transpose_a_, transpose_b_;
  size_t rows_, columns_, k_;
  uint64_t first_output_;
};

}  // namespace softamp::emu
