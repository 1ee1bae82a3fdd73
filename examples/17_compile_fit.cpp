// TensorFlow's example of its mixed-precision graph rewrite, whole: two dense layers, mean squared error, SGD.
// tests: T17
#include <softamp/softamp.h>

#include <cstdio>

using namespace softamp;

int main() {
  const TensorType rows{DType::kFloat32, {1024, 64}};
  const Tensor x = initial_value(Initializer::uniform(0, 1), rows, "x", 0);
  const Tensor y = initial_value(Initializer::uniform(0, 1), rows, "y", 0);
  MixedPrecisionContext precision;
  const auto sgd = KerasOptimizer::of(OptimizerKind::kSgd);
  const auto optimizer = enable_mixed_precision_graph_rewrite(precision, sgd);
  KerasModel model(precision, [](LayerContext& context, Port in) {
    layers::Dense hidden(context, 64, {.activation = "relu"}), out(context, 64, {.activation = "softmax"});
    return out(hidden(in));
  });
  model.compile(optimizer, "mse");
  const History history = model.fit(x, y, {.batch_size = 32, .epochs = 20});
  std::printf("loss %.9f -> %.9f\n", history.at("loss").front(), history.at("loss").back());
}
