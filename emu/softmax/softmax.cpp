// Softmax, LogSoftmax, their gradients and the cross-entropies, by rows.
#include <algorithm>

#include "emu/bulk/dispatch.h"
#include "emu/parallel.h"
#include "emu/reductions/block_sums.h"
#include "emu/reductions/reduction_results.h"
#include "emu/softmax/softmax_kernels.h"
#include "emu/stop_check.h"
#include "softamp/engine/softmax_node.h"
#include "softamp/kernel/softmax.h"

namespace softamp::emu {

namespace {

constexpr uint64_t kBuffer = 4096;            // results that a thread holds
constexpr uint64_t kSoftmaxGrain = 8 * 1024;  // the number of elements up to which one thread suffices

using What = engine::SoftmaxKind;

class SoftmaxKernel final : public OpKernel {
 public:
  explicit SoftmaxKernel(const OpContext& c)
      : n_(c),
        what_(n_.kind),
        type_(n_.type),
        threads_(c.settings.reference ? 1 : c.settings.threads),
        classes_(n_.classes),
        rows_(n_.rows),
        load_(load_of(type_, c.settings.environment.semantics)),
        results_(type_, rows_ * classes_, c.settings) {
    by_body_ = c.settings.reference || load_ == Load::kNone || results_.by_body();
    if (by_body_) return;
    vectors_ = &softmax_of(c.settings.isa);
    reductions_ = &reductions_of(c.settings.isa);
  }

  SiteRoundings roundings(uint32_t site) const override { return n_.roundings(site); }

  void run(const OpCall& call) const override {
    if (rows_ == 0) return;
    if (what_ == What::kSparse) check_labels(static_cast<const int32_t*>(call.in[1]));
    parallel_status(rows_, by_body_ && threads_ == 1 ? rows_ : std::max<uint64_t>(1, kSoftmaxGrain / classes_), 8,
                    threads_, call.status, [&](size_t begin, size_t end, FpStatus* status) {
                      if (!by_body_) return rows(call, begin, end, status);
                      StopCheck check(call.stop);
                      for (size_t row = begin; row < end; ++row) {
                        body(call, row, status, false);
                        check.after(4 * classes_ * StopCheck::kBody);
                      }
                    });
  }

 private:
  bool entropy() const { return n_.entropy(); }

  void check_labels(const int32_t* labels) const {
    for (uint64_t row = 0; row < rows_; ++row)
      if (!n_.valid(labels[row])) n_.fail_label(row, labels[row]);
  }

  void body(const OpCall& call, uint64_t row, FpStatus* status, bool flags_only) const {
    const FloatFormat f = format_of(type_);
    const auto sink = [&](int port, uint64_t index, const Rounded& r, uint64_t flag_index) {
      if (!flags_only && call.out[port]) kernel::put_code(call.out[port], f, index, r.code);
      if (status) status->raise(r.flags, flag_index);
    };
    const kernel::Elements x{call.in[0], f}, second{entropy() || gradient() ? call.in[1] : nullptr, f};
    switch (what_) {
      case What::kSoftmax:
      case What::kLogSoftmax:
        kernel::softmax(what_ == What::kLogSoftmax, x, row, classes_, call.environment, sink);
        break;
      case What::kGradient:
      case What::kLogGradient:
        kernel::softmax_gradient(what_ == What::kLogGradient, x, second, row, classes_, call.environment, sink);
        break;
      case What::kDense:
      case What::kSparse:
        kernel::cross_entropy(x, what_ == What::kDense ? &second : nullptr, label(call, row), row, classes_,
                              call.environment, sink);
    }
  }
  bool gradient() const { return n_.gradient(); }
  uint64_t label(const OpCall& call, uint64_t row) const {
    return what_ == What::kSparse ? static_cast<uint64_t>(static_cast<const int32_t*>(call.in[1])[row]) : 0;
  }

  const void* at(const void* data, uint64_t element) const {
    return static_cast<const char*>(data) + element * size_of(type_);
  }

  /// The operands of a row as fp32, kept if it fits; otherwise each part enters whenever it is needed.
  class Operands {
   public:
    Operands(const SoftmaxKernel& kernel, const OpCall& call)
        : k_(kernel), call_(call), kept_(kernel.classes_ <= kBuffer) {}
    void at_row(uint64_t first) {
      first_ = first;
      if (!kept_) return;
      whole_[0] = enter(0, 0, k_.classes_);
      if (k_.gradient() || k_.what_ == What::kDense) whole_[1] = enter(1, 0, k_.classes_);
    }
    /// Classes c .. c + n (at most kBuffer) of an operand.
    const float* part(int operand, uint64_t c, uint64_t n) {
      return kept_ ? whole_[operand] + c : enter(operand, c, n);
    }

   private:
    const float* enter(int operand, uint64_t c, uint64_t n) {
      return k_.reductions_->enter(k_.load_, k_.at(call_.in[operand], first_ + c), n, values_[operand]);
    }
    const SoftmaxKernel& k_;
    const OpCall& call_;
    bool kept_;
    uint64_t first_ = 0;
    const float* whole_[2] = {nullptr, nullptr};
    alignas(64) float values_[2][kBuffer + kRowSlack];
  };

  /// Shared by the outputs of a row.
  struct Row {
    float greatest = 0, sum = 0, log_sum = 0;  // of a gradient: only sum
    bool rare = false;
  };

  void rows(const OpCall& call, uint64_t begin, uint64_t end, FpStatus* status) const {
    alignas(64) float values[kBuffer + kRowSlack + 64];
    alignas(64) float losses[64];
    const int port = entropy() ? 1 : 0;
    const uint64_t to_index = entropy() ? classes_ : 1;
    size_t held = 0, losses_held = 0;
    const auto flush = [&](uint64_t next) {
      if (call.out[port])
        results_.store(values, next - held, held, call.out[port], call.environment, static_cast<uint32_t>(port), status,
                       to_index);
      held = 0;
    };
    const auto flush_losses = [&](uint64_t next) {
      results_.store(losses, next - losses_held, losses_held, call.out[0], call.environment, 0, status);
      losses_held = 0;
    };
    Operands in(*this, call);
    for (uint64_t row = begin; row < end; ++row) {
      const uint64_t first = row * classes_;
      in.at_row(first);
      if (held && held + classes_ > kBuffer) flush(first);
      const bool kept = classes_ <= kBuffer;  // the row's exponentials stay in `values`
      Row shared = summed(in, kept ? values + held : nullptr);
      if (entropy()) {
        if (losses_held == 64) flush_losses(row);
        losses[losses_held] = loss(call, row, shared, in);
        shared.rare |= !kernel::is_finite(losses[losses_held++]);
      }
      for (uint64_t c = 0; c < classes_;) {
        if (held == kBuffer) flush(first + c);
        const uint64_t n = std::min(classes_ - c, kBuffer - held);
        shared.rare |= piece(call, row, c, n, shared, kept, in, values + held);
        held += n;
        c += n;
      }
      if (status && shared.rare) body(call, row, status, true);
    }
    flush(end * classes_);
    if (entropy()) flush_losses(end);
  }

  Row summed(Operands& in, float* e) const {
    Row r;
    float sums[2];
    if (gradient()) {
      sum_blocks(classes_, sums, [&](uint64_t c, uint64_t n, float* to) {
        const float* const y = in.part(0, c, n);
        vectors_->gradient_sum(y, in.part(1, c, n), n, what_ == What::kLogGradient, to);
      });
      r.sum = sums[0];
      r.rare = !kernel::is_finite(r.sum);
      return r;
    }
    for (uint64_t c = 0; c < classes_; c += kBuffer) {
      const uint64_t n = std::min(classes_ - c, kBuffer);
      const float of_part = vectors_->greatest(in.part(0, c, n), n);
      if (c == 0 || kernel::order_key(of_part, false) > kernel::order_key(r.greatest, false)) r.greatest = of_part;
    }
    if (what_ == What::kLogSoftmax) e = nullptr;
    sum_blocks(classes_, sums, [&](uint64_t c, uint64_t n, float* to) {
      r.rare |= vectors_->sum(in.part(0, c, n), n, r.greatest, e ? e + c : nullptr, to);
    });
    r.sum = sums[0];
    if (what_ != What::kSoftmax) r.log_sum = kernel::detail::logarithm(r.sum);
    return r;
  }

  float loss(const OpCall& call, uint64_t row, const Row& r, Operands& in) const {
    if (what_ == What::kDense) {
      float sums[2];
      sum_blocks(classes_, sums, [&](uint64_t c, uint64_t n, float* to) {
        const float* const x = in.part(0, c, n);
        vectors_->loss(x, in.part(1, c, n), n, r.greatest, r.log_sum, to);
      });
      return sums[0];
    }
    kernel::Steps ignored;
    const float x =
        ignored.enter({call.in[0], format_of(type_)}, row * classes_ + label(call, row), call.environment.semantics);
    return r.log_sum - (x - r.greatest);
  }

  /// The fp32 results of classes c .. c + n of a row; `kept`: `out` holds its exponentials.
  bool piece(const OpCall& call, uint64_t row, uint64_t c, uint64_t n, const Row& r, bool kept, Operands& in,
             float* out) const {
    if (gradient()) {
      const float* const y = in.part(0, c, n);
      return vectors_->gradient(y, in.part(1, c, n), n, what_ == What::kLogGradient, r.sum, out);
    }
    if (what_ == What::kLogSoftmax) return vectors_->logarithms(in.part(0, c, n), n, r.greatest, r.log_sum, out);
    if (!kept) vectors_->exponentials(in.part(0, c, n), n, r.greatest, out);
    if (what_ == What::kDense) return vectors_->less_labels(in.part(1, c, n), out, n, r.sum);
    const bool rare = vectors_->divide(out, n, r.sum);
    if (what_ == What::kSparse) {
      const uint64_t one = label(call, row);
      if (one >= c && one < c + n) out[one - c] -= 1.0f;
    }
    return rare;
  }

  engine::SoftmaxNode n_;
  What what_;
  DType type_;
  int threads_;
  uint64_t classes_, rows_;
  bool by_body_;
  Load load_;
  Results results_;
  const SoftmaxKernels* vectors_ = nullptr;
  const ReductionKernels* reductions_ = nullptr;
};

}  // namespace

std::span<const KernelEntry> softmax_kernels() {
  static constexpr auto kEntries = engine::softmax_entries<KernelFactory>(make_kernel<SoftmaxKernel>);
  return kEntries;
}

}  // namespace softamp::emu
