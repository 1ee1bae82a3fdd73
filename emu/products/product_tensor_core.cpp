// Order: tiles of outputs are distributed over threads; within a tile k ascends in chunks of whole groups, so that a
// chunk's unpacked operands stay in the second-level cache.
#include "emu/products/product_tensor_core.h"

#include <algorithm>
#include <type_traits>
#include <vector>

#include "emu/parallel.h"
#include "emu/stop_check.h"

namespace softamp::emu {
namespace {

constexpr size_t kTileRows = 32, kTileColumns = 32;
constexpr size_t kCoreChunk = 512;  ///< products, a multiple of every group's length

/// Products [k0, k1): whole groups from the beginning of an independent partial on, or its end.
struct CoreChunk {
  size_t k0, k1;
  bool closes_partial;
};

std::vector<CoreChunk> cut(const Schedule& schedule, bool independent) {
  std::vector<CoreChunk> chunks;
  size_t begin = 0, end = 0;
  const auto partial = [&](bool closes) {
    for (; begin < end; begin = std::min(end, begin + kCoreChunk))
      chunks.push_back({begin, std::min(end, begin + kCoreChunk), closes && begin + kCoreChunk >= end});
  };
  for (const ChainBlock& block : schedule.blocks) {
    end += block.length;
    if (independent && block.closes_partial) partial(true);
  }
  partial(false);
  return chunks;
}

/// Unpacked rows (of A, or columns of B) of a chunk, each `stride` from the next.
struct Panel {
  static constexpr size_t kStride = kCoreChunk;
  std::vector<float> values = std::vector<float>(kTileRows * kStride);
  std::vector<TensorCoreTerm> terms = std::vector<TensorCoreTerm>(kTileRows * kStride);
  bool special[kTileRows] = {};  ///< the row has an infinity or a NaN

  const float* row(size_t i) const { return values.data() + i * kStride; }
  const TensorCoreTerm* row_terms(size_t i) const { return terms.data() + i * kStride; }

  void take_apart(const FloatFormat& format, size_t rows, size_t length) {
    for (size_t i = 0; i < rows; ++i) {
      bool found = false;
      for (size_t k = 0; k < length; ++k) {
        const uint32_t code = __builtin_bit_cast(uint32_t, values[i * kStride + k]);
        found |= (code & 0x7F800000u) == 0x7F800000u;
        terms[i * kStride + k] = tensor_core_term(format, code);
      }
      special[i] = found;
    }
  }
};
static_assert(kTileRows == kTileColumns);

/// The state of an output's sum.
struct Sum {
  uint32_t acc, total;
  uint8_t flags;
  bool any_partial;
};

class Tile {
 public:
  Tile(const ProductPlan& plan, const ProductProblem& problem, const kernel::Environment& environment)
      : plan_(plan),
        problem_(problem),
        environment_(environment),
        core_(tensor_core(plan.rules.accumulator, plan.rules.a)),
        inner_(kernel::chain_semantics(plan.rules, plan.semantics)),
        b_values_(kTileColumns * kCoreChunk) {}

  void run(const std::vector<CoreChunk>& chunks, size_t row0, size_t rows, size_t col0, size_t columns,
           FpStatus* status, StopCheck& check) {
    std::fill(std::begin(sums_), std::end(sums_), Sum{});
    for (const CoreChunk& chunk : chunks) {
      const size_t length = chunk.k1 - chunk.k0;
      problem_.operands->a_rows(row0, rows, chunk.k0, chunk.k1, a_.values.data(), Panel::kStride);
      problem_.operands->b_rows(chunk.k0, chunk.k1, col0, columns, b_values_.data(), kTileColumns);
      for (size_t k = 0; k < length; ++k)
        for (size_t j = 0; j < columns; ++j) b_.values[j * Panel::kStride + k] = b_values_[k * kTileColumns + j];
      a_.take_apart(core_.operand, rows, length);
      b_.take_apart(core_.operand, columns, length);
      for (size_t i = 0; i < rows; ++i)
        for (size_t j = 0; j < columns; ++j) {
          Sum& sum = sums_[i * kTileColumns + j];
          add(sum, i, j, length);
          if (chunk.closes_partial) close(sum);
        }
      check.after(rows * columns * length);
    }
    for (size_t i = 0; i < rows; ++i) {
      const uint64_t first = problem_.operands->row_output(row0 + i) + col0;
      for (size_t j = 0; j < columns; ++j) finish(sums_[i * kTileColumns + j], first + j, status);
    }
  }

 private:
  void add(Sum& sum, size_t i, size_t j, size_t length) const {
    size_t k = 0;
    if (!a_.special[i] && !b_.special[j] && kFp32.is_finite(sum.acc)) {
      const TensorCoreTerm* const a = a_.row_terms(i);
      const TensorCoreTerm* const b = b_.row_terms(j);
      switch (core_.group) {
        case 4: k = groups<4>(a, b, length, sum); break;
        case 8: k = groups<8>(a, b, length, sum); break;
        default: k = groups<16>(a, b, length, sum); break;
      }
    }
    while (k < length) {  // special values, and everything after an overflow
      FusedGroup group;
      for (; k < length && group.count() < core_.group; ++k)
        group.add(core_, __builtin_bit_cast(uint32_t, a_.row(i)[k]), __builtin_bit_cast(uint32_t, b_.row(j)[k]));
      take(sum, group.round(core_, sum.acc, inner_));
    }
  }

  /// Adds groups of finite products until the sum overflows; how many products it has added.
  template <int kGroup>
  size_t groups(const TensorCoreTerm* a, const TensorCoreTerm* b, size_t length, Sum& sum) const {
    const TensorCore core{core_.operand, core_.fraction_bits, kGroup, TensorCoreResult::kSingle};
    uint32_t acc = sum.acc;
    size_t k = 0;
    int32_t p[kGroup], e[kGroup];
    while (k < length && kFp32.is_finite(acc)) {
      const auto add_group = [&](auto count) {
        for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
          p[i] = a[k + i].significand * b[k + i].significand;
          e[i] = a[k + i].exponent + b[k + i].exponent;
        }
        acc = fused_sum(core, p, e, count, acc);
        k += static_cast<size_t>(count);
      };
      if (length - k >= size_t{kGroup})
        add_group(std::integral_constant<int, kGroup>{});  // a length that the compiler knows
      else
        add_group(static_cast<int>(length - k));
    }
    sum.acc = acc;
    if (!kFp32.is_finite(acc)) sum.flags = static_cast<uint8_t>(sum.flags | (kOverflow & inner_.wide.flags));
    return k;
  }

  static void take(Sum& sum, Rounded r) {
    sum.acc = static_cast<uint32_t>(r.code);
    sum.flags = static_cast<uint8_t>(sum.flags | (r.flags & (kInvalid | kOverflow)));
  }

  /// Ends an independent partial, as kernel::ProductChain::close_partial does.
  void close(Sum& sum) const {
    if (sum.any_partial) {
      const uint32_t partial = sum.acc;
      take(sum, fp::add(kFp32, sum.total, partial, inner_));
    }
    sum.total = sum.acc;
    sum.any_partial = true;
    sum.acc = 0;
  }

  void finish(const Sum& sum, uint64_t output, FpStatus* status) const {
    kernel::ProductChain chain(plan_.rules, environment_, output);
    chain.resume(plan_.rules.independent ? sum.total : sum.acc, sum.flags);
    const Rounded r = chain.finish();
    if (plan_.rules.output.storage_bits() > 16)
      static_cast<uint32_t*>(problem_.out)[output] = static_cast<uint32_t>(r.code);
    else
      static_cast<uint16_t*>(problem_.out)[output] = static_cast<uint16_t>(r.code);
    if (status) status->raise(r.flags & (kInvalid | kOverflow), output);
  }

  const ProductPlan& plan_;
  const ProductProblem& problem_;
  const kernel::Environment& environment_;
  TensorCore core_;
  Semantics inner_;
  Panel a_, b_;
  std::vector<float> b_values_;
  Sum sums_[kTileRows * kTileColumns];
};

}  // namespace

void run_tensor_core_product(const ProductPlan& plan, const ProductProblem& problem,
                             const kernel::Environment& environment, const ProductSettings& settings) {
  const std::vector<CoreChunk> chunks = cut(*problem.schedule, plan.rules.independent);
  const size_t across = (problem.columns + kTileColumns - 1) / kTileColumns;
  const size_t tiles = across * ((problem.rows + kTileRows - 1) / kTileRows);
  const bool serial = problem.rows * problem.columns * problem.schedule->k < 10000;
  parallel_status(tiles, serial ? tiles : 1, 1, settings.threads, settings.status,
                  [&](size_t begin, size_t end, FpStatus* found) {
                    Tile tile(plan, problem, environment);
                    StopCheck check(settings.stop);
                    for (size_t t = begin; t < end; ++t) {
                      const size_t row0 = t / across * kTileRows, col0 = t % across * kTileColumns;
                      tile.run(chunks, row0, std::min(kTileRows, problem.rows - row0), col0,
                               std::min(kTileColumns, problem.columns - col0), found, check);
                    }
                  });
}

}  // namespace softamp::emu
