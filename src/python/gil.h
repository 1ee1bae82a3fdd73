// The interpreter's lock, let go of during work that needs none and taken back within it.
//
// A daemon thread may be in such work when the interpreter ends. CPython up to 3.13 then ends the thread where it asks
// for the lock, by unwinding its stack: over destructors, which must not throw, so that the process aborted. Here such
// a thread waits for the end of the process instead, as CPython 3.14 has it; and the process goes on to destroy what
// the library's work uses only after that work has come to an end.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <exception>

namespace softamp::python {

namespace nb = nanobind;

/// The interpreter is ending: Python is not to be called any more, and work should stop.
struct InterpreterEnds : std::exception {
  const char* what() const noexcept override { return "the interpreter is ending"; }
};

/// Lets other threads of Python run as long as it lives.
class Released {
 public:
  Released() { let_go(); }
  /// Only where there is work that is worth it.
  explicit Released(size_t elements) {
    if (elements >= kWorthIt) let_go();
  }
  ~Released();
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;

 private:
  friend class Held;
  static constexpr size_t kWorthIt = 1024;
  void let_go();

  PyThreadState* state_ = nullptr;
  Released* outer_ = nullptr;
};

/// Takes the lock back, on a thread that has let go of it. Does nothing where it has not.
class Held {
 public:
  /// Throws InterpreterEnds.
  Held();
  ~Held();
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

 private:
  Released* const released_;
};

/// Does not return: the process is about to end.
[[noreturn]] void wait_for_the_end() noexcept;

/// Calls what may run code of Python. Where the interpreter ends meanwhile, this thread waits for the end of the
/// process: objects of Python that the caller has would be let go of without the lock.
template <typename Call>
auto calling_python(Call call) -> decltype(call()) {
  try {
    return call();
  } catch (const std::exception&) {
    throw;
  } catch (...) {  // the stack of a thread that ends
    wait_for_the_end();
  }
}

/// Registers what waits for work at the interpreter's end. Called once, by the module.
void await_work_at_end();

}  // namespace softamp::python
