// How the products of an output are summed: names of the accumulators, and of what tensor cores are fed.
// numerics/products/tensor_core.h holds the models of tensor cores, kernel/products.h the chain of every accumulator.
#pragma once

#include <cstdint>

#include "softamp/numerics/platform.h"

namespace softamp {

/// How the products of an output are summed (`accumulator`).
// implements: N478
enum class Accumulator : uint8_t {
  kIpuModelA,            ///< ipu_model_a: the IPU's, as partialsType, amp_block and amp_inner say.
  kFp32Chain,            ///< fp32_chain: float partials of fp32 fused multiply-adds in ascending k.
  kTensorCoreVolta,      ///< tensorcore_volta (V100)
  kTensorCoreTuring,     ///< tensorcore_turing (`T4`, RTX 20)
  kTensorCoreAmpere,     ///< tensorcore_ampere (A100, `A2`, RTX 30)
  kTensorCoreAda,        ///< tensorcore_ada (`L40`, L40S, RTX 40)
  kTensorCoreHopper,     ///< tensorcore_hopper (H100, H200); 8-bit operands as `wgmma` adds them
  kTensorCoreBlackwell,  ///< tensorcore_blackwell (B200); 8-bit operands as `tcgen05` adds them, or an RTX 50's `mma`
  kTensorCoreHopperMma,  ///< tensorcore_hopper_mma: the same, but 8-bit operands as `mma.sync` adds them
  kTensorCoreBlackwellMma,  ///< tensorcore_blackwell_mma: the same, but 8-bit operands as a B200's `mma.sync` adds them
};
inline constexpr int kAccumulators = 10;

SOFTAMP_INLINE bool is_tensor_core(Accumulator a) { return a >= Accumulator::kTensorCoreVolta; }

/// The name that options take: "ipu_model_a", "tensorcore_volta".
constexpr const char* name_of(Accumulator a) {
  switch (a) {
    case Accumulator::kIpuModelA: return "ipu_model_a";
    case Accumulator::kFp32Chain: return "fp32_chain";
    case Accumulator::kTensorCoreVolta: return "tensorcore_volta";
    case Accumulator::kTensorCoreTuring: return "tensorcore_turing";
    case Accumulator::kTensorCoreAmpere: return "tensorcore_ampere";
    case Accumulator::kTensorCoreAda: return "tensorcore_ada";
    case Accumulator::kTensorCoreHopper: return "tensorcore_hopper";
    case Accumulator::kTensorCoreBlackwell: return "tensorcore_blackwell";
    case Accumulator::kTensorCoreHopperMma: return "tensorcore_hopper_mma";
    case Accumulator::kTensorCoreBlackwellMma: break;
  }
  return "tensorcore_blackwell_mma";
}

/// How products enter the fp32 sum of the IPU's accumulator, which is not public (`amp_inner`, N106).
enum class AmpInner : uint8_t {
  kFmaChain,  ///< fma_chain: one fused multiply-add each, in ascending k.
  kRn32Each,  ///< rn32_each: the same, in blocks of one too: with half partials those round twice, to fp32 and to fp16.
  kExactDot4,  ///< exact_dot4: the accumulator and up to four products of a block, exact, rounded to fp32 once.
};

/// The name that options take.
constexpr const char* name_of(AmpInner inner) {
  return inner == AmpInner::kFmaChain ? "fma_chain" : inner == AmpInner::kRn32Each ? "rn32_each" : "exact_dot4";
}

/// The format that a tensor core is fed (`tensor_core_operands`). A finite operand that the format lacks is rounded to
/// it, to nearest even, saturating; infinities and NaNs go on as they are.
enum class TensorCoreOperands : uint8_t {
  kOwn,     ///< own: the dtype's; float32 goes in as tf32
  kAsFp16,  ///< fp16
  kAsBf16,  ///< bf16
  kAsE4m3,  ///< e4m3
  kAsE5m2,  ///< e5m2
};
inline constexpr int kTensorCoreOperands = 5;

/// The name that options take.
constexpr const char* name_of(TensorCoreOperands operands) {
  switch (operands) {
    case TensorCoreOperands::kOwn: return "own";
    case TensorCoreOperands::kAsFp16: return "fp16";
    case TensorCoreOperands::kAsBf16: return "bf16";
    case TensorCoreOperands::kAsE4m3: return "e4m3";
    case TensorCoreOperands::kAsE5m2: break;
  }
  return "e5m2";
}

}  // namespace softamp
