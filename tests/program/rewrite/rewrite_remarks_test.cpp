// `softamp rewrite`: what it remarks on: words, graphs and recipes that convert nothing, or other things than was
// meant.
#include "tests/program/rewrite/rewrite_verb.h"

#include "softamp/graph/graph_json.h"

namespace softamp::test {
namespace {

using Ops = std::multiset<std::string>;

TEST_F(RewriteVerb, AMisspeltOperationIsRemarkedOn) {
  write_text(file("r.json"),
             "{\"allowlist\": [\"MatMul\",\n \"Matmull\", \"HabanaMatMu\", \"Conv3D\", \"MyOwn\"],\n"
             " \"graylist\": [\"relu\", \"Matmull\"]}");
  const std::string err = success("{J} --recipe @r.json --quiet").err;
  const std::string place = "WARNING " + file("r.json") + ": line ";
  EXPECT_EQ(err, place + "2, column 2: 'allowlist': no known operation is called 'Matmull'; nearest: MatMul\n" + place +
                     "3, column 15: 'graylist': no known operation is called 'relu'; nearest: Relu\n" + place +
                     "3, column 23: Matmull is in the lists allow and conditional; allow counts\n");
  EXPECT_EQ(success("{J} --recipe full --quiet").err, "");
  EXPECT_EQ(success("{J} --tensorflow --add allow=Matmull,Cumsum --quiet").err,
            "softamp rewrite: --add: the graph has no operation 'Matmull'; nearest: MatMul\n"
            "softamp rewrite: --add: the graph has no operation 'Cumsum'\n");
}

// tests: H12
TEST_F(RewriteVerb, LenientReadingOfARecipe) {
  write_text(file("r.json"), R"({"version": 2, "allowlist": ["MatMul"]})");
  EXPECT_EQ(error("{J} --recipe @r.json"),
            "mechanism 'recipe=@r.json': @r.json: line 1, column 2: unknown key 'version'\n");
  const Outcome o = success("{J} --recipe @r.json --lenient --quiet --report json");
  EXPECT_EQ(o.err, "WARNING " + file("r.json") + ": line 1, column 2: unknown key 'version'; it is left out\n");
  EXPECT_EQ(converted(json_of(o)), (Ops{"MatMul", "MatMul"}));
  EXPECT_EQ(converted(report("{J} --environment --lenient", "TF_BF16_CONVERSION=" + file("r.json"))),
            (Ops{"MatMul", "MatMul"}));
}

// tests: T14
TEST_F(RewriteVerb, AdviceOnShapes) {
  GraphBuilder b;
  const Port x = b.placeholder("x", DType::kFloat32, {100, 300});
  const Port w = b.add("VariableV2", {}, {{"dtype", DType::kFloat32}, {"shape", Shape{300, 128}}}, "dense/w");
  b.add("Neg", {b.add("MatMul", {x, w}, {}, "dense/product")}, {}, "end");
  write_text(file("odd.json"), graph_json(b.build()));
  const std::string advice =
      "softamp rewrite: dimension 100: expected a power of two, such as 128 (first in 'dense/product')\n"
      "softamp rewrite: dimension 300: expected a multiple of 8, such as 304 (first in 'dense/product')\n";
  for (const std::string mechanism : {"--tensorflow", "--policy mixed_float16", "--recipe basic"}) {
    const std::string err = success("@odd.json " + mechanism).err;
    EXPECT_TRUE(err.ends_with("\n" + advice)) << err;
    EXPECT_EQ(success("@odd.json --quiet " + mechanism).err, "");
  }
  EXPECT_EQ(success("@odd.json --tensorflow --cpu").err.find("dimension"), std::string::npos) << "all stays float32";
}

TEST_F(RewriteVerb, WithoutFetchesUnreadNodesAreNamedAsOutputs) {
  GraphBuilder b;
  const Port x = b.placeholder("x", DType::kFloat32, {2, 2});
  for (const char* name : {"loss", "gradient_1", "gradient_2"}) b.add("MatMul", {x, x}, {}, name);
  write_text(file("training.json"), graph_json(b.build()));
  EXPECT_EQ(success("@training.json --recipe basic").err,
            "softamp rewrite: no --fetch is given: 3 nodes that nothing reads count as outputs and keep their dtypes: "
            "'loss', 'gradient_1', 'gradient_2'\n"
            "INFO recipe basic: 0 of 4 nodes converted to bfloat16 in 0 groups\n");
  EXPECT_EQ(success("@training.json --recipe basic --quiet").err, "");
  EXPECT_EQ(success("@training.json --recipe basic --fetch loss -o @out.json").err,
            "INFO recipe basic: 2 of 4 nodes converted to bfloat16 in 2 groups\n"
            "softamp rewrite: recipe basic: 2 of 4 nodes converted, 1 cast added; written to " +
                file("out.json") + "\n");
}

TEST_F(RewriteVerb, AGraphWithoutLayersIsRemarkedOnByPoliciesAndLevels) {
  GraphBuilder b;
  const Port x = b.placeholder("x", DType::kFloat32, {2, 2});
  b.add("Neg", {b.add("MatMul", {x, x}, {}, "product")}, {}, "end");
  write_text(file("flat.json"), graph_json(b.build()));
  const auto said = [](const std::string& mechanism) {
    return "WARNING " + mechanism +
           ": no node belongs to a layer, so that nothing is converted; expected names with scopes (dense/MatMul), or "
           "the attribute \"layer\"\n";
  };
  EXPECT_EQ(success("@flat.json --policy mixed_float16 --quiet").err, said("policy mixed_float16"));
  EXPECT_EQ(success("@flat.json --level O2 --quiet").err, said("level O2"));
  for (const char* mechanism : {"--level O1", "--level O0", "--policy float32", "--recipe full"})
    EXPECT_EQ(success(std::string("@flat.json --quiet ") + mechanism).err, "") << mechanism;
  EXPECT_EQ(success("{J} --policy mixed_float16 --quiet").err, "");
}

/// Between the end of a loop and its beginning no cast can stand.
TEST_F(RewriteVerb, ALoopThatARecipeWouldBreakStaysFloat32) {
  std::string loop;
  const auto add = [&](const std::string& name, const std::string& op, const std::vector<std::string>& inputs,
                       const std::string& attributes) {
    loop += "node { name: '" + name + "' op: '" + op + "' ";
    for (const std::string& input : inputs) loop += "input: '" + input + "' ";
    loop += attributes + "}\n";
  };
  const std::string type = "attr { key: 'T' value { type: DT_FLOAT } } ", dtype = "attr { key: 'dtype' value { type: ";
  add("x", "Placeholder", {}, dtype + "DT_FLOAT } } ");
  add("enter", "Enter", {"x"}, type);
  add("merge", "Merge", {"enter", "next"}, type + "attr { key: 'N' value { i: 2 } } ");
  add("go", "Const", {"^merge"}, dtype + "DT_BOOL } } ");
  add("cond", "LoopCond", {"go"}, "");
  add("switch", "Switch", {"merge", "cond"}, type);
  add("next", "NextIteration", {"switch:1"}, type);
  add("fetch", "Exit", {"switch"}, type);
  write_text(file("loop.pbtxt"), loop);
  write_text(file("r.json"), R"({"allow_list": ["Merge"]})");
  const nlohmann::json r = report("@loop.pbtxt --fetch fetch --recipe @r.json");
  EXPECT_EQ(r["converted_nodes"], 0);
  for (const nlohmann::json& unit : r["units"])
    if (unit["node"] == "merge") {
      EXPECT_EQ(unit["reason"], "in a loop with 'next', which stays float32");
    }
  success("@loop.pbtxt --fetch fetch --tensorflow");
}

TEST_F(RewriteVerb, VariablesOfGaudisThatAreNotObeyedAreNamedOnce) {  // MIXED_PRECISION H15, H16
  const std::string told = success("{J} --recipe full", "TF_BF16_CONVERSION=basic TF_BF16_DUMP_PATH=0").err;
  const std::string line = "softamp rewrite: set, but obeyed only with --environment: TF_BF16_CONVERSION\n";
  EXPECT_EQ(told.find(line), told.rfind("softamp rewrite: set, but")) << told;
  EXPECT_NE(told.find(line), std::string::npos) << told;
  for (const char* off : {"TF_BF16_CONVERSION=0", "TF_BF16_CONVERSION=false TF_BF16_DUMP_PATH=false", ""})
    EXPECT_EQ(success("{J} --recipe full", off).err.find("set, but obeyed"), std::string::npos) << off;
  EXPECT_EQ(success("{J} --recipe full --quiet", "TF_BF16_CONVERSION=basic").err, "");
}

}  // namespace
}  // namespace softamp::test
