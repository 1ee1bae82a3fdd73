// A thread that takes no signals: they are the program's.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <thread>
#include <utility>

namespace softamp {

/// Starts a thread that begins, and stays, with all signals blocked. Throws what std::thread throws.
template <typename Run>
std::thread quiet_thread(Run run) {
  struct Blocked {
    sigset_t before;
    Blocked() {
      sigset_t all;
      ::sigfillset(&all);
      ::pthread_sigmask(SIG_SETMASK, &all, &before);
    }
    ~Blocked() { ::pthread_sigmask(SIG_SETMASK, &before, nullptr); }
  } const blocked;
  return std::thread(std::move(run));
}

}  // namespace softamp
