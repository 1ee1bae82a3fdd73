// Layers: shapes, dtypes and values (TUTORIAL G16, G20, G43), and what they refuse.
#include <gtest/gtest.h>

#include <cstring>
#include <tuple>

#include "softamp/train/layers.h"
#include "tests/graph/executor_check.h"

namespace softamp::test {
namespace {

using enum DType;
using Ints = std::vector<int64_t>;

ExecutorOptions ieee() {
  ExecutorOptions options;
  options.semantics = Semantics::ieee();
  options.threads = 1;
  return options;
}

/// Whole numbers from -most to most.
Tensor whole_numbers(const TensorType& type, int64_t most, uint64_t seed) {
  const Tensor uniform = initial_value(Initializer::uniform(0, static_cast<double>(2 * most + 1)),
                                       {kFloat32, type.shape}, "whole numbers", seed);
  std::vector<double> values;
  for (const float x : uniform.as<float>())
    values.push_back(static_cast<double>(std::min(static_cast<int64_t>(x), 2 * most) - most));
  return Tensor::from_values(type.dtype, type.shape, values);
}

int64_t outputs_of(int64_t in, int64_t kernel, int64_t stride, bool same) {
  return same ? (in + stride - 1) / stride : (in - kernel) / stride + 1;
}

/// The direct sum over [n, h, w, c] by [k, k, c, o], plus a bias.
Tensor direct_sum(const Tensor& x, const Tensor& w, const Tensor& b, int64_t stride, bool same) {
  const Shape &in = x.shape(), &filter = w.shape();
  const int64_t kernel = filter[0], channels = in[3], filters = filter[3];
  const auto out = [&](int axis) { return outputs_of(in[axis], kernel, stride, same); };
  const auto before = [&](int axis) {
    return same ? std::max<int64_t>((out(axis) - 1) * stride + kernel - in[axis], 0) / 2 : 0;
  };
  std::vector<double> sums;
  for (int64_t n = 0; n < in[0]; ++n)
    for (int64_t oh = 0; oh < out(1); ++oh)
      for (int64_t ow = 0; ow < out(2); ++ow)
        for (int64_t o = 0; o < filters; ++o) {
          double sum = b.value(o);
          for (int64_t kh = 0; kh < kernel; ++kh)
            for (int64_t kw = 0; kw < kernel; ++kw)
              for (int64_t c = 0; c < channels; ++c) {
                const int64_t ih = oh * stride + kh - before(1), iw = ow * stride + kw - before(2);
                if (ih < 0 || ih >= in[1] || iw < 0 || iw >= in[2]) continue;
                sum += x.value(((n * in[1] + ih) * in[2] + iw) * channels + c) *
                       w.value(((kh * kernel + kw) * channels + c) * filters + o);
              }
          sums.push_back(sum);
        }
  return Tensor::from_values(x.dtype(), {in[0], out(1), out(2), filters}, sums);
}

Tensor rectified(const Tensor& x) {
  std::vector<double> values = x.values();
  for (double& v : values) v = std::max(v, 0.0);
  return Tensor::from_values(x.dtype(), x.shape(), values);
}

Tensor added(const Tensor& x, const Tensor& y) {
  std::vector<double> values = x.values();
  for (size_t i = 0; i < values.size(); ++i) values[i] += y.value(static_cast<int64_t>(i));
  return Tensor::from_values(x.dtype(), x.shape(), values);
}

// tests: G20
TEST(Layers, ConvolutionIsTheDirectSum) {  // TUTORIAL G20; whole numbers, so that every sum is exact in any order
  for (const DType dtype : {kFloat16, kBFloat16, kFloat32})
    for (const int64_t stride : {1, 2})
      for (const int64_t kernel : {2, 3})
        for (const bool same : {true, false})
          for (const int64_t extent : {6, 7}) {
            // At most 9 x 3 products of up to 2 x 2, and a bias of 2: below 2^7, where bfloat16 is exact.
            GraphBuilder builder;
            VariableStore store(builder);
            const Port x = builder.placeholder("x", dtype, {2, extent, extent + 1, 3});
            layers::Conv2DOptions options;
            options.kernel = kernel;
            options.stride = stride;
            options.padding = same ? "SAME" : "VALID";
            options.relu = kernel == 3;
            const std::string y = builder.graph().port_name(layers::conv2d(store, x, 4, options));
            ASSERT_EQ(store.variables().size(), 2u);
            const Tensor image = whole_numbers(builder.type(x), 2, 1);
            const Tensor w = whole_numbers(store.variables()[0].type, 2, 2);
            const Tensor b = whole_numbers(store.variables()[1].type, 2, 3);
            EXPECT_EQ(w.type(), (TensorType{dtype, {kernel, kernel, 3, 4}}));
            EXPECT_EQ(b.type(), (TensorType{dtype, {4}}));
            const auto executor = make_executor(builder.build(), ieee());
            executor->set_variable("conv2d/kernel", w);
            executor->set_variable("conv2d/bias", b);
            const Tensor got = std::move(run(*executor, {{"x", &image}}, {y}).values[0]);
            const Tensor sum = direct_sum(image, w, b, stride, same);
            EXPECT_EQ(sum.shape(), (Shape{2, outputs_of(extent, kernel, stride, same),
                                          outputs_of(extent + 1, kernel, stride, same), 4}));
            EXPECT_TRUE(got.same_bits(options.relu ? rectified(sum) : sum.clone()))
                << name_of(dtype) << " kernel " << kernel << " stride " << stride << " " << options.padding;
          }
}

/// Whole numbers of at most 1: sums of at most 9 x 4 x 1 + 1 = 37, then of 9 x 4 x 37 + 1 = 1333 and what is added,
/// below 2^11, so exact in float16 too.
// tests: N272
TEST(Layers, ResidualBlocksByTheirDefinition) {
  for (const DType dtype : {kFloat16, kFloat32})
    for (const bool down : {false, true}) {
      GraphBuilder builder;
      VariableStore store(builder);
      const Port x = builder.placeholder("x", dtype, {2, 5, 6, 4});
      const Port y = down ? layers::downsample_block(store, x, 4) : layers::residual_block(store, x, 4);
      const std::string scope = down ? "downsample" : "block", fetch = builder.graph().port_name(y);
      const std::vector<VariableSpec> variables = store.variables();
      ASSERT_EQ(variables.size(), down ? 6u : 4u);
      const Tensor image = whole_numbers(builder.type(x), 1, 1);
      const auto executor = make_executor(builder.build(), ieee());
      std::vector<Tensor> values;
      for (size_t i = 0; i < variables.size(); ++i) {
        const std::string layer = "/conv2d" + (i < 2 ? std::string() : "_" + std::to_string(i / 2));
        EXPECT_EQ(variables[i].name, scope + layer + (i % 2 ? "/bias" : "/kernel"));
        values.push_back(whole_numbers(variables[i].type, 1, 2 + i));
        executor->set_variable(variables[i].name, values.back());
      }
      const Tensor first = rectified(direct_sum(image, values[0], values[1], down ? 2 : 1, true));
      const Tensor second = direct_sum(first, values[2], values[3], 1, true);
      const Tensor past = down ? direct_sum(image, values[4], values[5], 2, true) : image.clone();
      const Tensor expected = rectified(added(second, past));
      EXPECT_EQ(expected.shape(), (down ? Shape{2, 3, 3, 4} : Shape{2, 5, 6, 4}));
      EXPECT_TRUE(run(*executor, {{"x", &image}}, {fetch}).values[0].same_bits(expected)) << scope;
    }
}

TEST(Layers, DenseIsTheProductPlusBias) {
  GraphBuilder builder;
  VariableStore store(builder);
  const Port x = builder.placeholder("x", kFloat16, {3, 5});
  layers::DenseOptions options;
  options.relu = true;
  const std::string y = builder.graph().port_name(layers::dense(store, x, 4, options));
  const Tensor rows = whole_numbers(builder.type(x), 4, 1), w = whole_numbers({kFloat16, {5, 4}}, 4, 2),
               b = whole_numbers({kFloat16, {4}}, 4, 3);
  const auto executor = make_executor(builder.build(), ieee());
  executor->set_variable("dense/kernel", w);
  executor->set_variable("dense/bias", b);
  const Tensor got = std::move(run(*executor, {{"x", &rows}}, {y}).values[0]);
  for (int64_t i = 0; i < 3; ++i)
    for (int64_t j = 0; j < 4; ++j) {
      double sum = b.value(j);
      for (int64_t k = 0; k < 5; ++k) sum += rows.value(i * 5 + k) * w.value(k * 4 + j);
      ASSERT_EQ(got.value(i * 4 + j), std::max(sum, 0.0)) << i << " " << j;
    }
}

// tests: G16, N270
TEST(Layers, DenseColumnIsItsExplicitCasts) {  // TUTORIAL G16, and the batch is its images one by one
  constexpr int64_t kBatch = 3, kIn = 37, kUnits = 10;
  GraphBuilder builder;
  VariableStore store(builder);
  const Port x = builder.placeholder("x", kFloat16, {kBatch, kIn});
  Port y, single;
  {
    const auto scope = store.scope("net", float32_parameters());
    y = layers::dense_column(store, x, kUnits);
  }
  {
    const auto scope = store.scope("net", float32_parameters(), true);
    const Port slice = builder.add("Slice", {x}, {{"begin", Ints{1, 0}}, {"size", Ints{1, kIn}}});
    single = layers::dense_column(store, builder.add("Reshape", {slice}, {{"shape", Ints{kIn}}}), kUnits);
  }
  ASSERT_EQ(store.variables().size(), 2u) << "the single image's layer has the same variables";
  EXPECT_EQ(store.variables()[0].name, "net/dense/weights");
  EXPECT_EQ(store.variables()[0].type, (TensorType{kFloat32, {kUnits, kIn}}));
  EXPECT_EQ(store.variables()[1].type, (TensorType{kFloat32, {kUnits, 1}}));
  for (const VariableSpec& spec : store.variables()) EXPECT_EQ(spec.initializer, Initializer::glorot_uniform());
  EXPECT_EQ(builder.type(y), (TensorType{kFloat16, {kBatch, kUnits}}));
  EXPECT_EQ(builder.type(single), (TensorType{kFloat16, {kUnits}}));
  // The row's words, node by node.
  const auto half = [&](const char* name) {
    return builder.add("Cast", {store.variable(name).port}, {{"DstT", kFloat16}});
  };
  const Port column = builder.add("Reshape", {x}, {{"shape", Ints{kBatch, kIn, 1}}});
  const Port product = builder.add("BatchMatMulV2", {half("net/dense/weights"), column});
  const Port sum = builder.add("AddV2", {product, half("net/dense/biases")});
  const Port explicit_y = builder.add("Reshape", {sum}, {{"shape", Ints{kBatch, kUnits}}});
  const Names fetches = {builder.graph().port_name(y), builder.graph().port_name(single),
                         builder.graph().port_name(explicit_y)};
  const std::vector<VariableSpec> variables = store.variables();
  for (const bool preset : {false, true}) {
    const auto executor = make_executor(builder.graph(), preset ? ExecutorOptions{} : ieee());
    for (const VariableSpec& spec : variables)
      executor->set_variable(spec.name, initial_value(spec.initializer, spec.type, spec.name, 1));
    const Tensor rows = initial_value(Initializer::normal(1), {kFloat16, {kBatch, kIn}}, "rows", 4);
    const RunResult result = run(*executor, {{"x", &rows}}, fetches);
    EXPECT_TRUE(result.values[0].same_bits(result.values[2]));
    EXPECT_EQ(std::memcmp(result.values[1].data(), result.values[0].as<uint16_t>().data() + kUnits, 2 * kUnits), 0);
    EXPECT_NE(result.values[0].value(0), 0);
  }
}

// tests: G43, N269
TEST(Layers, NormsKeepTheirVariablesAsTold) {
  struct Case {
    DType x;
    std::optional<DType> wanted;
    DType kept;
  };
  for (const Case& c : std::vector<Case>{{kFloat16, {}, kFloat16},
                                         {kFloat16, kFloat32, kFloat32},
                                         {kFloat32, {}, kFloat32},
                                         {kFloat32, kFloat16, kFloat16},
                                         {kBFloat16, {}, kFloat32}}) {
    GraphBuilder builder;
    VariableStore store(builder);
    const Port x = builder.placeholder("x", c.x, {4, 3, 3, 6});
    layers::GroupNormOptions group;
    group.groups = 2;
    group.dtype = c.wanted;
    layers::BatchNormOptions batch;
    batch.dtype = c.wanted;
    const Port y = layers::group_norm(store, x, group), z = layers::batch_norm(store, x, batch);
    EXPECT_EQ(builder.type(y), builder.type(x));
    EXPECT_EQ(builder.type(z), builder.type(x));
    const std::vector<std::tuple<std::string, Initializer, bool>> expected = {
        {"group_norm/gamma", Initializer::ones(), true},
        {"group_norm/beta", Initializer::zeros(), true},
        {"batch_normalization/gamma", Initializer::ones(), true},
        {"batch_normalization/beta", Initializer::zeros(), true},
        {"batch_normalization/moving_mean", Initializer::zeros(), false},
        {"batch_normalization/moving_variance", Initializer::ones(), false}};
    ASSERT_EQ(store.variables().size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      const auto& [name, initializer, trainable] = expected[i];
      EXPECT_EQ(store.variables()[i], (VariableSpec{name, {c.kept, {6}}, initializer, trainable}));
    }
    const Node& node = builder.graph().node(z.node);
    EXPECT_EQ(attribute<double>(node, "epsilon"), 1e-3);
    EXPECT_EQ(attribute<bool>(node, "is_training"), true);
  }
}

// tests: N271
TEST(Layers, BatchNormMovesItsAveragesWhereAssigned) {
  GraphBuilder builder;
  VariableStore store(builder);
  const Port x = builder.placeholder("x", kFloat32, {2, 1});
  layers::BatchNormOptions options;
  options.momentum = 0.75;
  const Port y = layers::batch_norm(store, x, options);
  const auto place = [&](const char* name) -> const Variable& {
    return store.variable(std::string("batch_normalization/") + name);
  };
  const Graph untouched = builder.graph();
  assign(builder, place("moving_mean"), {y.node, 1});
  assign(builder, place("moving_variance"), {y.node, 2});
  const Tensor rows = tensor(kFloat32, {2, 1}, {3, 5});  // mean 4, variance 1, unbiased 2
  const auto value_after = [&](const Graph& graph, const char* name) {
    const auto executor = make_executor(graph, ieee());
    for (const VariableSpec& spec : store.variables())
      executor->set_variable(spec.name, initial_value(spec.initializer, spec.type, spec.name, 0));
    run(*executor, {{"x", &rows}}, {graph.port_name(y)});
    return executor->variable(std::string("batch_normalization/") + name).value(0);
  };
  EXPECT_EQ(value_after(builder.graph(), "moving_mean"), 0.75 * 0 + 0.25 * 4);
  EXPECT_EQ(value_after(builder.graph(), "moving_variance"), 0.75 * 1 + 0.25 * 2);
  EXPECT_EQ(value_after(untouched, "moving_mean"), 0) << "nothing moves them by itself";
}

TEST(Layers, Refusals) {
  GraphBuilder builder;
  VariableStore store(builder);
  const auto scope = store.scope("net");
  const Port image = builder.placeholder("image", kFloat32, {2, 4, 4, 3});
  const Port rows = builder.placeholder("rows", kFloat16, {2, 4});
  const Port whole = builder.placeholder("whole", kInt32, {2, 4, 4, 3});
  const Port scalar = builder.placeholder("scalar", kFloat32, {});
  const auto text = [](const auto& act) { return refusal<GraphError>(act); };
  const std::string images = "; expected [batch, height, width, channels] of float16, bfloat16, float32 or float64";
  EXPECT_EQ(text([&] { layers::conv2d(store, rows, 8); }), "conv2d 'net/conv2d': x is float16[2,4]" + images);
  EXPECT_EQ(text([&] { layers::conv2d(store, whole, 8); }), "conv2d 'net/conv2d': x is int32[2,4,4,3]" + images);
  EXPECT_EQ(text([&] { layers::conv2d(store, image, 0, {}, "c"); }),
            "conv2d 'net/c': filters is 0; expected at least 1");
  layers::Conv2DOptions options;
  options.kernel = 0;
  EXPECT_EQ(text([&] { layers::conv2d(store, image, 8, options); }),
            "conv2d 'net/conv2d': kernel is 0; expected at least 1");
  options.kernel = 3;
  options.stride = -1;
  EXPECT_EQ(text([&] { layers::conv2d(store, image, 8, options); }),
            "conv2d 'net/conv2d': stride is -1; expected at least 1");
  options.stride = 1;
  options.padding = "same";
  EXPECT_NE(text([&] { layers::conv2d(store, image, 8, options, "p"); }).find("padding"), std::string::npos);
  options.padding = "SAME";
  options.partials = "double";
  EXPECT_NE(text([&] { layers::conv2d(store, image, 8, options, "q"); }).find("partialsType"), std::string::npos);
  EXPECT_EQ(text([&] { layers::dense(store, scalar, 8); }),
            "dense 'net/dense': x is float32[]; expected [batch, ..., in] of float16, bfloat16, float32 or float64");
  EXPECT_EQ(text([&] { layers::dense_column(store, scalar, 8); }),
            "dense_column 'net/dense': x is float32[]; expected [batch, in] or [in] of float16, bfloat16, float32 or "
            "float64");
  EXPECT_EQ(text([&] { layers::dense(store, Port{}, 8); }),
            "dense 'net/dense': x is output 0 of node number -1; expected an output of a node that was added before");
  const int next = builder.graph().size();
  EXPECT_EQ(text([&] {
              layers::dense(store, Port{next, 0}, 8);
            }),
            "dense 'net/dense': x is output 0 of node number " + std::to_string(next) +
                "; expected an output of a node that was added before");
  EXPECT_EQ(text([&] {
              layers::dense(store, Port{image.node, 1}, 8);
            }),
            "dense 'net/dense': x is output 1 of node number " + std::to_string(image.node) +
                "; expected an output of a node that was added before");
  EXPECT_EQ(text([&] { layers::residual_block(store, image, 8, "block1"); }),
            "residual_block 'net/block1': x has 3 channels; expected 8, the filters, as x is added to what they give");
  EXPECT_EQ(text([&] { layers::downsample_block(store, rows, 8); }),
            "downsample_block 'net/downsample': x is float16[2,4]" + images);
  layers::BatchNormOptions batch;
  batch.momentum = 1.5;
  EXPECT_EQ(text([&] { layers::batch_norm(store, image, batch); }),
            "batch_norm 'net/batch_normalization': momentum is 1.5; expected 0 .. 1");
  batch.momentum = 0.9;
  batch.dtype = kBFloat16;
  EXPECT_EQ(text([&] { layers::batch_norm(store, image, batch); }),
            "batch_norm 'net/batch_normalization': dtype of the variables is bfloat16; expected float16 or float32");
  layers::GroupNormOptions group;
  group.groups = 2;
  EXPECT_NE(text([&] { layers::group_norm(store, image, group); }).find("expected a divisor of the 3 channels"),
            std::string::npos);
  EXPECT_EQ(text([&] { layers::max_pool(store, image, 0, 2); }),
            "max_pool 'net/MaxPool': size is 0; expected at least 1");
  EXPECT_EQ(text([&] { layers::global_average_pool(store, rows); }),
            "global_average_pool 'net/Mean': x is float16[2,4]" + images);
  EXPECT_EQ(text([&] { layers::flatten(store, scalar); }),
            "flatten 'net/Reshape': x is a scalar; expected [batch, ...]");
  EXPECT_EQ(store.scope_path(), "net/");
}

}  // namespace
}  // namespace softamp::test
