#include "src/report/progress.h"

#include <unistd.h>

#include <cstdio>
#include <utility>

namespace softamp {

Progress::Progress(std::string label, uint64_t total, std::string unit)
    : label_(std::move(label)), unit_(std::move(unit)), total_(total), visible_(isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (drawn_) std::fprintf(stderr, "\r\033[K");
}

void Progress::update(uint64_t done) {
  if (!visible_ || done == 0) return;
  const Clock::time_point now = Clock::now();
  if (now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now;
  drawn_ = true;
  const double part = static_cast<double>(done) / static_cast<double>(total_);
  const double passed = std::chrono::duration<double>(now - start_).count();
  std::fprintf(stderr, "\r\033[K%s: %.0f %% of %llu %s, %.0f s left", label_.c_str(), 100 * part,
               static_cast<unsigned long long>(total_), unit_.c_str(), passed * (1 - part) / part);
  std::fflush(stderr);
}

}  // namespace softamp
