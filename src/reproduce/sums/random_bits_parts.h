// The three parts of the experiment `random-bits`, each with its own file: bias by enumeration, the long sum, and the
// probabilistic bound of dot products.
#pragma once

#include "src/reproduce/experiment.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace softamp::reproduce::few_bits {

/// The four variants of N12 and N13, in this order.
inline constexpr StochasticVariant kVariants[] = {StochasticVariant::kCarry, StochasticVariant::kHalf,
                                                  StochasticVariant::kRne, StochasticVariant::kOdd};

/// The mean of (rounded - exact), in quanta, over all numbers between two neighbours with `position_bits` bits after
/// the point and all random numbers of `random_bits` bits: numerator / 2^(position_bits + random_bits + 1).
struct Bias {
  StochasticVariant variant;
  int position_bits, random_bits;
  int64_t numerator;
  bool everywhere;  ///< equal above an even and an odd neighbour, for negative numbers and for subnormal results

  double value() const;
  std::string text() const;  ///< as a fraction in lowest terms: "-15/512"
};

/// Counted through the emulated unit: each position as an fp32 number, converted to fp16 under each random number.
Bias bias_of(StochasticVariant variant, int position_bits, int random_bits);

/// The published formula for the same, as a numerator over the same power of two; none for kOdd, and none where the
/// formula does not speak (position_bits too few).
std::optional<int64_t> published_bias(const Bias& bias);

/// 10,000 times 0.0001 in fp16.
struct LongSum {
  StochasticVariant variant;
  int random_bits;
  uint64_t paths;               ///< emulated sums
  double mean, sd;              ///< of these
  double exact_mean, exact_sd;  ///< of the distribution of the sum (sum_chain.h)
};
inline constexpr uint64_t kAdditions = 10'000;

/// Emulates `paths` sums, at the site sum_site(fp16, random_bits, variant), and finds their distribution. progress:
/// told the additions done of each sum, on the calling thread.
LongSum long_sum(StochasticVariant variant, int random_bits, uint64_t paths, uint64_t seed,
                 const std::function<void(uint64_t done)>& progress = {});

/// Dot products of n positive numbers under stochastic rounding.
struct DotErrors {
  FloatFormat format;
  uint64_t n;
  double worst;     ///< greatest relative error, as a multiple of sqrt(n) u, u = 2^(1-p)
  double mean, sd;  ///< relative error
};
inline constexpr uint64_t kDots = 1000;

/// At n = 10, 100, ... up to `greatest` (a power of ten), for fp16 and bf16.
std::vector<DotErrors> dot_errors(uint64_t seed, uint64_t greatest);

}  // namespace softamp::reproduce::few_bits
