// Histograms of exponents against memcpy of as many bytes: half of them read, half written. One thread. Commands and
// results: RESULTS.md.
#include <cstring>
#include <memory>

#include "bench/measure.h"
#include "bench/normal_values.h"
#include "bench/tables.h"
#include "softamp/pictures/exponent_histogram.h"

namespace {

using namespace softamp;
using namespace softamp::bench;

/// Normally distributed values, as weights and gradients are; of activations the negative ones are 0.
Tensor drawn(DType dtype, int64_t n, bool activations) {
  std::vector<double> values(4096);
  fill_normal<double>(values);
  for (double& x : values) x = 0.02 * (activations ? std::max(0.0, x) : x);
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
