// Depthwise convolutions. A thread adds up an output's products (kernel/convolutions.h) in fp32 and rounds by
// FastRound. A value that FastRound cannot round becomes a NaN. It stays NaN to the end of the chain, where the body
// computes the output again, with its flags. A filter's gradient is computed in partials, one thread each, which a
// second kernel adds up. Under rare rules, and where every exact product and sum is rounded, the body computes
// everything.
#include "cuda/convolutions/convolution_depthwise.h"

#include "cuda/element_loop.h"
#include "cuda/products/product_finish.h"
#include "softamp/engine/product_node.h"

namespace softamp::cuda {
namespace {

using engine::ConvolutionKind;
using kernel::kPartialPlaces;

constexpr uint32_t kLeftToBody = 0x7FC00000u;  ///< bits of a value that the body must compute
constexpr uint32_t kNoProduct = 0xFFFFFFFFu;   ///< a partial without products

/// Everything that a launch reads; all pointers are the device's.
struct Depthwise {
  kernel::ConvolutionGeometry geometry;
  kernel::ConvolutionRules rules;
  ConvolutionKind kind;
  bool fast;                      ///< false: every output by the body
  bool halves, between;           ///< roundings to half: at the ends of blocks, of partials
  bool flush, flush_to_positive;  ///< fp32 subnormals of operands
  FastRound half, result;
  ResultWay way;
  uint64_t outputs;
  int64_t partials;  ///< of a filter's gradient

  const void *a, *b;
  void* out;
  uint32_t* sums;  ///< fp32 bits of partials: [partial][output]
  StepEnvironment environment;
  DeviceStatus* status;

  SOFTAMP_PRIMITIVE float load(const void* codes, uint64_t i) const {
    if (rules.product.a.storage_bits() > 16) {
      const uint32_t bits = static_cast<const uint32_t*>(codes)[i], magnitude = bits & 0x7FFFFFFFu;
      if (!flush || magnitude >= 0x00800000u) return from_bits(bits);
      return from_bits(flush_to_positive ? 0 : bits & 0x80000000u);
    }
    const uint32_t code = static_cast<const uint16_t*>(codes)[i];
    return rules.product.a == FloatFormat::fp16() ? float_of_half(code) : float_of_bf16(code);
  }
  SOFTAMP_PRIMITIVE void store(uint64_t i, uint32_t code) const {
    if (rules.product.output.storage_bits() > 16)
      static_cast<uint32_t*>(out)[i] = code;
    else
      static_cast<uint16_t*>(out)[i] = static_cast<uint16_t>(code);
  }

  /// All products of output `i`; of a filter's gradient those of places [begin, end).
  template <class Products>
  SOFTAMP_PRIMITIVE void walk(uint64_t i, int64_t begin, int64_t end, Products& products) const {
    const kernel::ConvolutionGeometry& g = geometry;
    const bool input = kind == ConvolutionKind::kInputGradient;
    const int64_t own = input ? g.in_channels : g.out_channels;
    const auto index = static_cast<int64_t>(i);
    const int64_t channel = index % own, group = index / own % g.groups, place = index / own / g.groups;
    if (kind == ConvolutionKind::kFilterGradient)
      return walk_filter(g, rules, place / g.w.kernel, place % g.w.kernel, group, 0, channel, begin, end, products);
    const int64_t width = input ? g.w.input : g.w.output, height = input ? g.h.input : g.h.output;
    const int64_t x = place % width, y = place / width % height, n = place / width / height;
    if (input)
      walk_input(g, rules, n, y, x, group, channel, products);
    else
      walk_output(g, rules, n, y, x, group, channel, products);
  }
  SOFTAMP_PRIMITIVE int64_t places() const { return geometry.batch * geometry.h.output * geometry.w.output; }
};

/// Output i by the body; its flags.
SOFTAMP_HD __attribute__((noinline)) inline uint8_t body_output(const Depthwise& d, const kernel::Environment& e,
                                                                uint64_t i) {
  kernel::ChainProducts products(d.rules.product, e, i, d.a, d.b);
  d.walk(i, 0, d.places(), products);
  const Rounded r = products.finish();
  d.store(i, static_cast<uint32_t>(r.code));
  return r.flags & (kInvalid | kOverflow);
}

/// The random word of a stochastic rounding; not inlined, to save registers.
SOFTAMP_HD __attribute__((noinline)) inline uint32_t drawn(const kernel::Environment& e, const RoundingPolicy& policy,
                                                           uint32_t site, uint64_t index) {
  return e.draw(policy, site, index);
}

/// A chain in fp32.
class FastProducts {
 public:
  SOFTAMP_PRIMITIVE FastProducts(const Depthwise& d, const kernel::Environment& e, uint64_t output)
      : d_(d), environment_(e), output_(output) {}
  SOFTAMP_PRIMITIVE void product(uint64_t ia, uint64_t ib, uint64_t) {
    sum_ = fma_rn(d_.load(d_.a, ia), d_.load(d_.b, ib), sum_);
  }
  SOFTAMP_PRIMITIVE void end_block(uint64_t block) {
    if (d_.halves) round(block);
  }
  SOFTAMP_PRIMITIVE void close_partial(uint64_t block) {
    if (d_.between && !d_.halves) round(block);
    closed_ = true;
  }
  SOFTAMP_PRIMITIVE float sum() const { return sum_; }
  SOFTAMP_PRIMITIVE bool closed() const { return closed_; }

 private:
  SOFTAMP_PRIMITIVE void round(uint64_t block) {
    bool rare = false;
    uint32_t word = 0;
    if (d_.half.draws) word = drawn(environment_, environment_.semantics.narrow, 0, product_index(block, output_));
    const uint32_t code = d_.half(sum_, word, rare);
    sum_ = rare ? from_bits(kLeftToBody) : float_of_half(code);
  }

  const Depthwise& d_;
  const kernel::Environment& environment_;
  uint64_t output_;
  float sum_ = 0;
  bool closed_ = false;
};

/// Stores the result of a chain, by the body if it is rare; returns its flags.
SOFTAMP_PRIMITIVE uint8_t finish(const Depthwise& d, const kernel::Environment& e, uint64_t i, float sum) {
  bool rare = false;
  const bool draws = d.way == ResultWay::kRounded && d.result.draws;
  const uint32_t word = draws ? drawn(e, e.semantics.rounding(d.rules.product.output), 1, i) : 0;
  const uint32_t code = finish_one(d.way, d.result, sum, word, rare);
  if (rare) return body_output(d, e, i);
  d.store(i, code);
  return 0;
}

/// Calls body(environment, i) for a thread's share of `size` outputs; merges the flags that it returns.
template <class Block, class Body>
SOFTAMP_HD void each_thing(const Depthwise& d, Block& block, uint64_t size, const Body& body) {
  block.each([&](unsigned t) {
    const kernel::Environment e = d.environment.now();
    FpStatus seen;
    const uint64_t stride = uint64_t{block.blocks()} * block.threads();
    for (uint64_t i = uint64_t{block.index()} * block.threads() + t; i < size; i += stride) {
      const uint8_t flags = body(e, i);
      if (flags) seen.raise(flags, i);
    }
    merge_status(d.status, seen);
  });
}

struct DepthwiseOutputs {
  Depthwise d;
  template <class Block>
  SOFTAMP_HD void operator()(Block& block) const {
    each_thing(d, block, d.outputs, [&](const kernel::Environment& e, uint64_t i) -> uint8_t {
      if (!d.fast) return body_output(d, e, i);
      FastProducts products(d, e, i);
      d.walk(i, 0, 0, products);
      return finish(d, e, i, products.sum());
    });
  }
};

struct DepthwisePartials {
  Depthwise d;
  template <class Block>
  SOFTAMP_HD void operator()(Block& block) const {
    each_thing(d, block, d.outputs * static_cast<uint64_t>(d.partials),
               [&](const kernel::Environment& e, uint64_t i) -> uint8_t {
                 const uint64_t output = i % d.outputs;
                 const int64_t begin = static_cast<int64_t>(i / d.outputs) * kPartialPlaces;
                 const int64_t end = begin + kPartialPlaces < d.places() ? begin + kPartialPlaces : d.places();
                 FastProducts products(d, e, output);
                 d.walk(output, begin, end, products);
                 const bool number = magnitude_of(products.sum()) <= from_bits(0x7F7FFFFFu);
                 d.sums[i] = !products.closed() ? kNoProduct : number ? bits_of(products.sum()) : kLeftToBody;
                 return 0;
               });
  }
};

struct DepthwiseFold {
  Depthwise d;
  template <class Block>
  SOFTAMP_HD void operator()(Block& block) const {
    each_thing(d, block, d.outputs, [&](const kernel::Environment& e, uint64_t i) -> uint8_t {
      float sum = 0;
      bool any = false;
      for (int64_t p = 0; p < d.partials; ++p) {
        const uint32_t bits = d.sums[static_cast<uint64_t>(p) * d.outputs + i];
        if (bits == kNoProduct) continue;
        sum = any ? add_rn(sum, from_bits(bits)) : from_bits(bits);
        any = true;
      }
      return finish(d, e, i, sum);
    });
  }
};

class DepthwiseKernel final : public OpKernel {
 public:
  DepthwiseKernel(const OpContext& c, ConvolutionKind kind) : node_(c, kind, true) {
    const kernel::ProductRules& rules = node_.rules.product;
    const Semantics s = kernel::product_semantics(rules, c.settings.environment.semantics);
    const bool fp32 = rules.output == kFp32;
    d_.geometry = node_.geometry;
    d_.rules = node_.rules;
    d_.kind = kind;
    d_.outputs = node_.outputs;
    if (kind == ConvolutionKind::kFilterGradient) d_.partials = (d_.places() + kPartialPlaces - 1) / kPartialPlaces;
    d_.halves = rules.partials == kernel::PartialsType::kHalf;
    d_.between = rules.round_partials;
    d_.flush = fp32 && s.wide_operands_flushed;
    d_.flush_to_positive = s.operand_flush_sign == FlushSign::kPositive;
    d_.way = d_.halves && !rules.independent && rules.output == kFp16 ? ResultWay::kHalfAlready : ResultWay::kRounded;
    // A product reports only invalid and overflow; a result in fp32 is the sum itself, in any mode.
    Semantics of_result = s;
    if (fp32) of_result.wide.mode = RoundingMode::kNearestEven;
    d_.half = FastRound::of(kFp16, s, false, true);
    d_.result = FastRound::of(rules.output, of_result, false, !fp32);
    d_.fast = !engine::needs_body(rules, s) && !rules.exact_each && (d_.half.usable || !(d_.halves || d_.between)) &&
              (d_.result.usable || d_.way == ResultWay::kHalfAlready);
  }

  size_t scratch_bytes() const override {
    return d_.fast ? d_.outputs * static_cast<size_t>(d_.partials) * sizeof(uint32_t) : 0;
  }
  void enqueue(const DeviceCall& call) const override {
    const bool exchanged = d_.kind == ConvolutionKind::kInputGradient;  // its inputs: filter, gradient
    Depthwise d = d_;
    d.a = call.in[exchanged ? 1 : 0];
    d.b = call.in[exchanged ? 0 : 1];
    d.out = call.out[0];
    d.sums = static_cast<uint32_t*>(call.scratch);
    d.environment = call.environment;
    d.status = call.status;
    const Grid grid = loop_grid(call.device, d.outputs);
    if (!d.fast || d.kind != ConvolutionKind::kFilterGradient)
      return call.device.launch("depthwise convolution", grid, DepthwiseOutputs{d});
    const uint64_t sums = d.outputs * static_cast<uint64_t>(d.partials);
    call.device.launch("depthwise convolution, partials", loop_grid(call.device, sums), DepthwisePartials{d});
    call.device.launch("depthwise convolution, sum of partials", grid, DepthwiseFold{d});
  }
  SiteRoundings roundings(uint32_t site) const override { return node_.roundings(site); }

 private:
  engine::ConvolutionNode node_;
  Depthwise d_{};
};

}  // namespace

std::unique_ptr<OpKernel> make_depthwise(const OpContext& context, Device&, ConvolutionKind kind) {
  return std::make_unique<DepthwiseKernel>(context, kind);
}

}  // namespace softamp::cuda
