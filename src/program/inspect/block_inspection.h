// `softamp inspect` of a block: its scale, each element, what is lost, and what other rules would give.
#pragma once

#include "src/program/options.h"

#include "softamp/numerics/block/block_format.h"

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace softamp::program {

/// The numbers of a block, as fp32 codes, and where they come from.
struct BlockInspection {
  block::BlockFormat format;
  std::vector<uint32_t> x;
  std::vector<uint64_t> index;  ///< of each in its array: the address of its random bits
  std::string source;           ///< "3 numbers", "block 7 of x.npy"
  uint32_t tensor_amax = 0;     ///< to which NVFP4's scale refers
  uint64_t rows = 1;            ///< that x has, one after the other
};

/// One element after quantisation.
struct BlockElement {
  uint32_t code, value;  ///< value: an fp32 code
  bool saturated, zeroed;
};

/// The block under one rule for the scale.
struct BlockOutcome {
  block::BlockScale scale;
  std::vector<BlockElement> elements;
  uint64_t saturated = 0, zeroed = 0;
  double squares = 0;  ///< sum of the squared errors; not of NaNs and infinities
};

uint32_t block_amax(const BlockInspection& b);
BlockOutcome block_outcome(const BlockInspection& b, const block::BlockFormat& format);
/// The format under each rule that its family has, this one's among them, with the rule's name.
std::vector<std::pair<std::string, block::BlockFormat>> formats_by_rule(const block::BlockFormat& format);
/// The name of its own; "" where it has no scale.
std::string rule_name(const block::BlockFormat& format);

/// The block `index` of an array in a file. Throws UsageError, naming file, axis or index.
BlockInspection block_of_file(const block::BlockFormat& format, const std::string& path, uint64_t index, int axis);

void print_block(const BlockInspection& b, std::ostream& out);
Json block_json(const BlockInspection& b);

}  // namespace softamp::program
