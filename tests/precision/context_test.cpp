// The context of mixed precision: the lists of operations and the environment, who may be on together and in which
// words that is refused, what a finished function runs, and TensorFlow's comparisons of single operations.
#include "softamp/precision/mixed_precision_context.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "softamp/data/images.h"
#include "softamp/graph/executor.h"
#include "softamp/precision/recipe.h"
#include "src/precision/device_check.h"
#include "tests/graph/executor_check.h"

namespace softamp {
namespace {

using test::refusal;
using Strings = std::vector<std::string>;

/// Sets variables of the environment, and takes them away at the end.
class Environment {
 public:
  using Values = std::map<std::string, std::string>;
  explicit Environment(Values values) : values_(std::move(values)) {
    for (const auto& [name, value] : values_) setenv((kPrefix + name).c_str(), value.c_str(), 1);
  }
  ~Environment() {
    for (const auto& [name, value] : values_) unsetenv((kPrefix + name).c_str());
  }

 private:
  const std::string kPrefix = "TF_AUTO_MIXED_PRECISION_GRAPH_REWRITE_";
  Values values_;
};

// ---- lists: MIXED_PRECISION T07, T08

// tests: T07, X4
TEST(Lists, SizesAndNoConflicts) {
  const OpLists now = OpLists::tf_2_3(), old = OpLists::tf_2019(), mkl = OpLists::mkl();
  EXPECT_EQ(now.allow.size(), 26u);  // 19, 2 of CUDA 9.1, 5 of cuDNN 7.6.2
  EXPECT_EQ(now.infer.size(), 43u);
  EXPECT_EQ(now.deny.size(), 9u);
  EXPECT_EQ(now.clear.size(), 109u);
  EXPECT_EQ(old.infer.size(), 39u);
  EXPECT_EQ(old.deny.size(), 13u);
  EXPECT_EQ(mkl.allow.size(), 12u);
  EXPECT_EQ(mkl.deny.size(), 10u);
  EXPECT_EQ(mkl.low, DType::kBFloat16);
  EXPECT_EQ(mkl.infer.size(), 18u);
  EXPECT_EQ(mkl.class_of("Softmax"), OpClass::kDeny);
  EXPECT_EQ(mkl.class_of("Tanh"), OpClass::kUnlisted);
  for (const OpLists& lists : {now, old, mkl}) EXPECT_NO_THROW(lists.validate());
  for (const char* op : {"Log", "Log1p", "LogSoftmax", "Softmax"}) {  // TUTORIAL X4
    EXPECT_EQ(now.class_of(op), OpClass::kInfer) << op;
    EXPECT_EQ(old.class_of(op), OpClass::kDeny) << op;
  }
  EXPECT_EQ(now.class_of("MatMul"), OpClass::kAllow);
  EXPECT_EQ(now.class_of("Relu"), OpClass::kClear);
  EXPECT_EQ(now.class_of("SquaredDifference"), OpClass::kUnlisted);
  EXPECT_STREQ(name_of(OpClass::kUnlisted), "unlisted");
}

// tests: T07
TEST(Lists, AreThoseOfTheDataFile) {
  const std::filesystem::path file =
      data_folder().value_or(std::filesystem::path(SOFTAMP_SOURCE_DIR) / "../shared/data") / "op_lists/tf_2_3.json";
  std::ifstream in(file);
  if (!in) GTEST_SKIP() << "no " << file;
  const nlohmann::json json = nlohmann::json::parse(in);
  const auto names = [&](const std::vector<const char*>& keys) {
    OpLists::Names all;
    for (const char* key : keys)
      for (const auto& name : json.at(key)) all.insert(name.get<std::string>());
    return all;
  };
  const OpLists lists = OpLists::tf_2_3();
  EXPECT_EQ(lists.allow, names({"allow", "allow_if_cuda_ge_9010", "allow_if_cudnn_ge_7602"}));
  EXPECT_EQ(lists.infer, names({"infer"}));
  EXPECT_EQ(lists.deny, names({"deny"}));
  EXPECT_EQ(lists.clear, names({"clear", "clear_tensor_list"}));
  OpLists::Names mkl = names({"mkl_bf16_allow"});
  mkl.erase("Einsum");  // came after 2.4
  EXPECT_EQ(OpLists::mkl().allow, mkl);
}

// tests: T07
TEST(Lists, ByNameOldAndNew) {
  OpLists lists = OpLists::preset("r2.3");
  EXPECT_EQ(lists, OpLists::preset("2.3"));
  EXPECT_EQ(OpLists::preset("2019"), OpLists::tf_2019());
  EXPECT_EQ(OpLists::preset_names(), (Strings{"2.3", "2019", "mkl"}));
  EXPECT_EQ(&lists.list("white"), &lists.allow);
  EXPECT_EQ(&lists.list("graylist"), &lists.infer);
  EXPECT_EQ(&lists.list("denylist"), &lists.deny);
  EXPECT_EQ(&lists.list("clear"), &lists.clear);
  EXPECT_EQ(refusal<std::invalid_argument>([&] { lists.list("alow"); }),
            "op lists: there is no list 'alow'; nearest: allow; expected allow, infer, deny or clear (or white, gray, "
            "black)");
  EXPECT_EQ(refusal<std::invalid_argument>([] { OpLists::preset("2.4"); }),
            "op lists: there is no preset '2.4'; nearest: 2.3; expected one of 2.3, 2019, mkl");
  EXPECT_EQ(lists.paint_buckets().substr(0, 34), "AllowList:\nBatchMatMul\nBatchMatMul");
  for (const char* title : {"\n\nDenyList:\nExp\n", "\n\nInferList:\nAdd\n", "\n\nClearList:\nAbs\n"})
    EXPECT_NE(lists.paint_buckets().find(title), std::string::npos) << title;
}

// tests: T07
TEST(Lists, TheEnvironmentIsReadWhereAskedFor) {
  const Environment environment({{"ALLOWLIST_ADD", "Exp, Foo,"},
                                 {"DENYLIST_REMOVE", "Exp"},
                                 {"WHITELIST_REMOVE", "Foo"},  // the old spelling acts after the new
                                 {"GRAYLIST_ADD", "Gray"},
                                 {"CLEARLIST_REMOVE", "Relu"}});
  EXPECT_EQ(OpLists::tf_2_3().class_of("Exp"), OpClass::kDeny);
  const OpLists lists = OpLists::tf_2_3().with_environment();
  EXPECT_EQ(lists.class_of("Exp"), OpClass::kAllow);
  EXPECT_EQ(lists.class_of("Foo"), OpClass::kUnlisted);
  EXPECT_EQ(lists.class_of("Gray"), OpClass::kInfer);
  EXPECT_EQ(lists.class_of("Relu"), OpClass::kUnlisted);
  const Environment conflict(Environment::Values{{"BLACKLIST_ADD", "MatMul"}});
  EXPECT_EQ(refusal<std::invalid_argument>([] { OpLists::tf_2_3().with_environment(); }).substr(0, 62),
            "Op lists have conflicting entries: 'MatMul' is in allow and de");
}

// tests: T15
TEST(Context, TheRewriteObeysTheContextsGpu) {
  GraphBuilder b;
  const Port x = b.placeholder("x", DType::kFloat32, {2, 2});
  b.add("Identity", {b.add("MatMul", {x, x}, {}, "product")}, {}, "y");
  const Graph graph = b.build();
  const auto product = [&](double of_context, std::optional<double> of_options) {
    MixedPrecisionContext context;
    context.set_gpu_capability(of_context);
    RewriteOptions options;
    options.gpu_capability = of_options;
    context.enable_graph_rewrite(OpLists::tf_2_3(), options);
    const Graph finished = context.finish(graph, {"y"});
    return finished.type(finished.port("product")).dtype;
  };
  EXPECT_EQ(product(7.0, {}), DType::kFloat16);
  EXPECT_EQ(product(6.0, {}), DType::kFloat32);
  EXPECT_EQ(product(0, {}), DType::kFloat32);
  EXPECT_EQ(product(6.0, 7.0), DType::kFloat16) << "its own option goes first";
  EXPECT_EQ(product(7.0, 6.0), DType::kFloat32);
}

TEST(Lists, OptionsFromTheEnvironment) {
  const auto level = [](const char* text) {
    const Environment environment({{"LEVEL", text}, {"IGNORE_PERFORMANCE", "True"}, {"LOG_PATH", "/there"}});
    const RewriteOptions o = RewriteOptions{}.with_environment();
    EXPECT_TRUE(o.ignore_performance);
    EXPECT_EQ(o.log_path, "/there");
    return o.level;
  };
  EXPECT_EQ(level(""), RewriteLevel::kDefault);
  EXPECT_EQ(level("TENSOR_CORES_ONLY"), RewriteLevel::kTensorCoresOnly);
  EXPECT_EQ(level("unsafe_force_all"), RewriteLevel::kUnsafeForceAll);
  EXPECT_NE(refusal<std::invalid_argument>([&] { level("ALL"); }).find("LEVEL is 'ALL'; expected nothing,"),
            std::string::npos);
  const Environment wrong(Environment::Values{{"IGNORE_PERFORMANCE", "yes"}});
  EXPECT_THROW((void)RewriteOptions{}.with_environment(), std::invalid_argument);
}

// ---- which mechanism is on

struct Log {
  Strings lines;
  LogSink sink() {
    return
        [this](LogLevel level, const std::string& text) { lines.push_back(std::string(name_of(level)) + " " + text); };
  }
};

// tests: T01
TEST(Context, RewriteOnAndOff) {
  Log log;
  MixedPrecisionContext context(log.sink());
  EXPECT_FALSE(context.graph_rewrite_enabled());
  context.enable_graph_rewrite();
  EXPECT_TRUE(context.graph_rewrite_enabled());
  context.disable_graph_rewrite();
  EXPECT_FALSE(context.graph_rewrite_enabled());
  EXPECT_TRUE(log.lines.empty());
  context.disable_graph_rewrite();
  EXPECT_EQ(log.lines, Strings{"WARNING disable_mixed_precision_graph_rewrite() called when mixed precision is already "
                               "disabled."});
}

// tests: T04
TEST(Context, OneMechanismOfTensorFlowOnly) {
  MixedPrecisionContext context;
  context.set_global_policy("mixed_float16");
  EXPECT_EQ(refusal<ApiConflictError>([&] { context.enable_graph_rewrite(); }).substr(0, 134),
            "The mixed precision graph rewrite cannot be enabled, because the global Keras dtype Policy has been set "
            "to a mixed precision policy. A");
  EXPECT_FALSE(context.graph_rewrite_enabled());
  for (const char* plain : {"float32", "float64"}) {
    context.set_global_policy(plain);
    EXPECT_NO_THROW(context.enable_graph_rewrite()) << plain;
    EXPECT_NO_THROW(context.set_global_policy("float32"));
    EXPECT_NO_THROW(context.set_global_policy("float64"));
    for (const char* mixed : {"mixed_float16", "mixed_bfloat16"}) {
      const std::string text = refusal<ApiConflictError>([&] { context.set_global_policy(mixed); });
      EXPECT_EQ(text.rfind("The global dtype policy cannot be set to \"" + std::string(mixed) +
                               "\", because the mixed precision graph rewrite has already been enabled",
                           0),
                0u)
          << text;
    }
    EXPECT_EQ(context.global_policy().name(), "float64");
    context.disable_graph_rewrite();
  }
  EXPECT_NO_THROW(context.set_global_policy("mixed_float16"));
}

// tests: H20
TEST(Context, GaudisConversionGoesWithNeither) {
  MixedPrecisionContext context;
  context.enable_bfloat16_conversion(Recipe::basic());
  EXPECT_THROW(context.enable_graph_rewrite(), ApiConflictError);
  EXPECT_THROW(context.set_global_policy("mixed_bfloat16"), ApiConflictError);
  EXPECT_NO_THROW(context.set_global_policy("float32"));
  context.disable_bfloat16_conversion();
  context.set_global_policy("mixed_bfloat16");
  EXPECT_THROW(context.enable_bfloat16_conversion(Recipe::basic()), ApiConflictError);
  EXPECT_FALSE(context.bfloat16_conversion().has_value());
  context.reset_global_policy();
  context.enable_graph_rewrite();
  EXPECT_EQ(refusal<ApiConflictError>([&] { context.enable_bfloat16_conversion(Recipe::full()); }).substr(0, 86),
            "The bfloat16 conversion cannot be enabled, because the mixed precision graph rewrite i");
}

// tests: T05
TEST(Context, SessionsThatAreThereAreNotAffected) {
  Log log;
  MixedPrecisionContext context(log.sink());
  context.enable_graph_rewrite();
  context.note_session();  // this one uses mixed precision
  context.enable_graph_rewrite();
  EXPECT_TRUE(log.lines.empty());
  context.disable_graph_rewrite();
  context.note_session();
  context.enable_graph_rewrite();
  EXPECT_EQ(log.lines, Strings{"WARNING You already have existing Sessions that do not use mixed precision. "
                               "enable_mixed_precision_graph_rewrite() will not affect these Sessions."});
}

// tests: T05
TEST(Context, ItsExecutorsAreSessions) {
  GraphBuilder b;
  const Port x = b.placeholder("x", DType::kFloat32, {2, 2});
  b.add("Neg", {b.add("MatMul", {x, x}, {}, "product")}, {}, "end");
  const Graph graph = b.build();
  const Strings fetches{"end"};
  Log log;
  MixedPrecisionContext context(log.sink());
  context.enable_graph_rewrite();
  // Made while the rewrite is on: it runs what the rewrite makes, and causes no warning.
  const auto mixed = context.make_session(graph, fetches);
  EXPECT_EQ(mixed->graph().type(mixed->graph().port("product")).dtype, DType::kFloat16);
  log.lines.clear();
  context.enable_graph_rewrite();
  EXPECT_TRUE(log.lines.empty());
  context.disable_graph_rewrite();
  const auto plain = context.make_session(graph, fetches);
  EXPECT_EQ(plain->graph(), graph);
  context.enable_graph_rewrite();
  EXPECT_EQ(log.lines, Strings{"WARNING You already have existing Sessions that do not use mixed precision. "
                               "enable_mixed_precision_graph_rewrite() will not affect these Sessions."});
  EXPECT_EQ(plain->graph(), graph) << "not affected";
}

// tests: K05, K11
TEST(Context, GlobalPolicy) {
  MixedPrecisionContext context;
  EXPECT_EQ(context.global_policy().name(), "float32");
  context.set_global_policy("mixed_bfloat16");
  context.reset_global_policy();
  EXPECT_EQ(context.global_policy().name(), "float32");
  EXPECT_EQ(refusal<std::invalid_argument>([&] { context.set_global_policy("int32"); }),
            "set_policy can only be used to set the global policy to floating-point policies, such as \"float32\" and "
            "\"mixed_float16\", but got policy: int32");
  MixedPrecisionContext old({}, DtypeBehaviour::kV1);
  EXPECT_EQ(old.global_policy().name(), "_infer");
  EXPECT_EQ(
      refusal<std::invalid_argument>([&] { old.set_global_policy("float32"); }),
      "The global policy can only be set in TensorFlow 2 or if V2 dtype behavior has been set. To enable V2 dtype "
      "behavior, call \"tf.compat.v1.keras.layers.enable_v2_dtype_behavior()\"");
}

// tests: K05, T04
TEST(Context, PolicyScopes) {
  Log log;
  MixedPrecisionContext context(log.sink());
  try {
    const PolicyScope outer(context, "mixed_float16");
    {
      const PolicyScope inner(context, Policy("float64"));
      EXPECT_EQ(context.global_policy().name(), "float64");
    }
    EXPECT_EQ(context.global_policy().name(), "mixed_float16");
    throw 1;
  } catch (int) {
  }
  EXPECT_EQ(context.global_policy().name(), "float32");
  EXPECT_THROW(PolicyScope(context, "int32"), std::invalid_argument);
  EXPECT_EQ(context.global_policy().name(), "float32");
  ASSERT_EQ(log.lines.size(), 1u);
  EXPECT_TRUE(
      log.lines[0].starts_with("INFO Mixed precision compatibility check (mixed_float16): OK"));  // MIXED_PRECISION K21
  log.lines.clear();
  // What was turned on inside gives way to a mixed policy that comes back.
  const PolicyScope mixed(context, "mixed_float16");
  {
    const PolicyScope plain(context, "float32");
    context.enable_graph_rewrite();
  }
  EXPECT_EQ(context.global_policy().name(), "mixed_float16");
  EXPECT_FALSE(context.graph_rewrite_enabled());
  ASSERT_EQ(log.lines.size(), 1u);
  EXPECT_EQ(log.lines[0].substr(0, 6), "ERROR ");
  {
    const PolicyScope plain(context, "float32");
    context.enable_bfloat16_conversion(Recipe::parse(R"({"allowlist": ["MatMul"]})"));
  }
  EXPECT_FALSE(context.bfloat16_conversion());
}

// tests: K21
TEST(Context, ADeviceThatIsThereIsNamed) {  // MIXED_PRECISION K21: as training on a GPU names it
  using precision_detail::device_check;
  const std::string device = "NVIDIA H100, compute capability 9.0";
  const auto good = device_check("mixed_float16", 9.0, device), old = device_check("mixed_float16", 6.0, device);
  ASSERT_TRUE(good && old);
  EXPECT_TRUE(!good->warns && good->text.ends_with("Your GPU: " + device)) << good->text;
  EXPECT_TRUE(old->warns && old->text.find("Your GPU:\n  " + device + "\n") != std::string::npos) << old->text;
  EXPECT_FALSE(device_check("mixed_bfloat16", 6.0, device));
}

// tests: K21
TEST(Context, DevicesAreCheckedOnce) {
  const auto first = [](const char* policy, double capability) {
    Log log;
    MixedPrecisionContext context(log.sink());
    context.check_device(Policy(std::string_view(policy)), capability);
    context.check_device(Policy(std::string_view("mixed_float16")), capability);
    EXPECT_EQ(log.lines.size(), 1u) << policy;
    return log.lines.empty() ? "" : log.lines[0].substr(0, log.lines[0].find('\n'));
  };
  EXPECT_EQ(first("mixed_float16", 7.0), "INFO Mixed precision compatibility check (mixed_float16): OK");
  EXPECT_EQ(first("mixed_float16", 6.1), "WARNING Mixed precision compatibility check (mixed_float16): WARNING");
  EXPECT_EQ(first("mixed_float16", 0), "WARNING Mixed precision compatibility check (mixed_float16): WARNING");
  EXPECT_EQ(first("mixed_bfloat16", 8.0), "INFO Mixed precision compatibility check (mixed_float16): OK");
}

// ---- what runs

ExecutorOptions ieee() {
  ExecutorOptions o;
  o.semantics = Semantics::ieee();
  return o;
}

// tests: T01, T06, T13
TEST(Functions, OnlyFunctionsAreRewritten) {  // MIXED_PRECISION T01, T13: [[1]] times 2^10, squared
  GraphBuilder b;
  const Port v = b.add("VariableV2", {}, {{"dtype", DType::kFloat32}, {"shape", Shape{1, 1}}}, "v");
  const Port factor = b.constant(test::tensor(DType::kFloat32, {1, 1}, {1024}));
  const Port x = b.add("Mul", {v, factor});
  b.add("Identity", {b.add("MatMul", {x, x})}, {}, "result");
  const Graph graph = b.build();
  const Strings fetches{"result"};
  const auto value = [&](const MixedPrecisionContext& context, GraphScope scope) {
    const auto executor = make_executor(context.finish(graph, fetches, scope), ieee());
    executor->set_variable("v", Tensor::full(DType::kFloat32, {1, 1}, 1));
    const RunResult result = executor->run({}, fetches);
    EXPECT_EQ(result.values[0].dtype(), DType::kFloat32);  // MIXED_PRECISION T06
    return result.values[0].value(0);
  };
  Log log;
  MixedPrecisionContext context(log.sink());
  EXPECT_EQ(value(context, GraphScope::kFunction), 0x1p20);
  EXPECT_EQ(context.finish(graph, fetches), graph);
  context.enable_graph_rewrite();
  EXPECT_EQ(value(context, GraphScope::kFunction), HUGE_VAL);
  EXPECT_EQ(value(context, GraphScope::kEager), 0x1p20);
  EXPECT_EQ(log.lines,
            (Strings{"INFO Converted 1/5 nodes to float16 precision using 1 cast(s) to float16 (excluding Const and "
                     "Variable casts)",
                     "INFO an eager graph: the graph rewrite does nothing here; expected a function"}));
  context.disable_graph_rewrite();
  EXPECT_EQ(value(context, GraphScope::kFunction), 0x1p20);
  context.enable_bfloat16_conversion(Recipe::basic());
  EXPECT_EQ(value(context, GraphScope::kFunction), 0x1p20);  // bfloat16 has float32's range
  EXPECT_NE(context.finish(graph, fetches), graph);
}

/// MatMul by I, the operation, MatMul by I, 128 x 128, rewritten against float32. Tolerances are TensorFlow's own;
/// where it gives one of the two alone, the other is five ulps at 1, which is what its comparison takes then.
struct SingleOperation {
  const char* op;
  double low, high, absolute, relative;
};
void PrintTo(const SingleOperation& s, std::ostream* out) { *out << s.op; }

class SingleOperations : public ::testing::TestWithParam<SingleOperation> {};

TEST_P(SingleOperations, AreCloseToFloat32) {
  const SingleOperation& p = GetParam();
  constexpr int64_t kSize = 128;
  constexpr double kFiveUlps = 5 * 0x1p-23;
  GraphBuilder b;
  std::vector<double> identity(kSize * kSize), values;
  for (int64_t i = 0; i < kSize; ++i) identity[static_cast<size_t>(i * (kSize + 1))] = 1;
  const Port eye = b.constant(test::tensor(DType::kFloat32, {kSize, kSize}, identity), "eye");
  const Port input = b.placeholder("input", DType::kFloat32, {kSize, kSize});
  const Port first = b.add("MatMul", {input, eye}, {}, "allow1");
  const Port second = b.add("MatMul", {b.add(p.op, {first}, {}, "infer1"), eye}, {}, "allow2");
  b.add("Identity", {second}, {}, "fetch1");
  const Graph graph = b.build();
  const Strings fetches{"fetch1"};
  const GraphRewrite rewritten = rewrite(graph, OpLists::tf_2_3(), fetches);
  for (const char* name : {"allow1", "infer1", "allow2"})
    EXPECT_EQ(rewritten.graph.type(rewritten.graph.port(name)).dtype, DType::kFloat16) << name;
  EXPECT_EQ(rewritten.graph.type(rewritten.graph.port("input")).dtype, DType::kFloat32);

  // 65536 equal steps over the range, as there; every fourth of them once, for 40503 is odd.
  for (int64_t i = 0; i < kSize * kSize; ++i) {
    const auto step = static_cast<double>(i * 40503 % 65536);
    values.push_back(step / 65536 * (p.high - p.low) + p.low);
  }
  const Tensor fed = test::tensor(DType::kFloat32, {kSize, kSize}, values);
  const auto run = [&](const Graph& g) {
    return test::run(*make_executor(g, ieee()), {{"input", &fed}}, fetches).values[0].values();
  };
  const std::vector<double> expected = run(graph), found = run(rewritten.graph);
  bool differ = false;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double bound =
        (p.absolute < 0 ? kFiveUlps : p.absolute) + (p.relative < 0 ? kFiveUlps : p.relative) * std::abs(expected[i]);
    ASSERT_LE(std::abs(found[i] - expected[i]), bound) << p.op << "(" << values[i] << ")";
    differ = differ || found[i] != expected[i];
  }
  EXPECT_TRUE(differ);  // it was half
}

INSTANTIATE_TEST_SUITE_P(
    Vectors, SingleOperations,
    ::testing::Values(SingleOperation{"Elu", -5, 5, 1e-3, 1e-3}, SingleOperation{"Erf", -5, 5, 1e-3, -1},
                      SingleOperation{"Erfc", -5, 5, 1e-3, -1}, SingleOperation{"Sigmoid", -5, 5, 1e-3, -1},
                      SingleOperation{"Tanh", -5, 5, 1e-3, -1}, SingleOperation{"Softplus", -5, 5, 1e-3, 1e-3},
                      SingleOperation{"Inv", 0.01, 10, -1, 1e-3}, SingleOperation{"Reciprocal", 0.01, 10, -1, 1e-3},
                      SingleOperation{"Log", 0.01, 10, 1e-3, 2e-3}, SingleOperation{"Log1p", -0.99, 9, 1e-3, 5e-3},
                      SingleOperation{"LogSoftmax", -8, 8, -1, 1e-2}, SingleOperation{"Softmax", -8, 8, 2e-3, -1},
                      SingleOperation{"Sqrt", 0, 10, 1e-3, 1e-3}),
    [](const auto& each) { return std::string(each.param.op); });

}  // namespace
}  // namespace softamp
