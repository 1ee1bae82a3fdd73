// When to try the short way of stochastic rounding, which normal results allow.
#pragma once

#include "emu/simd.h"

namespace softamp::emu {
namespace {

/// Decides from group to group whether to try the way of normal results: after failures in a row it rests for a while.
class NormalGroups {
 public:
  SOFTAMP_LANES bool expected() {
    if (resting_ == 0) return true;
    --resting_;
    return false;
  }
  /// Notes whether a group came out normal, and returns it.
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
