#include "softamp/train/keras/pooling_layers.h"

#include <stdexcept>

#include "softamp/train/layers.h"

namespace softamp::layers {
namespace {

PoolingOptions checked(PoolingOptions options, const char* layer) {
  if (!options.strides) options.strides = options.pool_size;
  const auto expect = [layer](const char* what, std::array<int64_t, 2> pair) {
    for (const int64_t extent : pair)
      if (extent < 1)
        throw std::invalid_argument(std::string(layer) + ": " + what + " is " + std::to_string(pair[0]) + " x " +
                                    std::to_string(pair[1]) + "; expected at least 1 x 1");
  };
  expect("pool_size", options.pool_size);
  expect("strides", *options.strides);
  if (options.padding != "valid" && options.padding != "same")
    throw std::invalid_argument(std::string(layer) + ": padding is '" + options.padding + "'; expected valid or same");
  return options;
}

Attributes attributes_of(const PoolingOptions& o) {
  return {{"ksize", std::vector<int64_t>{1, o.pool_size[0], o.pool_size[1], 1}},
          {"strides", std::vector<int64_t>{1, (*o.strides)[0], (*o.strides)[1], 1}},
          {"padding", std::string(o.padding == "same" ? "SAME" : "VALID")}};
}

}  // namespace

MaxPooling2D::MaxPooling2D(LayerContext& context, PoolingOptions options, LayerOptions layer)
    : Layer(context, std::move(layer)), options_(checked(std::move(options), "MaxPooling2D")) {}

LayerValue MaxPooling2D::call(const LayerArguments& in) { return op("MaxPool", {in[0]}, attributes_of(options_)); }

AveragePooling2D::AveragePooling2D(LayerContext& context, PoolingOptions options, LayerOptions layer)
    : Layer(context, std::move(layer)), options_(checked(std::move(options), "AveragePooling2D")) {}

LayerValue AveragePooling2D::call(const LayerArguments& in) { return op("AvgPool", {in[0]}, attributes_of(options_)); }

LayerValue GlobalAveragePooling2D::call(const LayerArguments& in) {
  return global_average_pool(context().store(), in[0]);
}

}  // namespace softamp::layers
