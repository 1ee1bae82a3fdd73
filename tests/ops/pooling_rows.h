// The test rows of pooling and its gradients (node_rows.h).
#pragma once

#include "tests/ops/node_row.h"

namespace softamp::test {

inline const std::vector<NodeRow>& pooling_rows() {
  using namespace rows_detail;
  static const Attributes apart{{"ksize", Ints{1, 2, 2, 1}}, {"strides", Ints{1, 2, 2, 1}}, {"padding", "SAME"}};
  static const Attributes overlap{{"ksize", Ints{1, 3, 2, 1}}, {"strides", Ints{1, 1, 2, 1}}, {"padding", "VALID"}};
  static const std::vector<NodeRow> kRows = {
      {"MaxPool", {{{1, 3, 4, 2}}}, apart},
      {"MaxPool", {{{1, 4, 4, 1}}}, overlap},
      {"MaxPoolGrad", {{{1, 3, 4, 2}}, {{1, 2, 2, 2}}, {{1, 2, 2, 2}}}, apart},
      {"MaxPoolGrad", {{{1, 4, 4, 1}}, {{1, 2, 2, 1}}, {{1, 2, 2, 1}}}, overlap},
      {"AvgPool", {{{1, 3, 4, 2}}}, apart},
      {"AvgPool", {{{1, 4, 4, 1}}}, overlap},
      {"AvgPoolGrad", {{{1, 2, 2, 2}}}, with(apart, "orig_input_shape", Ints{1, 3, 4, 2})},
  };
  return kRows;
}

}  // namespace softamp::test
