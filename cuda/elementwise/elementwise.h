// Shared by the files of this engine's element-wise operations.
#pragma once

#include "cuda/element_group.h"
#include "softamp/kernel/elementwise.h"

namespace softamp::cuda {

/// An operation of kernel::Elementwise on tensors of one dtype, with everything that a launch of it needs.
struct ElementwiseLaunch {
  kernel::Elementwise op;
  DType type;   ///< of the operands
  float alpha;  ///< of leaky ReLUs
  GroupOperand in[2];
  void* out;
  unsigned out_bytes;
  uint64_t size;
};

// Each puts the operation into the queue if the preset allows its fast code, which gives the body's bits; the body
// computes rare elements. False: nothing was put there.

/// Selections and comparisons of floats of at most 32 bits, on codes; int32 (cuda/elementwise/element_codes.cu).
bool launch_codes(const DeviceCall& call, const ElementwiseLaunch& e);
/// Arithmetic, and formulas in fp32, by the device's own fp32 arithmetic (cuda/elementwise/element_values.cu).
bool launch_values(const DeviceCall& call, const ElementwiseLaunch& e);

/// Rare elements, computed by the body; not inlined, since they are few. It reads its inputs again, so that no
/// registers are kept for it.
struct RareElements {
  kernel::Elementwise op;
  FloatFormat format;
  float alpha;
  bool draws;

  /// Elements first + j of the group for the bits j of `rare`: results in code[j], flags to `status`. `in`: two.
  SOFTAMP_HD __attribute__((noinline)) void settle(const GroupOperand* in, const StepEnvironment& environment,
                                                   uint64_t first, uint32_t rare, uint32_t* code,
                                                   DeviceStatus* status) const {
    const kernel::Environment e = environment.now();
    for (unsigned j = 0; j < kGroup; ++j) {
      if (!(rare >> j & 1)) continue;
      const uint64_t i = first + j;
      const uint64_t a = load_element(in[0].data, in[0].bytes, in[0].map.place(i));
      const uint64_t b = load_element(in[1].data, in[1].bytes, in[1].map.place(i));
      const uint32_t random = draws ? e.draw(e.semantics.rounding(format), 0, i) : 0;
      const Rounded r = kernel::elementwise(op, format, a, b, alpha, e.semantics, random);
      code[j] = static_cast<uint32_t>(r.code);
      raise_status(status, r.flags, i);
    }
  }
};

// How the preset treats infinities and subnormals among operands.
inline bool infinities_are_plain(const Semantics& s, const FloatFormat& f) {
  return f.storage_bits() > 16 || s.narrow_infinity == InfinityOperand::kIeee;
}
inline constexpr uint32_t kLeastNormal32 = 0x00800000u;

/// A code of fp32 with subnormals made zeros: codes with a magnitude below `below` keep only the bits of `sign`.
SOFTAMP_PRIMITIVE uint32_t flushed(uint32_t code, uint32_t below, uint32_t sign) {
  return (code & 0x7FFFFFFFu) < below ? code & sign : code;
}

}  // namespace softamp::cuda
