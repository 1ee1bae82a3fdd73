// Lets a verb leave in order when it is interrupted: no half-written file stays behind.
#pragma once

#include <csignal>

namespace softamp::program {

/// While it lives, SIGINT, SIGTERM and SIGHUP are only noted. One at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  /// The signal that came; 0 if none did.
  static int pending();

 private:
  static constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
  struct sigaction before_[3];
};

}  // namespace softamp::program
