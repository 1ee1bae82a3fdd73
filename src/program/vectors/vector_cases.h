// The cases that `softamp vectors` writes: first all tuples of edge operands, then cases made for the operation's
// results (ties, neighbours of ties, the thresholds of overflow and underflow) and random ones. Case n depends on n,
// the seed and the plan alone.
#pragma once

#include "src/program/compute/compute_options.h"

#include <cstdint>
#include <vector>

namespace softamp::program {

class Dice;

class VectorCases {
 public:
  static constexpr int kLevels = 2;

  /// level (1, 2)
  ///   1  some 30 edge operands: zeros, the ends of the subnormal and of the normal numbers, 1 and its neighbours,
  ///      infinities, NaNs
  ///   2  every operand, where that gives no more than 2^17 cases; else the ends of exponents and significands,
  ///      combined (with three operands those of level 1)
  VectorCases(const ComputePlan& plan, int level, uint64_t seed);

  /// Tuples of edge operands.
  uint64_t edges() const { return edges_; }

  /// Cases first to first + count - 1 (count <= CaseBlock::kCapacity) into the block, computed: operands, random field
  /// and number, result, flags.
  void fill(uint64_t first, size_t count, CaseBlock& block) const;

 private:
  enum class Kind : uint8_t { kAdd, kSub, kMul, kDiv, kRem, kSqrt, kMulAdd, kInteger, kConvert, kFromInt, kOther };

  void put_edge(uint64_t n, size_t row, CaseBlock& block) const;
  void put_made(Dice& dice, size_t row, CaseBlock& block) const;
  void put_random(Dice& dice, size_t row, CaseBlock& block) const;
  void choose_numbers(uint64_t first, CaseBlock& block) const;
  double target(Dice& dice) const;
  uint64_t random_code(Dice& dice) const;

  const ComputePlan& plan_;
  Kind kind_;
  uint64_t seed_;
  std::vector<uint64_t> operands_;  ///< the edges of one operand
  uint64_t edges_ = 1;
};

}  // namespace softamp::program
