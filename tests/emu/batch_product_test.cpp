// Products of a batch of small matrices, which threads share out whole: values, flags and lowest index equal the
// bodies'.
#include "emu/products/product.h"
#include "tests/emu/convolution_check.h"

namespace softamp::test {
namespace {

OpResult run_product_node(const Node& node, const std::vector<Codes>& operands, const emu::EngineSettings& settings,
                          bool with_status = true) {
  return run_node(node, operands, settings, factory(emu::product_kernels(), node.op), with_status);
}

TEST(BatchProduct, SharedMatrices) {
  Mixer mix(53);
  for (int number = 0; number < 4 && !HasFailure(); ++number) {
    const DType type = number % 2 ? DType::kFloat32 : DType::kFloat16;
    const int64_t batch = 37 + static_cast<int64_t>(mix() % 9);
    // One batch of the second operand for all matrices, or one each.
    std::vector<Codes> operands = {Codes({type, Shape{batch, 41, 49}}),
                                   Codes({type, number == 3 ? Shape{1, 49, 43} : Shape{batch, 49, 43}})};
    const emu::EngineSettings settings = random_trial(operands, mix, static_cast<TensorData>(number));
    const Node node = make_node("BatchMatMulV2", operands, {});
    expect_reference(run_product_node, node, operands, settings, number, "case " + std::to_string(number));
  }
}

}  // namespace
}  // namespace softamp::test
