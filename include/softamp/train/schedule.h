// Learning rates that change from update to update: a warm-up, then a fall. A rate is a function of the update's number
// alone, so that a resumed run, and every process of one that shares replicas, has the rates of a run in one piece.
//
// With lr the highest rate, m the least, w = warmup_steps, d = decay_steps and s = the updates done before (0, 1, ...):
//
//   s < w           lr (s + 1) / (w + 1)
//   w <= s < d      m + (lr - m) c(r), r = (s - w) / (d - w); constant: lr
//                     cosine: c(r) = (1 + cos(pi r)) / 2     Loshchilov, Hutter, "SGDR", ICLR 2017, equation (5)
//                     linear: c(r) = 1 - r
//   s >= d          m; constant: lr
//
// A linear warm-up: Goyal and others, "Accurate, large minibatch SGD", 2017. All in binary64, to nearest, the cosine
// from sums and products of our own: the same bits on every machine. The rate is then rounded as every hyperparameter.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace softamp {

enum class ScheduleKind : uint8_t { kConstant, kCosine, kLinear };
const char* name_of(ScheduleKind kind);              ///< "constant", "cosine", "linear"
ScheduleKind parse_schedule(std::string_view text);  ///< throws std::invalid_argument with the names
std::vector<std::string> schedule_names();

struct LearningRateSchedule {
  ScheduleKind kind = ScheduleKind::kConstant;
  int64_t warmup_steps = 0;  ///< (0 ..) updates whose rates rise
  int64_t decay_steps = 0;   ///< (0: it does not fall; else above warmup_steps) updates after which it is at its least
  double min_learning_rate = 0;  ///< (0 .. the highest rate) of cosine and linear
  bool operator==(const LearningRateSchedule&) const = default;

  /// Whether any update has another rate than the highest.
  bool varies() const { return warmup_steps > 0 || (kind != ScheduleKind::kConstant && decay_steps > 0); }
  /// The rate of update t (from 1); the highest itself where nothing varies. Throws std::invalid_argument for t < 1.
  double rate(double highest, int64_t t) const;
  /// Throws std::invalid_argument naming the field, its value and its range.
  void validate(double highest) const;
};

}  // namespace softamp
