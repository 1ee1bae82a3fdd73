// TensorFlow's graph rewrite: the colours of MIXED_PRECISION T08 and of TensorFlow's own tests, what the pass leaves
// alone, its levels, messages and files.
#include "softamp/precision/graph_rewrite.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "tests/graph/executor_check.h"
#include "tests/precision/op_graph_rig.h"
#include "tests/precision/random_dag.h"

namespace softamp {
namespace {

using namespace test;
using Set = std::set<std::string>;
using Strings = std::vector<std::string>;

struct Outcome {
  OpGraph graph;
  Colouring colours;
  CastPlan plan;
  Set low() const { return low_names(graph, colours); }
  std::string why(const std::string& name, int unit = 0) const { return reason_of(graph, colours, name, unit); }
};

Outcome outcome(OpGraph graph, const OpLists& lists = OpLists::tf_2_3(), const RewriteOptions& options = {}) {
  Outcome o{std::move(graph), {}, {}};
  o.colours = colour_tensorflow(o.graph, lists, options);
  o.plan = plan_casts(o.graph, o.colours);
  EXPECT_EQ(type_fault(applied(o.graph, o.plan)), "");
  for (const std::string& reason : o.colours.reasons) EXPECT_FALSE(reason.empty());
  return o;
}

/// A chain from a Const; an operation of two inputs takes its input twice; the end is read by an Identity that is
/// fetched.
OpGraph chain(const std::vector<std::pair<std::string, std::string>>& nodes) {
  PictureRig rig;
  rig.add("input", "Const");
  std::string last = "input";
  for (const auto& [name, op] : nodes) {
    const bool two = op == "MatMul" || op == "SparseMatMul" || op == "Mul" || op == "Sub";
    rig.add(name, op, two ? Strings{last, last} : Strings{last});
    last = name;
  }
  rig.add("fetch", "Identity", {last});
  return rig.build({"fetch"});
}

TEST(TensorFlowColours, NoAllowedOperationLeavesTheGraphAlone) {  // (a)
  const Outcome o = outcome(chain({{"deny1", "Exp"}, {"clr1", "Relu"}, {"infer1", "Sqrt"}, {"clr2", "Relu"}}));
  EXPECT_EQ(o.low(), Set{});
  EXPECT_TRUE(o.plan.casts.empty());
  EXPECT_EQ(o.colours.messages, Strings{"INFO No allowlist ops found, nothing to do"});
}

// tests: T08
TEST(TensorFlowColours, SimpleChain) {  // MIXED_PRECISION T08: (b)
  const Outcome o = outcome(chain({{"deny1", "Exp"},
                                   {"clr1", "Relu"},
                                   {"infer1", "Sqrt"},
                                   {"clr2", "Relu"},
                                   {"allow1", "MatMul"},
                                   {"clr3", "Relu"},
                                   {"infer2", "Log"},
                                   {"clr4", "Relu"},
                                   {"deny2", "SparseMatMul"},
                                   {"clr5", "Relu"}}));
  EXPECT_EQ(o.low(), (Set{"clr2", "allow1", "clr3"}));
  ASSERT_EQ(o.plan.casts.size(), 2u);
  EXPECT_EQ(o.plan.casts[0].name, "infer1-0-CastToFp16-AutoMixedPrecision");
  EXPECT_EQ(o.plan.casts[1].name, "clr3-0-CastToFp32-AutoMixedPrecision");
  EXPECT_EQ(o.why("deny1"), "deny list");
  EXPECT_EQ(o.why("clr1"), "downstream of 'deny1'");
  EXPECT_EQ(o.why("infer1"), "downstream of 'deny1'");
  EXPECT_EQ(o.why("clr2"), "reached through clear operations from 'allow1'");
  EXPECT_EQ(o.why("allow1"), "allow list");
  EXPECT_EQ(o.why("infer2"), "not between allowed operations");
  EXPECT_EQ(o.why("deny2"), "in no list");
  EXPECT_EQ(o.why("fetch"), "preserved");
  EXPECT_EQ(o.why("input"), "a constant stays float32");
}

// tests: T08
TEST(TensorFlowColours, DenialGoesOnlyAsFarAsAnInferredEnd) {  // MIXED_PRECISION T08: (c)
  const Outcome o = outcome(chain({{"Exp", "Exp"},
                                   {"Mul", "Mul"},
                                   {"Relu", "Relu"},
                                   {"Sub", "Sub"},
                                   {"Relu_1", "Relu"},
                                   {"MatMul", "MatMul"},
                                   {"Tanh", "Tanh"}}));
  EXPECT_EQ(o.low(), (Set{"Relu_1", "MatMul"}));
  EXPECT_EQ(o.plan.casts.size(), 2u);
  for (const char* name : {"Mul", "Relu", "Sub"}) EXPECT_EQ(o.why(name), "downstream of 'Exp'") << name;
}

/// The page's net (MIXED_PRECISION T17): two dense layers and the mean squared error.
PictureRig two_dense_layers() {
  PictureRig rig;
  rig.add("x", "Placeholder");
  rig.add("y", "Placeholder");
  for (const char* name : {"W0", "b0", "W1", "b1"}) rig.add(name, "ReadVariableOp");
  rig.add("MatMul0", "MatMul", {"x", "W0"});
  rig.add("BiasAdd0", "BiasAdd", {"MatMul0", "b0"});
  rig.add("Relu", "Relu", {"BiasAdd0"});
  rig.add("MatMul1", "MatMul", {"Relu", "W1"});
  rig.add("BiasAdd1", "BiasAdd", {"MatMul1", "b1"});
  rig.add("Softmax", "Softmax", {"BiasAdd1"});
  rig.add("SquaredDifference", "SquaredDifference", {"Softmax", "y"});
  rig.add("Mean", "Mean", {"SquaredDifference"});
  return rig;
}

// tests: T17, X5
TEST(TensorFlowColours, TwoDenseLayers) {
  const Outcome o = outcome(two_dense_layers().build({"Mean"}));
  EXPECT_EQ(o.low(), (Set{"MatMul0", "BiasAdd0", "Relu", "MatMul1"}));
  Set casts;
  for (const PlannedCast& c : o.plan.casts) casts.insert(c.name);
  EXPECT_EQ(casts, (Set{"x-0-CastToFp16-AutoMixedPrecision", "W0-0-CastToFp16-AutoMixedPrecision",
                        "b0-0-CastToFp16-AutoMixedPrecision", "W1-0-CastToFp16-AutoMixedPrecision",
                        "MatMul1-0-CastToFp32-AutoMixedPrecision"}));
  EXPECT_EQ(o.colours.messages,
            Strings{"INFO Converted 4/14 nodes to float16 precision using 1 cast(s) to float16 (excluding Const and "
                    "Variable casts)"});
  EXPECT_EQ(o.why("BiasAdd0"), "between 'MatMul0' and 'MatMul1'");
  EXPECT_EQ(o.why("Softmax"), "not between allowed operations");  // TUTORIAL X5
  EXPECT_EQ(o.colours.mechanism, "tensorflow 2.3");
  EXPECT_EQ(o.colours.lists[static_cast<size_t>(o.graph.first_unit[6])], "allow");
  EXPECT_EQ(o.colours.lists[static_cast<size_t>(o.graph.first_unit[12])], "unlisted");
}

// tests: X4
TEST(TensorFlowColours, SoftmaxWasDeniedIn2019) {  // TUTORIAL X4: between two products, and before one
  const OpGraph graph = chain({{"MatMul", "MatMul"}, {"Softmax", "Softmax"}, {"Mul", "Mul"}, {"MatMul_1", "MatMul"}});
  EXPECT_EQ(outcome(graph).low(), (Set{"MatMul", "Softmax", "Mul", "MatMul_1"}));
  EXPECT_EQ(outcome(graph, OpLists::tf_2019()).low(), (Set{"MatMul", "MatMul_1"}));
}

// tests: T08, X5
TEST(TensorFlowColours, InferredOperationsMustLieBetweenAllowedOnes) {
  EXPECT_EQ(outcome(chain({{"Tanh", "Tanh"}, {"MatMul", "MatMul"}, {"Tanh_1", "Tanh"}})).low(), Set{"MatMul"});
}

// tests: T08
TEST(TensorFlowColours, ClearOperationsBothWays) {  // MIXED_PRECISION T08: TensorFlow's BidirectionalClearChain
  PictureRig rig;
  rig.add("input", "Const");
  rig.add("clr1", "Relu", {"input"});
  rig.add("clr2", "Relu", {"input"});
  rig.add("allow1", "MatMul", {"clr1", "clr1"});
  rig.add("clr3", "ShapeN", {"clr1", "clr2"});
  rig.add("clr4", "Relu", {"clr2"});
  rig.add("fetch1", "Identity", {"allow1"});
  rig.add("fetch2", "Identity", {"clr4"});
  const Outcome o = outcome(rig.build({"fetch1", "fetch2"}));
  EXPECT_EQ(o.low(), (Set{"clr1", "clr2", "allow1", "clr3", "clr4"}));
  EXPECT_EQ(o.plan.casts.size(), 3u);
}

// tests: T06
TEST(TensorFlowColours, FetchedNodesKeepTheirType) {  // PreserveFetches; MIXED_PRECISION T06
  PictureRig rig;
  rig.add("input", "Const");
  rig.add("allow1", "MatMul", {"input", "input"});
  rig.add("clr1", "Relu", {"allow1"});
  rig.add("infer1", "Sqrt", {"clr1"});
  rig.add("deny1", "Exp", {"infer1"});
  rig.add("clr2", "Relu", {"deny1"});
  rig.add("allow2", "MatMul", {"clr2", "clr2"});
  rig.add("clr3", "Relu", {"allow2"});
  rig.add("deny2", "Exp", {"clr3"});
  rig.add("clr4", "Relu", {"deny2"});
  const Outcome o = outcome(rig.build({"allow1", "clr2", "clr3"}));
  EXPECT_EQ(o.low(), Set{"allow2"});
  EXPECT_EQ(o.plan.casts.size(), 2u);
}

// tests: T15
TEST(TensorFlowColours, NodesOnTheCpuStay) {  // PreserveCPUNodes; MIXED_PRECISION T15
  PictureRig rig;
  rig.add("input", "Const");
  rig.add("clr1", "Relu", {"input"});
  rig.add("allow1", "MatMul", {"clr1", "clr1"});
  rig.add("infer1", "Tanh", {"allow1"});
  rig.add("allow2", "MatMul", {"infer1", "infer1"}).device = "/job:localhost/replica:0/task:0/device:CPU:0";
  rig.add("clr2", "Relu", {"allow2"});
  rig.add("fetch", "Identity", {"clr2"});
  const Outcome o = outcome(rig.build({"fetch"}));
  EXPECT_EQ(o.low(), (Set{"clr1", "allow1"}));
  EXPECT_EQ(o.plan.casts.size(), 2u);
  EXPECT_EQ(o.why("allow2"), "not on a GPU: device '/job:localhost/replica:0/task:0/device:CPU:0'");
}

// tests: T08
TEST(TensorFlowColours, IdentityBehindAVariableStays) {  // MIXED_PRECISION T08: PreserveIdentityAfterVariable
  PictureRig rig;
  rig.add("input", "Const");
  rig.add("var1", "Variable");
  rig.add("clr1", "Identity", {"var1"});
  rig.add("ent1", "Enter", {"clr1"});
  rig.add("allow1", "MatMul", {"input", "clr1"});
  rig.add("allow3", "MatMul", {"input", "ent1"});
  rig.add("input2", "Const");
  rig.add("clr2", "Identity", {"input2"});
  rig.add("allow2", "MatMul", {"input", "clr2"});
  for (const char* n : {"1", "2", "3"}) rig.add("fetch" + std::string(n), "Identity", {"allow" + std::string(n)});
  const Outcome o = outcome(rig.build({"fetch1", "fetch2", "fetch3"}));
  EXPECT_EQ(o.low(), (Set{"allow1", "clr2", "allow2", "allow3"}));
  EXPECT_EQ(o.plan.casts.size(), 7u);  // input, clr1, ent1, input2; allow1, 2, 3
  EXPECT_EQ(o.why("clr1"), "reads a variable");
  EXPECT_EQ(o.why("ent1"), "reads a variable");
  PictureRig alone;  // one that reads nothing at all
  alone.add("nothing", "Identity");
  alone.add("allow", "MatMul", {"nothing", "nothing"});
  alone.add("fetch", "Identity", {"allow"});
  EXPECT_EQ(outcome(alone.build({"fetch"})).low(), (Set{"nothing", "allow"}));
}

// tests: T08
TEST(TensorFlowColours, StatisticsOfFusedNormalisationsStay) {
  PictureRig rig;
  rig.add("input", "Const");
  for (const char* name : {"scale", "offset", "mean", "variance"}) rig.add(name, "Const");
  rig.add("allow1", "Conv2D", {"input", "input"});
  rig.add("fbn1", "FusedBatchNormV2", {"allow1", "scale", "offset", "mean", "variance"});
  rig.add("bng1", "FusedBatchNormGradV2", {"fbn1", "allow1", "scale", "fbn1:3", "fbn1:4"});
  rig.add("infer1", "Add", {"fbn1", "bng1"});
  rig.add("allow2", "Conv2D", {"infer1", "input"});
  rig.add("fetch", "Identity", {"allow2"});
  const Outcome o = outcome(rig.build({"fetch"}));
  EXPECT_EQ(o.low(), (Set{"allow1", "fbn1", "bng1", "infer1", "allow2"}));
  EXPECT_EQ(o.why("fbn1", 1), "no float16 kernel");
  RewriteOptions force;
  force.level = RewriteLevel::kUnsafeForceAll;
  EXPECT_EQ(outcome(rig.build({"fetch"}), OpLists::tf_2_3(), force).low(), o.low()) << "what has no kernel stays";
}

// tests: T08, T15
TEST(TensorFlowColours, ACastToFloat32IsConvertedWithItsReaders) {  // MIXED_PRECISION T08: pass 6, ExistingCast
  PictureRig rig;
  rig.add("input", "Const", {}, {{"dtype", ElementType::kBool}});
  rig.add("cst1", "Cast", {"input"}, {{"SrcT", ElementType::kBool}});
  rig.add("cst2", "Cast", {"input"}, {{"SrcT", ElementType::kBool}});
  rig.add("cst3", "Cast", {"input"}, {{"SrcT", ElementType::kBool}});
  rig.add("allow1", "MatMul", {"cst1", "cst2"});
  rig.add("fetch1", "Identity", {"allow1"});
  rig.add("fetch2", "Exp", {"cst2"});
  const Outcome o = outcome(rig.build({"fetch1", "fetch2"}));
  EXPECT_EQ(o.low(), (Set{"cst1.DstT", "allow1"}));
  EXPECT_EQ(o.plan.casts.size(), 2u);  // cst2 to half, allow1 back; cst3 has no reader
  EXPECT_EQ(o.why("cst1", 1), "all that read it are float16");
  // MIXED_PRECISION T15: on any device.
  OpGraph elsewhere = rig.build({"fetch1", "fetch2"});
  for (OpNode& node : elsewhere.nodes)
    if (node.name == "cst1") node.device = "/cpu:0";
  EXPECT_EQ(outcome(elsewhere).low(), o.low());
  EXPECT_EQ(outcome(rig.build({"cst1", "fetch1", "fetch2"})).low(), Set{"allow1"}) << "fetched";
}

TEST(TensorFlowColours, WhatIsHalfAlreadyStays) {  // AlreadyFp16
  PictureRig rig;
  rig.add("input", "Const");
  rig.add("cst1", "Cast", {"input"}, {{"DstT", ElementType::kHalf}});
  rig.add("allow1", "MatMul", {"cst1", "cst1"}, {{"T", ElementType::kHalf}});
  rig.add("clr1", "Relu", {"allow1"}, {{"T", ElementType::kHalf}});
  rig.add("cst2", "Cast", {"clr1"}, {{"SrcT", ElementType::kHalf}});
  rig.add("clr2", "Relu", {"cst2"});
  rig.add("fetch", "Identity", {"clr2"});
  const Outcome o = outcome(rig.build({"fetch"}));
  EXPECT_EQ(o.low(), Set{});
  EXPECT_TRUE(o.plan.casts.empty());
  EXPECT_EQ(o.why("allow1"), "is float16");
}

/// TensorFlow's RecurrentEdgeColorMismatch; what the second Merge reads instead of the loop is up to the test.
PictureRig loop(const char* entry) {
  PictureRig rig;
  rig.add("input", "Const");
  rig.add("con1", "Const", {}, {{"dtype", ElementType::kBool}});
  rig.add("first", entry, {"input"});
  rig.add("ent1", "Enter", {"first"});
  rig.add("mrg1", "Merge", {"ent1", "nxt1"});
  rig.add("swt1", "Switch", {"mrg1", "con1"});
  rig.add("infer1", "Sqrt", {"swt1:1"});
  rig.add("allow1", "MatMul", {"infer1", "infer1"});
  rig.add("nxt1", "NextIteration", {"allow1"});
  rig.add("ext1", "Exit", {"swt1"});
  rig.add("fetch", "Identity", {"ext1"});
  rig.add("mrg2", "Merge", {"ent1", "nxt1"});
  return rig;
}

// tests: T08, T15
TEST(TensorFlowColours, LoopsHaveOneColour) {
  Outcome o = outcome(loop("Exp").build({"fetch"}));
  EXPECT_EQ(o.low(), Set{"allow1"});
  EXPECT_EQ(o.plan.casts.size(), 2u);
  EXPECT_EQ(o.why("nxt1"), "in a loop with 'mrg1', which stays float32");
  EXPECT_EQ(o.why("mrg2"), "in a loop with 'mrg1', which stays float32");
  o = outcome(loop("Relu").build({"fetch"}));
  EXPECT_EQ(o.low(), (Set{"first", "ent1", "mrg1", "swt1", "infer1", "allow1", "nxt1", "ext1", "mrg2"}));
  // MIXED_PRECISION T15: a NextIteration follows its Merges on any device. Clear operations lead to them.
  OpGraph elsewhere = loop("Relu").build({"fetch"});
  for (OpNode& node : elsewhere.nodes) {
    if (node.name == "infer1") node.op = "Relu";
    if (node.name == "nxt1") node.device = "/cpu:0";
  }
  EXPECT_EQ(outcome(elsewhere).low(), o.low());
}

// tests: T08
TEST(TensorFlowColours, ALoopThatEndsElsewhereLeavesAllAsItWas) {  // MIXED_PRECISION T08: step 8
  PictureRig rig = loop("Relu");
  rig.add("stray", "Tanh", {"nxt1"});
  const Outcome o = outcome(rig.build({"fetch"}));
  EXPECT_EQ(o.low(), Set{});
  EXPECT_EQ(o.colours.messages,
            Strings{"WARNING auto_mixed_precision graph optimizer FAILED: Failed precondition: Expected Merge node "
                    "after NextIteration, got Tanh"});
}

TEST(TensorFlowColours, DenialPassesThroughPortsOfFixedType) {
  OpLists lists = OpLists::tf_2_3();
  lists.list("deny").insert("ResizeBilinear");
  const Outcome o =
      outcome(chain({{"bilinear", "ResizeBilinear"}, {"Relu", "Relu"}, {"Tanh", "Tanh"}, {"MatMul", "MatMul"}}), lists);
  EXPECT_EQ(o.why("Relu"), "downstream of 'bilinear'");
  EXPECT_EQ(o.low(), Set{"MatMul"});
}

// ---- lists of tensors: TensorFlow's TensorListSetGet, PushPop, FromTensor, ThroughFunction

// tests: T08
TEST(TensorLists, OneColourFromWriterToReader) {
  PictureRig rig;
  for (const char* name : {"idx1", "shape"}) rig.add(name, "Const", {}, {{"dtype", ElementType::kInt32}});
  rig.add("input", "Const");
  rig.add("tl1", "TensorListReserve", {"shape", "idx1"});
  rig.add("tl1w1", "TensorListSetItem", {"tl1", "idx1", "input"});
  rig.add("allow1", "MatMul", {"input", "input"});
  rig.add("tl1w2", "TensorListSetItem", {"tl1", "idx1", "allow1"});
  rig.add("tl1rs", "TensorListResize", {"tl1w2", "idx1"});
  rig.add("tl1r1", "TensorListGetItem", {"tl1rs", "idx1", "shape"});
  rig.add("infer1", "Tanh", {"tl1r1"});
  rig.add("allow2", "MatMul", {"infer1", "infer1"});
  rig.add("tl1w3", "TensorListSetItem", {"tl1", "idx1", "allow2"});
  rig.add("tl1r2", "TensorListGetItem", {"tl1w3", "idx1", "shape"});
  rig.add("tl2", "TensorListReserve", {"shape", "idx1"});
  rig.add("tl2w1", "TensorListSetItem", {"tl2", "idx1", "input"});
  rig.add("tl2r1", "TensorListGetItem", {"tl2w1", "idx1", "shape"});
  rig.add("fetch1", "Identity", {"tl1r2"});
  rig.add("fetch2", "Identity", {"tl2r1"});
  const Outcome o = outcome(rig.build({"fetch1", "fetch2"}));
  EXPECT_EQ(o.low(), (Set{"tl1", "tl1w1", "allow1", "tl1w2", "tl1r1", "infer1", "allow2", "tl1w3", "tl1r2"}));
  EXPECT_EQ(o.plan.casts.size(), 2u);
  EXPECT_EQ(o.why("infer1"), "between 'allow1' and 'allow2'");
  EXPECT_EQ(o.why("tl1"), "list of tensors shared with 'tl1r1'");
}

/// A list that is pushed to, perhaps handed through `middle`, and popped from between two products.
PictureRig pushed_and_popped(const std::string& middle, const char* before = "Tanh") {
  PictureRig rig;
  rig.add("shape", "Const", {}, {{"dtype", ElementType::kInt32}});
  rig.add("input", "Const");
  rig.add("allow1", "MatMul", {"input", "input"});
  rig.add("infer1", before, {"allow1"});
  rig.add("tl1", "EmptyTensorList", {"shape", "shape"});
  rig.add("tl1w1", "TensorListPushBack", {"tl1", "infer1"});
  std::string handle = "tl1w1";
  if (!middle.empty()) {
    rig.add("middle", middle, {handle}, {{"T", ElementType::kVariant}});
    handle = "middle";
  }
  rig.add("tl1r1", "TensorListPopBack", {handle, "shape"});
  rig.add("infer2", "Tanh", {"tl1r1:1"});
  rig.add("allow2", "MatMul", {"infer2", "infer2"});
  rig.add("fetch", "Identity", {"allow2"});
  return rig;
}

// tests: T08
TEST(TensorLists, HandlesPassThroughIdentitiesButNotThroughCalls) {
  const Set all{"allow1", "infer1", "tl1", "tl1w1", "tl1r1", "infer2", "allow2"};
  EXPECT_EQ(outcome(pushed_and_popped("").build({"fetch"})).low(), all);
  EXPECT_EQ(outcome(pushed_and_popped("Identity").build({"fetch"})).low(), all);
  const Outcome called = outcome(pushed_and_popped("StatefulPartitionedCall").build({"fetch"}));
  EXPECT_EQ(called.low(), (Set{"allow1", "allow2"}));
  EXPECT_EQ(called.why("tl1r1"), "list of tensors that cannot change because of 'middle'");
  PictureRig opaque = pushed_and_popped("my_function");
  OpGraph graph = opaque.build({"fetch"});
  for (OpNode& node : graph.nodes)
    if (node.op == "my_function") node.known = false;
  EXPECT_EQ(outcome(graph).low(), (Set{"allow1", "allow2"}));
}

// tests: T08
TEST(TensorLists, DenialTravelsAlongTheHandle) {
  const Outcome o = outcome(pushed_and_popped("Identity", "Exp").build({"fetch"}));
  EXPECT_EQ(o.low(), (Set{"allow1", "allow2"}));
  EXPECT_EQ(o.why("tl1w1"), "downstream of 'infer1'");
  EXPECT_EQ(o.why("infer2"), "downstream of 'infer1'");
  EXPECT_EQ(o.why("tl1"), "list of tensors shared with 'tl1r1', which is denied");
}

TEST(TensorLists, OneNodeOnTheCpuKeepsTheWholeList) {
  PictureRig rig = pushed_and_popped("");
  OpGraph graph = rig.build({"fetch"});
  for (OpNode& node : graph.nodes)
    if (node.name == "tl1") node.device = "/cpu:0";
  const Outcome o = outcome(graph);
  EXPECT_EQ(o.low(), (Set{"allow1", "allow2"}));
  EXPECT_EQ(o.why("tl1w1"), "list of tensors that cannot change because of 'tl1'");
}

// ---- devices, levels, messages, files

// tests: T15
TEST(TensorFlowOptions, Devices) {
  const auto low = [](const std::string& device) {
    OpGraph graph = chain({{"MatMul", "MatMul"}});
    graph.nodes[1].device = device;
    return outcome(graph).low().contains("MatMul");
  };
  for (const char* gpu : {"", "/gpu:0", "/GPU:1", "/device:GPU:0", "/job:worker/replica:0/task:1/device:GPU:2",
                          "/job:gpu/task:0/device:XLA_GPU:0", "/device:GPU:0/job:worker"})
    EXPECT_TRUE(low(gpu)) << gpu;
  for (const char* other : {"/cpu:0", "/device:CPU:0", "/job:gpu/replica:0/task:0/device:CPU:0", "/TPU:0", "/job:gpu"})
    EXPECT_FALSE(low(other)) << other;
  RewriteOptions options;
  options.device_filter = [](const OpNode& node) { return node.device == "/TPU:0"; };
  OpGraph graph = chain({{"MatMul", "MatMul"}});
  graph.nodes[1].device = "/TPU:0";
  EXPECT_EQ(outcome(graph, OpLists::tf_2_3(), options).low(), Set{"MatMul"});
}

// tests: T15
TEST(TensorFlowOptions, CapabilityBelowSevenSkips) {
  RewriteOptions options;
  for (const double capability : {6.9, 0.0, -1.0, std::nan("")}) {
    options.gpu_capability = capability;
    const Outcome o = outcome(chain({{"MatMul", "MatMul"}}), OpLists::tf_2_3(), options);
    EXPECT_EQ(o.low(), Set{});
    EXPECT_EQ(o.colours.messages,
              Strings{"WARNING No (suitable) GPUs detected, skipping auto_mixed_precision graph optimizer"});
  }
  options.ignore_performance = true;
  EXPECT_EQ(outcome(chain({{"MatMul", "MatMul"}}), OpLists::tf_2_3(), options).low(), Set{"MatMul"});
}

// tests: T08
TEST(TensorFlowOptions, Levels) {
  const OpGraph graph = chain({{"Exp", "Exp"},
                               {"Relu", "Relu"},
                               {"MatMul", "MatMul"},
                               {"Tanh", "Tanh"},
                               {"loss", "SoftmaxCrossEntropyWithLogits"}});
  RewriteOptions options;
  options.level = RewriteLevel::kTensorCoresOnly;
  const Outcome cores = outcome(graph, OpLists::tf_2_3(), options);
  EXPECT_EQ(cores.low(), Set{"MatMul"});
  EXPECT_EQ(cores.colours.lists[static_cast<size_t>(cores.graph.first_unit[1])], "unlisted");
  options.level = RewriteLevel::kUnsafeForceAll;
  const Outcome all = outcome(graph, OpLists::tf_2_3(), options);
  EXPECT_EQ(all.low(), (Set{"Exp", "Relu", "MatMul", "Tanh"}));
  EXPECT_EQ(all.why("Exp"), "UNSAFE_FORCE_ALL");
  // State and references are left out, too.
  PictureRig rig;
  rig.add("v", "VariableV2");
  rig.add("random", "RandomUniform");
  rig.add("ref", "RefIdentity", {"v"});
  rig.add("Exp", "Exp", {"random"});
  for (const char* op : {"IsVariableInitialized", "CountUpTo", "DestroyTemporaryVariable"}) rig.add(op, op, {"v"});
  OpGraph stateful = rig.build();
  stateful.nodes[1].stateful = stateful.nodes[1].random = true;
  stateful.nodes[2].output_types = {ElementType::kFloatRef};
  stateful.nodes[2].units[0].type = ElementType::kFloatRef;
  stateful.nodes[2].input_units[0] = OpNode::kNoUnit;
  EXPECT_EQ(low_names(stateful, colour_tensorflow(stateful, OpLists::tf_2_3(), options)), Set{"Exp"});
  EXPECT_EQ(refusal<std::invalid_argument>([&] { colour_tensorflow(graph, OpLists::mkl(), options); }),
            "TF_AUTO_MIXED_PRECISION_GRAPH_REWRITE_LEVEL cannot be set to UNSAFE_FORCE_ALL when MKL is used");
}

// tests: T07
TEST(TensorFlowOptions, MklActsOnCpusInBFloat16) {
  OpGraph graph = chain({{"MatMul", "MatMul"}, {"Add", "Add"}, {"MatMul_1", "MatMul"}, {"MatMul_2", "MatMul"}});
  graph.nodes[1].device = "/device:CPU:0";
  graph.nodes[4].device = "/gpu:0";
  RewriteOptions options;
  options.gpu_capability = 0;
  const Outcome o = outcome(graph, OpLists::mkl(), options);
  EXPECT_EQ(o.low(), (Set{"MatMul", "Add", "MatMul_1"}));
  EXPECT_EQ(o.plan.casts[0].name, "input-0-CastToBf16-AutoMixedPrecision");
  EXPECT_EQ(o.why("MatMul_2"), "not on a CPU: device '/gpu:0'");
  EXPECT_NE(o.colours.messages[0].find("nodes to bfloat16 precision using 0 cast(s) to bfloat16"), std::string::npos);
}

TEST(TensorFlowOptions, ConflictingListsAreRefused) {
  OpLists lists = OpLists::tf_2_3();
  lists.list("deny").insert("MatMul");
  EXPECT_EQ(refusal<std::invalid_argument>([&] { colour_tensorflow(chain({}), lists); }),
            "Op lists have conflicting entries: 'MatMul' is in allow and deny; expected each in one list");
}

TEST(TensorFlowOptions, LogFolder) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(::testing::TempDir()) / "softamp_rewrite_log";
  fs::remove_all(folder);
  fs::create_directories(folder);
  const auto read = [&](const char* name) {
    std::ifstream in(folder / name);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  RewriteOptions options;
  options.log_path = folder.string();
  const Outcome o = outcome(chain({{"MatMul", "MatMul"}}), OpLists::tf_2_3(), options);
  EXPECT_EQ(read("graphdef_preop.txt"),
            "input = Const() dtype=float32\nMatMul = MatMul(input, input) T=float32\nfetch = Identity(MatMul) "
            "T=float32\n");
  EXPECT_EQ(read("graphdef_AutoMixedPrecision.txt"),
            "input = Const() dtype=float32\n"
            "input-0-CastToFp16-AutoMixedPrecision = Cast(input) SrcT=float32 DstT=float16\n"
            "MatMul = MatMul(input-0-CastToFp16-AutoMixedPrecision, input-0-CastToFp16-AutoMixedPrecision) T=float16\n"
            "MatMul-0-CastToFp32-AutoMixedPrecision = Cast(MatMul) SrcT=float16 DstT=float32\n"
            "fetch = Identity(MatMul-0-CastToFp32-AutoMixedPrecision) T=float32\n");
  EXPECT_EQ(read("paintbuckets_AutoMixedPrecision.txt"), OpLists::tf_2_3().paint_buckets());
  ASSERT_EQ(o.colours.messages.size(), 4u);
  EXPECT_EQ(o.colours.messages[0],
            "INFO Saved pre-optimization graph as text to " + (folder / "graphdef_preop.txt").string());
  options.log_path = (folder / "no_such_folder").string();
  EXPECT_EQ(outcome(chain({{"MatMul", "MatMul"}}), OpLists::tf_2_3(), options).colours.messages[0].substr(0, 24),
            "WARNING Could not write ");
  fs::remove_all(folder);
}

// tests: T14
TEST(TensorFlowOptions, ShapeAdvice) {
  const std::vector<int64_t> dimensions = {100, 128, 264, 300, 1, 0, INT64_MAX};
  EXPECT_EQ(shape_advice(dimensions),
            (Strings{"dimension 100: expected a power of two, such as 128",
                     "dimension 300: expected a multiple of 8, such as 304", "dimension 0: expected 1 or more",
                     "dimension 9223372036854775807: expected a multiple of 8, such as 9223372036854775800"}));
}

// tests: T14
TEST(TensorFlowOptions, ShapeAdviceOfAGraph) {  // MIXED_PRECISION T14: products and convolutions in low precision
  GraphBuilder b;
  const auto input = [&](const char* name, DType dtype, const Shape& shape) {
    return b.placeholder(name, dtype, shape);
  };
  const Port a = input("a", DType::kFloat16, {100, 64}), k = input("k", DType::kFloat16, {64, 300});
  b.add("MatMul", {a, k}, {}, "product");
  b.add("MatMul", {input("t", DType::kBFloat16, {7, 100}), input("u", DType::kBFloat16, {9, 7})},
        {{"transpose_a", true}, {"transpose_b", true}}, "turned");
  const Port images = input("images", DType::kFloat16, {32, 8, 8, 3}),
             filter = input("f", DType::kFloat16, {5, 5, 3, 10});
  b.add("Conv2D", {images, filter}, {{"strides", std::vector<int64_t>{1, 1, 1, 1}}, {"padding", std::string("SAME")}},
        "convolution");
  b.add("MatMul", {input("single", DType::kFloat32, {11, 13}), input("v", DType::kFloat32, {13, 17})}, {}, "float32");
  EXPECT_EQ(shape_advice(b.build()),
            (Strings{"dimension 100: expected a power of two, such as 128 (first in 'product')",
                     "dimension 300: expected a multiple of 8, such as 304 (first in 'product')",
                     "dimension 7: expected a power of two, such as 8 (first in 'turned')",
                     "dimension 9: expected a power of two, such as 16 (first in 'turned')",
                     "dimension 3: expected a power of two, such as 4 (first in 'convolution')",
                     "dimension 10: expected a power of two, such as 16 (first in 'convolution')"}));
}

}  // namespace
}  // namespace softamp
