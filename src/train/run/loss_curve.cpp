#include "src/train/run/loss_curve.h"

#include <algorithm>

namespace softamp::train_detail {

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

Plot loss_curve(const TrainSettings& settings, std::span<const double> losses, int64_t first,
                std::span<const double> epoch_losses, int64_t steps_per_epoch) {
  constexpr size_t kWindows = 50, kMostPoints = 4000;
  Plot plot;
  plot.title = settings.network + " in " + settings.precision;
  plot.subtitle = settings.optimizer + ", loss scale " + settings.loss_scale + ", stochastic rounding " +
                  settings.stochastic_rounding + ", seed " + std::to_string(settings.seed);
  plot.x_label = "step";
  plot.y_label = "loss";
  const size_t window = std::clamp<size_t>(losses.size() / kWindows, 1, 1000);
  const std::vector<double> means = running_mean(losses, window);
  const size_t stride = std::max<size_t>(1, losses.size() / kMostPoints);
  Curve raw{"loss of a step", CurveStyle::kThin, {}, {}};
  Curve mean{"mean of " + std::to_string(window) + (window == 1 ? " step" : " steps"), CurveStyle::kBold, {}, {}};
  for (size_t i = 0; i < losses.size(); i += stride) {
    const double x = static_cast<double>(first) + static_cast<double>(i);
    raw.x.push_back(x);
    raw.y.push_back(losses[i]);
    mean.x.push_back(x);
    mean.y.push_back(means[i]);
  }
  plot.curves = {std::move(raw), std::move(mean)};
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
