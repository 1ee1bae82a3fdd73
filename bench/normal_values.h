// Normally distributed numbers to measure with, as weights and gradients are.
#pragma once

#include <boost/random/mersenne_twister.hpp>
#include <boost/random/normal_distribution.hpp>

#include <cstddef>
#include <span>

namespace softamp::bench {

/// Fills with N(0, 1); the numbers begin again after `period`, since drawing takes longer than what is measured.
template <class T>
void fill_normal(std::span<T> values, size_t period = size_t{1} << 20) {
  boost::random::mt19937_64 generator(1);
  boost::random::normal_distribution<T> normal;
  for (size_t i = 0; i < values.size(); ++i) values[i] = i < period ? normal(generator) : values[i - period];
}

}  // namespace softamp::bench
