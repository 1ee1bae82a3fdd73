// Keras' dtype policies and layers, row by row: names and texts of policies, configurations, the global policy, and
// what layers cast and what they do not. Variables and models are keras_variables_test.cpp's.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <sstream>

#include "tests/train/keras/keras_bench.h"

namespace softamp::test {
namespace {

using enum DType;
using Invalid = std::invalid_argument;

// ---- Policies -----------------------------------------------------------------------------------------------------

// tests: G46, K01
TEST(KerasPolicy, K01NamesAndWhatTheyStandFor) {
  using Two = std::pair<std::optional<DType>, std::optional<DType>>;
  const std::pair<const char*, Two> kTable[] = {{"float16", {kFloat16, kFloat16}},
                                                {"bfloat16", {kBFloat16, kBFloat16}},
                                                {"float32", {kFloat32, kFloat32}},
                                                {"float64", {kFloat64, kFloat64}},
                                                {"int32", {kInt32, kInt32}},
                                                {"bool", {kBool, kBool}},
                                                {"int64", {kInt64, kInt64}},
                                                {"uint8", {kUint8, kUint8}},
                                                {"string", {kString, kString}},
                                                {"half", {kFloat16, kFloat16}},
                                                {"mixed_float16", {kFloat16, kFloat32}},
                                                {"mixed_bfloat16", {kBFloat16, kFloat32}},
                                                {"_infer", {std::nullopt, std::nullopt}}};
  for (const auto& [name, dtypes] : kTable) {
    const Policy policy(name);
    EXPECT_EQ(policy.name(), name);
    EXPECT_EQ(policy.compute_dtype(), dtypes.first) << name;
    EXPECT_EQ(policy.variable_dtype(), dtypes.second) << name;
    EXPECT_EQ(policy.is_mixed(), std::string_view(name).starts_with("mixed_"));  // TUTORIAL G46
  }
  EXPECT_EQ(Policy(kBFloat16), Policy("bfloat16")) << "a dtype is taken, too: ours";
}

// tests: K02
TEST(KerasPolicy, K02BadNamesToTheLetter) {
  const auto refused = [](const char* name) { return refusal<Invalid>([&] { Policy{name}; }); };
  for (const char* name : {"abc", "", "mixed", "mixed_float32", "float16 ", "fp16", "DT_HALF", "Float32"})
    EXPECT_EQ(refused(name), std::string("Cannot convert value ") + name +
                                 " to a mixed precision Policy. Valid policies include 'mixed_float16', "
                                 "'mixed_bfloat16', and the name of any dtype such as 'float32'.");
  // Keras takes these; what would compute in them is missing here.
  for (const char* name : {"complex64", "int8", "uint16", "float8_e4m3fn"})
    EXPECT_EQ(refused(name), "policy " + std::string(name) +
                                 ": softamp has no tensors of this dtype of TensorFlow's; expected float16, bfloat16, "
                                 "float32, float64, mixed_float16 or mixed_bfloat16");
  const std::string removed = "Policies ending in '_float32_vars' have been removed from TensorFlow.";
  EXPECT_EQ(refused("infer_float32_vars"),
            removed +
                " Please use the 'mixed_float16' or 'mixed_bfloat16' policy instead. Got policy name: "
                "'infer_float32_vars'");
  EXPECT_EQ(refused("float16_with_float32_vars"),
            removed + " Please use the 'mixed_float16' policy instead. Got policy name: 'float16_with_float32_vars'");
  EXPECT_EQ(refused("bfloat16_with_float32_vars"),
            removed + " Please use the 'mixed_bfloat16' policy instead. Got policy name: 'bfloat16_with_float32_vars'");
  EXPECT_EQ(refused("abc_float32_vars"), removed + " Got policy name: 'abc_float32_vars'");
  EXPECT_EQ(Policy(kFloat16), Policy("float16")) << "a dtype is taken, too: ours";
}

// tests: K03, K04
TEST(KerasPolicy, K03K04TextEqualityHash) {
  std::ostringstream out;
  out << Policy("mixed_float16");
  EXPECT_EQ(out.str(), "<Policy \"mixed_float16\">");
  EXPECT_EQ(text(Policy("float32")), "<Policy \"float32\">");
  EXPECT_EQ(Policy("mixed_float16"), Policy("mixed_float16"));
  EXPECT_FALSE(Policy("mixed_float16") == Policy("float16"));
  const std::hash<Policy> hash;
  EXPECT_EQ(hash(Policy("float16")), hash(Policy("float16")));
  EXPECT_NE(hash(Policy("float16")), hash(Policy("float32")));
}

// tests: K05
TEST(KerasPolicy, K05GlobalPolicy) {
  MixedPrecisionContext context;
  EXPECT_EQ(context.global_policy(), Policy("float32"));
  context.set_global_policy("mixed_bfloat16");
  EXPECT_EQ(context.global_policy(), Policy("mixed_bfloat16"));
  context.set_global_policy(Policy(kFloat64));
  EXPECT_EQ(context.global_policy(), Policy("float64"));
  EXPECT_EQ(MixedPrecisionContext().global_policy(), Policy("float32")) << "each context has its own";
  EXPECT_EQ(refusal<Invalid>([&] { context.set_global_policy("int32"); }),
            "set_policy can only be used to set the global policy to floating-point policies, such as \"float32\" and "
            "\"mixed_float16\", but got policy: int32");
  EXPECT_EQ(context.global_policy(), Policy("float64")) << "as it was";
  context.reset_global_policy();
  EXPECT_EQ(context.global_policy(), Policy("float32"));
}

// tests: K05
TEST(KerasPolicy, K05ScopesComeBackByAnExceptionToo) {
  Bench b;
  {
    const PolicyScope outer(b.precision, "mixed_float16");
    EXPECT_EQ(layers::Dense(b.context, 3).dtype_policy(), Policy("mixed_float16"));
    try {
      const PolicyScope inner(b.precision, Policy("float64"));
      EXPECT_EQ(layers::Dense(b.context, 3).dtype_policy(), Policy("float64"));
      throw 1;
    } catch (int) {
    }
    EXPECT_EQ(b.precision.global_policy(), Policy("mixed_float16"));
    EXPECT_THROW(PolicyScope(b.precision, "int32"), Invalid);
    EXPECT_EQ(b.precision.global_policy(), Policy("mixed_float16"));
  }
  EXPECT_EQ(b.precision.global_policy(), Policy("float32"));
}

// tests: K19
TEST(KerasPolicy, K19MixedPolicyAndGraphRewriteExcludeEachOther) {
  MixedPrecisionContext context;
  context.set_global_policy("mixed_float16");
  EXPECT_TRUE(refusal<ApiConflictError>([&] { context.enable_graph_rewrite(); })
                  .starts_with("The mixed precision graph rewrite cannot be enabled, because the global Keras dtype "
                               "Policy has been set to a mixed precision policy"));
  context.reset_global_policy();
  context.enable_graph_rewrite();
  EXPECT_TRUE(
      refusal<ApiConflictError>([&] { context.set_global_policy("mixed_float16"); })
          .starts_with("The global dtype policy cannot be set to \"mixed_float16\", because the mixed precision "
                       "graph rewrite has already been enabled"));
}

// tests: K20
TEST(KerasPolicy, K20JsonRoundTrips) {
  EXPECT_EQ(Policy("float32").to_json(), R"("float32")");
  EXPECT_EQ(Policy("_infer").to_json(), "null");
  EXPECT_EQ(Policy("mixed_float16").to_json(), R"({"class_name":"Policy","config":{"name":"mixed_float16"}})");
  for (const char* name : {"float16", "half", "bool", "int32", "_infer", "mixed_float16", "mixed_bfloat16"})
    EXPECT_EQ(Policy::from_json(Policy(name).to_json()), Policy(name));
  EXPECT_EQ(Policy::from_json(R"({"class_name":"PolicyV1","config":{"name":"mixed_float16","loss_scale":"dynamic"}})"),
            Policy("mixed_float16"))
      << "the loss scale of older versions is dropped";
  const std::pair<const char*, const char*> kBad[] = {
      {"3", "dtype policy: it is number; expected a string, null or object"},
      {R"({"config":{"name":"float16"}})", "dtype policy: no class_name; expected \"Policy\""},
      {R"({"class_name":"Dense","config":{}})", "dtype policy: class_name is \"Dense\"; expected \"Policy\""},
      {R"({"class_name":"Policy"})", "dtype policy: no object config; expected {\"name\": ...}"},
      {R"({"class_name":"Policy","config":{}})", "dtype policy: no config.name; expected a string"},
      {R"({"class_name":"Policy","config":{"name":3}})", "dtype policy: config.name is number; expected a string"},
      {R"({"class_name":"Policy","config":{"nane":"x"}})", "dtype policy: unknown key config.nane; expected name"},
      {"[1e330]", "dtype policy: line 1, column 2: the number 1e330 is beyond binary64"},
      {R"({"class_name":"Policy","config":{},"x":1})",
       "dtype policy: unknown key 'x'; expected class_name and config"}};
  for (const auto& bad : kBad) EXPECT_EQ(refusal<Invalid>([&] { Policy::from_json(bad.first); }), bad.second);
  EXPECT_TRUE(refusal<Invalid>([] { Policy::from_json("["); }).starts_with("dtype policy: line 1, column 2: "));
}

// tests: K20
TEST(KerasPolicy, K20DeepConfigurationsAreRefused) {
  const std::string deep = std::string(1000000, '[') + std::string(1000000, ']');
  EXPECT_EQ(refusal<Invalid>([&] { Policy::from_json(R"({"class_name":)" + deep + "}"); }),
            "dtype policy: line 1, column 30: nested deeper than 16");
  EXPECT_EQ(refusal<Invalid>([&] { LayerOptions::from_config(R"({"dtype":)" + deep + "}"); }),
            "layer configuration: line 1, column 73: nested deeper than 64");
}

// tests: K20
TEST(KerasPolicy, K20ConfigurationsOfLayers) {
  Bench b;
  const layers::Dense dense(b.context, 3, {}, {.name = "d", .dtype = "mixed_float16"});
  const std::string config = dense.get_config();
  EXPECT_EQ(config,
            R"({"name":"d","trainable":true,"dtype":{"class_name":"Policy","config":{"name":"mixed_float16"}}})");
  const layers::Dense again(b.context, 3, {}, LayerOptions::from_config(config));
  EXPECT_EQ(again.name(), "d");
  EXPECT_EQ(again.dtype_policy(), dense.dtype_policy());
  EXPECT_EQ(layers::Dense(b.context, 3, {}, {.dtype = "half"}).get_config(),
            R"({"name":"dense","trainable":true,"dtype":"float16"})");
  // null is made of "_infer", and makes what the context says, as a Keras layer without a dtype.
  const std::string infer = layers::Dense(b.context, 3, {}, {.dtype = "_infer"}).get_config();
  EXPECT_EQ(infer, R"({"name":"dense","trainable":true,"dtype":null})");
  EXPECT_EQ(layers::Dense(b.context, 3, {}, LayerOptions::from_config(infer)).dtype_policy(), Policy("float32"));
  EXPECT_EQ(refusal<Invalid>([] { LayerOptions::from_config("[1]"); }), "layer configuration: '[1]' is no JSON object");
  EXPECT_TRUE(
      refusal<Invalid>([] { LayerOptions::from_config("{"); }).starts_with("layer configuration: line 1, column 2: "));
  EXPECT_EQ(refusal<Invalid>([] { LayerOptions::from_config(R"({"name":2})"); }),
            "layer configuration: name is number; expected a string");
}

// tests: K21
TEST(KerasPolicy, K21DevicesAreCheckedOnce) {
  const auto messages = [](const char* policy, double capability) {
    std::vector<std::string> seen;
    MixedPrecisionContext context(
        [&](LogLevel level, const std::string& text) { seen.push_back(std::string(name_of(level)) + " " + text); });
    context.check_device(Policy(policy), capability);
    context.check_device(Policy(policy), capability);
    return seen;
  };
  EXPECT_TRUE(messages("mixed_bfloat16", 6).empty());
  EXPECT_TRUE(messages("float16", 6).empty());
  const auto good = messages("mixed_float16", 7), bad = messages("mixed_float16", 6.1);
  ASSERT_EQ(good.size(), 1u);
  EXPECT_NE(good[0].find("Mixed precision compatibility check (mixed_float16): OK"), std::string::npos) << good[0];
  ASSERT_EQ(bad.size(), 1u);
  EXPECT_NE(bad[0].find("Mixed precision compatibility check (mixed_float16): WARNING"), std::string::npos) << bad[0];
}

// tests: K21
TEST(KerasPolicy, K21APolicyChecksByItself) {
  std::vector<std::string> seen;
  const LogSink sink = [&](LogLevel level, const std::string& text) {
    seen.push_back(std::string(name_of(level)) + " " + text.substr(0, text.find('\n')));
  };
  const std::string check = "Mixed precision compatibility check (mixed_float16): ";
  MixedPrecisionContext global(sink);
  global.set_global_policy("mixed_bfloat16");
  EXPECT_TRUE(seen.empty());
  global.set_global_policy("mixed_float16");
  global.set_global_policy("float32");
  global.set_global_policy("mixed_float16");
  EXPECT_EQ(seen, std::vector<std::string>{"INFO " + check + "OK"}) << "once";
  seen.clear();
  // A layer's own policy, on a machine without a GPU.
  MixedPrecisionContext none(sink);
  none.set_gpu_capability(0);
  GraphBuilder b;
  VariableStore store(b);
  LayerContext context(store, none);
  const layers::Flatten plain(context);
  EXPECT_TRUE(seen.empty());
  const layers::Flatten mixed(context, {.dtype = "mixed_float16"}), again(context, {.dtype = "mixed_float16"});
  EXPECT_EQ(seen, std::vector<std::string>{"WARNING " + check + "WARNING"});
}

TEST(KerasPolicy, AsARuleForNetworks) {
  const LayerPrecision dense = Policy("mixed_float16").layer_rule()("dense", "a/dense");
  EXPECT_EQ(dense, (LayerPrecision{kFloat16, kFloat32, {}, true, "policy mixed_float16"}));
  const LayerRule half = Policy("float16").layer_rule();
  EXPECT_EQ(half("conv2d", "c").variables, kFloat16);
  EXPECT_EQ(half("batch_norm", "b").variables, kFloat32);
  EXPECT_EQ(half("batch_norm", "b").compute, kFloat16);
  for (const char* name : {"_infer", "int32"})
    EXPECT_EQ(refusal<Invalid>([&] { Policy(name).layer_rule(); }),
              std::string("policy ") + name +
                  " does not say what layers compute in; expected a mixed policy or a floating dtype");
}

// ---- What is cast -------------------------------------------------------------------------------------------------

// tests: K06, K07
TEST(KerasLayer, K06K07DtypeAndPolicyAgree) {
  Bench b;
  const LayerDtype kForms[] = {kFloat16, "float16", "half", Policy("float16")};
  for (const LayerDtype& form : kForms) {
    const layers::Dense layer(b.context, 2, {}, {.dtype = form});
    EXPECT_EQ(layer.dtype_policy(), Policy("float16"));
    EXPECT_EQ(layer.compute_dtype(), kFloat16);
    EXPECT_EQ(layer.dtype(), kFloat16);
  }
  const layers::Dense mixed(b.context, 2, {}, {.dtype = "mixed_bfloat16"});
  EXPECT_EQ(mixed.compute_dtype(), kBFloat16);
  EXPECT_EQ(mixed.variable_dtype(), kFloat32);
  EXPECT_EQ(mixed.dtype(), kFloat32);
  EXPECT_EQ(layers::Dense(b.context, 2).dtype_policy(), b.precision.global_policy());
  EXPECT_TRUE(refusal<Invalid>([&] {
                layers::Dense(b.context, 2, {}, {.dtype = "abc"});
              }).starts_with("Cannot convert value abc to a mixed precision Policy."));
}

// tests: K08, X13
TEST(KerasLayer, K08TheFirstArgumentIsCast) {
  Bench b;
  const Port image = b.placeholder(kFloat64, {1, 4, 4, 1});
  layers::Conv2D conv(b.context, 2, {}, {.dtype = "float32"});
  EXPECT_EQ(b.dtype(conv(image)), kFloat32);

  const Port single = b.placeholder(kFloat32, {2}), twice = b.placeholder(kFloat64, {2}),
             half = b.placeholder(kFloat16, {2}), whole = b.placeholder(kInt32, {2}), flag = b.placeholder(kBool, {2}),
             wide = b.placeholder(kInt64, {2}), byte = b.placeholder(kUint8, {2}), word = b.placeholder(kString, {2});
  const int before = b.count("Cast");
  std::vector<LayerValue> seen;
  Custom layer(b.context,
               [&](Custom&, const LayerArguments& in) {
                 for (size_t i = 0; i < in.size(); ++i) seen.push_back(in[i]);
                 return in[0];
               },
               {.dtype = "mixed_float16"});
  const LayerValue nested =
      LayerValue::list({single, LayerValue::map({{"z", twice}, {"a", LayerValue::list({half, whole})}}),
                        LayerValue::list({}), flag, wide, byte, word});
  const LayerValue result = layer(nested, single, LayerValue::list({twice, half}));
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(b.dtype(seen[0][0]), kFloat16);
  EXPECT_EQ(b.dtype(seen[0][1]["z"]), kFloat16);
  EXPECT_EQ(seen[0][1]["a"][0].port(), half) << "has the dtype already";
  EXPECT_EQ(seen[0][1]["a"][1].port(), whole);
  EXPECT_EQ(seen[0][2].size(), 0u);
  EXPECT_EQ(seen[0][3].port(), flag);
  EXPECT_EQ(seen[0][4].port(), wide);
  EXPECT_EQ(seen[0][5].port(), byte);
  EXPECT_EQ(seen[0][6].port(), word);
  EXPECT_EQ(seen[1].port(), single) << "only the first argument (TUTORIAL X13)";
  EXPECT_EQ(seen[2][0].port(), twice);
  EXPECT_EQ(b.count("Cast"), before + 2);
  EXPECT_EQ(result.ports(), seen[0].ports());

  const LayerValue whole_alone = layer(whole);
  EXPECT_EQ(whole_alone.port(), whole);
  Custom left(b.context, first_argument, {.dtype = "float16", .autocast = false});
  EXPECT_EQ(left(single).port(), single) << "autocast off";
  Custom integer(b.context, first_argument, {.dtype = "int32"});
  EXPECT_EQ(integer(single).port(), single) << "the compute dtype is not floating";
}

// tests: K09, X13
TEST(KerasLayer, K09TheSecondArgumentOfMyLayerIsNot) {
  Bench b;
  Custom my_layer(b.context,
                  [](Custom& self, const LayerArguments& in) {
                    const auto plus_one = [&](Port p) {
                      return self.op("AddV2", {p, self.constant(1, self.type(p).dtype)});
                    };
                    return LayerValue::list({plus_one(in[0]), plus_one(in[1])});
                  },
                  {.dtype = "float64"});
  const LayerValue both = my_layer(b.placeholder(kFloat32, {}), b.placeholder(kFloat32, {}));
  EXPECT_EQ(b.dtype(both[0]), kFloat64);
  EXPECT_EQ(b.dtype(both[1]), kFloat32);  // TUTORIAL X13
}

// tests: G46, K10
TEST(KerasLayer, K10LayersWithoutCastsPass) {
  for (const char* policy : {"float16", "bfloat16", "float32", "float64", "mixed_float16", "mixed_bfloat16"})
    for (const DType in : {kFloat16, kBFloat16, kFloat32, kFloat64}) {
      Bench b;
      Custom simple(
          b.context,
          [](Custom& self, const LayerArguments& a) {
            return self.op("MatMul", {a[0], self.w.read()});
          },
          {.dtype = policy},
          [](Custom& self) {
            self.w = self.add_weight("w", {3, 2});
          });
      const Port y = simple(b.placeholder(in, {4, 3}));
      EXPECT_EQ(b.dtype(y), simple.compute_dtype()) << policy;  // TUTORIAL G46
      EXPECT_EQ(simple.w.dtype(), simple.variable_dtype());
      EXPECT_NO_THROW(b.builder.build());
    }
}

// tests: K11
TEST(KerasLayer, K11BehaviourOfVersionOne) {
  Bench b(DtypeBehaviour::kV1);
  EXPECT_EQ(b.precision.global_policy(), Policy("_infer"));
  EXPECT_NE(refusal<Invalid>([&] { b.precision.set_global_policy("float16"); }).find("enable_v2_dtype_behavior"),
            std::string::npos);
  const Port half = b.placeholder(kFloat16, {2, 3}), single = b.placeholder(kFloat32, {2, 3});
  layers::Dense infer(b.context, 2);
  EXPECT_EQ(infer.dtype_policy(), Policy("_infer"));
  EXPECT_EQ(infer.dtype(), std::nullopt);
  EXPECT_EQ(b.dtype(infer(half)), kFloat16) << "the dtype of the first input";
  EXPECT_EQ(infer.dtype_policy(), Policy("float16"));
  EXPECT_EQ(infer.weights()[0].dtype(), kFloat16);
  EXPECT_THROW(infer(single), DtypeMismatchError) << "inputs are not cast";
  Custom plain(b.context, first_argument, {.dtype = "float16"});
  EXPECT_EQ(plain(single).port(), single);
  Custom asked(b.context, first_argument, {.dtype = "float16", .autocast = true});
  EXPECT_EQ(b.dtype(asked(single)), kFloat16);
  Custom by_weight(b.context, reads_weight, {}, adds_weight({.dtype = kBFloat16}));
  by_weight(LayerValue::list({}));
  EXPECT_EQ(by_weight.dtype_policy(), Policy("bfloat16")) << "no input, so the weight says it";
}

// tests: K15
TEST(KerasLayer, K15NewTensorsNeedTheDtypeOfTheInputs) {
  Bench b;
  const Port x = b.placeholder(kFloat32, {2, 3});
  Custom good(b.context,
              [](Custom& self, const LayerArguments& in) {
                return self.op("AddV2", {in[0], self.random_normal(self.type(in[0]).shape, self.type(in[0]).dtype)});
              },
              {.dtype = "mixed_float16"});
  EXPECT_EQ(b.dtype(good(x)), kFloat16);
  Custom bad(b.context,
             [](Custom& self, const LayerArguments& in) {
               return self.op("AddV2", {in[0], self.random_normal(self.type(in[0]).shape)});
             },
             {.dtype = "mixed_float16"});
  EXPECT_EQ(refusal<DtypeMismatchError>([&] { bad(x); }),
            "Input 'y' of 'AddV2' Op has type float32 that does not match type float16 of argument 'x'.");
}

// tests: K16
TEST(KerasLayer, K16ResultsAreNotCast) {
  Bench b;
  const Port x = b.placeholder(kFloat32, {2, 3}), other = b.placeholder(kFloat32, {2});
  layers::Dense dense(b.context, 2, {}, {.dtype = "mixed_float16"});
  EXPECT_EQ(b.dtype(dense(x)), kFloat16);
  Custom wide(b.context, [&](Custom&, const LayerArguments&) { return other; }, {.dtype = "mixed_float16"});
  EXPECT_EQ(wide(x).port(), other) << "float32 from a layer that computes in float16";
}

/// 2051 ones: float32 holds the sum, float16 rounds it once to 2052 (a tie to even); chained in halves it stops at
/// 2048.
// tests: K17
TEST(KerasLayer, K17HalvesAreSummedInFloat32) {
  Bench b;
  const Port x = b.placeholder(kFloat32, {1, 2051});
  layers::Dense dense(b.context, 1, {}, {.dtype = "mixed_float16"});
  const Port y = dense(x);
  const Tensor ones = Tensor::full(kFloat32, {1, 2051}, 1), kernel = Tensor::full(kFloat32, {2051, 1}, 1);
  EXPECT_EQ(b.run({{"x", &ones}}, {y}, {{"dense/kernel", &kernel}}).values[0].value(0), 2052);
}

// tests: K25
TEST(KerasLayer, K25SoftmaxInFloat32) {
  Bench b;
  const PolicyScope scope(b.precision, "mixed_float16");
  layers::Dense dense(b.context, 10);
  layers::Activation softmax(b.context, "softmax", {.dtype = "float32"});
  const Port logits = dense(b.placeholder(kFloat32, {2, 3})), y = softmax(logits);
  EXPECT_EQ(b.dtype(logits), kFloat16);
  EXPECT_EQ(b.dtype(y), kFloat32);
  EXPECT_EQ(b.builder.graph().node(y.node).op, "Softmax");
  EXPECT_EQ(b.dtype(b.builder.graph().node(y.node).inputs[0]), kFloat32) << "cast before, not behind";
}

TEST(KerasLayer, ManyLayersOfOneNameAreNumberedInLinearTime) {
  Bench bench;
  { const auto functions_layer = bench.store.layer_scope("custom_2", "custom_2"); }
  constexpr int kLayers = 20'000;  // half a minute where each looks for its number from 1 on
  Port x = bench.placeholder(kFloat32, {1});
  std::vector<std::unique_ptr<Custom>> layers;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kLayers; ++i) {
    layers.push_back(std::make_unique<Custom>(bench.context, first_argument));
    x = (*layers.back())(x);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  EXPECT_EQ(layers[0]->name(), "custom");
  EXPECT_EQ(layers[1]->name(), "custom_1");
  EXPECT_EQ(layers[2]->name(), "custom_3") << "the name between is a function's layer's";
  EXPECT_EQ(layers.back()->name(), "custom_" + std::to_string(kLayers));
}

}  // namespace
}  // namespace softamp::test
