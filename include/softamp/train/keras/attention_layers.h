// What a transformer is made of, as Keras' layers: Dropout, Embedding, EinsumDense, MultiHeadAttention.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "softamp/train/keras/layer.h"

namespace softamp::layers {

/// x / (1 - rate), where a random mask says so; else 0. The mask's bits are those of the node's place and of the step,
/// so that a run is repeated bit for bit. The factor is rounded to x's dtype, and the product is rounded once. Throws
/// std::invalid_argument for a rate that is not in [0, 1).
class Dropout : public Layer {
 public:
  struct Options {
    bool training = true;  ///< false: x itself, as with a rate of 0
  };
  Dropout(LayerContext& context, double rate, Options options, LayerOptions layer = {});
  explicit Dropout(LayerContext& context, double rate) : Dropout(context, rate, Options()) {}

 protected:
  LayerValue call(const LayerArguments& in) override;
  std::string default_name() const override { return "dropout"; }

 private:
  double rate_;
  Options options_;
};

/// Rows of a table: indices of int32, of any shape, each in 0 .. input_dim - 1 -> one axis more, output_dim long.
/// Weight "embeddings" [input_dim, output_dim], uniform in -0.05 .. 0.05. As in Keras rows are taken from the variable
/// as it is kept, and cast to the compute dtype then: of a large table only what is used is cast. An index past the
/// table stops the run.
class Embedding : public Layer {
 public:
  Embedding(LayerContext& context, int64_t input_dim, int64_t output_dim, LayerOptions layer = {});

 protected:
  void build(const LayerValue& inputs) override;
  LayerValue call(const LayerArguments& in) override;
  std::string default_name() const override { return "embedding"; }

 private:
  int64_t input_dim_, output_dim_;
  Weight embeddings_;
};

/// x and a kernel by an equation of Einsum without ellipses: "abc,cde->abde". Weights "kernel", Glorot uniform, and
/// where `bias_axes` names axes of the result, "bias", zeros, along them. Throws std::invalid_argument for an equation
/// of another form, GraphError where it does not fit x.
class EinsumDense : public Layer {
 public:
  struct Options {
    std::string equation{};
    /// Extents of the result's axes that x does not have, in the order of the result.
    std::vector<int64_t> output_shape{};
    std::string bias_axes{};  ///< the last letters of the result [=no bias]
  };
  EinsumDense(LayerContext& context, Options options, LayerOptions layer = {});

 protected:
  void build(const LayerValue& inputs) override;
  LayerValue call(const LayerArguments& in) override;
  std::string default_name() const override { return "einsum_dense"; }

 private:
  Options options_;
  std::string x_, kernel_letters_, result_;  ///< the equation's terms
  Weight kernel_, bias_;
};

/// attention(query, value, key, mask), key [=value], mask optional: query [batch, targets, features], value and key
/// [batch, sources, ...] -> [batch, targets, features]. mask: bool [batch, targets, sources], true where a target may
/// look; another score becomes -1e9, in float16 -65504. (Keras adds these; the result is the same where a target may
/// look anywhere.) Layers within: "query", "key", "value" (EinsumDense, to heads), "attention_output". The query's
/// heads are multiplied by 1 / sqrt(key_dim), rounded to their dtype, before the products. As in Keras this layer casts
/// the query alone; those within cast what they are given. Throws std::invalid_argument for options out of range.
class MultiHeadAttention : public Layer {
 public:
  struct Options {
    int64_t num_heads = 1, key_dim = 1;  ///< (1 ..)
    std::optional<int64_t> value_dim{};  ///< (1 ..) [=key_dim]
    double dropout = 0;                  ///< [0, 1) of the probabilities
    bool use_bias = true, training = true;
  };
  MultiHeadAttention(LayerContext& context, Options options, LayerOptions layer = {});

 protected:
  void build(const LayerValue& inputs) override;
  LayerValue call(const LayerArguments& in) override;
  std::string default_name() const override { return "multi_head_attention"; }

 private:
  std::unique_ptr<EinsumDense> part(const char* name, const char* equation, std::vector<int64_t> output_shape,
                                    const char* bias_axes) const;

  Options options_;
  std::unique_ptr<EinsumDense> query_, key_, value_, output_;
  std::unique_ptr<Dropout> dropout_;
};

}  // namespace softamp::layers
