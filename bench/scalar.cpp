// Scalar unit operations on fp16 codes, result and flags used: at least 150 million a second.
#include <random>

#include "bench/measure.h"
#include "softamp/numerics/convert.h"
#include "softamp/numerics/operations.h"

namespace {

using namespace softamp;
using namespace softamp::bench;

constexpr size_t kOperands = 4096;

struct Operands {
  Array<uint16_t> a, b, c;
  Operands() : a(kOperands), b(kOperands), c(kOperands) {
    std::mt19937 random(1);
    for (size_t i = 0; i < kOperands; ++i)  // finite, exponents about 1
      for (Array<uint16_t>* v : {&a, &b, &c}) {
        const auto x = static_cast<uint32_t>(random());
        (*v)[i] = static_cast<uint16_t>(0x3000u + (x >> 18 & 0x1FFFu) + (x >> 16 & 0x8000u));
      }
  }
};

template <class Operation>
void add_operation(const char* name, const Semantics& s, const Operation& operation) {
  static const Operands o;
  const std::string label = std::string("scalar/") + name;
  benchmark::RegisterBenchmark(
      label.c_str(),
      [=](benchmark::State& state) {
        std::vector<double> rates;
        uint64_t codes = 0;
        uint8_t flags = 0;
        for (auto _ : state) {
          const double t = seconds(
              [&] {
                for (size_t i = 0; i < kOperands; ++i) {
                  const Rounded r = operation(o.a[i], o.b[i], o.c[i], s, static_cast<uint32_t>(i * 2654435761u));
                  codes += r.code;
                  flags = static_cast<uint8_t>(flags | r.flags);
                }
              },
              16);
          state.SetIterationTime(t);
          rates.push_back(16 * kOperands / t * 1e-6);
        }
        benchmark::DoNotOptimize(codes);
        benchmark::DoNotOptimize(flags);
        const double rate = median(rates);
        state.counters["M/s"] = rate;
        char measured[32];
        std::snprintf(measured, sizeof measured, "%.0f M/s", rate);
        keep_table_row({label, ">= 150 M/s", "260 to 320 without flags", measured, rate >= 150});
      })
      ->UseManualTime()
      ->Iterations(51)
      ->Unit(benchmark::kMicrosecond);
}

template <class Policy>
void add_all(const char* suffix, const Policy& s) {
  const auto named = [&](const char* operation) { return std::string(operation) + " " + suffix; };
  add_operation(named("add").c_str(), s, [](uint64_t a, uint64_t b, uint64_t, const Semantics& q, uint32_t w) {
    return fp::add(kFp16, a, b, q, w);
  });
  add_operation(named("mul").c_str(), s, [](uint64_t a, uint64_t b, uint64_t, const Semantics& q, uint32_t w) {
    return fp::mul(kFp16, a, b, q, w);
  });
  add_operation(named("div").c_str(), s, [](uint64_t a, uint64_t b, uint64_t, const Semantics& q, uint32_t w) {
    return fp::div(kFp16, a, b, q, w);
  });
  add_operation(named("fma").c_str(), s, [](uint64_t a, uint64_t b, uint64_t c, const Semantics& q, uint32_t w) {
    return fp::fma(kFp16, a, b, c, q, w);
  });
  add_operation(named("fp16 to e4m3").c_str(), s, [](uint64_t a, uint64_t, uint64_t, const Semantics& q, uint32_t w) {
    return fp::convert(kFp16, kE4m3, a, q, w);
  });
}

}  // namespace

int main(int argc, char** argv) {
  add_all("ieee nearest", Semantics::ieee());
  add_all("ipu stochastic", Semantics::ipu(FloatingPointBehaviour{}));
  return run(argc, argv);
}
