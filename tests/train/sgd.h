// Gradient descent without momentum, the optimizer of most tests of training.
#pragma once

#include "softamp/train/optimizer.h"

namespace softamp::test {

inline OptimizerOptions sgd(double rate) {
  OptimizerOptions o = OptimizerOptions::of(OptimizerKind::kSgd);
  o.learning_rate = rate;
  return o;
}

}  // namespace softamp::test
