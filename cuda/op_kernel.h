// The kernels of the CUDA engine: engine/op_kernel.h's, with a function that puts them into a device's queue.
#pragma once

#include "cuda/device.h"
#include "cuda/status.h"
#include "softamp/engine/kernel_registry.h"
#include "softamp/engine/op_kernel.h"

namespace softamp::cuda {

using engine::EngineSettings;
using engine::OpContext;

/// An operation's environment as passed to launches. The step is read on the device, so that a recorded launch can be
/// used for every step.
// implements: N301
struct StepEnvironment {
  kernel::Environment environment;
  const uint32_t* step;  ///< on the device

  /// On the device: the environment for the bodies of kernel/.
  SOFTAMP_HD kernel::Environment now() const {
    kernel::Environment e = environment;
    e.step = *step;
    return e;
  }
};

/// One call; all tensors are in the device's memory. See emu/op_kernel.h.
struct DeviceCall {
  const void* const* in;
  void* const* out;
  void* scratch;  ///< scratch_bytes() of them, aligned to 256; contents undefined
  StepEnvironment environment;
  DeviceStatus* status;  ///< null: not wanted
  Device& device;
  /// For kernels that check operands: launches store the least number of a wrong one here (note_refusal); kNever
  /// before.
  uint64_t* refusal = nullptr;
};

/// Records the number of an invalid operand: the least one is kept. See OpKernel::refuse.
SOFTAMP_HD inline void note_refusal(uint64_t* to, uint64_t number) {
#if defined(__CUDA_ARCH__)
  atomicMin(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(number));
#else
  if (number < *to) *to = number;
#endif
}

class OpKernel : public engine::OpKernel {
 public:
  /// Puts the operation into the queue; does not wait, upload or allocate, since it may be recorded.
  virtual void enqueue(const DeviceCall& call) const = 0;

  /// Whether operands may be refused: only the device sees an index out of range, and it is reported after the wait.
  virtual bool checks() const { return false; }
  /// Throws what emu would have thrown. `noted`: the least number that launches stored.
  virtual void refuse(uint64_t /*noted*/) const {}
};

/// Made once for a node; may put tables that its launches read into the device's memory (DeviceArray).
using KernelFactory = std::unique_ptr<OpKernel> (*)(const OpContext&, Device&);

using KernelEntry = engine::KernelEntry<KernelFactory>;

/// The kernel of any operation whose row says what it computes for each element.
std::unique_ptr<OpKernel> make_elementwise(const OpContext& context, Device& device);
std::unique_ptr<OpKernel> make_function(const OpContext& context, Device& device);

// The operations that need more: each family lists its own, as in emu/op_kernel.h; cuda/op_kernels.cpp joins them.
std::span<const KernelEntry> elementwise_kernels();
std::span<const KernelEntry> cast_kernels();
std::span<const KernelEntry> function_kernels();
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
std::unique_ptr<OpKernel> make_kernel(const OpContext& context, Device& device) {
  return std::make_unique<Kernel>(context, device);
}

}  // namespace softamp::cuda
