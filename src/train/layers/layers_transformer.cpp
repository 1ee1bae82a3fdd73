// What a transformer is made of: GPT-2 (Radford, Wu, Child, Luan, Amodei, Sutskever 2019).
#include <cmath>
#include <vector>

#include "softamp/machine/float_environment.h"
#include "softamp/train/layers.h"
#include "src/train/layers/layer_input.h"
#include "src/train/layers/layer_precision.h"

namespace softamp::layers {
namespace {

using layers_detail::Check;
using layers_detail::LayerCasts;
using layers_detail::residual_sum;
using Ints = std::vector<int64_t>;

/// Scores of pairs that may not meet: so small that the softmax gives 0, and finite, so that no NaN can arise.
double hidden_score(DType dtype) { return dtype == DType::kFloat16 ? -65504 : -1e9; }

/// true where a row, the position that looks, may see a column.
Tensor causal_mask(int64_t time) {
  std::vector<double> seen(static_cast<size_t>(time * time));
  for (int64_t row = 0; row < time; ++row)
    for (int64_t column = 0; column <= row; ++column) seen[static_cast<size_t>(row * time + column)] = 1;
  return Tensor::from_values(DType::kBool, {time, time}, seen);
}

void check_heads(const Check& check, int64_t heads, int64_t units) {
  check.at_least_one("heads", heads);
  if (units % heads != 0)
    check.fail("heads is " + std::to_string(heads) + "; expected a divisor of the " + std::to_string(units) +
               " units of x");
}

}  // namespace

Port embedding(VariableStore& store, Port indices, int64_t vocabulary, int64_t units, const EmbeddingOptions& options,
               std::string_view name) {
  const Check check(store, "embedding", name);
  check.at_least_one("vocabulary", vocabulary);
  check.at_least_one("units", units);
  const TensorType type = check.any(indices);
  if (type.dtype != DType::kInt32 || type.shape.rank() >= Shape::kMaxRank)
    check.fail("x is " + type.text() + "; expected indices of int32 and a rank below " +
               std::to_string(Shape::kMaxRank));
  const auto scope = store.layer_scope(name, "embedding");
  const LayerCasts casts(store, "embedding", options.dtype.value_or(store.dtype()));
  const Port table = casts.kept("embeddings", {vocabulary, units}, casts.variables(), options.initializer);
  const Port rows = store.builder().add("GatherV2", {table, indices});
  return casts.output(cast_to(store.builder(), rows, casts.compute(), "rows_cast"));
}

Port position_embedding(VariableStore& store, Port x, const PositionEmbeddingOptions& options, std::string_view name) {
  const Check check(store, "position_embedding", name);
  const TensorType type = check.sequences(x);
  const int64_t time = type.shape[1], units = type.shape[2], context = options.context == 0 ? time : options.context;
  if (context < time)
    check.fail("context is " + std::to_string(context) + "; expected at least the " + std::to_string(time) +
               " positions of x");
  const auto scope = store.layer_scope(name, "position_embedding");
  const LayerCasts casts(store, "position_embedding", type.dtype);
  x = casts.input(x);
  Port rows = casts.variable("positions", {context, units}, options.initializer);
  if (context > time) rows = store.builder().add("Slice", {rows}, {{"begin", Ints{0, 0}}, {"size", Ints{time, units}}});
  return casts.output(store.builder().add("AddV2", {x, rows}));
}

Port self_attention(VariableStore& store, Port x, const SelfAttentionOptions& options, std::string_view name) {
  const engine::DefaultEnvironment guard;
  const Check check(store, "self_attention", name);
  const Shape shape = check.sequences(x).shape;
  const int64_t batch = shape[0], time = shape[1], units = shape[2], heads = options.heads;
  check_heads(check, heads, units);
  check.rate("dropout", options.dropout);
  const auto scope = store.layer_scope(name, "attention");
  GraphBuilder& b = store.builder();
  const int64_t width = units / heads;

  DenseOptions dense_options;
  dense_options.use_bias = options.use_bias;
  dense_options.partials = options.partials;
  dense_options.kernel_initializer = options.kernel_initializer;
  const Port qkv = dense(store, x, 3 * units, dense_options, "qkv");
  const Port split = b.add("Reshape", {qkv}, {{"shape", Ints{batch, time, 3, heads, width}}});
  const Port first = b.add("Transpose", {split}, {{"perm", Ints{2, 0, 3, 1, 4}}});
  const Port parts = b.add("Unpack", {first}, {{"num", int64_t{3}}});  // of [batch, heads, time, width]
  const Port queries = parts, keys{parts.node, 1}, values{parts.node, 2};

  const DType dtype = b.type(queries).dtype;
  const auto number = [&](double value) { return b.constant(Tensor::full(dtype, {}, value)); };
  Port scores = b.add("BatchMatMulV2", {queries, keys}, {{"adj_y", true}, {"partialsType", options.partials}});
  scores = b.add("Mul", {scores, number(1 / std::sqrt(static_cast<double>(width)))});
  if (options.causal)
    scores = b.add("SelectV2", {b.constant(causal_mask(time), "mask"), scores, number(hidden_score(dtype))});
  const Port shares = dropout(store, b.add("Softmax", {scores}), options.dropout);
  const Port seen = b.add("BatchMatMulV2", {shares, values}, {{"partialsType", options.partials}});
  const Port back = b.add("Transpose", {seen}, {{"perm", Ints{0, 2, 1, 3}}});
  const Port joined = b.add("Reshape", {back}, {{"shape", Ints{batch, time, units}}});
  dense_options.kernel_initializer = options.projection_initializer;
  return dense(store, joined, units, dense_options, "projection");
}

Port transformer_block(VariableStore& store, Port x, const TransformerBlockOptions& options, std::string_view name) {
  const engine::DefaultEnvironment guard;
  const Check check(store, "transformer_block", name);
  const int64_t units = check.sequences(x).shape[2];
  check_heads(check, options.heads, units);
  check.rate("dropout", options.dropout);
  if (options.hidden < 0)
    check.fail("hidden is " + std::to_string(options.hidden) + "; expected at least 1, or 0 for 4 times the units");
  const auto scope = store.layer_scope(name, "block");
  const auto add = [&](Port what, Port to) {
    return residual_sum(store, "transformer_block", dropout(store, what, options.dropout), to);
  };
  LayerNormOptions norm;
  norm.epsilon = options.epsilon;
  SelfAttentionOptions attention;
  attention.heads = options.heads;
  attention.causal = options.causal;
  attention.dropout = options.dropout;
  attention.use_bias = options.use_bias;
  attention.kernel_initializer = options.kernel_initializer;
  attention.projection_initializer = options.projection_initializer;
  attention.partials = options.partials;
  x = add(self_attention(store, layer_norm(store, x, norm), attention), x);

  const Port normed = layer_norm(store, x, norm);
  Port y;
  {
    const auto mlp = store.layer_scope("mlp", "mlp");
    DenseOptions layer;
    layer.use_bias = options.use_bias;
    layer.partials = options.partials;
    layer.kernel_initializer = options.kernel_initializer;
    y = dense(store, normed, options.hidden == 0 ? 4 * units : options.hidden, layer, "hidden");
    layer.kernel_initializer = options.projection_initializer;
    y = dense(store, activation(store, y, options.activation), units, layer, "projection");
  }
  return add(y, x);
}

Port tied_output(VariableStore& store, Port x, std::string_view embedding, std::string_view name,
                 std::string_view partials) {
  const Check check(store, "tied_output", name);
  const TensorType type = check.rows(x);
  const Variable& table = [&]() -> const Variable& {
    try {
      return store.variable(store.scope_path() + std::string(embedding) + "/embeddings");
    } catch (const GraphError& e) {
      check.fail(std::string(e.what()) + "; expected the name of an embedding before it");
    }
  }();
  const TensorType kept = store.builder().type(table.port);
  const int last = type.shape.rank() - 1;
  if (kept.shape.rank() != 2 || kept.shape[1] != type.shape[last])
    check.fail("x is " + type.text() + ", and the variable '" + table.name + "' " + kept.text() +
               "; expected x's last axis to be as long as its rows");
  const auto read = [&](DType dtype) {
    const auto there = store.scope(embedding, {}, true);
    return store.get({"embeddings", kept.shape, dtype, {}}).port;
  };
  // Under a rule the variable is read as it was kept, else in x's dtype, through the getters that the embedding had.
  Port rows = store.ruled() ? read(kept.dtype) : read(type.dtype);
  const auto scope = store.layer_scope(name, "tied_output");
  const LayerCasts casts(store, "dense", type.dtype);
  GraphBuilder& b = store.builder();
  x = casts.input(x);
  rows = cast_to(b, rows, b.type(x).dtype, "embeddings_cast");
  Ints extents(type.shape.begin(), type.shape.end());
  if (last > 1) x = b.add("Reshape", {x}, {{"shape", Ints{-1, type.shape[last]}}});
  const Port y = b.add("MatMul", {x, rows}, {{"transpose_b", true}, {"partialsType", std::string(partials)}});
  extents.back() = kept.shape[0];
  return casts.output(last > 1 ? b.add("Reshape", {y}, {{"shape", extents}}) : y);
}

}  // namespace softamp::layers
