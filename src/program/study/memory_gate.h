// Runs of a study that would not fit into memory side by side take their turns.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>

namespace softamp::program {

/// Each run enters with what it needs, and leaves. For any thread.
class MemoryGate {
 public:
  /// bytes: for all runs that are inside. waits(bytes, inside): called once, when the first run has to wait: what it
  /// needs, and how many are inside.
  MemoryGate(uint64_t bytes, std::function<void(uint64_t bytes, int inside)> waits)
      : bytes_(bytes), waits_(std::move(waits)) {}

  /// Waits until there is room beside those inside, or none is, or `stopped` says so.
  void enter(uint64_t bytes, const std::function<bool()>& stopped) {
    std::unique_lock lock(mutex_);
    while (inside_ > 0 && taken_ + bytes > bytes_ && !stopped()) {
      if (waits_) waits_(bytes, inside_);
      waits_ = nullptr;
      changed_.wait_for(lock, std::chrono::milliseconds(100));  // nobody tells it that it is stopped
    }
    ++inside_;
    taken_ += bytes;
  }
  void leave(uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    --inside_;
    taken_ -= bytes;
    changed_.notify_all();
  }

 private:
  uint64_t bytes_, taken_ = 0;
  int inside_ = 0;
  std::function<void(uint64_t bytes, int inside)> waits_;
  std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace softamp::program
