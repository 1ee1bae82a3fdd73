// The operations of `softamp compute` and `softamp vectors`, by the names of the TestFloat suite: f16_add, f32_to_f16,
// f16_mulAdd.
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

/// Which policy decides an operation's bits.
enum class Rounds : uint8_t {
  kNever,      ///< a comparison, minimum or maximum
  kToFormat,   ///< that of the result's format
  kToInteger,  ///< the wide one, whose mode rounds to integers
};

struct ComputeOperation {
  std::string name;
  std::string kind;       ///< what it does to any format: "add", "mulAdd", "to" (between formats), "to_i32", "i32_to"
  FloatFormat from;       ///< of the operands; of the result where the operands are int32
  FloatFormat to;         ///< of the result; that of the operands for truth values and int32
  bool from_int = false;  ///< the operand is an int32
  Rounds rounds = Rounds::kToFormat;
  LineShape shape;
  /// Fills result and flags of the block's cases from its operands and random words.
  void (*run)(const ComputeOperation& operation, const ComputeSetting& setting, CaseBlock& block);

  /// The policy that rounds its results; null where nothing is rounded.
  const RoundingPolicy* policy(const Semantics& s) const {
    return rounds == Rounds::kNever ? nullptr : rounds == Rounds::kToInteger ? &s.wide : &s.rounding(to);
  }
};

/// The operations of the formats that the suite and the chips know, sorted by name: what completions offer.
std::vector<std::string> compute_operation_names();

/// The operation of that name, T_add and its like, where T is any name of a format: f16_add, float16_add, e5p11_add.
/// Throws UsageError naming the nearest one.
ComputeOperation find_compute_operation(const std::string& name);

}  // namespace softamp::program
