// Convolutions and their gradients, as products (convolution_parts.h) on the engine of product_tile.h; the depthwise
// ones by kernels of their own.
#include "cuda/convolutions/convolution_depthwise.h"
#include "cuda/convolutions/convolution_parts.h"

namespace softamp::cuda {
namespace {

using engine::ConvolutionKind;

class ConvolutionKernel final : public OpKernel {
 public:
  ConvolutionKernel(const OpContext& c, Device& device, ConvolutionKind kind)
      : node_(c, kind, false),
        product_(device, node_.rules.product, c.settings.environment.semantics, convolution_parts(node_)) {}

  size_t scratch_bytes() const override { return product_.scratch_bytes(); }
  void enqueue(const DeviceCall& call) const override {
    const bool exchanged = node_.kind == ConvolutionKind::kInputGradient;  // its inputs: filter, gradient
    product_.enqueue(call, call.in[exchanged ? 1 : 0], call.in[exchanged ? 0 : 1], call.out[0], call.scratch);
  }
  SiteRoundings roundings(uint32_t site) const override { return node_.roundings(site); }

 private:
  engine::ConvolutionNode node_;
  TiledProduct product_;
};

template <ConvolutionKind kKind, bool kDepthwise>
std::unique_ptr<OpKernel> make(const OpContext& c, Device& device) {
  if constexpr (kDepthwise) return make_depthwise(c, device, kKind);
  return std::make_unique<ConvolutionKernel>(c, device, kKind);
}

constexpr KernelEntry kConvolutionEntries[] = {
    {"Conv2D", make<ConvolutionKind::kForward, false>},
    {"Conv2DBackpropInput", make<ConvolutionKind::kInputGradient, false>},
    {"Conv2DBackpropFilter", make<ConvolutionKind::kFilterGradient, false>},
    {"DepthwiseConv2dNative", make<ConvolutionKind::kForward, true>},
    {"DepthwiseConv2dNativeBackpropInput", make<ConvolutionKind::kInputGradient, true>},
    {"DepthwiseConv2dNativeBackpropFilter", make<ConvolutionKind::kFilterGradient, true>},
};

}  // namespace

std::span<const KernelEntry> convolution_kernels() { return kConvolutionEntries; }

}  // namespace softamp::cuda
