// Ready layers as classes (train/keras/layer.h) under Keras' names, and models made of them. None contains a cast:
// their policy decides what they compute in. Formulas, weights and errors are those of the functions of train/layers.h.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "softamp/train/keras/layer.h"
#include "softamp/train/layers.h"
#include "softamp/train/models.h"

namespace softamp::layers {

/// Adds the node that a word names: "" or "linear" (none), relu, relu6, softmax, log_softmax, sigmoid, tanh, gelu,
/// leaky_relu, exponential, softplus, elu, selu. Throws std::invalid_argument for another word, with these and the
/// nearest.
Port activate(GraphBuilder& builder, Port x, std::string_view activation);
void check_activation(std::string_view activation);  ///< throws as activate

/// [batch, in] -> [batch, units].
class Dense : public Layer {
 public:
  struct Options {
    std::string activation{};  ///< as activate [=none]
    DenseOptions function{};
    Regularizer kernel_regularizer{}, bias_regularizer{};
  };
  Dense(LayerContext& context, int64_t units, Options options, LayerOptions layer = {});
  explicit Dense(LayerContext& context, int64_t units) : Dense(context, units, Options()) {}

 protected:
  LayerValue call(const LayerArguments& in) override;
  std::string default_name() const override { return "dense"; }

 private:
  int64_t units_;
  Options options_;
};

/// [batch, height, width, in] -> [batch, out_height, out_width, filters]. padding: as Keras' too (valid, same)
/// [=VALID].
class Conv2D : public Layer {
 public:
  struct Options {
    std::string activation{};  ///< as activate [=none]
    Conv2DOptions function{};
    Regularizer kernel_regularizer{}, bias_regularizer{};
  };
  Conv2D(LayerContext& context, int64_t filters, Options options, LayerOptions layer = {});
  explicit Conv2D(LayerContext& context, int64_t filters) : Conv2D(context, filters, Options()) {}

 protected:
  LayerValue call(const LayerArguments& in) override;
  std::string default_name() const override { return "conv2d"; }

 private:
  int64_t filters_;
  Options options_;
};

/// Softmax of half logits in float32 (MIXED_PRECISION K25): Activation(context, "softmax", {.dtype = "float32"}).
class Activation : public Layer {
 public:
  Activation(LayerContext& context, std::string activation, LayerOptions layer = {});

 protected:
  LayerValue call(const LayerArguments& in) override;
  std::string default_name() const override { return "activation"; }

 private:
  std::string activation_;
};

/// [batch, ...] -> [batch, everything else].
class Flatten : public Layer {
 public:
  using Layer::Layer;

 protected:
  LayerValue call(const LayerArguments& in) override;
  std::string default_name() const override { return "flatten"; }
};

/// Variables are float32 and not auto-cast under any policy, as in Keras: the operation takes float32 ones beside a
/// half x. Its averages move in training, and x is normalised by them in evaluate and predict, unless the options say
/// otherwise.
class BatchNormalization : public Layer {
 public:
  explicit BatchNormalization(LayerContext& context, BatchNormOptions options = {}, LayerOptions layer = {});

 protected:
  LayerValue call(const LayerArguments& in) override;
  std::string default_name() const override { return "batch_normalization"; }

 private:
  BatchNormOptions options_;
};

/// A list of at least two -> its sum, from left to right; one rounding to each addition.
class Add : public Layer {
 public:
  using Layer::Layer;

 protected:
  LayerValue call(const LayerArguments& in) override;
  std::string default_name() const override { return "add"; }
};

/// Layers one after another; each gets the result of the one before. As a Keras model it casts nothing itself: its
/// layers
/// do. As a layer it has a scope of its own: "sequential/dense/kernel".
class Sequential : public Layer {
 public:
  explicit Sequential(LayerContext& context, LayerOptions layer = {});

  /// model.add<Dense>(64, Dense::Options{.activation = "relu"}): the arguments are those after the context in L's
  /// constructor.
  template <class L, class... Arguments>
  L& add(Arguments&&... arguments) {
    auto layer = std::make_unique<L>(context(), std::forward<Arguments>(arguments)...);
    L& added = *layer;
    layers_.push_back(std::move(layer));
    return added;
  }
  size_t size() const { return layers_.size(); }
  Layer& layer(size_t i) const;  ///< throws std::out_of_range

 protected:
  LayerValue call(const LayerArguments& in) override;
  std::string default_name() const override { return "sequential"; }

 private:
  std::vector<std::unique_ptr<Layer>> layers_;
};

}  // namespace softamp::layers

namespace softamp {

/// From images [batch, height, width, channels] of float32 to logits [batch, classes] of any floating dtype; under a
/// loss of one's own from inputs to outputs of any type. Layers may be created and destroyed here.
using LayerNetwork = std::function<LayerValue(LayerContext& context, Port images)>;

/// build_model (models.h) with a network of Layer objects: images come in float32 and the loss is computed in float32
/// on logits cast to it (TUTORIAL X7). Losses of regularizers are added to it: model.loss is then "loss_fn/total", the
/// float32 sum (AddN), and "loss" the data's share. Throws as build_model; std::invalid_argument for a precision or a
/// rule of layers in `options`: `precision` and the layers' own policies decide.
Model build_layer_model(const LayerNetwork& network, const MixedPrecisionContext& precision,
                        const ModelOptions& options);
/// The same for inputs, labels and a loss of one's own. Floating inputs go into the network as they come: its layers
/// cast them.
Model build_layer_model(const LayerNetwork& network, const MixedPrecisionContext& precision, const LossFunction& loss,
                        const ModelInputs& inputs);

}  // namespace softamp
