// The operations of `softamp compute`, by the names of the TestFloat suite: f16_add, f32_to_f16, f16_mulAdd.
#pragma once

#include "src/program/compute/compute_lines.h"

#include "softamp/numerics/format.h"
#include "softamp/numerics/semantics.h"

#include <string>
#include <vector>

namespace softamp::program {

/// What a run of an operation depends on, apart from its operands.
struct ComputeSetting {
  Semantics semantics;
  bool exact = false;  ///< rounding to an integer raises inexact
};

struct ComputeOperation {
  std::string name;
  FloatFormat from;       ///< of the operands; of the result where the operands are int32
  FloatFormat to;         ///< of the result; that of the operands for truth values and int32
  bool from_int = false;  ///< the operand is an int32
  LineShape shape;
  /// Fills result and flags of the block's cases from its operands and random words.
  void (*run)(const ComputeOperation& operation, const ComputeSetting& setting, CaseBlock& block);
};

/// Every operation, sorted by name.
const std::vector<ComputeOperation>& compute_operations();

/// The operation of that name. Throws UsageError naming the nearest one.
const ComputeOperation& find_compute_operation(const std::string& name);

}  // namespace softamp::program
