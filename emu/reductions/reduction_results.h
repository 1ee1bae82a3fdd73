// Stores fp32 results into a tensor: the final rounding of kernel::finish, by the vectors of bulk rounding. Shared by
// reductions, softmax and norms.
#pragma once

#include "emu/bulk/kernels.h"
#include "emu/op_kernel.h"
#include "emu/reductions/reduction_kernels.h"

namespace softamp::emu {

class Results {
 public:
  /// For tensors of dtype `to` (float16, bfloat16, float32) with `elements` elements.
  Results(DType to, uint64_t elements, const EngineSettings& settings);

  /// Whether only the bodies support results of this dtype and preset.
  bool by_body() const { return by_body_; }
  bool draws() const { return plan_.stochastic && type_ != DType::kFloat32; }

  /// out[first + i] = values[i] rounded, i < count, with the random words of `site`. Flags of finite values are merged
  /// into `status` (may be null) with index (first + i) / to_index.
  void store(const float* values, uint64_t first, size_t count, void* out, const kernel::Environment& environment,
             uint32_t site, FpStatus* status, uint64_t to_index = 1) const;

 private:
  struct Call;
  uint8_t groups(const Call& call, const float* values, uint64_t first, size_t count, char* out, uint8_t wanted,
                 bool stream) const;
  uint8_t padded(const Call& call, const float* values, uint64_t first, size_t lead, size_t count, char* out,
                 uint8_t wanted) const;

  DType type_;
  bool by_body_ = false, stream_ = false;
  RoundPlan plan_{};
  RoundKernel kernel_ = nullptr;
  const ReductionKernels* vectors_ = nullptr;
  uint8_t possible_ = 0;  ///< flags that finite values can raise
};

}  // namespace softamp::emu
