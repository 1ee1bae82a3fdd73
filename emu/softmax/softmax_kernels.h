// The inner loops of softmax and similar operations, by instruction set: the fp32 steps of kernel/softmax.h on parts of
// a row, up to the final rounding, bit for bit, except for the bits of NaNs. Elements have entered as fp32
// (ReductionKernels::enter), with room for a vector behind the last. Functions that return bool tell whether an
// infinity or a NaN was met; those that sum take one block, at most 1024 elements.
#pragma once

#include "emu/bulk/instruction_set.h"
#include "emu/reductions/reduction_kernels.h"

namespace softamp::emu {

/// Space that results need beyond a row's end, since whole vectors are stored.
constexpr size_t kRowSlack = 16;

struct SoftmaxKernels {
  /// The greatest of n >= 1 elements.
  float (*greatest)(const float* x, size_t n);
  /// sum = that of exp(x_j - greatest); e (may be null) receives the terms.
  bool (*sum)(const float* x, size_t n, float greatest, float* e, float* sum);
  /// The same terms.
  void (*exponentials)(const float* x, size_t n, float greatest, float* e);
  /// values[j] = values[j] / divisor.
  bool (*divide)(float* values, size_t n, float divisor);
  /// out[j] = x_j - greatest - log_sum.
  bool (*logarithms)(const float* x, size_t n, float greatest, float log_sum, float* out);
  /// loss = sum of label_j (log_sum - (x_j - greatest)).
  void (*loss)(const float* x, const float* labels, size_t n, float greatest, float log_sum, float* loss);
  /// values[j] = values[j] / divisor - label_j.
  bool (*less_labels)(const float* labels, float* values, size_t n, float divisor);
  /// total = sum of g_j y_j (logarithmic: of g_j).
  void (*gradient_sum)(const float* y, const float* g, size_t n, bool logarithmic, float* total);
  /// out[j] = (g_j - total) y_j (logarithmic: g_j - exp(y_j) total).
  bool (*gradient)(const float* y, const float* g, size_t n, bool logarithmic, float total, float* out);
};

SOFTAMP_TABLES(SoftmaxKernels, Softmax, softmax_of)

}  // namespace softamp::emu
