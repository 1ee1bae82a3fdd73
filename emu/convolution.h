// Convolutions on the CPU: what a node fixes, worked out once, and the kernels of the three directions.
//
// Fast formulation. Forward and input gradient: places that use the same taps form a class (inner places one, each edge
// and corner one more; between strides, one a phase); within a class every output is a sum over the same sequence of
// products, so that a class is a matrix product whose rows are its places: skipped taps stay skipped. Filter gradient:
// each tap is a matrix product, input channels by output channels, over the places where it reads no padding.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "emu/op_kernel.h"
#include "emu/product.h"
#include "softamp/kernel/convolution.h"

namespace softamp::emu {

enum class ConvolutionKind : uint8_t { kForward, kInputGradient, kFilterGradient };

/// The geometry of a node of one of the six operations of src/graph/operations_convolutions.cpp.
kernel::ConvolutionGeometry convolution_geometry(const Node& node, std::span<const TensorType> inputs,
                                                 ConvolutionKind kind, bool depthwise);

/// The rules of its sums: the options `settings.convolutions`, overridden by the attribute partialsType
/// (product_options.h).
kernel::ConvolutionRules convolution_rules(const OpContext& context, ConvolutionKind kind);

/// Places of one axis that use the same taps.
struct AxisClass {
  std::vector<int64_t> taps;     ///< ascending
  std::vector<int64_t> places;   ///< ascending
  std::vector<int64_t> sources;  ///< per place: what it reads through taps[0]
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

}  // namespace softamp::emu
