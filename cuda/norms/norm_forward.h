// Parameters of the passes of normalisations, and what they share.
#pragma once

#include "cuda/norms/norm.h"

namespace softamp::cuda {

using kernel::Moments;

/// Parameters of every pass.
struct Forward {
  NormPlaces places;
  kernel::NormOptions options;
  bool training;
  float factor;
  Reader x, gamma, beta;
  kernel::Elements old_mean, old_variance;  ///< batch
  SmallOutput outputs[4];                   ///< 1 .. 4
  // By group, in scratch memory.
  float *mean, *inverse;
  uint32_t* flags;      ///< of the first pass
  uint32_t* half_mean;  ///< fp16 statistics: the mean's code
  StepEnvironment environment;
  DeviceStatus* status;

  SOFTAMP_HD const Semantics& semantics() const { return environment.environment.semantics; }
  SOFTAMP_HD uint64_t size() const { return places.shape.group_size(); }

  SOFTAMP_PRIMITIVE void load(const Eight& e, uint64_t k, Singles<uint32_t>& codes) const {
    places.load(x, e, k, codes);
  }

  /// Computes a group's outputs, and the values that its elements need, from its moments. `steps`: flags of the
  /// statistics.
  SOFTAMP_HD void settle(uint64_t g, Moments m, Steps steps) const {
    const uint64_t first = size() ? places.element(g, 0).place : g;
    if (places.kind == NormKind::kBatch) {
      Steps after;
      Moments r = m;
      if (training)
        r = kernel::running_moments(after, m, size(), g, {factor, &old_mean, &old_variance}, semantics());
      else
        after = steps;
      outputs[0].put(environment, status, 1, g, r.mean, after.flags, g);
      outputs[1].put(environment, status, 2, g, r.variance, after.flags, g);
      outputs[2].put(environment, status, kNoSite, g, m.mean, steps.flags, g);
      outputs[3].put(environment, status, kNoSite, g, m.variance, steps.flags, g);
    } else {
      outputs[0].put(environment, status, kNoSite, g, m.mean, 0, first);
      outputs[1].put(environment, status, kNoSite, g, m.variance, 0, first);
    }
    mean[g] = m.mean;
    inverse[g] = kernel::inverse_deviation(steps, m.variance, options.epsilon);
    if (size()) raise_status(status, static_cast<uint8_t>(steps.flags & semantics().wide.flags), first);
  }
};

enum class Pass : uint8_t {
  kBoth,        ///< sums of x and of x x
  kMean,        ///< of x
  kDeviations,  ///< of (x - mean)^2
  kSquares,     ///< of x x: fp16 statistics
};

/// Puts a pass of fp16 statistics into the queue: kMean, then kSquares or kDeviations, which settles groups.
void launch_half_moments(const DeviceCall& call, const Forward& f, Pass pass, void* scratch);

}  // namespace softamp::cuda
