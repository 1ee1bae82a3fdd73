// Sums for the experiment `tensor-cores`: products of fp16 numbers under all accumulators, and under two more of
// another vendor, by kernel/products.h and the operations of fp32.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "softamp/kernel/products.h"

namespace softamp::reproduce::matrix_units {

/// A way to sum the products of an output.
// implements: N326
enum class Unit : uint8_t {
  kFp32Chain,
  kIpuHalf,  ///< ipu_model_a with half partials, blocks of 16; with float partials it is the fp32 chain
  kVolta,
  kTuring,
  kAmpere,
  kAda,
  kHopper,
  kBlackwell,
  kCdna1,  ///< MI100: the sum and four products, exact, rounded to fp32 once (N326)
  kCdna2,  ///< MI250X: groups of four, added pairwise in fp32, then to the sum; subnormal operands are zeros (N326)
};
inline constexpr int kUnits = 10;

/// "fp32 chain", "Volta"
const char* title_of(Unit unit);
/// The accumulator of a graph that does it; none of AMD's.
Accumulator accumulator_of(Unit unit);

/// The products of one output, fp16 codes; added one by one, in ascending k.
class Sum {
 public:
  explicit Sum(Unit unit);
  Sum(const Sum&) = delete;  // the chain keeps a reference to environment_
  Sum& operator=(const Sum&) = delete;
  void add(uint16_t a, uint16_t b);
  /// The sum so far, fp32, a group that has begun filled up with zeros.
  float value() const;

 private:
  uint32_t with_group() const;

  Unit unit_;
  kernel::Environment environment_;
  kernel::ProductChain chain_;
  uint32_t count_ = 0;
  std::array<uint32_t, 4> products_{};  ///< of a group of AMD's, fp32
  uint32_t sum_ = 0;                    ///< fp32, of AMD's
};

/// The sum of products of fp16 numbers, which `a` and `b` have to be.
float sum_of(Unit unit, const std::vector<double>& a, const std::vector<double>& b);

/// x times 65504, rounded to fp16: with an fp16 result where the unit has one.
double scaled(Unit unit, double x);

}  // namespace softamp::reproduce::matrix_units
