#include "src/train/replica_drift.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace softamp {
namespace {

/// Of two numbers with different codes.
double distance(double a, double b) {
  const double d = std::fabs(a - b);
  return d >= 0 ? d : std::numeric_limits<double>::infinity();
}

}  // namespace

std::optional<ReplicaDrift> replica_drift(const TrainingStep& training) {
  std::optional<ReplicaDrift> farthest;
  for (const VariableSpec& v : training.model().variables) {
    const Tensor& first = training.variable(v.name, 0);
    for (int r = 1; r < training.options().replicas; ++r) {
      const Tensor& other = training.variable(v.name, r);
      if (first.same_bits(other)) continue;
      for (int64_t i = 0; i < first.elements(); ++i) {
        if (first.code(i) == other.code(i)) continue;
        const double d = distance(first.value(i), other.value(i));
        if (!farthest || d > farthest->distance) farthest = {d, v.name, r, i};
      }
    }
  }
  return farthest;
}

}  // namespace softamp
