// Passes of mixed precision over chains of realistic blocks: reading the picture, colouring under each mechanism,
// planning casts, applying the plan; and reading graphs. Times by number of nodes, with the growth that Google
// Benchmark fits to them (wanted: N). Goals: 100,000 nodes under 1 s from graph to rewritten graph, a recipe of 50
// patterns under 2 s. Commands and results: RESULTS.md.
#include <ctime>
#include <map>
#include <memory>

#include <nlohmann/json.hpp>
#include "bench/measure.h"

#include "softamp/graph/graph_json.h"
#include "softamp/precision/graph_def.h"
#include "softamp/precision/mechanism.h"
#include "src/precision/graph_def/graph_def.pb.h"

namespace {

using namespace softamp;
using namespace softamp::bench;

constexpr int64_t kGoalNodes = 100000, kMostNodes = 1000000;
const std::string kFetches[] = {"loss"};

/// Layers of 12 nodes: two products with bias between a normalising Softmax (every fourth: Exp and Mean, which stay
/// float32) and a residual sum; names as those of a transformer.
Graph layers_of(int64_t nodes) {
  GraphBuilder b;
  const Shape square{8, 8};
  Port p = b.placeholder("x", DType::kFloat32, square);
  for (int64_t layer = 0; b.graph().size() + 13 <= nodes; ++layer) {
    const auto scope = b.scope("net/encoder/layer_" + std::to_string(layer) + "/attention/self");
    const auto variable = [&](const char* name, const Shape& shape) {
      return b.add("VariableV2", {}, {{"dtype", DType::kFloat32}, {"shape", shape}}, name);
    };
    const Port residual = p;
    p = b.add("MatMul", {p, variable("query/kernel", square)}, {}, "query/MatMul");
    p = b.add("BiasAdd", {p, variable("query/bias", {8})}, {}, "query/BiasAdd");
    if (layer % 4 == 3) {
      const Port e = b.add("Exp", {p}, {}, "Exp");
      const Port sum = b.add("Mean", {e}, {{"axes", std::vector<int64_t>{1}}, {"keep_dims", true}}, "Mean");
      p = b.add("Mul", {e, sum}, {}, "Mul");
    } else {
      const Port relu = b.add("Relu", {p}, {}, "Relu");
      const Port softmax = b.add("Softmax", {relu}, {}, "Softmax");
      p = b.add("Mul", {softmax, relu}, {}, "Mul");
    }
    p = b.add("MatMul", {p, variable("output/kernel", square)}, {}, "output/MatMul");
    p = b.add("BiasAdd", {p, variable("output/bias", {8})}, {}, "output/BiasAdd");
    p = b.add("AddV2", {p, residual}, {}, "add");
  }
  b.add("Mean", {p}, {}, "loss");
  return b.build();
}

/// Graphs, their pictures and plans, made on first use and kept.
struct Case {
  Graph graph;
  OpGraph picture;
};
const Case& case_of(int64_t nodes) {
  static std::map<int64_t, std::unique_ptr<Case>> cases;
  std::unique_ptr<Case>& there = cases[nodes];
  if (!there) {
    there = std::make_unique<Case>();
    there->graph = layers_of(nodes);
    there->picture = op_graph(there->graph, kFetches);
  }
  return *there;
}

/// The full recipe with 50 patterns in place of its two, 25 of each kind; few of them match.
Recipe recipe_of_50_patterns() {
  Recipe recipe = Recipe::full();
  recipe.non_convertible = {{".*KEEP_FP32_PRECISION.*", ""}};
  recipe.convertible = {{".*FORCE_BF16_PRECISION.*", ""}};
  for (int i = 1; i < 25; ++i) {
    const std::string n = std::to_string(i);
    recipe.non_convertible.push_back({"net/encoder/layer_[0-9]*" + n + "7/attention/(self|cross)/.*", "Softmax"});
    recipe.convertible.push_back({".*/layer_" + n + "[0-9]+/attention/self/(add|Add|AddV2)(_[0-9]+)?", ""});
  }
  return recipe;
}

using Colour = std::function<Colouring(const OpGraph&)>;

void measure_growth(benchmark::State& state, const std::function<void(const Case&)>& body) {
  const Case& c = case_of(state.range(0));
  for (auto _ : state) body(c);
  state.SetComplexityN(state.range(0));
}

void add_growth(const std::string& name, int64_t most, const std::function<void(const Case&)>& body) {
  benchmark::RegisterBenchmark(name.c_str(), [body](benchmark::State& state) { measure_growth(state, body); })
      ->RangeMultiplier(10)
      ->Range(10000, most)
      ->Complexity(benchmark::oN)
      ->Unit(benchmark::kMillisecond);
}

/// The whole rewrite: picture, colours, plan, new graph. In processor time, which other load on the machine affects
/// less than wall-clock time; the passes run in one thread.
void measure_whole(benchmark::State& state, int64_t nodes, const std::string& name, const Colour& colour, double most) {
  const Graph& graph = case_of(nodes).graph;
  std::vector<double> each;
  for (auto _ : state) {
    const std::clock_t start = std::clock();
    benchmark::DoNotOptimize(rewrite_with(graph, kFetches, colour));
    each.push_back(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
    state.SetIterationTime(each.back());
  }
  char target[32], measured[32];
  std::snprintf(target, sizeof target, "< %.1f s", most);
  std::snprintf(measured, sizeof measured, "%.3f s", median(each));
  keep_table_row({name, target, "", measured, median(each) < most});
}

void add_whole(const std::string& mechanism, int64_t nodes, const Colour& colour, double most) {
  const std::string name = mechanism + (nodes == kGoalNodes ? ", 100,000" : ", 1,000,000") + " nodes, whole";
  benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& s) { measure_whole(s, nodes, name, colour, most); })
      ->UseManualTime()
      ->Iterations(5)
      ->Unit(benchmark::kMillisecond);
}

/// The binary GraphDef of a graph: names, operations, inputs and types, as TensorFlow writes them.
std::string graph_def_of(int64_t nodes) {
  const Graph& graph = case_of(nodes).graph;
  graph_def::GraphDef def;
  for (const Node& node : graph.nodes()) {
    graph_def::NodeDef& n = *def.add_node();
    n.set_name(node.name);
    n.set_op(node.op);
    n.set_device("/job:localhost/replica:0/task:0/device:GPU:0");
    for (const Port p : node.inputs) n.add_input(graph.port_name(p));
    const char* const type = node.op == "VariableV2" || node.op == "Placeholder" ? "dtype" : "T";
    auto& attributes = *n.mutable_attr();
    attributes[type].set_type(graph_def::DT_FLOAT);
    if (node.op == "MatMul")
      for (const char* name : {"transpose_a", "transpose_b"}) attributes[name].set_b(false);
  }
  return def.SerializeAsString();
}

/// Reading against a parser that makes nothing of what it reads, by the number of nodes; the ratio of their rates at
/// the last number, 100 MB or more, is the row.
void add_reading(const std::string& what, const std::string& target, const std::function<std::string(int64_t)>& write,
                 const std::function<void(const std::string&)>& read,
                 const std::function<void(const std::string&)>& plain) {
  for (const int64_t nodes : {kMostNodes / 100, kMostNodes / 10, kMostNodes / 2}) {
    const std::string name = what + ", " + std::to_string(nodes) + " nodes";
    benchmark::RegisterBenchmark(name.c_str(),
                                 [=](benchmark::State& state) {
                                   const std::string text = write(nodes);
                                   const double megabytes = static_cast<double>(text.size()) * 1e-6;
                                   std::vector<double> each, ratio;
                                   for (auto _ : state) {
                                     const double r = seconds([&] { read(text); }, 1),
                                                  p = seconds([&] { plain(text); }, 1);
                                     state.SetIterationTime(r);
                                     each.push_back(r);
                                     ratio.push_back(p / r);
                                   }
                                   state.counters["MB"] = megabytes;
                                   state.counters["MB/s"] = megabytes / median(each);
                                   state.counters["of_parser"] = median(ratio);
                                   if (nodes != kMostNodes / 2) return;
                                   char measured[64];
                                   std::snprintf(measured, sizeof measured, "%.2f of the parser's (%.0f MB/s)",
                                                 median(ratio), megabytes / median(each));
                                   keep_table_row({name, target, "", measured, median(ratio) >= 0.3});
                                 })
        ->UseManualTime()
        ->Iterations(3)
        ->Unit(benchmark::kMillisecond);
  }
}

void add_all() {
  const auto tensorflow = [](const OpGraph& g) { return colour_tensorflow(g, OpLists::tf_2_3()); };
  const auto recipe = [r = recipe_of_50_patterns()](const OpGraph& g) { return colour_recipe(g, r); };
  const auto of = [](const char* text) {
    return [m = Mechanism::parse(text)](const OpGraph& g) { return m.colour(g); };
  };
  const std::pair<std::string, Colour> mechanisms[] = {{"tensorflow 2.3", tensorflow},
                                                       {"recipe of 50 patterns", recipe},
                                                       {"policy mixed_float16", of("policy=mixed_float16")},
                                                       {"level O1", of("level=O1")},
                                                       {"level O2", of("level=O2")}};
  add_growth("op_graph", 1000000, [](const Case& c) { benchmark::DoNotOptimize(op_graph(c.graph, kFetches)); });
  for (const auto& [name, colour] : mechanisms)
    add_growth("colour, " + name, 1000000,
               [colour = colour](const Case& c) { benchmark::DoNotOptimize(colour(c.picture)); });
  add_growth("colour and plan_casts, tensorflow 2.3", 1000000,
             [=](const Case& c) { benchmark::DoNotOptimize(plan_casts(c.picture, tensorflow(c.picture))); });
  add_growth("picture, colour, plan, apply, tensorflow 2.3", 1000000,
             [=](const Case& c) { benchmark::DoNotOptimize(rewrite_with(c.graph, kFetches, tensorflow)); });
  for (const auto& [name, colour] : mechanisms) add_whole(name, kGoalNodes, colour, name.starts_with("recipe") ? 2 : 1);
  add_whole("tensorflow 2.3", kMostNodes, tensorflow, 2.5);
  add_reading(
      "reading JSON", {}, [](int64_t nodes) { return graph_json(case_of(nodes).graph); },
      [](const std::string& text) { benchmark::DoNotOptimize(read_graph_json(text)); },
      [](const std::string& text) { benchmark::DoNotOptimize(nlohmann::json::parse(text)); });
  add_reading(
      "reading a GraphDef", ">= 0.30", graph_def_of,
      [](const std::string& bytes) { benchmark::DoNotOptimize(GraphDefFile::parse_binary(bytes)); },
      [](const std::string& bytes) {
        graph_def::GraphDef plain;
        if (!plain.ParseFromString(bytes)) std::abort();
        benchmark::DoNotOptimize(plain);
      });
}

}  // namespace

int main(int argc, char** argv) {
  add_all();
  return softamp::bench::run(argc, argv);
}
