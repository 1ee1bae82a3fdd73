#include "softamp/engine/convolution_node.h"

#include <algorithm>
#include <map>
#include <string>

#include "softamp/engine/product_node.h"
#include "softamp/engine/product_rules.h"

namespace softamp::engine {

using kernel::ConvolutionGeometry;
using kernel::ConvolutionRules;
using kernel::WindowAxis;

namespace {

ConvolutionGeometry geometry_of(const Node& node, std::span<const TensorType> inputs, ConvolutionKind kind,
                                bool depthwise) {
  const auto sizes = [&](const char* name) { return Shape(attribute<std::vector<int64_t>>(node, name)); };
  const bool of_input = kind == ConvolutionKind::kInputGradient, of_filter = kind == ConvolutionKind::kFilterGradient;
  const Shape input = of_input ? sizes("input_sizes") : inputs[0].shape;
  const Shape filter = of_filter ? sizes("filter_sizes") : inputs[of_input ? 0 : 1].shape;
  const Shape output = kind == ConvolutionKind::kForward ? node.outputs[0].shape : inputs[1].shape;
  const auto& strides = attribute<std::vector<int64_t>>(node, "strides");
  const auto& dilations = attribute<std::vector<int64_t>>(node, "dilations");
  const bool same = attribute<std::string>(node, "padding") == "SAME";
  const auto axis = [&](int i) {
    WindowAxis a{input[i], output[i], filter[i - 1], strides[static_cast<size_t>(i)], dilations[static_cast<size_t>(i)],
                 0};
    if (same) a.pad = kernel::same_padding(a.input, a.output, (a.kernel - 1) * a.dilation + 1, a.stride);
    return a;
  };
  return {input[0], axis(1), axis(2), depthwise ? filter[2] : 1, depthwise ? 1 : filter[2], filter[3]};
}

ConvolutionRules rules_of(const OpContext& context, ConvolutionKind kind) {
  const ProductOptions& options = context.settings.convolutions;
  const bool batch_sum = kind == ConvolutionKind::kFilterGradient;
  return {product_rules(context, options, context.node.outputs[0].dtype, batch_sum), options.block};
}

/// How many blocks a sum has, including skipped ones.
uint64_t count_blocks(const ConvolutionGeometry& g, const ConvolutionRules& rules, ConvolutionKind kind) {
  if (kind == ConvolutionKind::kFilterGradient) {
    const int64_t places = g.batch * g.h.output * g.w.output;
    const int64_t block = rules.block == 0 ? static_cast<int64_t>(kPartialLength) : rules.block;
    return static_cast<uint64_t>((places + block - 1) / block);
  }
  constexpr int64_t kRun = ConvolutionGeometry::kChannelBlock;
  const int64_t channels = kind == ConvolutionKind::kForward ? g.in_channels : g.out_channels, rest = channels % kRun;
  return static_cast<uint64_t>(g.h.kernel * g.w.kernel *
                               (channels / kRun * rules.blocks(kRun) + (rest ? rules.blocks(rest) : 0)));
}

}  // namespace

ConvolutionNode::ConvolutionNode(const OpContext& context, ConvolutionKind direction, bool depthwise)
    : kind(direction),
      geometry(geometry_of(context.node, context.inputs, direction, depthwise)),
      rules(rules_of(context, direction)),
      outputs(static_cast<uint64_t>(context.node.outputs[0].shape.elements())),
      blocks(count_blocks(geometry, rules, direction)) {}

OpKernel::SiteRoundings ConvolutionNode::roundings(uint32_t site) const {
  return product_roundings(rules.product, site, blocks, outputs);
}

std::vector<AxisClass> axis_classes(const WindowAxis& axis, bool gradient) {
  std::vector<AxisClass> classes;
  std::map<std::vector<int64_t>, size_t> known;
  const int64_t places = gradient ? axis.input : axis.output;
  std::vector<int64_t> taps;
  for (int64_t place = 0; place < places; ++place) {
    const auto source = [&](int64_t k) { return gradient ? axis.reader(place, k) : axis.source(place, k); };
    taps.clear();
    for (int64_t k = 0; k < axis.kernel; ++k)
      if (source(k) >= 0) taps.push_back(k);
    const auto [at, fresh] = known.try_emplace(taps, classes.size());
    if (fresh) {
      AxisClass c;
      c.taps = taps;
      for (const int64_t k : taps) c.offsets.push_back(source(k) - source(taps[0]));
      classes.push_back(std::move(c));
    }
    AxisClass& c = classes[at->second];
    c.places.push_back(place);
    c.sources.push_back(taps.empty() ? 0 : source(taps[0]));
  }
  return classes;
}

namespace {

/// Blocks of float partials change nothing, except for exact sums of four and the random bits of rounded batch
/// partials; fewer blocks are less work.
bool blocks_matter(const ConvolutionRules& rules) {
  const kernel::ProductRules& p = rules.product;
  return p.partials == kernel::PartialsType::kHalf || p.round_partials || p.inner == AmpInner::kExactDot4;
}

}  // namespace

Schedule class_schedule(const ConvolutionGeometry& g, const ConvolutionRules& rules, const AxisClass& h,
                        const AxisClass& w, int64_t channels) {
  Schedule schedule;
  const int64_t taps = static_cast<int64_t>(h.taps.size() * w.taps.size());
  if (taps == 0 || channels == 0) return schedule;
  if (!blocks_matter(rules)) {
    schedule.add(static_cast<uint32_t>(taps * channels), 0);
    return schedule;
  }
  int64_t first = 0;  // number of the first block of the channel block
  for (int64_t c0 = 0; c0 < channels; c0 += ConvolutionGeometry::kChannelBlock) {
    const int64_t length = std::min(channels - c0, ConvolutionGeometry::kChannelBlock);
    const int64_t blocks = rules.blocks(length), step = rules.block == 0 ? length : rules.block;
    for (const int64_t kh : h.taps)
      for (const int64_t kw : w.taps)
        for (int64_t b = 0; b < blocks; ++b)
          schedule.add(static_cast<uint32_t>(std::min(step, length - b * step)),
                       static_cast<uint32_t>(first + (kh * g.w.kernel + kw) * blocks + b));
    first += g.h.kernel * g.w.kernel * blocks;
  }
  return schedule;
}

TapPlaces tap_places(const ConvolutionGeometry& g, int64_t kh, int64_t kw) {
  const auto range = [](const WindowAxis& a, int64_t k, int64_t& begin, int64_t& end) {
    begin = 0;
    while (begin < a.output && a.source(begin, k) < 0) ++begin;
    end = begin;
    while (end < a.output && a.source(end, k) >= 0) ++end;
  };
  TapPlaces p{};
  range(g.h, kh, p.oh0, p.oh1);
  range(g.w, kw, p.ow0, p.ow1);
  return p;
}

Schedule tap_schedule(const ConvolutionGeometry& g, const ConvolutionRules& rules, const TapPlaces& p) {
  Schedule schedule;
  constexpr int64_t kPartial = static_cast<int64_t>(kPartialLength);
  const int64_t block = rules.block == 0 || !blocks_matter(rules) ? kPartial : rules.block;
  int64_t open = -1, length = 0;  // block that has products
  const auto close = [&](bool closes_partial) {
    if (length) schedule.add(static_cast<uint32_t>(length), static_cast<uint32_t>(open), closes_partial);
    length = 0;
  };
  for (int64_t n = 0; n < g.batch && p.ow0 < p.ow1; ++n)
    for (int64_t oh = p.oh0; oh < p.oh1; ++oh) {
      const int64_t row = (n * g.h.output + oh) * g.w.output, end = row + p.ow1;
      for (int64_t place = row + p.ow0; place < end;) {
        const int64_t now = place / block, next = std::min(end, (now + 1) * block);
        if (now != open) close(open >= 0 && open * block / kPartial != now * block / kPartial);
        open = now;
        length += next - place;
        place = next;
      }
    }
  close(true);
  return schedule;
}

}  // namespace softamp::engine
