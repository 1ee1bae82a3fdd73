#include "src/machine/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "src/text/printable.h"

namespace softamp {
namespace {

/// A terminal without control sequences, or one of which nothing is known.
bool is_plain_terminal() {
  const char* term = std::getenv("TERM");
  return !term || !*term || std::string_view(term) == "dumb";
}

}  // namespace

Progress::Progress(std::string label, uint64_t total, std::string unit, uint64_t already)
    : label_(files::printable(label)),
      unit_(std::move(unit)),
      total_(total),
      already_(already),
      visible_(isatty(STDERR_FILENO) == 1),
      plain_(is_plain_terminal()) {}

Progress::~Progress() { clear(); }

void Progress::clear() {
  if (drawn_ > 0) std::fputs(wiped().c_str(), stderr);
  drawn_ = 0;
}

std::string Progress::wiped() const { return plain_ ? "\r" + std::string(drawn_, ' ') + "\r" : "\r\033[K"; }

bool Progress::due() const { return visible_ && Clock::now() - last_ >= std::chrono::milliseconds(100); }

void Progress::update(uint64_t done, const std::string& note) {
  if (done <= already_ || !due()) return;
  last_ = Clock::now();
  const double passed = std::chrono::duration<double>(last_ - start_).count();
  const double rest = done < total_ ? static_cast<double>(total_ - done) : 0;
  const std::string all = unit_.empty() ? "" : " of " + std::to_string(total_) + " " + unit_;
  const std::string shown = files::printable(note);
  std::fputs(wiped().c_str(), stderr);
  const int length =
      std::fprintf(stderr, "%s: %.0f %%%s, %s%s%.0f s left", label_.c_str(),
                   100 * static_cast<double>(done) / static_cast<double>(total_), all.c_str(), shown.c_str(),
                   shown.empty() ? "" : ", ", passed * rest / static_cast<double>(done - already_));
  drawn_ = static_cast<size_t>(std::max(length, 0));
  std::fflush(stderr);
}

}  // namespace softamp
