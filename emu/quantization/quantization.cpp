// FakeQuantize by the arrays of bulk, HadamardTransform tile by tile, Fp8ScaleUpdate by its body.
#include <algorithm>
#include <vector>

#include "emu/bulk_options.h"
#include "emu/op_kernel.h"
#include "emu/parallel.h"
#include "emu/stop_check.h"
#include "softamp/engine/quantization_node.h"
#include "softamp/tensor/block_bulk.h"

namespace softamp::emu {
namespace {

using kernel::BlockGrid;

constexpr uint64_t kQuantizationGrain = 1 << 14;  // elements that are worth a thread

float usual_nan(float x) { return x != x ? __builtin_bit_cast(float, 0x7FC00000u) : x; }
uint32_t code_of(const void* in, uint64_t i) { return static_cast<const uint32_t*>(in)[i]; }

class FakeQuantizeKernel final : public OpKernel {
 public:
  explicit FakeQuantizeKernel(const OpContext& c)
      : n_(c), reference_(c.settings.reference), threads_(reference_ ? 1 : c.settings.threads), isa_(c.settings.isa) {}

  SiteRoundings roundings(uint32_t site) const override { return n_.roundings(site); }
  bool in_place() const override { return true; }

  void run(const OpCall& call) const override {
    if (n_.elements == 0) return;
    const kernel::Environment& e = call.environment;
    const bool by_elements = reference_ || !bulk_draws(n_.format.rounding(), e, 0);
    if (n_.by_factor) return by_factor(call, by_elements);
    if (by_elements) return by_body(call);
    const BlockGrid& g = n_.grid;
    bulk::fake_quantize({static_cast<const float*>(call.in[0]), n_.elements}, {g.outer, g.length, g.inner}, n_.format,
                        {static_cast<float*>(call.out[0]), n_.elements}, bulk_options(e, 0, threads_, isa_));
  }

 private:
  /// Products with the factor and its reciprocal are single roundings of fp32, around bulk's rounding of elements.
  void by_factor(const OpCall& call, bool by_elements) const {
    const uint32_t factor = code_of(call.in[1], 0);
    auto* const out = static_cast<float*>(call.out[0]);
    const auto each = [&](const auto& body) {
      auto range = [&](size_t begin, size_t end, size_t) { body(begin, end); };
      parallel_ranges(n_.elements, kQuantizationGrain, 1, threads_, range);
    };
    if (by_elements) {
      return each([&](size_t begin, size_t end) {
        StopCheck check(call.stop);
        for (size_t i = begin; i < end; ++i) {
          out[i] = __builtin_bit_cast(
              float, kernel::fake_quantized_by(n_.format, factor, code_of(call.in[0], i), call.environment, i));
          check.after(StopCheck::kBody);
        }
      });
    }
    const auto* const x = static_cast<const float*>(call.in[0]);
    const auto f = __builtin_bit_cast(float, factor);
    each([&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) out[i] = x[i] * f;
    });
    const std::span<float> y(out, n_.elements);
    bulk::fake_quantize(y, {1, n_.elements, 1}, n_.format, y, bulk_options(call.environment, 0, threads_, isa_));
    const float back = __builtin_bit_cast(float, block::detail32::div(block::detail32::kOne, factor));
    each([&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) out[i] = usual_nan(out[i] * back);
    });
  }

  void by_body(const OpCall& call) const {
    const auto* const x = static_cast<const uint32_t*>(call.in[0]);
    auto* const out = static_cast<uint32_t*>(call.out[0]);
    const bool counts = n_.format.nan_poisons_block();
    uint32_t greatest = 0;
    const BlockGrid whole{1, n_.elements, 1, 1, n_.elements};
    if (n_.needs_amax()) greatest = kernel::block_magnitude(whole, whole.extent(0), x, counts);
    const block::Nvfp4Tensor tensor = n_.tensor(greatest);
    const uint64_t blocks = n_.grid.blocks();
    auto range = [&](size_t begin, size_t end, size_t) {
      StopCheck check(call.stop);
      for (uint64_t b = begin; b < end; ++b) {
        const BlockGrid::Extent extent = n_.grid.extent(b);
        const uint32_t amax = kernel::block_magnitude(n_.grid, extent, x, counts);
        const block::BlockScale scale = kernel::scale_of_block(n_.format, n_.grid, extent, x, tensor, amax);
        for (uint64_t row = extent.first_row; row < extent.last_row; ++row)
          for (uint64_t k = 0; k < extent.count; ++k) {
            const uint64_t i = n_.grid.element(extent, row, k);
            out[i] = kernel::fake_quantized(n_.format, scale, x[i], call.environment, i);
          }
        check.after((extent.last_row - extent.first_row) * extent.count * StopCheck::kBody);
      }
    };
    parallel_ranges(blocks, std::max<uint64_t>(1, kQuantizationGrain / 16 / (n_.elements / blocks + 1)), 1, threads_,
                    range);
  }

  engine::FakeQuantizeNode n_;
  bool reference_;
  int threads_;
  bulk::InstructionSet isa_;
};

class HadamardKernel final : public OpKernel {
 public:
  explicit HadamardKernel(const OpContext& c)
      : n_(c), reference_(c.settings.reference), threads_(reference_ ? 1 : c.settings.threads) {
    // The signs of H as factors of 1 and -1, row by row: products with them are exact.
    if (!reference_ && n_.size <= kMostTable)
      for (uint64_t i = 0; i < n_.size; ++i)
        for (uint64_t j = 0; j < n_.size; ++j) signs_.push_back(kernel::hadamard_minus(n_.signs, i, j) ? -1.0 : 1.0);
  }

  bool in_place() const override { return true; }

  void run(const OpCall& call) const override {
    const auto* const x = static_cast<const float*>(call.in[0]);
    auto* const y = static_cast<float*>(call.out[0]);
    const uint64_t rows = n_.outer * n_.inner, tiles = n_.whole() / n_.size;
    const uint64_t grain = std::max<uint64_t>(1, kQuantizationGrain / std::max<uint64_t>(1, n_.length));
    auto body = [&](size_t begin, size_t end, size_t) {
      std::vector<float> tile(n_.size);
      std::vector<double> sums(n_.size);
      StopCheck check(call.stop);
      for (size_t row = begin; row < end; ++row) {
        const uint64_t first = row / n_.inner * n_.length * n_.inner + row % n_.inner;
        for (uint64_t t = 0; t < tiles; ++t) {
          const uint64_t at = first + t * n_.size * n_.inner;
          for (uint64_t i = 0; i < n_.size; ++i) tile[i] = x[at + i * n_.inner];
          transform(tile, sums, y + at);
        }
        for (uint64_t k = n_.whole(); k < n_.length; ++k) y[first + k * n_.inner] = x[first + k * n_.inner];
        check.after(n_.length * n_.size);
      }
    };
    parallel_ranges(rows, grain, 1, threads_, body);
  }

 private:
  static constexpr uint64_t kMostTable = 256;

  void transform(const std::vector<float>& tile, std::vector<double>& sums, float* y) const {
    if (signs_.empty()) {
      for (uint64_t j = 0; j < n_.size; ++j) y[j * n_.inner] = kernel::hadamard(tile, n_.size, n_.signs, j);
      return;
    }
    std::fill(sums.begin(), sums.end(), 0.0);
    for (uint64_t i = 0; i < n_.size; ++i) {
      const double term = static_cast<double>(tile[i]);
      const double* const sign = signs_.data() + i * n_.size;
      for (uint64_t j = 0; j < n_.size; ++j) sums[j] += sign[j] * term;
    }
    const double factor = kernel::hadamard_factor(n_.size);
    for (uint64_t j = 0; j < n_.size; ++j) y[j * n_.inner] = kernel::hadamard_result(sums[j], factor);
  }

  engine::HadamardNode n_;
  bool reference_;
  int threads_;
  std::vector<double> signs_;
};

class Fp8ScaleUpdateKernel final : public OpKernel {
 public:
  explicit Fp8ScaleUpdateKernel(const OpContext& c) : n_(c) {}

  void run(const OpCall& call) const override {
    std::vector<uint32_t> unread(n_.length + 1);
    auto* const history = call.out[0] ? static_cast<uint32_t*>(call.out[0]) : unread.data();
    auto* const factor = call.out[1] ? static_cast<uint32_t*>(call.out[1]) : unread.data() + n_.length;
    kernel::fp8_scale_update(n_.rule, code_of(call.in[2], 0), n_.length, static_cast<const uint32_t*>(call.in[0]),
                             code_of(call.in[1], 0), history, factor);
  }

 private:
  engine::Fp8ScaleUpdateNode n_;
};

constexpr KernelEntry kQuantizationEntries[] = {
    {"FakeQuantize", make_kernel<FakeQuantizeKernel>},
    {"HadamardTransform", make_kernel<HadamardKernel>},
    {"Fp8ScaleUpdate", make_kernel<Fp8ScaleUpdateKernel>},
};

}  // namespace

std::span<const KernelEntry> quantization_kernels() { return kQuantizationEntries; }

}  // namespace softamp::emu
