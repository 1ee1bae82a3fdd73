// The test rows of all operations, by family. An operation of the table without a row fails a test. They are tried by
//
//   every instruction set, several threads against the bodies   tests/graph/differential_test.cpp
//   both engines, every preset                                  tests/backend/parity_graphs.cpp
//   gradients against differences, nodes against their models   tests/graph/gradients_numeric_test.cpp
//   builder, JSON, text; spoilt attributes and inputs           tests/graph/table_test.cpp
//   among the nodes of random graphs                            tests/graph/random_graph.h
//
// Beside its row an operation has tests of its own: sizes at which loops change, its model, its order of additions.
#pragma once

#include "tests/ops/cast_rows.h"
#include "tests/ops/convolution_rows.h"
#include "tests/ops/element_rows.h"
#include "tests/ops/norm_rows.h"
#include "tests/ops/optimizer_rows.h"
#include "tests/ops/pooling_rows.h"
#include "tests/ops/product_rows.h"
#include "tests/ops/quantization_rows.h"
#include "tests/ops/random_rows.h"
#include "tests/ops/reduction_rows.h"
#include "tests/ops/scaled_product_rows.h"
#include "tests/ops/softmax_rows.h"
#include "tests/ops/structure_rows.h"

namespace softamp::test {

/// Operations of elements, broadcast in all ways.
inline std::vector<NodeRow> broadcast_rows() {
  using namespace rows_detail;
  const In condition = truths({2, 3}, {1, 0, 1, 1, 0, 0}), row = truths({3}, {1, 0, 1});
  std::vector<NodeRow> all = {
      {"AddV2", {{{}}, {{2, 1, 3}}}},
      {"Mul", {{{4, 1, 3}}, {{2, 1}}}},
      {"RealDiv", {{{3}}, {{2, 1}, -2, -0.5}}},
      {"Pow", {{{2, 1}, 0.5, 2}, {{3}, -2, 2}}},
      {"SelectV2", {condition, {{2, 3}}, {{2, 3}}}},
      {"SelectV2", {condition, {{3}}, {{}}}},
      {"AddN", {{{2, 3}}, {{2, 3}}, {{2, 3}}}},
      {"BiasAdd", {{{2, 2, 3}}, {{3}}}},
      {"LogicalAnd", {condition, row}},
      {"LogicalOr", {row, condition}},
      {"LogicalNot", {condition}},
  };
  for (const ElementRow& r : element_rows()) {
    if (r.operands() == 1) all.push_back({r.op, {{{8}, r.x.low, r.x.high}}, r.attributes});
    // A gradient of a gradient, where there is one, is that of its first operand.
    if (r.operands() == 2 && !r.broadcasts()) all.push_back({r.op, {{{8}}, constant({{8}})}, r.attributes});
    if (!r.broadcasts()) continue;
    for (const auto& [x, y] : {std::pair<Ints, Ints>{{2, 3}, {2, 3}}, {{2, 1}, {3}}})
      all.push_back({r.op, {{x, r.x.low, r.x.high}, {y, r.y.low, r.y.high}}, r.attributes});
  }
  return all;
}

inline const std::vector<NodeRow>& node_rows() {
  static const std::vector<NodeRow> kRows = [] {
    std::vector<NodeRow> all = broadcast_rows();
    for (const std::vector<NodeRow>* family :
         {&cast_rows(), &convolution_rows(), &pooling_rows(), &reduction_rows(), &softmax_rows(), &norm_rows(),
          &optimizer_rows(), &structure_rows(), &quantization_rows()})
      all.insert(all.end(), family->begin(), family->end());
    for (const ProductRow& row : product_rows()) all.push_back({row.op, {{row.a}, {row.b}}, row.attributes});
    for (const ScaledProductRow& row : exact_scaled_rows())
      all.push_back({"ScaledMatMul", {{row.a, -0.5, 0.5}, {row.b, -0.5, 0.5}}, row.attributes});
    for (const RandomRow& row : random_rows())
      for (const Attributes& node : row.nodes(row.ranges[0], Shape{2, 3})) all.push_back({row.op, {}, node});
    return all;
  }();
  return kRows;
}

/// The first row of an operation; null: it has none.
inline const NodeRow* node_row(const std::string& op) {
  for (const NodeRow& row : node_rows())
    if (row.op == op) return &row;
  return nullptr;
}

}  // namespace softamp::test
