// Shared by the kernels of normalisations and their gradients: shape and options of the node, parameters in fp32, and
// the bodies of kernel/norms.h for cases that vectors do not support.
#pragma once

#include "emu/norms/norm_kernels.h"
#include "emu/op_kernel.h"
#include "emu/parallel.h"
#include "emu/reductions/reduction_results.h"
#include "softamp/engine/norm_node.h"

namespace softamp::emu {

using engine::NormKind;

/// A node of one of the six operations, and what computes it.
struct NormNode : engine::NormNode {
  explicit NormNode(const OpContext& c);

  int threads;
  bool by_body;  ///< reference, fp16 statistics, or a preset that vectors do not support
  Load load;
  Results results;
  const NormKernels* vectors = nullptr;
  const ReductionKernels* reductions = nullptr;

  kernel::Elements elements(const void* data) const { return {data, format_of(type)}; }
  kernel::Elements of_parameters(const void* data) const { return {data, format_of(parameters)}; }
  const void* at(const void* data, uint64_t element) const {
    return static_cast<const char*>(data) + element * size_of(type);
  }
  uint64_t blocks() const { return (shape.rows + 1023) / 1024; }
};

/// A number of floats rounded up to whole cache lines, so that arrays in scratch memory begin at one.
constexpr uint64_t padded_floats(uint64_t n) { return (n + 15) / 16 * 16; }

/// Elements in a thread's buffer of results; and the number up to which one thread suffices.
constexpr uint64_t kNormBuffer = 4096, kNormGrain = 16 * 1024;

/// The parameters of all channels as fp32.
void enter_parameters(const kernel::Elements& from, uint64_t channels, const Semantics& s, float* to);

/// Receives the outputs of bodies: codes into `call`'s outputs (unless flags_only), flags into `status`.
struct NormSink {
  const NormNode& node;
  const OpCall& call;
  FpStatus* status;
  bool flags_only = false;

  void operator()(int port, uint64_t index, const Rounded& r, uint64_t flag_index) const {
    if (status) status->raise(r.flags, flag_index);
    if (flags_only || !call.out[port]) return;
    const DType type = port == 0 ? node.type : port < 3 ? node.second() : DType::kFloat32;
    kernel::put_code(call.out[port], format_of(type), index, r.code);
  }
};

std::unique_ptr<OpKernel> make_norm(const OpContext& c);
std::unique_ptr<OpKernel> make_norm_gradient(const OpContext& c);

}  // namespace softamp::emu
