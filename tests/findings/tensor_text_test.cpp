// Tensors as text.
#include "softamp/findings/tensor_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace softamp {
namespace {

Tensor counting(const Shape& shape, DType dtype = DType::kInt32) {
  std::vector<double> values(static_cast<size_t>(shape.elements()));
  std::iota(values.begin(), values.end(), 0.0);
  return Tensor::from_values(dtype, shape, values);
}

TEST(TensorText, ShapesFromScalarToNested) {
  EXPECT_EQ(text_of(TensorType{DType::kFloat16, {2, 3}}), "float16 [2,3]");
  EXPECT_EQ(tensor_text(counting({})), "int32 [] 0");
  EXPECT_EQ(tensor_text(counting({3})), "int32 [3] [0, 1, 2]");
  EXPECT_EQ(tensor_text(counting({2, 2}, DType::kFloat16)), "float16 [2,2] [[0, 1], [2, 3]]");
  EXPECT_EQ(tensor_text(counting({2, 1, 2})), "int32 [2,1,2] [[[0, 1]], [[2, 3]]]");
}

TEST(TensorText, EmptyTensors) {
  EXPECT_EQ(tensor_text(counting({0})), "int32 [0] []");
  EXPECT_EQ(tensor_text(counting({2, 0})), "int32 [2,0] [[], []]");
  EXPECT_EQ(tensor_text(counting({0, 2})), "int32 [0,2] []");
}

TEST(TensorText, LongAxesShowTheirEnds) {
  EXPECT_EQ(tensor_text(counting({6})), "int32 [6] [0, 1, 2, 3, 4, 5]") << "2 * edge elements stand whole";
  EXPECT_EQ(tensor_text(counting({7})), "int32 [7] [0, 1, 2, ..., 4, 5, 6]");
  EXPECT_EQ(tensor_text(counting({100}), 1), "int32 [100] [0, ..., 99]");
  EXPECT_EQ(tensor_text(counting({3, 4}), 1), "int32 [3,4] [[0, ..., 3], ..., [8, ..., 11]]");
  EXPECT_EQ(tensor_text(counting({4}), 2), "int32 [4] [0, 1, 2, 3]");
  EXPECT_EQ(tensor_text(counting({4}), 0), "int32 [4] [...]") << "reads nothing past the end";
  EXPECT_EQ(tensor_text(counting({}), 0), "int32 [] 0");
}

TEST(TensorText, ShortestDecimalsOfEachType) {
  const std::vector<double> values = {0.1, -0.0, INFINITY, -INFINITY, 65504};
  EXPECT_EQ(tensor_text(Tensor::from_values(DType::kFloat16, {5}, values)), "float16 [5] [0.1, -0, inf, -inf, 65504]");
  EXPECT_EQ(tensor_text(Tensor::from_values(DType::kFloat32, {2}, std::vector{0.1, 1e30})), "float32 [2] [0.1, 1e+30]");
  EXPECT_EQ(tensor_text(Tensor::from_values(DType::kFloat64, {1}, std::vector{0.1})), "float64 [1] [0.1]");
  EXPECT_EQ(tensor_text(Tensor::from_values(DType::kBFloat16, {1}, std::vector{3.140625})), "bfloat16 [1] [3.14]");
  EXPECT_EQ(tensor_text(Tensor::from_values(DType::kBool, {2}, std::vector<double>{1, 0})), "bool [2] [true, false]");
  EXPECT_EQ(tensor_text(Tensor::from_values(DType::kInt32, {1}, std::vector{-2147483648.0})),
            "int32 [1] [-2147483648]");
  EXPECT_EQ(tensor_text(Tensor::full(DType::kFloat16, {1}, NAN)), "float16 [1] [nan]");
}

}  // namespace
}  // namespace softamp
