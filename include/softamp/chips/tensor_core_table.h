// The instructions of tensor cores that accumulators model, for people: what each is, which GPUs have it, and what is
// known of it. The models are in numerics/products/tensor_core.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "softamp/numerics/products/tensor_core.h"

namespace softamp {

/// How well a model is known to be what a chip does.
enum class TensorCoreEvidence : uint8_t {
  kVerified,  ///< verified: published results of that instruction on a real chip, each equal to ours (N475)
  kInferred,  ///< inferred: from an instruction of the same unit that is verified, or modelled by third parties' tests
  kAssumed,   ///< assumed: nothing is published; made by analogy
};
/// "verified", "inferred", "assumed"
const char* name_of(TensorCoreEvidence evidence);

/// One instruction, by operands and accumulator.
struct TensorCoreRow {
  Accumulator accumulator;
  FloatFormat operand;
  bool halves;       ///< the accumulator is fp16, else fp32
  TensorCore model;  ///< tensor_core(accumulator, operand, halves)
  TensorCoreEvidence evidence;
  int results;              ///< of real chips that are equal to ours; 0 where it is not verified
  std::string gpus;         ///< that gave them: "A100"
  std::string instruction;  ///< "mma", "wgmma", "tcgen05"
  std::string why;          ///< what an inference or an assumption rests on; what restricts a verification
};

/// The instructions of an accumulator, in the order fp16, bf16, tf32, e4m3, e5m2, each with its fp32 and its fp16
/// accumulator; none where it is no tensor core. Those of 16 bits and tf32 that _mma shares with its family stand with
/// the family alone.
std::vector<TensorCoreRow> tensor_core_rows(Accumulator accumulator);

/// The GPUs that an accumulator stands for.
struct TensorCoreParts {
  Accumulator accumulator;
  std::string confirmed;  ///< that gave results: "A100, A2"; may be empty
  std::string others;     ///< of the same generation, on which nothing was compared: "RTX 30"; may be empty
};
/// Of every tensor core, in the order of Accumulator.
std::vector<TensorCoreParts> tensor_core_parts();

}  // namespace softamp
