#include "src/python/interrupt.h"

#include "src/python/gil.h"

namespace softamp::python {

void check_signals() {
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

bool StopWatch::stopped() {
  if (stopped_) return true;
  if (std::this_thread::get_id() != thread_) return false;
  const auto now = std::chrono::steady_clock::now();
  if (now - last_ < std::chrono::milliseconds(10)) return false;
  last_ = now;
  call(check_signals);
  return stopped_;
}

void StopWatch::call(const std::function<void()>& python) {
  try {
    const Held held;
    try {
      calling_python(python);
    } catch (nb::python_error& error) {
      if (!error_) error_.emplace(std::move(error));
      stopped_ = true;
    }
  } catch (const InterpreterEnds&) {
    stopped_ = true;
  }
}

void StopWatch::rethrow() {
  if (!error_) return;
  nb::python_error error = std::move(*error_);
  error_.reset();
  throw error;
}

}  // namespace softamp::python
