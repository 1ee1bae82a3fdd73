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
#include <vector>

#include "softamp/train/variable.h"

namespace softamp::layers {

/// x: [batch, height, width, in] -> [batch, out_height, out_width, filters].
struct Conv2DOptions {
  int64_t kernel = 3;  ///< >= 1; the filter is [kernel, kernel, in, filters]
  int64_t stride = 1;  ///< >= 1
  /// (SAME, VALID) [="": SAME; of Keras' layer VALID]; SAME: out = ceil(in / stride), floor(total / 2) zeros before
  std::string padding = {};
  bool use_bias = true;  ///< variable "bias" [filters], zeros
  bool relu = false;
  Initializer kernel_initializer = Initializer::glorot_uniform();  ///< variable "kernel"
  Initializer bias_initializer = Initializer::zeros();
  std::string partials = {};  ///< ("", half, float) [="": the executor's]
};
Port conv2d(VariableStore& store, Port x, int64_t filters, const Conv2DOptions& options = {},
            std::string_view name = "conv2d");

/// The same by channel: x: [batch, height, width, in] -> [batch, out_height, out_width, in multiplier]. Variables
/// "kernel" [kernel, kernel, in, multiplier], "bias" [in multiplier].
struct DepthwiseConv2DOptions {
  int64_t kernel = 3;            ///< >= 1
  int64_t stride = 1;            ///< >= 1
  int64_t multiplier = 1;        ///< >= 1 channels out for each channel in
  std::string padding = "SAME";  ///< (SAME, VALID)
  bool use_bias = true;
  Initializer kernel_initializer = Initializer::glorot_uniform();
  Initializer bias_initializer = Initializer::zeros();
  std::string partials = {};
};
Port depthwise_conv2d(VariableStore& store, Port x, const DepthwiseConv2DOptions& options = {},
                      std::string_view name = "depthwise_conv2d");

/// x: [batch, ..., in] -> [batch, ..., units]; variables "kernel" [in, units], "bias" [units]. More than two axes are
/// one product of all rows, through a Reshape there and back.
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
  /// where it evaluates, x is normalised by them. false: nothing moves them unless the caller adds Assigns, and the
  /// statistics are the batch's in evaluation, too, as in the tutorial [=false; of Keras' layer true]. Small moves of
  /// float16 averages are lost; `dtype` float32 keeps them.
  std::optional<bool> moving_averages{};
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

/// Over the last axis of each row. Variables "gamma" ones, "beta" zeros [features], of `dtype` [=x's; float32 for a
/// bfloat16 x].
struct LayerNormOptions {
  double epsilon = 1e-5;         ///< as in GPT-2 and PyTorch (Keras: 1e-3)
  std::optional<DType> dtype{};  ///< (float16, float32)
};
Port layer_norm(VariableStore& store, Port x, const LayerNormOptions& options = {},
                std::string_view name = "layer_norm");

Port relu(VariableStore& store, Port x);
struct ActivationOptions {
  bool approximate = true;  ///< of gelu: the tanh formula, as in GPT-2; false: the exact one
  double alpha = 0.2;       ///< of leaky_relu: the slope below zero
};
/// kind: activation_names(): relu, relu6, leaky_relu, elu, selu, gelu, softplus, sigmoid, tanh. Another one is a
/// GraphError with all names and the nearest.
Port activation(VariableStore& store, Port x, std::string_view kind, const ActivationOptions& options = {});
std::vector<std::string> activation_names();
/// x / (1 - rate) where a random mask says so, else 0, while store.training(); else x itself, as with a rate of 0.
/// rate: [0, 1). The mask's bits are those of the node's place and of the step, so that a run is repeated bit for bit.
/// The factor is rounded to x's dtype, and the product once.
Port dropout(VariableStore& store, Port x, double rate);
/// x: [batch, height, width, channels]; windows of size x size, `stride` apart, both >= 1; padding (SAME, VALID).
Port max_pool(VariableStore& store, Port x, int64_t size, int64_t stride, std::string_view padding = "VALID");
/// The same with the mean of the elements of a window that lie in the image.
Port average_pool(VariableStore& store, Port x, int64_t size, int64_t stride, std::string_view padding = "VALID");
/// [batch, height, width, channels] -> [batch, channels]: the mean over height and width.
Port global_average_pool(VariableStore& store, Port x);
/// [batch, ...] -> [batch, everything else].
Port flatten(VariableStore& store, Port x);

/// Model A's blocks. ordinary: conv 3x3 ReLU, conv 3x3, + x, ReLU. downsample: conv 3x3 stride 2 ReLU, conv 3x3, + conv
/// 2x2 stride 2 of x (linear), ReLU. All with bias, SAME. Variables "conv2d/...", "conv2d_1/...", and of the path past
/// them "conv2d_2/...".
Port residual_block(VariableStore& store, Port x, int64_t filters, std::string_view name = "block");
Port downsample_block(VariableStore& store, Port x, int64_t filters, std::string_view name = "downsample");

// What a transformer is made of, as in GPT-2 (Radford, Wu, Child, Luan, Amodei, Sutskever, "Language models are
// unsupervised multitask learners", 2019). Sums over positions, softmax and norms are those of the operations' own
// rules: partials, stochastic rounding and flags act on them as on any graph.

/// indices: int32 [...] in 0 .. vocabulary - 1 -> [..., units]: rows of the variable "embeddings" [vocabulary, units].
/// An index past the table stops the run. Rows are taken from the variable as it is read, under a rule as it is kept,
/// and cast then ("rows_cast").
struct EmbeddingOptions {
  std::optional<DType> dtype{};  ///< of the rows [=store.dtype(); under a rule the rule's]
  Initializer initializer = Initializer::normal(0.02);
};
Port embedding(VariableStore& store, Port indices, int64_t vocabulary, int64_t units,
               const EmbeddingOptions& options = {}, std::string_view name = "embedding");

/// x: [batch, time, units] + the first `time` rows of the variable "positions" [context, units].
struct PositionEmbeddingOptions {
  int64_t context = 0;  ///< (0: as many as x has) positions there are, at least x's
  Initializer initializer = Initializer::normal(0.02);
};
Port position_embedding(VariableStore& store, Port x, const PositionEmbeddingOptions& options = {},
                        std::string_view name = "position_embedding");

/// x: [batch, time, units] -> the same shape. One product gives queries, keys and values (the dense layer "qkv", to
/// 3 units), heads are units / heads wide; scores q k^T are multiplied by 1 / sqrt(units / heads), rounded to their
/// dtype; where `causal`, those of later positions become -1e9 (-65504 in float16), whose share after the softmax is 0,
/// so that a later position changes no bit of an earlier one; softmax, dropout, the product with the values, and the
/// dense layer "projection".
struct SelfAttentionOptions {
  int64_t heads = 1;  ///< a divisor of x's units
  bool causal = true;
  double dropout = 0;  ///< [0, 1) of the probabilities
  bool use_bias = true;
  Initializer kernel_initializer = Initializer::normal(0.02);
  Initializer projection_initializer = Initializer::normal(0.02);
  std::string partials = {};
};
Port self_attention(VariableStore& store, Port x, const SelfAttentionOptions& options = {},
                    std::string_view name = "attention");

/// A block of GPT-2, x: [batch, time, units] -> the same shape: y = x + attention(layer_norm(x)), then
/// y + projection(activation(hidden(layer_norm_1(y)))), hidden and projection being dense layers in the scope "mlp".
/// Dropout of the probabilities, and of what is added.
struct TransformerBlockOptions {
  int64_t heads = 1;   ///< a divisor of x's units
  int64_t hidden = 0;  ///< units of the hidden layer [=0: 4 times x's]
  bool causal = true;
  double dropout = 0;               ///< [0, 1)
  std::string activation = "gelu";  ///< activation_names(); gelu by the tanh formula
  double epsilon = 1e-5;            ///< of both norms
  bool use_bias = true;
  Initializer kernel_initializer = Initializer::normal(0.02);
  /// Of the two layers whose results are added; GPT-2: 0.02 / sqrt(2 blocks).
  Initializer projection_initializer = Initializer::normal(0.02);
  std::string partials = {};
};
Port transformer_block(VariableStore& store, Port x, const TransformerBlockOptions& options = {},
                       std::string_view name = "block");

/// x: [..., units] -> [..., vocabulary]: x embeddings^T, with the variable of the layer `embedding` of this scope,
/// which gets the gradients of both uses. No bias.
Port tied_output(VariableStore& store, Port x, std::string_view embedding = "embedding",
                 std::string_view name = "tied_output", std::string_view partials = "");

}  // namespace softamp::layers
