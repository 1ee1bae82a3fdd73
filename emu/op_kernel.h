// One operation of a graph, made ready to run again and again. The executor owns order, buffers and status; a kernel
// owns everything that its node fixes once: extents, plans, options.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "softamp/graph/operation.h"
#include "softamp/kernel/environment.h"
#include "softamp/tensor/bulk.h"

namespace softamp::emu {

/// What is fixed for all runs of a graph.
struct EngineSettings {
  kernel::Environment environment;  ///< preset and seed; step and operation are set per call
  int threads = 0;                  ///< (0: all; 1 .. 1024)
  bulk::InstructionSet isa = bulk::InstructionSet::kAuto;
  /// Every element by the body in kernel/, on one thread: what all faster formulations are compared with.
  bool reference = false;
  /// Poplar options of products (ipu.md, section 7.3).
  struct Products {
    bool half_partials = false;        ///< partialsType
    bool half_between_blocks = false;  ///< partialsType.interTile: partials of independent blocks
    int block = 16;                    ///< amp_block: products to a rounding (1, 4, 16; 0: all)
    int inner = 0;                     ///< amp_inner: 0 fma_chain, 1 rn32_each, 2 exact_dot4
    bool stochastic_off = false;       ///< disableSRForAMPVertices
    bool flush_inner = false;          ///< f32_flush_inner
  };
  Products matmuls, convolutions;
  bool use_stable_statistics = false;  ///< norms.use_stable_statistics
};

/// What a kernel is made from. Views stay valid as long as the kernel.
struct OpContext {
  const Node& node;
  std::span<const TensorType> inputs;
  const EngineSettings& settings;
  std::vector<std::string>& warnings;  ///< talk for the user: "MatMul 'y': partialsType half is smaller than ..."
};

/// One call. Buffers are contiguous, aligned to 64 bytes, and do not overlap, unless the kernel asked for it
/// (`in_place`). Optional inputs that are left out are null.
struct OpCall {
  const void* const* in;
  void* const* out;
  void* scratch;                           ///< scratch_bytes() of them, aligned to 64; contents undefined
  const kernel::Environment& environment;  ///< of this node and step
  /// Receives flags and the lowest offending index of output 0 (or of the output the operation documents), merged in;
  /// null: not wanted.
  FpStatus* status;
};

class OpKernel {
 public:
  virtual ~OpKernel() = default;
  virtual void run(const OpCall& call) const = 0;
  virtual size_t scratch_bytes() const { return 0; }
  /// Output 0 may be the very buffer of input 0 (same size, element i is read before it is written).
  virtual bool in_place() const { return false; }
  /// The operands of output element `index` as codes, for the report of an exception; empty: not known.
  virtual std::vector<uint64_t> operands_at(const OpCall&, uint64_t /*index*/) const { return {}; }
  /// Rounding of outputs in a tile's own order (random = xoroshiro128aox): how many stochastic roundings site s makes,
  /// as `blocks` rounds over the outputs (1 unless it is a product). {0, 0}: none at this site.
  struct SiteRoundings {
    uint64_t blocks = 0, outputs = 0;
  };
  virtual SiteRoundings roundings(uint32_t /*site*/) const { return {}; }
};

using KernelFactory = std::unique_ptr<OpKernel> (*)(const OpContext&);

/// An operation type and what makes its kernel.
struct KernelEntry {
  const char* op;
  KernelFactory make;
};

// Each family lists its own; emu/op_kernels.cpp joins them.
std::span<const KernelEntry> elementwise_kernels();
std::span<const KernelEntry> random_kernels();
std::span<const KernelEntry> product_kernels();
std::span<const KernelEntry> convolution_kernels();
std::span<const KernelEntry> pooling_kernels();
std::span<const KernelEntry> reduction_kernels();
std::span<const KernelEntry> softmax_kernels();
std::span<const KernelEntry> norm_kernels();
std::span<const KernelEntry> structure_kernels();
std::span<const KernelEntry> optimizer_kernels();

/// Null for an operation type that this engine does not run.
KernelFactory find_kernel(std::string_view op);

}  // namespace softamp::emu
