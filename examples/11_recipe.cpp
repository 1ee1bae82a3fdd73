// One network under three of Gaudi's recipes: which operations each converts to bfloat16, where it puts casts, and what
// that does to the loss.
// tests: H03, H05, H08, H14, H22
#include "softamp/precision/recipe.h"
#include "softamp/softamp.h"

#include <cstdio>
#include <map>

using namespace softamp;

namespace {

Tensor numbers(const Shape& shape, int first) {
  std::vector<double> values;
  for (int64_t i = 0; i < shape.elements(); ++i) values.push_back(((first + 7 * i) % 23 - 11) / 16.0);
  return Tensor::from_values(DType::kFloat32, shape, values);
}

/// loss = `mean((softmax(relu(x W0 + b0) W1 + b1) - y)^2)`, all in float32.
Graph network() {
  GraphBuilder g;
  const auto variable = [&](const char* name, const Shape& shape) {
    return g.add("VariableV2", {}, {{"dtype", DType::kFloat32}, {"shape", shape}}, name);
  };
  const Port x = g.placeholder("x", DType::kFloat32, {2, 8});
  const Port y = g.placeholder("y", DType::kFloat32, {2, 4});
  const Port product = g.add("MatMul", {x, variable("W0", {8, 6})}, {}, "MatMul0");
  const Port hidden = g.add("Relu", {g.add("BiasAdd", {product, variable("b0", {6})}, {}, "BiasAdd0")});
  const Port product1 = g.add("MatMul", {hidden, variable("W1", {6, 4})}, {}, "MatMul1");
  const Port logits = g.add("BiasAdd", {product1, variable("b1", {4})}, {}, "BiasAdd1");
  const Port difference = g.add("SquaredDifference", {g.add("Softmax", {logits}), y});
  g.add("Mean", {difference}, {{"axes", std::vector<int64_t>{0, 1}}}, "loss");
  return g.build();
}

double loss_of(const Graph& graph) {
  const auto executor = make_executor(graph);
  for (const char* name : {"W0", "b0", "W1", "b1"})
    executor->set_variable(name, numbers(executor->variable(name).shape(), name[0] + name[1]));
  const Tensor x = numbers({2, 8}, 3);
  const Tensor y = Tensor::from_values(DType::kFloat32, {2, 4}, std::vector<double>{0, 0, 1, 0, 1, 0, 0, 0});
  const std::vector<Feed> feeds = {{"x", &x}, {"y", &y}};
  return executor->run(feeds, std::vector<std::string>{"loss"}).values[0].values()[0];
}

/// What BERT's recipe says of this network's operations: Relu is in none of its lists, so it is blocked.
const char* const kBert = R"({
  "allowlist": ["BiasAdd", "MatMul", "Softmax", "Sum"],
  "conditional_list": ["AddV2", "Reshape", "Transpose"],
  "non_convertible_exceptions": [[".*KEEP_FP32_PRECISION.*", ""]],
  "convertible_exceptions": [["bert/encoder/layer_[0-9]+/attention/self/Mul", "Mul"]]
})";

void show(const Recipe& recipe, const Graph& graph) {
  // The loss is fetched: it keeps its name and float32. The graph itself stays as it was.
  const GraphRewrite rewritten = convert_bfloat16(graph, recipe, std::vector<std::string>{"loss"});
  const PrecisionReport& report = rewritten.report;
  std::printf("recipe %s: %lld of %lld nodes, %lld group%s\n", recipe.name.c_str(),
              static_cast<long long>(report.converted_nodes()), static_cast<long long>(report.nodes()),
              static_cast<long long>(report.groups()), report.groups() == 1 ? "" : "s");
  std::map<int, std::string> groups;
  for (int n = 0; n < report.before.size(); ++n)
    if (const int group = report.colours.groups[static_cast<size_t>(n)]; group >= 0)
      groups[group] += " " + report.before.nodes[static_cast<size_t>(n)].name;
  for (const auto& [number, names] : groups) std::printf("  group%s\n", names.c_str());
  for (const PlannedCast& cast : report.plan.casts) std::printf("  cast %s\n", cast.name.c_str());
  for (int n = 0; n < report.before.size(); ++n)
    if (report.before.nodes[static_cast<size_t>(n)].name == "Relu")
      std::printf("  Relu: %s\n", report.colours.reasons[static_cast<size_t>(report.before.unit(n, 0))].c_str());
  std::printf("  loss %.9g\n", loss_of(rewritten.graph));
}

}  // namespace

int main() {
  const Graph graph = network();
  std::printf("float32: loss %.9g\n", loss_of(graph));
  Recipe bert = Recipe::parse(kBert);
  bert.name = "bert";
  for (const Recipe& recipe : {Recipe::basic(), Recipe::full(), bert}) show(recipe, graph);
}
