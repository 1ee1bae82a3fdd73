#include <algorithm>

#include "softamp/numerics/operations.h"
#include "src/sums/sum_trace.h"
#include "src/sums/sum_ways.h"
#include "src/tensor/code_arithmetic.h"

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
      age_ = 0;
      next = above(greatest_magnitude(sums));
      // A sum that has been beyond the largest number may have any value from then on, so this stays set.
      near_limit_ = next > format_.max_finite_code();
    }
    bound_ = next;
    return near_limit_;
  }

 private:
  static constexpr int kMostAge = 64;  ///< additions after which the bound is computed again
  static constexpr size_t kSide = 16;  ///< divides the number of sums, padding included

  /// Magnitudes have at most 15 bits: with a sign vectors of the baseline have a maximum.
  uint16_t greatest_magnitude(std::span<const uint16_t> sums) const {
    const uint16_t mask = static_cast<uint16_t>(format_.magnitude_mask());
    int16_t greatest[kSide] = {};
    for (size_t g = 0; g < sums.size(); g += kSide)
      for (size_t i = 0; i < kSide; ++i) {
        const int16_t magnitude = static_cast<int16_t>(sums[g + i] & mask);
        greatest[i] = greatest[i] > magnitude ? greatest[i] : magnitude;
      }
    return static_cast<uint16_t>(*std::max_element(greatest, greatest + kSide));
  }

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
        memory_(4 * filled_ + kGroup),
        change_(filled_) {
    uint16_t* first = memory_.data();
    while (reinterpret_cast<uintptr_t>(first) % 64 != 0) ++first;
    now_ = {first, filled_};
    middle_ = {first + filled_, filled_};
    next_ = {first + 2 * filled_, filled_};
    addend_ = {first + 3 * filled_, filled_};
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
    std::span<const uint16_t> last = now_;
    const auto code = [&](size_t i) { return last[i]; };
    tracer.see(0, code);
    for (uint64_t n = 1; n <= setup_.count; ++n) {
      const bool second = n % 2 == 0;
      add(n, second ? middle_ : now_, second ? next_ : middle_, flags);
      last = second ? next_ : middle_;
      tracer.see(n, code);
      if (!second && n < setup_.count) continue;
      // Two additions are noted together; a last one without a second is noted as one that changed nothing after it.
      const uint64_t later = second ? n : n + 1;
      mark(now_.data(), middle_.data(), second ? next_.data() : middle_.data(), change_.data(), filled_,
           static_cast<int16_t>((later - 1) % kEpoch + 1));
      if (second) std::swap(now_, next_);
      if (second) last = now_;
      if (n % kEpoch == 0) note_changes(n - kEpoch);
      if (n % kRunningSumTick == 0) done(n);
    }
    note_changes(setup_.count / kEpoch * kEpoch);
    for (size_t i = 0; i < chunk_.codes.size(); ++i) chunk_.codes[i] = last[i];
    return flags;
  }

 private:
  static constexpr size_t kGroup = 64;
  static constexpr uint64_t kEpoch = 1 << 14;  ///< additions whose number fits a lane

  void add(uint64_t n, std::span<const uint16_t> before, std::span<uint16_t> after, FirstFlags& flags) {
    const bool vigilant = vigilance_.needed(before, flags);
    random_.step = static_cast<uint32_t>(n - 1);
    const uint8_t raised = code_arithmetic(CodeOperation::kAdd, setup_.format, setup_.semantics, before, addend_, after,
                                           random_, vigilant);
    if (raised & ~flags.flags) flags.raise(raised, n);
  }
  /// Stores the number of the last of two additions within its epoch that changed a sum; `later` is the second one's.
  /// Noting them one by one took a third more, for it is bounded by loads and stores. A compiler makes vectors of it
  /// where it knows the count of the inner loop, and that nothing overlaps.
  static void mark(const uint16_t* __restrict before, const uint16_t* __restrict middle, const uint16_t* after,
                   int16_t* __restrict change, size_t count, int16_t later) {
    const int16_t earlier = static_cast<int16_t>(later - 1);
    for (size_t g = 0; g < count; g += kGroup)
      for (size_t i = 0; i < kGroup; ++i) {
        const int16_t first = before[g + i] != middle[g + i] ? earlier : int16_t{0};
        const int16_t second = middle[g + i] != after[g + i] ? later : int16_t{0};
        const int16_t last = first > second ? first : second;
        change[g + i] = change[g + i] > last ? change[g + i] : last;  // numbers ascend
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
  std::span<uint16_t> now_, middle_, next_, addend_;  // sums before, between and after two additions
  bulk::RandomSource random_;
};

}  // namespace

FirstFlags sum_by_lanes(const RunningSumSetup& setup, const SumChunk& chunk,
                        const std::function<void(uint64_t)>& done) {
  return Lanes(setup, chunk).run(done);
}

}  // namespace softamp::detail
