// One operation of a graph, made ready to run again and again: what every engine's kernels have in common. The executor
// owns order, buffers and status; a kernel owns everything that its node fixes once: extents, plans, options.
//
// The headers of engine/ hold what engines share on the host: how a graph becomes a program, and how a node's
// attributes are read. They are for engines, not for users.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "softamp/graph/ipu_config.h"
#include "softamp/graph/operation.h"
#include "softamp/kernel/environment.h"
#include "softamp/numerics/accumulator.h"
#include "softamp/tensor/bulk.h"

namespace softamp::engine {

/// What is fixed for all runs of a graph.
struct EngineSettings {
  kernel::Environment environment;                         ///< preset and seed; step and operation are set per call
  int threads = 0;                                         ///< (0: all; 1 .. 1024) of engines that run on the CPU
  bulk::InstructionSet isa = bulk::InstructionSet::kAuto;  ///< of engines that run on the CPU
  /// Computes every element by its body in kernel/, on one thread. All faster code is compared with that.
  bool reference = false;
  ProductOptions matmuls, convolutions;
  bool use_stable_statistics = false;  ///< norms.use_stable_statistics
};

/// What a kernel is made from. Views stay valid as long as the kernel.
struct OpContext {
  const Node& node;
  std::span<const TensorType> inputs;
  const EngineSettings& settings;
  std::vector<std::string>& warnings;  ///< for the user: "MatMul 'y': partialsType half is smaller than ..."
};

class OpKernel {
 public:
  virtual ~OpKernel() = default;
  /// Bytes that a run may write to beside its outputs.
  virtual size_t scratch_bytes() const { return 0; }
  /// Output 0 may use the buffer of input 0 (same size, element i is read before it is written).
  virtual bool in_place() const { return false; }
  /// The operands of output element `index` as codes, for the report of an exception; empty: not known. `in`: the
  /// inputs, in the host's memory.
  virtual std::vector<uint64_t> operands_at(const void* const* /*in*/, const kernel::Environment&,
                                            uint64_t /*index*/) const {
    return {};
  }
  /// The element of output 0 that the number of a flag's place stands for, of a kernel that computes its elements in
  /// another order than they lie in.
  virtual uint64_t element_of(uint64_t place) const { return place; }
  /// Rounding of outputs in a tile's own order (random = xoroshiro128aox): how many stochastic roundings site s makes,
  /// as `blocks` rounds over the outputs (1 unless it is a product). {0, 0}: none at this site.
  struct SiteRoundings {
    uint64_t blocks = 0, outputs = 0;
  };
  virtual SiteRoundings roundings(uint32_t /*site*/) const { return {}; }
};

}  // namespace softamp::engine
