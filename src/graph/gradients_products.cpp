// Gradients of matrix products: products again, of the gradient g with the other operand, without transposing in
// memory.
//
// Which of them is a sum over a batch (`batch_sum`: k in independent partials of 1024, N105)? The rows of a product
// count as samples. So the gradient of the right-hand operand b (a layer's weight), which sums over the rows, is one;
// that of a, which sums over the columns, is not. In a product that is a batch sum itself the rows are features:
// neither gradient is one. In a true batch of matrices (rank above 2, both operands) neither is one, since rows are
// positions within a sample.
#include "src/graph/gradient_table.h"

namespace softamp::graph_detail {
namespace {

/// Attributes of a product under the names that MatMul or BatchMatMulV2 has for them.
Attributes product_attributes(const GradientContext& c, const char* first, bool transpose_first, const char* second,
                              bool transpose_second, bool batch_sum) {
  return {{first, transpose_first},
          {second, transpose_second},
          {"batch_sum", batch_sum},
          {"partialsType", attribute<std::string>(c.node(), "partialsType")}};
}

struct Factors {
  Port first, second;
  bool transpose_first, transpose_second;
};

/// The gradient of a: g op(b)^T, or its transpose where a is stored transposed.
Factors left_gradient(Port b, Port g, bool transpose_a, bool transpose_b) {
  if (transpose_a) return {b, g, transpose_b, true};
  return {g, b, false, !transpose_b};
}

/// The gradient of b: op(a)^T g, or its transpose.
Factors right_gradient(Port a, Port g, bool transpose_a, bool transpose_b) {
  if (transpose_b) return {g, a, true, transpose_a};
  return {a, g, !transpose_a, false};
}

Port matmul(GradientContext& c, const Factors& f, bool batch_sum) {
  return c.add("MatMul", {f.first, f.second},
               product_attributes(c, "transpose_a", f.transpose_first, "transpose_b", f.transpose_second, batch_sum));
}

void matrix_product(GradientContext& c) {
  const bool transpose_a = attribute<bool>(c.node(), "transpose_a"),
             transpose_b = attribute<bool>(c.node(), "transpose_b");
  const Port a = c.input(0), b = c.input(1), g = c.arriving();
  if (c.wants(0)) c.set(0, matmul(c, left_gradient(b, g, transpose_a, transpose_b), false));
  if (c.wants(1))
    c.set(1, matmul(c, right_gradient(a, g, transpose_a, transpose_b), !attribute<bool>(c.node(), "batch_sum")));
}

/// The product of all extents except the last two.
int64_t matrices(const Shape& s) {
  int64_t count = 1;
  for (int a = 0; a + 2 < s.rank(); ++a) count *= s[a];
  return count;
}

/// All matrices of a batch, stacked to one.
Port stacked(GradientContext& c, Port x) {
  const Shape s = c.type(x).shape;
  return c.reshape(x, Shape{matrices(s) * s[s.rank() - 2], s[s.rank() - 1]});
}

void batch_product(GradientContext& c) {
  const bool adj_x = attribute<bool>(c.node(), "adj_x"), adj_y = attribute<bool>(c.node(), "adj_y");
  const Port x = c.input(0), y = c.input(1), g = c.arriving();
  const auto product = [&](const Factors& f, size_t input) {
    const Port p = c.add("BatchMatMulV2", {f.first, f.second},
                         product_attributes(c, "adj_x", f.transpose_first, "adj_y", f.transpose_second, false));
    c.set(input, c.sum_to(p, c.shape(input)));
  };
  if (c.wants(0)) product(left_gradient(y, g, adj_x, adj_y), 0);
  if (!c.wants(1)) return;
  // One matrix for the whole batch (a layer's weight): all rows of the batch are summed in one product, rounded once.
  if (matrices(c.shape(1)) == 1 && (!adj_x || matrices(c.type(g).shape) == 1)) {
    const Factors f = right_gradient(stacked(c, x), stacked(c, g), adj_x, adj_y);
    c.set(1, c.reshape(matmul(c, f, !attribute<bool>(c.node(), "batch_sum")), c.shape(1)));
    return;
  }
  product(right_gradient(x, g, adj_x, adj_y), 1);
}

}  // namespace

GradientRules gradients_of::products() { return {{"MatMul", matrix_product}, {"BatchMatMulV2", batch_product}}; }

}  // namespace softamp::graph_detail
