#include <algorithm>

#include "softamp/numerics/operations.h"
#include "src/report/code_arithmetic.h"
#include "src/report/sums/sum_trace.h"
#include "src/report/sums/sum_ways.h"

namespace softamp::detail {
namespace {

/// Decides when to look for flags. The sums of a chunk raise inexact first, usually at once, and then nothing until
/// they come near the largest number. An upper bound of them starts with the greatest one and grows at every addition
/// by the addend's magnitude, rounded up, and one neighbour more.
class Vigilance {
 public:
  explicit Vigilance(const RunningSumSetup& s)
      : format_(s.format),
        addend_(s.addend & s.format.magnitude_mask()),
        up_(Semantics::ieee(RoundingPolicy::ieee(RoundingMode::kUp))),
        inexact_wanted_((s.semantics.rounding(s.format).flags & kInexact) != 0) {}

  /// Whether this addition may raise flags that have not been seen. `sums` are those before it.
  bool needed(std::span<const uint16_t> sums, const FirstFlags& seen) {
    if (near_limit_ || (inexact_wanted_ && !(seen.flags & kInexact))) return true;
    uint64_t next = above(bound_);
    if (++age_ >= kMostAge || next > format_.max_finite_code()) {
      const uint16_t mask = static_cast<uint16_t>(format_.magnitude_mask());
      uint16_t greatest = 0;
      for (const uint16_t code : sums) greatest = std::max<uint16_t>(greatest, code & mask);
      age_ = 0;
      next = above(greatest);
      // A sum that has been beyond the largest number may have any value from then on, so this stays set.
      near_limit_ = next > format_.max_finite_code();
    }
    bound_ = next;
    return near_limit_;
  }

 private:
  static constexpr int kMostAge = 64;  ///< additions after which the bound is computed again

  uint64_t above(uint64_t magnitude) const { return fp::add(format_, magnitude, addend_, up_).code + 1; }

  FloatFormat format_;
  uint64_t addend_;
  Semantics up_;
  bool inexact_wanted_;
  bool near_limit_ = false;
  uint64_t bound_ = 0;
  int age_ = kMostAge;
};

/// All replicas of the chunk at once, as 16-bit codes.
class Lanes {
 public:
  Lanes(const RunningSumSetup& s, const SumChunk& chunk)
      : setup_(s),
        chunk_(chunk),
        vigilance_(s),
        filled_((chunk.codes.size() + kGroup - 1) / kGroup * kGroup),
        memory_(3 * filled_ + kGroup),
        change_(filled_) {
    uint16_t* first = memory_.data();
    while (reinterpret_cast<uintptr_t>(first) % 64 != 0) ++first;
    now_ = {first, filled_};
    next_ = {first + filled_, filled_};
    addend_ = {first + 2 * filled_, filled_};
    // The padding of the last group stays zero.
    std::fill_n(now_.begin(), chunk.codes.size(), static_cast<uint16_t>(s.start));
    std::fill_n(addend_.begin(), chunk.codes.size(), static_cast<uint16_t>(s.addend));
    random_.engine = s.engine;
    random_.seed = s.seed;
    random_.operation = s.operation;
    random_.first_index = chunk.first;
  }

  FirstFlags run(const std::function<void(uint64_t)>& done) {
    Tracer tracer(setup_, chunk_);
    FirstFlags flags;
    const auto code = [&](size_t i) { return now_[i]; };
    tracer.see(0, code);
    for (uint64_t n = 1; n <= setup_.count; ++n) {
      add(n, flags);
      tracer.see(n, code);
      if (n % kEpoch == 0) note_changes(n - kEpoch);
      if (n % kRunningSumTick == 0) done(n);
    }
    note_changes(setup_.count / kEpoch * kEpoch);
    for (size_t i = 0; i < chunk_.codes.size(); ++i) chunk_.codes[i] = now_[i];
    return flags;
  }

 private:
  static constexpr size_t kGroup = 64;
  static constexpr uint64_t kEpoch = 1 << 14;  ///< additions whose number fits a lane

  void add(uint64_t n, FirstFlags& flags) {
    const bool vigilant = vigilance_.needed(now_, flags);
    random_.step = static_cast<uint32_t>(n - 1);
    const uint8_t raised =
        code_arithmetic(CodeOperation::kAdd, setup_.format, setup_.semantics, now_, addend_, next_, random_, vigilant);
    if (raised & ~flags.flags) flags.raise(raised, n);
    const int16_t number = static_cast<int16_t>((n - 1) % kEpoch + 1);
    mark(now_.data(), next_.data(), change_.data(), filled_, number);
    std::swap(now_, next_);
  }
  /// Stores the number of the addition within its epoch where a sum has changed. A compiler makes vectors of it where
  /// it knows the count of the inner loop, and that nothing overlaps.
  static void mark(const uint16_t* __restrict before, const uint16_t* __restrict after, int16_t* __restrict change,
                   size_t count, int16_t number) {
    for (size_t g = 0; g < count; g += kGroup)
      for (size_t i = 0; i < kGroup; ++i) {
        const int16_t now = before[g + i] != after[g + i] ? number : int16_t{0};
        change[g + i] = change[g + i] > now ? change[g + i] : now;  // numbers ascend
      }
  }
  void note_changes(uint64_t epoch_start) {
    for (size_t i = 0; i < chunk_.codes.size(); ++i)
      if (change_[i] != 0) chunk_.last_change[i] = epoch_start + static_cast<uint64_t>(change_[i]);
    std::fill(change_.begin(), change_.end(), int16_t{0});
  }

  const RunningSumSetup& setup_;
  const SumChunk& chunk_;
  Vigilance vigilance_;
  size_t filled_;
  std::vector<uint16_t> memory_;
  std::vector<int16_t> change_;
  std::span<uint16_t> now_, next_, addend_;
  bulk::RandomSource random_;
};

}  // namespace

FirstFlags sum_by_lanes(const RunningSumSetup& setup, const SumChunk& chunk,
                        const std::function<void(uint64_t)>& done) {
  return Lanes(setup, chunk).run(done);
}

}  // namespace softamp::detail
