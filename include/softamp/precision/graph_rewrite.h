// TensorFlow's mixed-precision graph rewrite (auto_mixed_precision, r2.3): MIXED_PRECISION T06 to T08, T15, T16.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "softamp/precision/op_lists.h"
#include "softamp/precision/precision_report.h"

namespace softamp {

enum class RewriteLevel : uint8_t {
  kDefault,
  kTensorCoresOnly,  ///< infer, deny and clear lists count as empty
  kUnsafeForceAll,   ///< all except Const, SoftmaxCrossEntropyWithLogits, stateful and reference-typed operations
};

struct RewriteOptions {
  RewriteLevel level = RewriteLevel::kDefault;
  /// Compute capability of the GPU that unplaced nodes and those on "/gpu:..." run on; below 7.0 none is suitable
  /// [=that of the context under which the graph is built, else 7.0].
  std::optional<double> gpu_capability{};
  bool ignore_performance = false;  ///< converts for any capability
  /// Whether a node's device is a GPU [=device is "" or names a GPU: "/gpu:0", "/job:worker/task:0/device:GPU:1"; under
  /// the lists of MKL, a CPU].
  std::function<bool(const OpNode&)> device_filter{};
  /// Folder [=none] for graphdef_preop.txt, graphdef_AutoMixedPrecision.txt (after, if the pass succeeded) and
  /// paintbuckets_AutoMixedPrecision.txt (the lists). A file that cannot be written is a warning among the messages.
  std::string log_path{};

  /// A copy changed by the environment variables
  /// TF_AUTO_MIXED_PRECISION_GRAPH_REWRITE_{LEVEL,IGNORE_PERFORMANCE,LOG_PATH}. Throws std::invalid_argument for a
  /// LEVEL other than "", TENSOR_CORES_ONLY, UNSAFE_FORCE_ALL.
  RewriteOptions with_environment() const;
};

/// Passes 0b to 6. Its messages are TensorFlow's ("INFO Converted 4/14 nodes to float16 precision using 1 cast(s) ...",
/// "INFO No allowlist ops found, nothing to do", "WARNING No (suitable) GPUs detected, skipping ..."). Any failure
/// leaves all units as they were, with a warning. Linear in nodes and edges, except for sorting names. Reasons, too, do
/// not depend on the order of nodes. [ours] What may not become low (casts.h) never does: a fetched Cast or
/// NextIteration, and under kUnsafeForceAll operations without a kernel, while TensorFlow makes a graph that fails.
/// Throws std::invalid_argument: lists that conflict; kUnsafeForceAll with mkl. (The FusedBatchNorm of a GraphDef
/// becomes FusedBatchNormV2 when it is read: graph_def.h.)
Colouring colour_tensorflow(const OpGraph& graph, const OpLists& lists, const RewriteOptions& options = {});

/// Colours, plans and applies. The input graph is unchanged; fetches keep dtype float32.
GraphRewrite rewrite(const Graph& graph, const OpLists& lists, ListView<std::string> fetches = {},
                     const RewriteOptions& options = {});

/// MIXED_PRECISION T14, TensorFlow's performance guide: a dimension should be a power of two below 256, else a multiple
/// of 8. One line for each that is not: "dimension 100: expected a power of two, such as 128 ...".
std::vector<std::string> shape_advice(std::span<const int64_t> dimensions);
/// The same for the products and convolutions of a graph that compute in low precision: rows, depth and columns; batch,
/// channels and filters. One line to each dimension, in the order of the graph: "dimension 10: expected a power of two,
/// such as 16 (first in 'dense_2/MatMul')".
std::vector<std::string> shape_advice(const Graph& graph);

}  // namespace softamp
