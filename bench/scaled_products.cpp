// ScaledMatMul against MatMul of float32, in the same run: G multiply-adds a second, quantising both operands included,
// one thread. Goals, in MatMul's rate: chains of dequantised values 0.4 (NVFP4 0.15), blocks 0.08 (0.03). Commands and
// results: RESULTS.md.
#include <random>

#include "bench/measure.h"
#include "bench/sets.h"
#include "softamp/graph/executor.h"

namespace {

using namespace softamp;
using namespace softamp::bench;

struct Product {
  std::unique_ptr<Executor> executor;
  Tensor a, b;
  int64_t extent;

  void run() { executor->run({{"a", &a}, {"b", &b}}, {"product"}); }
};

Tensor numbers(int64_t extent, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<double> all;
  for (int64_t i = 0; i < extent * extent; ++i) {
    const auto x = static_cast<uint32_t>(random());
    all.push_back((static_cast<double>(x >> 8) * 0x1p-24 - 0.5) * (x & 3 ? 1.0 : 0.0625));
  }
  return Tensor::from_values(DType::kFloat32, Shape{extent, extent}, all);
}

Product product(int64_t extent, const std::string& op, Attributes attributes, bulk::InstructionSet isa) {
  GraphBuilder g;
  const Shape square{extent, extent};
  const Port a = g.placeholder("a", DType::kFloat32, square), b = g.placeholder("b", DType::kFloat32, square);
  attributes["transpose_b"] = true;
  g.add(op, {a, b}, std::move(attributes), "product");
  ExecutorOptions options;
  options.threads = 1;
  options.isa = isa;
  return {make_executor(g.build(), options), numbers(extent, 1), numbers(extent, 2), extent};
}

/// `goal`: of MatMul's rate; 0: none.
void add_product(const std::string& accumulation, const std::string& format, int64_t extent, double goal,
                 bulk::InstructionSet isa) {
  std::string name = accumulation + " " + format + " " + std::to_string(extent) + "^3";
  if (isa != bulk::InstructionSet::kAuto) name += std::string(" ") + bulk::name(isa);
  benchmark::RegisterBenchmark(
      name.c_str(),
      [=](benchmark::State& state) {
        Product plain = product(extent, "MatMul", {}, isa);
        Product scaled = product(extent, "ScaledMatMul",
                                 {{"accumulation", accumulation}, {"a_format", format}, {"b_format", format}}, isa);
        plain.run(), scaled.run();
        std::vector<double> ratios, rates;
        const double products = static_cast<double>(extent * extent * extent);
        for (auto _ : state) {
          const double of_plain = seconds([&] { plain.run(); }, 1), s = seconds([&] { scaled.run(); }, 1);
          state.SetIterationTime(s);
          rates.push_back(products / s * 1e-9);
          ratios.push_back(of_plain / s);
        }
        const double ratio = median(ratios);
        state.counters["G_MAC/s"] = median(rates);
        state.counters["x_MatMul"] = ratio;
        char target[48], measured[64];
        std::snprintf(target, sizeof target, goal > 0 ? ">= %.2f x MatMul" : "", goal);
        std::snprintf(measured, sizeof measured, "%.3f G MAC/s, %.3f x MatMul", median(rates), ratio);
        keep_table_row({name, target, "", measured, ratio >= goal});
      })
      ->UseManualTime()
      ->Iterations(5)
      ->Unit(benchmark::kMillisecond);
}

}  // namespace

int main(int argc, char** argv) {
  for (const auto isa : bench::shown_sets()) {
    add_product("fp32_chain", "mxfp8_e4m3", 512, 0.4, isa);
    add_product("fp32_chain", "nvfp4", 512, 0.15, isa);
    add_product("block", "mxfp8_e4m3", 512, 0.08, isa);
    add_product("block", "mxfp4", 512, 0.08, isa);
    add_product("block", "nvfp4", 512, 0.03, isa);
    for (const char* accumulation : {"exact", "half_partials", "hopper", "blackwell"})
      add_product(accumulation, "mxfp8_e4m3", 128, 0, isa);
  }
  return run(argc, argv);
}
