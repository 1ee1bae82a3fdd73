// Which kernel runs an operation if a device has only some dtypes (MIXED_PRECISION M05, M06): one of the operation's
// own dtypes, else one of wider ones ("raise precision"), else, if allowed, one of narrower ones ("reduce precision").
// The log names each change. Models and steps of cells take their device's kernels from Context::kernels
// (train/mindspore/train_one_step.h), `softamp rewrite` from --kernels.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "softamp/precision/mixed_precision_context.h"

namespace softamp::cells {

/// A kernel of a device: dtypes of its inputs, then of its outputs.
struct KernelInfo {
  std::string op;
  std::vector<DType> inputs, outputs;
};
std::string text(const KernelInfo& kernel);  ///< "MatMul(float16, float16) -> (float16)"
/// A device that multiplies in one dtype alone, as accelerators with a unit for products of halves do: a kernel each
/// for MatMul, BatchMatMulV2, Einsum, convolutions and their gradients. dtype: of all inputs and outputs [=float16].
std::vector<KernelInfo> product_kernels(DType dtype = DType::kFloat16);

struct KernelChoice {
  enum class How : uint8_t { kExact, kRaised, kReduced };
  size_t number = 0;  ///< in the list that was offered
  How how = How::kExact;
};

/// For a node of these dtypes. Of several that fit, the one nearest in width, the first among equals. Wider: float16 or
/// bfloat16, float32, float64, in this order (the two of 16 bits are neither wider nor narrower than each other); other
/// dtypes fit only themselves. Log lines, both INFO: "<op> '<node>' Raise precision, node datatype: ..., select kernel:
/// ...", "... Reduce precision, ...". Throws std::invalid_argument if no kernel fits, with the node, its dtypes and all
/// kernels.
KernelChoice select_kernel(std::string_view node, const KernelInfo& wanted, std::span<const KernelInfo> kernels,
                           bool enable_reduce_precision, const LogSink& log = {});

/// The graph as it runs on a device with these kernels: if a kernel's dtypes are not the node's, inputs are cast before
/// it and outputs after it ("<node>/to_float16", "<node>/from_float16"). Operations without kernels in the list stay as
/// they are, and so do sources, variables, casts and Identity, which compute nothing. Throws as select_kernel, and
/// GraphError where the operation does not take the kernel's dtypes.
Graph select_kernels(const Graph& graph, std::span<const KernelInfo> kernels, bool enable_reduce_precision,
                     const LogSink& log = {});

/// A log that keeps its lines, for tests and searches (MIXED_PRECISION M06).
class LogLines {
 public:
  LogSink sink();
  /// Lines of this level or above that hold `pattern`.
  int64_t count(std::string_view pattern, LogLevel least = LogLevel::kInfo) const;
  const std::vector<std::pair<LogLevel, std::string>>& lines() const { return lines_; }

 private:
  std::vector<std::pair<LogLevel, std::string>> lines_;
};

}  // namespace softamp::cells
