// The test rows of matrix products, several for an operation: what the suites try. They iterate these rows:
//
//   the model of its arithmetic, its order and random bits    tests/graph/model_products_test.cpp
//   both engines, every preset, option and special value      tests/backend/parity_products.cpp
//   its gradient against differences                          tests/graph/gradient_cases.h
//   among the nodes of random graphs                          tests/graph/random_graph.h
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "softamp/graph/operation.h"
#include "tests/oracle/tensor_model_products.h"

namespace softamp::test {

struct ProductRow {
  using Extents = std::vector<int64_t>;

  std::string op;
  Extents a, b;
  Attributes attributes = {};
  /// Of an Einsum: the letters of its result in the order in which its products lie, whose places address random bits.
  std::string places = {};
};

/// The factors of every output of a product; nothing for other operations.
inline std::optional<oracle::model::Products> contraction_of(const std::string& op, const Attributes& attributes,
                                                             const oracle::model::Array& x,
                                                             const oracle::model::Array& y) {
  const auto flag = [&](const char* name) {
    const auto at = attributes.find(name);
    return at != attributes.end() && std::get<bool>(at->second);
  };
  if (op == "MatMul") return oracle::model::matrix_product(x, y, flag("transpose_a"), flag("transpose_b"));
  if (op == "BatchMatMulV2") return oracle::model::matrix_product(x, y, flag("adj_x"), flag("adj_y"));
  return std::nullopt;
}

inline const std::vector<ProductRow>& product_rows() {
  static const std::vector<ProductRow> kRows = {
      {"MatMul", {2, 3}, {3, 4}},
      {"MatMul", {2, 3}, {4, 3}, {{"transpose_b", true}}},
      {"MatMul", {3, 2}, {3, 4}, {{"transpose_a", true}}},
      {"MatMul", {3, 2}, {4, 3}, {{"transpose_a", true}, {"transpose_b", true}}},
      {"MatMul", {3, 2}, {3, 4}, {{"transpose_a", true}, {"batch_sum", true}}},
      {"BatchMatMulV2", {2, 2, 3}, {2, 3, 2}},
      {"BatchMatMulV2", {2, 2, 3}, {2, 4, 3}, {{"adj_y", true}}},
      {"BatchMatMulV2", {2, 3, 2}, {2, 3, 2}, {{"adj_x", true}}},
      {"BatchMatMulV2", {3, 2}, {2, 2, 3}, {{"adj_x", true}, {"adj_y", true}}},
      {"BatchMatMulV2", {2, 2, 3}, {3, 4}},
      {"BatchMatMulV2", {2, 2, 3}, {1, 4, 3}, {{"adj_y", true}}},
      {"BatchMatMulV2", {2, 3, 2}, {3, 4}, {{"adj_x", true}}},
      {"BatchMatMulV2", {2, 1, 2, 3}, {2, 3, 2}},
      {"BatchMatMulV2", {3, 2}, {3, 4}, {{"adj_x", true}}},
  };
  return kRows;
}

}  // namespace softamp::test
