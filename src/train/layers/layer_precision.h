// The casts of one layer under its store's rule; without a rule there are none.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "softamp/train/variable.h"
#include "src/train/cast_node.h"

namespace softamp::layers_detail {

/// Create it in the layer's scope. Names of casts end in "_cast": they belong to the phase "cast" of a training step
/// (phase_of).
// implements: N291
class LayerCasts {
 public:
  /// x: dtype of the layer's first input.
  LayerCasts(VariableStore& store, std::string_view kind, DType x)
      : store_(store), rule_(store.layer_precision(kind)), compute_(rule_ ? rule_->compute : x) {}

  /// The dtype in which the layer computes.
  DType compute() const { return compute_; }
  /// The layer's first input, in that dtype.
  Port input(Port x) const { return rule_ && rule_->cast_input ? cast(x, compute_, "input_cast") : x; }

  /// A variable as the layer reads it: in its compute dtype, through a Cast if it is kept in another.
  Port variable(const std::string& name, const Shape& shape, const Initializer& initializer) const {
    return cast(kept(name, shape, variables(), initializer), compute_, name + "_cast");
  }
  /// The dtype in which variables are kept.
  DType variables() const { return rule_ ? rule_->variables : compute_; }
  /// A variable without a Cast.
  Port kept(const std::string& name, const Shape& shape, DType dtype, const Initializer& initializer,
            bool trainable = true) const {
    return store_.get({name, shape, dtype, initializer, trainable}).port;
  }

  /// The layer's result, cast to the rule's output dtype.
  Port output(Port y) const { return rule_ && rule_->output ? cast(y, *rule_->output, "output_cast") : y; }

 private:
  /// Without a rule nothing is cast: an input that does not fit is an error of the operation that reads it.
  Port cast(Port value, DType to, const std::string& name) const {
    return rule_ ? cast_to(store_.builder(), value, to, name) : value;
  }

  VariableStore& store_;
  std::optional<LayerPrecision> rule_;
  DType compute_;
};

/// The sum of a block's result and of what went past it; if a rule gave them different dtypes, both are cast to the
/// block's.
inline Port residual_sum(VariableStore& store, std::string_view kind, Port through, Port past) {
  GraphBuilder& builder = store.builder();
  if (builder.type(through).dtype != builder.type(past).dtype) {
    const LayerCasts casts(store, kind, builder.type(through).dtype);
    through = casts.input(through);
    past = casts.input(past);
  }
  return builder.add("AddV2", {through, past});
}

}  // namespace softamp::layers_detail
