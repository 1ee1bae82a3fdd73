// What tests of Keras' layers share: a graph under construction with everything that layers need, and a layer made of a
// function.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "softamp/train/keras/layer_classes.h"
#include "tests/graph/executor_check.h"

namespace softamp::test {

/// A graph under construction, with everything that layers need.
struct Bench {
  explicit Bench(DtypeBehaviour behaviour = DtypeBehaviour::kV2) : precision({}, behaviour) {}

  Port placeholder(DType dtype, const Shape& shape, std::string_view name = "x") {
    return builder.placeholder(name, dtype, shape);
  }
  DType dtype(Port p) const { return builder.type(p).dtype; }
  int count(std::string_view op) const {
    int n = 0;
    for (const Node& node : builder.graph().nodes()) n += node.op == op;
    return n;
  }
  /// Runs the graph as it is; variables as they are set by name.
  RunResult run(const Tensors& feeds, const std::vector<Port>& fetches, const Tensors& variables = {}) const {
    Names names;
    for (const Port p : fetches) names.push_back(builder.graph().port_name(p));
    GraphBuilder copy(builder.graph());
    const auto executor = make_executor(copy.build());
    for (const auto& [name, value] : variables) executor->set_variable(name, *value);
    return test::run(*executor, feeds, names);
  }

  GraphBuilder builder;
  VariableStore store{builder};
  MixedPrecisionContext precision;
  LayerContext context{store, precision};
};

/// A layer from a function, which may use the layer's protected parts.
class Custom : public Layer {
 public:
  using Call = std::function<LayerValue(Custom&, const LayerArguments&)>;
  Custom(LayerContext& context, Call call, LayerOptions options = {}, std::function<void(Custom&)> build = {})
      : Layer(context, std::move(options)), call_(std::move(call)), build_(std::move(build)) {}
  using Layer::add_weight, Layer::op, Layer::constant, Layer::random_normal, Layer::type;
  Weight w;

 protected:
  void build(const LayerValue&) override {
    if (build_) build_(*this);
  }
  LayerValue call(const LayerArguments& in) override { return call_(*this, in); }
  std::string default_name() const override { return "custom"; }

 private:
  Call call_;
  std::function<void(Custom&)> build_;
};

inline LayerValue first_argument(Custom&, const LayerArguments& in) { return in[0]; }
/// Adds a weight "w" of shape [], and reads it.
inline std::function<void(Custom&)> adds_weight(WeightOptions options = {}) {
  return [options](Custom& self) { self.w = self.add_weight("w", {}, options); };
}
inline LayerValue reads_weight(Custom& self, const LayerArguments&) { return self.w.read(); }

}  // namespace softamp::test
