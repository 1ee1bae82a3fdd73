#include "src/reproduce/sums/stagnation_plot.h"

#include <algorithm>

#include "softamp/names/names.h"
#include "softamp/numbers/number_text.h"
#include "softamp/numerics/operations.h"
#include "softamp/numerics/random.h"
#include "src/reproduce/steps/paths.h"

namespace softamp::reproduce {
namespace {

constexpr uint64_t kAdditions = 1 << 13;

/// The sums of ones, addition by addition, at ever rarer places.
Curve curve_of(const FloatFormat& f, const Semantics& s, uint64_t seed, uint32_t site, Curve curve) {
  const uint64_t one = fp::from_double(f, 1);
  const RandomBits random{seed};
  uint64_t sum = 0, next = 1;
  for (uint64_t n = 1; n <= kAdditions; ++n) {
    const int bits = s.rounding(f).random_bits;
    const uint32_t word = s.draws(f) ? random.bits(static_cast<uint32_t>(n - 1), site, 0, bits) : 0;
    sum = fp::add(f, sum, one, s, word).code;
    if (!f.is_finite(sum)) break;
    if (n < next && n != kAdditions) continue;
    curve.x.push_back(static_cast<double>(n));
    curve.y.push_back(value_of(f, sum));
    next = std::max(n + 1, static_cast<uint64_t>(static_cast<double>(n) * 1.1));
  }
  return curve;
}

}  // namespace

Plot stagnation_plot(const std::vector<FloatFormat>& formats, std::optional<RoundingMode> mode,
                     const std::optional<StochasticCurve>& stochastic) {
  constexpr size_t kCurves = 6;
  Plot plot;
  plot.title = "1 + 1 + 1 + ...: where the sum stops";
  plot.subtitle = "every addition rounded once";
  plot.x_label = "additions";
  plot.y_label = "running sum";
  plot.x_log = plot.y_log = 2;
  for (const FloatFormat& f : formats) {
    if (!mode || f.precision > 12 || plot.curves.size() == kCurves || f == kTf32) continue;
    Curve curve = curve_of(f, experiment_semantics(*mode), 0, 0, {format_name(f), CurveStyle::kBold, {}, {}});
    // Formats of one precision stop at the same place: they share a curve.
    const auto same = std::find_if(plot.curves.begin(), plot.curves.end(),
                                   [&](const Curve& other) { return other.x == curve.x && other.y == curve.y; });
    if (same != plot.curves.end())
      same->title += " and " + curve.title;
    else
      plot.curves.push_back(std::move(curve));
  }
  for (Curve& curve : plot.curves) curve.title += ", " + name_of(*mode);
  if (stochastic)
    plot.curves.push_back(curve_of(
        stochastic->format, experiment_semantics(RoundingMode::kStochastic, stochastic->random_bits), stochastic->seed,
        stochastic->site, {format_name(stochastic->format) + ", stochastic", CurveStyle::kThin, {}, {}}));
  if (plot.curves.empty()) return plot;
  plot.curves.push_back({"exact", CurveStyle::kReference, {1, kAdditions}, {1, kAdditions}});
  return plot;
}

}  // namespace softamp::reproduce
