// Random graphs for the properties that every mechanism promises: as pictures (OpGraph, with operations of all lists,
// several units to a node, devices, casts, state) and as Graphs of softamp that can run.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "softamp/precision/casts.h"

namespace softamp::test {

/// Numbers from a seed, the same with every standard library.
class Dice {
 public:
  explicit Dice(uint64_t seed) : engine_(seed) {}
  int below(int n) { return static_cast<int>(engine_() % static_cast<uint64_t>(n)); }
  bool chance(int percent) { return below(100) < percent; }

 private:
  std::mt19937_64 engine_;
};

/// How many random graphs a test takes: what the environment asks for, or the usual number.
inline int dags(int usual) {
  const char* text = std::getenv("SOFTAMP_DAGS");
  return text ? std::atoi(text) : usual;
}

struct RandomDagOptions {
  int most_nodes = 60;
  int preserved_percent = 3;
  int cpu_percent = 5;     ///< nodes on "/cpu:0"
  bool with_casts = true;  ///< Casts between float32 and float16, and from int32
};

namespace random_dag_detail {

/// An operation of the vocabulary: its units with the types they begin with, and the unit of every port.
struct Word {
  std::string op;
  std::vector<TypeUnit> units;
  std::vector<int16_t> inputs, outputs;
  std::vector<ElementType> outputs_fixed;  // of outputs without a unit
  bool stateful = false, random = false;
};

inline TypeUnit unit(const char* name, ElementType type = ElementType::kFloat, bool low = true) {
  return {name, type, low, low};
}

/// Operations of TensorFlow's and Gaudi's lists and of none, one to three inputs.
inline const std::vector<Word>& vocabulary() {
  static const std::vector<Word> kWords = [] {
    std::vector<Word> words;
    for (const char* op : {"MatMul", "Conv2D", "AddV2", "Mul", "Sub", "Pow", "Maximum", "SparseMatMul",
                           "SquaredDifference", "SoftmaxCrossEntropyWithLogits"})
      words.push_back({op, {unit("T")}, {0, 0}, {0}, {}});
    for (const char* op : {"Relu", "Exp", "Tanh", "Sqrt", "Softmax", "Log", "Sum", "Mean", "Reshape", "Identity",
                           "Square", "Transpose", "Neg", "L2Loss", "Sigmoid"})
      words.push_back({op, {unit("T")}, {0}, {0}, {}});
    words.push_back({"FusedBatchNormV3", {unit("T"), unit("U", ElementType::kFloat, false)}, {0, 1, 1}, {0, 1, 1}, {}});
    words.push_back({"BatchToSpace", {unit("T"), unit("Tblock", ElementType::kInt32, false)}, {0}, {0}, {}});
    words.push_back({"Elu", {unit("T", ElementType::kFloat, false)}, {0}, {0}, {}});  // no kernel in low precision
    words.push_back({"RandomUniform", {unit("dtype")}, {}, {0}, {}, true, true});
    words.push_back({"ArgMax", {unit("T")}, {0}, {OpNode::kNoUnit}, {ElementType::kInt32}});
    return words;
  }();
  return kWords;
}

inline Word source(int kind) {
  static const char* const kOps[] = {"Placeholder", "Const", "VariableV2"};
  return {kOps[kind], {unit("dtype")}, {}, {0}, {}, kind == 2, false};
}

inline Word cast(ElementType from, ElementType to) {
  return {"Cast", {unit("SrcT", from), unit("DstT", to)}, {0}, {1}, {}};
}

class Maker {
 public:
  Maker(uint64_t seed, const RandomDagOptions& options) : dice_(seed), options_(options) {}

  OpGraph make() {
    const int sources = 1 + dice_.below(5);
    for (int i = 0; i < sources; ++i) add(source(dice_.below(3)));
    const int nodes = sources + dice_.below(std::max(1, options_.most_nodes - sources + 1));
    while (graph_.size() < nodes) {
      if (options_.with_casts && dice_.chance(8)) {
        const auto from = dice_.chance(60)   ? ElementType::kFloat
                          : dice_.chance(70) ? ElementType::kHalf
                                             : ElementType::kInt32;
        if (!by_type_[from].empty())
          add(cast(from, from == ElementType::kFloat ? ElementType::kHalf : ElementType::kFloat));
        continue;
      }
      const auto& words = vocabulary();
      add(words[static_cast<size_t>(dice_.below(static_cast<int>(words.size())))]);
    }
    graph_.number_units();
    return std::move(graph_);
  }

 private:
  OpEdge pick(ElementType type) {
    const auto& edges = by_type_[type];
    // Mostly recent ones, so that graphs are deep.
    const int n = static_cast<int>(edges.size());
    const int back = dice_.chance(70) ? dice_.below(std::min(n, 6)) : dice_.below(n);
    return edges[static_cast<size_t>(n - 1 - back)];
  }

  void add(const Word& word) {
    OpNode node;
    const int number = graph_.size();
    node.op = word.op;
    node.name = (dice_.chance(30) ? "scope" + std::to_string(dice_.below(4)) + "/" : std::string()) + word.op + "_" +
                std::to_string(number);
    node.layer = scope_of(node.name);
    node.units = word.units;
    node.input_units = word.inputs;
    node.output_units = word.outputs;
    for (const int16_t u : word.inputs) node.inputs.push_back(pick(word.units[static_cast<size_t>(u)].type));
    for (size_t port = 0; port < word.outputs.size(); ++port) {
      const int16_t u = word.outputs[port];
      const ElementType type =
          u == OpNode::kNoUnit ? word.outputs_fixed[port] : word.units[static_cast<size_t>(u)].type;
      node.output_types.push_back(type);
      by_type_[type].push_back({number, static_cast<int>(port)});
    }
    node.stateful = word.stateful;
    node.random = word.random;
    node.preserved = word.op == "Placeholder" || dice_.chance(options_.preserved_percent);
    if (dice_.chance(options_.cpu_percent)) node.device = "/cpu:0";
    graph_.nodes.push_back(std::move(node));
  }

  Dice dice_;
  RandomDagOptions options_;
  OpGraph graph_;
  std::map<ElementType, std::vector<OpEdge>> by_type_;
};

}  // namespace random_dag_detail

inline OpGraph random_op_graph(uint64_t seed, const RandomDagOptions& options = {}) {
  return random_dag_detail::Maker(seed, options).make();
}

/// The same graph with its nodes in another order; place[n] is where node n went.
inline OpGraph shuffled(const OpGraph& graph, uint64_t seed, std::vector<int>& place) {
  Dice dice(seed);
  place.resize(graph.nodes.size());
  std::iota(place.begin(), place.end(), 0);
  for (int i = graph.size() - 1; i > 0; --i)
    std::swap(place[static_cast<size_t>(i)], place[static_cast<size_t>(dice.below(i + 1))]);
  OpGraph other;
  other.nodes.resize(graph.nodes.size());
  for (int n = 0; n < graph.size(); ++n) {
    OpNode node = graph.nodes[static_cast<size_t>(n)];
    for (OpEdge& e : node.inputs) e.node = place[static_cast<size_t>(e.node)];
    other.nodes[static_cast<size_t>(place[static_cast<size_t>(n)])] = std::move(node);
  }
  other.number_units();
  return other;
}

/// The picture after a plan: types changed, Casts at the end.
inline OpGraph applied(const OpGraph& graph, const CastPlan& plan) {
  OpGraph after = graph;
  const ElementType low = element_type(plan.low);
  for (const auto& [n, u] : plan.retyped) {
    OpNode& node = after.nodes[static_cast<size_t>(n)];
    node.units[static_cast<size_t>(u)].type = low;
    for (size_t port = 0; port < node.output_units.size(); ++port)
      if (node.output_units[port] == u) node.output_types[port] = low;
  }
  for (const CastPlan::Redirect& r : plan.redirected)
    after.nodes[static_cast<size_t>(r.node)].inputs[static_cast<size_t>(r.input)] = r.to;
  for (const PlannedCast& cast : plan.casts) {
    const ElementType from = cast.to == DType::kFloat32 ? low : ElementType::kFloat;
    random_dag_detail::Word word = random_dag_detail::cast(from, element_type(cast.to));
    OpNode node;
    node.name = cast.name;
    node.op = "Cast";
    node.device = cast.device;
    node.inputs = {cast.from};
    node.units = word.units;
    node.input_units = word.inputs;
    node.output_units = word.outputs;
    node.output_types = {element_type(cast.to)};
    for (const auto& [reader, input] : cast.readers)
      after.nodes[static_cast<size_t>(reader)].inputs[static_cast<size_t>(input)] = {after.size(), 0};
    after.nodes.push_back(std::move(node));
  }
  after.number_units();
  return after;
}

/// What is wrong with the types of a picture; "" where every edge joins equal types.
inline std::string type_fault(const OpGraph& graph) {
  for (int n = 0; n < graph.size(); ++n) {
    const OpNode& node = graph.nodes[static_cast<size_t>(n)];
    for (size_t port = 0; port < node.output_units.size(); ++port)
      if (node.output_units[port] != OpNode::kNoUnit &&
          node.units[static_cast<size_t>(node.output_units[port])].type != node.output_types[port])
        return node.name + ": output " + std::to_string(port) + " is not of its unit's type";
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.input_units[i] == OpNode::kNoUnit) continue;
      const ElementType wanted = node.units[static_cast<size_t>(node.input_units[i])].type;
      const ElementType found = graph.type(node.inputs[i]);
      if (wanted != found)
        return node.name + ": input " + std::to_string(i) + " is " + name_of(found) + ", expected " + name_of(wanted);
    }
  }
  return {};
}

/// A Graph of 2 x 2 matrices that can run: any DAG of the operations that keep the shape.
inline Graph random_matrix_graph(uint64_t seed, int most_nodes = 40) {
  Dice dice(seed);
  GraphBuilder b;
  std::vector<Port> ports;
  const Shape square{2, 2};
  ports.push_back(b.placeholder("x", DType::kFloat32, square));
  ports.push_back(b.constant(Tensor::full(DType::kFloat32, square, 0.25)));
  ports.push_back(b.add("VariableV2", {}, {{"dtype", DType::kFloat32}, {"shape", square}}, "w"));
  const int nodes = 4 + dice.below(std::max(1, most_nodes - 4));
  const auto pick = [&] { return ports[static_cast<size_t>(dice.below(static_cast<int>(ports.size())))]; };
  while (b.graph().size() < nodes) {
    static const char* const kBinary[] = {"MatMul", "MatMul", "AddV2", "Mul", "Maximum", "Sub"};
    static const char* const kUnary[] = {"Relu", "Exp", "Tanh", "Softmax", "Identity", "Square", "Neg", "Sigmoid"};
    const std::string scope = "layer" + std::to_string(dice.below(4)) + "/";
    if (dice.chance(5)) {
      const Port low = b.add("Cast", {pick()}, {{"DstT", DType::kFloat16}}, scope + "low");
      ports.push_back(b.add("Cast", {low}, {{"DstT", DType::kFloat32}}, scope + "back"));
    } else if (dice.chance(45)) {
      const char* op = kBinary[dice.below(6)];
      ports.push_back(b.add(op, {pick(), pick()}, {}, scope + op));
    } else {
      const char* op = kUnary[dice.below(8)];
      ports.push_back(b.add(op, {pick()}, {}, scope + op));
    }
  }
  b.add("Identity", {ports.back()}, {}, "out");
  return b.build();
}

}  // namespace softamp::test
