#include "softamp/train/exponent_totals.h"

#include <algorithm>
#include <tuple>

namespace softamp {
namespace {

auto place_of(const LayerExponents& l) { return std::tie(l.layer, l.kind, l.dtype); }

}  // namespace

const char* name_of(LayerExponents::Kind kind) {
  switch (kind) {
    case LayerExponents::Kind::kWeights: return "weights";
    case LayerExponents::Kind::kActivations: return "activations";
    case LayerExponents::Kind::kGradients: break;
  }
  return "gradients";
}

void ExponentTotals::add(const ExponentTotals& other) {
  if (other.steps == 0) return;
  least_scale = steps == 0 ? other.least_scale : std::min(least_scale, other.least_scale);
  greatest_scale = std::max(greatest_scale, other.greatest_scale);
  steps += other.steps;
  for (const LayerExponents& layer : other.layers) {
    const auto at =
        std::lower_bound(layers.begin(), layers.end(), layer,
                         [](const LayerExponents& a, const LayerExponents& b) { return place_of(a) < place_of(b); });
    if (at == layers.end() || place_of(*at) != place_of(layer)) {
      layers.insert(at, layer);
      continue;
    }
    at->counts.add(layer.counts);
    at->unscaled.add(layer.unscaled);
  }
}

}  // namespace softamp
