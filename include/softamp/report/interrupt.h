// Ends a long run cleanly when it is interrupted: no half-written file stays behind.
#pragma once

#include <csignal>

namespace softamp {

/// While it lives, SIGINT, SIGTERM and SIGHUP are only noted (SIGHUP under nohup stays ignored). Only one may exist at
/// a time; its end restores the handlers from before.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  /// The signal received; 0 if none. Any thread may call it.
  static int pending();

 private:
  static constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
  struct sigaction before_[3];
};

}  // namespace softamp
