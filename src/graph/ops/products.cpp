// Matrix products.
#include "softamp/graph/einsum.h"
#include "softamp/names/block_format_names.h"
#include "softamp/numerics/block/dot.h"
#include "src/graph/ops/rows.h"

namespace softamp::operations_of {
namespace {

using enum AttributeKind;

AttributeSpec flag(const char* name, const char* summary) { return {name, kBool, false, summary, {}, {}}; }

/// `more`: those of the operation's own.
// implements: N227
std::vector<AttributeSpec> product_attributes(std::vector<AttributeSpec> more) {
  std::vector<AttributeSpec> all = {
      type_of(floats(), "dtype of operands and result"),
      flag("batch_sum", "k counts the samples of a batch: sums in independent partials of 1024 (a weight's gradient)"),
      {"partialsType",
       kString,
       std::string(),
       "partials of this product; '': the executor's",
       {"", "half", "float"},
       {}},
  };
  all.insert(all.begin() + 1, std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  return all;
}
std::vector<AttributeSpec> product_attributes(const char* first, const char* second) {
  return product_attributes(
      {flag(first, "the first matrix is stored transposed"), flag(second, "the second matrix is stored transposed")});
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

/// What sums begin with, in the place of +0.
PortSpec start_port() { return {"c", "float32", false, true}; }

void check_start(const InferenceContext& c, const Shape& product, bool independent) {
  if (c.inputs() < 3) return;
  const Shape& s = c.shape(2);
  const Shape row{product[product.rank() - 1]};
  if (s != product && s != row)
    c.fail("input 'c' is " + s.text() + "; expected " + product.text() + ", or " + row.text() +
           ", one for each column");
  if (independent) c.fail("there is an input 'c', and batch_sum sums independent partials, which begin with +0");
  if (c.dtype(0) == DType::kFloat64) c.fail("there is an input 'c'; a product of float64 begins with +0");
}

/// Its gradient is what arrives, as fp32.
void start_gradient(GradientContext& c) {
  if (c.node().inputs.size() < 3 || !c.wants(2)) return;
  c.set(2, c.sum_to(c.cast(c.arriving(), DType::kFloat32), c.shape(2)));
}

void infer_matmul(InferenceContext& c) {
  for (const size_t i : {size_t{0}, size_t{1}})
    if (c.shape(i).rank() != 2)
      c.fail("input '" + std::string(i ? "b" : "a") + "' is " + c.shape(i).text() + "; expected a matrix");
  const Shape product = product_shape(c, c.get_bool("transpose_a"), c.get_bool("transpose_b"));
  check_start(c, product, c.get_bool("batch_sum"));
  c.output(0, product);
}

/// The shape of all matrices of two batches; the names of the inputs, and of what says that they lie transposed.
Shape batches_shape(InferenceContext& c, const char* first, const char* second, const char* transpose_first,
                    const char* transpose_second) {
  for (const size_t i : {size_t{0}, size_t{1}})
    if (c.shape(i).rank() < 2)
      c.fail("input '" + std::string(i ? second : first) + "' is " + c.shape(i).text() + "; expected rank 2 or more");
  const Shape matrix = product_shape(c, c.get_bool(transpose_first), c.get_bool(transpose_second));
  const auto batch = [](const Shape& s) { return Shape(s.extents().first(static_cast<size_t>(s.rank() - 2))); };
  Shape batches;
  try {
    batches = broadcast(batch(c.shape(0)), batch(c.shape(1)));
  } catch (const std::invalid_argument& e) {
    c.fail(e.what());
  }
  std::vector<int64_t> extents(batches.begin(), batches.end());
  extents.insert(extents.end(), matrix.begin(), matrix.end());
  return Shape(extents);
}

void infer_batch_matmul(InferenceContext& c) {
  const Shape product = batches_shape(c, "x", "y", "adj_x", "adj_y");
  check_start(c, product, c.get_bool("batch_sum"));
  c.output(0, product);
}

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
  bool gradient_first;  ///< the gradient that arrives is the first of them
  bool of_left;         ///< for the first operand: the other factor is the second one
};

/// The gradient of a: g op(b)^T, or its transpose where a is stored transposed.
// implements: N227
Factors left_gradient(Port b, Port g, bool transpose_a, bool transpose_b) {
  if (transpose_a) return {b, g, transpose_b, true, false, true};
  return {g, b, false, !transpose_b, true, true};
}

/// The gradient of b: op(a)^T g, or its transpose.
// implements: N227
Factors right_gradient(Port a, Port g, bool transpose_a, bool transpose_b) {
  if (transpose_b) return {g, a, true, transpose_a, true, false};
  return {a, g, !transpose_a, false, false, false};
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
  start_gradient(c);
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

/// Gradients of a product of batches. `add` adds one: its factors, and whether it sums over samples.
template <class Add>
void batch_gradients(GradientContext& c, Port x, Port y, Port g, bool adj_x, bool adj_y, const Add& add) {
  if (c.wants(0)) c.set(0, c.sum_to(add(left_gradient(y, g, adj_x, adj_y), false), c.shape(0)));
  if (!c.wants(1)) return;
  // One matrix for the whole batch (a layer's weight): all rows of the batch are summed in one product, rounded once.
  if (matrices(c.shape(1)) == 1 && (!adj_x || matrices(c.type(g).shape) == 1)) {
    const Factors f = right_gradient(stacked(c, x), stacked(c, g), adj_x, adj_y);
    c.set(1, c.reshape(add(f, true), c.shape(1)));
    return;
  }
  c.set(1, c.sum_to(add(right_gradient(x, g, adj_x, adj_y), false), c.shape(1)));
}

void batch_product(GradientContext& c) {
  start_gradient(c);
  batch_gradients(c, c.input(0), c.input(1), c.arriving(), attribute<bool>(c.node(), "adj_x"),
                  attribute<bool>(c.node(), "adj_y"), [&](const Factors& f, bool samples) {
                    if (samples) return matmul(c, f, !attribute<bool>(c.node(), "batch_sum"));
                    return c.add("BatchMatMulV2", {f.first, f.second},
                                 product_attributes(c, "adj_x", f.transpose_first, "adj_y", f.transpose_second, false));
                  });
}

void infer_einsum(InferenceContext& c) {
  try {
    const EinsumEquation equation(c.get_string("equation"));
    const std::map<char, int64_t> extents = equation.extents(c.shape(0), c.shape(1));
    std::vector<int64_t> result;
    for (const char letter : equation.result) result.push_back(extents.at(letter));
    c.output(0, Shape(result));
  } catch (const std::invalid_argument& e) {
    c.fail(e.what());
  }
}

/// The result in the place of the operand: each of its letters is in the two others.
void einsum(GradientContext& c) {
  const EinsumEquation e(attribute<std::string>(c.node(), "equation"));
  const bool batch_sum = attribute<bool>(c.node(), "batch_sum");
  const auto product = [&](const std::string& equation, Port a, Port b, bool over_samples) {
    return c.add("Einsum", {a, b},
                 {{"equation", equation},
                  {"batch_sum", over_samples},
                  {"partialsType", attribute<std::string>(c.node(), "partialsType")}});
  };
  const Port g = c.arriving();
  if (c.wants(0)) c.set(0, product(e.result + "," + e.terms[1] + "->" + e.terms[0], g, c.input(1), false));
  // As of MatMul: a second operand without a batch is a layer's weight, and what is summed are samples.
  if (c.wants(1))
    c.set(1, product(e.terms[0] + "," + e.result + "->" + e.terms[1], c.input(0), g, e.batch.empty() && !batch_sum));
}

/// The mode of a name, in the order of the attribute's choices; half partials are those of a chain.
block::DotMode dot_mode(const std::string& name) {
  if (name == "exact") return block::DotMode::kExact;
  if (name == "block") return block::DotMode::kBlock;
  if (name == "hopper") return block::DotMode::kHopper;
  return name == "blackwell" ? block::DotMode::kBlackwell : block::DotMode::kFp32Chain;
}

void infer_scaled(InferenceContext& c) {
  const Shape product = batches_shape(c, "a", "b", "transpose_a", "transpose_b");
  check_start(c, product, false);
  c.output(0, product);
  block::DotOperand operands[2];
  const char* const names[] = {"a_format", "b_format"};
  for (int i = 0; i < 2; ++i) {
    try {
      operands[i].format = parse_block_format(c.get_string(names[i]));
    } catch (const std::exception& e) {
      c.fail(std::string(names[i]) + ": " + e.what());
    }
  }
  try {
    if (!c.get_string("g_format").empty()) parse_block_format(c.get_string("g_format"));
  } catch (const std::exception& e) {
    c.fail(std::string("g_format: ") + e.what());
  }
  const int64_t every = c.get_int("promote_every");
  if (every < 0 || every > (1 << 30)) c.fail("promote_every is " + std::to_string(every) + "; expected 0 .. 2^30");
  block::DotRules rules;
  rules.mode = dot_mode(c.get_string("accumulation"));
  rules.promote_every = static_cast<int>(every);
  if (const char* why = block::refusal_of(rules, operands[0], operands[1]))
    c.fail("accumulation " + c.get_string("accumulation") + " of " + c.get_string("a_format") + " and " +
           c.get_string("b_format") + ": " + why);
}

std::vector<AttributeSpec> scaled_attributes() {
  const std::string format = "mxfp8_e4m3";
  return {
      type_of(up_to_fp32(), "dtype of operands"),
      flag("transpose_a", "the first matrix is stored transposed"),
      flag("transpose_b", "the second matrix is stored transposed"),
      {"a_format", kString, format, "block format of the first operand: a name, ':' and options", {}, {}},
      {"b_format", kString, format, "block format of the second operand", {}, {}},
      {"g_format", kString, std::string(), "of gradients that arrive, in the gradient; '': a_format", {}, {}},
      {"accumulation",
       kString,
       std::string("fp32_chain"),
       "how products are summed",
       {"exact", "fp32_chain", "half_partials", "block", "hopper", "blackwell"},
       {}},
      {"promotion",
       kString,
       std::string("scales_first"),
       "of hopper: how partial sums are scaled and added",
       {"scales_first", "partner_last", "unfused"},
       {}},
      {"promote_every",
       kInt,
       int64_t{128},
       "of hopper: products of a partial sum, a multiple of 32; 0: a block's",
       {},
       {}},
  };
}

/// Straight through the quantisation. Each product quantises its operands anew, along the axis that it sums.
// implements: N494
void scaled_product(GradientContext& c) {
  start_gradient(c);
  const auto text = [&](const char* name) { return attribute<std::string>(c.node(), name); };
  const std::string a_format = text("a_format"), b_format = text("b_format"),
                    g_format = text("g_format").empty() ? a_format : text("g_format");
  const DType type = c.dtype(0);
  const Port x = c.cast(c.input(0), DType::kFloat32), y = c.cast(c.input(1), DType::kFloat32);
  batch_gradients(c, x, y, c.arriving(), attribute<bool>(c.node(), "transpose_a"),
                  attribute<bool>(c.node(), "transpose_b"), [&](const Factors& f, bool) {
                    const std::string& other = f.of_left ? b_format : a_format;
                    Attributes all = c.attributes({"accumulation", "promotion", "promote_every"});
                    all["transpose_a"] = f.transpose_first;
                    all["transpose_b"] = f.transpose_second;
                    all["a_format"] = f.gradient_first ? g_format : other;
                    all["b_format"] = f.gradient_first ? other : g_format;
                    all["g_format"] = g_format;
                    return c.cast(c.add("ScaledMatMul", {f.first, f.second}, std::move(all)), type);
                  });
}

}  // namespace

std::vector<Operation> products() {
  return {
      row("MatMul",
          "product[i, j] = sum over k of a[i, k] b[k, j], k ascending, from c on where it is given; roundings as "
          "partialsType says.",
          {{"a", "T"}, {"b", "T"}, start_port()}, {{"product", "T"}}, product_attributes("transpose_a", "transpose_b"),
          infer_matmul, 2)
          .with(matrix_product),
      row("BatchMatMulV2", "MatMul of the last two axes; the axes before are broadcast.",
          {{"x", "T"}, {"y", "T"}, start_port()}, {{"output", "T"}}, product_attributes("adj_x", "adj_y"),
          infer_batch_matmul, 2)
          .with(batch_product),
      row("Einsum",
          "The sum of x y over the letters that are not in the result: BatchMatMulV2 of the operands' axes in the "
          "order [batch, rows, inner] and [batch, inner, columns], the result's axes then put into its order.",
          {{"x", "T"}, {"y", "T"}}, {{"output", "T"}},
          product_attributes({{"equation",
                               kString,
                               {},
                               "a letter for each axis: 'abc,cd->abd'; each in two of the three terms",
                               {},
                               {}}}),
          infer_einsum, 2)
          .with(einsum),
      row("ScaledMatMul",
          "MatMul of quantised operands: each takes its block format along the summed axis; products are summed as "
          "accumulation says. Batches as of BatchMatMulV2.",
          {{"a", "T"}, {"b", "T"}, start_port()}, {{"product", "float32"}}, scaled_attributes(), infer_scaled, 3)
          .with(scaled_product),
  };
}

}  // namespace softamp::operations_of
