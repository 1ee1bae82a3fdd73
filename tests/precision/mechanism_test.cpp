// The mechanisms by their names: what can be written, what is refused and how, what each does to one small network.
#include "softamp/precision/mechanism.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/files.h"
#include "tests/graph/executor_check.h"
#include "tests/precision/recipe_nets.h"

namespace softamp::test {
namespace {

using enum DType;
using Kind = Mechanism::Kind;
using Strings = std::vector<std::string>;

std::string mechanism_refusal(std::string_view text) {
  return refusal<std::invalid_argument>([&] { Mechanism::parse(text); });
}

TEST(Mechanism, EveryFormIsReadAndWritten) {
  struct Form {
    const char *text, *written;
    Kind kind;
    const char* value;
    DType low;
    bool rewrites;
    const char* loss_scale;
  };
  const Form forms[] = {
      {"none", "none", Kind::kNone, "", kFloat32, false, "none"},
      {"tensorflow", "tensorflow=2.3", Kind::kTensorFlow, "2.3", kFloat16, true, "tensorflow"},
      {"tensorflow=2.3", "tensorflow=2.3", Kind::kTensorFlow, "2.3", kFloat16, true, "tensorflow"},
      {"tensorflow=2019", "tensorflow=2019", Kind::kTensorFlow, "2019", kFloat16, true, "tensorflow"},
      {"tensorflow=mkl", "tensorflow=mkl", Kind::kTensorFlow, "mkl", kBFloat16, true, "tensorflow"},
      {"tensorflow,dtype=bf16", "tensorflow=2.3,dtype=bfloat16", Kind::kTensorFlow, "2.3", kBFloat16, true,
       "tensorflow"},
      {"recipe=full", "recipe=full", Kind::kRecipe, "full", kBFloat16, true, "none"},
      {"recipe=basic,dtype=half", "recipe=basic,dtype=float16", Kind::kRecipe, "basic", kFloat16, true, "none"},
      {"policy=mixed_float16", "policy=mixed_float16", Kind::kPolicy, "mixed_float16", kFloat16, false, "keras"},
      {"policy=mixed_bfloat16", "policy=mixed_bfloat16", Kind::kPolicy, "mixed_bfloat16", kBFloat16, false, "none"},
      {"policy=mixed_float16,dtype=fp16", "policy=mixed_float16,dtype=float16", Kind::kPolicy, "mixed_float16",
       kFloat16, false, "keras"},
      {"policy=float16", "policy=float16", Kind::kPolicy, "float16", kFloat16, false, "none"},
      {"policy=float32", "policy=float32", Kind::kPolicy, "float32", kFloat32, false, "none"},
      {"level=O0", "level=O0", Kind::kLevel, "O0", kFloat32, false, "none"},
      {"level=O1", "level=O1", Kind::kLevel, "O1", kFloat16, true, "none"},
      {"level=O2", "level=O2", Kind::kLevel, "O2", kFloat16, false, "mindspore"},
      {"level=O2,dtype=bfloat16", "level=O2,dtype=bfloat16", Kind::kLevel, "O2", kBFloat16, false, "mindspore"},
      {"level=O3", "level=O3", Kind::kLevel, "O3", kFloat16, false, "none"},
      {"level=auto", "level=auto", Kind::kLevel, "auto", kFloat16, false, "mindspore"},
      {"fp8=nvfp4", "fp8=nvfp4", Kind::kFp8, "nvfp4", kFloat32, true, "none"},
  };
  for (const Form& f : forms) {
    const Mechanism m = Mechanism::parse(f.text);
    EXPECT_EQ(m.kind, f.kind) << f.text;
    EXPECT_EQ(m.value, f.value) << f.text;
    EXPECT_EQ(m.low_dtype(), f.low) << f.text;
    EXPECT_EQ(m.rewrites(), f.rewrites) << f.text;
    EXPECT_EQ(m.loss_scale().name, f.loss_scale) << f.text;
    EXPECT_EQ(m.text(), f.written);
    EXPECT_EQ(Mechanism::parse(m.text()), m) << f.text;
    EXPECT_EQ(m.layer_rule().has_value(), !f.rewrites && f.kind != Kind::kNone) << f.text;
  }
  EXPECT_EQ(Mechanism(), Mechanism::parse("none"));
}

TEST(Mechanism, FaultsAreNamedWithTheNearest) {
  const std::string forms =
      "; expected none, tensorflow, tensorflow=PRESET, recipe=full, recipe=basic, recipe=FILE, policy=NAME, "
      "level=NAME, fp8=NAME or fp8=FILE, with or without ,dtype=float16 or ,dtype=bfloat16";
  EXPECT_EQ(mechanism_refusal("tensorflo=2.3"),
            "mechanism 'tensorflo=2.3': there is no mechanism 'tensorflo'; nearest: tensorflow" + forms);
  EXPECT_EQ(
      mechanism_refusal("mixed_float16"),
      "mechanism 'mixed_float16': there is no mechanism 'mixed_float16'; for this, write policy=mixed_float16" + forms);
  EXPECT_EQ(mechanism_refusal("O2"), "mechanism 'O2': there is no mechanism 'O2'; for this, write level=O2" + forms);
  EXPECT_EQ(mechanism_refusal("full"),
            "mechanism 'full': there is no mechanism 'full'; for this, write recipe=full" + forms);
  EXPECT_EQ(mechanism_refusal("2019"),
            "mechanism '2019': there is no mechanism '2019'; for this, write tensorflow=2019" + forms);
  EXPECT_EQ(mechanism_refusal(""), "mechanism '': there is no mechanism ''" + forms);
  EXPECT_EQ(mechanism_refusal("recipe"), "mechanism 'recipe': recipe needs a value" + forms);
  EXPECT_EQ(mechanism_refusal("level="), "mechanism 'level=': nothing stands after '='" + forms);
  EXPECT_EQ(mechanism_refusal("none=1"), "mechanism 'none=1': none takes no value" + forms);
  const auto has = [](const std::string& text, const Strings& parts) {
    const std::string refused = mechanism_refusal(text);
    EXPECT_TRUE(refused.starts_with("mechanism '" + text + "': ")) << refused;
    for (const std::string& part : parts) EXPECT_NE(refused.find(part), std::string::npos) << refused;
  };
  has("tensorflow=2018", {"2018", "nearest: 2019", "2.3", "mkl"});
  has("recipe=ful", {"recipe 'ful': there is no such file; nearest: full"});
  has("policy=mixed_flot16", {"Cannot convert value mixed_flot16 to a mixed precision Policy", "nearest: mixed_float16",
                              "expected mixed_float16, mixed_bfloat16, float16, bfloat16, float32"});
  has("policy=int32", {"policy 'int32' computes in no floating dtype", "expected mixed_float16"});
  has("policy=_infer", {"policy '_infer' computes in no floating dtype"});
  has("level=O5", {"nearest: O0", "expected one of O0, O1, O2, O3, auto"});
  EXPECT_EQ(mechanism_refusal("recipe=full,dtype=float8"),
            "mechanism 'recipe=full,dtype=float8': dtype 'float8'; expected float16 or bfloat16");
  EXPECT_EQ(mechanism_refusal("recipe=full,dtype=float32"),
            "mechanism 'recipe=full,dtype=float32': dtype 'float32'; expected float16 or bfloat16");
  EXPECT_EQ(mechanism_refusal("none,dtype=bf16"),
            "mechanism 'none,dtype=bf16': dtype bfloat16; expected none: all of it stays float32");
  EXPECT_EQ(mechanism_refusal("level=O0,dtype=fp16"),
            "mechanism 'level=O0,dtype=fp16': dtype float16; expected none: all of it stays float32");
  EXPECT_EQ(mechanism_refusal("policy=mixed_float16,dtype=bf16"),
            "mechanism 'policy=mixed_float16,dtype=bf16': dtype bfloat16; expected none: the policy's name says its "
            "dtype");
}

TEST(Mechanism, ARecipesFile) {
  TemporaryFolder folder;
  Recipe products;
  products.allow = {"MatMul"};
  products.dump(folder.file("a,b=c.json"));
  const Mechanism m = Mechanism::parse("recipe=" + folder.file("a,b=c.json"));
  EXPECT_EQ(Mechanism::parse(m.text()), m);
  const OpGraph net = dense_net_picture();
  EXPECT_EQ(converted(net, m.colour(net)), "MatMul0 MatMul1");
  EXPECT_EQ(m.colour(net).mechanism, "recipe a,b=c");
  write_text(folder.file("bad.json"), "{\"allow\": 1}");
  EXPECT_EQ(mechanism_refusal("recipe=" + folder.file("bad.json")),
            "mechanism 'recipe=" + folder.file("bad.json") + "': " + folder.file("bad.json") +
                ": line 1, column 2: unknown key 'allow'; nearest: allowlist");
}

/// x -> MatMul with a variable, in a scope -> Softmax -> out, which is fetched.
Graph small_net() {
  GraphBuilder b;
  const Port x = b.placeholder("x", kFloat32, {2, 2});
  const Port w = b.add("VariableV2", {}, {{"dtype", kFloat32}, {"shape", Shape{2, 2}}}, "dense/w");
  const Port y = b.add("MatMul", {x, w}, {}, "dense/MatMul");
  b.add("Identity", {b.add("Softmax", {y}, {}, "softmax/Softmax")}, {}, "out");
  return b.build();
}

// tests: K01
TEST(Mechanism, APolicyMayBeFloat64) {
  const Mechanism m = Mechanism::parse("policy=float64");
  EXPECT_EQ(m.low_dtype(), kFloat64);
  EXPECT_EQ(m.loss_scale().name, "none");
  const Strings fetches = {"out"};
  const GraphRewrite r = m.pass()(small_net(), fetches);
  EXPECT_EQ(r.graph.type(r.graph.port("dense/MatMul")).dtype, kFloat64);
  EXPECT_EQ(r.graph.type(r.graph.port("out")).dtype, kFloat32);
}

// Every mechanism acts on the same finished graph; what it makes of it is what its own header says.
// tests: H21, N388
TEST(Mechanism, EachActsOnAFinishedGraph) {
  // MIXED_PRECISION H21
  const Graph graph = small_net();
  const Strings fetches = {"out"};
  const OpGraph picture = op_graph(graph, fetches);
  for (const char* text : {"none", "policy=float32", "level=O0"}) {
    const GraphRewrite r = Mechanism::parse(text).pass()(graph, fetches);
    EXPECT_EQ(r.graph, graph) << text;
    for (const std::string& why : r.report.colours.reasons) EXPECT_NE(why, "") << text;
  }
  for (const char* text : {"tensorflow", "tensorflow=2019", "tensorflow=mkl", "tensorflow,dtype=bf16", "recipe=basic",
                           "recipe=full", "recipe=full,dtype=fp16", "policy=mixed_float16", "policy=mixed_bfloat16",
                           "level=O1", "level=O2", "level=O3", "level=auto", "level=O2,dtype=bf16"}) {
    const Mechanism m = Mechanism::parse(text);
    const Colouring c = m.colour(picture);
    EXPECT_EQ(c.low, m.low_dtype()) << text;
    const GraphRewrite r = m.pass()(graph, fetches);
    EXPECT_EQ(r.graph.type(r.graph.port("dense/MatMul")).dtype, m.low_dtype()) << text;
    EXPECT_EQ(r.graph.type(r.graph.port("out")).dtype, kFloat32) << text;
    EXPECT_EQ(r.graph.type(r.graph.port("dense/w")).dtype, kFloat32) << text;
    EXPECT_EQ(r.report.colours.low_units, c.low_units) << text;
    EXPECT_TRUE(c.mechanism.starts_with(std::string(text).substr(0, std::string(text).find('=')).substr(0, 5)))
        << c.mechanism;
  }
}

TEST(Mechanism, AFileIsReadWhenThePassIsMade) {
  TemporaryFolder folder;
  Recipe products;
  products.allow = {"MatMul"};
  products.dump(folder.file("r.json"));
  const GraphPass pass = Mechanism::parse("recipe=" + folder.file("r.json")).pass();
  Recipe().dump(folder.file("r.json"));
  EXPECT_EQ(pass(small_net(), Strings{"out"}).report.converted_nodes(), 1);
}

}  // namespace
}  // namespace softamp::test
