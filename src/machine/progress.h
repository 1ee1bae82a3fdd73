// A line on standard error with the progress of a long run; silent if standard error is not a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace softamp {

/// "sum: 37 % of 1000000000 additions, 12 s left". Redrawn at most ten times a second, wiped at the end.
class Progress {
 public:
  /// label: what runs; unit: what is counted, plural, or empty if the percentage is enough; already: what was done
  /// before, in a resumed run.
  Progress(std::string label, uint64_t total, std::string unit, uint64_t already = 0);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `note` is printed before the remaining time: "loss 1.84, scale 256".
  void update(uint64_t done, const std::string& note = {});
  /// Whether the next update would draw; if not, it needs no note.
  bool due() const;
  /// Wipes the line, so that others can be written; the next update draws it again.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;

  /// What wipes the line that is seen.
  std::string wiped() const;

  std::string label_, unit_;
  uint64_t total_, already_;
  bool visible_;
  bool plain_;        ///< no escape codes: blanks wipe the line
  size_t drawn_ = 0;  ///< characters of the line that is seen
  Clock::time_point start_ = Clock::now(), last_ = start_;
};

}  // namespace softamp
