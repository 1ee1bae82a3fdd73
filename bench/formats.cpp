// Every format x mode x variant in bulk, from fp32 and from binary64, one core, 16 Ki elements: at least 0.3 G
// elements/s on AVX-512, none by the scalar reference. Prints the slowest.
#include <cmath>

#include "bench/measure.h"
#include "bench/normal_values.h"
#include "softamp/tensor/bulk.h"

namespace {

using namespace softamp;
using namespace softamp::bench;

struct Named {
  const char* name;
  FloatFormat format;
};
const Named kFormats[] = {{"fp16", kFp16},
                          {"bf16", kBf16},
                          {"tf32", kTf32},
                          {"fp32", kFp32},
                          {"e4m3", kE4m3},
                          {"e5m2", kE5m2},
                          {"f143", kF143},
                          {"f152", kF152},
                          {"e6p9", FloatFormat::ieee(6, 9)},
                          {"e2p2", FloatFormat::ieee(2, 2)}};

std::vector<std::pair<std::string, RoundingPolicy>> policies() {
  std::vector<std::pair<std::string, RoundingPolicy>> all;
  const char* const modes[] = {"nearest-even", "nearest-away", "zero", "up", "down"};
  for (int m = 0; m < 5; ++m) all.push_back({modes[m], RoundingPolicy::ieee(static_cast<RoundingMode>(m))});
  const char* const variants[] = {"carry", "half", "rne", "odd"};
  for (int v = 0; v < 4; ++v)
    for (const int bits : {13, 16, 24, 32}) {
      RoundingPolicy p = RoundingPolicy::stochastic_carry(bits);
      p.variant = static_cast<StochasticVariant>(v);
      all.push_back({std::string(variants[v]) + " " + std::to_string(bits), p});
    }
  return all;
}

double slowest = 1e9;

/// Best rate of 15 rounds: what the code can do, whatever else the machine does.
void measure(benchmark::State& state, const std::string& name, const std::function<void()>& f) {
  double best = 0;
  for (auto _ : state) {
    const double s = seconds(f, 4);
    state.SetIterationTime(s);
    best = std::max(best, 4 * static_cast<double>(kInCache) / s * 1e-9);
  }
  state.counters["G/s"] = best;
  if (best >= slowest) return;
  slowest = best;
  char measured[32];
  std::snprintf(measured, sizeof measured, "%.2f G/s", best);
  rows() = {{"slowest format x mode x variant: " + name + " (" + bulk::name(bulk::best_instruction_set()) + ")",
             ">= 0.30 G/s", "", measured, best >= 0.3}};
}

template <class T>
const Array<T>& input() {
  static const Array<T> values = [] {
    Array<T> v(kInCache);
    fill_normal<T>(v);
    return v;
  }();
  return values;
}

template <class T>
void add_rounding(const char* source) {
  for (const Named& f : kFormats)
    for (const auto& [label, policy] : policies()) {
      const std::string name = std::string(f.name) + "/" + label + "/from " + source;
      const Semantics s = Semantics::ieee(policy);
      bulk::BulkOptions o;
      o.threads = 1;
      const FloatFormat format = f.format;
      const auto once = [=] {
        static Array<uint32_t> words(kInCache);
        static Array<uint16_t> halves(kInCache);
        static Array<uint8_t> bytes(kInCache);
        if (format.storage_bits() > 16)
          bulk::round(input<T>(), format, std::span<uint32_t>(words), s, o);
        else if (format.storage_bits() > 8)
          bulk::round(input<T>(), format, std::span<uint16_t>(halves), s, o);
        else
          bulk::round(input<T>(), format, std::span<uint8_t>(bytes), s, o);
      };
      benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) { measure(state, name, once); })
          ->UseManualTime()
          ->Iterations(15)
          ->Unit(benchmark::kMicrosecond);
    }
}

void add_arithmetic() {
  using Binary = void (*)(std::span<const uint16_t>, std::span<const uint16_t>, std::span<uint16_t>, const Semantics&,
                          const bulk::BulkOptions&);
  const std::pair<const char*, Binary> operations[] = {
      {"add", bulk::add}, {"mul", bulk::mul}, {"div", bulk::div}, {"fma", nullptr}};
  for (const auto& [operation, function] : operations)
    for (const auto& [label, policy] : policies()) {
      const std::string name = std::string("fp16 ") + operation + "/" + label;
      const Semantics s = Semantics::ieee(policy);
      const Binary f = function;
      const auto once = [=] {
        static const Array<uint16_t> a = [] {
          Array<uint16_t> codes(kInCache);
          bulk::round(input<float>(), kFp16, std::span<uint16_t>(codes), Semantics::ieee());
          return codes;
        }();
        static Array<uint16_t> b(a.rbegin(), a.rend()), out(kInCache);
        bulk::BulkOptions o;
        o.threads = 1;
        if (f)
          f(a, b, out, s, o);
        else
          bulk::fma(a, b, a, out, s, o);
      };
      benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) { measure(state, name, once); })
          ->UseManualTime()
          ->Iterations(15)
          ->Unit(benchmark::kMicrosecond);
    }
}

}  // namespace

int main(int argc, char** argv) {
  add_rounding<float>("fp32");
  add_rounding<double>("fp64");
  add_arithmetic();
  return softamp::bench::run(argc, argv);
}
