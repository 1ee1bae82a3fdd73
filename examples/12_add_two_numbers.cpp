// The first program of Graphcore's tutorial: a graph that adds two numbers, in float32, in float16, in both (an error:
// nothing is promoted), and with a cast between them, by hand and by each mechanism
// (TUTORIAL G21).
// tests: G21
#include "softamp/softamp.h"

#include <cstdio>

using namespace softamp;

namespace {

const std::vector<std::string> kFetches = {"sum"};

/// sum = x + y, each of its own dtype; x_as: what x is cast to first [=nothing].
Graph adder(DType x_dtype, DType y_dtype, std::optional<DType> x_as = {}) {
  GraphBuilder g;
  Port x = g.placeholder("x", x_dtype, {});
  const Port y = g.placeholder("y", y_dtype, {});
  if (x_as) x = g.add("Cast", {x}, {{"DstT", *x_as}}, "x_cast");
  g.add("AddV2", {x, y}, {}, "sum");
  return g.build();
}

/// The same in float32, the addition in a scope of its own, its result handed on.
Graph layered_adder() {
  GraphBuilder g;
  const Port x = g.placeholder("x", DType::kFloat32, {}), y = g.placeholder("y", DType::kFloat32, {});
  const Port sum = g.add("AddV2", {x, y}, {}, "adder/FORCE_BF16_PRECISION/AddV2");
  g.add("Identity", {sum}, {}, "sum");
  return g.build();
}

std::string result(const Graph& graph, double x, double y) {
  const Tensor a = Tensor::full(graph.node(graph.find("x")).outputs[0].dtype, {}, x);
  const Tensor b = Tensor::full(graph.node(graph.find("y")).outputs[0].dtype, {}, y);
  const std::vector<Feed> feeds = {{"x", &a}, {"y", &b}};
  return tensor_text(make_executor(graph)->run(feeds, kFetches).values[0]);
}

}  // namespace

int main() {
  using enum DType;
  const double x = 1, y = 0.0004;
  std::printf("float32            %s\n", result(adder(kFloat32, kFloat32), x, y).c_str());
  std::printf("float16            %s\n", result(adder(kFloat16, kFloat16), x, y).c_str());
  try {
    adder(kFloat16, kFloat32);
  } catch (const DtypeMismatchError& e) {
    std::printf("float16 + float32  %s\n", e.what());
  }
  std::printf("x cast to float32  %s\n", result(adder(kFloat16, kFloat32, kFloat32), x, y).c_str());

  // TensorFlow's lists do not convert an addition alone. In a name scope that forces bfloat16 a recipe converts it, and
  // policies and levels treat the scope as a layer.
  std::printf("\nthe sum in a layer, its inputs and its result in float32:\n");
  for (const char* text : {"tensorflow=2.3", "recipe=full", "policy=mixed_float16", "level=O2"}) {
    const GraphRewrite done = Mechanism::parse(text).pass()(layered_adder(), kFetches);
    std::printf("  %-20s %lld of %lld nodes, %zu casts: %s\n", text,
                static_cast<long long>(done.report.converted_nodes()), static_cast<long long>(done.report.nodes()),
                done.report.plan.casts.size(), result(done.graph, x, y).c_str());
  }
}
