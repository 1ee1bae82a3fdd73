#include "src/python/gil.h"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace softamp::python {
namespace {

/// The innermost of the calling thread.
thread_local Released* innermost = nullptr;
/// Threads that compute without the lock.
std::atomic<int> working = 0;

/// Of CPython: 3.13 has it by this name, earlier ones with an underscore; the stable interface declares neither.
using IsFinalizing = int();
IsFinalizing* is_finalizing() {
  static IsFinalizing* const function = [] {
    void* const symbol = dlsym(RTLD_DEFAULT, "Py_IsFinalizing");
    return reinterpret_cast<IsFinalizing*>(symbol ? symbol : dlsym(RTLD_DEFAULT, "_Py_IsFinalizing"));
  }();
  return function;
}

/// Returns with the lock, or never.
void take_back(PyThreadState* state) noexcept {
  --working;
  calling_python([&] { PyEval_RestoreThread(state); });
}

PyThreadState* give() {
  PyThreadState* const state = PyEval_SaveThread();
  ++working;
  return state;
}

}  // namespace

void Released::let_go() {
  outer_ = innermost;
  innermost = this;
  state_ = give();
}

Released::~Released() {
  if (!state_) return;
  take_back(state_);
  innermost = outer_;
}

Held::Held() : released_(innermost) {
  if (!released_) return;
  if (is_finalizing() && is_finalizing()()) throw InterpreterEnds();
  take_back(released_->state_);
  innermost = nullptr;
}

Held::~Held() {
  if (!released_) return;
  innermost = released_;
  released_->state_ = give();
}

void wait_for_the_end() noexcept {
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

void await_work_at_end() {
  is_finalizing();
  pthread_atfork(nullptr, nullptr, [] { working = 0; });  // the child has the calling thread alone
  Py_AtExit([] {
    while (working > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
}

}  // namespace softamp::python
