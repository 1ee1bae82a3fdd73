// The test rows of casts (node_rows.h).
#pragma once

#include "tests/ops/node_row.h"

namespace softamp::test {

inline const std::vector<NodeRow>& cast_rows() {
  static const std::vector<NodeRow> kRows = {
      {"Cast", {{{2, 3}}}, {{"DstT", DType::kFloat32}}},
      {"Cast", {{{2, 3}}}, {{"DstT", DType::kBFloat16}}},
  };
  return kRows;
}

}  // namespace softamp::test
