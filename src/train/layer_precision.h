// The casts of one layer, as its store's rule says; without a rule there are none.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "softamp/train/variable.h"

namespace softamp::layers_detail {

/// Made in the layer's scope. Names of casts end in "_cast": they are the phase "cast" of a training step (phase_of).
class LayerCasts {
 public:
  /// x: dtype of the layer's first input.
  LayerCasts(VariableStore& store, std::string_view kind, DType x)
      : store_(store), rule_(store.layer_precision(kind)), compute_(rule_ ? rule_->compute : x) {}

  /// What the layer computes in.
  DType compute() const { return compute_; }
  /// The layer's first input, in that dtype.
  Port input(Port x) const { return rule_ && rule_->cast_input ? cast(x, compute_, "input_cast") : x; }

  /// A variable as the layer reads it: in the dtype that it computes in, through a Cast where it is kept otherwise.
  Port variable(const std::string& name, const Shape& shape, const Initializer& initializer) const {
    return cast(kept(name, shape, variables(), initializer), compute_, name + "_cast");
  }
  /// What variables are kept in.
  DType variables() const { return rule_ ? rule_->variables : compute_; }
  /// A variable as it is kept.
  Port kept(const std::string& name, const Shape& shape, DType dtype, const Initializer& initializer,
            bool trainable = true) const {
    return store_.get({name, shape, dtype, initializer, trainable}).port;
  }

  /// The layer's result, as the rule hands it on.
  Port output(Port y) const { return rule_ && rule_->output ? cast(y, *rule_->output, "output_cast") : y; }

 private:
  /// Without a rule nothing is cast: an input that does not fit is an error of the operation that reads it.
  Port cast(Port value, DType to, const std::string& name) const {
    GraphBuilder& builder = store_.builder();
    if (!rule_ || builder.type(value).dtype == to) return value;
    return builder.add("Cast", {value}, {{"DstT", to}}, name);
  }

  VariableStore& store_;
  std::optional<LayerPrecision> rule_;
  DType compute_;
};

}  // namespace softamp::layers_detail
