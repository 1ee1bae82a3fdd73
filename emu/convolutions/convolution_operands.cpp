#include "emu/convolutions/convolution_operands.h"

#include <algorithm>
#include <cstring>

namespace softamp::emu {
namespace {

/// Short runs, of a length that is mostly 16.
inline void copy(float* to, const float* from, size_t count) {
  for (; count >= 16; count -= 16, to += 16, from += 16) __builtin_memcpy(to, from, 64);
  for (size_t i = 0; i < count; ++i) to[i] = from[i];
}

size_t quotient_up(size_t n, size_t d) { return (n + d - 1) / d; }

}  // namespace

ByChannels::ByChannels(int64_t image_rows, int64_t image_width, int64_t read_stride)
    : rows(static_cast<size_t>(image_rows)),
      width(static_cast<size_t>(image_width)),
      stride(static_cast<size_t>(read_stride)),
      pitch(quotient_up(width, stride)),
      row(pitch * std::min(stride, width)),
      // An odd number of cache lines: channels of a power of two of places would share the caches' sets.
      channel((quotient_up(row * rows, 16) | 1) * 16) {}

void ByChannels::fill(const ProductPlan& plan, const float* image, size_t channels, size_t begin, size_t end,
                      float* to) const {
  for (size_t r = begin; r < end; ++r)
    for (size_t phase = 0; phase < std::min(stride, width); ++phase) {
      float* const first = to + r * row + phase * pitch;
      const size_t places = quotient_up(width - phase, stride);
      transpose(plan, image + (r * width + phase) * channels, places, channels, stride * channels, first, channel);
      if (places < pitch)
        for (size_t c = 0; c < channels; ++c) first[c * channel + places] = 0;
    }
  if (end == rows)
    for (size_t c = 0; c < channels; ++c) std::fill_n(to + c * channel + rows * row, channel - rows * row, 0.0f);
}

WindowOperands::WindowOperands(const Extents& e, const AxisClass& h, const AxisClass& w, int64_t read_stride)
    : e_(e), h_(h), w_(w), lay_(e.batch * e.image_h, e.image_w, read_stride) {
  for (size_t i = 1; i < w.sources.size(); ++i) regular_ &= w.sources[i] == w.sources[i - 1] + read_stride;
  constexpr int64_t kBlock = kernel::ConvolutionGeometry::kChannelBlock;
  size_t k = 0;
  for (int64_t c0 = 0; c0 < e.channels; c0 += kBlock) {
    const size_t length = static_cast<size_t>(std::min(e.channels - c0, kBlock));
    for (const int64_t dy : h.offsets)
      for (const int64_t dx : w.offsets) {
        const int64_t offset = (dy * e.image_w + dx) * e.groups * e.channels + c0;
        if (!runs_.empty() && runs_.back().offset + static_cast<int64_t>(runs_.back().length) == offset)
          runs_.back().length += length;
        else
          runs_.push_back({k, offset, length});
        k += length;
        const int64_t x = w.sources[0] + dx;
        for (int64_t c = c0; c < c0 + static_cast<int64_t>(length); ++c)
          offsets_.push_back(c * static_cast<int64_t>(lay_.channel) + dy * static_cast<int64_t>(lay_.row) +
                             x % read_stride * static_cast<int64_t>(lay_.pitch) + x / read_stride);
      }
  }
}

void WindowOperands::Part::a_rows(size_t row, size_t rows, size_t k0, size_t k1, float* to, size_t stride) const {
  const Extents& e = of_.e_;
  const size_t width = of_.w_.places.size(), height = of_.h_.places.size();
  const int64_t pixel = e.groups * e.channels;
  row += row0_;
  size_t x = row % width, y = row / width % height, n = row / width / height;
  const Run* first = of_.runs_.data();
  const Run* const end = first + of_.runs_.size();
  while (first + 1 < end && first[1].k <= k0) ++first;
  for (size_t i = 0; i < rows; ++i, to += stride) {
    const float* const at =
        image_ + ((static_cast<int64_t>(n) * e.image_h + of_.h_.sources[y]) * e.image_w + of_.w_.sources[x]) * pixel;
    size_t k = k0;
    for (const Run* r = first; k < k1; ++r) {
      const size_t skip = k - r->k, count = std::min(r->length - skip, k1 - k);
      copy(to + (k - k0), at + r->offset + skip, count);
      k += count;
    }
    if (++x < width) continue;
    x = 0;
    if (++y < height) continue;
    y = 0;
    ++n;
  }
}

const float* WindowOperands::Part::place(size_t row) const {
  const Extents& e = of_.e_;
  const size_t width = of_.w_.places.size(), height = of_.h_.places.size();
  row += row0_;
  const size_t x = row % width, y = row / width % height, n = row / width / height;
  const auto image_row = static_cast<size_t>(static_cast<int64_t>(n) * e.image_h + of_.h_.sources[y]);
  return by_channels_ + static_cast<size_t>(group_ * e.channels) * of_.lay_.channel + image_row * of_.lay_.row + x;
}

template <class Body>
void WindowOperands::Part::walk(size_t k0, size_t k1, const Body& part) const {
  constexpr size_t kBlock = static_cast<size_t>(kernel::ConvolutionGeometry::kChannelBlock);
  const Extents& e = of_.e_;
  const size_t channels = static_cast<size_t>(e.channels), taps_w = of_.w_.taps.size(),
               taps = of_.h_.taps.size() * taps_w;
  for (size_t k = k0; k < k1;) {
    const size_t block = k / (taps * kBlock), rest = k % (taps * kBlock), c0 = block * kBlock;
    const size_t length = std::min(kBlock, channels - c0), tap = rest / length, c = rest % length;
    const size_t count = std::min(length - c, k1 - k);
    const size_t place = static_cast<size_t>(of_.h_.taps[tap / taps_w] * e.kernel_w + of_.w_.taps[tap % taps_w]);
    part(k - k0, count,
         filter_ + ((place * static_cast<size_t>(e.groups) + static_cast<size_t>(group_)) * channels + c0 + c) *
                       static_cast<size_t>(e.columns));
    k += count;
  }
}

void WindowOperands::Part::b_rows(size_t k0, size_t k1, size_t col0, size_t columns, float* to, size_t stride) const {
  const auto pitch = static_cast<size_t>(of_.e_.columns);
  walk(k0, k1, [&](size_t k, size_t length, const float* from) {
    for (size_t i = 0; i < length; ++i) copy(to + (k + i) * stride, from + i * pitch + col0, columns);
  });
}

void WindowOperands::Part::row_outputs(size_t row, size_t rows, uint64_t* to) const {
  const Extents& e = of_.e_;
  const size_t width = of_.w_.places.size(), height = of_.h_.places.size();
  row += row0_;
  size_t x = row % width, y = row / width % height, n = row / width / height;
  for (size_t i = 0; i < rows; ++i) {
    const int64_t image_row = static_cast<int64_t>(n) * e.out_h + of_.h_.places[y];
    to[i] = static_cast<uint64_t>((image_row * e.out_w + of_.w_.places[x]) * e.groups * e.columns + group_ * e.columns);
    if (++x < width) continue;
    x = 0;
    if (++y < height) continue;
    y = 0;
    ++n;
  }
}

template <class Run>
void TapOperands::walk(size_t k0, size_t k1, const Run& part) const {
  const size_t width = static_cast<size_t>(places_.ow1 - places_.ow0),
               height = static_cast<size_t>(places_.oh1 - places_.oh0);
  size_t x = k0 % width, y = k0 / width % height, n = k0 / width / height;
  for (size_t k = k0; k < k1;) {
    const size_t length = std::min(width - x, k1 - k);
    part(static_cast<int64_t>(n), places_.oh0 + static_cast<int64_t>(y), places_.ow0 + static_cast<int64_t>(x), length,
         k - k0);
    k += length;
    x = 0;
    if (++y < height) continue;
    y = 0;
    ++n;
  }
}

void TapOperands::a_rows(size_t row, size_t rows, size_t k0, size_t k1, float* to, size_t stride) const {
  const size_t pixel = static_cast<size_t>(g_.groups * g_.in_channels * g_.w.stride);
  const auto part = [&](int64_t n, int64_t oh, int64_t ow, size_t length, size_t k) {
    transpose(plan_, input_at(n, oh, ow) + row, length, rows, pixel, to + k, stride);
  };
  walk(k0, k1, part);
}

void TapOperands::offsets(size_t k0, size_t k1, int64_t* a, int64_t* b) const {
  const int64_t in = g_.groups * g_.in_channels * g_.w.stride, out = g_.groups * g_.out_channels;
  walk(k0, k1, [&](int64_t n, int64_t oh, int64_t ow, size_t length, size_t k) {
    int64_t x = input_at(n, oh, ow) - input(), y = static_cast<int64_t>(g_.output_at(n, oh, ow));
    for (size_t i = 0; i < length; ++i, x += in, y += out) a[k + i] = x, b[k + i] = y;
  });
}

void TapOperands::b_rows(size_t k0, size_t k1, size_t col0, size_t columns, float* to, size_t stride) const {
  const size_t pixel = static_cast<size_t>(g_.groups * g_.out_channels);
  const float* const gradient = gradient_ + static_cast<size_t>(group_ * g_.out_channels) + col0;
  const auto part = [&](int64_t n, int64_t oh, int64_t ow, size_t length, size_t k) {
    const float* const from = gradient + static_cast<size_t>((n * g_.h.output + oh) * g_.w.output + ow) * pixel;
    for (size_t i = 0; i < length; ++i) copy(to + (k + i) * stride, from + i * pixel, columns);
  };
  walk(k0, k1, part);
}

}  // namespace softamp::emu
