// What every engine works out once for a convolution: geometry, rules, and its matrix products.
//
// Forward and input gradient: places that use the same taps form a class (one for the inner places, one more for each
// edge and corner, and with strides one for each offset). Within a class every output sums the same sequence of
// products, so a class is a matrix product whose rows are its places, without the skipped taps. Filter gradient: each
// tap is a matrix product, input channels by output channels, over the places where it reads no padding.
#pragma once

#include <cstdint>
#include <vector>

#include "softamp/engine/op_kernel.h"
#include "softamp/engine/product_schedule.h"
#include "softamp/kernel/convolutions.h"

namespace softamp::engine {

enum class ConvolutionKind : uint8_t { kForward, kInputGradient, kFilterGradient };

/// A node of one of the six operations of src/graph/ops/convolutions.cpp.
struct ConvolutionNode {
  /// Rules are the options `settings.convolutions`, overridden by the attribute partialsType (product_rules.h);
  /// warnings go to the context's.
  ConvolutionNode(const OpContext& context, ConvolutionKind direction, bool depthwise);

  OpKernel::SiteRoundings roundings(uint32_t site) const;

  ConvolutionKind kind;
  kernel::ConvolutionGeometry geometry;
  kernel::ConvolutionRules rules;
  uint64_t outputs;  ///< elements
  uint64_t blocks;   ///< numbers of blocks
};

/// Places of one axis that use the same taps.
struct AxisClass {
  std::vector<int64_t> taps;     ///< ascending
  std::vector<int64_t> places;   ///< ascending
  std::vector<int64_t> sources;  ///< per place: what it reads through taps[0]; 0 without taps
  std::vector<int64_t> offsets;  ///< per tap: what a place reads through it, relative to its source
};

/// All places of an axis: outputs, reading inputs, or (`gradient`) inputs, reading the outputs that read them.
std::vector<AxisClass> axis_classes(const kernel::WindowAxis& axis, bool gradient);

/// The blocks of the sums of a class (its taps: `h` x `w`), over `channels` channels.
Schedule class_schedule(const kernel::ConvolutionGeometry& g, const kernel::ConvolutionRules& rules, const AxisClass& h,
                        const AxisClass& w, int64_t channels);

/// The places, outputs of a batch, at which a tap reads no padding: rows [oh0, oh1) and columns [ow0, ow1).
struct TapPlaces {
  int64_t oh0, oh1, ow0, ow1;
};
TapPlaces tap_places(const kernel::ConvolutionGeometry& g, int64_t kh, int64_t kw);

/// The blocks of a filter element's sum over them.
Schedule tap_schedule(const kernel::ConvolutionGeometry& g, const kernel::ConvolutionRules& rules, const TapPlaces& p);

}  // namespace softamp::engine
