// The body of convolutions and of their two gradients: which products make an output, and in which order (N121 to N125
// of docs/NUMERICS_GRAPHS.md). kernel/products.h adds them up, one chain per output.
//
// Tensors: input [batch, h.input, w.input, groups * in_channels], filter [h.kernel, w.kernel, groups * in_channels,
// out_channels], output and its gradient [batch, h.output, w.output, groups * out_channels], row-major. A plain
// convolution has one group; a depthwise one has a group per input channel, so that in_channels is 1 and out_channels
// the channel multiplier, and each group is a convolution of its own.
//
// Order of the products of one output; b: the block length (amp_block), 0 for all:
//
//   forward          (block of 16 input channels, kh, kw, channel within the block). A tap that reads padding is
//                    skipped, not added as 0 w. A block of products ends after every b of them and at the end of each
//                    (channel block, kh, kw) run, so that b = 0 is a run; blocks are numbered in this order, those of
//                    skipped taps included.
//   input gradient   the same over (block of 16 output channels, kh, kw, channel within the block). Skipped are the
//                    taps through which no output reads this input: outside the output, or between strides.
//   filter gradient  (n, oh, ow), a sum over the batch: independent partials of 1024 consecutive places, from +0, added
//                    up in ascending order. Places where the tap reads padding are skipped but counted: partials are
//                    place / 1024, blocks place / b (b = 0: the partial). A partial or block without products
//                    none at all.
//
// No product at all: +0. Where a depthwise run has one product, as it does forward, every product is a block.
#pragma once

#include "softamp/kernel/products.h"

namespace softamp::kernel {

/// One spatial axis of a window that slides over a tensor.
struct WindowAxis {
  int64_t input = 1, output = 1;  ///< extents
  int64_t kernel = 1;             ///< taps
  int64_t stride = 1, dilation = 1;
  int64_t pad = 0;  ///< places before the input's first

  /// The input place that output o reads through tap k; -1: padding.
  SOFTAMP_INLINE int64_t source(int64_t o, int64_t k) const {
    const int64_t place = o * stride + k * dilation - pad;
    return place >= 0 && place < input ? place : -1;
  }
  /// The output that reads input place i through tap k; -1: none.
  SOFTAMP_INLINE int64_t reader(int64_t i, int64_t k) const {
    const int64_t place = i + pad - k * dilation;
    if (place < 0 || place % stride != 0) return -1;
    return place / stride < output ? place / stride : -1;
  }
};

/// Places of padding before an axis under SAME: half of what the last window needs, rounded down.
// implements: N120
SOFTAMP_INLINE int64_t same_padding(int64_t input, int64_t output, int64_t extent, int64_t stride) {
  const int64_t total = (output - 1) * stride + extent - input;
  return total > 0 ? total / 2 : 0;
}

// implements: N124
struct ConvolutionGeometry {
  // implements: N121
  static constexpr int64_t kChannelBlock = 16;

  int64_t batch = 1;
  WindowAxis h, w;
  int64_t groups = 1;
  int64_t in_channels = 1, out_channels = 1;  ///< of a group

  SOFTAMP_INLINE uint64_t input_at(int64_t n, int64_t y, int64_t x) const {
    return static_cast<uint64_t>(((n * h.input + y) * w.input + x) * groups * in_channels);
  }
  SOFTAMP_INLINE uint64_t output_at(int64_t n, int64_t y, int64_t x) const {
    return static_cast<uint64_t>(((n * h.output + y) * w.output + x) * groups * out_channels);
  }
  SOFTAMP_INLINE uint64_t filter_at(int64_t kh, int64_t kw, int64_t group, int64_t in_channel) const {
    return static_cast<uint64_t>(((kh * w.kernel + kw) * groups * in_channels + group * in_channels + in_channel) *
                                 out_channels);
  }
};

/// Rules of the sums, and where their blocks end.
struct ConvolutionRules {
  ProductRules product;
  int64_t block = 16;  ///< products to a block (1, 4, 16; 0: all) [=16]
  /// Blocks in a run of `length` products.
  SOFTAMP_INLINE int64_t blocks(int64_t length) const { return block == 0 ? 1 : (length + block - 1) / block; }
};

/// Element `i` of a tensor of codes.
SOFTAMP_INLINE uint64_t load_code(const FloatFormat& f, const void* codes, uint64_t i) {
  switch (f.storage_bits()) {
    case 32: return static_cast<const uint32_t*>(codes)[i];
    case 64: return static_cast<const uint64_t*>(codes)[i];
    default: return static_cast<const uint16_t*>(codes)[i];
  }
}

/// The products of an output, for whoever adds them up: the body, or a faster formulation. `Products` has
///   product(ia, ib, block)   the product of elements ia and ib of the operands a and b
///   end_block(block)         and, where partials are independent, close_partial(block)
///
/// and may have run(ia, a_step, ib, b_step, length), `length` products at once, where it does not care for blocks.
///
/// An output of the convolution and an element of its input gradient are computed by the same loop: `Taps` tells where
/// a tap's run of products begins.
struct TapRun {
  bool skipped = true;
  uint64_t a = 0, b = 0;  ///< first elements; those of the next channel follow a by 1 and b by b_step
  uint64_t b_step = 1;
};

// implements: N124
template <class Products, class Taps>
SOFTAMP_INLINE void walk_taps(const ConvolutionGeometry& g, const ConvolutionRules& rules, int64_t channels,
                              const Taps& taps, Products& products) {
  constexpr int64_t kBlock = ConvolutionGeometry::kChannelBlock;
  uint64_t first = 0;  // number of the run's first block
  for (int64_t c0 = 0; c0 < channels; c0 += kBlock) {
    const int64_t length = channels - c0 < kBlock ? channels - c0 : kBlock;
    for (int64_t kh = 0; kh < g.h.kernel; ++kh)
      for (int64_t kw = 0; kw < g.w.kernel; ++kw, first += static_cast<uint64_t>(rules.blocks(length))) {
        const TapRun run = taps(kh, kw, c0);
        if (run.skipped) continue;
        if constexpr (requires { products.run(run.a, 1, run.b, run.b_step, length); }) {
          products.run(run.a, 1, run.b, run.b_step, static_cast<uint64_t>(length));
        } else {
          for (int64_t c = 0; c < length; ++c) {
            const uint64_t block = first + static_cast<uint64_t>(rules.block == 0 ? 0 : c / rules.block);
            const uint64_t i = static_cast<uint64_t>(c);
            products.product(run.a + i, run.b + i * run.b_step, block);
            if (c + 1 == length || (rules.block != 0 && (c + 1) % rules.block == 0)) products.end_block(block);
          }
        }
      }
  }
}

/// Of output (n, oh, ow), channel `out_channel` of `group`: a = input, b = filter.
// implements: N121
template <class Products>
SOFTAMP_INLINE void walk_output(const ConvolutionGeometry& g, const ConvolutionRules& rules, int64_t n, int64_t oh,
                                int64_t ow, int64_t group, int64_t out_channel, Products& products) {
  const auto taps = [&](int64_t kh, int64_t kw, int64_t c0) {
    const int64_t y = g.h.source(oh, kh), x = g.w.source(ow, kw);
    if (y < 0 || x < 0) return TapRun{};
    return TapRun{false, g.input_at(n, y, x) + static_cast<uint64_t>(group * g.in_channels + c0),
                  g.filter_at(kh, kw, group, c0) + static_cast<uint64_t>(out_channel),
                  static_cast<uint64_t>(g.out_channels)};
  };
  walk_taps(g, rules, g.in_channels, taps, products);
}

/// Of the gradient of input (n, ih, iw), channel `in_channel` of `group`: a = gradient of the output, b = filter.
// implements: N122
template <class Products>
SOFTAMP_INLINE void walk_input(const ConvolutionGeometry& g, const ConvolutionRules& rules, int64_t n, int64_t ih,
                               int64_t iw, int64_t group, int64_t in_channel, Products& products) {
  const auto taps = [&](int64_t kh, int64_t kw, int64_t c0) {
    const int64_t y = g.h.reader(ih, kh), x = g.w.reader(iw, kw);
    if (y < 0 || x < 0) return TapRun{};
    return TapRun{false, g.output_at(n, y, x) + static_cast<uint64_t>(group * g.out_channels + c0),
                  g.filter_at(kh, kw, group, in_channel) + static_cast<uint64_t>(c0), 1};
  };
  walk_taps(g, rules, g.out_channels, taps, products);
}

/// Places to an independent partial of a filter's gradient.
// implements: N123
constexpr int64_t kPartialPlaces = 1024;

/// The same as walk_filter without blocks: the places of a row at once.
template <class Products>
SOFTAMP_INLINE void walk_filter_rows(const ConvolutionGeometry& g, int64_t kh, int64_t kw, int64_t group,
                                     int64_t in_channel, int64_t out_channel, int64_t begin, int64_t end,
                                     Products& products) {
  int64_t ow0 = 0, open = -1;  // the first place of a row whose tap reads no padding; the partial that has products
  while (ow0 < g.w.output && g.w.source(ow0, kw) < 0) ++ow0;
  int64_t ow1 = ow0;
  while (ow1 < g.w.output && g.w.source(ow1, kw) >= 0) ++ow1;
  for (int64_t row = begin / g.w.output; row * g.w.output < end; ++row) {
    const int64_t n = row / g.h.output, oh = row % g.h.output, y = g.h.source(oh, kh);
    if (y < 0) continue;
    const int64_t first = row * g.w.output;
    int64_t place = first + ow0 > begin ? first + ow0 : begin;
    const int64_t stop = first + ow1 < end ? first + ow1 : end;
    while (place < stop) {
      const int64_t partial = place / kPartialPlaces, next = (partial + 1) * kPartialPlaces;
      const int64_t length = (next < stop ? next : stop) - place, ow = place - first;
      if (open >= 0 && open != partial) products.close_partial(0);
      open = partial;
      products.run(g.input_at(n, y, g.w.source(ow, kw)) + static_cast<uint64_t>(group * g.in_channels + in_channel),
                   static_cast<uint64_t>(g.w.stride * g.groups * g.in_channels),
                   g.output_at(n, oh, ow) + static_cast<uint64_t>(group * g.out_channels + out_channel),
                   static_cast<uint64_t>(g.groups * g.out_channels), static_cast<uint64_t>(length));
      place += length;
    }
  }
  if (open >= 0) products.close_partial(0);
}

/// Of the gradient of filter element (kh, kw, in_channel of group, out_channel), those of places [begin, end) of
/// (n, oh, ow): a = input, b = gradient of the output. `begin` is a multiple of kPartialPlaces.
// implements: N123
template <class Products>
SOFTAMP_INLINE void walk_filter(const ConvolutionGeometry& g, const ConvolutionRules& rules, int64_t kh, int64_t kw,
                                int64_t group, int64_t in_channel, int64_t out_channel, int64_t begin, int64_t end,
                                Products& products) {
  if (begin >= end) return;
  if constexpr (requires { products.run(0, 1, 0, 1, 1); })
    return walk_filter_rows(g, kh, kw, group, in_channel, out_channel, begin, end, products);
  const int64_t block = rules.block == 0 ? kPartialPlaces : rules.block;
  int64_t ow = begin % g.w.output, oh = begin / g.w.output % g.h.output, n = begin / g.w.output / g.h.output;
  int64_t last = -1;  // place that had a product
  for (int64_t place = begin; place < end; ++place) {
    const int64_t y = g.h.source(oh, kh), x = g.w.source(ow, kw);
    if (y >= 0 && x >= 0) {
      if (last >= 0 && last / block != place / block) products.end_block(static_cast<uint64_t>(last / block));
      if (last >= 0 && last / kPartialPlaces != place / kPartialPlaces)
        products.close_partial(static_cast<uint64_t>(last / block));
      last = place;
      products.product(g.input_at(n, y, x) + static_cast<uint64_t>(group * g.in_channels + in_channel),
                       g.output_at(n, oh, ow) + static_cast<uint64_t>(group * g.out_channels + out_channel),
                       static_cast<uint64_t>(place / block));
    }
    if (++ow < g.w.output) continue;
    ow = 0;
    if (++oh < g.h.output) continue;
    oh = 0;
    ++n;
  }
  if (last >= 0) {
    products.end_block(static_cast<uint64_t>(last / block));
    products.close_partial(static_cast<uint64_t>(last / block));
  }
}

/// The body: products by kernel/products.h.
class ChainProducts {
 public:
  SOFTAMP_INLINE ChainProducts(const ProductRules& rules, const Environment& env, uint64_t output, const void* a,
                               const void* b)
      : rules_(rules), semantics_(product_semantics(rules, env.semantics)), chain_(rules, env, output), a_(a), b_(b) {}
  SOFTAMP_INLINE void product(uint64_t ia, uint64_t ib, uint64_t block) {
    chain_.step(widen_operand(rules_.a, load_code(rules_.a, a_, ia), semantics_),
                widen_operand(rules_.b, load_code(rules_.b, b_, ib), semantics_), block);
  }
  // implements: N125
  SOFTAMP_INLINE void end_block(uint64_t block) { chain_.end_block(block); }
  SOFTAMP_INLINE void close_partial(uint64_t block) { chain_.close_partial(block); }
  // implements: N125
  SOFTAMP_INLINE Rounded finish() { return chain_.finish(); }

 private:
  const ProductRules& rules_;
  Semantics semantics_;
  ProductChain chain_;
  const void *a_, *b_;
};

/// Output (n, oh, ow), channel `out_channel` of `group`. rules.product: a = input, b = filter.
// implements: N121
SOFTAMP_INLINE Rounded convolution(const ConvolutionGeometry& g, const ConvolutionRules& rules, const Environment& env,
                                   const void* input, const void* filter, int64_t n, int64_t oh, int64_t ow,
                                   int64_t group, int64_t out_channel) {
  const uint64_t output = g.output_at(n, oh, ow) + static_cast<uint64_t>(group * g.out_channels + out_channel);
  ChainProducts products(rules.product, env, output, input, filter);
  walk_output(g, rules, n, oh, ow, group, out_channel, products);
  return products.finish();
}

/// The gradient of input (n, ih, iw), channel `in_channel` of `group`. rules.product: a = gradient of the output,
/// b = filter.
// implements: N122
SOFTAMP_INLINE Rounded convolution_input_gradient(const ConvolutionGeometry& g, const ConvolutionRules& rules,
                                                  const Environment& env, const void* filter, const void* gradient,
                                                  int64_t n, int64_t ih, int64_t iw, int64_t group,
                                                  int64_t in_channel) {
  const uint64_t output = g.input_at(n, ih, iw) + static_cast<uint64_t>(group * g.in_channels + in_channel);
  ChainProducts products(rules.product, env, output, gradient, filter);
  walk_input(g, rules, n, ih, iw, group, in_channel, products);
  return products.finish();
}

/// The gradient of filter element (kh, kw, in_channel of group, out_channel). rules.product: a = input, b = gradient of
/// the output, independent.
// implements: N123
SOFTAMP_INLINE Rounded convolution_filter_gradient(const ConvolutionGeometry& g, const ConvolutionRules& rules,
                                                   const Environment& env, const void* input, const void* gradient,
                                                   int64_t kh, int64_t kw, int64_t group, int64_t in_channel,
                                                   int64_t out_channel) {
  const uint64_t output = g.filter_at(kh, kw, group, in_channel) + static_cast<uint64_t>(out_channel);
  ChainProducts products(rules.product, env, output, input, gradient);
  walk_filter(g, rules, kh, kw, group, in_channel, out_channel, 0, g.batch * g.h.output * g.w.output, products);
  return products.finish();
}

}  // namespace softamp::kernel
