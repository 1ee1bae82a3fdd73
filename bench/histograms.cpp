// Histograms of exponents against memcpy of as many bytes: half of them read, half written. One thread. Commands and
// results: RESULTS.md.
#include <cstring>
#include <memory>
#include <random>

#include "bench/measure.h"
#include "bench/tables.h"
#include "softamp/report/exponent_histogram.h"

namespace {

using namespace softamp;
using namespace softamp::bench;

/// Normally distributed values, as weights and gradients are; of activations the negative ones are 0.
Tensor drawn(DType dtype, int64_t n, bool activations) {
  std::mt19937 random(1);
  std::normal_distribution<double> normal(0, 0.02);
  std::vector<double> values(4096);
  for (double& x : values) x = activations ? std::max(0.0, normal(random)) : normal(random);
  const Tensor some = Tensor::from_values(dtype, {4096}, values);
  Tensor t(TensorType{dtype, {n}});
  for (size_t at = 0; at < t.bytes(); at += some.bytes())
    std::memcpy(static_cast<char*>(t.data()) + at, some.data(), std::min(some.bytes(), t.bytes() - at));
  return t;
}

}  // namespace

int main(int argc, char** argv) {
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16, DType::kFloat32})
    for (const bool activations : {false, true}) {
      const auto tensor = std::make_shared<Tensor>(drawn(dtype, int64_t{16} << 20, activations));
      const auto subject = [tensor] {
        ExponentHistogram h = exponents_of(tensor->type(), tensor->data());
        benchmark::DoNotOptimize(h);
      };
      add(std::string("Histogram ") + name_of(dtype) + (activations ? " activations" : " gradients"),
          tensor->bytes() / 8, 1, subject);
    }
  return softamp::bench::run(argc, argv);
}
