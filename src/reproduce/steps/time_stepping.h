// Shared by the experiments that step through time: long runs distributed over the cores, arithmetic on many lanes in
// any format of at most 32 bits, and the step length as a number of the format.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "softamp/numerics/round.h"
#include "softamp/numerics/rounding.h"
#include "src/reproduce/experiment.h"
#include "src/reproduce/steps/paths.h"

namespace softamp::reproduce::stepping {

/// Progress of run_jobs' jobs; every job reports to it now and then.
class JobProgress {
 public:
  /// `work` more is done, in the unit of run_jobs' total. Throws if the run must stop: do not catch it.
  void add(double work);

 private:
  friend void run_jobs(size_t, double, Watch&, const std::function<void(size_t, JobProgress&)>&);
  std::atomic<double> done_{0};
  std::atomic<bool> stop_{false};
};

/// job(0 .. jobs - 1), each once, on all cores, begun in this order: the longest first. The caller's thread only
/// reports to `watch`. Jobs write to separate memory. Throws Interrupted, and what a job throws.
void run_jobs(size_t jobs, double total, Watch& watch, const std::function<void(size_t, JobProgress&)>& job);

/// Paths for formats of 17 to 32 bits: the same operations and addresses, one lane after the other.
class WidePaths {
 public:
  WidePaths(const FloatFormat& format, const Semantics& semantics, uint64_t seed)
      : format_(format), semantics_(semantics), seed_(seed) {}

  using Code = uint32_t;
  void add(std::span<const uint32_t> a, std::span<const uint32_t> b, std::span<uint32_t> out,
           const Paths::Site& site) const;
  void sub(std::span<const uint32_t> a, std::span<const uint32_t> b, std::span<uint32_t> out,
           const Paths::Site& site) const;
  void mul(std::span<const uint32_t> a, std::span<const uint32_t> b, std::span<uint32_t> out,
           const Paths::Site& site) const;

 private:
  FloatFormat format_;
  Semantics semantics_;
  uint64_t seed_;
};

/// The request's modes, or nearest even and stochastic. Throws std::invalid_argument for random bits or paths if no
/// mode is stochastic.
std::vector<RoundingMode> roundings_of(const Request& request, const std::string& experiment);

/// "nearest, stochastic" of `modes`, for the settings.
Json names_of(const std::vector<RoundingMode>& modes);

/// A curve of one format for each of the modes: all of the colour that its `place` (0 ..) among the formats gives,
/// stochastic dashed. fill(mode, curve) adds the points.
void add_curves(Plot& plot, const FloatFormat& format, int place, const std::vector<RoundingMode>& modes,
                const std::function<void(RoundingMode, Curve&)>& fill);

/// The paths of a stochastic run: the request's samples, or `usual`. Throws std::invalid_argument beyond `most`.
uint32_t paths_of(const Request& request, const std::string& experiment, uint32_t usual, uint32_t most);

/// The deviation of an experiment with stochastic paths: their number, "100 paths" and what else `paths` says, and the
/// random bits are ours.
std::string own_paths(const std::string& paths, int bits);

/// numerator / denominator (both below 2^63, denominator > 0) times 2^exponent, exactly as far as a rounding reads:
/// detail::quotient takes significands of 24 bits, and the search for the n where a format stands still passes 2^24.
Exact quotient(uint64_t numerator, uint64_t denominator, int exponent);

/// A rounding site that no other format and no other `run` (0 .. 1023) of an experiment shares; `kind` (0..7).
uint32_t site_of(const FloatFormat& format, uint32_t run, uint32_t kind);

/// How many standard errors a mean may differ from its expectation: 5, which a normal variate exceeds once in 1.7
/// million.
inline constexpr double kStandardErrors = 5;

}  // namespace softamp::reproduce::stepping
