// Sum, Mean, Max, Min, ArgMax, ArgMin, L2Loss and BiasAddGrad. Blocks of 1024 elements of an output are the units of
// work; their results are kept in scratch memory until they are added up as a tree.
#include <algorithm>
#include <cstring>

#include "emu/parallel.h"
#include "emu/reductions/reduction_results.h"
#include "emu/stop_check.h"
#include "softamp/engine/reduction_node.h"

namespace softamp::emu {
namespace {

using kernel::Reduction;

constexpr uint64_t kBlock = 1024, kTile = 1024;
constexpr uint64_t kGrain = 32 * 1024;  // elements that are not worth a thread

/// The least outputs per thread.
uint64_t grain_of(uint64_t count) { return std::max<uint64_t>(1, kGrain / std::max<uint64_t>(count, 1)); }

class ReductionKernel final : public OpKernel {
 public:
  explicit ReductionKernel(const OpContext& c)
      : n_(c),
        what_(n_.what),
        type_(n_.type),
        half_(n_.half_accumulator),
        threads_(c.settings.reference ? 1 : c.settings.threads),
        shape_(n_.shape),
        results_(type_, shape_.outputs, c.settings),
        load_(load_of(type_, c.settings.environment.semantics)) {
    columns_ = shape_.kept_rank > 0 && shape_.kept_stride[shape_.kept_rank - 1] == 1;
    width_ = columns_ ? static_cast<uint64_t>(shape_.kept_extent[shape_.kept_rank - 1]) : 1;
    blocks_ = (shape_.count + kBlock - 1) / kBlock;
    by_body_ = c.settings.reference || results_.by_body() || load_ == Load::kNone || half_ || shape_.count == 0 ||
               shape_.outputs == 0 || (what_ == Reduction::kBatchSum && !columns_);
    if (!by_body_) vectors_ = &reductions_of(c.settings.isa);
    fold_ = what_ == Reduction::kMax        ? Fold::kMax
            : what_ == Reduction::kMin      ? Fold::kMin
            : what_ == Reduction::kL2Loss   ? Fold::kSquares
            : what_ == Reduction::kBatchSum ? Fold::kChain
                                            : Fold::kSum;
  }

  size_t scratch_bytes() const override { return by_body_ ? 0 : shape_.outputs * blocks_ * sizeof(float); }

  SiteRoundings roundings(uint32_t site) const override { return n_.roundings(site); }

  void run(const OpCall& call) const override {
    if (by_body_) {
      parallel_status(shape_.outputs, threads_ == 1 ? shape_.outputs : grain_of(shape_.count), 8, threads_, call.status,
                      [&](size_t begin, size_t end, FpStatus* status) {
                        StopCheck check(call.stop);
                        for (size_t o = begin; o < end; ++o) {
                          body(call, o, status);
                          check.after((shape_.count + 1) * StopCheck::kBody);
                        }
                      });
      return;
    }
    float* const partials = static_cast<float*>(call.scratch);
    if (columns_)
      fold_columns(call.in[0], partials);
    else
      fold_rows(call.in[0], partials);
    parallel_status(shape_.outputs, kGrain, 64, threads_, call.status,
                    [&](size_t begin, size_t end, FpStatus* status) { finish(call, begin, end, partials, status); });
  }

 private:
  void body(const OpCall& call, uint64_t o, FpStatus* status) const {
    if (type_ == DType::kInt32) {
      static_cast<int32_t*>(call.out[0])[o] =
          kernel::reduce_int(what_, static_cast<const int32_t*>(call.in[0]), shape_, o);
      return;
    }
    const FloatFormat f = format_of(type_);
    const Rounded r = kernel::reduce(what_, half_, {call.in[0], f}, shape_, o, call.environment);
    kernel::put_code(call.out[0], f, o, r.code);
    if (status) status->raise(r.flags, o);
  }

  /// partials[(outer * blocks + block) * width + column].
  void fold_columns(const void* in, float* partials) const {
    const uint64_t tiles = (width_ + kTile - 1) / kTile, units = shape_.outputs / width_ * blocks_ * tiles;
    const uint64_t unit = std::min(shape_.count, kBlock) * std::min(width_, kTile);
    auto body = [&](size_t begin, size_t end, size_t) {
      int64_t offset[kBlock];
      for (size_t u = begin; u < end; ++u) {
        const uint64_t tile = u % tiles, block = u / tiles % blocks_, outer = u / tiles / blocks_;
        const uint64_t first = block * kBlock, rows = std::min(kBlock, shape_.count - first);
        const uint64_t column = tile * kTile, width = std::min(kTile, width_ - column);
        const int64_t base = shape_.output_offset(outer * width_ + column);
        for (uint64_t r = 0; r < rows; ++r) offset[r] = shape_.element_offset(first + r);
        vectors_->columns(load_, fold_, at(in, base), offset, rows, width,
                          partials + (outer * blocks_ + block) * width_ + column);
      }
    };
    parallel_ranges(units, std::max<uint64_t>(1, kGrain / unit), 1, threads_, body);
  }

  /// partials[output * blocks + block].
  void fold_rows(const void* in, float* partials) const {
    const bool even = shape_.kept_rank <= 1;  // outputs' elements begin at equal distances
    const bool whole = shape_.reduced_rank <= 1;
    auto body = [&](size_t begin, size_t end, size_t) {
      if (even && whole && blocks_ == 1) {
        const size_t stride = shape_.kept_rank ? static_cast<size_t>(shape_.kept_stride[0]) : 0;
        vectors_->rows(load_, fold_, at(in, static_cast<int64_t>(begin * stride)), stride, end - begin, shape_.count,
                       partials + begin);
        return;
      }
      alignas(64) char gathered[kBlock * 4];
      for (size_t u = begin; u < end; ++u) {
        const uint64_t first = u % blocks_ * kBlock, count = std::min(kBlock, shape_.count - first);
        const int64_t base = shape_.output_offset(u / blocks_);
        const void* from = whole ? at(in, base + static_cast<int64_t>(first)) : gathered;
        if (!whole) gather(in, base, first, count, gathered);
        vectors_->rows(load_, fold_, from, 0, 1, count, partials + u);
      }
    };
    parallel_ranges(shape_.outputs * blocks_, grain_of(std::min(shape_.count, kBlock)), 1, threads_, body);
  }

  /// Elements first .. first + count of the output whose elements begin at `base`, run by run.
  void gather(const void* in, int64_t base, uint64_t first, uint64_t count, char* out) const {
    const size_t bytes = size_of(type_);
    const uint64_t run = static_cast<uint64_t>(shape_.reduced_extent[shape_.reduced_rank - 1]);
    for (uint64_t k = first; k < first + count;) {
      const uint64_t n = std::min(run - k % run, first + count - k);
      std::memcpy(out, at(in, base + shape_.element_offset(k)), n * bytes);
      out += n * bytes;
      k += n;
    }
  }

  /// Folds the trees of outputs begin .. end and rounds.
  void finish(const OpCall& call, uint64_t begin, uint64_t end, float* partials, FpStatus* status) const {
    alignas(64) float values[kBlock];
    while (begin < end) {
      const uint64_t n = std::min(kBlock, end - begin);
      uint32_t rare = 0;
      for (uint64_t i = 0; i < n;) {
        const uint64_t o = begin + i, outer = o / width_, column = o % width_;
        const uint64_t run = std::min(n - i, width_ - column);
        float* const from = partials + outer * blocks_ * width_ + column;
        if (blocks_ > 1) fold_tree(from, run);
        for (uint64_t c = 0; c < run; ++c) {
          const float value = settled(from[c]);
          rare |= (kernel::bits_of(value) & 0x7FFFFFFFu) + 0x00800000u;
          values[i + c] = value;
        }
        i += run;
      }
      results_.store(values, begin, n, call.out[0], call.environment, n_.rounding_site(), status);
      if (status && rare >> 31)
        for (uint64_t i = 0; i < n; ++i)
          if (!kernel::is_finite(values[i])) body(call, begin + i, status);
      begin += n;
    }
  }

  /// The tree over the blocks of `run` neighbouring columns: their results replace block 0.
  void fold_tree(float* from, uint64_t run) const {
    if (run == width_) {
      vectors_->tree(fold_, from, blocks_, width_);
      return;
    }
    // Part of a row of columns, at the border between two threads' outputs: column by column.
    for (uint64_t c = 0; c < run; ++c) {
      if (fold_ == Fold::kChain) {
        for (uint64_t b = 1; b < blocks_; ++b) from[c] += from[b * width_ + c];
        continue;
      }
      for (uint64_t count = blocks_; count > 1; count = (count + 1) / 2)
        for (uint64_t b = 0; b < count; b += 2) {
          const float left = from[b * width_ + c];
          from[b / 2 * width_ + c] = b + 1 < count ? joined(left, from[(b + 1) * width_ + c]) : left;
        }
    }
  }
  float joined(float a, float b) const {
    if (fold_ == Fold::kMax || fold_ == Fold::kMin)
      return __builtin_bit_cast(int32_t, a) > __builtin_bit_cast(int32_t, b) ? a : b;
    return a + b;
  }

  float settled(float folded) const {
    switch (what_) {
      case Reduction::kMean: return folded / kernel::count_of(shape_.count);
      case Reduction::kL2Loss: return 0.5f * folded;
      case Reduction::kMax:
      case Reduction::kMin: break;
      default: return folded;
    }
    int32_t key = __builtin_bit_cast(int32_t, folded);
    if (key == 0x7FFFFFFF) return __builtin_nanf("");
    if (what_ == Reduction::kMin) key = ~key;
    return __builtin_bit_cast(float, key ^ (key >> 31 & 0x7FFFFFFF));
  }

  const void* at(const void* in, int64_t element) const {
    return static_cast<const char*>(in) + element * static_cast<int64_t>(size_of(type_));
  }

  engine::ReductionNode n_;
  Reduction what_;
  DType type_;
  bool half_;
  int threads_;
  kernel::ReduceShape shape_;
  Results results_;
  Load load_;
  bool by_body_ = false, columns_ = false;
  uint64_t width_ = 1, blocks_ = 0;
  Fold fold_ = Fold::kSum;
  const ReductionKernels* vectors_ = nullptr;
};

class PlaceKernel final : public OpKernel {
 public:
  explicit PlaceKernel(const OpContext& c) : PlaceKernel(engine::ReductionNode(c), c.settings) {}

  void run(const OpCall& call) const override {
    int32_t* const out = static_cast<int32_t*>(call.out[0]);
    const Semantics& s = call.environment.semantics;
    parallel_status(
        shape_.outputs, threads_ == 1 ? shape_.outputs : grain_of(shape_.count), 16, threads_, call.status,
        [&](size_t begin, size_t end, FpStatus* status) {
          for (size_t o = begin; o < end; ++o) {
            if (type_ == DType::kInt32) {
              const auto* x = static_cast<const int32_t*>(call.in[0]);
              out[o] = static_cast<int32_t>(kernel::arg_extremum_int(least_, x, shape_, o));
              continue;
            }
            const kernel::Located place = kernel::arg_extremum(least_, {call.in[0], format_of(type_)}, shape_, o, s);
            out[o] = static_cast<int32_t>(place.index);
            if (status) status->raise(place.flags, o);
          }
        });
  }

 private:
  PlaceKernel(const engine::ReductionNode& n, const EngineSettings& settings)
      : least_(n.what == Reduction::kMin),
        type_(n.type),
        threads_(settings.reference ? 1 : settings.threads),
        shape_(n.shape) {}

  bool least_;
  DType type_;
  int threads_;
  kernel::ReduceShape shape_;
};

}  // namespace

std::span<const KernelEntry> reduction_kernels() {
  static constexpr KernelEntry kEntries[] = {
      {"Sum", make_kernel<ReductionKernel>},    {"Mean", make_kernel<ReductionKernel>},
      {"Max", make_kernel<ReductionKernel>},    {"Min", make_kernel<ReductionKernel>},
      {"L2Loss", make_kernel<ReductionKernel>}, {"BiasAddGrad", make_kernel<ReductionKernel>},
      {"ArgMax", make_kernel<PlaceKernel>},     {"ArgMin", make_kernel<PlaceKernel>},
  };
  return kEntries;
}

}  // namespace softamp::emu
