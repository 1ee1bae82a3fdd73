// Layers: functions that add nodes and ask the store for variables. Every layer takes the dtype of its first input
// (TUTORIAL G07); variables are requested in that dtype, and a getter may keep them in another.
//
// If the store has a rule (precision/layer_rule.h), the rule decides instead: a layer with variables casts its first
// input to the rule's compute dtype ("input_cast"), requests variables in the rule's variable dtype and reads them
// through a Cast where the two differ ("kernel_cast"), and casts its result where the rule has an `output`
// ("output_cast"). Variables of norms are not cast: the operations take float32 ones beside an input of 16 bits, as the
// systems' own kernels do. Layers without variables follow their inputs; a block's sum of two dtypes casts both to the
// compute dtype of the rule for the block (kind "residual_block", "downsample_block").
//
// A layer has its own scope: the given `name`; a default name that is taken becomes "conv2d_1", "conv2d_2", ...
// (VariableStore::layer_scope). Layers without variables have none.
//
// Every layer throws GraphError if its input does not fit, with its place, what it got and what it expected: "conv2d
// 'block1/conv2d': x is float32[32,10]; expected [batch, height, width, channels] of float16, bfloat16 or float32". An
// option out of range and a variable that exists already are GraphErrors, too.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "softamp/train/variable.h"

namespace softamp::layers {

/// x: [batch, height, width, in] -> [batch, out_height, out_width, filters].
struct Conv2DOptions {
  int64_t kernel = 3;  ///< >= 1; the filter is [kernel, kernel, in, filters]
  int64_t stride = 1;  ///< >= 1
  std::string padding =
      "SAME";            ///< (SAME, VALID) [=SAME]; SAME: out = ceil(in / stride), floor(total / 2) zeros before
  bool use_bias = true;  ///< variable "bias" [filters], zeros
  bool relu = false;
  Initializer kernel_initializer = Initializer::glorot_uniform();  ///< variable "kernel"
  Initializer bias_initializer = Initializer::zeros();
  std::string partials = {};  ///< ("", half, float) [="": the executor's]
};
Port conv2d(VariableStore& store, Port x, int64_t filters, const Conv2DOptions& options = {},
            std::string_view name = "conv2d");

/// x: [batch, in] -> [batch, units]; variables "kernel" [in, units], "bias" [units].
struct DenseOptions {
  bool use_bias = true;
  bool relu = false;
  Initializer kernel_initializer = Initializer::glorot_uniform();
  Initializer bias_initializer = Initializer::zeros();
  std::string partials = {};
};
Port dense(VariableStore& store, Port x, int64_t units, const DenseOptions& options = {},
           std::string_view name = "dense");

/// TUTORIAL G16: variables "weights" [units, in] and "biases" [units, 1], both Glorot uniform; y = weights x + biases.
/// x: [batch, in] (or [in], reshaped to [in, 1] as in the tutorial) -> [batch, units] (or [units]). A batch is one
/// product x weights^T: it equals, bit for bit, the products weights x[i] of the single images, whose order of k is the
/// same.
Port dense_column(VariableStore& store, Port x, int64_t units, std::string_view name = "dense");

/// Over all axes except the last. Variables "gamma" ones, "beta" zeros, "moving_mean" zeros, "moving_variance" ones
/// (the last two not trainable), all of `dtype` [=x's; float32 for a bfloat16 x, as FusedBatchNormV3 takes no others].
/// Outputs 1 and 2 of the node FusedBatchNormV3 are the updated averages: momentum times the old, and 1 - momentum
/// times the batch's mean, or its unbiased variance (N163); x is normalised by the biased one.
struct BatchNormOptions {
  double momentum = 0.99;  ///< (0 .. 1) of the moving averages
  double epsilon = 1e-3;
  /// Where the store trains, Assigns move the averages, a layer that is called again from what its call before gave;
  /// where it evaluates, x is normalised by them [=false: nothing moves them unless the caller adds Assigns, and the
  /// statistics are the batch's in evaluation, too, as in the tutorial]. Small
  /// moves of float16 averages are lost; `dtype` float32 keeps them.
  bool moving_averages = false;
  bool training = true;          ///< statistics of the batch; false: the averages, also where the store trains
  std::optional<DType> dtype{};  ///< (float16, float32) of the variables
};
Port batch_norm(VariableStore& store, Port x, const BatchNormOptions& options = {},
                std::string_view name = "batch_normalization");

/// TUTORIAL G43: weights may be float32 while x is float16. Variables "gamma" ones, "beta" zeros [channels], of `dtype`
/// [=x's; float32 for a bfloat16 x].
struct GroupNormOptions {
  int64_t groups = 1;  ///< a divisor of the channels
  double epsilon = 1e-3;
  std::optional<DType> dtype{};  ///< (float16, float32)
};
Port group_norm(VariableStore& store, Port x, const GroupNormOptions& options = {},
                std::string_view name = "group_norm");

Port relu(VariableStore& store, Port x);
/// x: [batch, height, width, channels]; windows of size x size, `stride` apart, both >= 1; padding (SAME, VALID).
Port max_pool(VariableStore& store, Port x, int64_t size, int64_t stride, std::string_view padding = "VALID");
/// [batch, height, width, channels] -> [batch, channels]: the mean over height and width.
Port global_average_pool(VariableStore& store, Port x);
/// [batch, ...] -> [batch, everything else].
Port flatten(VariableStore& store, Port x);

/// Model A's blocks. ordinary: conv 3x3 ReLU, conv 3x3, + x, ReLU. downsample: conv 3x3 stride 2 ReLU, conv 3x3, + conv
/// 2x2 stride 2 of x (linear), ReLU. All with bias, SAME. Variables "conv2d/...", "conv2d_1/...", and of the path past
/// them "conv2d_2/...".
Port residual_block(VariableStore& store, Port x, int64_t filters, std::string_view name = "block");
Port downsample_block(VariableStore& store, Port x, int64_t filters, std::string_view name = "downsample");

}  // namespace softamp::layers
