// What the kernels of normalisations and of their gradients share: shape and options of the node, parameters in fp32,
// and the bodies of kernel/norm.h where vectors do not serve.
#pragma once

#include "emu/norm_kernels.h"
#include "emu/op_kernel.h"
#include "emu/parallel.h"
#include "emu/reduction_results.h"
#include "softamp/engine/norm_node.h"

namespace softamp::emu {

using engine::NormKind;

/// A node of one of the six operations, and by what it runs.
struct NormNode : engine::NormNode {
  explicit NormNode(const OpContext& c);

  int threads;
  bool by_body;  ///< reference, fp16 statistics, or a preset that vectors do not serve
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

/// Floats to a cache line's multiple, so that arrays in scratch memory begin at one.
constexpr uint64_t padded_floats(uint64_t n) { return (n + 15) / 16 * 16; }

/// Elements of a thread's buffer of results, and that are not worth a thread.
constexpr uint64_t kNormBuffer = 4096, kNormGrain = 16 * 1024;

/// The parameters of all channels as fp32.
void enter_parameters(const kernel::Elements& from, uint64_t channels, const Semantics& s, float* to);

/// What bodies hand their outputs to: codes into `call`'s outputs (unless flags_only), flags into `status`.
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
