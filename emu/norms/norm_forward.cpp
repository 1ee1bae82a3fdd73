// FusedBatchNormV3, LayerNorm, GroupNorm.
#include <algorithm>

#include "emu/norms/norm_groups.h"
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
      return (2 * channels_ + 2 * n_.samples() * channels_ + 2 * n_.group_blocks() * n_.shape.groups()) * sizeof(float);
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

  /// The moments of a row; piece(c, n): its elements from c on.
  template <class Row>
  Moments row_moments(const Row& piece) const {
    const uint64_t width = n_.shape.channels;
    float sums[2];
    const auto pass = [&](const float* mean) {
      sum_blocks(width, sums, [&](uint64_t c, uint64_t n, float* of_block) {
        n_.vectors->row_sums(piece(c, n), n, mean, of_block);
      });
    };
    pass(nullptr);
    const float mean = sums[0] / kernel::count_of(width);
    if (n_.options.stable) pass(&mean);
    Steps ignored;
    return kernel::moments_of(ignored, mean, sums[n_.options.stable ? 0 : 1], width, n_.options.stable);
  }

  void layer(const OpCall& call, const float* gamma, const float* beta) const {
    const uint64_t width = n_.shape.channels;
    const bool kept = width <= kNormBuffer;  // a row that stays in the buffer
    const auto part = [&](size_t begin, size_t end, FpStatus* status) {
      NormNumbers x, values;
      size_t held = 0;  // results in `values`, of elements up to the row's start
      const auto flush = [&](uint64_t next) {
        n_.results.store(values.at, next - held, held, call.out[0], call.environment, 0, status);
        held = 0;
      };
      for (size_t row = begin; row < end; ++row) {
        const uint64_t first = row * width;
        const float* const whole = kept ? enter_row(n_, call.in[0], first, width, x) : nullptr;
        const auto piece = [&](uint64_t c, uint64_t n) {
          return kept ? whole + c : enter_row(n_, call.in[0], first + c, n, x);
        };
        const Moments m = row_moments(piece);
        bool rare = false;
        const float i = inverse(m, rare);
        put(call, 1, row, m.mean);
        put(call, 2, row, m.variance);
        for (uint64_t c = 0; c < width;) {
          if (held == kNormBuffer || (held && held + width - c > kNormBuffer)) flush(first + c);
          const uint64_t n = std::min(width - c, kNormBuffer - held);
          rare |= n_.vectors->row_apply(piece(c, n), n, m.mean, i, gamma + c, beta + c, values.at + held);
          held += n;
          c += n;
        }
        if (status && rare) body_flags(call, row, status);
      }
      flush(end * width);
    };
    parallel_status(n_.shape.rows, std::max<uint64_t>(1, kNormGrain / width), 1, n_.threads, call.status, part);
  }

  /// As many samples at a time as stay in the caches: sums by blocks of groups, then results.
  void groups(const OpCall& call, const float* gamma, const float* beta) const {
    float* const mean = const_cast<float*>(beta) + channels_;
    float* const inverses = mean + n_.samples() * channels_;
    float* const sums = inverses + n_.samples() * channels_;
    const uint64_t rows = n_.shape.rows_to_group, at_once = n_.samples_to_round();
    for (uint64_t first = 0; first < n_.samples(); first += at_once) {
      const uint64_t count = std::min(at_once, n_.samples() - first);
      group_statistics(call, first, count, mean, inverses, sums);
      each_piece_backwards(n_, first * rows, count * rows, rows, call.status,
                           [&](uint64_t row, uint64_t some, uint64_t c, uint64_t n, float* values, FpStatus* status) {
                             const uint64_t sample = row / rows;
                             apply(call, row, some, c, n,
                                   {gamma, beta, mean + sample * channels_, inverses + sample * channels_}, values,
                                   status);
                           });
    }
  }

  /// Moments of the groups of `count` samples, by channel in `mean` and `inverses`; outputs 1 and 2.
  void group_statistics(const OpCall& call, uint64_t first, uint64_t count, float* mean, float* inverses,
                        float* sums) const {
    const uint64_t in_row = n_.shape.groups_to_row, size = n_.shape.group_size();
    const uint64_t width = n_.shape.group_channels();
    const float n = kernel::count_of(size);
    const auto pass = [&](bool deviations) {
      const auto by_columns = [&](uint64_t row, uint64_t some, uint64_t c, uint64_t columns, const ColumnLanes& lanes) {
        n_.vectors->column_sums(n_.load, n_.at(call.in[0], row, c), n_.shape.channels, some, columns,
                                deviations ? mean + row / n_.shape.rows_to_group * channels_ + c : nullptr, lanes);
      };
      const auto gathered = [&](uint64_t group, uint64_t from, uint64_t some, float* to) {
        NormNumbers x;
        const float* const of_group = mean + group / in_row * channels_ + group % in_row * width;
        n_.vectors->row_sums(enter_elements_of(n_, call.in[0], group, from, some, x), some,
                             deviations ? of_group : nullptr, to);
      };
      sum_groups(n_, first, count, deviations ? 1 : 2, sums, by_columns, gathered);
    };
    const auto each_group = [&](const auto& body) {
      for (uint64_t sample = first; sample < first + count; ++sample)
        for (uint64_t g = 0; g < in_row; ++g)
          body(sample * in_row + g, sample * channels_ + g * width,
               sums + (sample * n_.group_blocks() * in_row + g) * 2);
    };
    pass(false);
    if (n_.options.stable) {
      each_group([&](uint64_t, uint64_t at, const float* of) { std::fill_n(mean + at, width, of[0] / n); });
      pass(true);
    }
    each_group([&](uint64_t group, uint64_t at, const float* of) {
      Steps ignored;
      const Moments m = kernel::moments_of(ignored, n_.options.stable ? mean[at] : of[0] / n,
                                           of[n_.options.stable ? 0 : 1], size, n_.options.stable);
      bool rare = false;
      const float i = inverse(m, rare);
      put(call, 1, group, m.mean);
      put(call, 2, group, m.variance);
      std::fill_n(mean + at, width, m.mean);
      std::fill_n(inverses + at, width, i);
      if (call.status && rare) body_flags(call, group, call.status);
    });
  }

  /// Numbers by channel.
  struct ByChannel {
    const float *gamma, *beta, *mean, *inverse;
  };

  /// Results of columns c .. c + n of some rows; `values` is a buffer for them.
  void apply(const OpCall& call, uint64_t row, uint64_t count, uint64_t c, uint64_t n, const ByChannel& by,
             float* values, FpStatus* status) const {
    const uint64_t first = row * n_.shape.channels + c;
    const bool rare = n_.vectors->column_apply(n_.load, n_.at(call.in[0], row, c), n_.shape.channels, count, n,
                                               by.mean + c, by.inverse + c, by.gamma + c, by.beta + c, values);
    n_.results.store(values, first, count * n, call.out[0], call.environment, 0, status);
    if (status && rare) element_flags(call, first, count * n, values, by.mean, by.inverse, status);
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
    each_piece_backwards(n_, 0, n_.shape.rows, n_.shape.rows, call.status,
                         [&](uint64_t row, uint64_t count, uint64_t c, uint64_t n, float* values, FpStatus* status) {
                           apply(call, row, count, c, n, {gamma, beta, mean, inverses}, values, status);
                         });
  }

  /// mean, and sums[width + c]: of squares or of squared deviations.
  void batch_sums(const void* x, float* mean, float* sums) const {
    const uint64_t width = n_.shape.channels, rows = n_.shape.rows, blocks = n_.blocks();
    const auto pass = [&](const float* of_mean, uint64_t count, float* to) {
      each_tile(n_, blocks, std::min(rows, kNormBlock), [&](uint64_t b, uint64_t c, uint64_t columns) {
        const uint64_t first = b * kNormBlock, some = std::min(kNormBlock, rows - first);
        sum_columns(n_, some, columns, 32, count, width, to + b * count * width + c, [&](const ColumnLanes& lanes) {
          n_.vectors->column_sums(n_.load, n_.at(x, first, c), width, some, columns, of_mean ? of_mean + c : nullptr,
                                  lanes);
        });
      });
      n_.reductions->tree(Fold::kSum, to, blocks, count * width);
    };
    pass(nullptr, 2, sums);
    const float count = kernel::count_of(rows);
    for (uint64_t c = 0; c < width; ++c) mean[c] = sums[c] / count;
    if (n_.options.stable) pass(mean, 1, sums + width);
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
