#include <bit>
#include <cmath>

#include "softamp/numerics/convert.h"
#include "softamp/numerics/operations.h"
#include "src/sums/addition_bits.h"
#include "src/sums/sum_trace.h"
#include "src/sums/sum_ways.h"

namespace softamp::detail {
namespace {

constexpr int kDoubleFraction = 52;
constexpr uint64_t kDoubleMagnitude = ~uint64_t{0} >> 1;

uint64_t bits_of(double value) { return std::bit_cast<uint64_t>(value); }

/// One addition, rounded by a stochastic carry: where exact sum and result are normal numbers of the format, without
/// leaving binary64.
class Adder {
 public:
  explicit Adder(const RunningSumSetup& s)
      : addend_(fp::to_double(s.format, s.addend)),
        least_(bits_of(fp::to_double(s.format, s.format.min_normal_code()))),
        range_(bits_of(fp::to_double(s.format, s.format.max_finite_code())) - least_),
        cut_((uint64_t{1} << discarded(s.format)) - 1),
        shift_(discarded(s.format) - s.semantics.rounding(s.format).random_bits),
        random_mask_(~uint32_t{0} >> (32 - s.semantics.rounding(s.format).random_bits)) {}

  static int discarded(const FloatFormat& f) { return kDoubleFraction - f.mantissa_bits(); }
  /// Whether any two normal numbers have an exact sum in binary64.
  static bool always_exact(const FloatFormat& f) {
    return f.max_exponent() + 1 - (1 - f.bias - f.mantissa_bits()) <= kDoubleFraction;
  }

  /// Replaces `sum`, and adds what is discarded to `rest`; false, and nothing is changed, where only fp::add knows the
  /// result.
  template <bool kAlwaysExact>
  bool add(double& sum, uint32_t word, uint64_t& rest) const {
    const double exact = sum + addend_;
    if constexpr (!kAlwaysExact) {
      // What the binary64 addition has lost (Knuth's TwoSum; a NaN is not equal to 0).
      const double of_addend = exact - sum, of_sum = exact - of_addend;
      if (!((sum - of_sum) + (addend_ - of_addend) == 0)) return false;
    }
    const uint64_t bits = bits_of(exact);
    // From the least normal number on, and below the largest one: rounded up, it is at most that.
    if ((bits & kDoubleMagnitude) - least_ >= range_) return false;
    rest |= bits & cut_;
    sum = std::bit_cast<double>((bits + (uint64_t{word & random_mask_} << shift_)) & ~cut_);
    return true;
  }

 private:
  double addend_;
  uint64_t least_, range_, cut_;
  int shift_;
  uint32_t random_mask_;
};

/// The sums of a chunk. A NaN has its code alone.
class Doubles {
 public:
  Doubles(const RunningSumSetup& s, const SumChunk& chunk)
      : setup_(s), chunk_(chunk), adder_(s), sums_(chunk.codes.size(), fp::to_double(s.format, s.start)) {
    inexact_flag_ = s.semantics.rounding(s.format).flags & kInexact;
  }

  template <bool kAlwaysExact>
  FirstFlags run(const std::function<void(uint64_t)>& done) {
    AdditionBits random(setup_, chunk_);
    Tracer tracer(setup_, chunk_);
    const auto code = [&](size_t i) { return code_of(i); };
    tracer.see(0, code);
    for (uint64_t n = 1; n <= setup_.count; ++n) {
      const uint32_t* const words = random.draw(static_cast<uint32_t>(n - 1));
      uint64_t rest = 0;
      for (size_t i = 0; i < sums_.size(); ++i) {
        const double before = sums_[i];
        if (!adder_.add<kAlwaysExact>(sums_[i], words[i], rest))
          add_code(i, n, words[i]);
        else if (bits_of(sums_[i]) != bits_of(before))
          chunk_.last_change[i] = n;
      }
      if (rest != 0 && inexact_flag_ & ~flags_.flags) flags_.raise(inexact_flag_, n);
      tracer.see(n, code);
      if (n % kRunningSumTick == 0) done(n);
    }
    for (size_t i = 0; i < sums_.size(); ++i) chunk_.codes[i] = code_of(i);
    return flags_;
  }

 private:
  uint64_t code_of(size_t i) const {
    return std::isfinite(sums_[i]) ? fp::from_double(setup_.format, sums_[i]) : chunk_.codes[i];
  }

  void add_code(size_t i, uint64_t n, uint32_t word) {
    const uint64_t before = code_of(i);
    const Rounded r = fp::add(setup_.format, before, setup_.addend, setup_.semantics, word);
    if (r.code != before) chunk_.last_change[i] = n;
    if (r.flags & ~flags_.flags) flags_.raise(r.flags, n);
    chunk_.codes[i] = r.code;
    sums_[i] = fp::to_double(setup_.format, r.code);
  }

  const RunningSumSetup& setup_;
  const SumChunk& chunk_;
  Adder adder_;
  std::vector<double> sums_;
  FirstFlags flags_;
  uint8_t inexact_flag_;
};

}  // namespace

bool doubles_serve(const RunningSumSetup& s) {
  const RoundingPolicy& p = s.semantics.rounding(s.format);
  const bool a_subnormal_sum_is_zero = s.semantics.wide_operands_flushed && s.format.storage_bits() > 16;
  return p.stochastic() && p.variant == StochasticVariant::kCarry && p.random_bits <= Adder::discarded(s.format) &&
         !a_subnormal_sum_is_zero;
}

FirstFlags sum_by_doubles(const RunningSumSetup& setup, const SumChunk& chunk,
                          const std::function<void(uint64_t)>& done) {
  Doubles sums(setup, chunk);
  return Adder::always_exact(setup.format) ? sums.run<true>(done) : sums.run<false>(done);
}

}  // namespace softamp::detail
