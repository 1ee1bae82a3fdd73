// Order: tiles of outputs are distributed over threads; within a tile k ascends in chunks of whole groups, so that a
// chunk's unpacked operands stay in the second-level cache.
#include "emu/products/product_tensor_core.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <type_traits>
#include <vector>

#include "emu/bulk/dispatch.h"
#include "emu/parallel.h"
#include "emu/products/product_kernels.h"
#include "emu/products/tensor_core_kernels.h"
#include "emu/stop_check.h"

namespace softamp::emu {
namespace {

constexpr size_t kTileRows = 32, kTileColumns = 32;
constexpr size_t kCoreChunk = 512;  ///< products, a multiple of every step's length

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
  float values[kTileRows * kStride];
  TensorCoreTerm terms[kTileRows * kStride];
  bool special[kTileRows];  ///< the row has an infinity or a NaN

  const float* row(size_t i) const { return values + i * kStride; }
  const TensorCoreTerm* row_terms(size_t i) const { return terms + i * kStride; }

  /// The terms up to `filled` are zeros.
  void take_apart(const FloatFormat& format, size_t rows, size_t length, size_t filled) {
    for (size_t i = 0; i < rows; ++i) {
      bool found = false;
      for (size_t k = 0; k < length; ++k) {
        const uint32_t code = __builtin_bit_cast(uint32_t, values[i * kStride + k]);
        found |= is_special(code);
        terms[i * kStride + k] = tensor_core_term(format, code);
      }
      for (size_t k = length; k < filled; ++k) terms[i * kStride + k] = {0, kTensorCoreZero};
      special[i] = found;
    }
  }
  static bool is_special(uint32_t code) { return (code & 0x7F800000u) == 0x7F800000u; }
};
static_assert(kTileRows == kTileColumns && kTileColumns == kTensorCoreColumns);

/// A thread's own, kept from call to call.
struct CoreBuffers {
  Panel a, b;
  float b_values[kTileColumns * kCoreChunk];
  int32_t significands[kTileColumns * kCoreChunk], exponents[kTileColumns * kCoreChunk];  ///< of B, for vectors
};
CoreBuffers& core_buffers() {
  thread_local const std::unique_ptr<CoreBuffers> buffers = std::make_unique<CoreBuffers>();
  return *buffers;
}

/// The groups of the instruction set whose kernels the plan has.
const TensorCoreKernels& kernels_for(const ProductPlan& plan) {
  const KernelTable* const table = plan.kernels->table;
#if defined(SOFTAMP_HAS_AVX512FP16)
  if (table == &kAvx512Fp16Kernels) return kAvx512TensorCores;
#endif
#if defined(SOFTAMP_HAS_AVX512)
  if (table == &kAvx512Kernels) return kAvx512TensorCores;
#endif
#if defined(SOFTAMP_HAS_AVX2)
  if (table == &kAvx2Kernels) return kAvx2TensorCores;
#endif
  return table == &kPortableKernels ? kPortableTensorCores : tensor_cores_of(bulk::InstructionSet::kAuto);
}

class Tile {
 public:
  Tile(const ProductPlan& plan, const ProductProblem& problem, const kernel::Environment& environment)
      : plan_(plan),
        problem_(problem),
        environment_(environment),
        core_(kernel::core_of(plan.rules)),
        step_(static_cast<size_t>(core_.step())),
        inner_(kernel::chain_semantics(plan.rules, plan.semantics)),
        buffers_(core_buffers()),
        vectors_(kernels_for(plan)) {}

  void run(const std::vector<CoreChunk>& chunks, size_t row0, size_t rows, size_t col0, size_t columns,
           FpStatus* status, StopCheck& check) {
    std::memset(acc_, 0, sizeof acc_);
    for (size_t i = 0; problem_.start && i < rows; ++i)
      for (size_t j = 0; j < columns; ++j) acc_[i][j] = start_of(plan_, problem_, row0 + i, col0 + j);
    std::memset(flags_, 0, sizeof flags_);
    any_partial_ = false;
    for (const CoreChunk& chunk : chunks) {
      length_ = chunk.k1 - chunk.k0, columns_ = columns;
      filled_ = (length_ + step_ - 1) / step_ * step_;
      problem_.operands->a_rows(row0, rows, chunk.k0, chunk.k1, buffers_.a.values, Panel::kStride);
      problem_.operands->b_rows(chunk.k0, chunk.k1, col0, columns, buffers_.b_values, kTileColumns);
      if (plan_.rules.operands != TensorCoreOperands::kOwn) feed(rows);
      buffers_.a.take_apart(core_.operand, rows, length_, filled_);
      b_is_apart_ = false;
      b_serves_ = vectors_.add && lay_out_b();
      for (size_t i = 0; i < rows; ++i)
        if (!add_row(i))
          for (size_t j = 0; j < columns; ++j) add(i, j);
      if (chunk.closes_partial) close(rows);
      check.after(rows * columns * length_ / (b_serves_ ? 8 : 1));
    }
    for (size_t i = 0; i < rows; ++i) {
      const uint64_t first = problem_.operands->row_output(row0 + i) + col0;
      for (size_t j = 0; j < columns; ++j) finish(i, j, first + j, status);
    }
  }

 private:
  /// Rounds operands to the format that the tensor core is fed.
  void feed(size_t rows) {
    const auto to_fed = [this](float* values, size_t count) {
      for (size_t i = 0; i < count; ++i)
        values[i] =
            __builtin_bit_cast(float, tensor_core_operand(core_.operand, __builtin_bit_cast(uint32_t, values[i])));
    };
    for (size_t i = 0; i < rows; ++i) to_fed(buffers_.a.values + i * Panel::kStride, length_);
    for (size_t k = 0; k < length_; ++k) to_fed(buffers_.b_values + k * kTileColumns, columns_);
  }

  bool pairs() const { return core_.order == TensorCoreOrder::kPairs; }
  /// Where vectors find product k: those of a group of pairs lie together.
  size_t place(size_t k) const {
    if (!pairs()) return k;
    const size_t i = k % 32;
    return k - i + (i >> 1 & 1) * 16 + (i >> 2) * 2 + (i & 1);
  }

  /// The terms of B as vectors take them; false where some are infinite or NaN.
  bool lay_out_b() {
    bool special = false;
    for (size_t k = 0; k < filled_; ++k)
      for (size_t j = 0; j < kTileColumns; ++j) {
        const bool exists = k < length_ && j < columns_;
        const uint32_t code = exists ? __builtin_bit_cast(uint32_t, buffers_.b_values[k * kTileColumns + j]) : 0;
        const size_t at = place(k) * kTileColumns + j;
        const TensorCoreTerm term = tensor_core_term(core_.operand, code);
        special |= Panel::is_special(code);
        buffers_.significands[at] = term.significand;
        buffers_.exponents[at] = term.exponent;
      }
    return !special;
  }

  /// All columns of a row at once; false, and nothing is changed, where they are to be added one by one.
  bool add_row(size_t i) {
    if (!b_serves_ || buffers_.a.special[i]) return false;
    alignas(64) uint32_t sums[kTileColumns];
    bool finite = true;
    for (size_t j = 0; j < kTileColumns; ++j) {
      sums[j] = acc_[i][j];
      finite &= !Panel::is_special(sums[j]);
    }
    const int up = core_.fraction_bits - 2 * core_.operand.mantissa_bits();
    if (!finite) return false;
    if (pairs()) {
      if (!add_pairs(i, up, sums)) return false;
    } else if (!vectors_.add({core_.result, buffers_.a.row_terms(i), buffers_.significands, buffers_.exponents, filled_,
                              core_.group, core_.fraction_bits, core_.floor, up, sums})) {
      return false;
    }
    std::memcpy(acc_[i], sums, sizeof sums);
    return true;
  }

  /// Steps of pairs: each from +0, then added to the sums, to nearest.
  bool add_pairs(size_t i, int up, uint32_t* sums) {
    TensorCoreTerm a[32];
    for (size_t first = 0; first < filled_; first += 32) {
      for (size_t k = 0; k < 32; ++k) a[place(k)] = buffers_.a.row_terms(i)[first + k];
      alignas(64) uint32_t step[kTileColumns] = {};
      if (!vectors_.add({core_.result, a, buffers_.significands + first * kTileColumns,
                         buffers_.exponents + first * kTileColumns, 32, core_.group, core_.fraction_bits, core_.floor,
                         up, step}))
        return false;
      for (size_t j = 0; j < kTileColumns; ++j) {
        // fp32 keeps so many bits of a sum of two fp16 numbers that rounding it again is rounding once.
        const float sum = __builtin_bit_cast(float, sums[j]) + __builtin_bit_cast(float, step[j]);
        sums[j] = __builtin_bit_cast(uint32_t, sum);
        if (halves()) sums[j] = tensor_core_single(tensor_core_half(sums[j]));
        if (Panel::is_special(sums[j])) return false;
        if (sums[j] << 1 == 0) sums[j] = 0;
      }
    }
    return true;
  }

  void take_b_apart() {
    for (size_t k = 0; k < length_; ++k)
      for (size_t j = 0; j < columns_; ++j)
        buffers_.b.values[j * Panel::kStride + k] = buffers_.b_values[k * kTileColumns + j];
    buffers_.b.take_apart(core_.operand, columns_, length_, length_);
    b_is_apart_ = true;
  }

  void add(size_t i, size_t j) {
    if (!b_is_apart_) take_b_apart();
    uint32_t& acc = acc_[i][j];
    size_t k = 0;
    if (!buffers_.a.special[i] && !buffers_.b.special[j] && kFp32.is_finite(acc)) {
      const TensorCoreTerm* const a = buffers_.a.row_terms(i);
      const TensorCoreTerm* const b = buffers_.b.row_terms(j);
      switch (step_) {
        case 4: k = steps<4>(a, b, acc); break;
        case 8: k = steps<8>(a, b, acc); break;
        case 16: k = steps<16>(a, b, acc); break;
        default: k = steps<32>(a, b, acc); break;
      }
      if (!kFp32.is_finite(acc)) flags_[i][j] = static_cast<uint8_t>(flags_[i][j] | (kOverflow & inner_.wide.flags));
    }
    while (k < length_) {  // special values, and everything after an overflow
      FusedGroup group;
      for (; k < length_ && group.count() < core_.step(); ++k)
        group.add(core_, __builtin_bit_cast(uint32_t, buffers_.a.row(i)[k]),
                  __builtin_bit_cast(uint32_t, buffers_.b.row(j)[k]));
      if (!halves()) {
        take(i, j, group.round(core_, acc, inner_));
        continue;
      }
      const Rounded r = group.round(core_, tensor_core_half(acc), inner_);
      take(i, j, {tensor_core_single(static_cast<uint32_t>(r.code)), r.flags});
    }
  }

  bool halves() const { return core_.result == TensorCoreResult::kHalf; }

  /// Adds steps of finite products until the sum overflows; how many products it has added.
  template <int kStep>
  size_t steps(const TensorCoreTerm* a, const TensorCoreTerm* b, uint32_t& sum) const {
    uint32_t acc = sum;
    size_t k = 0;
    int32_t p[kStep], e[kStep];
    while (k < length_ && kFp32.is_finite(acc)) {
      const auto add_step = [&](auto count) {
        for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
          p[i] = a[k + i].significand * b[k + i].significand;
          e[i] = a[k + i].exponent + b[k + i].exponent;
        }
        acc = halves() ? tensor_core_single(fused_step(core_, p, e, count, tensor_core_half(acc)))
                       : fused_step(core_, p, e, count, acc);
        k += static_cast<size_t>(count);
      };
      if (length_ - k >= size_t{kStep})
        add_step(std::integral_constant<int, kStep>{});  // a length that the compiler knows
      else
        add_step(static_cast<int>(length_ - k));
    }
    sum = acc;
    return k;
  }

  void take(size_t i, size_t j, Rounded r) {
    acc_[i][j] = static_cast<uint32_t>(r.code);
    flags_[i][j] = static_cast<uint8_t>(flags_[i][j] | (r.flags & (kInvalid | kOverflow)));
  }

  /// Ends an independent partial of each output, as kernel::ProductChain::close_partial does.
  void close(size_t rows) {
    for (size_t i = 0; i < rows; ++i)
      for (size_t j = 0; j < columns_; ++j) {
        if (any_partial_) take(i, j, fp::add(kFp32, total_[i][j], acc_[i][j], inner_));
        total_[i][j] = acc_[i][j];
        acc_[i][j] = 0;
      }
    any_partial_ = true;
  }

  void finish(size_t i, size_t j, uint64_t output, FpStatus* status) const {
    kernel::ProductChain chain(plan_.rules, environment_, output);
    chain.resume(plan_.rules.independent ? total_[i][j] : acc_[i][j], flags_[i][j]);
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
  size_t step_;
  Semantics inner_;
  CoreBuffers& buffers_;
  const TensorCoreKernels& vectors_;
  size_t length_ = 0, filled_ = 0, columns_ = 0;  ///< of the chunk; filled_: up to whole groups
  bool b_is_apart_ = false, b_serves_ = false, any_partial_ = false;
  uint32_t acc_[kTileRows][kTileColumns], total_[kTileRows][kTileColumns];
  uint8_t flags_[kTileRows][kTileColumns];
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
