// Gradients of filters with few input channels. A tile whose rows are the channels of one tap would be nearly empty;
// here rows are all (kh, kw, channel), which is also their order in the output, and what a place reads through all taps
// is gathered once.
#pragma once

#include "emu/convolutions/convolution_direct.h"

namespace softamp::emu {

/// Chains of floats alone: blocks do not matter, and partials end at the same places for all taps (N123).
class TapRows {
 public:
  TapRows(const ProductPlan& plan, const kernel::ConvolutionGeometry& g);

  /// Whether this is possible, and fuller than tiles of one tap each would be.
  bool serves() const { return tile_ != nullptr; }
  size_t tiles() const { return (rows_ + tile_->kernels.mr - 1) / tile_->kernels.mr; }
  /// Writes the rows of tile t to out: [kh, kw, channel, out channel]. image and gradient: widened, ByChannels::kSlack
  /// floats may be read beyond their ends. Returns false if a result may have raised flags, which have to be sought.
  bool run(size_t t, const float* image, const float* gradient, void* out, const kernel::Environment& environment,
           const std::function<bool()>* stop) const;

 private:
  ProductPlan plan_;
  const kernel::ConvolutionGeometry& g_;
  const DirectTile* tile_ = nullptr;
  size_t rows_;
};

}  // namespace softamp::emu
