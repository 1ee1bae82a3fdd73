// The exponents of a run's weights, activations and gradients, layer by layer, summed over the steps that were looked
// at.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "softamp/names/dtype.h"
#include "softamp/pictures/exponent_histogram.h"

namespace softamp {

/// Of one layer: the scope of its variables; of operations without variables their own.
struct LayerExponents {
  enum class Kind : uint8_t {
    kWeights,      ///< variables, before the step
    kActivations,  ///< what operations of the forward pass gave
    kGradients,    ///< what operations of the backward pass gave, times the loss scale
  };
  std::string layer;
  Kind kind = Kind::kWeights;
  DType dtype = DType::kFloat32;
  ExponentHistogram counts;
  ExponentHistogram unscaled;  ///< of gradients: without the loss scale, in binary64; else empty
  bool operator==(const LayerExponents&) const = default;
};

/// "weights", "activations", "gradients".
const char* name_of(LayerExponents::Kind kind);

struct ExponentTotals {
  int64_t steps = 0;                          ///< that were looked at
  float least_scale = 0, greatest_scale = 0;  ///< loss scales of these steps; 0 without any
  std::vector<LayerExponents> layers;         ///< by layer, kind and dtype, in ascending order
  bool operator==(const ExponentTotals&) const = default;
  /// The steps of both.
  void add(const ExponentTotals& other);
};

}  // namespace softamp
