// Shared by the kernels of normalisations and their gradients: shape and options of the node, parameters in fp32, and
// the bodies of kernel/norms.h for cases that vectors do not support.
#pragma once

#include <algorithm>

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

/// Calls piece(first, count, c, n, values, status) for all elements in threads' parts: channels c .. c + n - 1 of
/// `count` rows, whose first element is `first`; `values` is a buffer for them. From the last row to the first: the
/// sums have left the last ones in the caches.
template <class Piece>
void each_piece_backwards(const NormNode& n, FpStatus* status, const Piece& piece) {
  const uint64_t width = n.shape.channels, most = std::min(width, kNormBuffer);
  const uint64_t rows = std::max<uint64_t>(1, kNormBuffer / width);
  const auto part = [&](size_t begin, size_t end, FpStatus* seen) {
    alignas(64) float values[kNormBuffer + 64];
    for (uint64_t left = end - begin; left > 0;) {
      const uint64_t count = (left - 1) % rows + 1, row = n.shape.rows - end + left - count;
      left -= count;
      for (uint64_t c = 0; c < width; c += most)
        piece(row * width + c, count, c, std::min(most, width - c), values, seen);
    }
  };
  parallel_status(n.shape.rows, std::max<uint64_t>(1, kNormGrain / width), 8, n.threads, status, part);
}

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
