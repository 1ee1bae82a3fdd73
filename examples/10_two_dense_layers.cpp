// TensorFlow's own example of its mixed-precision graph rewrite: two dense layers of 64, the first with ReLU, the
// second with softmax; SGD(0.01), mean squared error, 1024 rows of 64 uniform numbers in and out, batches of 32.
//
// First the colours of the forward graph alone. Then training: the same graph with its gradients and updates, once as
// it is and once rewritten with a dynamic loss scale. The variables are float32 in both.
// tests: T17
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "softamp/graph/executor.h"
#include "softamp/precision/graph_rewrite.h"
#include "softamp/train/keras/layer_classes.h"
#include "softamp/train/keras/loss_scale_optimizer.h"

using namespace softamp;

namespace {

constexpr int64_t kRows = 1024, kWidth = 64, kBatch = 32;
constexpr int kEpochs = 40;

struct Network {
  Port loss;
  std::vector<VariableSpec> variables;
};

/// 14 nodes: x, y; two dense layers of three operations and two variables each; squared difference and mean.
Network build(GraphBuilder& builder, const MixedPrecisionContext& precision) {
  VariableStore store(builder);
  LayerContext context(store, precision);
  layers::Dense first(context, kWidth, {.activation = "relu"}), second(context, kWidth, {.activation = "softmax"});
  const Port x = builder.placeholder("x", DType::kFloat32, {kBatch, kWidth});
  const Port y = builder.placeholder("y", DType::kFloat32, {kBatch, kWidth});
  const Port loss = builder.add("Mean", {builder.add("SquaredDifference", {second(first(x)), y})}, {}, "loss");
  return {loss, store.variables()};
}

void forward_graph() {
  GraphBuilder builder;
  build(builder, MixedPrecisionContext());
  const std::vector<std::string> fetches = {"loss"};
  const GraphRewrite rewritten = rewrite(builder.build(), OpLists::tf_2_3(), fetches);
  const OpGraph& before = rewritten.report.before;
  std::printf("the forward graph\n");
  for (int n = 0; n < before.size(); ++n) {
    const OpNode& node = before.nodes[static_cast<size_t>(n)];
    const int unit = before.unit(n, 0);
    std::printf("  %-18s %-18s %-9s %s\n", node.name.c_str(), node.op.c_str(),
                rewritten.report.colours.lists[static_cast<size_t>(unit)].c_str(),
                rewritten.report.colours.is_low(unit) ? "float16" : "float32");
  }
  std::printf("casts\n");
  for (const PlannedCast& cast : rewritten.report.plan.casts) std::printf("  %s\n", cast.name.c_str());
  for (const std::string& message : rewritten.report.colours.messages) std::printf("%s\n", message.c_str());
  std::printf("the loss is still %s\n\n", name_of(rewritten.graph.type(rewritten.graph.port("loss")).dtype));
}

/// Rows first .. first + kBatch of a float32 matrix.
Tensor rows(const Tensor& all, int64_t first) {
  Tensor part(DType::kFloat32, {kBatch, kWidth});
  std::memcpy(part.data(), all.as<float>().data() + first * kWidth, part.bytes());
  return part;
}

class Training {
 public:
  Training(bool mixed, const Tensor& x, const Tensor& y) : x_(x), y_(y) {
    const KerasOptimizer sgd{[] {
      OptimizerOptions options = OptimizerOptions::of(OptimizerKind::kSgd);
      options.learning_rate = 0.01;
      return options;
    }()};
    MixedPrecisionContext precision([](LogLevel, const std::string& message) { std::printf("%s\n", message.c_str()); });
    LossScaleOptimizer optimizer = mixed ? enable_mixed_precision_graph_rewrite(precision, sgd)
                                         : LossScaleOptimizer(sgd, LossScaleArgument(std::nullopt));
    scale_ = optimizer.loss_scale();

    GraphBuilder builder;
    const Network network = build(builder, precision);
    std::vector<Variable> variables;
    for (const VariableSpec& v : network.variables) variables.push_back({v.name, builder.graph().port(v.name)});
    const Port rate = builder.placeholder("learning_rate", DType::kFloat32, {});
    const Port scale = builder.placeholder("scale", DType::kFloat32, {});
    const Port apply = optimizer.minimize(builder, network.loss, variables, rate, scale);
    fetches_ = {"loss", builder.graph().port_name(apply)};
    rate_ = Tensor::full(DType::kFloat32, {}, optimizer.learning_rate());

    ExecutorOptions options;
    options.semantics = Semantics::ieee();
    executor_ = make_executor(precision.finish(builder.build(), fetches_), options);
    for (const VariableSpec& v : network.variables)
      executor_->set_variable(v.name, initial_value(v.initializer, v.type, v.name, 0));
  }

  /// The mean of the batches' losses.
  double epoch() {
    double sum = 0;
    for (int64_t first = 0; first < kRows; first += kBatch) {
      const Tensor x = rows(x_, first), y = rows(y_, first),
                   scale = Tensor::full(DType::kFloat32, {}, static_cast<double>(scale_.scale()));
      const std::vector<Feed> feeds = {{"x", &x}, {"y", &y}, {"learning_rate", &rate_}, {"scale", &scale}};
      const RunResult result = executor_->run(feeds, fetches_);
      sum += result.values[0].value(0);
      const bool finite = result.values[1].value(0) != 0;
      skipped_ += !finite;
      scale_.update({finite});
    }
    return sum / static_cast<double>(kRows / kBatch);
  }
  int skipped() const { return skipped_; }
  float scale() const { return scale_.scale(); }
  const Tensor& variable(const char* name) const { return executor_->variable(name); }

 private:
  const Tensor &x_, &y_;
  Tensor rate_;
  std::vector<std::string> fetches_;
  std::unique_ptr<Executor> executor_;
  LossScale scale_;
  int skipped_ = 0;
};

}  // namespace

int main() {
  forward_graph();

  const TensorType type{DType::kFloat32, {kRows, kWidth}};
  const Tensor x = initial_value(Initializer::uniform(0, 1), type, "inputs", 0),
               y = initial_value(Initializer::uniform(0, 1), type, "targets", 0);
  std::printf("training\n");
  Training single(false, x, y), mixed(true, x, y);
  std::printf("epoch      float32        mixed  difference\n");
  for (int epoch = 1; epoch <= kEpochs; ++epoch) {
    const double a = single.epoch(), b = mixed.epoch();
    if (epoch == 1 || epoch % 10 == 0) std::printf("%5d  %.9f  %.9f  %+.1e\n", epoch, a, b, b - a);
  }
  std::printf("skipped steps: %d, loss scale at the end: %g\n", mixed.skipped(), static_cast<double>(mixed.scale()));
  for (const char* name : {"dense/kernel", "dense_1/kernel"}) {
    const Tensor &a = single.variable(name), &b = mixed.variable(name);
    double most = 0;
    for (int64_t i = 0; i < a.elements(); ++i) most = std::max(most, std::abs(a.value(i) - b.value(i)));
    std::printf("%s: %s in both, at most %.1e apart\n", name, name_of(b.dtype()), most);
  }
}
