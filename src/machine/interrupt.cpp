#include "softamp/machine/interrupt.h"

namespace softamp {
namespace {

volatile std::sig_atomic_t pending_signal = 0;
int guards = 0;

void note(int signal) { pending_signal = signal; }

}  // namespace

InterruptGuard::InterruptGuard() {
  if (guards++ > 0) return;
  pending_signal = 0;
  struct sigaction action {};
  action.sa_handler = note;
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < std::size(kSignals); ++i) {
    sigaction(kSignals[i], nullptr, &before_[i]);
    if (before_[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);  // nohup stays in force
  }
}

InterruptGuard::~InterruptGuard() {
  if (--guards > 0) return;
  for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &before_[i], nullptr);
}

int InterruptGuard::pending() { return pending_signal; }

}  // namespace softamp
