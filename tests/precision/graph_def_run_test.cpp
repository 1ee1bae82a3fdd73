// GraphDefs made into graphs: variables, optimizers, calls, branches, loops, and what is refused.
#include "tests/precision/graph_def_import_rig.h"

#include "softamp/graph/gradients.h"

namespace softamp::test {
namespace {

const TextAttributes kFloatDtype = {{"dtype", "type: DT_FLOAT"}};

std::string variable_text(const std::string& name, const Shape& shape, const char* op = "VarHandleOp") {
  return node_text(name, op, {}, {{"dtype", "type: DT_FLOAT"}, {"shape", shape_value(shape)}});
}
std::string reading_text(const std::string& name, const std::string& variable) {
  return node_text(name, "ReadVariableOp", {variable}, kFloatDtype);
}
std::string scalar_text(const std::string& name, const std::string& value) {
  return const_text(name, "FLOAT", {}, "float_val: " + value);
}

TEST(GraphDefVariables, ReadingsSeeWhatComesBeforeThem) {
  // v = 1 at first. before: no edge orders it, so it is the value before the step; after waits for the assignment.
  const std::string text =
      variable_text("v", {}) + scalar_text("one", "1") + scalar_text("ten", "10") +
      node_text("v/Assign", "AssignVariableOp", {"v", "one"}, kFloatDtype) + reading_text("before", "v") +
      node_text("sum", "AddV2", {"before", "ten"}, kOfFloats) +
      node_text("set", "AssignVariableOp", {"v", "sum"}, kFloatDtype) +
      node_text("after", "ReadVariableOp", {"v", "^set"}, kFloatDtype) +
      node_text("add", "AssignAddVariableOp", {"v", "ten", "^after"}, kFloatDtype) +
      node_text("last", "ReadVariableOp", {"v", "^add"}, kFloatDtype) +
      node_text("all", "Pack", {"before", "after", "last"}, {{"T", "type: DT_FLOAT"}, {"N", "i: 3"}});
  const GraphDefFile file = graph_of(text);
  EXPECT_EQ(run_graph_def(file, {}, {"all"}).values(), (std::vector<double>{1, 11, 21}));
  EXPECT_EQ(run_graph_def(file, {}, {"all"}, 3).values(), (std::vector<double>{41, 51, 61}));
  // Only what is fetched is done.
  EXPECT_EQ(run_graph_def(file, {}, {"after"}, 3).values(), (std::vector<double>{31}));
  EXPECT_EQ(run_graph_def(file, {}, {"before", "add"}, 3).values(), (std::vector<double>{41}));
  EXPECT_EQ(run_graph_def(file, {}, {"before"}, 3).values(), (std::vector<double>{1}));
  // A reading behind the assignment in the file, but not in the graph.
  const GraphDefFile loose =
      graph_of(variable_text("v", {}) + scalar_text("one", "1") + scalar_text("ten", "10") +
               node_text("v/Assign", "AssignVariableOp", {"v", "one"}, kFloatDtype) +
               node_text("set", "AssignVariableOp", {"v", "ten"}, kFloatDtype) + reading_text("now", "v"));
  EXPECT_EQ(run_graph_def(loose, {}, {"now", "set"}).value(0), 1);
  EXPECT_EQ(run_graph_def(loose, {}, {"now", "set"}, 2).value(0), 10);
}

TEST(GraphDefVariables, ByReference) {
  const std::string text =
      variable_text("v", {2}, "VariableV2") + const_text("first", "FLOAT", {2}, "float_val: [1, 2]") +
      node_text("v/Assign", "Assign", {"v", "first"}, kOfFloats) + node_text("v/read", "Identity", {"v"}, kOfFloats) +
      node_text("next", "AssignAdd", {"v", "v/read"}, kOfFloats) + node_text("y", "Neg", {"next"}, kOfFloats) +
      node_text("init", "NoOp", {"^v/Assign"});
  const GraphDefFile file = graph_of(text);
  EXPECT_EQ(run_graph_def(file, {}, {"y"}).values(), (std::vector<double>{-2, -4}));
  EXPECT_EQ(run_graph_def(file, {}, {"y"}, 3).values(), (std::vector<double>{-8, -16}));
  const ImportedGraph init = import_graph(file, {{"init"}, {}, {}});
  EXPECT_TRUE(init.ports.empty());
  const auto executor = make_executor(init.graph);
  executor->run({}, {});
  EXPECT_EQ(executor->variable("v").values(), (std::vector<double>{1, 2}));
}

TEST(GraphDefVariables, AnUpdateByReferenceGivesTheNewValue) {
  const std::string text = variable_text("v", {}, "VariableV2") + scalar_text("one", "1") + scalar_text("lr", "0.25") +
                           scalar_text("g", "2") + node_text("v/Assign", "Assign", {"v", "one"}, kOfFloats) +
                           node_text("u", "ApplyGradientDescent", {"v", "lr", "g"}, kOfFloats) +
                           node_text("y", "Identity", {"u"}, kOfFloats);
  EXPECT_EQ(run_graph_def(graph_of(text), {}, {"y"}).value(0), 0.5);
  EXPECT_EQ(run_graph_def(graph_of(text), {}, {"y"}, 3).value(0), -0.5);
}

TEST(GraphDefVariables, WithoutAValueTheySayWhy) {
  const std::string v = variable_text("v", {2}), read = reading_text("y", "v");
  const auto why = [&](const std::string& text, const GraphDefImportOptions& options = {{"y"}, {}, {}}) {
    const ImportedGraph imported = import_graph(graph_of(text), options);
    return imported.without_value.empty() ? "" : imported.without_value.at("v");
  };
  EXPECT_EQ(why(v + read), "nothing in the graph assigns it a value");
  EXPECT_EQ(why(v + read + placeholder_text("p", {2}) + node_text("a", "AssignVariableOp", {"v", "p"}, kFloatDtype)),
            "what the graph assigns to it needs other values, or operations that are not run here");
  EXPECT_EQ(why(v + read, {{"y"}, {{"v", Shape{2}}}, {}}), "");
  EXPECT_EQ(why(v + read, {{"y"}, {}, {{"v", Shape{2}}, {"w", Shape{3}}}}), "");
  EXPECT_EQ(import_fault(v + read, {{"y"}, {{"v", Shape{3}}}, {}}),
            "input: node 'v' (VarHandleOp): it is given a tensor of shape [3]; expected [2]");
  EXPECT_EQ(import_fault(v + read, {{"y"}, {{"w", Shape{3}}}, {}}),
            "input: 'w' is given a value, but it is no node; expected a placeholder or a variable");
  // Random values are drawn; a variable that another one gives its value has none.
  const std::string random =
      ints_text("shape", {2}) +
      node_text("r", "TruncatedNormal", {"shape"}, {{"dtype", "type: DT_FLOAT"}, {"T", "type: DT_INT32"}}) +
      node_text("v/Assign", "AssignVariableOp", {"v", "r"}, kFloatDtype);
  EXPECT_EQ(why(v + read + random), "");
}

/// A dense layer, its cross-entropy, and a step of an optimizer, as TensorFlow writes the gradients.
std::string training_text(const std::string& update) {
  const std::string matmul = "MatMul";
  return placeholder_text("x", {6, 4}) + placeholder_text("labels", {6}, "INT64") + variable_text("w1", {4, 5}) +
         variable_text("b1", {5}) + variable_text("w2", {5, 3}) + reading_text("r1", "w1") + reading_text("rb", "b1") +
         reading_text("r2", "w2") + node_text("z1", matmul, {"x", "r1"}, kOfFloats) +
         node_text("a1", "BiasAdd", {"z1", "rb"}, kOfFloats) + node_text("h", "Relu", {"a1"}, kOfFloats) +
         node_text("logits", matmul, {"h", "r2"}, kOfFloats) +
         node_text("xent", "SparseSoftmaxCrossEntropyWithLogits", {"logits", "labels"},
                   {{"T", "type: DT_FLOAT"}, {"Tlabels", "type: DT_INT64"}}) +
         ints_text("axes", {0}) + node_text("loss", "Mean", {"xent", "axes"}, kOfFloats) +
         // The mean's gradient: 1/6 for each sample.
         node_text("xs", "Shape", {"xent"}, {{"T", "type: DT_FLOAT"}}) +
         node_text("n", "Prod", {"xs", "axes"}, {{"T", "type: DT_INT32"}}) +
         node_text("nf", "Cast", {"n"}, {{"SrcT", "type: DT_INT32"}, {"DstT", "type: DT_FLOAT"}}) +
         scalar_text("seed", "1") + node_text("ones", "Fill", {"xs", "seed"}, kOfFloats) +
         node_text("g0", "RealDiv", {"ones", "nf"}, kOfFloats) + int_text("last", -1) +
         node_text("g0e", "ExpandDims", {"g0", "last"}, kOfFloats) +
         node_text("gl", "Mul", {"g0e", "xent:1"}, kOfFloats) +
         node_text("gw2", matmul, {"h", "gl"}, {{"T", "type: DT_FLOAT"}, {"transpose_a", "b: true"}}) +
         node_text("gh", matmul, {"gl", "r2"}, {{"T", "type: DT_FLOAT"}, {"transpose_b", "b: true"}}) +
         node_text("ga", "ReluGrad", {"gh", "h"}, kOfFloats) + node_text("gb", "BiasAddGrad", {"ga"}, kOfFloats) +
         node_text("gw1", matmul, {"x", "ga"}, {{"T", "type: DT_FLOAT"}, {"transpose_a", "b: true"}}) +
         scalar_text("lr", "0.125") + update + node_text("train", "NoOp", {"^u1", "^ub", "^u2"});
}

struct Trained {
  Values variables;
  double loss = 0;
};

Values training_feeds() {
  Values feeds;
  feeds.emplace("x", drawn_tensor(DType::kFloat32, {6, 4}, 3));
  const double labels[] = {0, 2, 1, 1, 0, 2};
  feeds.emplace("labels", Tensor::from_values(DType::kInt32, {6}, labels));
  return feeds;
}

Trained train_graph(const Graph& graph, const std::vector<std::string>& fetches, int steps) {
  const auto executor = make_executor(graph);
  uint32_t seed = 11;
  for (const Node& node : graph.nodes())
    if (node.op == "VariableV2" && node.name.size() == 2) {
      Tensor value = drawn_tensor(DType::kFloat32, node.outputs[0].shape, node.name[0] * 8u + node.name[1] + seed);
      for (float& v : value.as<float>()) v /= 8;
      executor->set_variable(node.name, value);
    }
  const Values values = training_feeds();
  std::vector<Feed> feeds;
  for (const auto& [name, value] : values) feeds.push_back({name, &value});
  Trained t;
  for (int s = 0; s < steps; ++s) t.loss = executor->run(feeds, fetches).values[0].value(0);
  for (const Node& node : graph.nodes())
    if (node.op == "VariableV2") t.variables.emplace(node.name, executor->variable(node.name).clone());
  return t;
}

Trained train_graph_def(const std::string& update, int steps) {
  const ImportedGraph imported = import_graph(graph_of(training_text(update)), {{"loss", "train"}, {}, {}});
  EXPECT_EQ(imported.narrowed, (std::vector<std::string>{"labels"}));
  return train_graph(imported.graph, {"loss"}, steps);
}

using Update = std::vector<Port> (*)(GraphBuilder& b, Port var, Port grad, const std::vector<Port>& slots, Port lr,
                                     Port apply);

/// The same training with the gradients that softamp finds itself.
Trained train_by_hand(size_t slots, Update update, int steps) {
  GraphBuilder b;
  const Port x = b.placeholder("x", DType::kFloat32, {6, 4}), labels = b.placeholder("labels", DType::kInt32, {6});
  const auto variable = [&](const std::string& name, const Shape& shape) {
    return b.add("VariableV2", {}, {{"dtype", DType::kFloat32}, {"shape", shape}}, name);
  };
  const std::vector<Port> weights = {variable("w1", {4, 5}), variable("b1", {5}), variable("w2", {5, 3})};
  const Port h = b.add("Relu", {b.add("BiasAdd", {b.add("MatMul", {x, weights[0]}), weights[1]})});
  const Port xent = b.add("SparseSoftmaxCrossEntropyWithLogits", {b.add("MatMul", {h, weights[2]}), labels});
  const Port loss = b.add("Mean", {xent}, {{"axes", std::vector<int64_t>{0}}}, "loss");
  const auto found = gradients(b, loss, weights);
  const Port lr = b.constant(Tensor::full(DType::kFloat32, {}, 0.125));
  const Port apply = b.constant(Tensor::full(DType::kBool, {}, 1));
  const char* const names[] = {"w1", "b1", "w2"};
  for (size_t i = 0; i < weights.size(); ++i) {
    std::vector<Port> kept;
    for (size_t s = 0; s < slots; ++s)
      kept.push_back(variable(std::string(names[i]) + "/s" + std::to_string(s), b.type(weights[i]).shape));
    const std::vector<Port> next = update(b, weights[i], *found[i], kept, lr, apply);
    b.add("Assign", {next[0]}, {{"ref", std::string(names[i])}});
    for (size_t s = 0; s < slots; ++s)
      b.add("Assign", {next[s + 1]}, {{"ref", std::string(names[i]) + "/s" + std::to_string(s)}});
  }
  return train_graph(b.build(), {"loss"}, steps);
}

std::vector<Port> outputs_of(Port first, int count) {
  std::vector<Port> all;
  for (int i = 0; i < count; ++i) all.push_back({first.node, i});
  return all;
}

void expect_trained(const Trained& is, const Trained& wanted, const char* what) {
  EXPECT_EQ(is.loss, wanted.loss) << what;
  EXPECT_GT(is.variables.size(), 2u);
  for (const auto& [name, value] : wanted.variables)
    expect_bits(is.variables.at(name), value, std::string(what) + " " + name);
}

/// "x/s0" for the slots of a variable: what the graph's optimizer takes, and their own zeros at first.
std::string slots_text(size_t slots) {
  std::string text;
  for (const auto& [name, shape] : {std::pair{"w1", Shape{4, 5}}, {"b1", Shape{5}}, {"w2", Shape{5, 3}}})
    for (size_t s = 0; s < slots; ++s) text += variable_text(std::string(name) + "/s" + std::to_string(s), shape);
  return text;
}
std::string updates_text(const char* op, size_t slots, const Inputs& before, const Inputs& after,
                         const TextAttributes& attributes = kOfFloats) {
  std::string text;
  for (const auto& [update, name, gradient] :
       {std::tuple{"u1", "w1", "gw1"}, {"ub", "b1", "gb"}, {"u2", "w2", "gw2"}}) {
    Inputs inputs = {name};
    for (size_t s = 0; s < slots; ++s) inputs.push_back(std::string(name) + "/s" + std::to_string(s));
    inputs.insert(inputs.end(), before.begin(), before.end());
    inputs.push_back(gradient);
    inputs.insert(inputs.end(), after.begin(), after.end());
    text += node_text(update, op, inputs, attributes);
  }
  return text;
}

TEST(GraphDefTraining, StepsAreThoseOfTheGraphBuiltByHand) {
  constexpr int kSteps = 4;
  expect_trained(train_graph_def(updates_text("ResourceApplyGradientDescent", 0, {"lr"}, {}), kSteps),
                 train_by_hand(
                     0,
                     [](GraphBuilder& b, Port var, Port grad, const std::vector<Port>&, Port lr, Port apply) {
                       return outputs_of(b.add("ApplyGradientDescent", {var, lr, grad, apply}), 1);
                     },
                     kSteps),
                 "gradient descent");
  expect_trained(train_graph_def(slots_text(1) + scalar_text("momentum", "0.5") +
                                     updates_text("ResourceApplyMomentum", 1, {"lr"}, {"momentum"},
                                                  {{"T", "type: DT_FLOAT"}, {"use_nesterov", "b: true"}}),
                                 kSteps),
                 train_by_hand(
                     1,
                     [](GraphBuilder& b, Port var, Port grad, const std::vector<Port>& slots, Port lr, Port apply) {
                       return outputs_of(b.add("ApplyMomentum", {var, slots[0], lr, grad, apply},
                                               {{"momentum", 0.5}, {"use_nesterov", true}}),
                                         2);
                     },
                     kSteps),
                 "momentum");
  expect_trained(train_graph_def(slots_text(2) + scalar_text("rho", "0.75") + scalar_text("momentum", "0.5") +
                                     scalar_text("epsilon", "0.0625") +
                                     updates_text("ResourceApplyRMSProp", 2, {"lr", "rho", "momentum", "epsilon"}, {}),
                                 kSteps),
                 train_by_hand(
                     2,
                     [](GraphBuilder& b, Port var, Port grad, const std::vector<Port>& slots, Port lr, Port apply) {
                       return outputs_of(b.add("ApplyRMSProp", {var, slots[0], slots[1], lr, grad, apply},
                                               {{"rho", 0.75}, {"momentum", 0.5}, {"epsilon", 0.0625}}),
                                         3);
                     },
                     kSteps),
                 "rmsprop");
  // The rate is lr sqrt(1 - 0.25) / (1 - 0.5), for powers that stay here: rounded at every step, as below.
  expect_trained(
      train_graph_def(slots_text(2) + scalar_text("p1", "0.5") + scalar_text("p2", "0.25") +
                          scalar_text("beta1", "0.75") + scalar_text("beta2", "0.875") +
                          scalar_text("epsilon", "0.0625") +
                          updates_text("ResourceApplyAdam", 2, {"p1", "p2", "lr", "beta1", "beta2", "epsilon"}, {}),
                      kSteps),
      train_by_hand(
          2,
          [](GraphBuilder& b, Port var, Port grad, const std::vector<Port>& slots, Port, Port apply) {
            const float rate = 0.125f * std::sqrt(0.75f) / 0.5f;
            return outputs_of(b.add("ApplyAdam",
                                    {var, slots[0], slots[1], b.constant(Tensor::full(DType::kFloat32, {}, rate)),
                                     b.constant(Tensor::full(DType::kFloat32, {}, 0)), grad, apply},
                                    {{"beta1", 0.75}, {"beta2", 0.875}, {"epsilon", 0.0625}}),
                              3);
          },
          kSteps),
      "adam");
  expect_trained(train_graph_def(slots_text(1) + scalar_text("momentum", "0.5") +
                                     updates_text("ResourceApplyKerasMomentum", 1, {"lr"}, {"momentum"}),
                                 kSteps),
                 train_by_hand(
                     1,
                     [](GraphBuilder& b, Port var, Port grad, const std::vector<Port>& slots, Port lr, Port) {
                       const Port half = b.constant(Tensor::full(DType::kFloat32, {}, 0.5));
                       const Port accum = b.add("Sub", {b.add("Mul", {slots[0], half}), b.add("Mul", {grad, lr})});
                       return std::vector<Port>{b.add("AddV2", {var, accum}), accum};
                     },
                     kSteps),
                 "keras momentum");
}

// ---- calls, branches, loops

const std::string kTwice = function_text("twice", {{"a", "FLOAT"}}, {{"r", "FLOAT"}},
                                         node_text("sum", "AddV2", {"a", "a"}, kOfFloats), {{"r", "sum:z:0"}});
const std::string kSquare = function_text("square", {{"a", "FLOAT"}}, {{"r", "FLOAT"}},
                                          node_text("p", "Mul", {"a", "a"}, kOfFloats), {{"r", "p:z:0"}});
const TextAttributes kIf = {{"then_branch", func_value("twice")},
                            {"else_branch", func_value("square")},
                            {"Tcond", "type: DT_BOOL"},
                            {"Tin", "list { type: DT_FLOAT }"},
                            {"Tout", "list { type: DT_FLOAT }"}};

std::string bool_text(const std::string& name, bool value) {
  return const_text(name, "BOOL", {}, std::string("bool_val: ") + (value ? "true" : "false"));
}

TEST(GraphDefControl, FunctionsAreWrittenOut) {
  const std::string nodes = scalar_text("x", "3") +
                            node_text("call", "PartitionedCall", {"x"},
                                      {{"f", func_value("outer")},
                                       {"Tin", "list { type: DT_FLOAT }"},
                                       {"Tout", "list { type: [DT_FLOAT, DT_FLOAT] }"}}) +
                            node_text("direct", "square", {"call:1"});
  const std::string outer =
      function_text("outer", {{"a", "FLOAT"}}, {{"first", "FLOAT"}, {"second", "FLOAT"}},
                    node_text("inner", "StatefulPartitionedCall", {"a"}, {{"f", func_value("twice")}}) +
                        node_text("s", "square", {"inner:output:0"}),
                    {{"first", "inner:output:0"}, {"second", "s:r:0"}});
  const GraphDefFile file = graph_of(nodes + library_text(kTwice + kSquare + outer));
  EXPECT_EQ(run_graph_def(file, {}, {"call"}).value(0), 6);
  EXPECT_EQ(run_graph_def(file, {}, {"call:1"}).value(0), 36);
  EXPECT_EQ(run_graph_def(file, {}, {"direct"}).value(0), 1296);
  const ImportedGraph imported = import_graph(file, {{"direct"}, {}, {}});
  EXPECT_GE(imported.graph.find("call/inner/sum"), 0);
  EXPECT_GE(imported.graph.find("direct/p"), 0);
}

TEST(GraphDefControl, BranchesWithKnownConditions) {
  for (const bool taken : {false, true}) {
    const std::string nodes = scalar_text("x", "3") + bool_text("p", taken);
    EXPECT_EQ(run_graph_def(
                  graph_of(nodes + node_text("y", "StatelessIf", {"p", "x"}, kIf) + library_text(kTwice + kSquare)), {})
                  .value(0),
              taken ? 6 : 9);
    // As TensorFlow 1 wrote them; what waits for the branch that is not taken is not run either.
    const std::string old =
        nodes + node_text("s", "Switch", {"x", "p"}, kOfFloats) + node_text("off", "Identity", {"s"}, kOfFloats) +
        node_text("on", "Identity", {"s:1"}, kOfFloats) +
        node_text(
            "ten", "Const", {"^on"},
            {{"dtype", "type: DT_FLOAT"}, {"value", "tensor { dtype: DT_FLOAT tensor_shape { } float_val: 10 }"}}) +
        node_text("sum", "AddV2", {"on", "ten"}, kOfFloats) +
        node_text("y", "Merge", {"off", "sum"}, {{"T", "type: DT_FLOAT"}, {"N", "i: 2"}});
    EXPECT_EQ(run_graph_def(graph_of(old), {}, {"y"}).value(0), taken ? 13 : 3);
    EXPECT_EQ(run_graph_def(graph_of(old), {}, {"y:1"}).value(0), taken ? 1 : 0);
    const std::string constant =
        old + node_text("z", "Merge", {"ten", "off"}, {{"T", "type: DT_FLOAT"}, {"N", "i: 2"}});
    EXPECT_EQ(run_graph_def(graph_of(constant), {}, {"z"}).value(0), taken ? 10 : 3);
    EXPECT_EQ(import_fault(old, {{taken ? "off" : "sum"}, {}, {}}),
              std::string("input: node '") + (taken ? "off' (Identity)" : "sum' (AddV2)") +
                  ": it is fetched, but on a branch that is not taken");
  }
}

TEST(GraphDefControl, ConditionsThatAreFed) {
  const std::string text =
      scalar_text("x", "3") + bool_text("no", false) +
      node_text("p", "PlaceholderWithDefault", {"no"}, {{"dtype", "type: DT_BOOL"}, {"shape", "shape { }"}}) +
      node_text("y", "StatelessIf", {"p", "x"}, kIf) + library_text(kTwice + kSquare);
  const auto value = [&](const GraphDefImportOptions& options) {
    const ImportedGraph imported = import_graph(graph_of(text), options);
    return run_graph(imported.graph, {}, {imported.ports.at("y")})[0].value(0);
  };
  EXPECT_EQ(value({{"y"}, {}, {}, {}}), 9);
  EXPECT_EQ(value({{"y"}, {{"p", Shape{}}}, {}, {{"p", true}}}), 6);
  EXPECT_EQ(value({{"y"}, {{"p", Shape{}}}, {}, {{"p", false}}}), 9);
  EXPECT_NE(import_fault(text, {{"y"}, {{"p", Shape{}}}, {}, {}}).find("its condition is not known"),
            std::string::npos);
}

TEST(GraphDefControl, LoopsWithKnownConditions) {
  const std::string cond =
      function_text("cond", {{"i", "INT32"}, {"a", "FLOAT"}}, {{"go", "BOOL"}},
                    int_text("five", 5) + node_text("l", "Less", {"i", "five:output:0"}), {{"go", "l:z:0"}});
  const std::string body = function_text("body", {{"i", "INT32"}, {"a", "FLOAT"}}, {{"i_", "INT32"}, {"a_", "FLOAT"}},
                                         int_text("one", 1) + node_text("n", "AddV2", {"i", "one:output:0"}) +
                                             node_text("d", "AddV2", {"a", "a"}, kOfFloats),
                                         {{"i_", "n:z:0"}, {"a_", "d:z:0"}});
  const std::string loop = node_text(
      "w", "While", {"i", "x"},
      {{"cond", func_value("cond")}, {"body", func_value("body")}, {"T", "list { type: [DT_INT32, DT_FLOAT] }"}});
  const std::string nodes = int_text("i", 0) + scalar_text("x", "1") + loop;
  EXPECT_EQ(run_graph_def(graph_of(nodes + library_text(cond + body)), {}, {"w:1"}).value(0), 32);
  const std::string forever = function_text("cond", {{"i", "INT32"}, {"a", "FLOAT"}}, {{"go", "BOOL"}},
                                            bool_text("yes", true), {{"go", "yes:output:0"}});
  EXPECT_EQ(import_fault(nodes + library_text(forever + body), {{"w:1"}, {}, {}}),
            "input: node 'w' (While): it has more than 10000 rounds");
  const std::string unknown = placeholder_text("i", {}, "INT32") + scalar_text("x", "1") + loop;
  EXPECT_EQ(
      import_fault(unknown + library_text(cond + body), {{"w:1"}, {}, {}}),
      "input: node 'w' (While): its condition is not known before the graph runs; expected a constant, or arithmetic "
      "of known shapes: branches and loops are written out");
}

/// A loop of Enter and Exit, whichever of its nodes is the first of the file.
TEST(GraphDefControl, LoopsInAnyOrderOfTheirNodes) {
  const TextAttributes merge = {{"T", "type: DT_FLOAT"}, {"N", "i: 2"}};
  const std::vector<std::string> nodes = {int_text("i", 0),
                                          scalar_text("x", "3"),
                                          int_text("three", 3),
                                          int_text("one", 1),
                                          node_text("i/enter", "Enter", {"i"}),
                                          node_text("x/enter", "Enter", {"x"}, kOfFloats),
                                          node_text("three/enter", "Enter", {"three"}, {{"is_constant", "b: true"}}),
                                          node_text("one/enter", "Enter", {"one"}, {{"is_constant", "b: true"}}),
                                          node_text("i/merge", "Merge", {"i/enter", "i/next"}),
                                          node_text("x/merge", "Merge", {"x/enter", "x/next"}, merge),
                                          node_text("less", "Less", {"i/merge", "three/enter"}),
                                          node_text("go", "LoopCond", {"less"}),
                                          node_text("i/switch", "Switch", {"i/merge", "go"}),
                                          node_text("x/switch", "Switch", {"x/merge", "go"}, kOfFloats),
                                          node_text("add", "AddV2", {"i/switch:1", "one/enter"}),
                                          node_text("double", "AddV2", {"x/switch:1", "x/switch:1"}, kOfFloats),
                                          node_text("i/next", "NextIteration", {"add"}),
                                          node_text("x/next", "NextIteration", {"double"}, kOfFloats),
                                          node_text("exit", "Exit", {"x/switch"}, kOfFloats)};
  for (size_t first = 0; first < nodes.size(); ++first) {
    std::string text;
    for (size_t n = 0; n < nodes.size(); ++n) text += nodes[(first + n) % nodes.size()];
    EXPECT_EQ(run_graph_def(graph_of(text), {}, {"exit"}).value(0), 24) << nodes[first];
  }
}

TEST(GraphDefControl, RecursionAndGrowthEnd) {
  const std::string self = function_text("self", {{"a", "FLOAT"}}, {{"r", "FLOAT"}}, node_text("again", "self", {"a"}),
                                         {{"r", "again:r:0"}});
  EXPECT_NE(import_fault(scalar_text("x", "1") + node_text("y", "self", {"x"}) + library_text(self))
                .find("is called more than 64 deep; expected no recursion"),
            std::string::npos);
  const auto fault = [](const std::string& call, const std::string& name) {
    return import_fault(placeholder_text("x", Shape{2}) + node_text("y", call, {"x"}) +
                        library_text(doubling_text(20, name, kOfFloats)));
  };
  EXPECT_NE(fault("f20", "n").find("functions become more than 2^18 nodes"), std::string::npos);
  const std::string long_name(size_t{1} << 18, 'n');
  EXPECT_EQ(fault("f4", long_name), "");
  EXPECT_NE(fault("f11", long_name).find("functions become nodes whose names have more than 2^28 bytes up to this one"),
            std::string::npos);
}

/// A rewrite casts the numbers that OneHot takes; they stay attributes of ours where the cast changes nothing.
TEST(GraphDefKnown, NumbersBehindACast) {
  const auto graph = [](const std::string& on) {
    return ints_text("i", {1, 0}) + int_text("depth", 3) + const_text("on", "FLOAT", {}, "float_val: " + on) +
           const_text("off", "HALF", {}, "half_val: 0") +
           node_text("cast", "Cast", {"on"}, {{"SrcT", "type: DT_FLOAT"}, {"DstT", "type: DT_HALF"}}) +
           node_text("y", "OneHot", {"i", "depth", "cast", "off"}, {{"T", "type: DT_HALF"}, {"TI", "type: DT_INT32"}});
  };
  const Tensor y = run_graph_def(graph_of(graph("1.5")), {}, {"y"});
  EXPECT_EQ(y.dtype(), DType::kFloat16);
  EXPECT_EQ(y.values(), (std::vector<double>{0, 1.5, 0, 1.5, 0, 0}));
  EXPECT_NE(import_fault(graph("0.1"), {{"y"}}).find("the value at the index, is needed before the graph runs"),
            std::string::npos);
}

TEST(GraphDefKnown, ArithmeticOfShapesTakesLittleMemory) {
  std::string text = int_text("one", 1) + ints_text("large", {65536});
  std::string all;
  Inputs inputs;
  for (int i = 0; i < 1100; ++i) {
    inputs.push_back("f" + std::to_string(i));
    text += node_text(inputs.back(), "Fill", {"large", "one"}, {{"T", "type: DT_INT32"}});
  }
  EXPECT_NE(
      import_fault(text + node_text("y", "AddN", inputs, {{"T", "type: DT_INT32"}})).find("take more than 2^28 bytes"),
      std::string::npos);
}

// ---- what is refused

TEST(GraphDefImportRefusals, OperationsThatAreNotOursAreNamedAtOnce) {
  const std::string text = scalar_text("x", "1") + node_text("a", "Matmul", {"x", "x"}, kOfFloats) +
                           node_text("b", "FFT", {"a"}) + node_text("c", "FFT", {"x"}) +
                           node_text("d", "AddV2", {"b", "c"}, kOfFloats) + node_text("e", "Lgamma", {"d"}, kOfFloats);
  EXPECT_EQ(
      import_fault(text, {{"e"}, {}, {}}),
      "input: 3 operations are not run here: 'FFT' (2 nodes, first 'c'), 'Lgamma' (node 'e'), 'Matmul' (node 'a'; "
      "nearest: MatMul)");
  EXPECT_EQ(import_fault(text, {{"x"}, {}, {}}), "");  // what is not needed does no harm
}

TEST(GraphDefImport, WithoutFetchesWhatIsATensorAndNothingReads) {
  const std::string text = scalar_text("x", "2") + variable_text("v", {}) +
                           node_text("v/Assign", "AssignVariableOp", {"v", "x"}, kFloatDtype) +
                           reading_text("v/read", "v") + const_text("name", "STRING", {}, "string_val: \"model\"") +
                           node_text("save/name", "Identity", {"name"}, {{"T", "type: DT_STRING"}}) +
                           node_text("init", "NoOp", {"^v/Assign"}) + node_text("y", "Neg", {"x"}, kOfFloats) +
                           node_text("s", "Split", {"axis", "z"}, {{"num_split", "i: 2"}}) + int_text("axis", 0) +
                           const_text("z", "FLOAT", {2}, "float_val: [1, 2]");
  EXPECT_EQ(import_graph(graph_of(text)).fetches, (std::vector<std::string>{"y", "s"}));
}

TEST(GraphDefImportRefusals, EachNamesNodePlaceAndWhatWasExpected) {
  const std::string x = placeholder_text("x", {2, 3}), i = placeholder_text("i", {2}, "INT32");
  const struct {
    std::string text, words;
    GraphDefImportOptions options = {};
  } rows[] = {
      {node_text("x", "Placeholder", {}, kFloatDtype) + node_text("y", "Neg", {"x"}, kOfFloats),
       "input: node 'x' (Placeholder): its shape is not known; expected a feed, from whose file it is taken: --feed "
       "x=FILE.npy"},
      {x + node_text("y", "Neg", {"x"}, kOfFloats),
       "input: node 'x' (Placeholder): it is fed a tensor of shape [2]; expected [2,3]",
       {{"y"}, {{"x", Shape{2}}}, {}}},
      {x + node_text("y", "MatMul", {"x", "x"}, kOfFloats),
       "input: node 'y' (MatMul): MatMul 'y': Matrix size-incompatible: In[0]: [2,3], In[1]: [2,3]; the inner extents "
       "are "
       "3 and 2"},
      {x + i + node_text("y", "Reshape", {"x", "i"}, kOfFloats),
       "input: node 'y' (Reshape): input 1, the shape, is needed before the graph runs; expected a constant, or "
       "arithmetic "
       "of known shapes"},
      {x + node_text("y", "AddV2", {"x"}, kOfFloats), "input: node 'y' (AddV2): AddV2 'y': 1 input; expected 2 (x, y)"},
      {x + node_text("s", "Neg", {"x"}, kOfFloats) + node_text("y", "Neg", {"s:1"}, kOfFloats),
       "input: node 'y' (Neg): an input names an output that its node does not have"},
      {x + node_text("y", "Neg", {"x"}, kOfFloats),
       "input: node 'y' (Neg): 'y:2' is fetched, but it has 1 outputs",
       {{"y:2"}, {}, {}}},
      {x + node_text("yy", "Neg", {"x"}, kOfFloats),
       "input: 'yx' is to be fetched, but there is no such node; expected \"name\" or \"name:port\"; nearest: x",
       {{"yx"}, {}, {}}},
      {const_text("c", "FLOAT", {3}, "float_val: [1, 2, 3, 4]"),
       "input: node 'c' (Const): its tensor has 4 values; expected at most 3 for shape [3]",
       {{"c"}, {}, {}}},
      {const_text("c", "FLOAT", {3}, "tensor_content: \"abc\""),
       "input: node 'c' (Const): its tensor_content has 3 bytes; expected 12 for float32[3]",
       {{"c"}, {}, {}}},
      {const_text("c", "INT64", {1}, "int64_val: 2147483648"),
       "input: node 'c' (Const): it is fetched, but the integer 2147483648; expected 32 bits",
       {{"c"}, {}, {}}},
      {const_text("c", "STRING", {1}, "string_val: \"a\""),
       "input: node 'c' (Const): it is fetched, but it is no tensor here: a text, a handle or a number of no dtype of "
       "ours",
       {{"c"}, {}, {}}},
      {const_text("c", "FLOAT", {1 << 20, 1 << 20}, "float_val: [1, 2]"),
       "input: node 'c' (Const): constants that the file does not hold element by element take more than 2^28 bytes",
       {{"c"}, {}, {}}},
      {node_text("c", "Const", {},
                 {{"dtype", "type: DT_FLOAT"},
                  {"value", "tensor { dtype: DT_FLOAT tensor_shape { dim { size: 1152921504606846976 } } }"}}),
       "input: node 'c' (Const): ",
       {{"c"}, {}, {}}},
      {x + const_text("t", "FLOAT", {}, "float_val: 1"),
       "input: no tensor is left unread; expected names of what is to be fetched"},
      {x + node_text("y", "Cast", {"x"},
                     {{"SrcT", "type: DT_FLOAT"}, {"DstT", "type: DT_HALF"}, {"Truncate", "b: true"}}),
       "input: node 'y' (Cast): attribute 'Truncate' is true: bits are cut off; expected a cast that rounds"},
      {x + node_text("y", "PartitionedCall", {"x"}, {{"f", func_value("none")}}),
       "input: node 'y' (PartitionedCall): there is no function 'none' in the library of the graph",
       {{"y"}, {}, {}}},
      {x + ints_text("k", {2}) + node_text("y", "Conv2D", {"x", "x"}, kOfFloats),
       "input: node 'y' (Conv2D): attribute 'strides' has 0 numbers; expected 4"},
  };
  for (const auto& row : rows) {
    const std::string why = import_fault(row.text, row.options);
    EXPECT_EQ(why.substr(0, row.words.ends_with(": ") ? row.words.size() : why.size()), row.words);
  }
}

}  // namespace
}  // namespace softamp::test
