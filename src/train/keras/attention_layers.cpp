#include "softamp/train/keras/attention_layers.h"

#include <cmath>
#include <map>
#include <stdexcept>

#include "softamp/numbers/number_text.h"
#include "softamp/train/layers.h"
#include "src/train/cast_node.h"

namespace softamp::layers {
namespace {

void expect_rate(const char* layer, const char* what, double rate) {
  if (!(rate >= 0 && rate < 1))
    throw std::invalid_argument(std::string(layer) + ": " + what + " is " + shortest_decimal(rate) +
                                "; expected 0 or more, and less than 1");
}

void expect_positive(const char* layer, const char* what, int64_t extent) {
  if (extent < 1)
    throw std::invalid_argument(std::string(layer) + ": " + what + " is " + std::to_string(extent) +
                                "; expected at least 1");
}

}  // namespace

Dropout::Dropout(LayerContext& context, double rate, Options options, LayerOptions layer)
    : Layer(context, std::move(layer)), rate_(rate), options_(options) {
  expect_rate("Dropout", "rate", rate);
}

LayerValue Dropout::call(const LayerArguments& in) {
  const Port x = in[0];
  return options_.training ? dropout(context().store(), x, rate_) : x;
}

Embedding::Embedding(LayerContext& context, int64_t input_dim, int64_t output_dim, LayerOptions layer)
    : Layer(context, std::move(layer)), input_dim_(input_dim), output_dim_(output_dim) {
  expect_positive("Embedding", "input_dim", input_dim);
  expect_positive("Embedding", "output_dim", output_dim);
}

void Embedding::build(const LayerValue&) {
  embeddings_ = add_weight("embeddings", {input_dim_, output_dim_}, {.initializer = Initializer::uniform(-0.05, 0.05)});
}

LayerValue Embedding::call(const LayerArguments& in) {
  const Port rows = op("GatherV2", {embeddings_.value(), in[0]});
  return cast_to(builder(), rows, compute_dtype().value_or(embeddings_.dtype()), "rows_cast");
}

EinsumDense::EinsumDense(LayerContext& context, Options options, LayerOptions layer)
    : Layer(context, std::move(layer)), options_(std::move(options)) {
  const std::string& e = options_.equation;
  const size_t comma = e.find(','), arrow = e.find("->");
  const bool terms = comma != std::string::npos && arrow != std::string::npos && comma < arrow;
  if (terms) {
    x_ = e.substr(0, comma), kernel_letters_ = e.substr(comma + 1, arrow - comma - 1), result_ = e.substr(arrow + 2);
    size_t fresh = 0;
    for (const char letter : result_) fresh += x_.find(letter) == std::string::npos;
    if (fresh != options_.output_shape.size())
      throw std::invalid_argument("EinsumDense: output_shape has " + std::to_string(options_.output_shape.size()) +
                                  " extents; expected " + std::to_string(fresh) + ", for the axes of '" + result_ +
                                  "' that '" + x_ + "' does not have");
  }
  if (!terms || (x_ + kernel_letters_ + result_).find_first_not_of("abcdefghijklmnopqrstuvwxyz") != std::string::npos)
    throw std::invalid_argument("EinsumDense: equation is '" + e + "'; expected 'abc,cd->abd'");
  for (const int64_t extent : options_.output_shape)
    expect_positive("EinsumDense", "an extent of output_shape", extent);
  if (!result_.ends_with(options_.bias_axes))
    throw std::invalid_argument("EinsumDense: bias_axes is '" + options_.bias_axes +
                                "'; expected the last letters of '" + result_ + "'");
}

void EinsumDense::build(const LayerValue& inputs) {
  const Shape& shape = type(inputs).shape;
  if (shape.rank() != static_cast<int>(x_.size()))
    throw GraphError("einsum_dense '" + name() + "': x has shape " + shape.text() + "; '" + options_.equation +
                     "' expects a rank of " + std::to_string(x_.size()));
  std::map<char, int64_t> extents;
  for (size_t axis = 0; axis < x_.size(); ++axis) extents[x_[axis]] = shape[static_cast<int>(axis)];
  size_t fresh = 0;
  for (const char letter : result_)
    if (!extents.contains(letter)) extents[letter] = options_.output_shape[fresh++];
  const auto shape_of = [&](const std::string& letters) {
    std::vector<int64_t> all;
    for (const char letter : letters) {
      if (!extents.contains(letter))
        throw GraphError("einsum_dense '" + name() + "': '" + std::string(1, letter) + "' of '" + options_.equation +
                         "' is neither in x nor in the result");
      all.push_back(extents[letter]);
    }
    return Shape(all);
  };
  kernel_ = add_weight("kernel", shape_of(kernel_letters_));
  if (!options_.bias_axes.empty())
    bias_ = add_weight("bias", shape_of(options_.bias_axes), {.initializer = Initializer::zeros()});
}

LayerValue EinsumDense::call(const LayerArguments& in) {
  const Port y = op("Einsum", {in[0], kernel_.read()}, {{"equation", options_.equation}});
  return options_.bias_axes.empty() ? y : op("AddV2", {y, bias_.read()});
}

MultiHeadAttention::MultiHeadAttention(LayerContext& context, Options options, LayerOptions layer)
    : Layer(context, std::move(layer)), options_(options) {
  expect_positive("MultiHeadAttention", "num_heads", options_.num_heads);
  expect_positive("MultiHeadAttention", "key_dim", options_.key_dim);
  expect_positive("MultiHeadAttention", "value_dim", options_.value_dim.value_or(1));
  expect_rate("MultiHeadAttention", "dropout", options_.dropout);
}

std::unique_ptr<EinsumDense> MultiHeadAttention::part(const char* name, const char* equation,
                                                      std::vector<int64_t> output_shape, const char* bias_axes) const {
  return std::make_unique<EinsumDense>(
      context(), EinsumDense::Options{equation, std::move(output_shape), options_.use_bias ? bias_axes : ""},
      LayerOptions{.name = name, .dtype = dtype_policy()});
}

void MultiHeadAttention::build(const LayerValue& inputs) {
  const Shape& shape = type(inputs).shape;
  if (shape.rank() != 3)
    throw GraphError("multi_head_attention '" + name() + "': the query has shape " + shape.text() +
                     "; expected [batch, targets, features]");
  const int64_t heads = options_.num_heads, key = options_.key_dim, value = options_.value_dim.value_or(key);
  query_ = part("query", "abc,cnd->abnd", {heads, key}, "nd");
  key_ = part("key", "abc,cnd->abnd", {heads, key}, "nd");
  value_ = part("value", "abc,cnd->abnd", {heads, value}, "nd");
  output_ = part("attention_output", "abnd,ndf->abf", {shape[2]}, "f");
  dropout_ = std::make_unique<Dropout>(context(), options_.dropout, Dropout::Options{options_.training},
                                       LayerOptions{.dtype = dtype_policy()});
}

LayerValue MultiHeadAttention::call(const LayerArguments& in) {
  const LayerValue value = in[1], key = in.size() > 2 ? in[2] : value;
  const Port queries = (*query_)(in[0]), keys = (*key_)(key), values = (*value_)(value);
  const DType dtype = type(queries).dtype;
  const Port scaled = op("Mul", {queries, constant(1 / std::sqrt(static_cast<double>(options_.key_dim)), dtype)});
  Port scores = op("Einsum", {scaled, keys}, {{"equation", std::string("abnd,aend->anbe")}});
  if (in.size() > 3) {
    const Port mask = op("ExpandDims", {in[3]}, {{"axis", int64_t{1}}});
    scores = op("SelectV2", {mask, scores, constant(dtype == DType::kFloat16 ? -65504 : -1e9, dtype)});
  }
  const Port probabilities = (*dropout_)(op("Softmax", {scores}));
  const Port seen = op("Einsum", {probabilities, values}, {{"equation", std::string("anbe,aend->abnd")}});
  return (*output_)(seen);
}

}  // namespace softamp::layers
