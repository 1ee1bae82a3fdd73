// Variables of Keras' layers: read in one dtype and kept in another, losses from them, graphs in several threads; ready
// layers, models of them, and checkpoints that pass between mixed and float32 runs.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <thread>

#include "softamp/graph/graph_text.h"
#include "softamp/train/checkpoint.h"
#include "softamp/train/optimizer.h"
#include "tests/files.h"
#include "tests/train/keras/keras_bench.h"

namespace softamp::test {
namespace {

using enum DType;
using Invalid = std::invalid_argument;

// ---- Variables ----------------------------------------------------------------------------------------------------

// tests: K12
TEST(KerasWeight, K12DtypeOfWeights) {
  Bench b;
  std::vector<Weight> all;
  Custom layer(b.context, first_argument, {.dtype = "mixed_float16"}, [&](Custom& self) {
    all = {self.add_weight("usual", {3, 4}), self.add_weight("half", {2}, {.dtype = kFloat16}),
           self.add_weight("twice", {2}, {.dtype = kFloat64, .initializer = Initializer::ones(), .trainable = false}),
           self.add_weight("whole", {2}, {.dtype = kInt32, .trainable = false})};
  });
  layer(b.placeholder(kFloat32, {}));
  EXPECT_EQ(all[0].dtype(), kFloat32);
  EXPECT_EQ(all[1].dtype(), kFloat16);
  EXPECT_EQ(all[2].dtype(), kFloat64);
  EXPECT_EQ(all[3].dtype(), kInt32);
  EXPECT_FALSE(all[3].autocast()) << "an int variable is not wrapped";
  EXPECT_TRUE(all[0].autocast() && all[1].autocast() && all[2].autocast());
  const std::vector<VariableSpec>& specs = b.store.variables();
  ASSERT_EQ(specs.size(), 4u);
  EXPECT_EQ(specs[0], (VariableSpec{"custom/usual", {kFloat32, {3, 4}}, Initializer::glorot_uniform(), true}));
  EXPECT_EQ(specs[2], (VariableSpec{"custom/twice", {kFloat64, {2}}, Initializer::ones(), false}));
  EXPECT_EQ(specs[3].initializer, Initializer::zeros());
  EXPECT_EQ(layer.weights().size(), 4u);
  EXPECT_EQ(layer.trainable_weights().size(), 2u);
}

// tests: K13
TEST(KerasWeight, K13ReadInsideAndOutside) {
  Bench b;
  Port inside, whole;
  Weight v, w, n;
  Custom layer(
      b.context,
      [&](Custom& self, const LayerArguments& in) {
        inside = v.read();
        EXPECT_EQ(v.dtype(), kFloat32) << "the true one, in a call too";
        EXPECT_NE(v.read(), inside) << "every reading is a cast of its own";
        EXPECT_EQ(b.dtype(w.read()), kFloat16);
        EXPECT_EQ(w.read(), w.value()) << "kept in the compute dtype";
        whole = n.read();
        EXPECT_EQ(b.dtype(v.assign(self.constant(2, kFloat32))), kFloat32);
        EXPECT_EQ(refusal<DtypeMismatchError>([&] { v.assign(self.constant(2, kFloat16)); }),
                  "Input 'value' of 'Assign' Op has type float16 that does not match type float32 of argument 'ref'.");
        return in[0];
      },
      {.dtype = "mixed_float16"},
      [&](Custom& self) {
        v = self.add_weight("v", {});
        w = self.add_weight("w", {}, {.dtype = kFloat16});
        n = self.add_weight("n", {}, {.dtype = kInt32});
        EXPECT_EQ(v.read(), v.value()) << "build() is no call";
      });
  layer(b.placeholder(kFloat32, {}));
  EXPECT_EQ(b.dtype(inside), kFloat16);
  EXPECT_EQ(b.builder.graph().node(inside.node).op, "Cast");
  EXPECT_EQ(b.builder.graph().node(inside.node).name, "custom/v_cast");
  EXPECT_EQ(whole, n.value());
  EXPECT_EQ(v.read(), v.value()) << "outside";
  EXPECT_EQ(b.dtype(v.read()), kFloat32);
  EXPECT_THROW(v.assign(b.builder.constant(Tensor::full(kFloat32, {2}, 0))), GraphError);
  EXPECT_THROW(Weight().read(), GraphError);

  // One dtype for both: nothing is wrapped.
  Custom half(b.context, reads_weight, {.dtype = "float16"}, adds_weight());
  const Port as_kept = half(b.placeholder(kFloat32, {}));
  EXPECT_EQ(as_kept, half.w.value());
  EXPECT_FALSE(half.w.autocast());
}

// tests: K13
TEST(KerasWeight, K13NestedLayersOfDifferentPolicies) {
  Bench b;
  const Port x = b.placeholder(kFloat32, {});
  Weight outer_weight;
  Custom brain(
      b.context,
      [&](Custom& self, const LayerArguments&) {
        // Somebody else's auto-cast variable is read in the dtype of the layer that is being called, as Keras does it.
        return LayerValue::list({self.w.read(), outer_weight.read()});
      },
      {.dtype = "mixed_bfloat16"}, adds_weight());
  Custom plain(b.context, [&](Custom&, const LayerArguments&) { return outer_weight.read(); }, {.dtype = "float32"});
  Custom failing(b.context, [&](Custom&, const LayerArguments&) -> LayerValue { throw 1; }, {.dtype = "float64"});
  std::vector<DType> seen;
  Custom outer(
      b.context,
      [&](Custom& self, const LayerArguments& in) {
        outer_weight = self.w;
        seen.push_back(b.dtype(self.w.read()));
        const LayerValue inner = brain(in[0]);
        seen.push_back(b.dtype(inner[0]));
        seen.push_back(b.dtype(inner[1]));
        EXPECT_EQ(plain(in[0]).port(), self.w.value());
        EXPECT_THROW(failing(in[0]), int);
        seen.push_back(b.dtype(self.w.read()));
        return in[0];
      },
      {.name = "outer", .dtype = "mixed_float16"}, adds_weight());
  outer(x);
  EXPECT_EQ(seen, (std::vector<DType>{kFloat16, kBFloat16, kBFloat16, kFloat16}));
  EXPECT_EQ(b.context.autocast_dtype(), std::nullopt);
  EXPECT_EQ(brain.w.name(), "outer/custom/w");
  ASSERT_EQ(outer.weights().size(), 2u);
  EXPECT_EQ(outer.weights()[1].name(), brain.w.name()) << "layers within belong to it";
  EXPECT_EQ(b.context.weights().size(), 2u);
  EXPECT_EQ(b.store.scope_path(), "");
}

// tests: K13
TEST(KerasWeight, K13GradientsAreFloat32) {
  for (const char* policy : {"mixed_float16", "mixed_bfloat16"}) {
    Bench b;
    layers::Dense dense(b.context, 2, {}, {.dtype = policy});
    const Port y = dense(b.placeholder(kFloat32, {4, 3}));
    std::vector<Port> variables;
    for (const Weight& w : dense.weights()) variables.push_back(w.value());
    const auto gradient = gradients(b.builder, y, variables);
    ASSERT_EQ(gradient.size(), 2u);
    for (const auto& g : gradient) {
      EXPECT_EQ(b.dtype(g.value()), kFloat32);
      EXPECT_EQ(b.builder.graph().node(g->node).op, "Cast") << "back through the cast";
    }
  }
}

// tests: K14
TEST(KerasWeight, K14NotWrappedWhereAskedSo) {
  Bench b;
  Custom layer(b.context, reads_weight, {.dtype = "mixed_float16"}, adds_weight({.autocast = false}));
  const Port y = layer(b.placeholder(kFloat32, {}));
  EXPECT_EQ(y, layer.w.value());
  EXPECT_EQ(b.dtype(y), kFloat32);
}

/// Several graphs at once, each with its own context and policy; the context of mechanisms is shared. None of them
/// differs from the graph that one thread builds.
// tests: K13
TEST(KerasWeight, K13GraphsInTwoThreads) {
  const MixedPrecisionContext shared;
  const auto build = [&](const char* policy) {
    GraphBuilder builder;
    VariableStore store(builder);
    LayerContext context(store, shared);
    Port x = builder.placeholder("x", kFloat32, {2, 8});
    for (int i = 0; i < 20; ++i) {
      Custom layer(
          context,
          [](Custom& self, const LayerArguments& in) {
            std::this_thread::yield();  // let the other thread in between scope and reading
            return self.op("MatMul", {in[0], self.w.read()});
          },
          {.dtype = i % 3 == 2 ? "float32" : policy},
          [](Custom& self) {
            self.w = self.add_weight("w", {8, 8});
          });
      x = layer(x);
    }
    return builder.build();
  };
  const Graph half = build("mixed_float16"), brain = build("mixed_bfloat16");
  EXPECT_FALSE(half == brain);
  const auto repeat = [&](const char* policy, const Graph& expected, bool& same) {
    try {
      for (int i = 0; i < 20; ++i) same = same && build(policy) == expected;
    } catch (const std::exception&) {
      same = false;
    }
  };
  bool same[2] = {true, true};
  std::thread first(repeat, "mixed_float16", std::cref(half), std::ref(same[0]));
  std::thread second(repeat, "mixed_bfloat16", std::cref(brain), std::ref(same[1]));
  first.join();
  second.join();
  EXPECT_TRUE(same[0] && same[1]);
}

/// w = 0.1, sum w^2. In float32: RN24(0.1f * 0.1f) = 0x1.47ae16p-7, one rounding. Of float16's 0.1 = 819 / 8192 it
/// would be 670761 / 2^26 = 0x1.47856...p-7.
// tests: K18
TEST(KerasWeight, K18RegularizersSeeTheVariable) {
  Bench b;
  layers::Dense::Options options;
  options.function.kernel_initializer = Initializer::constant(0.1);
  options.function.use_bias = false;
  options.kernel_regularizer = l2_regularizer(1);
  layers::Dense dense(b.context, 1, options, {.dtype = "mixed_float16"});
  dense(b.placeholder(kFloat32, {1, 1}));
  std::vector<Port> losses = dense.losses();
  ASSERT_EQ(losses.size(), 1u);
  EXPECT_EQ(b.builder.graph().node(losses[0].node).name, "dense/kernel/Regularizer/Mul");
  EXPECT_EQ(b.dtype(losses[0]), kFloat32);
  EXPECT_EQ(b.context.losses().size(), 1u);

  // In a call it is the same; and so it is for the rate 0.01, the product rounded once more.
  Custom outer(b.context,
               [&](Custom& self, const LayerArguments& in) {
                 losses.push_back(dense.losses()[0]);
                 losses.push_back(l2_regularizer()(b.builder, dense.weights()[0].value()));
                 losses.push_back(l1_regularizer(0.5)(b.builder, dense.weights()[0].value()));
                 losses.push_back(self.op("Square", {dense.weights()[0].read()}));  // what is avoided
                 return in[0];
               },
               {.dtype = "mixed_float16"});
  outer(b.placeholder(kFloat32, {}));
  const Tensor w = Tensor::full(kFloat32, {1, 1}, 0.1);
  const RunResult r = b.run({}, losses, {{"dense/kernel", &w}});
  EXPECT_EQ(r.values[0].value(0), 0x1.47ae16p-7);
  EXPECT_EQ(r.values[1].value(0), 0x1.47ae16p-7);
  EXPECT_EQ(r.values[2].value(0), 0x1.a36e30p-14);
  EXPECT_EQ(r.values[3].value(0), static_cast<double>(0.1f) / 2);
  EXPECT_EQ(r.values[4].dtype(), kFloat16);
  EXPECT_NE(r.values[4].value(0), 0x1.47ae16p-7);
}

/// The vector of Keras' own tests: a weight of 1, a gradient of 1, lr 2^-14. In float16 the step would be lost.
// tests: K13
TEST(KerasWeight, MixedLayerKeepsASmallStep) {
  for (const char* policy : {"mixed_float16", "float16"}) {
    Bench b;
    Custom layer(
        b.context,
        [](Custom& self, const LayerArguments& in) {
          return self.op("Mul", {in[0], self.w.read()});
        },
        {.dtype = policy}, adds_weight());
    const Port loss = layer(b.placeholder(kFloat32, {}));
    const Port rate = b.builder.placeholder("rate", kFloat32, {}), apply = b.builder.placeholder("apply", kBool, {});
    OptimizerOptions sgd = OptimizerOptions::of(OptimizerKind::kSgd);
    const std::vector<Variable> variables = {layer.w.variable()};
    Optimizer(sgd).minimize(b.builder, loss, variables, rate, apply);
    const auto executor = make_executor(b.builder.build());
    executor->set_variable("custom/w", Tensor::full(layer.dtype().value(), {}, 1));
    const Tensor one = Tensor::full(kFloat32, {}, 1), lr = Tensor::full(kFloat32, {}, 0x1p-14),
                 yes = Tensor::full(kBool, {}, 1);
    run(*executor, {{"x", &one}, {"rate", &lr}, {"apply", &yes}}, {});
    EXPECT_EQ(executor->variable("custom/w").value(0), layer.dtype() == kFloat32 ? 1 - 0x1p-14 : 1) << policy;
  }
}

// ---- Ready layers and models --------------------------------------------------------------------------------------

/// The classes' graphs are, node by node, those of the functions (layers.h): without a rule under float32, under the
/// policy's rule otherwise.
// tests: K10
TEST(KerasClasses, AreTheFunctionsUnderTheSameRule) {
  for (const char* name : {"float32", "float16", "mixed_float16", "mixed_bfloat16"}) {
    GraphBuilder classes, functions;
    const TensorType image{kFloat32, {2, 6, 6, 3}}, row{kFloat32, {2, 12}};
    {
      VariableStore store(classes);
      MixedPrecisionContext precision;
      const PolicyScope policy(precision, name);
      LayerContext context(store, precision);
      layers::Conv2D conv(context, 4);
      layers::BatchNormalization norm(context);
      norm(conv(classes.placeholder("image", image.dtype, image.shape)));
      layers::Dense first(context, 5), second(context, 6, {.activation = "softmax"});
      second(first(classes.placeholder("row", row.dtype, row.shape)));
    }
    {
      VariableStore store(functions, Policy(name).layer_rule());
      const Port x = functions.placeholder("image", image.dtype, image.shape);
      layers::batch_norm(store, layers::conv2d(store, x, 4, {.padding = "VALID"}), {.moving_averages = true});
      const Port y = layers::dense(store, functions.placeholder("row", row.dtype, row.shape), 5);
      const Port logits = layers::dense(store, y, 6);
      functions.add("Softmax", {logits}, {}, "dense_1/Softmax");
    }
    const Graph a = classes.build(), b = functions.build();
    EXPECT_TRUE(a == b) << name << "\n" << softamp::text(a) << softamp::text(b);
  }
}

TEST(KerasClasses, SharedLayersKeepTheirWeights) {
  Bench b;
  layers::Dense dense(b.context, 3, {}, {.dtype = "mixed_float16"});
  const Port x = b.placeholder(kFloat32, {2, 3}), once = dense(x), twice = dense(once);
  EXPECT_EQ(b.store.variables().size(), 2u);
  EXPECT_EQ(b.dtype(twice), kFloat16);
  EXPECT_EQ(dense.name(), "dense");
  EXPECT_EQ(refusal<GraphError>([&] {
              dense(b.placeholder(kFloat32, {2, 4}));
            }),
            "dense 'dense': weight dense/kernel is [3,3]; this call needs [4,3]");
  layers::Dense other(b.context, 3);
  other(x);
  EXPECT_EQ(other.name(), "dense_1");
  layers::dense(b.store, x, 3);
  EXPECT_EQ(b.store.variables().back().name, "dense_2/bias") << "functions and classes count together";
  layers::Dense third(b.context, 3);
  third(x);
  EXPECT_EQ(third.name(), "dense_3");
}

/// A layer that is first called when the scope around it has been left and entered again.
TEST(KerasClasses, LateLayersGetNamesOfTheirOwn) {
  Bench b;
  layers::Dense early(b.context, 3), late(b.context, 3);
  int calls = 0;
  Custom outer(b.context, [&](Custom&, const LayerArguments& in) { return (calls++ == 0 ? early : late)(in[0]); });
  const Port x = b.placeholder(kFloat32, {2, 3});
  outer(x);
  outer(x);
  EXPECT_EQ(b.store.variables()[0].name, "custom/dense/kernel");
  EXPECT_EQ(b.store.variables()[2].name, "custom/dense_1/kernel");
  EXPECT_EQ(outer.weights().size(), 4u);
}

TEST(KerasClasses, BatchNormalizationStaysFloat32) {
  for (const char* policy : {"float16", "mixed_float16", "mixed_bfloat16", "float32"}) {
    Bench b;
    layers::BatchNormalization norm(b.context, {}, {.dtype = policy});
    EXPECT_EQ(b.dtype(norm(b.placeholder(kFloat32, {2, 3}))), norm.compute_dtype()) << policy;
    ASSERT_EQ(norm.weights().size(), 4u);
    for (const Weight& w : norm.weights()) {
      EXPECT_EQ(w.dtype(), kFloat32);
      EXPECT_FALSE(w.autocast());
    }
    EXPECT_EQ(norm.trainable_weights().size(), 2u);
    EXPECT_EQ(b.count("Cast"), norm.compute_dtype() == kFloat32 ? 0 : 1) << "of the input";
  }
}

TEST(KerasClasses, AddActivationFlatten) {
  Bench b;
  const Port x = b.placeholder(kFloat32, {2, 3, 2}, "x"), y = b.placeholder(kFloat16, {2, 3, 2}, "y");
  layers::Add add(b.context, {.dtype = "float16"});
  layers::Flatten flatten(b.context);
  const Port sum = add(LayerValue::list({x, y, x}));
  EXPECT_EQ(b.builder.type(flatten(sum)), (TensorType{kFloat32, {2, 6}}));
  EXPECT_EQ(b.count("AddV2"), 2);
  EXPECT_EQ(refusal<GraphError>([&] { add(x); }),
            "add 'add': its argument is no list; expected a list of at least two");
  EXPECT_EQ(refusal<GraphError>([&] { add(LayerValue::list({x})); }),
            "add 'add': its argument is a list of 1; expected a list of at least two");
  EXPECT_EQ(refusal<Invalid>([&] { layers::Activation(b.context, "sofmax"); }),
            "unknown activation 'sofmax'; expected one of linear, relu, relu6, softmax, log_softmax, sigmoid, tanh, "
            "gelu, leaky_relu, exponential, softplus, elu, selu; nearest: softmax");
  EXPECT_THROW(layers::Dense(b.context, 2, {.activation = "x"}), Invalid);
  for (const char* activation : {"relu", "relu6", "softmax", "log_softmax", "sigmoid", "tanh", "gelu", "leaky_relu",
                                 "exponential", "softplus", "elu", "selu", "linear", ""}) {
    layers::Activation layer(b.context, activation, {.dtype = "mixed_bfloat16"});
    EXPECT_EQ(b.dtype(layer(x)), kBFloat16) << activation;
  }
}

TEST(KerasClasses, BadArgumentsAreNamed) {
  Bench b;
  const Port x = b.placeholder(kFloat32, {2, 3});
  layers::Dense dense(b.context, 2, {}, {.name = "d"});
  EXPECT_EQ(refusal<GraphError>([&] {
              dense(Port{7, 0});
            }),
            "dense 'd' was called with output 0 of node number 7; expected an output of a node that was added before");
  EXPECT_EQ(refusal<GraphError>([&] {
              dense(LayerValue::list({x, x}));
            }),
            "a value of a layer is a list of 2; expected one output of a node");
  Custom two(b.context, [](Custom&, const LayerArguments& in) { return in[1]; });
  EXPECT_EQ(refusal<GraphError>([&] { two(x); }),
            "custom 'custom' was called with 1 argument; it takes argument number 1");
  const LayerValue list = LayerValue::list({x}), map = LayerValue::map({{"images", x}});
  EXPECT_EQ(refusal<GraphError>([&] { list[1]; }), "a list of 1 has no element 1");
  EXPECT_EQ(refusal<GraphError>([&] { list["a"]; }), "a value of a layer is a list; expected a map, to take 'a'");
  EXPECT_EQ(refusal<GraphError>([&] { map["image"]; }), "a map of 1 has no 'image'; nearest: images");
  EXPECT_EQ(refusal<GraphError>([&] { map[0]; }),
            "a value of a layer is a map; expected a list, to take its element 0");
  EXPECT_EQ(b.store.scope_path(), "") << "scopes end by an exception too";
  EXPECT_EQ(b.dtype(dense(x)), kFloat32) << "and the layer still works";
}

Model small_model(const char* policy, Regularizer regularizer = {}) {
  MixedPrecisionContext precision;
  precision.set_global_policy(policy);
  ModelOptions options;
  options.batch_size = 4;
  options.image = {4, 4, 1};
  options.classes = 3;
  return build_layer_model(
      [&](LayerContext& context, Port images) {
        layers::Sequential model(context);
        model.add<layers::Conv2D>(2, layers::Conv2D::Options{.activation = "relu"});
        model.add<layers::Flatten>();
        layers::Dense::Options hidden{.activation = "relu"};
        hidden.kernel_regularizer = regularizer;
        model.add<layers::Dense>(5, hidden);
        model.add<layers::Dense>(3);
        return model(images);
      },
      precision, options);
}

std::vector<Batch> small_batch(uint64_t seed) {
  Batch batch;
  batch.images = initial_value(Initializer::uniform(-1, 1), {kFloat32, {4, 4, 4, 1}}, "images", seed);
  batch.labels = tensor(kInt32, {4}, {0, 1, 2, static_cast<double>(seed % 3)});
  std::vector<Batch> batches;
  batches.push_back(std::move(batch));
  return batches;
}

// tests: K18
TEST(KerasModel, LayersForTheTrainer) {  // MIXED_PRECISION K18: the loss has its regularizer
  const Model mixed = small_model("mixed_float16"), single = small_model("float32");
  EXPECT_EQ(mixed.variables, single.variables) << "variables are float32 in both";
  EXPECT_EQ(mixed.variables[0].name, "sequential/conv2d/kernel");
  EXPECT_EQ(mixed.graph.type(mixed.graph.port("sequential/dense_1/BiasAdd")).dtype, kFloat16);
  EXPECT_EQ(mixed.graph.type(mixed.graph.port("logits")).dtype, kFloat32);
  const Model regularized = small_model("mixed_float16", l2_regularizer());
  EXPECT_EQ(regularized.loss, "loss_fn/total");
  EXPECT_EQ(regularized.graph.node(regularized.graph.find("loss_fn/total")).inputs.size(), 2u);
  Trainer with(small_model("mixed_float16", l2_regularizer()), {}), without(small_model("mixed_float16"), {});
  EXPECT_GT(with.step(small_batch(1)).loss, without.step(small_batch(1)).loss);
  ModelOptions half;
  half.precision = Precision::parse("float16");
  EXPECT_THROW(build_layer_model([](LayerContext&, Port images) { return images; }, MixedPrecisionContext(), half),
               Invalid);
}

// tests: K22
TEST(KerasModel, K22CheckpointsPassBetweenMixedAndFloat32) {
  const TemporaryFolder folder;
  const std::string file = folder.file("mixed.npz");
  for (const bool from_mixed : {true, false}) {
    Trainer source(small_model(from_mixed ? "mixed_float16" : "float32"), {});
    for (uint64_t step = 0; step < 3; ++step) source.step(small_batch(step));
    save_checkpoint({"{}", "{}", source.state()}, file);

    Trainer target(small_model(from_mixed ? "float32" : "mixed_float16"), {});
    EXPECT_NE(target.weight_hash(), source.weight_hash());
    target.set_state(load_checkpoint(file).state);
    EXPECT_EQ(target.weight_hash(), source.weight_hash());
    for (const VariableSpec& v : target.model().variables)
      EXPECT_TRUE(target.variable(v.name).same_bits(source.variable(v.name))) << v.name;
    // The slots came along: the next state's names and types are the same; the steps themselves differ in precision.
    const StepResult a = source.step(small_batch(9)), b = target.step(small_batch(9));
    EXPECT_EQ(a.step, b.step);
    EXPECT_TRUE(b.applied && std::isfinite(b.loss));
    EXPECT_NE(target.weight_hash(), source.weight_hash());
  }
}

}  // namespace
}  // namespace softamp::test
