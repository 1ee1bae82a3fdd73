// The kernels of the CPU engine: engine/op_kernel.h's, with a function that runs them.
#pragma once

#include <functional>

#include "softamp/engine/kernel_registry.h"
#include "softamp/engine/op_kernel.h"

namespace softamp::emu {

using engine::EngineSettings;
using engine::OpContext;

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
  /// ExecutorOptions::stop, for a StopCheck in loops that may take long; null: not given.
  const std::function<bool()>* stop = nullptr;
};

class OpKernel : public engine::OpKernel {
 public:
  virtual void run(const OpCall& call) const = 0;
};

using KernelFactory = std::unique_ptr<OpKernel> (*)(const OpContext&);

using KernelEntry = engine::KernelEntry<KernelFactory>;

/// The kernel of any operation whose row says what it computes for each element.
std::unique_ptr<OpKernel> make_elementwise(const OpContext& context);
std::unique_ptr<OpKernel> make_function(const OpContext& context);

// The operations that need more: each family lists its own; emu/op_kernels.cpp joins them.
std::span<const KernelEntry> elementwise_kernels();
std::span<const KernelEntry> function_kernels();
std::span<const KernelEntry> cast_kernels();
std::span<const KernelEntry> random_kernels();
std::span<const KernelEntry> product_kernels();
std::span<const KernelEntry> convolution_kernels();
std::span<const KernelEntry> pooling_kernels();
std::span<const KernelEntry> reduction_kernels();
std::span<const KernelEntry> softmax_kernels();
std::span<const KernelEntry> norm_kernels();
std::span<const KernelEntry> structure_kernels();
std::span<const KernelEntry> optimizer_kernels();
std::span<const KernelEntry> quantization_kernels();
/// Those of binary64 (engine/double_nodes.h), of all families.
std::span<const KernelEntry> double_kernels();

/// Of a node whose first operand has dtype `type`. Null for an operation type that this engine does not run.
KernelFactory find_kernel(std::string_view op, DType type = DType::kFloat32);
/// The same for a node.
inline KernelFactory find_kernel(const OpContext& c) {
  return find_kernel(c.node.op, c.inputs.empty() ? DType::kFloat32 : c.inputs[0].dtype);
}

template <class Kernel>
std::unique_ptr<OpKernel> make_kernel(const OpContext& context) {
  return std::make_unique<Kernel>(context);
}

}  // namespace softamp::emu
