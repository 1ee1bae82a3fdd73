// Products of float64: every number of columns, from operands behind which there is nothing, against the definition.
#include "tests/emu/reduction_check.h"

namespace softamp::test {
namespace {

TEST(DoubleProduct, AnyNumberOfColumns) {
  const auto doubles = [](const Shape& shape, uint64_t seed) {
    Mixer mix(seed);
    std::vector<double> all(static_cast<size_t>(shape.elements()));
    for (double& x : all) x = static_cast<double>(static_cast<int64_t>(mix())) * 0x1p-60;
    return Tensor::from_values(DType::kFloat64, shape, all);
  };
  const int64_t rows = 3, k = 6;
  for (int64_t columns = 1; columns <= 17; ++columns)
    for (const bool across_a : {false, true})
      for (const bool across_b : {false, true}) {
        const Tensor a = doubles(across_a ? Shape{k, rows} : Shape{rows, k}, 1);
        const Tensor b = doubles(across_b ? Shape{columns, k} : Shape{k, columns}, 2);
        const auto result = [&](bool reference) {
          return run_op("MatMul", {{"transpose_a", across_a}, {"transpose_b", across_b}}, {&a, &b},
                        settings_for(Semantics::ieee(), reference));
        };
        EXPECT_TRUE(result(false).outputs[0].same_bits(result(true).outputs[0])) << columns;
      }
}

}  // namespace
}  // namespace softamp::test
