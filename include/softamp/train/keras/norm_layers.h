// Norms over the features of each sample as Keras' layers. As with BatchNormalization, variables are float32 and not
// auto-cast under any policy: the operation takes float32 ones beside a half x, and computes in float32 within.
#pragma once

#include "softamp/train/keras/layer.h"
#include "softamp/train/layers.h"

namespace softamp::layers {

/// Over the last axis of x, a rank of at least 2. Weights "gamma" ones, "beta" zeros [features].
class LayerNormalization : public Layer {
 public:
  struct Options {
    double epsilon = 1e-3;  ///< (0 .. 1) [=0.001]
  };
  LayerNormalization(LayerContext& context, Options options, LayerOptions layer = {});
  explicit LayerNormalization(LayerContext& context) : LayerNormalization(context, Options()) {}

 protected:
  void build(const LayerValue& inputs) override;
  LayerValue call(const LayerArguments& in) override;
  std::string default_name() const override { return "layer_normalization"; }

 private:
  Options options_;
  Weight gamma_, beta_;
};

/// Over groups of channels (TUTORIAL G43). Weights "gamma" ones, "beta" zeros [channels].
class GroupNormalization : public Layer {
 public:
  /// groups [=32], a divisor of the channels.
  explicit GroupNormalization(LayerContext& context, GroupNormOptions options = {.groups = 32},
                              LayerOptions layer = {});

 protected:
  LayerValue call(const LayerArguments& in) override;
  std::string default_name() const override { return "group_normalization"; }

 private:
  GroupNormOptions options_;
};

}  // namespace softamp::layers
