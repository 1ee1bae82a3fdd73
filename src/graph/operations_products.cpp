// Matrix products.
#include "softamp/graph/operation.h"

namespace softamp::operations_of {
namespace {

using enum AttributeKind;

const std::vector<DType> kTypes = {DType::kFloat16, DType::kBFloat16, DType::kFloat32};

AttributeSpec flag(const char* name, const char* summary) { return {name, kBool, false, summary, {}, {}}; }

std::vector<AttributeSpec> product_attributes(const char* first, const char* second) {
  return {
      {"T", kType, {}, "dtype of operands and result", {}, kTypes},
      flag(first, "the first matrix is stored transposed"),
      flag(second, "the second matrix is stored transposed"),
      flag("batch_sum", "k counts the samples of a batch: sums in independent partials of 1024 (a weight's gradient)"),
      {"partialsType",
       kString,
       std::string(),
       "partials of this product; '': the executor's",
       {"", "half", "float"},
       {}},
  };
}

/// Rows, columns and k of a product of two matrices, the last two axes of each operand.
Shape product_shape(const InferenceContext& c, bool transpose_a, bool transpose_b) {
  const Shape &a = c.shape(0), &b = c.shape(1);
  const int64_t rows = a[a.rank() - (transpose_a ? 1 : 2)], ka = a[a.rank() - (transpose_a ? 2 : 1)];
  const int64_t kb = b[b.rank() - (transpose_b ? 1 : 2)], columns = b[b.rank() - (transpose_b ? 2 : 1)];
  if (ka != kb)
    c.fail("Matrix size-incompatible: In[0]: " + a.text() + ", In[1]: " + b.text() + "; the inner extents are " +
           std::to_string(ka) + " and " + std::to_string(kb));
  return {rows, columns};
}

void infer_matmul(InferenceContext& c) {
  for (const size_t i : {size_t{0}, size_t{1}})
    if (c.shape(i).rank() != 2)
      c.fail("input '" + std::string(i ? "b" : "a") + "' is " + c.shape(i).text() + "; expected a matrix");
  c.output(0, product_shape(c, c.get_bool("transpose_a"), c.get_bool("transpose_b")));
}

void infer_batch_matmul(InferenceContext& c) {
  for (const size_t i : {size_t{0}, size_t{1}})
    if (c.shape(i).rank() < 2)
      c.fail("input '" + std::string(i ? "y" : "x") + "' is " + c.shape(i).text() + "; expected rank 2 or more");
  const Shape matrix = product_shape(c, c.get_bool("adj_x"), c.get_bool("adj_y"));
  const auto batch = [](const Shape& s) { return Shape(s.extents().first(static_cast<size_t>(s.rank() - 2))); };
  Shape batches;
  try {
    batches = broadcast(batch(c.shape(0)), batch(c.shape(1)));
  } catch (const std::invalid_argument& e) {
    c.fail(e.what());
  }
  std::vector<int64_t> extents(batches.begin(), batches.end());
  extents.insert(extents.end(), matrix.begin(), matrix.end());
  c.output(0, Shape(extents));
}

}  // namespace

std::vector<Operation> products() {
  return {
      {"MatMul",
       "product[i, j] = sum over k of a[i, k] b[k, j], k ascending; roundings as partialsType says.",
       {{"a", "T"}, {"b", "T"}},
       {{"product", "T"}},
       product_attributes("transpose_a", "transpose_b"),
       2,
       infer_matmul,
       false},
      {"BatchMatMulV2",
       "MatMul of the last two axes; the axes before are broadcast.",
       {{"x", "T"}, {"y", "T"}},
       {{"output", "T"}},
       product_attributes("adj_x", "adj_y"),
       2,
       infer_batch_matmul,
       false},
  };
}

}  // namespace softamp::operations_of
