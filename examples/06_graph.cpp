// A graph of tensor operations under three behaviours: what saturates, what becomes NaN, what stops, and where
// (TUTORIAL G08).
// tests: G08
#include "softamp/softamp.h"

#include <cstdio>

using namespace softamp;

namespace {

/// logits = softmax(relu(x w1 + b1) w2), all in fp16.
Graph dense_network() {
  GraphBuilder g;
  const Port x = g.placeholder("x", DType::kFloat16, {2, 3});
  const auto layer = g.scope("dense");
  const Port w1 =
      g.constant(Tensor::from_values(DType::kFloat16, {3, 2}, std::vector<double>{1, 0, 0, 200, 1, 1}), "w1");
  const Port b1 = g.constant(Tensor::from_values(DType::kFloat16, {2}, std::vector<double>{0.5, -1}), "b1");
  const Port w2 = g.constant(Tensor::from_values(DType::kFloat16, {2, 2}, std::vector<double>{1, -1, 0.5, 2}), "w2");
  const Port hidden = g.add("Relu", {g.add("BiasAdd", {g.add("MatMul", {x, w1}), b1})}, {}, "hidden");
  g.add("Softmax", {g.add("MatMul", {hidden, w2}, {}, "logits")}, {}, "probabilities");
  return g.build();
}

void run(const char* title, const FloatingPointBehaviour& behaviour, const Tensor& x) {
  std::printf("%s\n", title);
  ExecutorOptions options;
  auto& f = options.config.floating_point_behaviour;
  f.inv = behaviour.inv;
  f.oflo = behaviour.oflo;
  f.nanoo = behaviour.nanoo;
  options.status = true;
  const auto executor = make_executor(dense_network(), options);
  const std::vector<Feed> feeds = {{"x", &x}};
  const std::vector<std::string> fetches = {"dense/hidden", "dense/probabilities"};
  try {
    const RunResult result = executor->run(feeds, fetches);
    for (const OperationStatus& o : result.operations)
      std::printf("  %s '%s' raised: %s, first at element %llu\n", o.op.c_str(), o.name.c_str(),
                  flag_names(o.status.flags).c_str(),
                  static_cast<unsigned long long>(o.status.lowest_index(kAllFlags)));
    for (size_t i = 0; i < fetches.size(); ++i)
      std::printf("  %s: %s\n", fetches[i].c_str(), tensor_text(result.values[i]).c_str());
  } catch (const FloatingPointError& e) {
    std::printf("%s\n", e.what());
  }
}

}  // namespace

int main() {
  std::printf("%s", text(dense_network()).c_str());
  const Tensor usual = Tensor::from_values(DType::kFloat16, {2, 3}, std::vector<double>{1, 0.01, 0, 0.5, 0.02, -1});
  const Tensor large = Tensor::from_values(DType::kFloat16, {2, 3}, std::vector<double>{1, 0.01, 0, 0.5, 500, -1});
  run("usual values", FloatingPointBehaviour::all_off(), usual);
  run("500 * 200 does not fit: saturates", FloatingPointBehaviour::all_off(), large);
  run("the same with nanoo: NaN", {false, false, false, false, true}, large);
  run("the same with nanoo and inv: stops", {true, false, false, false, true}, large);
}
