// Ready layers beyond those of a small classifier: pooling, norms, dropout, embedding, attention. Values are chosen so
// that every result is exact; policies say in which dtype.
#include <gtest/gtest.h>

#include <cmath>

#include "softamp/graph/gradients.h"
#include "softamp/train/keras/attention_layers.h"
#include "softamp/train/keras/norm_layers.h"
#include "softamp/train/keras/pooling_layers.h"
#include "tests/train/keras/keras_bench.h"

namespace softamp::test {
namespace {

using enum DType;
using Invalid = std::invalid_argument;

std::vector<double> values(const RunResult& result, size_t fetch = 0) { return result.values[fetch].values(); }

TEST(KerasPooling, WindowsOfTwoByTwoUnlessToldOtherwise) {
  Bench b;
  const Port x = b.placeholder(kFloat32, {1, 3, 4, 1});
  layers::MaxPooling2D greatest(b.context, {}, {.dtype = "mixed_float16"});
  layers::AveragePooling2D mean(b.context, {.pool_size = {1, 2}, .strides = {{1, 1}}, .padding = "same"});
  layers::GlobalAveragePooling2D all(b.context);
  const Port a = greatest(x), m = mean(x), g = all(x);
  EXPECT_EQ(b.builder.type(a), (TensorType{kFloat16, {1, 1, 2, 1}}));
  EXPECT_EQ(b.builder.type(m), (TensorType{kFloat32, {1, 3, 4, 1}}));
  EXPECT_EQ(b.builder.type(g), (TensorType{kFloat32, {1, 1}}));
  const Tensor image = tensor(kFloat32, {1, 3, 4, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  const RunResult r = b.run({{"x", &image}}, {a, m, g});
  EXPECT_EQ(values(r), (std::vector<double>{6, 8}));
  EXPECT_EQ(values(r, 1), (std::vector<double>{1.5, 2.5, 3.5, 4, 5.5, 6.5, 7.5, 8, 9.5, 10.5, 11.5, 12}))
      << "past the edge there is nothing to average";
  EXPECT_EQ(values(r, 2), (std::vector<double>{6.5}));
  EXPECT_EQ(greatest.name() + " " + mean.name() + " " + all.name(),
            "max_pooling2d average_pooling2d global_average_pooling2d");
  EXPECT_EQ(refusal<Invalid>([&] {
              layers::MaxPooling2D(b.context, {.pool_size = {2, 0}});
            }),
            "MaxPooling2D: pool_size is 2 x 0; expected at least 1 x 1");
  EXPECT_EQ(refusal<Invalid>([&] { layers::AveragePooling2D(b.context, {.padding = "SAME"}); }),
            "AveragePooling2D: padding is 'SAME'; expected valid or same");
}

// tests: K10, N269
TEST(KerasNorms, VariablesStayFloat32) {
  for (const char* policy : {"float16", "mixed_float16", "mixed_bfloat16", "float32"}) {
    Bench b;
    layers::LayerNormalization layer_norm(b.context, {}, {.dtype = policy});
    layers::GroupNormalization group_norm(b.context, {.groups = 2}, {.dtype = policy});
    const Port x = b.placeholder(kFloat32, {2, 6});
    EXPECT_EQ(b.dtype(layer_norm(x)), layer_norm.compute_dtype()) << policy;
    EXPECT_EQ(b.dtype(group_norm(x)), group_norm.compute_dtype()) << policy;
    for (const Layer* layer : {static_cast<const Layer*>(&layer_norm), static_cast<const Layer*>(&group_norm)}) {
      ASSERT_EQ(layer->trainable_weights().size(), 2u);
      for (const Weight& w : layer->weights()) EXPECT_TRUE(w.dtype() == kFloat32 && !w.autocast()) << w.name();
    }
    EXPECT_EQ(b.count("Cast"), layer_norm.compute_dtype() == kFloat32 ? 0 : 2) << "of the inputs";
  }
}

TEST(KerasNorms, LayerNormalizationIsOverTheLastAxis) {
  Bench b;
  layers::LayerNormalization norm(b.context, {.epsilon = 0});
  const Port y = norm(b.placeholder(kFloat32, {2, 2, 2}));
  // Each pair lies one deviation below and above its mean.
  const Tensor x = tensor(kFloat32, {2, 2, 2}, {1, 3, 10, 6, -1, 1, 0, 8}), gamma = floats({2, 4}),
               beta = floats({1, 0});
  const RunResult r =
      b.run({{"x", &x}}, {y}, {{"layer_normalization/gamma", &gamma}, {"layer_normalization/beta", &beta}});
  EXPECT_EQ(values(r), (std::vector<double>{-1, 4, 3, -4, -1, 4, -1, 4}));
  layers::LayerNormalization late(b.context);
  EXPECT_EQ(
      refusal<GraphError>([&] { late(b.placeholder(kFloat32, {3}, "vector")); }),
      "layer_normalization 'layer_normalization_1': x has shape [3]; expected a rank of at least 2, features last");
}

TEST(KerasDropout, KeepsAndScalesOrDoesNothing) {
  Bench b;
  const Port x = b.placeholder(kFloat32, {40000});
  layers::Dropout dropout(b.context, 0.75, {}, {.dtype = "mixed_float16"}), none(b.context, 0),
      inference(b.context, 0.5, {.training = false});
  const Port y = dropout(x);
  EXPECT_EQ(b.dtype(y), kFloat16);
  EXPECT_EQ(none(x).port(), x);
  EXPECT_EQ(inference(x).port(), x);
  const Tensor ones = Tensor::full(kFloat32, {40000}, 1);
  const std::vector<double> once = values(b.run({{"x", &ones}}, {y})), again = values(b.run({{"x", &ones}}, {y}));
  EXPECT_EQ(once, again) << "the same step, the same mask";
  double kept = 0;
  for (const double v : once) {
    EXPECT_TRUE(v == 0 || v == 4) << v;
    kept += v != 0;
  }
  EXPECT_NEAR(kept / 40000, 0.25, 6 * std::sqrt(0.25 * 0.75 / 40000)) << "six deviations of a binomial share";
  EXPECT_EQ(refusal<Invalid>([&] { layers::Dropout(b.context, 1); }),
            "Dropout: rate is 1; expected 0 or more, and less than 1");
}

// As in Keras the table is not cast: rows are taken from it as it is kept, and cast.
TEST(KerasEmbedding, CastsRowsNotTheTable) {
  Bench b;
  layers::Embedding embedding(b.context, 1000, 2, {.dtype = "mixed_float16"});
  const Port y = embedding(b.placeholder(kInt32, {2, 2}));
  EXPECT_EQ(b.builder.type(y), (TensorType{kFloat16, {2, 2, 2}}));
  EXPECT_EQ(embedding.weights()[0].dtype(), kFloat32);
  EXPECT_EQ(b.count("Cast"), 1);
  EXPECT_EQ(b.builder.type(b.builder.graph().node(y.node).inputs[0]), (TensorType{kFloat32, {2, 2, 2}}));
  Tensor table(kFloat32, {1000, 2});
  for (int i = 0; i < 2000; ++i) static_cast<float*>(table.data())[i] = static_cast<float>(i);
  const Tensor rows = tensor(kInt32, {2, 2}, {3, 0, 999, 3});
  const RunResult r = b.run({{"x", &rows}}, {y}, {{"embedding/embeddings", &table}});
  EXPECT_EQ(values(r), (std::vector<double>{6, 7, 0, 1, 1998, 1999, 6, 7}));
  const VariableSpec& spec = b.store.variables()[0];
  EXPECT_EQ(spec.initializer, Initializer::uniform(-0.05, 0.05));
  EXPECT_EQ(refusal<Invalid>([&] { layers::Embedding(b.context, 0, 2); }),
            "Embedding: input_dim is 0; expected at least 1");
}

// tests: N111
TEST(KerasEinsumDense, IsDenseAlongWhateverAxes) {
  Bench b;
  layers::EinsumDense by_einsum(b.context, {"abc,cde->abde", {2, 1}, "de"}, {.dtype = "mixed_float16"});
  const Port y = by_einsum(b.placeholder(kFloat32, {1, 2, 2}));
  EXPECT_EQ(b.builder.type(y), (TensorType{kFloat16, {1, 2, 2, 1}}));
  const Tensor x = tensor(kFloat32, {1, 2, 2}, {1, 2, 3, 4}), kernel = tensor(kFloat32, {2, 2, 1}, {1, 10, 100, 1000}),
               bias = tensor(kFloat32, {2, 1}, {0.5, 0.25});
  const RunResult r = b.run({{"x", &x}}, {y}, {{"einsum_dense/kernel", &kernel}, {"einsum_dense/bias", &bias}});
  EXPECT_EQ(values(r), (std::vector<double>{201.5, 2010, 403.5, 4030}))
      << "2010.25 and 4030.25 have more digits than a half";
  const auto refused = [&](layers::EinsumDense::Options options) {
    return refusal<Invalid>([&] { layers::EinsumDense(b.context, options); });
  };
  EXPECT_EQ(refused({"abc", {}, ""}), "EinsumDense: equation is 'abc'; expected 'abc,cd->abd'");
  EXPECT_EQ(refused({"...c,cd->...d", {3}, ""}).substr(0, 12), "EinsumDense:");
  EXPECT_EQ(refused({"ab,bc->ac", {}, ""}),
            "EinsumDense: output_shape has 0 extents; expected 1, for the axes of 'ac' that 'ab' does not have");
  EXPECT_EQ(refused({"ab,bc->ac", {4}, "a"}), "EinsumDense: bias_axes is 'a'; expected the last letters of 'ac'");
  layers::EinsumDense matrix(b.context, {"ab,bc->ac", {4}, ""});
  EXPECT_EQ(refusal<GraphError>([&] {
              matrix(b.placeholder(kFloat32, {1, 2, 2}, "cube"));
            }),
            "einsum_dense 'einsum_dense_1': x has shape [1,2,2]; 'ab,bc->ac' expects a rank of 2");
}

/// Two heads; zero queries look everywhere alike, so that what comes out is the mean of what they may see.
class Attention : public ::testing::Test {
 protected:
  static constexpr int64_t kBatch = 1, kTargets = 2, kSources = 4, kFeatures = 3;
  Attention() {
    query = b.placeholder(kFloat32, {kBatch, kTargets, kFeatures}, "query");
    source = b.placeholder(kFloat32, {kBatch, kSources, 2}, "source");
  }
  /// Query and key give zeros; a value's heads are its two features; the output has head 0, head 1, and their sum.
  std::vector<double> run(Port y, const Tensors& more = {}) {
    const Tensor q = Tensor::full(kFloat32, {kBatch, kTargets, kFeatures}, 1),
                 s = tensor(kFloat32, {kBatch, kSources, 2}, {1, 16, 2, 32, 3, 48, 6, 64}),
                 zeros = Tensor::full(kFloat32, {kFeatures, 2, 5}, 0), key = Tensor::full(kFloat32, {2, 2, 5}, 1),
                 value = tensor(kFloat32, {2, 2, 1}, {1, 0, 0, 1}),
                 output = tensor(kFloat32, {2, 1, kFeatures}, {1, 0, 1, 0, 1, 1});
    Tensors feeds = more;
    feeds["query"] = &q, feeds["source"] = &s;
    const std::string in = "multi_head_attention/";
    return values(b.run(feeds, {y},
                        {{in + "query/kernel", &zeros},
                         {in + "key/kernel", &key},
                         {in + "value/kernel", &value},
                         {in + "attention_output/kernel", &output}}));
  }
  static layers::MultiHeadAttention::Options options() { return {.num_heads = 2, .key_dim = 5, .value_dim = 1}; }

  Bench b;
  Port query, source;
};

// tests: K10
TEST_F(Attention, AMeanOfAllSourcesUnderEveryPolicy) {
  layers::MultiHeadAttention attention(b.context, options(), {.dtype = "mixed_float16"});
  const Port y = attention(query, source);
  EXPECT_EQ(b.builder.type(y), (TensorType{kFloat16, {kBatch, kTargets, kFeatures}}));
  EXPECT_EQ(run(y), (std::vector<double>{3, 40, 43, 3, 40, 43}));
  std::vector<std::string> names;
  for (const Weight& w : attention.weights()) {
    EXPECT_EQ(w.dtype(), kFloat32);
    names.push_back(w.name().substr(attention.name().size() + 1));
  }
  EXPECT_EQ(names, (std::vector<std::string>{"query/kernel", "query/bias", "key/kernel", "key/bias", "value/kernel",
                                             "value/bias", "attention_output/kernel", "attention_output/bias"}));
}

TEST_F(Attention, AMaskedTargetSeesTheRest) {
  layers::MultiHeadAttention attention(b.context, options(), {.dtype = "mixed_float16"});
  const Port mask = b.placeholder(kBool, {kBatch, kTargets, kSources}, "mask");
  const Port y = attention(query, source, source, mask);
  const Tensor seen = tensor(kBool, {kBatch, kTargets, kSources}, {1, 0, 0, 0, 0, 1, 0, 1});
  EXPECT_EQ(run(y, {{"mask", &seen}}), (std::vector<double>{1, 16, 17, 4, 48, 52}));
}

TEST_F(Attention, HasGradientsAndRefusesWhatDoesNotFit) {
  layers::MultiHeadAttention attention(b.context, {.num_heads = 2, .key_dim = 5, .dropout = 0.5, .use_bias = false});
  const Port loss = b.builder.add("Sum", {attention(query, source)});
  const std::vector<Port> kernels = [&] {
    std::vector<Port> all;
    for (const Weight& w : attention.weights()) all.push_back(w.value());
    return all;
  }();
  EXPECT_EQ(kernels.size(), 4u);
  for (const std::optional<Port>& gradient : gradients(b.builder, loss, kernels)) EXPECT_TRUE(gradient.has_value());
  EXPECT_EQ(refusal<Invalid>([&] { layers::MultiHeadAttention(b.context, {.num_heads = 0, .key_dim = 5}); }),
            "MultiHeadAttention: num_heads is 0; expected at least 1");
  layers::MultiHeadAttention flat(b.context, options());
  EXPECT_EQ(
      refusal<GraphError>([&] {
        flat(b.placeholder(kFloat32, {2, 3}, "flat"), source);
      }),
      "multi_head_attention 'multi_head_attention_1': the query has shape [2,3]; expected [batch, targets, features]");
}

}  // namespace
}  // namespace softamp::test
