// What an operation costs beside its arithmetic: a graph of 1,000 small operations (64 halves each: AddV2, Mul, Relu in
// turn, and every fourth an 8 x 8 MatMul), in microseconds an operation. Goal: under 3. Commands and results:
// RESULTS.md.
#include "softamp/graph/executor.h"
#include "bench/measure.h"

namespace {

using namespace softamp;
using namespace softamp::bench;

constexpr int kOperations = 1000;
constexpr double kMost = 3;  // microseconds an operation

Graph chain(bool products) {
  GraphBuilder b;
  const Port c = b.constant(Tensor::full(DType::kFloat16, {8, 8}, 0.25), "c");
  const Port h = b.constant(Tensor::full(DType::kFloat16, {8, 8}, 0.125), "h");
  Port p = b.placeholder("x", DType::kFloat16, {8, 8});
  for (int i = 0; i < kOperations; ++i) switch (products ? i % 4 : i % 3) {
      case 0: p = b.add("AddV2", {p, c}); break;
      case 1: p = b.add("Mul", {p, h}); break;
      case 2: p = b.add("Relu", {p}); break;
      default: p = b.add("MatMul", {p, h}); break;
    }
  b.add("Identity", {p}, {}, "y");
  return b.build();
}

void measure(benchmark::State& state, const std::string& name, bool products, const ExecutorOptions& options,
             bool has_goal) {
  const auto executor = make_executor(chain(products), options);
  const Tensor x = Tensor::full(DType::kFloat16, {8, 8}, 1);
  const Feed feeds[] = {{"x", &x}};
  const std::string fetches[] = {"y"};
  const auto once = [&] { benchmark::DoNotOptimize(executor->run(feeds, fetches)); };
  once();
  std::vector<double> each;
  for (auto _ : state) {
    const double s = seconds(once, 1);
    state.SetIterationTime(s);
    each.push_back(s / kOperations * 1e6);
  }
  const double value = median(each);
  state.counters["us/op"] = value;
  if (!has_goal) return;
  char target[32], measured[32];
  std::snprintf(target, sizeof target, "< %.0f us", kMost);
  std::snprintf(measured, sizeof measured, "%.2f us", value);
  keep_table_row({name, target, "", measured, value < kMost});
}

void add_all() {
  struct Variant {
    const char* name;
    bool flags, stochastic, statistics, goal;
  };
  for (const Variant& v :
       {Variant{"nearest", false, false, false, true}, Variant{"nearest, flags", true, false, false, true},
        Variant{"stochastic", false, true, false, true}, Variant{"stochastic, flags", true, true, false, true},
        Variant{"nearest, statistics", false, false, true, false}})
    for (const bool products : {false, true}) {
      ExecutorOptions o;
      o.status = v.flags;
      o.statistics = v.statistics;
      if (v.stochastic) o.config.floating_point_behaviour.esr = StochasticRoundingBehaviour::kOn;
      const std::string name =
          std::string(products ? "1,000 small operations with MatMul/" : "1,000 element-wise operations/") + v.name;
      benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& s) { measure(s, name, products, o, v.goal); })
          ->UseManualTime()
          ->Iterations(101)
          ->Unit(benchmark::kMicrosecond);
    }
  // What preparing costs: kernels, plan, buffers.
  benchmark::RegisterBenchmark("make_executor and first run", [](benchmark::State& s) {
    const Graph graph = chain(true);
    const Tensor x = Tensor::full(DType::kFloat16, {8, 8}, 1);
    const Feed feeds[] = {{"x", &x}};
    const std::string fetches[] = {"y"};
    for (auto _ : s) benchmark::DoNotOptimize(make_executor(graph)->run(feeds, fetches));
  })->Unit(benchmark::kMicrosecond);
}

}  // namespace

int main(int argc, char** argv) {
  add_all();
  return softamp::bench::run(argc, argv);
}
