// What `softamp chips` prints: the table, one chip in full, and the comparison of results.
#pragma once

#include "src/program/options.h"

#include "softamp/chips/chip_table.h"
#include "src/results/table.h"

#include <iosfwd>
#include <string>
#include <vector>

namespace softamp::program {

/// A value whose rounding is compared: an fp32 code, and why it is interesting.
struct ChipInput {
  uint32_t code;
  std::string why;
};

/// The inputs that tell chips apart when they round to `f`: parts of a quantum, a tie, the carry into the next binade,
/// subnormals, overflow, special values.
std::vector<ChipInput> telling_inputs(const FloatFormat& f);

/// A comparison: each chip's result for the same inputs and the same random word.
struct ChipComparison {
  std::vector<Chip> chips;  ///< those without the format are named, not compared
  FloatFormat format;
  std::vector<ChipInput> inputs;
  uint32_t word;
  int lane;
  int bits;  ///< of the p3109 presets; 0: their default
};

/// The chips of a comparison that do not round to its format: "amd_cdna3, tenstorrent_wh".
std::string left_out(const ChipComparison& comparison);

/// The form of an answer.
enum class ChipsForm { kText, kJson };

results::Table chip_table(const std::vector<Chip>& chips, int bits);
/// Codes in hexadecimal.
results::Table comparison_table(const ChipComparison& comparison);
results::Table tensor_core_table();

/// tensor_cores: those below the table.
void print_chip_table(const std::vector<Chip>& chips, int bits, bool tensor_cores, ChipsForm form, std::ostream& out);
void print_chip(Chip chip, int bits, ChipsForm form, std::ostream& out);
void print_chip_comparison(const std::vector<ChipComparison>& comparisons, ChipsForm form, std::ostream& out);

/// The models of tensor cores, with their evidence.
void print_tensor_cores(ChipsForm form, std::ostream& out);
Json tensor_cores_json();

}  // namespace softamp::program
