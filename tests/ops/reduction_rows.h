// The test rows of reductions (node_rows.h).
#pragma once

#include "tests/ops/node_row.h"

namespace softamp::test {

inline const std::vector<NodeRow>& reduction_rows() {
  using namespace rows_detail;
  static const std::vector<NodeRow> kRows = {
      {"Sum", {{{2, 3}}}},
      {"Sum", {{{2, 3, 2}}}, {{"axes", Ints{-2, 0}}}},
      {"Sum", {{{2, 3}}}, {{"axes", Ints{1}}, {"keep_dims", true}}},
      {"Mean", {{{2, 3}}}},
      {"Mean", {{{2, 3, 2}}}, {{"axes", Ints{1}}}},
      {"Max", {{{2, 5}}}},
      {"Max", {{{2, 3, 2}}}, {{"axes", Ints{1}}, {"keep_dims", true}}},
      {"Min", {{{2, 5}}}, {{"axes", Ints{-1}}}},
      {"ArgMax", {{{2, 5}}}},
      {"ArgMax", {{{2, 3, 2}}}, {{"axis", 1}, {"keep_dims", true}}},
      {"ArgMin", {{{2, 5}}}, {{"axis", -1}}},
      {"L2Loss", {{{2, 3}}}},
      {"BiasAddGrad", {{{4, 3}}}},
      {"BiasAddGrad", {{{2, 2, 3}}}},
      {"UnsortedSegmentSum", {{{4, 2}}, integers({4}, {2, -1, 0, 2})}, {{"num_segments", 3}}},
      {"UnsortedSegmentSum", {{{2, 2}}, integers({2, 2}, {1, 1, 0, -1})}, {{"num_segments", 2}}},
  };
  return kRows;
}

}  // namespace softamp::test
