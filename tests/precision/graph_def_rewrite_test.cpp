// GraphDefs rewritten: the picture by the table of signatures, and the whole path from a file to a rewritten file whose
// types are consistent.
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <set>

#include "softamp/precision/graph_rewrite.h"
#include "softamp/precision/recipe.h"
#include "src/precision/tensorflow/op_signatures.h"
#include "tests/precision/graph_def_text.h"
#include "tests/precision/random_dag.h"
#include "tests/precision/tensorflow_answers.h"

namespace softamp::test {
namespace {

using Strings = std::vector<std::string>;

// ---------------------------------------------------------------------------------------------------- the picture

TEST(GraphDefPicture, UnitsAndPortsFollowTheSignature) {
  const OpGraph p =
      graph_of(
          float_node("x", "Placeholder", {}, "dtype") + node_text("i", "Const", {}, {{"dtype", "type: DT_INT32"}}) +
          node_text("split", "Split", {"i", "x"}, {{"T", "type: DT_FLOAT"}, {"num_split", "i: 3"}}) +
          node_text("concat", "ConcatV2", {"split", "split:2", "i"}, {{"T", "type: DT_FLOAT"}, {"N", "i: 2"}}) +
          node_text("n", "IdentityN", {"i", "concat", "x"}, {{"T", "list { type: [DT_INT32, DT_FLOAT, DT_FLOAT] }"}}) +
          node_text("bn", "FusedBatchNormV3", {"n:1", "x", "x", "x", "x"},
                    {{"T", "type: DT_FLOAT"}, {"U", "type: DT_FLOAT"}}) +
          node_text("pool", "MaxPool", {"bn"}) + node_text("top", "TopKV2", {"pool", "i"}, {{"T", "type: DT_FLOAT"}}) +
          float_node("v", "VariableV2", {}, "dtype") + float_node("read", "Identity", {"v"}) +
          float_node("assign", "Assign", {"v", "x"}) +
          node_text("random", "RandomUniform", {"i"}, {{"T", "type: DT_INT32"}, {"dtype", "type: DT_FLOAT"}}))
          .op_graph(Strings{"top:1"});
  const auto ports = [&](const char* name) { return ports_of(node_of(p, name)); };
  EXPECT_EQ(ports("split"), "- 0 > 0:float32 0:float32 0:float32");
  EXPECT_EQ(units_of(node_of(p, "concat")), "T:float32:h:b Tidx:int32") << "what is left out has its default";
  EXPECT_EQ(ports("concat"), "0 0 1 > 0:float32");
  EXPECT_EQ(units_of(node_of(p, "n")), "T[0]:int32:h:b T[1]:float32:h:b T[2]:float32:h:b");
  EXPECT_EQ(ports("n"), "0 1 2 > 0:int32 1:float32 2:float32");
  EXPECT_EQ(units_of(node_of(p, "bn")), "T:float32:h:b U:float32") << "statistics have no kernel but float32's";
  EXPECT_EQ(ports("bn"), "0 1 1 1 1 > 0:float32 1:float32 1:float32 1:float32 1:float32 1:float32");
  EXPECT_EQ(units_of(node_of(p, "pool")), "T:float32:h:b");
  EXPECT_EQ(ports("top"), "0 1 > 0:float32 2:int32");
  EXPECT_EQ(ports("v"), "> 0:float32_ref");
  EXPECT_EQ(ports("read"), "0 > 0:float32");
  EXPECT_EQ(ports("assign"), "0 0 > 0:float32_ref");
  for (const OpNode& n : p.nodes) {
    EXPECT_TRUE(n.known) << n.name;
    EXPECT_EQ(n.preserved, n.name == "x" || n.name == "top") << n.name;
    EXPECT_EQ(n.stateful, n.name == "v" || n.name == "assign" || n.name == "random") << n.name;
    EXPECT_EQ(n.random, n.name == "random") << n.name;
  }
  EXPECT_EQ(p.units(), p.first_unit.back());
}

TEST(GraphDefPicture, DeviceLayerAndControlInputs) {
  const OpGraph p = graph_of(node_text("block/conv/x", "NoOp", {}, {}, "device: \"/job:w/device:GPU:1\" ") +
                             node_text("b", "NoOp", {"^block/conv/x"}, {{"_layer", "s: \"mine\""}}) +
                             node_text("c", "NoOp", {}, {{"layer", "s: \"first\""}, {"_layer", "s: \"second\""}}))
                        .op_graph();
  EXPECT_EQ(p.nodes[0].device, "/job:w/device:GPU:1");
  EXPECT_EQ(p.nodes[0].layer, "block/conv");
  EXPECT_EQ(p.nodes[1].layer, "mine");
  EXPECT_EQ(p.nodes[2].layer, "first");
  EXPECT_TRUE(p.nodes[1].inputs.empty()) << "control inputs are not seen";
}

TEST(GraphDefPicture, UnknownOperationsAreGuessedByTheirNeighbours) {
  const OpGraph p =
      graph_of(
          float_node("x", "Placeholder", {}, "dtype") + node_text("i", "Const", {}, {{"dtype", "type: DT_INT32"}}) +
          float_node("mine", "MyOp", {"x", "i", "x:0"}) + float_node("relu", "Relu", {"mine:2"}) +
          node_text("shape", "Shape", {"mine"}, {{"T", "type: DT_INT64"}}) + float_node("next", "MyOp", {"mine:3"}) +
          node_text("two", "MyOp", {"x"}, {{"T", "type: DT_FLOAT"}, {"U", "type: DT_HALF"}, {"n", "i: 1"}}) +
          float_node("relu2", "Relu", {"two"}) + float_node("other", "MyOp", {"x"}, "dtype"))
          .op_graph(Strings{"next:5"});
  EXPECT_FALSE(node_of(p, "mine").known);
  EXPECT_EQ(units_of(node_of(p, "mine")), "T:float32:h:b");
  EXPECT_EQ(ports_of(node_of(p, "mine")), "0 - 0 > -:int64 -:unknown 0:float32 0:float32");
  EXPECT_EQ(ports_of(node_of(p, "next")), "0 >");
  EXPECT_TRUE(node_of(p, "next").preserved);
  EXPECT_EQ(units_of(node_of(p, "two")), "T:float32 U:float16")
      << "two type attributes: nobody knows which port is whose";
  EXPECT_EQ(ports_of(node_of(p, "two")), "- > -:float32") << "but what reads it tells the type";
  EXPECT_EQ(units_of(node_of(p, "other")), "dtype:float32");
  EXPECT_EQ(ports_of(node_of(p, "other")), "- >");
}

TEST(GraphDefPicture, CallsOfFunctionsStayAsTheyAre) {
  const std::string text = float_node("x", "Placeholder", {}, "dtype") + float_node("call", "my_function", {"x"}) +
                           float_node("relu", "Relu", {"x"}) + float_node("end", "Identity", {"call"});
  const auto library = [](const std::string& name) {
    return "library { function { signature { name: \"" + name + "\" } } }";
  };
  const OpGraph p = graph_of(text + library("my_function")).op_graph();
  EXPECT_FALSE(node_of(p, "call").known);
  EXPECT_EQ(units_of(node_of(p, "call")), "T:float32");
  EXPECT_TRUE(node_of(p, "relu").known);
  EXPECT_FALSE(node_of(graph_of(text + library("Relu")).op_graph(), "relu").known)
      << "a function goes before an operation of its name";
  const GraphDefFile graph = graph_of(text + library("my_function"));
  const OpGraph picture = graph.op_graph();
  const GraphDefFile rewritten = graph.apply(plan_casts(picture, coloured(picture, {"Identity"})));
  EXPECT_NE(rewritten.text().find("library {"), std::string::npos);
  rewritten.op_graph();
}

TEST(GraphDefPicture, WhatIsWrongWithANodeIsNamed) {
  const std::string x = float_node("x", "Placeholder", {}, "dtype");
  const std::string i = node_text("i", "Const", {}, {{"dtype", "type: DT_INT32"}});
  const auto expect = [&](const std::string& more, const std::string& what) {
    EXPECT_NE(picture_fault(x + i + more).find("input: node 'n' (" + what), std::string::npos)
        << picture_fault(x + i + more);
  };
  expect(node_text("n", "Relu", {"x"}), "Relu): attribute 'T' is missing; expected a type");
  expect(node_text("n", "Relu", {"x"}, {{"T", "s: \"float\""}}), "Relu): attribute 'T' is a string; expected a type");
  expect(node_text("n", "Relu", {"x"}, {{"T", "placeholder: \"T\""}}), "Relu): attribute 'T' is a placeholder");
  expect(node_text("n", "Relu", {"x"}, {{"T", ""}}), "Relu): attribute 'T' is nothing");
  expect(node_text("n", "Relu", {"x"}, {{"T", "type: DT_INVALID"}}), "Relu): attribute 'T' is type 0");
  expect(node_text("n", "Relu", {"x"}, {{"T", "type: 1000"}}), "Relu): attribute 'T' is type 1000");
  expect(node_text("n", "MyOp", {"x"}, {{"T", "type: -1"}}), "MyOp): attribute 'T' is type -1");
  expect(node_text("n", "IdentityN", {"x"}, {{"T", "type: DT_FLOAT"}}),
         "IdentityN): attribute 'T' is a type; expected a list of types");
  expect(node_text("n", "IdentityN", {"x"}, {{"T", "list { type: DT_FLOAT type: 0 }"}}),
         "IdentityN): attribute 'T[1]' is type 0");
  expect(float_node("n", "Relu", {}), "Relu): its attributes say 0 + 1 inputs or more, but it has 0");
  expect(float_node("n", "Relu", {"x", "x"}), "Relu): 2 inputs; expected 1");
  expect(float_node("n", "Pack", {"x"}), "Pack): attribute 'N' is missing; expected an int from 0");
  expect(node_text("n", "Pack", {"x"}, {{"T", "type: DT_FLOAT"}, {"N", "i: -1"}}), "Pack): attribute 'N' is -1");
  expect(node_text("n", "Pack", {"x"}, {{"T", "type: DT_FLOAT"}, {"N", "f: 1"}}), "Pack): attribute 'N' is a float");
  expect(node_text("n", "Pack", {"x"}, {{"T", "type: DT_FLOAT"}, {"N", "i: 9223372036854775807"}}),
         "Pack): its attributes say 0 + 9223372036854775807 inputs");
  expect(node_text("n", "Unpack", {"x"}, {{"T", "type: DT_FLOAT"}, {"num", "i: 65537"}}),
         "Unpack): its attributes say 0 + 65537 outputs; expected at most 65536");
  expect(float_node("n", "Relu", {"i"}), "Relu): input 0 reads 'i' (Const), which is int32; expected float32");
  expect(float_node("n", "Relu", {"x:1"}), "Relu): input 0 reads 'x:1' (Placeholder), which has 1 outputs");
  expect(node_text("n", "MyOp", {"x:1"}), "MyOp): input 0 reads 'x:1' (Placeholder), which has 1 outputs");
  EXPECT_NE(picture_fault(x, {"y"}).find("input: 'y' is to be fetched, but there is no such node"), std::string::npos);
  EXPECT_NE(picture_fault(x, {"^x"}).find("input: '^x' is to be fetched"), std::string::npos);
  EXPECT_NE(picture_fault(x, {"x:1"}).find("'x:1' is to be fetched, but it has 1 outputs"), std::string::npos);
  // A few bytes must not ask for all memory there is.
  std::string wide;
  for (int k = 0; k < 260; ++k)
    wide += node_text("n" + std::to_string(k), "Unpack", {"x"}, {{"T", "type: DT_FLOAT"}, {"num", "i: 65536"}});
  EXPECT_NE(picture_fault(x + wide).find("outputs together"), std::string::npos);
}

// ---------------------------------------------------------------------------------------------------- rewriting

// tests: N290
TEST(GraphDefApply, CastsAttributesAndInputsToTheLetter) {
  const GraphDefFile graph =
      graph_of(node_text("x", "Placeholder", {}, {{"dtype", "type: DT_FLOAT"}}, "device: \"/gpu:1\" ") +
               node_text("s", "Split", {"axis", "x", "^x"},
                         {{"T", "type: DT_FLOAT"}, {"num_split", "i: 2"}, {"_layer", "s: \"l\""}}) +
               node_text("axis", "Const", {}, {{"dtype", "type: DT_INT32"}}) +
               float_node("m", "MatMul", {"s:1", "s:1", "^s"}) + float_node("m2", "MatMul", {"m", "s:1"}) +
               float_node("e", "Exp", {"m"}) + float_node("fetch", "Identity", {"m2"}));
  const OpGraph picture = graph.op_graph(Strings{"fetch"});
  const CastPlan plan = plan_casts(picture, coloured(picture, {"MatMul"}));
  const std::string before = graph.text();
  const GraphDefFile rewritten = graph.apply(plan);
  EXPECT_EQ(graph.text(), before);
  const std::string half = "type: DT_HALF";
  const auto cast = [](const std::string& name, const std::string& from, bool to_low, const TextAttributes& more = {}) {
    TextAttributes attributes = {{"SrcT", to_low ? "type: DT_FLOAT" : "type: DT_HALF"},
                                 {"DstT", to_low ? "type: DT_HALF" : "type: DT_FLOAT"},
                                 {"Truncate", "b: false"}};
    attributes.insert(attributes.end(), more.begin(), more.end());
    return node_text(name, "Cast", {from}, attributes);
  };
  const GraphDefFile expected =
      graph_of(node_text("x", "Placeholder", {}, {{"dtype", "type: DT_FLOAT"}}, "device: \"/gpu:1\" ") +
               node_text("s", "Split", {"axis", "x", "^x"},
                         {{"T", "type: DT_FLOAT"}, {"num_split", "i: 2"}, {"_layer", "s: \"l\""}}) +
               cast("s-1-CastToFp16", "s:1", true, {{"_layer", "s: \"l\""}}) +
               node_text("axis", "Const", {}, {{"dtype", "type: DT_INT32"}}) +
               node_text("m", "MatMul", {"s-1-CastToFp16", "s-1-CastToFp16", "^s"}, {{"T", half}}) +
               cast("m-0-CastToFp32", "m", false) + node_text("m2", "MatMul", {"m", "s-1-CastToFp16"}, {{"T", half}}) +
               cast("m2-0-CastToFp32", "m2", false) + float_node("e", "Exp", {"m-0-CastToFp32"}) +
               float_node("fetch", "Identity", {"m2-0-CastToFp32"}));
  EXPECT_EQ(rewritten.text(), expected.text());
  EXPECT_EQ(graph.apply(plan).binary(), rewritten.binary());
  // A second run finds all there already: the other dtype's units are half by now, and the casts are shared.
  const OpGraph again = rewritten.op_graph(Strings{"fetch"});
  EXPECT_TRUE(plan_casts(again, coloured(again, {"MatMul"})).casts.empty());
  const GraphDefFile relu = graph_of(rewritten.text() + float_node("more", "MatMul", {"s:1", "s:1"}));
  const OpGraph more = relu.op_graph();
  const CastPlan shared = plan_casts(more, coloured(more, {"MatMul"}));
  EXPECT_TRUE(shared.casts.empty());
  EXPECT_NE(relu.apply(shared).text().find("name: \"more\"\n  op: \"MatMul\"\n  input: \"s-1-CastToFp16\""),
            std::string::npos);
}

TEST(GraphDefApply, TheDeviceIsTheProducers) {
  const GraphDefFile graph =
      graph_of(node_text("x", "Placeholder", {}, {{"dtype", "type: DT_FLOAT"}}, "device: \"/gpu:1\" ") +
               node_text("m", "MatMul", {"x", "x"}, {{"T", "type: DT_FLOAT"}}, "device: \"/gpu:2\" "));
  const OpGraph picture = graph.op_graph();
  const OpGraph after = graph.apply(plan_casts(picture, coloured(picture, {"MatMul"}, DType::kBFloat16))).op_graph();
  EXPECT_EQ(node_of(after, "x-0-CastToBf16").device, "/gpu:1");
  EXPECT_EQ(node_of(after, "m").units[0].type, ElementType::kBFloat16);
}

TEST(GraphDefApply, DefaultsAndListsAreRetyped) {
  const GraphDefFile graph =
      graph_of(float_node("x", "Placeholder", {}, "dtype") + node_text("pool", "MaxPool", {"x"}) +
               node_text("n", "IdentityN", {"pool", "x"}, {{"T", "list { type: [DT_FLOAT, DT_FLOAT] }"}}) +
               float_node("e", "Exp", {"n:1"}));
  const OpGraph picture = graph.op_graph();
  Colouring colours = Colouring::nothing(picture, "by hand", DType::kFloat16);
  colours.low_units[static_cast<size_t>(picture.unit(1, 0))] = 1;
  colours.low_units[static_cast<size_t>(picture.unit(2, 0))] = 1;
  const OpGraph after = graph.apply(plan_casts(picture, colours)).op_graph();
  EXPECT_EQ(units_of(node_of(after, "pool")), "T:float16:h:b") << "an attribute that was left out is written";
  EXPECT_EQ(units_of(node_of(after, "n")), "T[0]:float16:h:b T[1]:float32:h:b");
  EXPECT_EQ(after.size(), 5) << "one cast, x to half";
}

TEST(GraphDefApply, ListsOfManyTypesTakeLinearTime) {
  constexpr int kTypes = 30'000;  // minutes where the attributes are read anew for every type
  std::string types;
  for (int i = 0; i < kTypes; ++i) types += i ? ", DT_FLOAT" : "DT_FLOAT";
  const GraphDefFile graph =
      graph_of(float_node("x", "Placeholder", {}, "dtype") +
               node_text("n", "IdentityN", Inputs(kTypes, "x"), {{"T", "list { type: [" + types + "] }"}}));
  const OpGraph picture = graph.op_graph();
  const CastPlan plan = plan_casts(picture, coloured(picture, {"IdentityN"}));
  const auto begin = std::chrono::steady_clock::now();
  const OpGraph after = graph.apply(plan).op_graph();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  for (const TypeUnit& u : node_of(after, "n").units) ASSERT_EQ(u.type, ElementType::kHalf);
}

TEST(GraphDefApply, ACastThatWaitsForAReaderIsNotItsCast) {
  // The half copy of x is made once m has run: m, which needs one too, cannot take this.
  const GraphDefFile graph =
      graph_of(float_node("x", "Placeholder", {}, "dtype") + float_node("m", "MatMul", {"x", "x"}) +
               node_text("copy", "Cast", {"x", "^m"}, {{"SrcT", "type: DT_FLOAT"}, {"DstT", "type: DT_HALF"}}));
  const OpGraph picture = graph.op_graph();
  EXPECT_TRUE(node_of(picture, "copy").waits);
  EXPECT_FALSE(node_of(picture, "m").waits);
  const CastPlan plan = plan_casts(picture, coloured(picture, {"MatMul"}));
  EXPECT_TRUE(plan.redirected.empty());
  ASSERT_EQ(plan.casts.size(), 1u);
  EXPECT_EQ(plan.casts[0].name, "x-0-CastToFp16");
  EXPECT_EQ(fault_of([&] { graph.apply(plan); }), "");
}

TEST(GraphDefApply, ACastThatTruncatesOrIsElsewhereIsNotShared) {
  // Readers that are to be converted expect rounded operands, on the device where x is.
  const auto plan_beside = [](const std::string& truncate, const std::string& device, const std::string& device_of_x) {
    const auto placed = [](const std::string& name) { return name.empty() ? "" : "device: \"" + name + "\" "; };
    const GraphDefFile graph = graph_of(
        node_text("x", "Placeholder", {}, {{"dtype", "type: DT_FLOAT"}}, placed(device_of_x)) +
        node_text("by_hand", "Cast", {"x"},
                  {{"SrcT", "type: DT_FLOAT"}, {"DstT", "type: DT_BFLOAT16"}, {"Truncate", truncate}}, placed(device)) +
        node_text("r", "Relu", {"by_hand"}, {{"T", "type: DT_BFLOAT16"}}) + float_node("m", "MatMul", {"x", "x"}) +
        float_node("end", "Identity", {"m"}));
    const OpGraph picture = graph.op_graph(Strings{"end", "r"});
    EXPECT_EQ(node_of(picture, "by_hand").truncates, truncate == "b: true");
    const CastPlan plan = plan_casts(picture, colour_recipe(picture, Recipe::basic()));
    Strings reads;
    const OpGraph after = graph.apply(plan).op_graph();
    for (const OpEdge& e : node_of(after, "m").inputs) reads.push_back(after.nodes[static_cast<size_t>(e.node)].name);
    EXPECT_EQ(reads[0], reads[1]);
    // A second run adds nothing: what the first one added can be shared.
    EXPECT_TRUE(plan_casts(after, coloured(after, {"MatMul"}, DType::kBFloat16)).casts.empty());
    return reads[0];
  };
  const std::string own = "x-0-CastToBf16", there = "by_hand", rounds = "b: false";
  EXPECT_EQ(plan_beside(rounds, "", ""), there);
  EXPECT_EQ(plan_beside("b: true", "", ""), own);
  EXPECT_EQ(plan_beside(rounds, "/cpu:0", ""), own);
  EXPECT_EQ(plan_beside(rounds, "/cpu:0", "/gpu:0"), own);
  EXPECT_EQ(plan_beside(rounds, "/device:GPU:1", "/gpu:0"), own);
  EXPECT_EQ(plan_beside(rounds, "/job:a/device:GPU:0", "/gpu:0"), own);
  EXPECT_EQ(plan_beside(rounds, "/device:GPU:0", "/gpu:0"), there);
  EXPECT_EQ(plan_beside(rounds, "/GPU:0", ""), there) << "what is not placed counts as on the first GPU";
  EXPECT_EQ(plan_beside(rounds, "/cpu", "/cpu:0"), there);
}

TEST(GraphDefApply, APlanOfAnotherGraphIsRefused) {
  const GraphDefFile graph =
      graph_of(float_node("x", "Placeholder", {}, "dtype") + float_node("r", "Relu", {"x", "^x"}));
  const auto fault = [&](const CastPlan& plan) { return fault_of([&] { graph.apply(plan); }); };
  CastPlan plan;
  plan.retyped = {{5, 0}};
  EXPECT_NE(fault(plan).find("input: the plan of casts names node number 5 of 2"), std::string::npos);
  plan.retyped = {{1, 3}};
  EXPECT_NE(fault(plan).find("names unit 3 of 'r', which has 1"), std::string::npos);
  plan.retyped.clear();
  plan.casts = {{"c", {-1, 0}, DType::kFloat16, "", {}}};
  EXPECT_NE(fault(plan).find("names node number -1"), std::string::npos);
  plan.casts = {{"c", {0, 0}, DType::kFloat16, "", {{1, 1}}}};
  EXPECT_NE(fault(plan).find("names input 1 of 'r', which has no such data input"), std::string::npos);
  plan.casts = {{"r", {0, 0}, DType::kFloat16, "", {{1, 0}}}};
  EXPECT_NE(fault(plan).find("has the name of node number"), std::string::npos);
}

/// A loop's end and beginning must be of one colour; here they stay as they are.
bool goes_round(const OpNode& n) { return n.op == "NextIteration" || n.op == "Merge"; }

TEST(GraphDefApply, AnyColoursGiveConsistentTypes) {
  // The pictures of the results say so: op_graph refuses an edge whose ends differ.
  const std::string dense = GraphDefFile::load(kExample).text();
  const std::string lists = float_node("x", "Placeholder", {}, "dtype") + float_node("v", "VariableV2", {}, "dtype") +
                            float_node("read", "Identity", {"v"}) +
                            node_text("n", "IdentityN", {"x", "read"}, {{"T", "list { type: [DT_FLOAT, DT_FLOAT] }"}}) +
                            float_node("mine", "MyOp", {"n:1", "n"}) + float_node("mine2", "MyOp", {"mine:1"}) +
                            float_node("m", "MatMul", {"mine", "v"}) +
                            node_text("bn", "FusedBatchNormV3", {"m", "n", "n:1", "v", "x"},
                                      {{"T", "type: DT_FLOAT"}, {"U", "type: DT_FLOAT"}}) +
                            node_text("cast", "Cast", {"bn"}, {{"SrcT", "type: DT_FLOAT"}, {"DstT", "type: DT_HALF"}}) +
                            node_text("half", "Relu", {"cast"}, {{"T", "type: DT_HALF"}});
  int casts = 0, retyped = 0;
  for (const std::string& text : {dense, loop_text(), lists}) {
    const GraphDefFile graph = graph_of(text);
    const OpGraph picture = graph.op_graph();
    for (uint64_t seed = 0; seed < 200; ++seed) {
      Dice dice(seed);
      const DType low = dice.chance(50) ? DType::kFloat16 : DType::kBFloat16;
      Colouring colours = Colouring::nothing(picture, "random", low);
      for (int n = 0; n < picture.size(); ++n)
        for (int u = 0; u < static_cast<int>(picture.nodes[static_cast<size_t>(n)].units.size()); ++u)
          if (may_become_low(picture, n, u, low) && !goes_round(picture.nodes[static_cast<size_t>(n)]) &&
              dice.chance(50))
            colours.low_units[static_cast<size_t>(picture.unit(n, u))] = 1;
      const CastPlan plan = plan_casts(picture, colours);
      const GraphDefFile rewritten = graph.apply(plan);
      const OpGraph after = rewritten.op_graph();
      ASSERT_EQ(after.size(), picture.size() + static_cast<int>(plan.casts.size()));
      for (const auto& [n, u] : plan.retyped)
        ASSERT_EQ(node_of(after, picture.nodes[static_cast<size_t>(n)].name).units[static_cast<size_t>(u)].type,
                  element_type(low));
      casts += static_cast<int>(plan.casts.size());
      retyped += static_cast<int>(plan.retyped.size());
    }
  }
  EXPECT_GT(casts, 1000);
  EXPECT_GT(retyped, 1000);
}

TEST(GraphDefApply, NoCastStandsInTheWayOfALoop) {
  const GraphDefFile graph = graph_of(loop_text());
  const OpGraph picture = graph.op_graph();
  const auto fault = [&](const Strings& ops) {
    return refusal<std::invalid_argument>([&] { graph.apply(plan_casts(picture, coloured(picture, ops))).op_graph(); });
  };
  const std::string both = ": no cast may stand between them; expected a mechanism that converts both or neither";
  EXPECT_EQ(
      fault({"NextIteration"}),
      "by hand: NextIteration 'next' becomes float16, but Merge 'merge', to which it leads back, stays float32" + both);
  EXPECT_EQ(
      fault({"Merge"}),
      "by hand: NextIteration 'next' stays float32, but Merge 'merge', to which it leads back, becomes float16" + both);
  EXPECT_EQ(fault({"Merge", "NextIteration"}), "");
  EXPECT_EQ(fault({"Merge", "NextIteration", "MatMul", "Switch"}), "");
}

TEST(GraphDefApply, FusedBatchNormBecomesItsSecondVersion) {
  const std::string x = float_node("x", "Placeholder", {}, "dtype");
  const GraphDefFile graph = graph_of(x + float_node("bn", "FusedBatchNorm", {"x", "x", "x", "x", "x"}) +
                                      float_node("grad", "FusedBatchNormGrad", {"bn", "x", "x", "bn:3", "bn:4"}) +
                                      float_node("relu", "Relu", {"bn"}));
  const TextAttributes both = {{"T", "type: DT_FLOAT"}, {"U", "type: DT_FLOAT"}};
  EXPECT_EQ(graph.with_fused_batch_norm_v2().text(),
            graph_of(x + node_text("bn", "FusedBatchNormV2", {"x", "x", "x", "x", "x"}, both) +
                     node_text("grad", "FusedBatchNormGradV2", {"bn", "x", "x", "bn:3", "bn:4"}, both) +
                     float_node("relu", "Relu", {"bn"}))
                .text());
  EXPECT_EQ(units_of(node_of(graph.op_graph(), "bn")), "T:float32") << "the first version has float32 alone";
  graph.with_fused_batch_norm_v2().op_graph();
}

// ---------------------------------------------------------------------------------------------------- TensorFlow's
// pass

std::string port_name(const OpGraph& picture, const OpEdge& e) {
  return picture.nodes[static_cast<size_t>(e.node)].name + (e.port == 0 ? "" : ":" + std::to_string(e.port));
}

/// Names of the nodes with a half unit.
Strings half_nodes(const OpGraph& picture) {
  Strings names;
  for (const OpNode& n : picture.nodes)
    if (n.op != "Cast" && !n.units.empty() && n.units[0].type == ElementType::kHalf) names.push_back(n.name);
  return names;
}

TEST(GraphDefTensorFlow, VectorOfListsInAFile) {
  // TensorFlow's own test of its lists: two casts, and these four in half.
  std::string text = float_node("input", "Const", {}, "dtype");
  std::string last = "input";
  const auto add = [&](const std::string& name, const std::string& op, bool twice = false) {
    text += node_text(name, op, twice ? Inputs{last, last} : Inputs{last},
                      op == "SparseMatMul" ? TextAttributes{} : TextAttributes{{"T", "type: DT_FLOAT"}});
    last = name;
  };
  add("deny1", "Exp"), add("clr1", "Relu"), add("infer1", "Sqrt"), add("clr2", "Relu"), add("allow1", "MatMul", true);
  add("clr3", "Relu"), add("infer2", "Log"), add("clr4", "Relu"), add("deny2", "SparseMatMul", true);
  add("clr5", "Relu"), add("fetch", "Identity");
  const GraphDefFile graph = graph_of(text);
  const OpGraph picture = graph.op_graph(Strings{"fetch"});
  const GraphDefFile rewritten = graph.apply(plan_casts(picture, colour_tensorflow(picture, OpLists::tf_2_3())));
  EXPECT_EQ(rewritten.size(), graph.size() + 2);
  EXPECT_EQ(half_nodes(rewritten.op_graph()), (Strings{"clr2", "allow1", "clr3"}));
}

// tests: T17
TEST(GraphDefTensorFlow, TwoDenseLayers) {
  const GraphDefFile graph = GraphDefFile::load(kExample);
  const OpGraph picture = graph.op_graph(Strings{"loss/Mean"});
  const Colouring colours = colour_tensorflow(picture, OpLists::tf_2_3());
  const CastPlan plan = plan_casts(picture, colours);
  const OpGraph after = graph.apply(plan).op_graph();
  EXPECT_EQ(half_nodes(after), (Strings{"dense/MatMul", "dense/BiasAdd", "dense/Relu", "dense_1/MatMul"}));
  EXPECT_EQ(plan.casts.size(), 5u) << "x, three variables to half; the second product to float32";
  EXPECT_EQ(plan.casts_to_low_counted(), 1) << "x";
}

// tests: T08, T16
TEST(GraphDefTensorFlow, AnswersOfTensorFlowItself) {
  std::ifstream in(SOFTAMP_SOURCE_DIR "/tests/precision/tensorflow_pass.txt");
  int graphs = 0;
  size_t half_units = 0, casts_compared = 0;
  while (in) {
    const Answer answer = read_answer(in);
    if (answer.text.empty()) continue;
    ++graphs;
    const GraphDefFile graph = graph_of(answer.text);
    const OpGraph picture = graph.op_graph(answer.fetches);
    const CastPlan plan = plan_casts(picture, colour_tensorflow(picture, OpLists::tf_2_3()));
    std::multiset<std::string> half, casts, expected;
    for (const auto& [n, u] : plan.retyped) {
      const OpNode& node = picture.nodes[static_cast<size_t>(n)];
      half.insert(node.name + "." + node.units[static_cast<size_t>(u)].attribute);
    }
    EXPECT_EQ(half, answer.half) << answer.text;
    for (const PlannedCast& c : plan.casts)
      if (const std::string from = port_name(picture, c.from); !answer.cast_already.contains(from))
        casts.insert(from + (c.to == DType::kFloat16 ? ">h" : ">f"));
    for (const std::string& c : answer.casts)
      if (!answer.cast_already.contains(c.substr(0, c.find('>')))) expected.insert(c);
    EXPECT_EQ(casts, expected) << answer.text;
    half_units += half.size();
    casts_compared += casts.size();
    graph.apply(plan).op_graph();
  }
  EXPECT_EQ(graphs, 95);
  EXPECT_GT(half_units, 500u);
  EXPECT_GT(casts_compared, 200u);
}

// ---------------------------------------------------------------------------------------------------- the table

TEST(OpSignatures, AllOperationsOfTensorFlowsListsAreThere) {
  Strings missing;
  for (const OpLists& lists : {OpLists::tf_2_3(), OpLists::tf_2019(), OpLists::mkl()})
    for (const OpLists::Names* names : {&lists.allow, &lists.infer, &lists.deny, &lists.clear})
      for (const std::string& name : *names)
        if (!op_signature(name)) missing.push_back(name);
  EXPECT_EQ(missing, Strings{});
  EXPECT_EQ(op_signature("HabanaGelu"), nullptr);
  EXPECT_EQ(op_signature(""), nullptr);
  EXPECT_GT(op_signature_names().size(), 350u);
}

TEST(OpSignatures, ALineIsUnderstoodOrRefused) {
  using op_signature_detail::parse_line;
  std::string_view name;
  const OpSignature s = parse_line("Op @state @random T:hb U[]:b= V=int32 n#2 | &T n*T U[] | 3*V float32", &name);
  EXPECT_EQ(name, "Op");
  EXPECT_TRUE(s.stateful && s.random && !s.kept);
  ASSERT_EQ(s.attributes.size(), 3u);
  EXPECT_TRUE(s.attributes[0].float16 && s.attributes[0].bfloat16 && !s.attributes[0].optional);
  EXPECT_TRUE(s.attributes[1].list && s.attributes[1].optional && !s.attributes[1].float16 && s.attributes[1].bfloat16);
  EXPECT_EQ(s.attributes[2].fallback, ElementType::kInt32);
  ASSERT_EQ(s.inputs.size(), 3u);
  EXPECT_TRUE(s.inputs[0].reference);
  EXPECT_EQ(s.inputs[1].count_attribute, "n");
  EXPECT_EQ(s.inputs[1].count, 2);
  EXPECT_EQ(s.inputs[2].attribute, 1);
  ASSERT_EQ(s.outputs.size(), 2u);
  EXPECT_EQ(s.outputs[0].count, 3);
  EXPECT_EQ(s.outputs[1].type, ElementType::kFloat);
  for (const char* line : {"", "Op", "Op | T", "Op T | S | T", "Op @what | |", "Op T:x | |", "Op T=what | |",
                           "Op | *T |", "Op T[] | T |", "Op T[] | 2*T[] |", "Op n#x | |", "Op T[]=int32 | |"})
    EXPECT_THROW(parse_line(line, &name), std::logic_error) << line;
}

}  // namespace
}  // namespace softamp::test
