// A number under the stochastic rounding of each chip: `softamp inspect --chip`.
#pragma once

#include "src/program/options.h"

#include "softamp/numbers/number_text.h"

#include <iosfwd>
#include <string>
#include <vector>

namespace softamp::program {

/// What is looked at: a number, read exactly or from a code of the format, and the chips.
struct ChipInspection {
  std::string text;  ///< as typed
  ParsedNumber number;
  FloatFormat format;       ///< of the results
  std::vector<Chip> chips;  ///< those without the format are named, not shown
  ChipOverflow overflow = ChipOverflow::kUsual;
  int bits = 0;  ///< of the p3109 presets; 0: their default
};

void print_chip_inspection(const ChipInspection& inspection, std::ostream& out);
Json chip_inspection_json(const ChipInspection& inspection);

}  // namespace softamp::program
