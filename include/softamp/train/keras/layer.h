// Layers as objects with a dtype policy, as Keras has them: a layer is written without any cast, and the class that it
// derives from casts its first argument and its variables (MIXED_PRECISION K06 to K18, K20).
//
//   class SimpleDense : public Layer {
//    public:
//     using Layer::Layer;
//    protected:
//     void build(const LayerValue& inputs) override { kernel_ = add_weight("kernel", {type(inputs).shape[1], 10}); }
//     LayerValue call(const LayerArguments& in) override { return op("MatMul", {in[0], kernel_.read()}); }
//    private:
//     Weight kernel_;
//   };
//
//   GraphBuilder builder;
//   VariableStore store(builder);
//   MixedPrecisionContext precision;
//   LayerContext context(store, precision);
//   SimpleDense layer(context, {.dtype = "mixed_float16"});
//   Port y = layer(x);                     // float16; "layer/kernel" is a float32 variable, read through a Cast
//
// Nothing is global or thread-local: what Keras keeps for a process or a thread is in LayerContext and in the
// MixedPrecisionContext that it was given. Graphs built at the same time, each with its own context, do not affect each
// other. Layers and weights refer to their context, and must be destroyed before it.
//
// Functions of train/layers.h and these classes may be used in one graph; ready classes are in layer_classes.h,
// pooling_layers.h, norm_layers.h and attention_layers.h beside this file.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "softamp/precision/mixed_precision_context.h"
#include "softamp/train/keras/layer_value.h"
#include "softamp/train/variable.h"

namespace softamp {

class LayerContext;

/// A variable of a layer. If its layer computes in another dtype than it keeps variables in, it is Keras'
/// AutoCastVariable: a call() reads it cast (MIXED_PRECISION K13).
class Weight {
 public:
  Weight() = default;  ///< none: any use of the variable throws GraphError

  const std::string& name() const { return variable().name; }  ///< full path: "dense/kernel"
  DType dtype() const { return type().dtype; }                 ///< that of the variable, everywhere
  const Shape& shape() const { return type().shape; }
  bool trainable() const { return variable().trainable; }
  bool autocast() const { return autocast_; }

  /// The variable; within a call(), if autocast(), a Cast of it to the compute dtype of the innermost layer being
  /// called. Each read adds its own Cast, "kernel_cast", "kernel_cast_1", ...: gradients of several reads are summed in
  /// the dtype of the variable.
  Port read() const;
  /// The variable in its own dtype, anywhere.
  Port value() const { return variable().port; }
  /// Adds an Assign. Throws DtypeMismatchError where value is of another dtype than the variable: it is not cast;
  /// GraphError for another shape.
  Port assign(Port value) const;
  const Variable& variable() const;

 private:
  friend class Layer;
  Weight(LayerContext& context, Variable variable, bool autocast)
      : context_(&context), variable_(std::move(variable)), autocast_(autocast) {}
  const TensorType& type() const;

  LayerContext* context_ = nullptr;
  Variable variable_;
  bool autocast_ = false;
};

/// A loss from a weight in the dtype in which it is kept (MIXED_PRECISION K18).
using Regularizer = std::function<Port(GraphBuilder& builder, Port weight)>;
/// rate * sum |w|, rate * sum w^2: the sum rounded once, rate rounded to the weight's dtype, the product rounded once.
Regularizer l1_regularizer(double rate = 0.01);
Regularizer l2_regularizer(double rate = 0.01);

/// The dtype policy of a layer: nothing [=the context's global policy], a dtype or its name, "mixed_float16",
/// "mixed_bfloat16", "_infer", or a policy.
using LayerDtype = std::variant<std::monostate, DType, std::string, Policy>;

struct LayerOptions {
  std::string name{};  ///< scope of nodes and variables [=default_name(), made unique as "dense_1", "dense_2"]
  LayerDtype dtype{};
  /// The first argument is cast to the compute dtype [=under dtype behaviour V2 (MIXED_PRECISION K11)].
  std::optional<bool> autocast{};

  /// Name and policy from the text of Layer::get_config; other keys, which a derived layer may add, are ignored. Throws
  /// std::invalid_argument, also for a text that is no JSON object.
  static LayerOptions from_config(std::string_view json);
};

struct WeightOptions {
  std::optional<DType> dtype{};              ///< [=the layer's variable dtype, else float32 (MIXED_PRECISION K12)]
  std::optional<Initializer> initializer{};  ///< [=Glorot uniform; zeros for integers and bools]
  bool trainable = true;
  bool autocast = true;  ///< experimental_autocast; false: read as it is kept, in a call() too (MIXED_PRECISION K14)
  Regularizer regularizer{};
};

/// Arguments of a call.
class LayerArguments {
 public:
  LayerArguments(std::string layer, std::vector<LayerValue> values)
      : layer_(std::move(layer)), values_(std::move(values)) {}
  size_t size() const { return values_.size(); }
  /// Throws GraphError, naming the layer, for one that was not given.
  const LayerValue& operator[](size_t i) const;

 private:
  std::string layer_;
  std::vector<LayerValue> values_;
};

namespace layer_detail {
/// Facts about a layer, which outlive it.
struct Record {
  std::vector<Weight> weights;
  std::vector<std::pair<Weight, Regularizer>> regularized;
  std::vector<std::shared_ptr<Record>> parts;  ///< layers that were called within this one's build() or call()
  std::set<const Record*> known_parts;         ///< the same, for fast look-up
};
}  // namespace layer_detail

/// Where layers put their nodes and variables, and which policy they take. For one thread.
class LayerContext {
 public:
  /// Both must outlive it. The store must have no rule for functions of layers (LayerRule), which would act beside the
  /// policies. A graph without a preset gets ieee, which is Keras' arithmetic.
  LayerContext(VariableStore& store, const MixedPrecisionContext& precision);
  LayerContext(const LayerContext&) = delete;
  LayerContext& operator=(const LayerContext&) = delete;

  VariableStore& store() const { return store_; }
  GraphBuilder& builder() const { return store_.builder(); }
  const MixedPrecisionContext& precision() const { return precision_; }
  /// The dtype in which auto-cast variables are read now; empty: as they are kept.
  const std::optional<DType>& autocast_dtype() const { return autocast_; }

  /// The weights of all layers that were called, ordered as Layer::weights.
  std::vector<Weight> weights() const;
  std::vector<Port> losses();

 private:
  friend class Layer;
  /// The scope's name for a layer of this default name, here.
  std::string unique_name(const std::string& name);

  VariableStore& store_;
  const MixedPrecisionContext& precision_;
  std::optional<DType> autocast_;
  std::set<std::string> paths_;                  ///< scopes that layers have taken
  std::map<std::string, int64_t> next_numbers_;  ///< by a layer's path without number: the first that may be free
  std::shared_ptr<layer_detail::Record> top_, current_;
};

class Layer {
 public:
  /// The policy is fixed here. Throws std::invalid_argument for an unknown policy (MIXED_PRECISION K02).
  explicit Layer(LayerContext& context, LayerOptions options = {});
  virtual ~Layer() = default;
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  /// In a scope of the layer's name: infers the policy if it is "_infer", builds the layer if that has not been done,
  /// casts the floating tensors of the first argument to the compute dtype (those of lists and maps in it, too;
  /// integers, bools and further arguments stay as they are), and calls. The results are not cast. Throws GraphError
  /// for a port of no node.
  template <class... More>
  LayerValue operator()(LayerValue first, More&&... more) {
    return invoke({std::move(first), LayerValue(std::forward<More>(more))...});
  }

  const Policy& dtype_policy() const { return policy_; }
  const std::optional<DType>& compute_dtype() const { return policy_.compute_dtype(); }
  const std::optional<DType>& variable_dtype() const { return policy_.variable_dtype(); }
  const std::optional<DType>& dtype() const { return variable_dtype(); }  ///< Keras' word for it (MIXED_PRECISION K07)
  bool autocast() const { return autocast_; }
  /// The given name, or the free one that the first call (or add_weight) chose.
  std::string name() const { return name_.empty() ? default_name() : name_; }
  bool built() const { return built_; }

  /// Own weights in the order in which they were added, then those of layers within.
  std::vector<Weight> weights() const;
  std::vector<Weight> trainable_weights() const;
  /// Adds the losses of all regularizers, those of layers within too: scopes "dense/kernel/Regularizer". They use
  /// weights in the dtype in which they are kept, even within a call().
  std::vector<Port> losses();

  /// {"name":"dense","trainable":true,"dtype":{"class_name":"Policy","config":{"name":"mixed_float16"}}}
  virtual std::string get_config() const;

 protected:
  /// Called once, before the first call; adds weights. inputs: the first argument before it is cast. Auto-cast
  /// variables are read here in the dtype in which they are kept.
  virtual void build(const LayerValue& inputs);
  virtual LayerValue call(const LayerArguments& in) = 0;
  /// "layer"; of class SimpleDense as Keras would have it: "simple_dense".
  virtual std::string default_name() const { return "layer"; }

  /// Adds a variable, usually in build(). Throws GraphError for a name that is taken.
  Weight add_weight(std::string_view name, const Shape& shape, WeightOptions options = {});
  /// While alive, functions of train/layers.h that are called with the name "" use this layer's weights, read as call()
  /// reads them. The first request adds them, with the request's initializer and trainability and what `adjust` sets (a
  /// dtype: kept in it); later requests get the same ones.
  [[nodiscard]] VariableStore::Scope weights_for_functions(
      std::function<void(std::string_view name, WeightOptions& options)> adjust = {});

  LayerContext& context() const { return context_; }
  GraphBuilder& builder() const { return context_.builder(); }
  const TensorType& type(Port p) const { return builder().type(p); }
  /// Adds a node in the current scope.
  Port op(std::string_view op, std::vector<Port> inputs, Attributes attributes = {}, std::string_view name = {}) const {
    return builder().add(op, std::move(inputs), std::move(attributes), name);
  }
  /// A constant of this dtype: within a call, of the dtype of an input, or TUTORIAL G05's error follows
  /// (MIXED_PRECISION K15).
  Port constant(double value, DType dtype) const;
  Port random_normal(const Shape& shape, DType dtype = DType::kFloat32) const;

 private:
  class Inside;
  LayerValue invoke(std::vector<LayerValue> arguments);
  std::string where() const;  ///< "dense 'block/dense'", for messages

  LayerContext& context_;
  std::string name_;  ///< "" until it is known
  Policy policy_;
  bool autocast_;
  bool built_ = false;
  size_t scope_ = 0;  ///< length of the path of the layer's scope while it is open, else 0
  std::map<std::string, Weight, std::less<>> by_name_;  ///< by their names within the layer
  std::shared_ptr<layer_detail::Record> record_ = std::make_shared<layer_detail::Record>();
};

}  // namespace softamp
