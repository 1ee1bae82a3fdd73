// Ending a run in the middle of a long operation.
#pragma once

#include <cstdint>
#include <functional>

#include "softamp/graph/executor.h"

namespace softamp::emu {

/// Asks about once a millisecond whether the run is to end (ExecutorOptions::stop). Every thread of a loop has its own.
class StopCheck {
 public:
  /// What one multiply-add, or another operation of an element, takes by its body: nanoseconds, roughly.
  static constexpr uint64_t kBody = 20;

  /// null: never.
  explicit StopCheck(const std::function<bool()>* stop) : stop_(stop) {}

  /// `nanoseconds`, roughly, were spent since the last call. Throws RunStopped if the run is to end.
  void after(uint64_t nanoseconds) {
    if (stop_ && (spent_ += nanoseconds) >= kBetween) ask();
  }

 private:
  static constexpr uint64_t kBetween = 1000000;

  void ask() {
    spent_ = 0;
    if ((*stop_)()) throw RunStopped("the run was stopped in the middle of an operation");
  }

  const std::function<bool()>* stop_;
  uint64_t spent_ = 0;
};

}  // namespace softamp::emu
