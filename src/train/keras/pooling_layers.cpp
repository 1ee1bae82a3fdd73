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

}  // namespace

Pooling2D::Pooling2D(LayerContext& context, const char* layer_class, const char* operation, PoolingOptions options,
                     LayerOptions layer)
    : Layer(context, std::move(layer)), operation_(operation), options_(checked(std::move(options), layer_class)) {}

LayerValue Pooling2D::call(const LayerArguments& in) {
  const auto [height, width] = options_.pool_size;
  const auto [down, across] = *options_.strides;
  return op(operation_, {in[0]},
            {{"ksize", std::vector<int64_t>{1, height, width, 1}},
             {"strides", std::vector<int64_t>{1, down, across, 1}},
             {"padding", std::string(options_.padding == "same" ? "SAME" : "VALID")}});
}

LayerValue GlobalAveragePooling2D::call(const LayerArguments& in) {
  return global_average_pool(context().store(), in[0]);
}

}  // namespace softamp::layers
