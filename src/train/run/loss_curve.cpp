#include "src/train/run/loss_curve.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace softamp::train_detail {
namespace {

constexpr size_t kMostPoints = 4000;

/// Every so many steps have a point.
size_t stride_of(const StepCurves& steps) { return std::max<size_t>(1, steps.losses.size() / kMostPoints); }

Curve curve_of(const char* title, CurveStyle style, std::span<const double> values, int64_t first, size_t stride) {
  Curve curve{title, style, {}, {}};
  for (size_t i = 0; i < values.size(); i += stride) {
    curve.x.push_back(static_cast<double>(first) + static_cast<double>(i));
    curve.y.push_back(values[i]);
  }
  return curve;
}

/// A value that is kept until it changes: each change is a vertical line, and none is left out.
Curve staircase(const char* title, std::span<const double> values, int64_t first) {
  Curve curve{title, CurveStyle::kBold, {}, {}};
  const auto point = [&](size_t at, double value) {
    curve.x.push_back(static_cast<double>(first) + static_cast<double>(at));
    curve.y.push_back(value);
  };
  for (size_t i = 0; i < values.size(); ++i) {
    const bool changes = i > 0 && values[i] != values[i - 1];
    if (changes) point(i, values[i - 1]);
    if (changes || i == 0 || i + 1 == values.size()) point(i, values[i]);
  }
  return curve;
}

bool varies(std::span<const double> values) {
  return std::any_of(values.begin(), values.end(), [&](double x) { return std::isfinite(x) && x != values[0]; });
}

/// Base 10 where the values range over more than a factor of ten.
int log_of(std::span<const double> values) {
  double least = std::numeric_limits<double>::infinity(), greatest = 0;
  for (const double x : values)
    if (std::isfinite(x) && x > 0) least = std::min(least, x), greatest = std::max(greatest, x);
  return greatest > 10 * least ? 10 : 0;
}

void add_strips(Plot& plot, const TrainSettings& settings, const StepCurves& steps, int64_t first, size_t window) {
  const size_t stride = stride_of(steps);
  // What the update got: Adam's grows for a thousand steps however constant the schedule is.
  const char* const rate = settings.optimizer.starts_with("adam") ? "rate, bias corrected" : "learning rate";
  if (varies(steps.learning_rates))
    plot.strips.push_back({rate, {curve_of(rate, CurveStyle::kBold, steps.learning_rates, first, stride)}});
  if (varies(steps.loss_scales))
    plot.strips.push_back({"loss scale", {staircase("loss scale", steps.loss_scales, first)}, 2});
  const std::vector<double>& norms = steps.gradient_norms;
  if (std::none_of(norms.begin(), norms.end(), [](double x) { return std::isfinite(x); })) return;
  const std::vector<double> means = running_mean(norms, window);
  plot.strips.push_back({"gradient norm",
                         {curve_of("gradient norm", CurveStyle::kThin, norms, first, stride),
                          curve_of("mean of the norm", CurveStyle::kBold, means, first, stride)},
                         log_of(norms)});
}

}  // namespace

void StepCurves::add(const StepResult& step) {
  losses.push_back(step.loss);
  learning_rates.push_back(step.learning_rate);
  loss_scales.push_back(double{step.scale_before});
  gradient_norms.push_back(step.gradient_norm.value_or(std::numeric_limits<double>::quiet_NaN()));
}

void StepCurves::append(const StepCurves& later) {
  const auto add = [](std::vector<double>& to, const std::vector<double>& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  add(losses, later.losses);
  add(learning_rates, later.learning_rates);
  add(loss_scales, later.loss_scales);
  add(gradient_norms, later.gradient_norms);
}

std::vector<double> running_mean(std::span<const double> values, size_t window) {
  std::vector<double> means(values.size());
  // Computes each sum from scratch: a value that is not finite must not stay in it.
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t from = i + 1 > window ? i + 1 - window : 0;
    double sum = 0;
    for (size_t j = from; j <= i; ++j) sum += values[j];
    means[i] = sum / static_cast<double>(i + 1 - from);
  }
  return means;
}

Plot loss_curve(const TrainSettings& settings, const StepCurves& steps, int64_t first,
                std::span<const double> epoch_losses, int64_t steps_per_epoch) {
  constexpr size_t kWindows = 50;
  const std::vector<double>& losses = steps.losses;
  Plot plot;
  plot.title = settings.network + " in " + settings.precision;
  plot.subtitle = settings.optimizer + ", loss scale " + settings.loss_scale + ", stochastic rounding " +
                  settings.stochastic_rounding + ", seed " + std::to_string(settings.seed);
  plot.x_label = "step";
  plot.y_label = "loss";
  const size_t window = std::clamp<size_t>(losses.size() / kWindows, 1, 1000);
  const std::vector<double> means = running_mean(losses, window);
  const size_t stride = stride_of(steps);
  const std::string mean = "mean of " + std::to_string(window) + (window == 1 ? " step" : " steps");
  plot.curves = {curve_of("loss of a step", CurveStyle::kThin, losses, first, stride),
                 curve_of(mean.c_str(), CurveStyle::kBold, means, first, stride)};
  add_strips(plot, settings, steps, first, window);
  if (epoch_losses.size() < 2) return plot;
  Curve epochs{"mean of an epoch", CurveStyle::kReference, {}, {}};
  const double warmup = static_cast<double>(settings.warmup_epochs);
  for (size_t e = 0; e < epoch_losses.size(); ++e) {
    epochs.x.push_back((warmup + static_cast<double>(e) + 0.5) * static_cast<double>(steps_per_epoch));
    epochs.y.push_back(epoch_losses[e]);
  }
  plot.curves.push_back(std::move(epochs));
  return plot;
}

}  // namespace softamp::train_detail
