// One operation of the emulated unit on many independent paths at once: used by experiments over thousands of
// stochastic runs.
//
// Each element is the exact result rounded once under the semantics' policy, as fp::add, fp::sub and fp::mul give it,
// bit for bit. Path i of a call reads the random word at (seed, step, operation, first_path + i) (N72), so results
// depend neither on threads nor on how paths are divided into calls.
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

  /// The address of an operation's random words: `operation` names the rounding site (0 .. 2^24 - 1), `step` the time
  /// step.
  struct Site {
    uint32_t operation = 0;
    uint32_t step = 0;
    uint64_t first_path = 0;
  };

  /// out[i] = a[i] op b[i], codes of the format. `out` may be `a` or `b`. Runs on the calling thread only. Throws
  /// std::invalid_argument if the lengths differ.
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

/// The semantics of an experiment: IEEE 754 except for the mode, and `bits` random bits of the variant carry if that is
/// stochastic; overflow to infinity.
Semantics experiment_semantics(RoundingMode mode, int bits = 13);

}  // namespace softamp::reproduce
