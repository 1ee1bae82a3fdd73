// A language model of GPT-2's form: learned positions, blocks that normalise first, tied embeddings.
//
// Radford, Wu, Child, Luan, Amodei, Sutskever, "Language models are unsupervised multitask learners", 2019; in the
// openly published code of it dropout stands where it stands here, and the projections of a block start at
// 0.02 / sqrt(2 layers).
#pragma once

#include <cstdint>

#include "softamp/train/models.h"

namespace softamp {

struct GptOptions {
  int64_t vocabulary = 65;  ///< (1 ..) how many tokens there are
  int64_t context = 64;     ///< (1 ..) how many tokens a prediction sees at most
  int64_t layers = 4;       ///< (1 .. 1000) blocks
  int64_t heads = 4;        ///< (1 ..) a divisor of `units`
  int64_t units = 128;      ///< (1 ..)
  double dropout = 0;       ///< [0, 1): after the embeddings, of attention's shares, and of what blocks add
  bool use_bias = true;     ///< of the dense layers
  bool operator==(const GptOptions&) const = default;
};

/// From tokens, int32 [batch, time] with time <= context, to logits [batch, time, vocabulary] of the next token at each
/// place; with the loss sparse_categorical_crossentropy_from_logits and labels int32 [batch, time] (the tokens from the
/// second on) for build_model. Layers: "embedding", "position_embedding", "block1", "block2", ..., "layer_norm",
/// "tied_output". Throws std::invalid_argument for options out of range; the network throws GraphError for tokens of
/// another type or a longer time.
Network gpt(const GptOptions& options);

/// Learns to write like a text of a million characters in minutes on two cores (docs/RESULTS.md): GptOptions's defaults
/// for a vocabulary.
GptOptions gpt_tiny_options(int64_t vocabulary = 65);
Network gpt_tiny(int64_t vocabulary = 65);

}  // namespace softamp
