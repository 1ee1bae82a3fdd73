#include "src/report/running_sum_chunk.h"

#include <algorithm>

#include "softamp/numerics/operations.h"
#include "softamp/numerics/random.h"
#include "softamp/numerics/tile_random.h"
#include "softamp/report/number_text.h"
#include "src/report/code_arithmetic.h"

namespace softamp::detail {
namespace {

/// The random words of one addition, one per replica of the chunk.
class AdditionBits {
 public:
  AdditionBits(const RunningSumSetup& s, const SumChunk& chunk)
      : engine_(s.engine),
        operation_(s.operation),
        first_(chunk.first),
        words_(chunk.codes.size()),
        philox_{s.seed, s.engine == RandomEngine::kPhilox7 ? 7 : 10} {
    const RoundingPolicy& policy = s.semantics.rounding(s.format);
    wide_ = policy.random_bits > 16;
    work_.elements = words_.size();
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
    const uint32_t lanes = wide_ ? 4 : 8;  // of one Philox block (N71)
    for (size_t first = 0; first < words_.size(); first += lanes) {
      const RandomBlock block = philox_.block(addition, operation_, (first_ + first) / lanes);
      for (uint32_t i = 0; i < lanes && first + i < words_.size(); ++i)
        words_[first + i] = wide_ ? block.word[i] : block.lane16(i);
    }
    return words_;
  }

 private:
  RandomEngine engine_;
  uint32_t operation_;
  uint64_t first_;
  bool wide_ = false;  ///< 32-bit lanes
  std::vector<uint32_t> words_;
  RandomBits philox_;
  TileWork work_{};
  TileRandom tile_{};
};

/// Records the sums of the first replicas for a trace.
class Tracer {
 public:
  Tracer(const RunningSumSetup& setup, const SumChunk& chunk) : setup_(setup), chunk_(chunk) {}

  /// `code(i)`: the sum of replica i after `additions`.
  template <class Code>
  void see(uint64_t additions, const Code& code) {
    if (!chunk_.trace_at || place_ >= chunk_.trace_at->size() || additions < (*chunk_.trace_at)[place_]) return;
    for (size_t i = 0; i < chunk_.traces.size(); ++i) chunk_.traces[i][place_] = value_of(setup_.format, code(i));
    ++place_;
  }
  /// The sums no longer change: records them for the rest of the trace.
  template <class Code>
  void finish(const Code& code) {
    if (chunk_.trace_at)
      while (place_ < chunk_.trace_at->size()) see((*chunk_.trace_at)[place_], code);
  }

 private:
  const RunningSumSetup& setup_;
  const SumChunk& chunk_;
  size_t place_ = 0;
};

/// Addition by addition, replica by replica.
FirstFlags by_scalars(const RunningSumSetup& s, const SumChunk& chunk, const std::function<void(uint64_t)>& done) {
  const bool stochastic = s.semantics.draws(s.format);
  const std::span<uint64_t> codes = chunk.codes;
  AdditionBits random(s, chunk);
  Tracer tracer(s, chunk);
  FirstFlags flags;
  const auto code = [&](size_t i) { return codes[i]; };
  tracer.see(0, code);
  for (uint64_t n = 1; n <= s.count; ++n) {
    const uint32_t* const words = stochastic ? random.draw(static_cast<uint32_t>(n - 1)).data() : nullptr;
    bool changed = false;
    for (size_t i = 0; i < codes.size(); ++i) {
      const Rounded r = fp::add(s.format, codes[i], s.addend, s.semantics, words ? words[i] : 0);
      if (r.code != codes[i]) {
        codes[i] = r.code;
        chunk.last_change[i] = n;
        changed = true;
      }
      if (r.flags & ~flags.flags) flags.raise(r.flags, n);
    }
    if (!changed && !stochastic) {
      tracer.finish(code);
      return flags;
    }
    tracer.see(n, code);
    if (n % kRunningSumTick == 0) done(n);
  }
  return flags;
}

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
        memory_(4 * filled_ + kGroup) {
    uint16_t* first = memory_.data();
    while (reinterpret_cast<uintptr_t>(first) % 64 != 0) ++first;
    now_ = {first, filled_};
    next_ = {first + filled_, filled_};
    addend_ = {first + 2 * filled_, filled_};
    change_ = {first + 3 * filled_, filled_};
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
  /// Stores the number of the addition within its epoch where a sum has changed. Numbers ascend, so this is a maximum.
  static void mark(const uint16_t* before, const uint16_t* after, uint16_t* change, size_t count, int16_t number) {
    for (size_t i = 0; i < count; ++i) {
      const int16_t now = before[i] != after[i] ? number : int16_t{0};
      change[i] = static_cast<uint16_t>(std::max(static_cast<int16_t>(change[i]), now));
    }
  }
  void note_changes(uint64_t epoch_start) {
    for (size_t i = 0; i < chunk_.codes.size(); ++i)
      if (change_[i] != 0) chunk_.last_change[i] = epoch_start + change_[i];
    std::fill(change_.begin(), change_.end(), uint16_t{0});
  }

  const RunningSumSetup& setup_;
  const SumChunk& chunk_;
  Vigilance vigilance_;
  size_t filled_;
  std::vector<uint16_t> memory_;
  std::span<uint16_t> now_, next_, addend_, change_;
  bulk::RandomSource random_;
};

constexpr size_t kLanesFrom = 12;  ///< fewer replicas are faster one by one

}  // namespace

FirstFlags run_sum_chunk(const RunningSumSetup& setup, const SumChunk& chunk,
                         const std::function<void(uint64_t)>& done) {
  std::fill(chunk.codes.begin(), chunk.codes.end(), setup.start);
  std::fill(chunk.last_change.begin(), chunk.last_change.end(), 0);
  const bool addressed = setup.engine != RandomEngine::kXoroshiro128aox;
  if (addressed && setup.semantics.draws(setup.format) && setup.format.storage_bits() <= 16 &&
      chunk.codes.size() >= kLanesFrom)
    return Lanes(setup, chunk).run(done);
  return by_scalars(setup, chunk, done);
}

}  // namespace softamp::detail
