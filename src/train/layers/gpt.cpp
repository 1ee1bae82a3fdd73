#include "softamp/train/gpt.h"

#include <cmath>
#include <stdexcept>

#include "softamp/machine/float_environment.h"
#include "softamp/numbers/number_text.h"
#include "softamp/train/layers.h"

namespace softamp {
namespace {

constexpr int64_t kMostLayers = 1000;
constexpr double kDeviation = 0.02;

void check(const GptOptions& o) {
  const auto expect = [](bool good, const char* what, const std::string& value, const std::string& expected) {
    if (!good) throw std::invalid_argument(std::string("gpt: ") + what + " is " + value + "; expected " + expected);
  };
  const auto at_least_one = [&](const char* what, int64_t value) {
    expect(value >= 1, what, std::to_string(value), "at least 1");
  };
  at_least_one("vocabulary", o.vocabulary);
  at_least_one("context", o.context);
  at_least_one("layers", o.layers);
  expect(o.layers <= kMostLayers, "layers", std::to_string(o.layers), "at most " + std::to_string(kMostLayers));
  at_least_one("units", o.units);
  at_least_one("heads", o.heads);
  expect(o.units % o.heads == 0, "heads", std::to_string(o.heads),
         "a divisor of the " + std::to_string(o.units) + " units");
  expect(o.dropout >= 0 && o.dropout < 1, "dropout", shortest_decimal(o.dropout), "0 or more, and less than 1");
}

}  // namespace

Network gpt(const GptOptions& options) {
  const engine::DefaultEnvironment guard;
  check(options);
  return [options](VariableStore& store, Port tokens) {
    const engine::DefaultEnvironment inner;
    const TensorType type = store.builder().type(tokens);
    if (type.dtype != DType::kInt32 || type.shape.rank() != 2)
      throw GraphError("gpt: the tokens are " + type.text() + "; expected int32 [batch, time]");
    Port x = layers::embedding(store, tokens, options.vocabulary, options.units);
    layers::PositionEmbeddingOptions positions;
    positions.context = options.context;
    x = layers::dropout(store, layers::position_embedding(store, x, positions), options.dropout);
    layers::TransformerBlockOptions block;
    block.heads = options.heads;
    block.dropout = options.dropout;
    block.use_bias = options.use_bias;
    block.projection_initializer = Initializer::normal(kDeviation / std::sqrt(2 * static_cast<double>(options.layers)));
    for (int64_t i = 1; i <= options.layers; ++i)
      x = layers::transformer_block(store, x, block, "block" + std::to_string(i));
    return layers::tied_output(store, layers::layer_norm(store, x));
  };
}

GptOptions gpt_tiny_options(int64_t vocabulary) {
  GptOptions options;
  options.vocabulary = vocabulary;
  return options;
}

Network gpt_tiny(int64_t vocabulary) { return gpt(gpt_tiny_options(vocabulary)); }

}  // namespace softamp
