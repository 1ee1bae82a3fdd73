#include "src/report/progress.h"

#include <unistd.h>

#include <cstdio>
#include <utility>

namespace softamp {

Progress::Progress(std::string label, uint64_t total, std::string unit, uint64_t already)
    : label_(std::move(label)),
      unit_(std::move(unit)),
      total_(total),
      already_(already),
      visible_(isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() { clear(); }

void Progress::clear() {
  if (drawn_) std::fprintf(stderr, "\r\033[K");
  drawn_ = false;
}

bool Progress::due() const { return visible_ && Clock::now() - last_ >= std::chrono::milliseconds(100); }

void Progress::update(uint64_t done, const std::string& note) {
  if (done <= already_ || !due()) return;
  last_ = Clock::now();
  drawn_ = true;
  const double passed = std::chrono::duration<double>(last_ - start_).count();
  const double rest = done < total_ ? static_cast<double>(total_ - done) : 0;
  const std::string all = unit_.empty() ? "" : " of " + std::to_string(total_) + " " + unit_;
  std::fprintf(stderr, "\r\033[K%s: %.0f %%%s, %s%s%.0f s left", label_.c_str(),
               100 * static_cast<double>(done) / static_cast<double>(total_), all.c_str(), note.c_str(),
               note.empty() ? "" : ", ", passed * rest / static_cast<double>(done - already_));
  std::fflush(stderr);
}

}  // namespace softamp
