// The kernels of convolutions: scratch, tasks, and the reference.
#include <algorithm>
#include <atomic>
#include <thread>

#include "emu/convolutions/convolution_direct.h"
#include "emu/convolutions/convolution_operands.h"
#include "emu/convolutions/convolution_taps.h"
#include "emu/parallel.h"
#include "emu/stop_check.h"

namespace softamp::emu {
namespace {

using engine::ConvolutionKind;
using kernel::ConvolutionGeometry;
using kernel::ConvolutionRules;

constexpr size_t kTasks =
    32;  ///< of a whole convolution, roughly: more than threads, and long enough for packing to pay
constexpr size_t kSerialWork = 200000;  ///< products: fewer run only on the caller's thread
constexpr uint8_t kReported = kInvalid | kOverflow;

/// Floats of a widened tensor: whole cache lines, and what direct tiles may read beyond its end.
size_t padded(size_t floats) { return (floats + 15) / 16 * 16 + ByChannels::kSlack; }

class Convolution : public OpKernel {
 public:
  Convolution(const OpContext& c, ConvolutionKind kind, bool depthwise)
      : convolution_(c, kind, depthwise),
        settings_(c.settings),
        g_(convolution_.geometry),
        rules_(convolution_.rules),
        plan_(rules_.product, c.settings.environment.semantics, c.settings.isa),
        elements_{static_cast<size_t>(c.inputs[0].shape.elements()),
                  static_cast<size_t>(c.inputs[1].shape.elements())} {}

  SiteRoundings roundings(uint32_t site) const override { return convolution_.roundings(site); }

 protected:
  bool serial() const { return settings_.reference || products_ < kSerialWork; }
  int threads() const { return serial() ? 1 : settings_.threads; }

  /// Operand `i` as fp32: the tensor itself, if it is that, and nothing is read `beyond` its end; else in `to`,
  /// followed by zeros.
  const float* widened(const OpCall& call, size_t i, bool beyond, float* to) const {
    const FloatFormat& format = rules_.product.a;
    const size_t width = rules_.product.output.storage_bits() / 8, grain = serial() ? elements_[i] : 32768;
    const auto at = [&](size_t begin) { return static_cast<const char*>(call.in[i]) + begin * width; };
    if (!beyond) {
      std::atomic<bool> in_place{true};
      auto look = [&](size_t begin, size_t end, size_t) {
        if (!are_operands(plan_, format, at(begin), end - begin)) in_place = false;
      };
      if (format == kFp32) parallel_ranges(elements_[i], grain, 64, threads(), look);
      if (format == kFp32 && in_place) return static_cast<const float*>(call.in[i]);
    }
    std::fill_n(to + elements_[i], padded(elements_[i]) - elements_[i], 0.0f);
    auto body = [&](size_t begin, size_t end, size_t) {
      widen_operands(plan_, format, at(begin), end - begin, to + begin);
    };
    parallel_ranges(elements_[i], grain, 64, threads(), body);
    return to;
  }
  void store(const OpCall& call, uint64_t index, const Rounded& r) const {
    if (rules_.product.output.storage_bits() > 16)
      static_cast<uint32_t*>(call.out[0])[index] = static_cast<uint32_t>(r.code);
    else
      static_cast<uint16_t*>(call.out[0])[index] = static_cast<uint16_t>(r.code);
    if (call.status) call.status->raise(r.flags & kReported, index);
  }

  engine::ConvolutionNode convolution_;
  const EngineSettings& settings_;
  const ConvolutionGeometry& g_;
  const ConvolutionRules& rules_;
  ProductPlan plan_;
  size_t elements_[2];
  size_t products_ = 0;  ///< multiply-adds
};

/// Forward and input gradient: the products of classes.
class WindowConvolution final : public Convolution {
 public:
  WindowConvolution(const OpContext& c, bool gradient, bool depthwise)
      : Convolution(c, gradient ? ConvolutionKind::kInputGradient : ConvolutionKind::kForward, depthwise),
        gradient_(gradient) {
    const WindowOperands::Extents e =
        gradient ? WindowOperands::Extents{g_.batch,  g_.h.output,     g_.w.output,    g_.h.input, g_.w.input,
                                           g_.groups, g_.out_channels, g_.in_channels, g_.w.kernel}
                 : WindowOperands::Extents{g_.batch,  g_.h.input,     g_.w.input,      g_.h.output, g_.w.output,
                                           g_.groups, g_.in_channels, g_.out_channels, g_.w.kernel};
    columns_ = static_cast<size_t>(e.columns);
    const std::vector<AxisClass> h = axis_classes(g_.h, gradient), w = axis_classes(g_.w, gradient);
    for (const AxisClass& y : h)
      for (const AxisClass& x : w) {
        classes_.push_back({WindowOperands(e, y, x, gradient ? 1 : g_.w.stride),
                            class_schedule(g_, rules_, y, x, e.channels), x.places.size()});
        products_ += classes_.back().work() * columns_;
      }
    products_ *= static_cast<size_t>(g_.groups);
    image_channels_ = static_cast<size_t>(e.groups * e.channels);
    image_rows_ = static_cast<size_t>(e.batch * e.image_h);
    for (Class& one : classes_) {
      if (one.schedule.k > 0 && one.operands.regular()) one.tile = direct_tile(plan_, one.width, columns_);
      tiles_ |= one.tile != nullptr;
    }
    cut_tasks();
  }

  size_t scratch_bytes() const override {
    if (settings_.reference) return 0;
    return 4 * (padded(elements_[0]) * (gradient_ ? 2 : 1) + padded(elements_[1]) +
                (tiles_ ? lay().size(image_channels_) : 0));
  }

  void run(const OpCall& call) const override {
    if (settings_.reference) return reference(call);
    float* free = static_cast<float*>(call.scratch);
    const auto take = [&](size_t floats) {
      float* const taken = free;
      free += floats;
      return taken;
    };
    const bool in_place = tiles_ && direct_tiles_serve(plan_, call.environment);
    const bool row_by_row = in_place && rules_.product.a.storage_bits() == 16;  // widened while they are laid out
    const size_t of_image = gradient_ ? 1 : 0, of_filter = 1 - of_image;
    float* const wide = take(padded(elements_[of_image]));
    const float* const image = row_by_row ? wide : widened(call, of_image, false, wide);
    const float* const as_given = widened(call, of_filter, false, take(padded(elements_[of_filter])));
    const float* const filter = gradient_ ? turned(as_given, take(padded(elements_[of_filter]))) : as_given;
    const float* by_channels = nullptr;
    if (in_place)
      by_channels = laid_out(image, row_by_row ? static_cast<const uint16_t*>(call.in[of_image]) : nullptr, wide,
                             take(lay().size(image_channels_)));
    parallel_status(tasks_.size(), serial() ? tasks_.size() : 1, 1, threads(), call.status,
                    [&](size_t begin, size_t end, FpStatus* status) {
                      const ProductSettings here{1, status, call.stop};
                      for (size_t t = begin; t < end; ++t) {
                        const Task& task = tasks_[t];
                        const Class& c = classes_[task.of];
                        const WindowOperands::Part part(c.operands, image, by_channels, filter, task.group, task.row0);
                        const ProductProblem problem{task.rows, columns_, &c.schedule, &part, call.out[0]};
                        if (in_place && c.tile)
                          run_direct(*c.tile, plan_, problem, part, call.environment, here);
                        else
                          run_product(plan_, problem, call.environment, here);
                      }
                    });
  }

 private:
  struct Class {
    WindowOperands operands;
    Schedule schedule;
    size_t width;  ///< places in a row
    const DirectTile* tile = nullptr;
    size_t work() const { return operands.rows() * schedule.k; }
  };
  struct Task {
    size_t of;
    int64_t group;
    size_t row0, rows;
  };

  const ByChannels& lay() const { return classes_[0].operands.lay(); }
  /// Lays the image out by channels. codes: what it is to be widened from, into `wide`, row by row, while a row is in
  /// the first-level cache; null: it is there.
  const float* laid_out(const float* image, const uint16_t* codes, float* wide, float* to) const {
    const size_t length = lay().width * image_channels_;
    auto body = [&](size_t begin, size_t end, size_t) {
      for (size_t r = begin; r < end; ++r) {
        if (codes) widen_operands(plan_, rules_.product.a, codes + r * length, length, wide + r * length);
        lay().fill(plan_, image, image_channels_, r, r + 1, to);
      }
    };
    parallel_ranges(image_rows_, serial() ? image_rows_ : 16, 1, threads(), body);
    std::fill_n(to + lay().size(image_channels_) - ByChannels::kSlack, ByChannels::kSlack, 0.0f);
    return to;
  }

  /// Tasks of about equal work.
  void cut_tasks() {
    const size_t share = std::max<size_t>(products_ / kTasks, 1);
    for (size_t i = 0; i < classes_.size(); ++i) {
      const size_t rows = classes_[i].operands.rows();
      const size_t parts =
          serial() ? 1 : std::clamp<size_t>(classes_[i].work() * columns_ / share, 1, std::max<size_t>(rows / 48, 1));
      const size_t whole = classes_[i].tile ? 2 * classes_[i].width : 1;  // direct tiles take whole runs of places
      const size_t length = std::max<size_t>(((rows + parts - 1) / parts + whole - 1) / whole * whole, 1);
      for (int64_t group = 0; group < g_.groups; ++group)
        for (size_t row = 0; row < rows; row += length) tasks_.push_back({i, group, row, std::min(length, rows - row)});
    }
  }

  /// The filter with input and output channels exchanged, as the gradient needs it.
  const float* turned(const float* filter, float* to) const {
    const size_t matrix = static_cast<size_t>(g_.in_channels * g_.out_channels),
                 count = static_cast<size_t>(g_.h.kernel * g_.w.kernel * g_.groups);
    auto body = [&](size_t begin, size_t end, size_t) {
      for (size_t m = begin; m < end; ++m)
        transpose(plan_, filter + m * matrix, static_cast<size_t>(g_.in_channels), static_cast<size_t>(g_.out_channels),
                  static_cast<size_t>(g_.out_channels), to + m * matrix, static_cast<size_t>(g_.in_channels));
    };
    parallel_ranges(count, serial() ? count : std::max<size_t>(1, 32768 / std::max<size_t>(matrix, 1)), 1, threads(),
                    body);
    return to;
  }

  void reference(const OpCall& call) const {
    const kernel::WindowAxis &h = g_.h, &w = g_.w;
    const int64_t height = gradient_ ? h.input : h.output, width = gradient_ ? w.input : w.output;
    const int64_t channels = gradient_ ? g_.in_channels : g_.out_channels;
    StopCheck check(call.stop);
    const auto nanoseconds =
        static_cast<uint64_t>(h.kernel * w.kernel * (gradient_ ? g_.out_channels : g_.in_channels)) * StopCheck::kBody;
    uint64_t index = 0;
    for (int64_t n = 0; n < g_.batch; ++n)
      for (int64_t y = 0; y < height; ++y)
        for (int64_t x = 0; x < width; ++x)
          for (int64_t group = 0; group < g_.groups; ++group)
            for (int64_t c = 0; c < channels; ++c) {
              store(call, index++,
                    gradient_
                        ? kernel::convolution_input_gradient(g_, rules_, call.environment, call.in[0], call.in[1], n, y,
                                                             x, group, c)
                        : kernel::convolution(g_, rules_, call.environment, call.in[0], call.in[1], n, y, x, group, c));
              check.after(nanoseconds);
            }
  }

  bool gradient_;
  bool tiles_ = false;  ///< some class uses direct tiles
  size_t columns_, image_channels_, image_rows_;
  std::vector<Class> classes_;
  std::vector<Task> tasks_;
};

/// Filter gradient: the products of taps.
class FilterGradient final : public Convolution {
 public:
  FilterGradient(const OpContext& c, bool depthwise)
      : Convolution(c, ConvolutionKind::kFilterGradient, depthwise),
        columns_(static_cast<size_t>(g_.out_channels)),
        tap_rows_(plan_, g_) {
    for (int64_t kh = 0; kh < g_.h.kernel; ++kh)
      for (int64_t kw = 0; kw < g_.w.kernel; ++kw) {
        const TapPlaces p = tap_places(g_, kh, kw);
        taps_.push_back({kh, kw, p, tap_schedule(g_, rules_, p)});
        products_ += taps_.back().schedule.k;
      }
    const size_t rows = static_cast<size_t>(g_.in_channels);
    products_ *= rows * columns_ * static_cast<size_t>(g_.groups);
    tile_ = direct_tile_of_rows(plan_, rows, columns_);
    beyond_ = tap_rows_.serves() || (tile_ && (rows % tile_->kernels.mr != 0 || columns_ % tile_->kernels.nr != 0));
    const size_t wanted = kTasks / std::max<size_t>(taps_.size() * static_cast<size_t>(g_.groups), 1);
    const size_t step = tile_ ? tile_->kernels.mr : 12;
    const size_t parts = serial() ? 1 : std::clamp<size_t>(wanted, 1, std::max<size_t>(rows / step, 1));
    const size_t length = std::max<size_t>(((rows + parts - 1) / parts + step - 1) / step * step, 1);
    for (size_t t = 0; t < taps_.size(); ++t)
      for (int64_t group = 0; group < g_.groups; ++group)
        for (size_t row = 0; row < rows; row += length) tasks_.push_back({t, group, row, std::min(length, rows - row)});
  }

  size_t scratch_bytes() const override {
    if (settings_.reference) return 0;
    return 4 * (padded(elements_[0]) + padded(elements_[1]));
  }

  void run(const OpCall& call) const override {
    if (settings_.reference) return reference(call);
    float* const scratch = static_cast<float*>(call.scratch);
    const float* const image = widened(call, 0, beyond_, scratch);
    const float* const gradient = widened(call, 1, beyond_, scratch + padded(elements_[0]));
    if (tap_rows_.serves() && run_tap_rows(call, image, gradient)) return;
    // Direct tiles go through the tensors together: one group of them per thread.
    const size_t workers = threads() > 0 ? static_cast<size_t>(threads()) : std::thread::hardware_concurrency();
    const bool in_place = tile_ && direct_tiles_serve(plan_, call.environment);
    const size_t grain = serial() ? tasks_.size() : in_place ? std::max<size_t>(tasks_.size() / workers, 1) : 1;
    parallel_status(tasks_.size(), grain, 1, threads(), call.status, [&](size_t begin, size_t end, FpStatus* status) {
      const ProductSettings here{1, status, call.stop};
      std::vector<TapOperands> operands;
      std::vector<TapProblem> direct;
      operands.reserve(end - begin);
      for (size_t t = begin; t < end; ++t) {
        const Task& task = tasks_[t];
        const Tap& tap = taps_[task.of];
        operands.emplace_back(plan_, g_, tap.kh, tap.kw, task.group, tap.places, image, gradient, task.row0);
        const ProductProblem problem{task.rows, columns_, &tap.schedule, &operands.back(), call.out[0]};
        if (tap.schedule.k == 0 || !in_place)
          run_product(plan_, problem, call.environment, here);
        else
          direct.push_back({&operands.back(), problem});
      }
      if (!direct.empty()) run_direct(*tile_, plan_, direct, call.environment, here);
    });
  }

 private:
  struct Tap {
    int64_t kh, kw;
    TapPlaces places;
    Schedule schedule;
  };
  struct Task {
    size_t of;
    int64_t group;
    size_t row0, rows;
  };

  /// False if flags are asked for, and may have been raised.
  bool run_tap_rows(const OpCall& call, const float* image, const float* gradient) const {
    std::atomic<bool> quiet{true};
    auto body = [&](size_t begin, size_t end, size_t) {
      for (size_t t = begin; t < end; ++t)
        if (!tap_rows_.run(t, image, gradient, call.out[0], call.environment, call.stop)) quiet = false;
    };
    parallel_ranges(tap_rows_.tiles(), serial() ? tap_rows_.tiles() : 1, 1, threads(), body);
    return quiet || !call.status;
  }

  void reference(const OpCall& call) const {
    StopCheck check(call.stop);
    const auto nanoseconds = static_cast<uint64_t>(g_.batch * g_.h.output * g_.w.output) * StopCheck::kBody;
    uint64_t index = 0;
    for (int64_t kh = 0; kh < g_.h.kernel; ++kh)
      for (int64_t kw = 0; kw < g_.w.kernel; ++kw)
        for (int64_t group = 0; group < g_.groups; ++group)
          for (int64_t i = 0; i < g_.in_channels; ++i)
            for (int64_t o = 0; o < g_.out_channels; ++o) {
              store(call, index++,
                    kernel::convolution_filter_gradient(g_, rules_, call.environment, call.in[0], call.in[1], kh, kw,
                                                        group, i, o));
              check.after(nanoseconds);
            }
  }

  size_t columns_;
  TapRows tap_rows_;
  const DirectTile* tile_ = nullptr;
  bool beyond_;  ///< tiles read floats beyond the tensors
  std::vector<Tap> taps_;
  std::vector<Task> tasks_;
};

template <bool kGradient, bool kDepthwise>
std::unique_ptr<OpKernel> window_kernel(const OpContext& c) {
  return std::make_unique<WindowConvolution>(c, kGradient, kDepthwise);
}
template <bool kDepthwise>
std::unique_ptr<OpKernel> filter_kernel(const OpContext& c) {
  return std::make_unique<FilterGradient>(c, kDepthwise);
}

constexpr KernelEntry kConvolutionEntries[] = {
    {"Conv2D", window_kernel<false, false>},
    {"Conv2DBackpropInput", window_kernel<true, false>},
    {"Conv2DBackpropFilter", filter_kernel<false>},
    {"DepthwiseConv2dNative", window_kernel<false, true>},
    {"DepthwiseConv2dNativeBackpropInput", window_kernel<true, true>},
    {"DepthwiseConv2dNativeBackpropFilter", filter_kernel<true>},
};

}  // namespace

std::span<const KernelEntry> convolution_kernels() { return kConvolutionEntries; }

}  // namespace softamp::emu
