#include "cuda/convolutions/convolution_parts.h"

#include <algorithm>

namespace softamp::cuda {
namespace {

using engine::axis_classes;
using engine::AxisClass;
using engine::tap_places;
using engine::TapPlaces;
using kernel::ConvolutionGeometry;

/// Most rows of a part; classes of more are cut along the batch.
constexpr int64_t kMostRows = int64_t{1} << 30;

/// The distance between neighbours; -1: not constant.
int64_t step_of(const std::vector<int64_t>& list) {
  const int64_t step = list.size() > 1 ? list[1] - list[0] : 0;
  for (size_t i = 1; i < list.size(); ++i)
    if (list[i] - list[i - 1] != step) return -1;
  return step;
}

/// The positions of rows (n, y, x), for `batch` images and places y and x: elements relative to (0, y[0], x[0]).
PlaceMap rows_map(ProductParts& parts, int64_t batch, const std::vector<int64_t>& y, const std::vector<int64_t>& x,
                  int64_t image, int64_t line, int64_t place) {
  const int64_t y_step = step_of(y), x_step = step_of(x);
  if (y_step >= 0 && x_step >= 0)
    return {-1, image, y_step * line, x_step * place, static_cast<uint32_t>(y.size()), static_cast<uint32_t>(x.size())};
  std::vector<int64_t> list;
  for (int64_t n = 0; n < batch; ++n)
    for (const int64_t i : y)
      for (const int64_t j : x) list.push_back(n * image + (i - y[0]) * line + (j - x[0]) * place);
  return parts.places(list);
}

/// Forward and input gradient.
class WindowParts {
 public:
  explicit WindowParts(const engine::ConvolutionNode& node)
      : g_(node.geometry),
        gradient_(node.kind == engine::ConvolutionKind::kInputGradient),
        channels_(gradient_ ? g_.out_channels : g_.in_channels),
        columns_(gradient_ ? g_.in_channels : g_.out_channels) {
    for (const AxisClass& h : axis_classes(g_.h, gradient_))
      for (const AxisClass& w : axis_classes(g_.w, gradient_)) {
        parts_.schedules.push_back(class_schedule(g_, node.rules, h, w, channels_));
        add(h, w);
      }
  }
  ProductParts take() { return std::move(parts_); }

 private:
  void add(const AxisClass& h, const AxisClass& w) {
    const int64_t from_h = gradient_ ? g_.h.output : g_.h.input, from_w = gradient_ ? g_.w.output : g_.w.input;
    const int64_t to_h = gradient_ ? g_.h.input : g_.h.output, to_w = gradient_ ? g_.w.input : g_.w.output;
    const int64_t from_place = g_.groups * channels_, to_place = g_.groups * columns_;
    const int64_t from_line = from_w * from_place, to_line = to_w * to_place;
    const int64_t from_image = from_h * from_line, to_image = to_h * to_line;
    const auto places = static_cast<int64_t>(h.places.size() * w.places.size());
    if (places == 0 || g_.batch == 0) return;
    const int64_t images = std::clamp<int64_t>(kMostRows / places, 1, g_.batch);

    ProductPart part;
    part.columns = static_cast<uint32_t>(columns_);
    part.schedule = static_cast<uint32_t>(parts_.schedules.size() - 1);
    part.a_rows = rows_map(parts_, images, h.sources, w.sources, from_image, from_line, from_place);
    part.out_rows = rows_map(parts_, images, h.places, w.places, to_image, to_line, to_place);
    part.b_columns = PlaceMap::strided(gradient_ ? g_.out_channels : 1);
    add_products(h, w, from_line, from_place, part);
    for (int64_t n = 0; n < g_.batch; n += images)
      for (int64_t group = 0; group < g_.groups; ++group) {
        part.rows = static_cast<uint32_t>(std::min(images, g_.batch - n) * places);
        part.a = n * from_image + h.sources[0] * from_line + w.sources[0] * from_place + group * channels_;
        part.b = group * g_.in_channels * g_.out_channels;
        part.out = n * to_image + h.places[0] * to_line + w.places[0] * to_place + group * columns_;
        parts_.add(part);
      }
  }

  /// The places of a row's products, and of the filter's elements that they are with, in their order.
  void add_products(const AxisClass& h, const AxisClass& w, int64_t line, int64_t place, ProductPart& part) {
    std::vector<int64_t> a, b;
    const int64_t b_step = gradient_ ? 1 : g_.out_channels;
    for (int64_t c0 = 0; c0 < channels_; c0 += ConvolutionGeometry::kChannelBlock)
      for (size_t i = 0; i < h.taps.size(); ++i)
        for (size_t j = 0; j < w.taps.size(); ++j)
          for (int64_t c = c0; c < std::min(channels_, c0 + ConvolutionGeometry::kChannelBlock); ++c) {
            a.push_back(h.offsets[i] * line + w.offsets[j] * place + c);
            b.push_back(static_cast<int64_t>(g_.filter_at(h.taps[i], w.taps[j], 0, 0)) + c * b_step);
          }
    part.a_k = parts_.places(a);
    part.b_k = parts_.places(b);
  }

  const ConvolutionGeometry& g_;
  bool gradient_;
  int64_t channels_, columns_;  ///< of a group: of the image that is read, of the one that is written
  ProductParts parts_;
};

ProductParts filter_parts(const engine::ConvolutionNode& node) {
  const ConvolutionGeometry& g = node.geometry;
  ProductParts parts;
  const int64_t in_place = g.groups * g.in_channels, out_place = g.groups * g.out_channels;
  const int64_t in_line = g.w.input * in_place, out_line = g.w.output * out_place;
  for (int64_t kh = 0; kh < g.h.kernel; ++kh)
    for (int64_t kw = 0; kw < g.w.kernel; ++kw) {
      const TapPlaces p = tap_places(g, kh, kw);
      ProductPart part;
      part.rows = static_cast<uint32_t>(g.in_channels);
      part.columns = static_cast<uint32_t>(g.out_channels);
      part.schedule = static_cast<uint32_t>(parts.schedules.size());
      parts.schedules.push_back(tap_schedule(g, node.rules, p));
      part.a_rows = PlaceMap::strided(1);
      part.b_columns = PlaceMap::strided(1);
      part.out_rows = PlaceMap::strided(g.out_channels);
      int64_t a = 0, b = 0;
      if (parts.schedules.back().k > 0) {
        const auto height = static_cast<uint32_t>(p.oh1 - p.oh0), width = static_cast<uint32_t>(p.ow1 - p.ow0);
        part.a_k = {-1, g.h.input * in_line, g.h.stride * in_line, g.w.stride * in_place, height, width};
        part.b_k = {-1, g.h.output * out_line, out_line, out_place, height, width};
        a = static_cast<int64_t>(g.input_at(0, g.h.source(p.oh0, kh), g.w.source(p.ow0, kw)));
        b = static_cast<int64_t>(g.output_at(0, p.oh0, p.ow0));
      }
      for (int64_t group = 0; group < g.groups; ++group) {
        part.a = a + group * g.in_channels;
        part.b = b + group * g.out_channels;
        part.out = static_cast<int64_t>(g.filter_at(kh, kw, group, 0));
        parts.add(part);
      }
    }
  return parts;
}

}  // namespace

ProductParts convolution_parts(const engine::ConvolutionNode& node) {
  return node.kind == engine::ConvolutionKind::kFilterGradient ? filter_parts(node) : WindowParts(node).take();
}

}  // namespace softamp::cuda
