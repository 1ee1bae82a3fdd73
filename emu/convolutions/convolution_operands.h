// Operands of the matrix products of convolutions, gathered from widened tensors.
#pragma once

#include <cstdint>
#include <vector>

#include "emu/convolutions/convolution.h"

namespace softamp::emu {

/// An image [row, x, channel], row = (n, y), laid out by channels: [channel][row][x mod stride][x / stride], so that
/// neighbouring places, which read `stride` apart, read neighbouring elements.
struct ByChannels {
  static constexpr size_t kSlack = 64;  ///< floats that may be read beyond the end
  size_t rows, width, stride;           ///< of the image
  size_t pitch, row, channel;           ///< elements of a phase, of an image row, of a channel
  ByChannels(int64_t image_rows, int64_t image_width, int64_t read_stride);
  /// Floats, slack included.
  size_t size(size_t channels) const { return channel * channels + kSlack; }
  /// Fills image rows [begin, end) of `to`, with zeros outside the image.
  void fill(const ProductPlan& plan, const float* image, size_t channels, size_t begin, size_t end, float* to) const;
};

/// Forward and input gradient: rows are a class's places over the batch, (n, place of h, place of w); k runs over
/// (channel block, kh, kw, channel), the taps of the class.
class WindowOperands {
 public:
  /// A run of k whose elements in the image are consecutive.
  struct Run {
    size_t k;        ///< first
    int64_t offset;  ///< of its element from the row's
    size_t length;
  };
  /// Independent of the graph's run. `channels`, `groups`: of the image that is read; `columns`: of a group; image_h,
  /// image_w, out_h, out_w: extents of the images read and written.
  struct Extents {
    int64_t batch, image_h, image_w, out_h, out_w, groups, channels, columns, kernel_w;
  };
  /// `read_stride`: distance between the elements that neighbouring places of a row read.
  WindowOperands(const Extents& e, const AxisClass& h, const AxisClass& w, int64_t read_stride);

  const ByChannels& lay() const { return lay_; }
  /// Neighbouring places of a row read neighbouring elements of by_channels: a_panel serves.
  bool regular() const { return regular_; }
  size_t rows() const { return static_cast<size_t>(e_.batch) * h_.places.size() * w_.places.size(); }

  /// A part of the problem: these operands with their tensors, for rows from `row0` on, of one group.
  /// image: [batch, image_h, image_w, groups * channels]; by_channels: the same in the layout `lay()`, null if place()
  /// is not needed; filter: [kh, kw, groups, channels, columns].
  class Part final : public ProductOperands {
   public:
    Part(const WindowOperands& of, const float* image, const float* by_channels, const float* filter, int64_t group,
         size_t row0)
        : of_(of),
          image_(image + group * of.e_.channels),
          by_channels_(by_channels),
          filter_(filter),
          group_(group),
          row0_(row0) {}
    /// The same from a row on.
    Part from(size_t row) const {
      Part part = *this;
      part.row0_ += row;
      return part;
    }
    /// Rows that are neighbouring places come in runs of this length.
    size_t width() const { return of_.w_.places.size(); }
    /// Where, by channels, A of a row begins: A(row + i, k) = place(row)[offsets()[k] + i] within a run.
    const float* place(size_t row) const;
    const int64_t* offsets() const { return of_.offsets_.data(); }
    void row_outputs(size_t row, size_t rows, uint64_t* to) const;
    void a_rows(size_t row, size_t rows, size_t k0, size_t k1, float* to, size_t stride) const override;
    void b_rows(size_t k0, size_t k1, size_t col0, size_t columns, float* to, size_t stride) const override;
    uint64_t row_output(size_t row) const override {
      uint64_t place = 0;
      row_outputs(row, 1, &place);
      return place;
    }

   private:
    /// Calls part(k - k0, length, first row of the filter) for the runs of channels that [k0, k1) is made of.
    template <class Body>
    void walk(size_t k0, size_t k1, const Body& part) const;

    const WindowOperands& of_;
    const float* image_;
    const float* by_channels_;
    const float* filter_;
    int64_t group_;
    size_t row0_;
  };

 private:
  friend class Part;
  Extents e_;
  AxisClass h_, w_;
  ByChannels lay_;
  bool regular_ = true;
  std::vector<Run> runs_;
  std::vector<int64_t> offsets_;  ///< per k: in by_channels, of what a row's first place reads, from the row's first
};

/// Filter gradient: one tap of one group. Rows are input channels, columns output channels, k runs over the places
/// where the tap reads no padding. input: [batch, y, x, groups * in_channels]; gradient: [batch, oh, ow, groups *
/// out_channels]; both fp32.
class TapOperands final : public ProductOperands {
 public:
  TapOperands(const ProductPlan& plan, const kernel::ConvolutionGeometry& g, int64_t kh, int64_t kw, int64_t group,
              const TapPlaces& places, const float* input, const float* gradient, size_t row0)
      : plan_(plan),
        g_(g),
        kh_(kh),
        kw_(kw),
        group_(group),
        places_(places),
        input_(input),
        gradient_(gradient),
        row0_(row0) {}
  void a_rows(size_t row, size_t rows, size_t k0, size_t k1, float* to, size_t stride) const override;
  void b_rows(size_t k0, size_t k1, size_t col0, size_t columns, float* to, size_t stride) const override;
  /// A(i, k) = input()[a[k] + i], B(k, j) = gradient()[b[k] + j],  k0 <= k < k1.
  const float* input() const { return input_ + static_cast<size_t>(group_ * g_.in_channels) + row0_; }
  const float* gradient() const { return gradient_ + static_cast<size_t>(group_ * g_.out_channels); }
  void offsets(size_t k0, size_t k1, int64_t* a, int64_t* b) const;
  /// Whether its offsets are the other's: that it is another part of the same tap.
  bool same_offsets(const TapOperands& other) const { return kh_ == other.kh_ && kw_ == other.kw_; }
  void row_outputs(size_t row, size_t rows, uint64_t* to) const {
    for (size_t i = 0; i < rows; ++i) to[i] = row_output(row + i);
  }
  uint64_t row_output(size_t row) const override {
    return g_.filter_at(kh_, kw_, group_, static_cast<int64_t>(row0_ + row));
  }

 private:
  /// Calls part(n, oh, ow, length, k - k0) for the runs of consecutive places that [k0, k1) is made of.
  template <class Run>
  void walk(size_t k0, size_t k1, const Run& part) const;
  /// The input's channel 0 of this group and part, read by output (n, oh, ow).
  const float* input_at(int64_t n, int64_t oh, int64_t ow) const {
    return input() + g_.input_at(n, g_.h.source(oh, kh_), g_.w.source(ow, kw_));
  }

  const ProductPlan& plan_;
  const kernel::ConvolutionGeometry& g_;
  int64_t kh_, kw_, group_;
  TapPlaces places_;
  const float* input_;
  const float* gradient_;
  size_t row0_;
};

}  // namespace softamp::emu
