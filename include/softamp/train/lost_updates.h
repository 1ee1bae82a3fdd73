// How many updates are too small for their weights (TUTORIAL G40): rounding to nearest loses an update below half the
// distance from its weight to the next number of the weight's own format. Momentum makes updates larger, stochastic
// rounding keeps small ones on average, weights in float32 stand closer to each other.
//
// Under WeightUpdate::kKahan an update is kept where the weight stays and its compensation moves. There those are lost
// that leave both as they were: too small for the compensation, too.
//
// What is counted is the update as its formula gives it, before it is rounded into the variable (N298).
#pragma once

#include <cstdint>
#include <string>

#include "softamp/names/dtype.h"

namespace softamp {

/// Whether weight - update, taken exactly and rounded to nearest even in `dtype`, is the weight, though the update is
/// not 0. `weight` is a number of `dtype`. False where either is infinite or NaN. Throws std::invalid_argument for a
/// dtype that is not floating.
bool is_lost(DType dtype, double weight, double update);

/// The updates of one variable in one step, of replica 0.
struct LostUpdates {
  std::string variable;
  DType dtype = DType::kFloat32;  ///< of the variable
  bool stochastic = false;        ///< whether they are rounded stochastically: nearest would have lost them
  int64_t elements = 0;
  int64_t moving = 0;  ///< of these, with an update that is not 0
  int64_t lost =
      0;  ///< of these, with is_lost; under Kahan's sum: of these, that changed neither weight nor compensation
  double share() const;  ///< lost / moving; 0 where nothing moves
};

}  // namespace softamp
