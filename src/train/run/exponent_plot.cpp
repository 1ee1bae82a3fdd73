#include "src/train/run/exponent_plot.h"

#include <algorithm>
#include <map>

#include "softamp/names/names.h"
#include "src/numbers/decimal_text.h"

namespace softamp::train_detail {
namespace {

/// Of the elements that have an exponent the percentage at each, without gaps.
Curve shares_of(const ExponentHistogram& h, std::string title, CurveStyle style) {
  Curve curve{std::move(title), style, {}, {}};
  if (h.exponents.empty()) return curve;
  for (int e = h.exponents.begin()->first; e <= h.exponents.rbegin()->first; ++e) {
    const auto at = h.exponents.find(e);
    curve.x.push_back(e);
    curve.y.push_back(
        at == h.exponents.end() ? 0 : 100 * static_cast<double>(at->second) / static_cast<double>(h.elements));
  }
  return curve;
}

std::string percent(int64_t part, int64_t all) {
  return significant_digits(all ? 100 * static_cast<double>(part) / static_cast<double>(all) : 0, 3) + " %";
}

}  // namespace

Plot gradient_exponents(const ExponentTotals& totals) {
  ExponentHistogram scaled, unscaled;
  std::map<DType, int64_t> narrow;
  for (const LayerExponents& layer : totals.layers) {
    if (layer.kind != LayerExponents::Kind::kGradients) continue;
    scaled.add(layer.counts);
    unscaled.add(layer.unscaled);
    if (size_of(layer.dtype) == 2) narrow[layer.dtype] += layer.counts.elements;
  }
  DType marked = DType::kFloat16;  // what is marked where all is wide, too: it is what a loss scale is for
  for (const auto& [dtype, elements] : narrow)
    if (!narrow.contains(marked) || elements > narrow[marked]) marked = dtype;
  const FloatFormat f = format_of(marked);
  Plot plot;
  plot.subtitle = std::to_string(totals.steps) + (totals.steps == 1 ? " step" : " steps") + "; zero " +
                  percent(scaled.zeros, scaled.elements) + ", subnormal " +
                  percent(scaled.subnormals, scaled.elements) + ", infinite or NaN " +
                  percent(scaled.infinities + scaled.nans, scaled.elements);
  plot.x_label = "exponent: floor of log2 of the magnitude";
  plot.y_label = "gradients, %";
  const std::string by =
      round_trip_text(totals.least_scale) +
      (totals.least_scale == totals.greatest_scale ? "" : " to " + round_trip_text(totals.greatest_scale));
  plot.curves = {shares_of(scaled, "times the loss scale, " + by, CurveStyle::kBars),
                 shares_of(unscaled, "without it", CurveStyle::kBold)};
  double top = 0;
  for (const Curve& curve : plot.curves)
    for (const double y : curve.y) top = std::max(top, y);
  plot.y_range = PlotRange{0, std::max(1e-9, top * 1.08)};
  const std::string format(name_of(marked));
  const auto mark = [&](const std::string& what, int exponent) {
    const double x = exponent - 0.5;  // bars of an exponent begin half a unit before it
    plot.curves.push_back(
        {format + ": " + what + " 2^" + std::to_string(exponent), CurveStyle::kReference, {x, x}, {0, top * 1.08}});
  };
  mark("subnormal from", f.min_quantum());
  mark("normal from", 1 - f.bias);
  mark("no number from", f.max_exponent() + 1);
  return plot;
}

}  // namespace softamp::train_detail
