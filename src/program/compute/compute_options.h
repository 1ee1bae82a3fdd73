// What `softamp compute` and `softamp vectors` share of their command lines: an operation, and how it rounds.
#pragma once

#include "src/program/compute/compute_operations.h"
#include "src/program/options.h"

#include <optional>
#include <string>

namespace softamp::program {

/// The options as they were given.
struct ComputeOptions {
  RoundingOptions rounding;
  std::string operation, behaviour;
  std::optional<Tininess> tininess;
  bool exact = false;
};

/// How a line's random field, the word that hardware would get, holds R.
struct RandomField {
  int number_bits = 0;               ///< of R; 0: the operation draws nothing
  int bits = 0;                      ///< of the field: R's own, or 32 of a chip's word
  std::optional<ChipRounding> chip;  ///< takes its part of the word, for value 0 of a packed result

  /// R of a field.
  uint32_t number(uint64_t field) const;
  /// A field with this R; its other bits are those of `others`.
  uint64_t field(uint32_t number, uint32_t others) const;
};

/// What the options come to.
struct ComputePlan {
  ComputeOperation operation;
  ComputeSetting setting;
  FloatingPointBehaviour behaviour;  ///< of the preset ipu; all off in others
  RandomField random;
};

/// Adds the operation and its options, except --seed. The object must outlive the parsing of `app`.
void add_compute_options(const cli::App& app, ComputeOptions& options);

/// Throws UsageError for options that contradict each other, and for a format or an answer to overflow that the chip
/// lacks.
ComputePlan compute_plan(const ComputeOptions& options, const cli::App& app);
/// Throws UsageError for an option of random bits that the plan does not use. words: the option that gives them where
/// no `generator` does; draws_operands: --seed chooses operands, too.
void refuse_idle_random(const cli::App& app, const ComputePlan& plan, bool generator, const std::string& words,
                        bool draws_operands);

/// The operations and rules that the helps of both verbs name.
extern const char* const kComputeOperationsHelp;

}  // namespace softamp::program
