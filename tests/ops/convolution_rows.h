// The test rows of convolutions and their gradients (node_rows.h).
#pragma once

#include "tests/ops/node_row.h"

namespace softamp::test {

inline const std::vector<NodeRow>& convolution_rows() {
  using namespace rows_detail;
  static const Attributes unit{{"strides", Ints{1, 1, 1, 1}}, {"padding", "SAME"}};
  static const Attributes steps{{"strides", Ints{1, 2, 1, 1}}, {"padding", "VALID"}, {"dilations", Ints{1, 1, 2, 1}}};
  static const std::vector<NodeRow> kRows = {
      {"Conv2D", {{{1, 4, 4, 2}}, {{3, 3, 2, 2}}}, unit},
      {"Conv2D", {{{1, 5, 5, 2}}, {{2, 2, 2, 3}}}, steps},
      {"Conv2DBackpropInput", {{{3, 3, 2, 2}}, {{1, 4, 4, 2}}}, with(unit, "input_sizes", Ints{1, 4, 4, 2})},
      {"Conv2DBackpropFilter", {{{1, 4, 4, 2}}, {{1, 4, 4, 2}}}, with(unit, "filter_sizes", Ints{3, 3, 2, 2})},
      {"DepthwiseConv2dNative", {{{1, 4, 4, 2}}, {{3, 3, 2, 2}}}, unit},
      {"DepthwiseConv2dNative", {{{1, 5, 5, 2}}, {{2, 2, 2, 1}}}, steps},
      {"DepthwiseConv2dNativeBackpropInput",
       {{{2, 2, 2, 2}}, {{1, 3, 3, 4}}},
       with(unit, "input_sizes", Ints{1, 3, 3, 2})},
      {"DepthwiseConv2dNativeBackpropFilter",
       {{{1, 3, 3, 2}}, {{1, 3, 3, 4}}},
       with(unit, "filter_sizes", Ints{2, 2, 2, 2})},
  };
  return kRows;
}

}  // namespace softamp::test
