#include "softamp/report/running_sum.h"

#include "softamp/numerics/operations.h"
#include "softamp/numerics/random.h"
#include "softamp/numerics/tile_random.h"
#include "softamp/report/number_text.h"
#include "src/report/dyadic.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace softamp {
namespace {

constexpr uint64_t kMaxCount = std::numeric_limits<uint32_t>::max();
constexpr uint64_t kMaxReplicas = uint64_t{1} << 20;
constexpr uint64_t kProgressEvery = uint64_t{1} << 16;

[[noreturn]] void refuse(const std::string& what, const std::string& value, const std::string& expected) {
  throw std::invalid_argument("running sum: " + what + " " + value + ": expected " + expected);
}

void check(const RunningSumSetup& s) {
  if (!s.format.valid() || s.format == kBinary64)
    refuse("format", std::to_string(s.format.storage_bits()) + " bits wide",
           "2..8 exponent bits and a precision of 2..24");
  if (s.count < 1 || s.count > kMaxCount) refuse("count", std::to_string(s.count), "1.." + std::to_string(kMaxCount));
  if (s.replicas < 1 || s.replicas > kMaxReplicas)
    refuse("replicas", std::to_string(s.replicas), "1.." + std::to_string(kMaxReplicas));
  for (const uint64_t code : {s.addend, s.start})
    if (code > s.format.code_mask() || !s.format.is_finite(code))
      refuse("operand", code_text(s.format, code), "the code of a finite number");
}

/// The random words of one addition, one per replica.
class AdditionBits {
 public:
  explicit AdditionBits(const RunningSumSetup& s)
      : engine_(s.engine), words_(s.replicas), philox_{s.seed, s.engine == RandomEngine::kPhilox7 ? 7 : 10} {
    const RoundingPolicy& policy = s.semantics.rounding(s.format);
    wide_ = policy.random_bits > 16;
    work_.elements = s.replicas;
    work_.stochastic = policy.stochastic();
    work_.switches.sr_bits = policy.random_bits;
    if (engine_ == RandomEngine::kXoroshiro128aox) tile_ = TileRandom::from_seed(s.seed);
  }

  const std::vector<uint32_t>& draw(uint32_t addition) {
    if (engine_ == RandomEngine::kXoroshiro128aox) {
      for (uint64_t group = 0; group < work_.groups(); ++group) {
        const LaneBits bits = tile_.draw(work_, group);
        for (uint32_t i = 0; i < work_.lanes(group); ++i) words_[group * TileWork::kLanes + i] = bits.lane[i];
      }
      return words_;
    }
    const uint32_t lanes = wide_ ? 4 : 8;  // of one Philox block (D39)
    for (size_t first = 0; first < words_.size(); first += lanes) {
      const RandomBlock block = philox_.block(addition, 0, first / lanes);
      for (uint32_t i = 0; i < lanes && first + i < words_.size(); ++i)
        words_[first + i] = wide_ ? block.word[i] : block.lane16(i);
    }
    return words_;
  }

 private:
  RandomEngine engine_;
  bool wide_ = false;  ///< 32-bit lanes
  std::vector<uint32_t> words_;
  RandomBits philox_;
  TileWork work_{};
  TileRandom tile_{};
};

/// Collects the sums at evenly spaced additions.
class Tracer {
 public:
  Tracer(const RunningSumSetup& setup, RunningSum& sum) : setup_(setup), sum_(sum) {
    if (setup.trace_points == 0) return;
    sum.traces.resize(std::min(setup.replicas, setup.trace_replicas));
    record(0);
  }
  bool due(uint64_t done) const { return done >= next_; }
  /// Notes the current sums as those after `done` additions.
  void record(uint64_t done) {
    sum_.trace_additions.push_back(done);
    for (size_t i = 0; i < sum_.traces.size(); ++i) sum_.traces[i].push_back(value_of(setup_.format, sum_.codes[i]));
    const uint64_t intervals = std::max<uint64_t>(1, setup_.trace_points - 1);
    do ++interval_;
    while (interval_ < intervals && interval_ * setup_.count / intervals <= done);
    next_ = done >= setup_.count ? kNever : std::min(setup_.count, interval_ * setup_.count / intervals);
  }
  /// The sums stay as they are: notes them for all that is left.
  void finish() {
    while (next_ != kNever) record(next_);
  }

 private:
  static constexpr uint64_t kNever = ~uint64_t{0};
  const RunningSumSetup& setup_;
  RunningSum& sum_;
  uint64_t interval_ = 0, next_ = kNever;
};

void add_all(const RunningSumSetup& s, const std::function<void(uint64_t)>& progress, RunningSum& sum) {
  const bool stochastic = s.semantics.draws(s.format);
  AdditionBits random(s);
  Tracer tracer(s, sum);
  for (uint64_t n = 1; n <= s.count; ++n) {
    const uint32_t* const words = stochastic ? random.draw(static_cast<uint32_t>(n - 1)).data() : nullptr;
    bool changed = false;
    for (size_t i = 0; i < sum.codes.size(); ++i) {
      const Rounded r = fp::add(s.format, sum.codes[i], s.addend, s.semantics, words ? words[i] : 0);
      if (r.code != sum.codes[i]) {
        sum.codes[i] = r.code;
        sum.last_change[i] = n;
        changed = true;
      }
      if (r.flags & ~sum.flags) {
        for (int b = 0; b < kFlagCount; ++b)
          if (r.flags & ~sum.flags & 1 << b) sum.first_addition[b] = n;
        sum.flags |= r.flags;
      }
    }
    if (!changed && !stochastic) return tracer.finish();
    if (tracer.due(n)) tracer.record(n);
    if (progress && n % kProgressEvery == 0) progress(n);
  }
}

}  // namespace

RunningSum running_sum(const RunningSumSetup& setup, const std::function<void(uint64_t done)>& progress) {
  check(setup);
  using detail::Dyadic;
  const Dyadic exact =
      Dyadic::of(setup.format, setup.start) + Dyadic::of(setup.format, setup.addend).times(setup.count);
  RunningSum sum;
  sum.codes.assign(setup.replicas, setup.start);
  sum.last_change.assign(setup.replicas, 0);
  sum.exact = exact.to_double();
  sum.exact_text = exact.decimal();
  add_all(setup, progress, sum);
  return sum;
}

MeanAndDeviation mean_and_deviation(std::span<const double> values) {
  const double n = static_cast<double>(values.size());
  double total = 0, squares = 0;
  for (const double value : values) total += value;
  const double mean = total / n;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {mean, values.size() > 1 ? std::sqrt(squares / (n - 1)) : std::numeric_limits<double>::quiet_NaN()};
}

}  // namespace softamp
