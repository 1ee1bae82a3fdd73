// Shared by the experiments on running sums: rounding sites, independently computed means, how far a sample may
// scatter, and the tutorial's name.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "src/reproduce/experiment.h"

namespace softamp::reproduce {

/// Statistical bounds in standard errors; a normal number exceeds this by chance once in 150,000.
inline constexpr double kSumStandardErrors = 4.5;
/// A standard deviation of fewer samples is not judged: its own scatter is far from normal.
inline constexpr uint64_t kFewSamples = 30;

/// The rounding site of a stochastic sum: a separate one for each format, number of random bits and part of the
/// experiment, so that no two sums of a run read the same random words (N78). Part 0 in fp16 with 13 bits has site 0,
/// as `softamp sum` has: the same seed gives the same sums there. random_bits (1..32), part (0..255)
inline uint32_t sum_site(const FloatFormat& format, int random_bits, uint32_t part = 0) {
  const auto place = [](const FloatFormat& f, int bits) {
    const uint32_t shape = static_cast<uint32_t>(f.exponent_bits) << 5 | static_cast<uint32_t>(f.precision);
    return (shape << 2 | static_cast<uint32_t>(f.specials)) << 5 | static_cast<uint32_t>(bits - 1);
  };
  return (place(format, random_bits) ^ place(kFp16, 13)) << 8 | part;
}

/// The mean of 20,000 sums of 10,000 times 0.0001 in fp16, variant carry, by a program that shares no code with ours.
struct ComputedMean {
  int random_bits;
  const char* mean;
};
inline constexpr ComputedMean kComputedMeans[] = {{16, "1.00017"}, {10, "0.99805"}, {8, "0.99340"}, {4, "0.93490"}};
inline constexpr double kComputedSums = 20000;
inline constexpr double kComputedHalfDigit = 5e-6;  ///< they have five decimals

/// Where the tutorial's sum and its single lines are published.
inline constexpr const char* kTutorial =
    "Graphcore, Half and mixed precision training in TensorFlow 1, tutorial, Poplar SDK 2.5";

/// Whether formats, roundings and random bits are the defaults, so that facts about these hold.
inline bool by_default(const Request& r) { return r.formats.empty() && r.roundings.empty() && !r.bits; }

/// Throws std::invalid_argument for options of stochastic rounding if nothing is rounded stochastically.
inline void refuse_without_stochastic(const Request& r, const std::string& experiment) {
  const char* const option = r.bits ? "--bits" : r.samples ? "--samples" : nullptr;
  if (option)
    throw std::invalid_argument(std::string(option) + " in " + experiment +
                                ": expected a stochastic rounding beside it, and a format that takes one");
}

}  // namespace softamp::reproduce
