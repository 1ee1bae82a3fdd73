// A line on standard error that says how far a long run has come; silent where standard error is not a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace softamp {

/// "sum: 37 % of 1000000000 additions, 12 s left". Redrawn at most ten times a second, wiped at the end.
class Progress {
 public:
  /// label: what runs; unit: what is counted, plural.
  Progress(std::string label, uint64_t total, std::string unit);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(uint64_t done);

 private:
  using Clock = std::chrono::steady_clock;

  std::string label_, unit_;
  uint64_t total_;
  bool visible_;
  bool drawn_ = false;
  Clock::time_point start_ = Clock::now(), last_ = start_;
};

}  // namespace softamp
