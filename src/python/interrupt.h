// Ctrl-C during long work: Python's own handlers decide, on the main thread.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <thread>

namespace softamp::python {

namespace nb = nanobind;

/// Lets handlers of signals run. The lock must be held. Throws what they raise: KeyboardInterrupt.
void check_signals();

/// What `stop` functions of the library ask: whether a handler, or a function of the caller's, has raised. Made with
/// the lock held, asked without it and from any thread; looks at signals a hundred times a second at most, and only on
/// the thread that it was made on.
class StopWatch {
 public:
  bool stopped();
  /// Calls a function of Python's from work without the lock, on the thread that this was made on. Keeps what it
  /// raises, and stops; stops, too, where the interpreter is ending.
  void call(const std::function<void()>& python);
  /// With the lock held: throws what was kept.
  void rethrow();

 private:
  const std::thread::id thread_ = std::this_thread::get_id();
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  std::atomic<bool> stopped_ = false;
  std::optional<nb::python_error> error_;
};

}  // namespace softamp::python
