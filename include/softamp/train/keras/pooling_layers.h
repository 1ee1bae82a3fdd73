// Pooling as Keras' layers (train/keras/layer.h): no weights, no casts of their own.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <utility>

#include "softamp/train/keras/layer.h"

namespace softamp::layers {

/// What a pooling layer takes: windows of `pool_size` (height, width), `strides` apart.
struct PoolingOptions {
  std::array<int64_t, 2> pool_size = {2, 2};        ///< (1 ..) [=2 x 2]
  std::optional<std::array<int64_t, 2>> strides{};  ///< (1 .. 2^24) [=pool_size]
  std::string padding = "valid";                    ///< (valid, same) [=valid]
};

/// What the two below have in common.
class Pooling2D : public Layer {
 protected:
  /// layer_class: for messages.
  Pooling2D(LayerContext& context, const char* layer_class, const char* operation, PoolingOptions options,
            LayerOptions layer);
  LayerValue call(const LayerArguments& in) override;

 private:
  const char* operation_;
  PoolingOptions options_;
};

/// [batch, height, width, channels] -> [batch, out_height, out_width, channels]: the greatest of each window. Throws
/// std::invalid_argument for options out of range, GraphError for an input that is no batch of images.
class MaxPooling2D : public Pooling2D {
 public:
  explicit MaxPooling2D(LayerContext& context, PoolingOptions options = {}, LayerOptions layer = {})
      : Pooling2D(context, "MaxPooling2D", "MaxPool", std::move(options), std::move(layer)) {}

 protected:
  std::string default_name() const override { return "max_pooling2d"; }
};

/// The same: the mean of those elements of each window that lie in the image.
class AveragePooling2D : public Pooling2D {
 public:
  explicit AveragePooling2D(LayerContext& context, PoolingOptions options = {}, LayerOptions layer = {})
      : Pooling2D(context, "AveragePooling2D", "AvgPool", std::move(options), std::move(layer)) {}

 protected:
  std::string default_name() const override { return "average_pooling2d"; }
};

/// [batch, height, width, channels] -> [batch, channels]: the mean over height and width.
class GlobalAveragePooling2D : public Layer {
 public:
  using Layer::Layer;

 protected:
  LayerValue call(const LayerArguments& in) override;
  std::string default_name() const override { return "global_average_pooling2d"; }
};

}  // namespace softamp::layers
