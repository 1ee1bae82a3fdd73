// When to try the fast stochastic rounding, which is right only if all results are normal numbers.
#pragma once

#include "emu/simd.h"

namespace softamp::emu {
namespace {

/// Decides for each group whether to try the fast rounding: after several failures in a row it pauses for a while.
class NormalGroups {
 public:
  SOFTAMP_LANES bool expected() {
    if (resting_ == 0) return true;
    --resting_;
    return false;
  }
  /// Records whether a group's results were normal, and returns it.
  SOFTAMP_LANES bool settled(bool normal) {
    if (normal) [[likely]] {
      penalty_ = 0;
      return true;
    }
    resting_ = penalty_;
    penalty_ = penalty_ < 15 ? 2 * penalty_ + 1 : 31;
    return false;
  }

 private:
  int resting_ = 0, penalty_ = 0;
};

}  // namespace
}  // namespace softamp::emu
