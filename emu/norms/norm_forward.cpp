// FusedBatchNormV3, LayerNorm, GroupNorm.
#include <algorithm>
#include <cstring>

#include "emu/norms/norm.h"
#include "emu/stop_check.h"

namespace softamp::emu {
namespace {

using kernel::Elements;
using kernel::Moments;
using kernel::Steps;

class NormForward final : public OpKernel {
 public:
  explicit NormForward(const OpContext& c) : n_(c), channels_(padded_floats(n_.shape.channels)) {}

  size_t scratch_bytes() const override {
    if (n_.by_body) return 0;
    if (n_.kind == NormKind::kGroups)
      return (2 * channels_ + 2 * samples() * channels_ + 2 * group_blocks() * n_.shape.groups()) * sizeof(float);
    const uint64_t sums = n_.kind == NormKind::kBatch && n_.training ? 2 * n_.blocks() * n_.shape.channels : 0;
    return (4 * channels_ + sums) * sizeof(float);
  }
  SiteRoundings roundings(uint32_t site) const override { return n_.roundings(site); }

  void run(const OpCall& call) const override {
    if (n_.by_body) {
      const uint64_t grain =
          n_.threads == 1 ? n_.shape.groups() : std::max<uint64_t>(1, kNormGrain / 8 / (n_.shape.group_size() + 1));
      parallel_status(n_.shape.groups(), grain, 1, n_.threads, call.status,
                      [&](size_t begin, size_t end, FpStatus* status) {
                        StopCheck check(call.stop);
                        for (size_t g = begin; g < end; ++g) {
                          body(call, g, {n_, call, status});
                          check.after(4 * n_.shape.group_size() * StopCheck::kBody);
                        }
                      });
      return;
    }
    const Semantics& s = call.environment.semantics;
    float* const gamma = static_cast<float*>(call.scratch);
    float* const beta = gamma + channels_;
    enter_parameters(n_.of_parameters(call.in[1]), n_.shape.channels, s, gamma);
    enter_parameters(n_.of_parameters(call.in[2]), n_.shape.channels, s, beta);
    if (n_.kind == NormKind::kLayer)
      layer(call, gamma, beta);
    else if (n_.kind == NormKind::kGroups)
      groups(call, gamma, beta);
    else
      batch(call, gamma, beta, beta + channels_, beta + 2 * channels_, beta + 3 * channels_);
  }

 private:
  void body(const OpCall& call, uint64_t group, const NormSink& sink) const {
    const Elements x = n_.elements(call.in[0]), gamma = n_.of_parameters(call.in[1]),
                   beta = n_.of_parameters(call.in[2]);
    if (n_.kind != NormKind::kBatch) {
      kernel::group_norm(x, gamma, beta, n_.shape, group, n_.options, call.environment, sink);
      return;
    }
    const Elements mean = n_.of_parameters(call.in[3]), variance = n_.of_parameters(call.in[4]);
    if (n_.training)
      kernel::batch_norm_training(x, gamma, beta, mean.format, n_.shape, group, n_.options,
                                  {n_.factor, &mean, &variance}, call.environment, sink);
    else
      kernel::batch_norm_inference(x, gamma, beta, mean, variance, n_.shape, group, n_.options, call.environment, sink);
  }

  /// The flags of a group by its body.
  void body_flags(const OpCall& call, uint64_t group, FpStatus* status) const {
    body(call, group, {n_, call, status, true});
  }

  /// i, and whether an intermediate value is not finite.
  float inverse(Moments m, bool& rare) const {
    Steps steps;
    const float i = kernel::inverse_deviation(steps, m.variance, n_.options.epsilon);
    rare = rare || !kernel::is_finite(m.mean) || !kernel::is_finite(m.variance) || !kernel::is_finite(i);
    return i;
  }

  void layer(const OpCall& call, const float* gamma, const float* beta) const {
    const uint64_t width = n_.shape.channels;
    const float count = kernel::count_of(width);
    parallel_status(n_.shape.rows, std::max<uint64_t>(1, kNormGrain / width), 1, n_.threads, call.status,
                    [&](size_t begin, size_t end, FpStatus* status) {
                      alignas(64) float values[kNormBuffer + 64];
                      size_t held = 0;  // results in `values`, of elements up to the row's start
                      const auto flush = [&](uint64_t next) {
                        n_.results.store(values, next - held, held, call.out[0], call.environment, 0, status);
                        held = 0;
                      };
                      for (size_t row = begin; row < end; ++row) {
                        const uint64_t first = row * width;
                        const void* const x = n_.at(call.in[0], first);
                        float sums[2];
                        n_.vectors->row_sums(n_.load, x, width, n_.options.stable, count, sums);
                        Steps steps;
                        const Moments m = kernel::moments_of(steps, sums[0] / count, sums[1], width, n_.options.stable);
                        bool rare = false;
                        const float i = inverse(m, rare);
                        put(call, 1, row, m.mean);
                        put(call, 2, row, m.variance);
                        for (uint64_t c = 0; c < width;) {
                          if (held == kNormBuffer || (held && held + width - c > kNormBuffer)) flush(first + c);
                          const uint64_t n = std::min(width - c, kNormBuffer - held);
                          rare |= n_.vectors->row_apply(n_.load, n_.at(x, c), n, m.mean, i, gamma + c, beta + c,
                                                        values + held);
                          held += n;
                          c += n;
                        }
                        if (status && rare) body_flags(call, row, status);
                      }
                      flush(end * width);
                    });
  }

  uint64_t samples() const { return n_.shape.rows / n_.shape.rows_to_group; }
  uint64_t group_blocks() const { return (n_.shape.group_size() + 1023) / 1024; }

  /// Sums by blocks of a group's elements, gathered; then the samples as batches with means and i per channel.
  void groups(const OpCall& call, const float* gamma, const float* beta) const {
    float* const mean = const_cast<float*>(beta) + channels_;
    float* const inverses = mean + samples() * channels_;
    float* const sums = inverses + samples() * channels_;
    const uint64_t in_row = n_.shape.groups_to_row, blocks = group_blocks(), size = n_.shape.group_size();
    // All groups' first blocks of a sample, then their second ones: these share rows, and so cache lines.
    auto part = [&](size_t begin, size_t end, size_t) {
      alignas(64) char gathered[1024 * sizeof(float)];
      for (size_t u = begin; u < end; ++u) {
        const uint64_t first = u / in_row % blocks * 1024, count = std::min<uint64_t>(1024, size - first);
        gather(call.in[0], u / in_row / blocks * in_row + u % in_row, first, count, gathered);
        n_.vectors->row_sums(n_.load, gathered, count, false, 1.0f, sums + 2 * u);
      }
    };
    parallel_ranges(n_.shape.groups() * blocks, kNormGrain / 1024, 1, n_.threads, part);
    const float n = kernel::count_of(size);
    for (uint64_t sample = 0; sample < samples(); ++sample) {
      float* const of = sums + sample * blocks * in_row * 2;
      n_.reductions->tree(Fold::kSum, of, blocks, 2 * in_row);
      for (uint64_t g = 0; g < in_row; ++g) {
        Steps ignored;
        const uint64_t group = sample * in_row + g, width = n_.shape.group_channels();
        const Moments m = kernel::moments_of(ignored, of[2 * g] / n, of[2 * g + 1], size, false);
        bool rare = false;
        const float i = inverse(m, rare);
        put(call, 1, group, m.mean);
        put(call, 2, group, m.variance);
        std::fill_n(mean + sample * channels_ + g * width, width, m.mean);
        std::fill_n(inverses + sample * channels_ + g * width, width, i);
        if (call.status && rare) body_flags(call, group, call.status);
      }
    }
    group_apply(call, gamma, beta, mean, inverses);
  }

  /// Elements first .. first + count of a group, one after another.
  void gather(const void* x, uint64_t group, uint64_t first, uint64_t count, char* to) const {
    const uint64_t width = n_.shape.group_channels(), one = size_of(n_.type), row = n_.shape.channels * one;
    const char* from = static_cast<const char*>(n_.at(x, n_.shape.place(group, first)));
    uint64_t skip = first % width;
    while (count > 0) {
      const uint64_t n = std::min(count, width - skip), bytes = n * one;
      // Most rows are short: a call to copy each would take longer than the copy.
      uint64_t b = 0;
      for (; b + 16 <= bytes; b += 16) std::memcpy(to + b, from + b, 16);
      for (; b < bytes; b += one) std::memcpy(to + b, from + b, one == 4 ? 4 : 2);
      to += bytes;
      from += row - skip * one;
      count -= n;
      skip = 0;
    }
  }

  void group_apply(const OpCall& call, const float* gamma, const float* beta, const float* means,
                   const float* all_inverses) const {
    const uint64_t width = n_.shape.channels, piece = std::min(width, kNormBuffer), of_sample = n_.shape.rows_to_group;
    const uint64_t rows = std::max<uint64_t>(1, kNormBuffer / width);
    const auto part = [&](size_t begin, size_t end, FpStatus* status) {
      alignas(64) float values[kNormBuffer + 64];
      for (uint64_t row = begin, count; row < end; row += count) {
        count = std::min({rows, end - row, of_sample - row % of_sample});
        const float* const mean = means + row / of_sample * channels_;
        const float* const inverses = all_inverses + row / of_sample * channels_;
        for (uint64_t c = 0; c < width; c += piece) {
          const uint64_t n = std::min(piece, width - c), first = row * width + c;
          const bool rare = n_.vectors->column_apply(n_.load, n_.at(call.in[0], first), count, width, n, mean + c,
                                                     inverses + c, gamma + c, beta + c, values);
          n_.results.store(values, first, count * n, call.out[0], call.environment, 0, status);
          if (status && rare) element_flags(call, first, count * n, values, mean, inverses, status);
        }
      }
    };
    parallel_status(n_.shape.rows, std::max<uint64_t>(1, kNormGrain / width), 8, n_.threads, call.status, part);
  }

  /// An fp32 output.
  void put(const OpCall& call, int port, uint64_t index, float value) const {
    if (!call.out[port]) return;
    kernel::put_code(call.out[port], kFp32, index, kernel::finish(kFp32, value, 0, call.environment.semantics, 0).code);
  }

  void batch(const OpCall& call, const float* gamma, const float* beta, float* mean, float* inverses,
             float* sums) const {
    const uint64_t width = n_.shape.channels;
    if (n_.training) batch_sums(call.in[0], mean, sums);
    for (uint64_t c = 0; c < width; ++c) {
      Moments m;
      Steps ignored;
      if (n_.training) {
        m = kernel::moments_of(ignored, mean[c], sums[width + c], n_.shape.rows, n_.options.stable);
      } else {
        const Semantics& s = call.environment.semantics;
        m = {ignored.enter(n_.of_parameters(call.in[3]), c, s), ignored.enter(n_.of_parameters(call.in[4]), c, s)};
      }
      mean[c] = m.mean;
      bool rare = false;
      inverses[c] = inverse(m, rare);
      channel_outputs(call, c, m, rare);
    }
    batch_apply(call, gamma, beta, mean, inverses);
  }

  /// mean, and sums[width + c]: of squares or of squared deviations.
  void batch_sums(const void* x, float* mean, float* sums) const {
    const uint64_t width = n_.shape.channels, rows = n_.shape.rows, blocks = n_.blocks();
    const auto pass = [&](const float* of_mean, uint64_t per_block, float* to) {
      auto block = [&](size_t begin, size_t end, size_t) {
        for (size_t b = begin; b < end; ++b)
          n_.vectors->column_sums(n_.load, n_.at(x, b * 1024 * width), std::min<uint64_t>(1024, rows - b * 1024), width,
                                  width, of_mean, to + b * per_block);
      };
      parallel_ranges(blocks, std::max<uint64_t>(1, kNormGrain / (1024 * width)), 1, n_.threads, block);
      n_.reductions->tree(Fold::kSum, to, blocks, per_block);
    };
    pass(nullptr, 2 * width, sums);
    const float count = kernel::count_of(rows);
    for (uint64_t c = 0; c < width; ++c) mean[c] = sums[c] / count;
    if (n_.options.stable) pass(mean, width, sums + width);
  }

  /// Outputs 1 to 4 of a channel, with their flags; if `rare`, with those of the whole channel.
  void channel_outputs(const OpCall& call, uint64_t c, Moments m, bool rare) const {
    const kernel::Environment& e = call.environment;
    const Semantics& s = e.semantics;
    const Elements old_mean = n_.of_parameters(call.in[3]), old_variance = n_.of_parameters(call.in[4]);
    const RoundingPolicy& p = s.rounding(old_mean.format);
    Steps steps;
    Moments r = m;
    if (n_.training) r = kernel::running_moments(steps, m, n_.shape.rows, c, {n_.factor, &old_mean, &old_variance}, s);
    const NormSink sink{n_, call, call.status};
    sink(1, c, kernel::finish(old_mean.format, r.mean, steps.flags, s, e.draw(p, 1, c)), c);
    sink(2, c, kernel::finish(old_mean.format, r.variance, steps.flags, s, e.draw(p, 2, c)), c);
    put(call, 3, c, m.mean);
    put(call, 4, c, m.variance);
    if (call.status && rare) body_flags(call, c, call.status);
  }

  void batch_apply(const OpCall& call, const float* gamma, const float* beta, const float* mean,
                   const float* inverses) const {
    each_piece_backwards(
        n_, call.status, [&](uint64_t first, uint64_t count, uint64_t c, uint64_t n, float* values, FpStatus* status) {
          const bool rare = n_.vectors->column_apply(n_.load, n_.at(call.in[0], first), count, n_.shape.channels, n,
                                                     mean + c, inverses + c, gamma + c, beta + c, values);
          n_.results.store(values, first, count * n, call.out[0], call.environment, 0, status);
          if (status && rare) element_flags(call, first, count * n, values, mean, inverses, status);
        });
  }

  void element_flags(const OpCall& call, uint64_t first, uint64_t count, const float* values, const float* mean,
                     const float* inverses, FpStatus* status) const {
    const kernel::Environment& e = call.environment;
    const FloatFormat f = format_of(n_.type);
    for (uint64_t i = first; i < first + count; ++i) {
      if (kernel::is_finite(values[i - first])) continue;
      const uint64_t c = i % n_.shape.channels;
      Steps steps;
      const float y = kernel::normalised_value(steps, n_.elements(call.in[0]), i, n_.of_parameters(call.in[1]),
                                               n_.of_parameters(call.in[2]), c, mean[c], inverses[c], e.semantics);
      status->raise(kernel::finish(f, y, steps.flags, e.semantics, e.draw(e.semantics.rounding(f), 0, i)).flags, i);
    }
  }

  NormNode n_;
  uint64_t channels_;
};

}  // namespace

std::unique_ptr<OpKernel> make_norm(const OpContext& c) { return std::make_unique<NormForward>(c); }

}  // namespace softamp::emu
