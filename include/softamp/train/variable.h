// Variables with scopes and custom getters, as in TensorFlow 1: a store returns variables by full path, and a getter
// between a layer and the store may change that, for example to keep float32 masters of float16 weights
// (TUTORIAL G15 to G19).
//
// A variable is a node VariableV2; what a layer reads is a NodeOutput. The two are different types: only a Variable can
// be assigned to (TUTORIAL G18).
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "softamp/graph/graph.h"
#include "softamp/precision/layer_rule.h"
#include "softamp/train/initializer.h"

namespace softamp {

/// What is known of a variable for as long as the model lives.
struct VariableSpec {
  std::string name;  ///< full path: "block1/conv2d/kernel"
  TensorType type;
  Initializer initializer;
  bool trainable = true;
  bool operator==(const VariableSpec&) const = default;
};

/// A value that a layer reads: a node's output. Not assignable.
struct NodeOutput {
  Port port;
};

/// A node VariableV2 of the store.
struct Variable {
  std::string name;
  Port port;
  bool trainable = true;
  operator NodeOutput() const { return {port}; }
};

/// Adds Assign{ref = variable}. There is no assign for a NodeOutput: the result of a getter is no variable.
Port assign(GraphBuilder& builder, const Variable& variable, Port value, std::string_view name = "Assign");
Port assign(GraphBuilder&, const NodeOutput&, Port, std::string_view = {}) = delete;

/// What a layer asks for.
struct VariableRequest {
  std::string name;  ///< within the current scope
  Shape shape;
  DType dtype = DType::kFloat32;
  Initializer initializer;
  bool trainable = true;
};

/// A layer that was built under a rule, and the rule's answer for it.
struct RuledLayer {
  std::string kind;  ///< "conv2d", as LayerRule's
  std::string path;  ///< its scope: "block1/conv2d"
  LayerPrecision precision;
};

/// Creates variables in a GraphBuilder, by full path. Scopes nest, and may have getters.
class VariableStore {
 public:
  /// rule: what the functional layers (layers.h) compute in [=each in the dtype of its first input]. training: what
  /// layers that evaluate otherwise than they train ask for.
  explicit VariableStore(GraphBuilder& builder, std::optional<LayerRule> rule = {}, bool training = true)
      : builder_(builder), rule_(std::move(rule)), training_(training) {}
  VariableStore(const VariableStore&) = delete;
  VariableStore& operator=(const VariableStore&) = delete;

  /// Calls the next getter outwards, and at last the store itself.
  class Next {
   public:
    NodeOutput operator()(const VariableRequest& request) const { return store_.pass(outer_, request); }
    /// Where a getter adds nodes of its own, in the scope of the request.
    GraphBuilder& builder() const { return store_.builder_; }

   private:
    friend class VariableStore;
    Next(VariableStore& store, size_t outer) : store_(store), outer_(outer) {}
    VariableStore& store_;
    size_t outer_;  ///< getters still to be called
  };
  using Getter = std::function<NodeOutput(const Next& next, const VariableRequest& request)>;

  /// While alive: names begin with "name/" (also those of the builder's nodes), requests pass through `getter`, and
  /// existing variables are returned again if `reuse` [=false, inherited]. Names are used as given; "" adds nothing to
  /// names: a scope only for a getter or `reuse`. Scopes end in reverse order, after an exception, too.
  class Scope {
   public:
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    friend class VariableStore;
    Scope(VariableStore& store, std::string_view name, Getter getter, bool reuse, bool custom = true);
    VariableStore& store_;
    std::unique_ptr<GraphBuilder::Scope> nodes_;
    size_t length_;
    bool has_getter_, reuse_before_;
  };
  /// Throws GraphError for a malformed name.
  [[nodiscard]] Scope scope(std::string_view name, Getter getter = {}, bool reuse = false);

  /// As scope("", source) for a layer that brings variables of its own: `source` is no custom getter, and requests that
  /// it answers are not counted as such (TUTORIAL G47).
  [[nodiscard]] Scope scope_of_variables(Getter source);

  /// The scope of a layer: `name`, or, if it is the layer's default name, the first of name, name_1, name_2 and so on
  /// that no scope has had since the current one began. So a scope that is entered again gives its layers the same
  /// names, and under `reuse` the same variables (TensorFlow 1's tf.layers).
  [[nodiscard]] Scope layer_scope(std::string_view name, std::string_view default_name);

  /// "block1/conv2d/", or "" outside of all scopes.
  const std::string& scope_path() const { return scope_; }

  /// Through the getters of the scopes, innermost first. Throws GraphError: a name that is taken in this scope
  /// ("Variable conv/kernel already exists, disallowed. Did you mean to set reuse=True?"), or under reuse another shape
  /// or dtype ("Trying to share variable conv/kernel, but specified shape [2] and found shape [3].").
  NodeOutput get(const VariableRequest& request);
  /// Without getters.
  Variable create(const VariableRequest& request);

  /// The dtype of layers that have no floating input, as an embedding's rows [=float32].
  DType dtype() const { return dtype_; }
  void set_dtype(DType dtype) { dtype_ = dtype; }

  /// false: the graph evaluates the network, and does not train it.
  bool training() const {
    asked_training_ = true;
    return training_;
  }
  /// Whether anything has asked: only then the graph of the evaluation can be another.
  bool asked_training() const { return asked_training_; }

  GraphBuilder& builder() { return builder_; }
  /// In order of creation.
  const std::vector<VariableSpec>& variables() const { return specs_; }
  const Variable& variable(std::string_view full_path) const;  ///< throws GraphError with the nearest name
  int64_t getter_calls() const { return getter_calls_; }       ///< requests that passed through a getter (TUTORIAL G47)

  /// The rule's answer for the layer of this kind with the current scope, also kept in ruled_layers; empty without a
  /// rule. Throws GraphError if the answer is no dtype of layers.
  std::optional<LayerPrecision> layer_precision(std::string_view kind);
  bool ruled() const { return rule_ && *rule_; }
  /// Layers that the rule was asked about, in order.
  const std::vector<RuledLayer>& ruled_layers() const { return ruled_; }

 private:
  /// Asks getter outer - 1, or creates where outer is 0.
  NodeOutput pass(size_t outer, const VariableRequest& request);

  GraphBuilder& builder_;
  std::string scope_;
  bool reuse_ = false;
  struct Held {
    Getter getter;
    bool custom;  // not a layer's own source of variables
  };
  std::deque<Held> getters_;      // outermost first; a getter that opens a scope must not move those before it
  std::set<std::string> opened_;  // paths of scopes opened within a scope that is still open
  std::vector<VariableSpec> specs_;
  std::map<std::string, Variable, std::less<>> by_name_;
  int64_t getter_calls_ = 0;
  std::optional<LayerRule> rule_;
  bool training_;
  DType dtype_ = DType::kFloat32;
  mutable bool asked_training_ = false;
  std::vector<RuledLayer> ruled_;
};

/// TUTORIAL G17: a trainable request of a dtype other than float32 creates a float32 variable and reads it through a
/// Cast named name + "_cast"; every other request passes through.
VariableStore::Getter float32_parameters();

}  // namespace softamp
