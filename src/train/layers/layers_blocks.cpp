// The residual blocks of model A: He, Zhang, Ren, Sun, "Deep residual learning for image recognition", CVPR 2016, in
// the tutorial's form: all convolutions biased, and a 2x2 convolution on the shortcut around a block that halves the
// image.
#include "softamp/train/layers.h"
#include "src/train/layers/layer_input.h"
#include "src/train/layers/layer_precision.h"

namespace softamp::layers {
namespace {

using layers_detail::Check;
using layers_detail::residual_sum;

Conv2DOptions convolution(int64_t kernel, int64_t stride, bool relu) {
  Conv2DOptions options;
  options.kernel = kernel;
  options.stride = stride;
  options.relu = relu;
  return options;
}

}  // namespace

// implements: N272
Port residual_block(VariableStore& store, Port x, int64_t filters, std::string_view name) {
  const Check check(store, "residual_block", name);
  const int64_t channels = check.image(x).shape[3];
  if (channels != filters)
    check.fail("x has " + std::to_string(channels) + " channels; expected " + std::to_string(filters) +
               ", the filters, as x is added to what they give");
  const auto scope = store.layer_scope(name, "block");
  const Port first = conv2d(store, x, filters, convolution(3, 1, true));
  const Port second = conv2d(store, first, filters, convolution(3, 1, false));
  return relu(store, residual_sum(store, "residual_block", second, x));
}

// implements: N272
Port downsample_block(VariableStore& store, Port x, int64_t filters, std::string_view name) {
  Check(store, "downsample_block", name).image(x);
  const auto scope = store.layer_scope(name, "downsample");
  const Port first = conv2d(store, x, filters, convolution(3, 2, true));
  const Port second = conv2d(store, first, filters, convolution(3, 1, false));
  const Port past = conv2d(store, x, filters, convolution(2, 2, false));
  return relu(store, residual_sum(store, "downsample_block", second, past));
}

}  // namespace softamp::layers
