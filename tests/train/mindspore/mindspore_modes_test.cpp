// MindSpore's two modes: graphs planned whole, or operation by operation; steps that end in the middle
// (MIXED_PRECISION M15).
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "softamp/findings/exception.h"
#include "softamp/graph/trace.h"
#include "src/backend.h"
#include "tests/train/cell_networks.h"

namespace softamp::test {
namespace {

using Mode = Context::Mode;

/// Every tensor that a model has at the end of a step, as text.
std::vector<std::string> tensors_of(AmpModel& model) {
  std::vector<std::string> all;
  for (const VariableSpec& v : model.step().parameters()) {
    const Tensor& t = model.step().parameter(v.name);
    all.push_back(v.name + " " + hash_text(t.data(), t.bytes()));
  }
  all.push_back("scale " + std::to_string(model.loss_scale()));
  return all;
}

AmpModelOptions stochastic_model(Mode mode, AmpLevel level, bool stochastic = true) {
  AmpModelOptions options;
  options.amp_level = level;
  options.context.mode = mode;
  options.context.executor = Context::ieee_executor(7);
  if (stochastic) options.context.executor.semantics->narrow.mode = RoundingMode::kStochastic;
  options.loss_scale_manager = std::make_shared<DynamicLossScaleManager>(64, 2, 2);
  return options;
}

/// How many operations each executor had that was made, beside what holds tensors.
std::vector<int> executors_made;
BackendFactory engine_below = nullptr;
std::unique_ptr<Executor> counted(Graph graph, ExecutorOptions options) {
  executors_made.push_back(0);
  for (const Node& n : graph.nodes())
    executors_made.back() += n.op != "Placeholder" && n.op != "Const" && n.op != "VariableV2";
  return engine_below(std::move(graph), std::move(options));
}
struct Counting {
  Counting() { engine_below = exchange_backend("emu", counted); }
  ~Counting() { exchange_backend("emu", engine_below); }
};

struct Trained {
  std::vector<std::string> tensors;  ///< each tensor that the engine computed, in order
  std::vector<std::string> ends;     ///< what the model has after each step
  std::vector<double> losses;
  std::vector<double> logits;
  std::vector<int> executors;
};

Trained trained(AmpModelOptions options) {
  Trained t;
  options.context.executor.observe = [&](uint32_t step, const Node& node, int port, const TensorType& type,
                                         const void* data) {
    t.tensors.push_back(std::to_string(step) + " " + node.name + ":" + std::to_string(port) + " " + type.text() + " " +
                        hash_text(data, type.bytes()));
  };
  executors_made.clear();
  NormNet network;
  SoftmaxCrossEntropyWithLogits loss(true, Reduction::kMean);
  AmpModel model(network, &loss, momentum(0.25), options);
  for (int i = 0; i < 3; ++i) {
    t.losses.push_back(model.train_on(norm_batch(i)).loss);
    for (std::string& line : tensors_of(model)) t.ends.push_back(std::move(line));
  }
  t.logits = model.predict(norm_batch().images).values();
  t.executors = executors_made;
  return t;
}

// tests: M15, N292
TEST(Modes, M15PlannedWholeAndOperationByOperationGiveTheSameBits) {
  const Counting counting;
  for (const AmpLevel level : {AmpLevel::kO0, AmpLevel::kO1, AmpLevel::kO2, AmpLevel::kO3}) {
    const std::string place = name_of(level);
    const Trained whole = trained(stochastic_model(Mode::kGraph, level));
    const Trained single = trained(stochastic_model(Mode::kPynative, level));
    EXPECT_EQ(single.tensors, whole.tensors) << place;
    EXPECT_EQ(single.ends, whole.ends) << place;
    EXPECT_EQ(single.losses, whole.losses) << place;
    EXPECT_EQ(single.logits, whole.logits) << place;
    // Two ways of running: three graphs of many operations, or many graphs of one.
    ASSERT_EQ(whole.executors.size(), 3u) << place;
    EXPECT_GT(*std::min_element(whole.executors.begin(), whole.executors.end()), 5) << place;
    EXPECT_GT(single.executors.size(), 40u) << place;
    for (const int operations : single.executors) EXPECT_EQ(operations, 1) << place;
    // Random bits decide: rounded to nearest, the same network has other halves.
    if (level == AmpLevel::kO0) continue;
    EXPECT_NE(trained(stochastic_model(Mode::kGraph, level, false)).ends, whole.ends) << place;
  }
}

// tests: M15
TEST(Modes, M15EveryOperationCanBeLookedInto) {
  Scalar net(times);
  Context context;
  context.mode = Mode::kPynative;
  struct Seen {
    std::string name, op;
    std::vector<double> in, out;
  };
  std::vector<Seen> lines;
  TrainOneStepCell* looked_at = nullptr;
  context.after_operation = [&](const OperationRun& r) {
    EXPECT_EQ(r.of, OperationRun::Of::kTraining);
    EXPECT_EQ(r.execution, phase_of(r.node.name) == "update" || phase_of(r.node.name) == "unscale" ? 1u : 0u)
        << r.node.name;
    EXPECT_EQ(looked_at->parameter("w").value(0), 1) << r.node.name;  // until the step ends
    Seen line{r.node.name, r.node.op, {}, {}};
    for (const Tensor* t : r.inputs) line.in.push_back(t->value(0));
    for (const Tensor& t : r.outputs) line.out.push_back(t.value(0));
    lines.push_back(line);
    return true;
  };
  TrainOneStepCell step(net, sgd(0.5), 8, context);
  looked_at = &step;
  step(scalar_batch(0.25));
  EXPECT_EQ(step.parameter("w").value(0), 1 - 0.5 * 0.25 * 8);

  const auto named = [&](const std::string& op, size_t which = 0) -> const Seen& {
    for (const Seen& line : lines)
      if (line.op == op && which-- == 0) return line;
    ADD_FAILURE() << "no " << op;
    return lines[0];
  };
  EXPECT_EQ(lines[0].name, "Mul");  // the network's one operation comes first
  EXPECT_EQ(lines[0].in, (std::vector<double>{1, 0.25}));
  EXPECT_EQ(lines[0].out, std::vector<double>{0.25});
  EXPECT_EQ(named("Mul", 1).out, std::vector<double>{0.25 * 8});  // the loss times sens
  EXPECT_EQ(named("AllFinite").in, std::vector<double>{2});       // the gradient, x sens
  EXPECT_EQ(lines.back().op, "Assign");
  EXPECT_EQ(lines.back().out, std::vector<double>{0});  // what w becomes
}

/// A model of stochastic_model that has made one step.
struct Begun {
  NormNet network;
  SoftmaxCrossEntropyWithLogits loss{true, Reduction::kMean};
  AmpModel model;
  explicit Begun(const AmpModelOptions& options) : model(network, &loss, momentum(0.25), options) {
    model.train_on(norm_batch(0));
  }
};

// tests: M15
TEST(Modes, M15AStepThatIsStoppedWasNotMade) {
  Begun uninterrupted(stochastic_model(Mode::kGraph, AmpLevel::kO2));
  const std::vector<std::string> after_one = tensors_of(uninterrupted.model);
  uninterrupted.model.train_on(norm_batch(1));
  const std::vector<std::string> after_two = tensors_of(uninterrupted.model);
  ASSERT_NE(after_one, after_two);

  AmpModelOptions options = stochastic_model(Mode::kPynative, AmpLevel::kO2);
  int64_t left = 1000000;  // operations until the step is stopped
  std::string last;
  std::set<std::string> phases;
  options.context.after_operation = [&](const OperationRun& r) {
    last = r.node.name;
    phases.insert(std::string(phase_of(r.node.name)));
    if (left == -1) throw std::domain_error("the caller's own");
    return --left > 0;
  };
  Begun stopped(options);
  const int64_t operations = 1000000 - left;
  EXPECT_GT(operations, 60);
  EXPECT_EQ(phases, (std::set<std::string>{"cast", "forward", "loss", "scale", "backward", "unscale", "update"}));
  for (int64_t at = 1; at <= operations; ++at) {
    left = at;
    const std::string said = refusal<RunStopped>([&] { stopped.model.train_on(norm_batch(1)); });
    EXPECT_EQ(said, "the run was stopped after the operation '" + last + "'");
    ASSERT_EQ(tensors_of(stopped.model), after_one) << "after " << last;
    ASSERT_EQ(stopped.model.step().last().step, 0);
  }
  left = -1;
  EXPECT_THROW(stopped.model.train_on(norm_batch(1)), std::domain_error);
  EXPECT_EQ(tensors_of(stopped.model), after_one);
  // The step draws what it would have drawn, and its slots were left alone: so does the next.
  left = 1000000;
  EXPECT_EQ(stopped.model.train_on(norm_batch(1)).step, 1);
  EXPECT_EQ(tensors_of(stopped.model), after_two);
  stopped.model.train_on(norm_batch(2));
  uninterrupted.model.train_on(norm_batch(2));
  EXPECT_EQ(tensors_of(stopped.model), tensors_of(uninterrupted.model));
}

// tests: M15
TEST(Modes, M15AGraphThatIsStoppedLeavesAveragesAlone) {
  AmpModelOptions options = stochastic_model(Mode::kGraph, AmpLevel::kO2);
  int64_t left = 1000000;
  options.context.executor.threads = 1;
  options.context.executor.stop = [&] { return --left < 0; };
  Begun stopped(options);
  const std::vector<std::string> before = tensors_of(stopped.model);
  int64_t stops = 0;
  const auto ends_after = [&](int64_t operations) {
    left = operations;
    return refusal<RunStopped>([&] { stopped.model.train_on(norm_batch(1)); }).empty();
  };
  for (; !ends_after(stops); ++stops) ASSERT_EQ(tensors_of(stopped.model), before) << stops;
  EXPECT_GT(stops, 40);  // in both graphs
  EXPECT_NE(tensors_of(stopped.model), before);
}

// tests: M15
TEST(Modes, M15PredictionsAreSeenAndStopped) {
  AmpModelOptions options = stochastic_model(Mode::kPynative, AmpLevel::kO3);
  std::vector<std::string> operations;
  bool go = true;
  options.context.after_operation = [&](const OperationRun& r) {
    EXPECT_EQ(r.of, OperationRun::Of::kPrediction);
    EXPECT_EQ(r.execution, 0u);
    operations.push_back(r.node.op);
    return go || r.node.op != "Relu";
  };
  NormNet network;
  SoftmaxCrossEntropyWithLogits loss(true, Reduction::kMean);
  AmpModel model(network, &loss, momentum(0.25), options);
  const Batch batch = norm_batch();
  const std::vector<double> whole = model.predict(batch.images).values();
  for (const char* op : {"Conv2D", "FusedBatchNormV3", "Relu", "Reshape", "MatMul", "BiasAdd"})
    EXPECT_EQ(std::count(operations.begin(), operations.end(), op), 1) << op;
  go = false;
  operations.clear();
  EXPECT_EQ(refusal<RunStopped>([&] { model.predict(batch.images); }),
            "the run was stopped after the operation 'relu/Relu'");
  EXPECT_EQ(operations.back(), "Relu");
  EXPECT_EQ(std::count(operations.begin(), operations.end(), "MatMul"), 0);
  go = true;
  EXPECT_EQ(model.predict(batch.images).values(), whole);
}

// tests: M15
TEST(Modes, M15ExceptionsNameTheSameOperation) {
  const Scalar::Loss loss = [](GraphBuilder& b, Port w, Port x) {
    return b.add("AddV2", {w, b.add("Exp", {x}, {}, "too_much")});
  };
  std::vector<std::string> said;
  for (const auto mode : {Mode::kGraph, Mode::kPynative}) {
    Scalar net(loss);
    Context context;
    context.mode = mode;
    context.executor.config.floating_point_behaviour.oflo = true;
    TrainOneStepCell step(net, sgd(1), 1, context);
    step(scalar_batch(1));
    const double w = step.parameter("w").value(0);
    said.push_back(refusal<FloatingPointError>([&] { step(scalar_batch(1000)); }));
    EXPECT_EQ(step.parameter("w").value(0), w);
  }
  EXPECT_NE(said[0].find("Exp 'too_much'"), std::string::npos) << said[0];
  EXPECT_EQ(said[1], said[0]);
}

// tests: M15
TEST(Modes, M15WhatAModeDoesNotHave) {
  Scalar net(times);
  const auto refused = [&](const Context& context) {
    return invalid([&] { TrainOneStepCell(net, sgd(1), 1, context); });
  };
  Context context;
  context.after_operation = [](const OperationRun&) { return true; };
  EXPECT_EQ(refused(context), "after_operation in mode kGraph, which plans graphs whole; expected kPynative");
  context.mode = Mode::kPynative;
  EXPECT_EQ(refused(context), "");
  context.executor.random = RandomEngine::kXoroshiro128aox;
  EXPECT_EQ(refused(context),
            "random bits of xoroshiro128aox in mode kPynative: they have no address; expected philox, or kGraph");
  context.mode = static_cast<Mode>(2);
  EXPECT_EQ(refused(context), "mode is 2; expected kGraph or kPynative");
}

TEST(Modes, M15OneExecutorOneStepAtATime) {
  Scalar net(times);
  Context context;
  context.mode = Mode::kPynative;
  TrainOneStepCell* again = nullptr;
  int refusals = 0;
  context.after_operation = [&](const OperationRun&) {
    refusals += refusal<std::logic_error>([&] { (*again)(scalar_batch(1)); }).find("in the middle of a step") !=
                std::string::npos;
    return refusals < 2;
  };
  TrainOneStepCell step(net, sgd(1), 1, context);
  again = &step;
  EXPECT_THROW(step(scalar_batch(1)), RunStopped);
  EXPECT_EQ(refusals, 2);
}

TEST(Modes, M15ANodeAlone) {
  GraphBuilder b;
  const Port x = b.placeholder("x", kFloat16, {2});
  b.add("VariableV2", {}, {{"dtype", kFloat16}, {"shape", Shape{2}}}, "v");
  const Port y = b.add("Mul", {x, x}, {}, "y");
  b.add("Assign", {y}, {{"ref", "v"}}, "a");
  const Graph graph = b.build();
  const Graph alone = GraphBuilder::alone(graph, graph.find("y"));
  ASSERT_EQ(alone.size(), 3);
  EXPECT_EQ(alone.node(0).name, "y/input0");
  EXPECT_EQ(alone.node(1).op, "Placeholder");
  EXPECT_EQ(alone.node(2).operation_id, graph.node(graph.find("y")).operation_id);
  EXPECT_EQ(alone.node(2).outputs, graph.node(graph.find("y")).outputs);
  EXPECT_EQ(refusal<GraphError>([&] { GraphBuilder::alone(graph, graph.find("a")); }),
            "Assign 'a' refers to another node; expected one that stands alone");
}

}  // namespace
}  // namespace softamp::test
