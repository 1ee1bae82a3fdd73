#include "src/train/optimizers/lost_updates.h"

#include <cmath>
#include <stdexcept>

#include "softamp/machine/float_environment.h"
#include "softamp/numerics/format.h"
#include "src/train/optimizers/optimizer_update.h"

namespace softamp {
namespace {

/// Half the distances from a number of a format to its neighbours, and whether its significand is even.
struct Halves {
  double away = 0, towards_zero = 0;
  bool even = true;
};

Halves halves_of(const FloatFormat& f, double weight) {
  int exponent = f.min_exponent() + 1;  // of a fraction in [0.5, 1)
  const double fraction = std::frexp(std::fabs(weight), &exponent);
  const bool normal = weight != 0 && exponent - 1 >= f.min_exponent();
  const int quantum = (normal ? exponent - 1 : f.min_exponent()) - f.mantissa_bits();
  const bool at_a_power = normal && fraction == 0.5 && exponent - 1 > f.min_exponent();
  const double away = std::ldexp(0.5, quantum);
  return {away, at_a_power ? away / 2 : away, std::fmod(std::fabs(weight) / (2 * away), 2) == 0};
}

/// is_lost of a floating dtype, in the default environment.
// implements: N298
bool lost(const FloatFormat& f, double weight, double update) {
  if (update == 0 || !std::isfinite(weight) || !std::isfinite(update)) return false;
  const Halves half = halves_of(f, weight);
  const double bound = (update > 0) == (weight > 0) && weight != 0 ? half.towards_zero : half.away;
  // In the middle nearest takes the even neighbour: a power of two is even, and what lies below it is odd.
  return std::fabs(update) < bound || (std::fabs(update) == bound && half.even);
}

}  // namespace

bool is_lost(DType dtype, double weight, double update) {
  if (!is_floating(dtype))
    throw std::invalid_argument(std::string("the weight's dtype is ") + name_of(dtype) + "; expected a floating one");
  const engine::DefaultEnvironment guard;
  return lost(format_of(dtype), weight, update);
}

double LostUpdates::share() const {
  return engine::in_default_environment(
      [&] { return moving ? static_cast<double>(lost) / static_cast<double>(moving) : 0; });
}

namespace train_detail {

// implements: N298
void count_lost(const OptimizerOptions& o, const UpdateValues& x, LostUpdates& counts) {
  const engine::DefaultEnvironment guard;
  const FloatFormat f = format_of(counts.dtype);
  const RoundedHyperparameters h = rounded_hyperparameters(o, counts.dtype);
  // As the operations have them: attributes are fp32, unless the variable is float64.
  const bool wide = counts.dtype == DType::kFloat64;
  const auto as_held = [wide](double held) { return wide ? held : static_cast<double>(static_cast<float>(held)); };
  const double share = as_held(h.momentum), epsilon = as_held(h.epsilon),
               decay = as_held(o.weight_decay > 0 ? x.decay.value_or(h.decay) : h.decay);
  counts.elements = x.before.elements();
  for (int64_t i = 0; i < counts.elements; ++i) {
    const double w = x.before.value(i), g = x.gradient.value(i);
    const auto slot = [&](size_t s) { return x.slots[s]->value(i); };
    double update = 0;
    switch (o.kind) {
      case OptimizerKind::kSgd: update = x.rate * g; break;
      case OptimizerKind::kMomentum: update = x.rate * slot(0); break;
      case OptimizerKind::kNesterov: update = x.rate * (g + share * slot(0)); break;
      case OptimizerKind::kRmsProp: update = slot(1); break;
      case OptimizerKind::kAdam:
      case OptimizerKind::kAdamW: update = x.rate * slot(0) / (std::sqrt(slot(1)) + epsilon) + decay * w; break;
    }
    counts.moving += update != 0;
    if (x.compensation)
      counts.lost += update != 0 && std::isfinite(update) && std::isfinite(w) && x.after.value(i) == w &&
                     x.slots.back()->value(i) == x.compensation->value(i);
    else
      counts.lost += lost(f, w, update);
  }
}

}  // namespace train_detail
}  // namespace softamp
