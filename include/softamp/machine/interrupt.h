// Ends a long run cleanly when it is interrupted: no half-written file stays behind.
#pragma once

#include <csignal>
#include <iterator>

namespace softamp {

/// While it lives, SIGINT, SIGTERM, SIGHUP and SIGPIPE are only noted; one that is ignored, as SIGHUP under nohup,
/// stays ignored. After SIGPIPE, nobody reads the output any more, and writing fails (EPIPE). Guards nest, in one
/// thread: the outermost one forgets an earlier signal when it begins, and its end restores the handlers from before.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  /// The signal received; 0 if none. Any thread may call it.
  static int pending();

 private:
  static constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
  struct sigaction before_[std::size(kSignals)];
};

}  // namespace softamp
