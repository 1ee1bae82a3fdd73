// Attributes of the nodes of block formats.
#pragma once

#include "softamp/engine/op_kernel.h"
#include "softamp/kernel/quantization.h"

namespace softamp::engine {

/// Elements before, along and behind an axis of x, which counts from the end where negative.
struct AxisExtents {
  AxisExtents(const Shape& shape, int64_t axis);
  uint64_t outer = 1, length = 1, inner = 1;
};

struct FakeQuantizeNode {
  explicit FakeQuantizeNode(const OpContext& context);

  block::BlockFormat format;
  kernel::BlockGrid grid;
  uint64_t elements;
  bool by_factor;  ///< there is a second input
  bool draws() const { return format.rounding().stochastic(); }
  OpKernel::SiteRoundings roundings(uint32_t site) const;
  /// The scales of an array of that greatest magnitude; of NVFP4 alone.
  block::Nvfp4Tensor tensor(uint32_t amax) const;
  bool needs_amax() const { return format.family == block::BlockFamily::kNvfp4; }
};

struct HadamardNode {
  explicit HadamardNode(const OpContext& context);

  uint64_t outer, length, inner, size, signs;
  /// Elements of a row that are in whole tiles; those behind them stay as they are.
  uint64_t whole() const { return length / size * size; }
};

struct Fp8ScaleUpdateNode {
  explicit Fp8ScaleUpdateNode(const OpContext& context);

  kernel::Fp8ScaleRule rule;
  uint64_t length;
};

}  // namespace softamp::engine
