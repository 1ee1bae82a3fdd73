#include "src/reproduce/sum_chain.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>

#include "softamp/numerics/operand.h"
#include "softamp/report/number_text.h"

namespace softamp::reproduce {
namespace {

/// Where an addition leads: to `code`, or, with probability `up`, to the next one.
struct Step {
  uint64_t code;
  double up;
};

/// Sums as multiples of the addend's quantum: whole numbers, since no sum of a positive addend has a finer one.
class Adder {
 public:
  Adder(const FloatFormat& f, uint64_t addend, int random_bits)
      : format_(f), bits_(random_bits), addend_(detail::unpack_finite(f, addend)) {}

  Step add(uint64_t code) const {
    const Exact sum = detail::unpack_finite(format_, code);
    // A sum is 0 or at least the addend.
    const uint64_t whole =
        (sum.significand == 0 ? 0 : sum.significand << (sum.exponent - addend_.exponent)) + addend_.significand;
    const int discarded = std::max(0, static_cast<int>(std::bit_width(whole)) - format_.precision);
    const uint64_t rest = whole & ((uint64_t{1} << discarded) - 1);
    const double scale = std::ldexp(1.0, -bits_);
    const double seen = discarded <= bits_ ? static_cast<double>(rest) * std::ldexp(1.0, bits_ - discarded)
                                           : static_cast<double>(rest >> (discarded - bits_));
    return {code_of(whole >> discarded, discarded), seen * scale};
  }

 private:
  uint64_t code_of(uint64_t significand, int shift) const {
    const int exponent = addend_.exponent + shift;  // of the quantum
    const uint64_t field = static_cast<uint64_t>(exponent - format_.min_quantum());
    // A normal significand carries its hidden bit, which counts one binade.
    return (field << format_.mantissa_bits()) + significand;
  }

  FloatFormat format_;
  int bits_;
  Exact addend_;
};

}  // namespace

SumDistribution sum_distribution(const FloatFormat& format, uint64_t addend, uint64_t count, int random_bits) {
  constexpr double kLeast = 1e-30, kBeyond = 1e-15;
  double beyond = 0;
  SumDistribution d;
  d.probability = {1};
  if (!format.is_zero(addend)) {
    const Adder adder(format, addend, random_bits);
    std::vector<Step> steps;  // by code, as far as sums have come
    std::vector<double> next;
    for (uint64_t n = 0; n < count; ++n) {
      const uint64_t end_code = d.first_code + d.probability.size();
      while (steps.size() < end_code) steps.push_back(steps.size() < d.first_code ? Step{} : adder.add(steps.size()));
      const Step* const from = steps.data() + d.first_code;
      while (from[d.probability.size() - 1].code >= format.max_finite_code()) {
        beyond += d.probability.back();
        d.probability.pop_back();
        if (beyond > kBeyond) throw std::invalid_argument("sum distribution: the sum leaves the format's range");
      }
      const uint64_t first = from[0].code, last = from[d.probability.size() - 1].code + 1;
      next.assign(last - first + 1, 0);
      for (size_t i = 0; i < d.probability.size(); ++i) {
        const double up = d.probability[i] * from[i].up;
        next[from[i].code - first] += d.probability[i] - up;
        next[from[i].code - first + 1] += up;
      }
      size_t begin = 0, end = next.size();
      while (next[begin] < kLeast) ++begin;
      while (next[end - 1] < kLeast) --end;
      d.probability.assign(next.begin() + static_cast<std::ptrdiff_t>(begin),
                           next.begin() + static_cast<std::ptrdiff_t>(end));
      d.first_code = first + begin;
    }
  }
  double total = 0;
  for (size_t i = 0; i < d.probability.size(); ++i) {
    total += d.probability[i];
    d.mean += d.probability[i] * value_of(format, d.first_code + i);
  }
  d.mean /= total;
  double squares = 0;
  for (size_t i = 0; i < d.probability.size(); ++i) {
    const double off = value_of(format, d.first_code + i) - d.mean;
    squares += d.probability[i] * off * off;
  }
  d.sd = std::sqrt(squares / total);
  return d;
}

}  // namespace softamp::reproduce
