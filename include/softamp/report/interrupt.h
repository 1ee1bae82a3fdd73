// Lets a long run leave in order when it is interrupted: no half-written file stays behind.
#pragma once

#include <csignal>

namespace softamp {

/// While it lives, SIGINT, SIGTERM and SIGHUP are only noted (SIGHUP under nohup stays ignored). One at a time; what
/// was set before comes back when it ends.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  /// The signal that came; 0 if none did. Any thread may ask.
  static int pending();

 private:
  static constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
  struct sigaction before_[3];
};

}  // namespace softamp
