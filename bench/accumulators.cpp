// Products whose accumulator is a tensor core (numerics/products/tensor_core.h): multiply-adds a second, one thread.
// Goal: 0.2 G a core. Commands and results: RESULTS.md.
#include <random>

#include "bench/measure.h"
#include "bench/sets.h"
#include "emu/products/product.h"

namespace {

using namespace softamp;
using namespace softamp::bench;

constexpr double kLeast = 0.2;

/// What a tensor core is fed, and whether its accumulator is fp16.
struct Way {
  TensorCoreOperands operands = TensorCoreOperands::kOwn;
  bool halves = false;
};

void add_accumulator(Accumulator accumulator, const FloatFormat& format, const char* format_name, size_t extent,
                     bulk::InstructionSet isa, Way way = {}) {
  kernel::ProductRules rules;
  rules.operands = way.operands;
  rules.half_accumulator = way.halves;
  rules.accumulator = accumulator;
  rules.a = rules.b = format;
  rules.output = kFp16;
  std::string name = std::string(name_of(accumulator)) + " " + format_name + " " + std::to_string(extent) + "^3";
  if (way.operands != TensorCoreOperands::kOwn) name += std::string(" as ") + name_of(way.operands);
  if (way.halves) name += " into fp16";
  if (isa != bulk::InstructionSet::kAuto) name += std::string(" ") + bulk::name(isa);
  benchmark::RegisterBenchmark(
      name.c_str(),
      [=](benchmark::State& state) {
        const Semantics semantics = Semantics::ieee();
        const emu::ProductPlan plan(rules, semantics, isa);
        const emu::Schedule schedule = emu::Schedule::plain(extent, 16);
        std::vector<uint32_t> a(extent * extent), b(a.size()), out(a.size());
        std::mt19937 random(1);
        for (auto* v : {&a, &b})
          for (size_t i = 0; i < v->size(); ++i) {  // about +-1, of several exponents
            const auto x = static_cast<uint32_t>(random());
            const float f = (static_cast<float>(x >> 8) * 0x1p-24f - 0.5f) * (x & 3 ? 1.0f : 0.0625f);
            const uint32_t code = static_cast<uint32_t>(fp::from_float(format, f));
            if (format.storage_bits() > 16)
              (*v)[i] = code;
            else
              std::memcpy(reinterpret_cast<char*>(v->data()) + 2 * i, &code, 2);
          }
        kernel::Environment environment;
        environment.semantics = semantics;
        const emu::MatMulOperands operands(plan, a.data(), false, b.data(), false, extent, extent, extent);
        const double products = static_cast<double>(extent * extent * extent);
        const size_t calls = std::max<size_t>(1, (size_t{1} << 22) / (extent * extent * extent));
        std::vector<double> rates;
        const auto once = [&] {
          emu::run_product(plan, {extent, extent, &schedule, &operands, out.data()}, environment, {1, nullptr});
        };
        once();
        for (auto _ : state) {
          const double s = seconds(once, calls);
          state.SetIterationTime(s);
          rates.push_back(products * static_cast<double>(calls) / s * 1e-9);
        }
        const double rate = median(rates);
        state.counters["G_MAC/s"] = rate;
        char target[32], measured[32];
        std::snprintf(target, sizeof target, ">= %.1f G MAC/s", kLeast);
        std::snprintf(measured, sizeof measured, "%.2f G MAC/s", rate);
        keep_table_row({name, target, "", measured, rate >= kLeast});
      })
      ->UseManualTime()
      ->Iterations(9)
      ->Unit(benchmark::kMicrosecond);
}

}  // namespace

int main(int argc, char** argv) {
  using enum Accumulator;
  for (const auto isa : bench::shown_sets()) {
    for (const Accumulator a : {kTensorCoreVolta, kTensorCoreAmpere, kTensorCoreHopper, kTensorCoreBlackwell})
      add_accumulator(a, kFp16, "fp16", 256, isa);
    add_accumulator(kTensorCoreAmpere, kBf16, "bf16", 256, isa);
    add_accumulator(kTensorCoreHopper, kFp32, "tf32", 256, isa);
    add_accumulator(kTensorCoreHopper, kFp16, "fp16", 16, isa);
    add_accumulator(kTensorCoreAmpere, kFp16, "fp16", 256, isa, {TensorCoreOperands::kOwn, true});
    for (const Accumulator a : {kTensorCoreAda, kTensorCoreHopper, kTensorCoreBlackwell, kTensorCoreHopperMma})
      add_accumulator(a, kFp16, "fp16", 256, isa, {TensorCoreOperands::kAsE4m3, false});
    add_accumulator(kTensorCoreAda, kFp16, "fp16", 256, isa, {TensorCoreOperands::kAsE5m2, true});
    add_accumulator(kTensorCoreHopperMma, kFp16, "fp16", 256, isa, {TensorCoreOperands::kAsE5m2, true});
  }
  return run(argc, argv);
}
