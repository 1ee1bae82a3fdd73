// First values of variables: functions of (seed, full path of the variable, element), the same bits everywhere.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "softamp/tensor/tensor.h"

namespace softamp {

/// Random ones are made in float32 (as the operations RandomUniform, RandomStandardNormal and TruncatedNormal make
/// theirs), then rounded to nearest even to the variable's dtype (a host conversion). Element i takes the 32-bit lane i
/// of RandomBits{seed} at step 2^32 - 1, which no rounding of a run has, and at an operation made from the path: its
/// 64-bit FNV-1a hash, the three parts of 24, 24 and 16 bits combined by exclusive or. (Two paths with one hash would
/// start with the same values; a test checks that the networks here have none.)
struct Initializer {
  enum class Kind : uint8_t {
    kZeros,
    kOnes,
    kConstant,       ///< a
    kGlorotUniform,  ///< uniform in [-l, l), l = sqrt(6 / (fan_in + fan_out)); Glorot, Bengio 2010. Rounding to 16 bits
                     ///< may give l itself
    kNormal,         ///< mean a, standard deviation b
    kTruncatedNormal,  ///< the same, of the distribution cut at two standard deviations (b is that of the uncut one)
    kUniform,          ///< in [a, b)
  };
  Kind kind = Kind::kZeros;
  double a = 0, b = 1;
  bool operator==(const Initializer&) const = default;

  static Initializer zeros() { return {}; }
  static Initializer ones() { return {Kind::kOnes, 0, 1}; }
  static Initializer constant(double value) { return {Kind::kConstant, value, 1}; }
  static Initializer glorot_uniform() { return {Kind::kGlorotUniform, 0, 1}; }
  static Initializer normal(double stddev, double mean = 0) { return {Kind::kNormal, mean, stddev}; }
  static Initializer truncated_normal(double stddev, double mean = 0) { return {Kind::kTruncatedNormal, mean, stddev}; }
  static Initializer uniform(double low, double high) { return {Kind::kUniform, low, high}; }

  /// "glorot_uniform", "normal(0, 0.02)".
  std::string text() const;
};

/// TensorFlow's rule: rank 2: [in, out]; higher: receptive field times the last two extents; rank 1: both the extent;
/// rank 0: 1.
struct Fans {
  double in, out;
};
Fans fans_of(const Shape& shape);

/// The first value of the variable of this path. Throws std::invalid_argument for a dtype that is not floating (zeros,
/// ones and constants take any).
Tensor initial_value(const Initializer& initializer, const TensorType& type, std::string_view path, uint64_t seed);

}  // namespace softamp
