// The kernels of pooling: windows in parallel, the rounding of sums by the bulk operations.
#include <algorithm>
#include <cstring>

#include "emu/bulk/dispatch.h"
#include "emu/bulk/unusual.h"
#include "emu/bulk_options.h"
#include "emu/op_kernel.h"
#include "emu/parallel.h"
#include "emu/pooling/pooling_kernels.h"
#include "emu/stop_check.h"
#include "softamp/engine/pooling_node.h"

namespace softamp::emu {
namespace {

using kernel::PoolingGeometry;
using kernel::Range;

constexpr size_t kSerialReads = 65536;  ///< elements read: fewer run only on the caller's thread
constexpr uint8_t kPoolingReported = kInvalid | kOverflow;

class Pooling : public OpKernel {
 public:
  explicit Pooling(const OpContext& c)
      : settings_(c.settings),
        node_(c),
        type_(node_.type),
        format_(node_.format),
        g_(node_.geometry),
        plan_(node_.plan),
        kernels_(pooling_of(c.settings.isa)),
        channels_(static_cast<size_t>(g_.channels)),
        outputs_(node_.outputs) {
    const size_t windows = static_cast<size_t>(g_.batch * g_.h.output * g_.w.output) * channels_;
    const int64_t taps = std::min(g_.h.kernel, std::max<int64_t>(g_.h.input, 1)) *
                         std::min(g_.w.kernel, std::max<int64_t>(g_.w.input, 1));
    taps_ = static_cast<size_t>(taps);
    const Semantics& s = c.settings.environment.semantics;
    by_body_ = c.settings.reference || !s.wide.usual() || !only_bits_lie_elsewhere(s.rounding(format_));
    serial_ = c.settings.reference || windows * taps_ < kSerialReads;
  }

 protected:
  const void* at(const void* codes, uint64_t i) const { return static_cast<const char*>(codes) + i * size_of(type_); }
  void* at(void* codes, uint64_t i) const { return static_cast<char*>(codes) + i * size_of(type_); }

  PoolingWindow window(const void* input, int64_t n, int64_t oh, int64_t ow) const {
    const Range y = kernel::window(g_.h, oh), x = kernel::window(g_.w, ow);
    return {at(input, g_.input_at(n, y.begin, x.begin)), static_cast<size_t>(y.size()), static_cast<size_t>(x.size()),
            static_cast<size_t>(g_.w.input) * channels_, channels_};
  }

  /// body(n, y, x, status) for all places of a height x width image per batch.
  template <class Body>
  void for_places(int64_t height, int64_t width, const OpCall& call, const Body& body) const {
    const size_t count = static_cast<size_t>(g_.batch * height * width);
    const size_t grain = serial_ ? count : std::max<size_t>(1, 8192 / std::max<size_t>(channels_, 1));
    const uint64_t nanoseconds = by_body_ ? body_nanoseconds() * channels_ : channels_ * taps_ / 4;
    parallel_status(count, grain, 1, serial_ ? 1 : settings_.threads, call.status,
                    [&](size_t begin, size_t end, FpStatus* found) {
                      StopCheck check(call.stop);
                      for (size_t i = begin; i < end; ++i) {
                        const auto place = static_cast<int64_t>(i);
                        body(place / (height * width), place / width % height, place % width, found);
                        check.after(nanoseconds);
                      }
                    });
  }

  /// Of an output by its body.
  uint64_t body_nanoseconds() const { return taps_ * StopCheck::kBody; }

  const EngineSettings& settings_;
  engine::PoolingNode node_;
  DType type_;
  FloatFormat format_;
  PoolingGeometry g_;
  PoolingPlan plan_;
  const PoolingKernels& kernels_;
  size_t channels_, outputs_, taps_;  ///< taps: of a window, at most
  bool serial_, by_body_;
};

class MaxPool final : public Pooling {
 public:
  using Pooling::Pooling;

  void run(const OpCall& call) const override {
    const Semantics& s = call.environment.semantics;
    const auto place = [&](int64_t n, int64_t oh, int64_t ow, FpStatus* status) {
      const uint64_t first = g_.output_at(n, oh, ow);
      if (!by_body_ && kernels_.maximum(plan_, window(call.in[0], n, oh, ow), channels_, at(call.out[0], first)))
        return;
      for (int64_t c = 0; c < g_.channels; ++c) {
        const uint64_t index = first + static_cast<uint64_t>(c);
        const Rounded r = kernel::max_pool(g_, format_, s, call.in[0], n, oh, ow, c);
        std::memcpy(at(call.out[0], index), &r.code, size_of(type_));
        if (status) status->raise(r.flags, index);
      }
    };
    for_places(g_.h.output, g_.w.output, call, place);
  }
};

/// Operations whose outputs are fp32 sums, rounded in the end. The sums are made in scratch.
class SummedPooling : public Pooling {
 public:
  explicit SummedPooling(const OpContext& c) : Pooling(c), gradient_(c.node.op.ends_with("Grad")) {}

  size_t scratch_bytes() const override { return 4 * outputs_; }
  SiteRoundings roundings(uint32_t site) const override { return node_.roundings(site); }
  void run(const OpCall& call) const override {
    if (by_body_) return by_bodies(call);
    float* const values = static_cast<float*>(call.scratch);
    sums(call, values);
    round(call, values);
  }

 protected:
  /// Output (n, y, x, c) by the body.
  virtual kernel::Sum sum(const OpCall& call, int64_t n, int64_t y, int64_t x, int64_t c) const = 0;
  /// All of them, by the fast kernels.
  virtual void sums(const OpCall& call, float* values) const = 0;
  int64_t height() const { return gradient_ ? g_.h.input : g_.h.output; }
  int64_t width() const { return gradient_ ? g_.w.input : g_.w.output; }

  /// The sums of a place by the body, into `values` and `status`.
  void place_by_body(const OpCall& call, int64_t n, int64_t y, int64_t x, float* values, FpStatus* status) const {
    const auto first = static_cast<uint64_t>((n * height() + y) * width() + x) * channels_;
    for (int64_t c = 0; c < g_.channels; ++c) {
      const uint64_t index = first + static_cast<uint64_t>(c);
      const kernel::Sum s = sum(call, n, y, x, c);
      std::memcpy(values + index, &s.code, 4);
      if (status) status->raise(s.flags, index);
    }
  }

 private:
  bool gradient_;  ///< the outputs are those of the pooling's input

  void by_bodies(const OpCall& call) const {
    const auto place = [&](int64_t n, int64_t y, int64_t x, FpStatus* status) {
      const auto first = static_cast<uint64_t>((n * height() + y) * width() + x) * channels_;
      for (int64_t c = 0; c < g_.channels; ++c) {
        const uint64_t index = first + static_cast<uint64_t>(c);
        const Rounded r = kernel::pooling_result(format_, call.environment, sum(call, n, y, x, c), index);
        std::memcpy(at(call.out[0], index), &r.code, size_of(type_));
        if (status) status->raise(r.flags, index);
      }
    };
    for_places(height(), width(), call, place);
  }

  void round(const OpCall& call, const float* values) const {
    const kernel::Environment& env = call.environment;
    bulk::BulkOptions options = bulk_options(env, 0, serial_ ? 1 : settings_.threads, settings_.isa);
    options.random.words = env.table[0].words;
    FpStatus found;
    if (call.status) options.status = &found;
    const std::span<const float> in(values, outputs_);
    if (type_ == DType::kFloat32)
      bulk::round(in, format_, std::span(static_cast<uint32_t*>(call.out[0]), outputs_), env.semantics, options);
    else
      bulk::round(in, format_, std::span(static_cast<uint16_t*>(call.out[0]), outputs_), env.semantics, options);
    if (!call.status) return;
    for (int b = 0; b < kFlagCount; ++b)
      if (found.flags & kPoolingReported & (1 << b))
        call.status->raise(static_cast<uint8_t>(1 << b), found.first_index[b]);
  }
};

class AvgPool final : public SummedPooling {
 public:
  using SummedPooling::SummedPooling;

 private:
  kernel::Sum sum(const OpCall& call, int64_t n, int64_t y, int64_t x, int64_t c) const override {
    return kernel::average_pool(g_, format_, call.environment.semantics, call.in[0], n, y, x, c);
  }
  void sums(const OpCall& call, float* values) const override {
    const auto place = [&](int64_t n, int64_t y, int64_t x, FpStatus* status) {
      if (!kernels_.average(plan_, window(call.in[0], n, y, x), channels_, values + g_.output_at(n, y, x)))
        place_by_body(call, n, y, x, values, status);
    };
    for_places(g_.h.output, g_.w.output, call, place);
  }
};

class AvgPoolGrad final : public SummedPooling {
 public:
  using SummedPooling::SummedPooling;

 private:
  kernel::Sum sum(const OpCall& call, int64_t n, int64_t y, int64_t x, int64_t c) const override {
    return kernel::average_pool_gradient(g_, format_, call.environment.semantics, call.in[0], n, y, x, c);
  }
  void sums(const OpCall& call, float* values) const override {
    const auto place = [&](int64_t n, int64_t y, int64_t x, FpStatus* status) {
      float* const to = values + g_.input_at(n, y, x);
      std::fill_n(to, channels_, 0.0f);
      bool served = true;
      const Range ohs = kernel::windows_of(g_.h, y), ows = kernel::windows_of(g_.w, x);
      for (int64_t oh = ohs.begin; oh < ohs.end; ++oh)
        for (int64_t ow = ows.begin; ow < ows.end; ++ow) {
          const int64_t count = kernel::window(g_.h, oh).size() * kernel::window(g_.w, ow).size();
          served &= kernels_.average_gradient(plan_, channels_, at(call.in[0], g_.output_at(n, oh, ow)),
                                              static_cast<float>(count), to);
        }
      if (!served) place_by_body(call, n, y, x, values, status);
    };
    for_places(g_.h.input, g_.w.input, call, place);
  }
};

/// A maximum is found again in orig_input (call.in[0]); orig_output (call.in[1]) is not read.
class MaxPoolGrad final : public SummedPooling {
 public:
  using SummedPooling::SummedPooling;

 private:
  kernel::Sum sum(const OpCall& call, int64_t n, int64_t y, int64_t x, int64_t c) const override {
    return kernel::max_pool_gradient(g_, format_, call.environment.semantics, call.in[0], call.in[2], n, y, x, c);
  }
  /// Image by image, since windows that overlap add to the same sums.
  void sums(const OpCall& call, float* values) const override {
    const size_t images = static_cast<size_t>(g_.batch),
                 image = static_cast<size_t>(g_.h.input * g_.w.input) * channels_;
    parallel_status(images, serial_ ? images : 1, 1, serial_ ? 1 : settings_.threads, call.status,
                    [&](size_t begin, size_t end, FpStatus* status) {
                      for (size_t n = begin; n < end; ++n)
                        one_image(call, static_cast<int64_t>(n), image, values, status);
                    });
  }
  void one_image(const OpCall& call, int64_t n, size_t image, float* values, FpStatus* status) const {
    std::fill_n(values + static_cast<size_t>(n) * image, image, 0.0f);
    bool served = true;
    for (int64_t oh = 0; oh < g_.h.output && served; ++oh)
      for (int64_t ow = 0; ow < g_.w.output && served; ++ow) {
        const Range y = kernel::window(g_.h, oh), x = kernel::window(g_.w, ow);
        served = kernels_.maximum_gradient(plan_, window(call.in[0], n, oh, ow), channels_,
                                           at(call.in[2], g_.output_at(n, oh, ow)),
                                           values + g_.input_at(n, y.begin, x.begin));
      }
    if (served) return;
    for (int64_t y = 0; y < g_.h.input; ++y)
      for (int64_t x = 0; x < g_.w.input; ++x) place_by_body(call, n, y, x, values, status);
  }
};

constexpr KernelEntry kPoolingEntries[] = {
    {"AvgPool", make_kernel<AvgPool>},
    {"AvgPoolGrad", make_kernel<AvgPoolGrad>},
    {"MaxPool", make_kernel<MaxPool>},
    {"MaxPoolGrad", make_kernel<MaxPoolGrad>},
};

}  // namespace

std::span<const KernelEntry> pooling_kernels() { return kPoolingEntries; }

}  // namespace softamp::emu
