// One operation of the emulated unit on many independent paths at once: what experiments over thousands of stochastic
// runs are made of.
//
// Each element is the exact result rounded once under the semantics' policy, as fp::add, fp::sub and fp::mul give it,
// bit for bit; no binary64 value in between that would change a result. Path i of a call reads the random word at
// (seed, step, operation, first_path + i) (N72), so results depend on nothing else: not on threads, not on how paths
// are cut into calls.
#pragma once

#include <cstdint>
#include <span>

#include "softamp/numerics/format.h"
#include "softamp/numerics/semantics.h"

namespace softamp::reproduce {

class Paths {
 public:
  /// format: one of at most 16 bits. seed: of Philox4x32-10.
  Paths(const FloatFormat& format, const Semantics& semantics, uint64_t seed);

  /// Where an operation's random words are: `operation` names the rounding site (0 .. 2^24 - 1), `step` the time step.
  struct Site {
    uint32_t operation = 0;
    uint32_t step = 0;
    uint64_t first_path = 0;
  };

  /// out[i] = a[i] op b[i], codes of the format. `out` may be `a` or `b`. On the calling thread alone.
  /// Throws std::invalid_argument where the lengths differ.
  void add(std::span<const uint16_t> a, std::span<const uint16_t> b, std::span<uint16_t> out, const Site& site) const;
  void sub(std::span<const uint16_t> a, std::span<const uint16_t> b, std::span<uint16_t> out, const Site& site) const;
  void mul(std::span<const uint16_t> a, std::span<const uint16_t> b, std::span<uint16_t> out, const Site& site) const;

  const FloatFormat& format() const { return format_; }
  const Semantics& semantics() const { return semantics_; }

 private:
  FloatFormat format_;
  Semantics semantics_;
  uint64_t seed_;
};

/// The semantics of an experiment: IEEE 754 but for the mode, and for `bits` random bits of the variant carry where
/// that is stochastic; overflow to infinity.
Semantics experiment_semantics(RoundingMode mode, int bits = 13);

}  // namespace softamp::reproduce
