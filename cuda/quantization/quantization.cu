// FakeQuantize: a block of threads to a block of elements, a thread to each of small ones; HadamardTransform: a thread
// to an output; Fp8ScaleUpdate: one thread.
#include "cuda/each_item.h"
#include "cuda/op_kernel.h"
#include "softamp/engine/quantization_node.h"

namespace softamp::cuda {
namespace {

using kernel::BlockGrid;

constexpr unsigned kQuantizationThreads = 128;

/// The greater of two magnitudes, which are whole numbers here: no order matters.
SOFTAMP_HD void keep_greatest(uint32_t* to, uint32_t magnitude) {
#if defined(__CUDA_ARCH__)
  atomicMax(to, magnitude);
#else
  if (magnitude > *to) *to = magnitude;
#endif
}

struct GreatestMagnitude {
  const uint32_t* x;
  uint64_t size;
  bool nan_counts;
  uint32_t* out;

  template <class Block>
  SOFTAMP_HD void operator()(Block& block) const {
    block.each([&](unsigned t) {
      uint32_t greatest = 0;
      items_of_thread(block, t, size, [&](uint64_t i) {
        const uint32_t m = x[i] & 0x7FFFFFFFu;
        if (m > greatest && (nan_counts || m <= 0x7F800000u)) greatest = m;
      });
      if (greatest) keep_greatest(out, greatest);
    });
  }
};

/// `amax`: of the array, where NVFP4's scales refer to it.
struct FakeQuantizeBlocks {
  block::BlockFormat format;
  BlockGrid grid;
  const uint32_t* x;
  uint32_t* out;
  const uint32_t* amax;
  bool together;  ///< all threads of a block quantise one block of elements
  StepEnvironment environment;

  template <class Block>
  SOFTAMP_HD void operator()(Block& block) const {
    const uint64_t all = grid.blocks();
    if (!together) {
      block.each([&](unsigned t) {
        const kernel::Environment e = environment.now();
        items_of_thread(block, t, all, [&](uint64_t b) {
          const BlockGrid::Extent extent = grid.extent(b);
          quantize(e, extent, kernel::block_magnitude(grid, extent, x, format.nan_poisons_block()), 0, 1);
        });
      });
      return;
    }
    uint32_t* const found = block.template shared<uint32_t>(block.threads());
    for (uint64_t b = block.index(); b < all; b += block.blocks()) {
      const BlockGrid::Extent extent = grid.extent(b);
      block.each([&](unsigned t) {
        found[t] = kernel::block_magnitude(grid, extent, x, format.nan_poisons_block(), t, block.threads());
      });
      for (unsigned stride = block.threads() / 2; stride > 0; stride /= 2)
        block.each([&](unsigned t) {
          if (t < stride && found[t + stride] > found[t]) found[t] = found[t + stride];
        });
      block.each([&](unsigned t) { quantize(environment.now(), extent, found[0], t, block.threads()); });
    }
  }

 private:
  SOFTAMP_HD void quantize(const kernel::Environment& e, const BlockGrid::Extent& extent, uint32_t greatest,
                           uint64_t first, uint64_t step) const {
    const block::Nvfp4Tensor tensor = amax ? block::nvfp4_tensor(*amax, format.nvfp4) : block::Nvfp4Tensor{};
    const block::BlockScale scale = kernel::scale_of_block(format, grid, extent, x, tensor, greatest);
    for (uint64_t i = first; i < (extent.last_row - extent.first_row) * extent.count; i += step) {
      const uint64_t at = grid.element(extent, extent.first_row + i / extent.count, i % extent.count);
      out[at] = kernel::fake_quantized(format, scale, x[at], e, at);
    }
  }
};

struct FakeQuantizeByFactor {
  block::BlockFormat format;
  const uint32_t* x;
  const uint32_t* factor;
  uint32_t* out;
  uint64_t size;
  StepEnvironment environment;

  template <class Block>
  SOFTAMP_HD void operator()(Block& block) const {
    block.each([&](unsigned t) {
      const kernel::Environment e = environment.now();
      items_of_thread(block, t, size,
                      [&](uint64_t i) { out[i] = kernel::fake_quantized_by(format, *factor, x[i], e, i); });
    });
  }
};

class FakeQuantizeKernel final : public OpKernel {
 public:
  FakeQuantizeKernel(const OpContext& c, Device&) : n_(c) {}

  SiteRoundings roundings(uint32_t site) const override { return n_.roundings(site); }
  size_t scratch_bytes() const override { return n_.needs_amax() ? sizeof(uint32_t) : 0; }

  void enqueue(const DeviceCall& call) const override {
    if (n_.elements == 0) return;
    const auto* const x = static_cast<const uint32_t*>(call.in[0]);
    auto* const out = static_cast<uint32_t*>(call.out[0]);
    const Grid grid = item_grid(n_.elements, kQuantizationThreads);
    if (n_.by_factor) {
      call.device.launch("fake quantize by factor", grid,
                         FakeQuantizeByFactor{n_.format, x, static_cast<const uint32_t*>(call.in[1]), out, n_.elements,
                                              call.environment});
      return;
    }
    uint32_t* amax = nullptr;
    if (n_.needs_amax()) {
      amax = static_cast<uint32_t*>(call.scratch);
      call.device.fill(amax, 0, sizeof *amax);
      call.device.launch("greatest magnitude", grid,
                         GreatestMagnitude{x, n_.elements, n_.format.nan_poisons_block(), amax});
    }
    const uint64_t blocks = n_.grid.blocks();
    const bool together = n_.elements / blocks >= kQuantizationThreads;
    const FakeQuantizeBlocks kernel{n_.format, n_.grid, x, out, amax, together, call.environment};
    call.device.launch("fake quantize",
                       item_grid(together ? blocks * kQuantizationThreads : blocks, kQuantizationThreads,
                                 shared_of<uint32_t>(kQuantizationThreads)),
                       kernel);
  }

 private:
  engine::FakeQuantizeNode n_;
};

struct HadamardOutputs {
  uint64_t outer, length, inner, size, signs;
  const float* x;
  float* out;

  /// A tile's elements, `inner` apart.
  struct Tile {
    const float* first;
    uint64_t stride;
    SOFTAMP_HD float operator[](uint64_t i) const { return first[i * stride]; }
  };

  template <class Block>
  SOFTAMP_HD void operator()(Block& block) const {
    const uint64_t whole = length / size * size;
    each_item(block, outer * length * inner, [&](uint64_t n) {
      const uint64_t at = n / inner % length, row = n / inner / length * length * inner + n % inner;
      out[n] =
          at < whole ? kernel::hadamard(Tile{x + row + at / size * size * inner, inner}, size, signs, at % size) : x[n];
    });
  }
};

class HadamardKernel final : public OpKernel {
 public:
  HadamardKernel(const OpContext& c, Device&) : n_(c) {}

  void enqueue(const DeviceCall& call) const override {
    const uint64_t elements = n_.outer * n_.length * n_.inner;
    call.device.launch("hadamard", item_grid(elements, kQuantizationThreads),
                       HadamardOutputs{n_.outer, n_.length, n_.inner, n_.size, n_.signs,
                                       static_cast<const float*>(call.in[0]), static_cast<float*>(call.out[0])});
  }

 private:
  engine::HadamardNode n_;
};

struct Fp8ScaleUpdate {
  kernel::Fp8ScaleRule rule;
  uint64_t length;
  const uint32_t *history, *factor, *amax;
  uint32_t *next_history, *next_factor;

  template <class Block>
  SOFTAMP_HD void operator()(Block& block) const {
    block.each([&](unsigned t) {
      if (t == 0) kernel::fp8_scale_update(rule, *amax, length, history, *factor, next_history, next_factor);
    });
  }
};

class Fp8ScaleUpdateKernel final : public OpKernel {
 public:
  Fp8ScaleUpdateKernel(const OpContext& c, Device&) : n_(c) {}

  size_t scratch_bytes() const override { return (n_.length + 1) * sizeof(uint32_t); }

  void enqueue(const DeviceCall& call) const override {
    auto* const unread = static_cast<uint32_t*>(call.scratch);
    call.device.launch(
        "fp8 scale update", {1, 1},
        Fp8ScaleUpdate{n_.rule, n_.length, static_cast<const uint32_t*>(call.in[0]),
                       static_cast<const uint32_t*>(call.in[1]), static_cast<const uint32_t*>(call.in[2]),
                       call.out[0] ? static_cast<uint32_t*>(call.out[0]) : unread,
                       call.out[1] ? static_cast<uint32_t*>(call.out[1]) : unread + n_.length});
  }

 private:
  engine::Fp8ScaleUpdateNode n_;
};

}  // namespace

std::span<const KernelEntry> quantization_kernels() {
  static constexpr KernelEntry entries[] = {
      {"FakeQuantize", make_kernel<FakeQuantizeKernel>},
      {"HadamardTransform", make_kernel<HadamardKernel>},
      {"Fp8ScaleUpdate", make_kernel<Fp8ScaleUpdateKernel>},
  };
  return entries;
}

}  // namespace softamp::cuda
