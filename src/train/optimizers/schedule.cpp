#include "softamp/train/schedule.h"

#include <stdexcept>

#include "softamp/machine/float_environment.h"
#include "softamp/names/names.h"
#include "softamp/numbers/number_text.h"
#include "src/text/word.h"

namespace softamp {
namespace {

/// sin x for 0 <= x <= pi / 4, by its series; the first term that is left out is below 2^-63.
double sine(double x) {
  constexpr double kFactorials[] = {-1.0 / 6,        1.0 / 120,        -1.0 / 5040,          1.0 / 362880,
                                    -1.0 / 39916800, 1.0 / 6227020800, -1.0 / 1307674368000, 1.0 / 355687428096000};
  const double square = x * x;
  double sum = 0;
  for (int i = 7; i >= 0; --i) sum = (sum + kFactorials[i]) * square;
  return x + x * sum;
}

/// (1 + cos(pi r)) / 2 for 0 <= r <= 1: cos^2(pi r / 2), by the sine of what is at most pi / 4.
double half_cosine(double r) {
  constexpr double kHalfPi = 0x1.921fb54442d18p0;
  const double s = sine(kHalfPi * (r <= 0.5 ? r : 1 - r));
  return r <= 0.5 ? 1 - s * s : s * s;
}

}  // namespace

const char* name_of(ScheduleKind kind) {
  switch (kind) {
    case ScheduleKind::kConstant: return "constant";
    case ScheduleKind::kCosine: return "cosine";
    case ScheduleKind::kLinear: return "linear";
  }
  return "unknown";
}

std::vector<std::string> schedule_names() { return {"constant", "cosine", "linear"}; }

ScheduleKind parse_schedule(std::string_view text) {
  for (const ScheduleKind kind : {ScheduleKind::kConstant, ScheduleKind::kCosine, ScheduleKind::kLinear})
    if (same_word(text, name_of(kind))) return kind;
  throw UnknownName(unknown_name_message("learning rate schedule", text, schedule_names()));
}

double LearningRateSchedule::rate(double highest, int64_t t) const {
  return engine::in_default_environment([&] {
    if (t < 1) throw std::invalid_argument("schedule: update is " + std::to_string(t) + "; expected 1 or more");
    const int64_t done = t - 1;
    const auto number = [](int64_t n) { return static_cast<double>(n); };
    if (done < warmup_steps) return highest * (number(done + 1) / (number(warmup_steps) + 1));
    if (kind == ScheduleKind::kConstant || decay_steps == 0) return highest;
    if (done >= decay_steps) return min_learning_rate;
    const double r = number(done - warmup_steps) / number(decay_steps - warmup_steps);
    const double share = kind == ScheduleKind::kCosine ? half_cosine(r) : 1 - r;
    return min_learning_rate + (highest - min_learning_rate) * share;
  });
}

void LearningRateSchedule::validate(double highest) const {
  const engine::DefaultEnvironment guard;
  const auto expect = [](bool good, const char* field, const std::string& value, const std::string& expected) {
    if (!good)
      throw std::invalid_argument(std::string("schedule: ") + field + " is " + value + "; expected " + expected);
  };
  expect(kind <= ScheduleKind::kLinear, "kind", std::to_string(static_cast<int>(kind)), "a ScheduleKind");
  expect(warmup_steps >= 0, "warmup_steps", std::to_string(warmup_steps), "0 or more");
  const std::string steps = std::to_string(decay_steps);
  if (kind == ScheduleKind::kConstant) {
    expect(decay_steps == 0, "decay_steps", steps, "0: a constant rate does not fall");
    expect(min_learning_rate == 0, "min_learning_rate", shortest_decimal(min_learning_rate),
           "0: a constant rate does not fall");
    return;
  }
  expect(decay_steps == 0 || decay_steps > warmup_steps, "decay_steps", steps,
         "0, or more than the " + std::to_string(warmup_steps) + " of warmup_steps");
  expect(min_learning_rate >= 0 && min_learning_rate <= highest, "min_learning_rate",
         shortest_decimal(min_learning_rate), "0 to the learning rate, " + shortest_decimal(highest));
}

}  // namespace softamp
