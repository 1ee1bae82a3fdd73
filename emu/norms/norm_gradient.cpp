// FusedBatchNormGradV3, LayerNormGrad, GroupNormGrad.
#include <algorithm>

#include "emu/norms/norm.h"
#include "emu/stop_check.h"

namespace softamp::emu {
namespace {

using kernel::Steps;

/// The averages of kernel/norms.h from the sums of a channel or group, in fp32.
struct Averages {
  float a, b;
};

class NormGradient final : public OpKernel {
 public:
  explicit NormGradient(const OpContext& c) : n_(c), channels_(padded_floats(n_.shape.channels)) {}

  /// gamma, then per group mean and i; batch: then factor, A, B; then the sums of blocks.
  size_t scratch_bytes() const override {
    if (n_.by_body) return 0;
    const uint64_t of_groups = 2 * padded_floats(n_.shape.groups()) + (batch() ? 3 * channels_ : 0);
    return (channels_ + of_groups + 2 * n_.blocks() * n_.shape.channels) * sizeof(float);
  }
  SiteRoundings roundings(uint32_t site) const override { return n_.roundings(site); }

  void run(const OpCall& call) const override {
    if (n_.by_body) {
      run_bodies(call);
      return;
    }
    float* const gamma = static_cast<float*>(call.scratch);
    float* const mean = gamma + channels_;
    float* const inverse = mean + padded_floats(n_.shape.groups());
    float* const rest = inverse + padded_floats(n_.shape.groups());
    const Semantics& s = call.environment.semantics;
    enter_parameters(n_.of_parameters(call.in[2]), n_.shape.channels, s, gamma);
    const auto groups = [&](size_t begin, size_t end, FpStatus* status) {
      for (size_t g = begin; g < end; ++g) enter_group(call, g, mean, inverse, status);
    };
    parallel_status(n_.shape.groups(), kNormGrain, 16, n_.threads, call.status, groups);
    float* const sums = rest + (batch() ? 3 * channels_ : 0);
    channel_sums(call, mean, inverse, sums);
    if (batch())
      batch_input(call, gamma, mean, inverse, rest, sums);
    else
      layer_input(call, gamma, mean, inverse);
    parallel_status(
        n_.shape.channels, 64, 16, n_.threads, call.status,
        [&](size_t begin, size_t end, FpStatus* status) { channel_outputs(call, begin, end, sums, status); });
  }

 private:
  bool batch() const { return n_.kind == NormKind::kBatch; }
  kernel::NormGradient operands(const OpCall& call) const {
    return {n_.elements(call.in[0]),      n_.elements(call.in[1]),
            n_.of_parameters(call.in[2]), {call.in[3], kFp32},
            {call.in[4], kFp32},          n_.shape,
            n_.options.epsilon,           n_.training};
  }
  NormSink sink(const OpCall& call, FpStatus* status, bool flags_only = false) const {
    return {n_, call, status, flags_only};
  }

  void run_bodies(const OpCall& call) const {
    const kernel::NormGradient o = operands(call);
    const auto grain = [&](uint64_t all, uint64_t one) {
      return n_.threads == 1 ? all : std::max<uint64_t>(1, kNormGrain / 8 / (one + 1));
    };
    const uint64_t groups = n_.shape.groups(), channels = n_.shape.channels;
    parallel_status(groups, grain(groups, n_.shape.group_size()), 1, n_.threads, call.status,
                    [&](size_t begin, size_t end, FpStatus* status) {
                      StopCheck check(call.stop);
                      for (size_t g = begin; g < end; ++g) {
                        kernel::norm_input_gradient(o, batch(), g, call.environment, sink(call, status));
                        check.after(8 * n_.shape.group_size() * StopCheck::kBody);
                      }
                    });
    parallel_status(channels, grain(channels, n_.shape.rows), 1, n_.threads, call.status,
                    [&](size_t begin, size_t end, FpStatus* status) {
                      StopCheck check(call.stop);
                      for (size_t c = begin; c < end; ++c) {
                        kernel::norm_parameter_gradient(o, c, call.environment, sink(call, status));
                        check.after(8 * n_.shape.rows * StopCheck::kBody);
                      }
                    });
  }

  /// The flags of a group's input gradient by its body.
  void group_flags(const OpCall& call, uint64_t group, FpStatus* status) const {
    kernel::norm_input_gradient(operands(call), batch(), group, call.environment, sink(call, status, true));
  }

  void enter_group(const OpCall& call, uint64_t g, float* mean, float* inverse, FpStatus* status) const {
    const Semantics& s = call.environment.semantics;
    Steps steps;
    mean[g] = steps.enter({call.in[3], kFp32}, g, s);
    inverse[g] = kernel::inverse_deviation(steps, steps.enter({call.in[4], kFp32}, g, s), n_.options.epsilon);
    if (status && n_.shape.group_size() != 0) status->raise(steps.flags & s.wide.flags, n_.shape.place(g, 0));
  }

  /// sums[c], sums[width + c]: of dy, of dy h.
  void channel_sums(const OpCall& call, const float* mean, const float* inverse, float* sums) const {
    const uint64_t width = n_.shape.channels, rows = n_.shape.rows, blocks = n_.blocks();
    auto block = [&](size_t begin, size_t end, size_t) {
      for (size_t b = begin; b < end; ++b) {
        const GradientLanes in{n_.load, n_.at(call.in[0], b * 1024 * width), n_.at(call.in[1], b * 1024 * width)};
        const uint64_t first = batch() ? 0 : b * 1024;
        n_.vectors->column_gradient_sums(in, std::min<uint64_t>(1024, rows - b * 1024), width, width, !batch(),
                                         mean + first, inverse + first, sums + b * 2 * width);
      }
    };
    parallel_ranges(blocks, std::max<uint64_t>(1, kNormGrain / (1024 * width)), 1, n_.threads, block);
    n_.reductions->tree(Fold::kSum, sums, blocks, 2 * width);
  }

  /// Outputs 1 and 2.
  void channel_outputs(const OpCall& call, uint64_t begin, uint64_t end, const float* sums, FpStatus* status) const {
    const uint64_t width = n_.shape.channels;
    const kernel::Environment& e = call.environment;
    const FloatFormat f = format_of(n_.parameters);
    const RoundingPolicy& p = e.semantics.rounding(f);
    const NormSink out = sink(call, status);
    for (uint64_t c = begin; c < end; ++c) {
      out(1, c, kernel::finish(f, sums[width + c], 0, e.semantics, e.draw(p, 1, c)), c);
      out(2, c, kernel::finish(f, sums[c], 0, e.semantics, e.draw(p, 2, c)), c);
      if (status && !(kernel::is_finite(sums[c]) && kernel::is_finite(sums[width + c])))
        kernel::norm_parameter_gradient(operands(call), c, e, sink(call, status, true));
    }
  }

  Averages averages(const float* sums, uint64_t n) const {
    const float count = kernel::count_of(n);
    return n_.training ? Averages{sums[0] / count, sums[1] / count} : Averages{0, 0};
  }

  void batch_input(const OpCall& call, const float* gamma, const float* mean, const float* inverse, float* factor,
                   const float* sums) const {
    const uint64_t width = n_.shape.channels;
    float* const a = factor + channels_;
    float* const b = a + channels_;
    for (uint64_t c = 0; c < width; ++c) {
      factor[c] = gamma[c] * inverse[c];
      const float both[2] = {sums[c], sums[width + c]};
      const Averages average = averages(both, n_.shape.rows);
      a[c] = average.a;
      b[c] = average.b;
      if (call.status && !(kernel::is_finite(factor[c]) && kernel::is_finite(a[c]) && kernel::is_finite(b[c])))
        group_flags(call, c, call.status);
    }
    each_piece_backwards(
        n_, call.status, [&](uint64_t first, uint64_t count, uint64_t c, uint64_t n, float* values, FpStatus* status) {
          const GradientLanes in{n_.load, n_.at(call.in[0], first), n_.at(call.in[1], first)};
          const bool rare = n_.vectors->column_gradient(in, count, width, n, mean + c, inverse + c, factor + c,
                                                        n_.training ? a + c : nullptr, b + c, values);
          n_.results.store(values, first, count * n, call.out[0], call.environment, 0, status);
          if (status && rare) element_flags(call, first, count * n, values, mean, inverse, factor, a, b, status);
        });
  }

  void element_flags(const OpCall& call, uint64_t first, uint64_t count, const float* values, const float* mean,
                     const float* inverse, const float* factor, const float* a, const float* b,
                     FpStatus* status) const {
    const kernel::Environment& e = call.environment;
    const kernel::NormGradient o = operands(call);
    const FloatFormat f = format_of(n_.type);
    for (uint64_t i = first; i < first + count; ++i) {
      if (kernel::is_finite(values[i - first])) continue;
      const uint64_t c = i % n_.shape.channels;
      Steps steps;
      const float dy = steps.enter(o.dy, i, e.semantics);
      const float y =
          kernel::input_gradient_value(steps, o, i, dy, mean[c], inverse[c], factor[c], a[c], b[c], e.semantics);
      status->raise(kernel::finish(f, y, steps.flags, e.semantics, e.draw(e.semantics.rounding(f), 0, i)).flags, i);
    }
  }

  void layer_input(const OpCall& call, const float* gamma, const float* mean, const float* inverse) const {
    const uint64_t width = n_.shape.channels;
    parallel_status(n_.shape.rows, std::max<uint64_t>(1, kNormGrain / width), 1, n_.threads, call.status,
                    [&](size_t begin, size_t end, FpStatus* status) {
                      alignas(64) float values[kNormBuffer + 64];
                      size_t held = 0;
                      const auto flush = [&](uint64_t next) {
                        n_.results.store(values, next - held, held, call.out[0], call.environment, 0, status);
                        held = 0;
                      };
                      for (size_t row = begin; row < end; ++row) {
                        const uint64_t first = row * width;
                        float sums[2];
                        n_.vectors->row_gradient_sums({n_.load, n_.at(call.in[0], first), n_.at(call.in[1], first)},
                                                      width, mean[row], inverse[row], gamma, sums);
                        const Averages m = averages(sums, width);
                        bool rare = !kernel::is_finite(m.a) || !kernel::is_finite(m.b);
                        for (uint64_t c = 0; c < width;) {
                          if (held == kNormBuffer || (held && held + width - c > kNormBuffer)) flush(first + c);
                          const uint64_t n = std::min(width - c, kNormBuffer - held);
                          const GradientLanes in{n_.load, n_.at(call.in[0], first + c), n_.at(call.in[1], first + c)};
                          rare |= n_.vectors->row_gradient(in, n, mean[row], inverse[row], gamma + c, m.a, m.b,
                                                           values + held);
                          held += n;
                          c += n;
                        }
                        if (status && rare) group_flags(call, row, status);
                      }
                      flush(end * width);
                    });
  }

  NormNode n_;
  uint64_t channels_;
};

}  // namespace

std::unique_ptr<OpKernel> make_norm_gradient(const OpContext& c) { return std::make_unique<NormGradient>(c); }

}  // namespace softamp::emu
