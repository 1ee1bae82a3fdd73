// Random operations: every one on every dtype, in several shapes and ranges, over seeds, replicas, steps and rounds.
#include "parity_elements.h"
#include "tests/ops/random_rows.h"

namespace softamp::parity {
namespace {

void everything(Suite& suite, const Setting& setting, const std::string& what, int64_t n, int steps) {
  const std::string name = what + " " + setting.name;
  if (!suite.wants(name)) return;
  Elements e(name, setting);
  GraphBuilder& b = e.builder;
  const Shape shapes[] = {Shape{n}, Shape{n, 3}, Shape{1, n}};
  size_t next = 0;
  for (const test::RandomRow& row : test::random_rows())
    for (const Attributes& range : row.ranges)
      for (const Attributes& attributes : row.nodes(range, shapes[next++ % 3])) b.add(row.op, {}, attributes);
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
