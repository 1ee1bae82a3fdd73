// Sums of the elements of an array, and of the products of two, in many formats and roundings at once: piece by piece,
// so that no array need fit into memory.
//
// Element n (from 0) of the array enters the format of a case rounded to nearest even; then sum = sum + element, the
// exact sum rounded once. Of two arrays sum = sum + a[n] b[n], rounded once; or, where products are rounded, the
// product is rounded first, by the same policy.
//
// Random bits are those of running_sum: with Philox RandomBits{seed}.bits(step = n, operation, index = replica), of a
// rounded product operation + 1; with xoroshiro128aox those of the hardware's order, a rounded product's before those
// of its addition.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "softamp/sums/running_sum.h"
#include "src/sums/exact_sum.h"
#include "src/sums/unchanged_sum.h"

namespace softamp::detail {

enum class Products : uint8_t { kNone, kExact, kRounded };

/// One case: of `setup` the format, semantics, start, replicas, engine, seed and operation are used.
struct ArraySumCase {
  RunningSumSetup setup;
  Semantics entry;  ///< by which elements enter the format, to nearest even
};

/// What has become of a case. Numbers of additions count from 1.
struct ArraySum {
  std::vector<uint64_t> codes;        ///< final sum of each replica
  std::vector<uint64_t> last_change;  ///< per replica: the last addition that changed the sum; 0: none did
  std::vector<uint64_t> lost;  ///< per replica: additions of a term other than 0 that left a finite sum as it was
  LostAddition first_lost;     ///< of replica 0
  uint8_t flags = 0;           ///< of additions and rounded products
  uint64_t first_addition[kFlagCount] = {};
  uint8_t entry_flags = 0;  ///< of elements that enter the format
  double exact = 0;         ///< start and all terms of the rounded elements, rounded once
  Dyadic exact_total;       ///< the same to its last digit, where it is finite
  double exact_given = 0;   ///< the same of the elements as they were given
  double magnitude = 0;     ///< the sum of the magnitudes of start and terms, rounded once
  /// Root mean square over the replicas of (sum - exact sum so far) / (magnitude so far), after trace_additions.
  std::vector<double> trace_errors;
};

class ArraySums {
 public:
  /// trace_additions: ascending, each at least 1. Throws std::invalid_argument as running_sum does for a case.
  ArraySums(std::vector<ArraySumCase> cases, Products products, std::vector<uint64_t> trace_additions);
  ~ArraySums();

  /// The next elements; b: as many, where there are products, else none. Throws std::invalid_argument where the lengths
  /// differ, and for more than 2^32 - 1 elements in all. Replicas run on oneTBB's threads; the result does not depend
  /// on them.
  void add(std::span<const double> a, std::span<const double> b = {});

  uint64_t additions() const;
  /// Of the cases, in their order.
  std::vector<ArraySum> results() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace softamp::detail
