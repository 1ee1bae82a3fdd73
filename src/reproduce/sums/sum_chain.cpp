#include "src/reproduce/sums/sum_chain.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>

#include "softamp/numbers/number_text.h"
#include "softamp/numerics/operand.h"

namespace softamp::reproduce {
namespace {

/// Where an addition leads: to `code`, or, with probability `up`, to the next one.
struct Step {
  uint64_t code;
  double up;
};

/// How likely a place of rest / 2^discarded between two neighbours goes up.
double chance_up(StochasticVariant variant, uint64_t rest, int discarded, int bits) {
  // Where the random bits reach all that is discarded the variants agree.
  if (discarded <= bits) return std::ldexp(static_cast<double>(rest), -discarded);
  const int unseen = discarded - bits;
  uint64_t whole = rest >> unseen;
  const uint64_t unit = uint64_t{1} << unseen, left = rest & (unit - 1);
  switch (variant) {
    case StochasticVariant::kHalf: whole = ((rest >> (unseen - 1)) + 1) / 2; break;  // floor(d 2^(r+1)) + 2R + 1
    case StochasticVariant::kRne: whole += 2 * left > unit || (2 * left == unit && (whole & 1) != 0); break;
    case StochasticVariant::kOdd: whole += 2 * left > unit || (2 * left == unit && (whole & 1) == 0); break;
    case StochasticVariant::kCarry:
    case StochasticVariant::kAtLeast: break;
  }
  return std::ldexp(static_cast<double>(whole), -bits);
}

/// Sums as multiples of the addend's quantum: whole numbers, since no sum that is not below it has a finer one.
class Adder {
 public:
  Adder(const FloatFormat& f, uint64_t addend, int random_bits, StochasticVariant variant)
      : format_(f), bits_(random_bits), variant_(variant), addend_(detail::unpack_finite(f, addend)) {}

  Step add(uint64_t code) const {
    const Exact sum = detail::unpack_finite(format_, code);
    const uint64_t whole =
        (sum.significand == 0 ? 0 : sum.significand << (sum.exponent - addend_.exponent)) + addend_.significand;
    const int discarded = std::max(0, static_cast<int>(std::bit_width(whole)) - format_.precision);
    const uint64_t rest = whole & ((uint64_t{1} << discarded) - 1);
    return {code_of(whole >> discarded, discarded), chance_up(variant_, rest, discarded, bits_)};
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
  StochasticVariant variant_;
  Exact addend_;
};

}  // namespace

SumChain::SumChain(const FloatFormat& format, int random_bits, StochasticVariant variant)
    : format_(format), bits_(random_bits), variant_(variant) {}

void SumChain::add(uint64_t addend, uint64_t times) {
  constexpr double kLeast = 1e-30;
  if (format_.is_zero(addend)) return;
  const Adder adder(format_, addend, bits_, variant_);
  const uint64_t base = first_code_;  // sums never fall
  std::vector<Step> steps;            // of the codes from `base`, as far as sums have come
  std::vector<double> next;
  for (uint64_t n = 0; n < times; ++n) {
    while (base + steps.size() < first_code_ + probability_.size()) {
      const uint64_t code = base + steps.size();
      steps.push_back(code < first_code_ ? Step{} : adder.add(code));
    }
    const Step* const from = steps.data() + (first_code_ - base);
    while (!probability_.empty() && from[probability_.size() - 1].code >= format_.max_finite_code()) {
      beyond_ += probability_.back();
      probability_.pop_back();
    }
    if (probability_.empty()) return;
    const uint64_t first = from[0].code, last = from[probability_.size() - 1].code + 1;
    next.assign(last - first + 1, 0);
    for (size_t i = 0; i < probability_.size(); ++i) {
      const double up = probability_[i] * from[i].up;
      next[from[i].code - first] += probability_[i] - up;
      next[from[i].code - first + 1] += up;
    }
    size_t begin = 0, end = next.size();
    while (begin < end && next[begin] < kLeast) ++begin;
    while (end > begin && next[end - 1] < kLeast) --end;
    probability_.assign(next.begin() + static_cast<std::ptrdiff_t>(begin),
                        next.begin() + static_cast<std::ptrdiff_t>(end));
    first_code_ = first + begin;
  }
}

SumDistribution SumChain::distribution() const {
  SumDistribution d{first_code_, probability_, 0, 0};
  double total = 0;
  for (size_t i = 0; i < d.probability.size(); ++i) {
    total += d.probability[i];
    d.mean += d.probability[i] * value_of(format_, d.first_code + i);
  }
  if (total == 0) return d;
  d.mean /= total;
  double squares = 0;
  for (size_t i = 0; i < d.probability.size(); ++i) {
    const double off = value_of(format_, d.first_code + i) - d.mean;
    squares += d.probability[i] * off * off;
  }
  d.sd = std::sqrt(squares / total);
  return d;
}

SumDistribution sum_distribution(const FloatFormat& format, uint64_t addend, uint64_t count, int random_bits,
                                 StochasticVariant variant) {
  constexpr double kBeyond = 1e-15;
  SumChain chain(format, random_bits, variant);
  chain.add(addend, count);
  if (chain.beyond() > kBeyond) throw std::invalid_argument("sum distribution: the sum leaves the format's range");
  return chain.distribution();
}

}  // namespace softamp::reproduce
