#include "src/train/run/lost_update_report.h"

#include <algorithm>

#include "softamp/machine/float_environment.h"
#include "src/numbers/decimal_text.h"

namespace softamp::train_detail {

std::string LostUpdateReport::add(const StepResult& result) {
  const LostUpdates* worst = nullptr;
  for (size_t i = 0; i < result.lost_updates.size(); ++i) {
    const LostUpdates& now = result.lost_updates[i];
    if (totals_.size() <= i) totals_.push_back({now.variable, now.dtype, now.stochastic});
    LostUpdateTotals& total = totals_[i];
    total.moving += now.moving;
    total.lost += now.lost;
    if (now.share() > total.largest_share) {
      total.largest_share = now.share();
      total.largest_step = result.step;
    }
    if (!now.stochastic && (!worst || now.share() > worst->share())) worst = &now;
  }
  if (warned_ || !worst || worst->share() < 0.5) return {};
  warned_ = true;
  return "step " + std::to_string(result.step) + ": rounding to nearest loses " + std::to_string(worst->lost) + " of " +
         std::to_string(worst->moving) + " updates of '" + worst->variable + "' (" + percent_text(worst->share()) +
         "): they are below half the spacing of " + name_of(worst->dtype) +
         " at their weights. Momentum makes updates larger, stochastic rounding keeps small ones on average, float32 "
         "parameters are spaced more finely";
}

std::vector<std::string> LostUpdateReport::lines() const {
  size_t width = 0;
  for (const LostUpdateTotals& t : totals_) width = std::max(width, t.variable.size());
  std::vector<std::string> all;
  for (const LostUpdateTotals& t : totals_)
    all.push_back(t.variable + std::string(width - t.variable.size(), ' ') + "  " + name_of(t.dtype) + "  " +
                  percent_text(t.share()) + " of " + std::to_string(t.moving) +
                  (t.stochastic ? " updates would be lost by nearest" : " updates are lost") +
                  (t.lost
                       ? ", at most " + percent_text(t.largest_share) + " (step " + std::to_string(t.largest_step) + ")"
                       : ""));
  return all;
}

}  // namespace softamp::train_detail

namespace softamp {

double LostUpdateTotals::share() const {
  return engine::in_default_environment(
      [&] { return moving ? static_cast<double>(lost) / static_cast<double>(moving) : 0; });
}

}  // namespace softamp
