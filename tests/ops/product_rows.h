// The test rows of matrix products, several for an operation. Beside the suites over all operations (node_rows.h), the
// model of their arithmetic, its order and random bits iterates them: tests/graph/models/model_products_test.cpp.
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
  if (op == "Einsum")
    return oracle::model::contraction(std::get<std::string>(attributes.find("equation")->second), x, y);
  return std::nullopt;
}

inline const std::vector<ProductRow>& product_rows() {
  const auto einsum = [](const char* equation, ProductRow::Extents a, ProductRow::Extents b, const char* places) {
    return ProductRow{"Einsum", std::move(a), std::move(b), {{"equation", std::string(equation)}}, places};
  };
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
      // A dense layer over the last axis, with one axis for the heads and with two; scores of attention, and what they
      // weigh, as TensorFlow's layers write them.
      einsum("abc,cd->abd", {2, 3, 4}, {4, 5}, "abd"),
      einsum("abc,cde->abde", {2, 3, 4}, {4, 2, 3}, "abde"),
      einsum("abcd,cde->abe", {2, 3, 2, 4}, {2, 4, 3}, "abe"),
      einsum("aecd,abcd->acbe", {2, 3, 2, 4}, {2, 5, 2, 4}, "acbe"),
      einsum("acbe,aecd->abcd", {2, 2, 5, 3}, {2, 3, 2, 4}, "acbd"),
      einsum("BFH,HND->BNFD", {2, 3, 4}, {4, 2, 3}, "BFND"),
      // Every place of letters: nothing summed, everything summed, a batch alone, swapped matrices, mixed orders.
      einsum("i,j->ij", {3}, {4}, "ij"),
      einsum("ij,ij->", {3, 4}, {3, 4}, ""),
      einsum("ij,ji->ij", {3, 4}, {4, 3}, "ij"),
      einsum("kj,ik->ij", {4, 3}, {2, 4}, "ij"),
      einsum("ab,bc->ca", {2, 3}, {3, 4}, "ca"),
      einsum("abc,dcbe->ead", {2, 3, 4}, {2, 4, 3, 3}, "eda"),
      einsum("ab,cd->cadb", {2, 3}, {4, 2}, "cdab"),
  };
  return kRows;
}

}  // namespace softamp::test
