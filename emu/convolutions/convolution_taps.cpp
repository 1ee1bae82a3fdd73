#include "emu/convolutions/convolution_taps.h"

#include <algorithm>
#include <cstring>

#include "emu/products/product_tiles.h"
#include "emu/stop_check.h"

namespace softamp::emu {
namespace {

using kernel::ConvolutionGeometry;

constexpr size_t kGathered = 256;  ///< places that are gathered at a time
constexpr size_t kCopied = 8;      ///< floats

struct TapBuffers {
  AlignedFloats gathered, state;
};
TapBuffers& tap_buffers() {
  thread_local TapBuffers own;
  return own;
}

constexpr size_t rounded_up(size_t n, size_t d) { return (n + d - 1) / d * d; }

/// A tile on its way through the places of a batch.
class TapTile {
 public:
  TapTile(const DirectTile& tile, const ConvolutionGeometry& g, size_t row0, size_t rows, const float* image,
          const float* gradient)
      : tile_(tile),
        g_(g),
        rows_(rows),
        columns_(static_cast<size_t>(g.out_channels)),
        panels_((columns_ + tile.kernels.nr - 1) / tile.kernels.nr),
        size_(padded_tile(tile.kernels)),
        all_(static_cast<uint32_t>((uint64_t{1} << rows) - 1)),
        image_(image),
        gradient_(gradient) {
    gathered_ = tap_buffers().gathered.reserve(kGathered * tile.kernels.mr + 2 * kCopied);
    acc_ = tap_buffers().state.reserve(2 * panels_ * size_);
    total_ = acc_ + panels_ * size_;
    std::memset(acc_, 0, 2 * panels_ * size_ * 4);
    const auto channels = static_cast<size_t>(g.in_channels), taps = static_cast<size_t>(g.w.kernel);
    const int64_t row_of_image = g.w.input * g.in_channels, step = g.w.dilation * g.in_channels;
    for (size_t i = 0; i < rows; ++i) {
      const size_t r = row0 + i, kw = r / channels % taps, kh = r / channels / taps;
      kh_[i] = static_cast<int64_t>(kh), kw_[i] = static_cast<int64_t>(kw);
      const int64_t offset = kh_[i] * g.h.dilation * row_of_image + kw_[i] * step + static_cast<int64_t>(r % channels);
      if (runs_ == 0 || offset != run_[runs_ - 1].offset + static_cast<int64_t>(run_[runs_ - 1].length))
        run_[runs_++] = {i, 0, offset};
      ++run_[runs_ - 1].length;
    }
    for (size_t k = 0; k < kGathered; ++k) {
      a_offsets_[k] = static_cast<int64_t>(k * tile.kernels.mr);
      b_offsets_[k] = static_cast<int64_t>(k * columns_);
    }
  }

  void walk(const std::function<bool()>* stop) {
    StopCheck check(stop);
    const auto width = static_cast<size_t>(g_.w.output);
    std::vector<uint32_t> of_column(width);
    std::vector<size_t> full(width + 1);  // columns from this one on that all rows read
    for (size_t ow = width; ow-- > 0;) {
      for (size_t i = 0; i < rows_; ++i)
        of_column[ow] |= static_cast<uint32_t>(g_.w.source(static_cast<int64_t>(ow), kw_[i]) >= 0) << i;
      full[ow] = of_column[ow] == all_ ? full[ow + 1] + 1 : 0;
    }
    constexpr auto kPartial = static_cast<size_t>(kernel::kPartialPlaces);
    size_t place = 0;
    for (int64_t n = 0; n < g_.batch; ++n)
      for (int64_t oh = 0; oh < g_.h.output; ++oh) {
        uint32_t of_row = 0;
        for (size_t i = 0; i < rows_; ++i) of_row |= static_cast<uint32_t>(g_.h.source(oh, kh_[i]) >= 0) << i;
        const float* const row_of_image =
            image_ + ((n * g_.h.input + oh * g_.h.stride - g_.h.pad) * g_.w.input - g_.w.pad) * g_.in_channels;
        for (size_t ow = 0, count; ow < width; ow += count, place += count) {
          if (place % kPartial == 0) {
            multiply();
            close_partial();
          }
          const uint32_t read = of_row & of_column[ow];
          count = read == all_ ? std::min(full[ow], kPartial - place % kPartial) : 1;
          const float* const from = row_of_image + static_cast<int64_t>(ow) * g_.w.stride * g_.in_channels;
          if (read == all_)
            count = gather(place, from, count);
          else
            add(place, from, read);
        }
        check.after(static_cast<uint64_t>(g_.w.output) * size_ * panels_ / 16);
      }
    multiply();
    close_partial();
  }

  /// Whether all results are below `limit`: a magnitude's bits.
  bool below(uint32_t limit) const {
    const size_t nr = tile_.kernels.nr;
    for (size_t c = 0; c < columns_; ++c)
      for (size_t i = 0; i < rows_; ++i) {
        const float result = total_[c / nr * size_ + i * nr + c % nr];
        if ((__builtin_bit_cast(uint32_t, result) & 0x7FFFFFFFu) >= limit) return false;
      }
    return true;
  }
  void store(const ProductPlan& plan, const kernel::Environment& environment, size_t row0, void* out) {
    const Schedule none;
    const ProductProblem problem{rows_, columns_, &none, nullptr, out};
    const ProductRun run(plan, problem, environment, false);
    const size_t nr = tile_.kernels.nr;
    for (size_t j = 0; j < panels_; ++j) {
      uint64_t corner[kMostRows] = {};
      for (size_t i = 0; i < rows_; ++i) corner[i] = (row0 + i) * columns_ + j * nr;
      const ProductTile part{
          nullptr, nullptr, nullptr, nullptr, nullptr, 0, corner, rows_, std::min(nr, columns_ - j * nr)};
      uint8_t suspicion = 0;
      run.finish(part, {nullptr, total_ + j * size_, &suspicion}, row0, j * nr, nullptr);  // partials are independent
    }
  }

 private:
  struct Run {
    size_t row, length;
    int64_t offset;  ///< of its first element from what the place reads through tap (0, 0)
  };

  /// Gathers at most `count` places that all rows read, the first one from `from` on; how many there was room for.
  size_t gather(size_t place, const float* from, size_t count) {
    if (count_ == kGathered) multiply();
    if (count_ == 0) first_ = place;
    count = std::min(count, kGathered - count_);
    float* to = gathered_ + count_ * tile_.kernels.mr;
    count_ += count;
    Run run[kMostRows];
    const size_t runs = runs_, mr = tile_.kernels.mr;
    const int64_t step = g_.w.stride * g_.in_channels;
    std::copy_n(run_, runs, run);
    for (size_t k = 0; k < count; ++k, to += mr, from += step)
      for (size_t r = 0; r < runs; ++r)
        // Whole vectors: what is too much is overwritten by the next run, or the next place.
        for (size_t i = 0; i < run[r].length; i += kCopied)
          __builtin_memcpy(to + run[r].row + i, from + run[r].offset + i, 4 * kCopied);
    return count;
  }

  /// The products of a place that only the rows `read` read.
  void add(size_t place, const float* from, uint32_t read) {
    multiply();
    if (read == 0) return;
    for (size_t r = 0; r < runs_; ++r)
      for (size_t i = 0; i < run_[r].length; ++i)
        if (read >> (run_[r].row + i) & 1) gathered_[run_[r].row + i] = from[run_[r].offset + static_cast<int64_t>(i)];
    first_ = place;
    for (size_t j = 0; j < panels_; ++j) tile_.step(gathered_, read, gradient_at(j), acc_ + j * size_);
    has_ |= read;
  }

  const float* gradient_at(size_t panel) const { return gradient_ + first_ * columns_ + panel * tile_.kernels.nr; }

  /// The gathered places' products.
  void multiply() {
    if (count_ == 0) return;
    const Segment segment{static_cast<uint32_t>(count_), 0, false};
    for (size_t j = 0; j < panels_; ++j)
      tile_.multiply({{gathered_, gathered_}, a_offsets_, gradient_at(j), b_offsets_}, &segment, 1, acc_ + j * size_);
    has_ |= all_;
    count_ = 0;
  }

  void close_partial() {
    const size_t nr = tile_.kernels.nr;
    for (size_t i = 0; i < rows_; ++i) {
      if (!(has_ >> i & 1)) continue;
      for (size_t j = 0; j < panels_; ++j) {
        const float* const acc = acc_ + j * size_ + i * nr;
        float* const total = total_ + j * size_ + i * nr;
        for (size_t c = 0; c < nr; ++c) total[c] = any_ >> i & 1 ? total[c] + acc[c] : acc[c];
      }
    }
    any_ |= has_;
    has_ = 0;
    std::memset(acc_, 0, panels_ * size_ * 4);
  }

  const DirectTile& tile_;
  const ConvolutionGeometry& g_;
  size_t rows_, columns_, panels_, size_;
  uint32_t all_, has_ = 0, any_ = 0;  ///< rows; that have products in this partial; in those before
  const float* image_;
  const float* gradient_;
  float *gathered_, *acc_, *total_;
  size_t count_ = 0, first_ = 0;  ///< places gathered, neighbours; the first of them
  size_t runs_ = 0;
  Run run_[kMostRows];
  int64_t kh_[kMostRows], kw_[kMostRows];
  int64_t a_offsets_[kGathered], b_offsets_[kGathered];
};

}  // namespace

TapRows::TapRows(const ProductPlan& plan, const ConvolutionGeometry& g)
    : plan_(plan), g_(g), rows_(static_cast<size_t>(g.h.kernel * g.w.kernel * g.in_channels)) {
  const bool rounds_partials = plan.rules.round_partials && plan.rules.partials == kernel::PartialsType::kFloat;
  if (plan.way != ProductPlan::Way::kFloat || rounds_partials || !plan.rules.independent || g.groups != 1 || rows_ == 0)
    return;
  const auto columns = static_cast<size_t>(g.out_channels), channels = static_cast<size_t>(g.in_channels);
  const DirectTile* const tile = direct_tile_of_rows(plan, rows_, columns);
  const DirectTile* const of_tap = direct_tile_of_rows(plan, channels, columns);
  if (!tile || !of_tap) return;
  // Gathering costs about as much as a quarter of the products.
  const size_t one_by_one = rows_ / channels * rounded_up(channels, of_tap->kernels.mr);
  if (5 * rounded_up(rows_, tile->kernels.mr) > 4 * one_by_one) return;
  tile_ = tile;
  plan_ = with_tile(plan, *tile);
}

bool TapRows::run(size_t t, const float* image, const float* gradient, void* out,
                  const kernel::Environment& environment, const std::function<bool()>* stop) const {
  const size_t mr = tile_->kernels.mr, row0 = t * mr, rows = std::min(mr, rows_ - row0);
  TapTile tile(*tile_, g_, row0, rows, image, gradient);
  tile.walk(stop);
  tile.store(plan_, environment, row0, out);
  // What rounds to a half below its greatest number overflows under no rounding.
  const FloatFormat& format = plan_.rules.output;
  return tile.below(format == kFp16 ? 0x477FE000u : format == kBf16 ? 0x7F7F0000u : 0x7F800000u);
}

}  // namespace softamp::emu
