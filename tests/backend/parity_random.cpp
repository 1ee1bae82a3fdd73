// Random operations: every one on every dtype, in several shapes and ranges, over seeds, replicas, steps and rounds.
#include "parity_elements.h"

namespace softamp::parity {
namespace {

void everything(Suite& suite, const Setting& setting, const std::string& what, int64_t n, int steps) {
  const std::string name = what + " " + setting.name;
  if (!suite.wants(name)) return;
  Elements e(name, setting);
  GraphBuilder& b = e.builder;
  for (const DType t : {DType::kFloat16, DType::kBFloat16, DType::kFloat32}) {
    const auto add = [&](const char* op, const Shape& shape, const char* first, double a, const char* second,
                         double c) {
      b.add(op, {}, {{"dtype", t}, {"shape", shape}, {first, a}, {second, c}});
    };
    add("RandomUniform", Shape{n}, "minval", 0.0, "maxval", 1.0);
    add("RandomUniform", Shape{n, 3}, "minval", -70000.1, "maxval", 70000.3);  // overflows in fp16
    add("RandomUniform", Shape{n}, "minval", 0.0, "maxval", 1e-6);
    add("RandomUniform", Shape{n}, "minval", 0.0, "maxval", 1e-38);
    for (const char* op : {"RandomStandardNormal", "TruncatedNormal"}) {
      add(op, Shape{1, n}, "mean", 0.0, "stddev", 1.0);
      add(op, Shape{n}, "mean", 3.3, "stddev", 0.07);
      add(op, Shape{n}, "mean", 0.0, "stddev", 3e38);
      add(op, Shape{n}, "mean", 0.5, "stddev", 0.0);
    }
  }
  const auto integers_in = [&](int64_t low, int64_t high) {
    b.add("RandomUniformInt", {}, {{"shape", Shape{n}}, {"minval", low}, {"maxval", high}});
  };
  integers_in(0, 10);
  integers_in(INT32_MIN, INT32_MAX);
  integers_in(-3, -2);
  e.steps = steps;
  e.run(suite);
}

}  // namespace

void random_values(Suite& suite) {
  for (Setting setting : settings()) {
    everything(suite, setting, "all", suite.elements() + 1, suite.elements() > 100000 ? 1 : 3);
    for (const uint64_t seed : {uint64_t{0}, ~uint64_t{0}}) {
      setting.options.seed = seed;
      setting.options.replica = seed ? 255 : 1;
      everything(suite, setting, "seed " + std::to_string(seed), 100, 3);
    }
  }
  for (const int64_t n : {0, 1, 7, 8, 9, 1023}) everything(suite, settings()[2], std::to_string(n) + " elements", n, 1);
  for (const Setting& setting : odd_settings()) everything(suite, setting, "odd", 301, 1);
}

}  // namespace softamp::parity
