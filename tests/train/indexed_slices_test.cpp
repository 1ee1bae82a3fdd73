// MIXED_PRECISION T12: sparse gradients, from gradients to the update. Expected values are worked out by hand, or are
// those of a variable of the touched rows alone.
#include "softamp/train/indexed_slices.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "softamp/train/keras/loss_scale_optimizer.h"
#include "tests/train/optimizer_rig.h"
#include "tests/train/sgd.h"

namespace softamp {
namespace {

using test::floats;
using test::kB16;
using test::kF16;
using test::kF32;
using test::refusal;
using test::sgd;
using test::tensor;
using Numbers = std::vector<double>;
using Strings = std::vector<std::string>;
using Pairs = std::vector<GradientAndVariable>;

Tensor ints(const std::vector<double>& values) {
  return tensor(DType::kInt32, {static_cast<int64_t>(values.size())}, values);
}

Variable variable(GraphBuilder& b, const std::string& name, const TensorType& type) {
  return {name, b.add_named(name, "VariableV2", {}, {{"dtype", type.dtype}, {"shape", type.shape}})};
}

Numbers numbers(const Tensor& t) {
  Numbers all;
  for (int64_t i = 0; i < t.shape().elements(); ++i) all.push_back(t.value(i));
  return all;
}

Port gather(GraphBuilder& b, Port params, const Numbers& indices) {
  return b.add("GatherV2", {params, b.constant(ints(indices))});
}
Port total(GraphBuilder& b, Port x) { return b.add("Sum", {x}, {{"axes", std::vector<int64_t>{0, 1}}}); }

// ---- found in gradients, joined, unscaled

// tests: T12
TEST(IndexedSlices, AreTheGradientsOfGatheredRows) {
  GraphBuilder b;
  const Variable w = variable(b, "w", {kF32, {4, 2}}), v = variable(b, "v", {kF32, {3, 2}}),
                 u = variable(b, "u", {kF32, {3, 2}}), t = variable(b, "t", {kF32, {2}});
  const Port factors = b.constant(tensor(kF32, {3, 2}, {1, 2, 3, 4, 5, 6}));
  const Port scalar_index = b.constant(tensor(DType::kInt32, {}, {1}));
  Port loss = total(b, b.add("Mul", {gather(b, w.port, {3, 1, 3}), factors}));
  // v is read twice; u is read twice, once densely; t by a scalar index.
  for (const Port p : {total(b, gather(b, v.port, {2})),
                       total(b, b.add("Mul", {gather(b, v.port, {0, 2}), gather(b, u.port, {1, 1})})), total(b, u.port),
                       b.add("GatherV2", {t.port, scalar_index})})
    loss = b.add("AddV2", {loss, p});
  const MixedPrecisionLossScaleOptimizer optimizer(TrainOptimizer{sgd(1)}, 4);
  const Pairs dense = optimizer.compute_gradients(b, loss, std::vector{w, v, u, t});
  for (const GradientAndVariable& pair : dense) EXPECT_TRUE(pair.gradient && !pair.slices) << pair.variable.name;
  const Pairs sparse = optimizer.compute_gradients(b, loss, std::vector{w, v, u, t}, {}, true);
  ASSERT_EQ(sparse.size(), 4u);
  for (const size_t i : {0u, 1u, 3u}) ASSERT_TRUE(sparse[i].slices && !sparse[i].gradient) << i;
  EXPECT_TRUE(sparse[2].gradient && !sparse[2].slices);  // dense in part
  EXPECT_EQ(sparse[0].slices->dense_shape, (Shape{4, 2}));
  EXPECT_EQ(sparse[3].slices->dense_shape, (Shape{2}));

  const Graph graph = b.build();
  const auto executor = make_executor(graph);
  executor->set_variable("w", tensor(kF32, {4, 2}, Numbers(8, 1)));
  executor->set_variable("v", tensor(kF32, {3, 2}, Numbers(6, 1)));
  executor->set_variable("u", tensor(kF32, {3, 2}, {0, 0, 7, 9, 0, 0}));
  executor->set_variable("t", floats({1, 1}));
  Strings names;
  for (const size_t i : {0u, 1u, 3u})
    for (const Port p : {sparse[i].slices->values, sparse[i].slices->indices}) names.push_back(graph.port_name(p));
  const RunResult r = executor->run({}, names);
  EXPECT_EQ(numbers(r.values[0]), (Numbers{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(numbers(r.values[1]), (Numbers{3, 1, 3}));
  EXPECT_EQ(numbers(r.values[2]), (Numbers{1, 1, 7, 9, 7, 9}));  // the readers in their order in the graph
  EXPECT_EQ(numbers(r.values[3]), (Numbers{2, 0, 2}));
  EXPECT_EQ(numbers(r.values[4]), Numbers{1});
  EXPECT_EQ(numbers(r.values[5]), Numbers{1});
}

// tests: T12
TEST(IndexedSlices, UnscalingKeepsTheIndices) {
  const MixedPrecisionLossScaleOptimizer eight(TrainOptimizer{}, 8);
  GraphBuilder b;
  const Variable w = variable(b, "w", {kF16, {9, 2}}), v = variable(b, "v", {kF32, {1}}),
                 u = variable(b, "u", {kF32, {2}});
  const IndexedSlices slices{b.constant(tensor(kF16, {2, 2}, {0x1p-24, 16, -8, 3})), b.constant(ints({7, 7})), {9, 2}};
  const Pairs unscaled =
      eight.get_unscaled_gradients(b, Pairs{{{}, w, slices}, {{}, v}, {b.constant(floats({2, 4})), u}});
  ASSERT_EQ(unscaled.size(), 3u);
  ASSERT_TRUE(unscaled[0].slices.has_value());
  EXPECT_FALSE(unscaled[0].gradient.has_value());
  EXPECT_EQ(unscaled[0].slices->indices, slices.indices);  // the same port: not copied, not summed
  EXPECT_EQ(unscaled[0].slices->dense_shape, slices.dense_shape);
  EXPECT_EQ(unscaled[0].variable.name, "w");
  EXPECT_TRUE(unscaled[1].missing());
  EXPECT_FALSE(unscaled[2].slices.has_value());
  const Graph graph = b.build();
  const RunResult r = make_executor(graph)->run(
      {}, Strings{graph.port_name(unscaled[0].slices->values), graph.port_name(*unscaled[2].gradient)});
  EXPECT_EQ(r.values[0].dtype(), kF32);  // cast before it is unscaled: 2^-27 is no half
  EXPECT_EQ(numbers(r.values[0]), (Numbers{0x1p-27, 2, -1, 0.375}));
  EXPECT_EQ(numbers(r.values[1]), (Numbers{0.25, 0.5}));
}

// tests: T12
TEST(IndexedSlices, SumsOfReplicasAreSlicesOneAfterTheOther) {
  GraphBuilder b;
  const Variable w = variable(b, "w", {kF32, {3}});
  const auto part = [&](const Numbers& values, const Numbers& indices) {
    return GradientAndVariable{{}, w, IndexedSlices{b.constant(floats(values)), b.constant(ints(indices)), {3}}};
  };
  const GradientAndVariable first = part({1, 2}, {2, 0}), second = part({4}, {2}), none{{}, w},
                            dense{b.constant(floats({10, 20, 30})), w};
  const GradientAndVariable sparse = sum_gradients(b, Pairs{first, none, second}),
                            mixed = sum_gradients(b, Pairs{first, dense, second});
  ASSERT_TRUE(sparse.slices && !sparse.gradient);
  ASSERT_TRUE(mixed.gradient && !mixed.slices);
  EXPECT_TRUE(sum_gradients(b, Pairs{none, none}).missing());
  EXPECT_EQ(sum_gradients(b, Pairs{none, dense}).gradient, dense.gradient);
  EXPECT_EQ(sum_gradients(b, Pairs{none, first}).slices->values, first.slices->values);
  const Port whole = to_dense(b, *sparse.slices);
  const Graph graph = b.build();
  const RunResult r = make_executor(graph)->run(
      {}, Strings{graph.port_name(sparse.slices->values), graph.port_name(sparse.slices->indices),
                  graph.port_name(*mixed.gradient), graph.port_name(whole)});
  EXPECT_EQ(numbers(r.values[0]), (Numbers{1, 2, 4}));
  EXPECT_EQ(numbers(r.values[1]), (Numbers{2, 0, 2}));
  EXPECT_EQ(numbers(r.values[2]), (Numbers{12, 20, 35}));
  EXPECT_EQ(numbers(r.values[3]), (Numbers{2, 0, 5}));
}

// ---- updates

/// w, its slots, and an update from fed slices: placeholders "values", "indices", "lr", "apply".
struct SliceRig {
  SliceRig(const OptimizerOptions& options, const TensorType& w, int64_t n, DType gradient = kF32,
           ExecutorOptions run_options = {}) {
    GraphBuilder b;
    const Variable v = variable(b, "w", w);
    std::vector<int64_t> extents{n};
    extents.insert(extents.end(), w.shape.begin() + 1, w.shape.end());
    row = Shape(extents);
    dtype = gradient;
    const IndexedSlices slices{b.placeholder("values", gradient, row), b.placeholder("indices", DType::kInt32, {n}),
                               w.shape};
    const Port lr = b.placeholder("lr", kF32, {}), apply = b.placeholder("apply", DType::kBool, {});
    Optimizer(options).apply_gradients(b, Pairs{{{}, v, slices}}, lr, apply);
    run_options.status = true;
    executor = make_executor(b.build(), std::move(run_options));
    executor->set_variable("w", Tensor::full(w.dtype, w.shape, 0));
    for (const VariableSpec& s : Optimizer(options).slots({"w", w, {}, true})) {
      names.push_back(s.name);
      executor->set_variable(s.name,
                             Tensor::full(s.type.dtype, s.type.shape, s.initializer == Initializer::ones() ? 1 : 0));
    }
  }
  uint8_t step(const Numbers& values, const Numbers& indices, double rate, bool apply = true) {
    const Tensor v = tensor(dtype, row, values), i = ints(indices), lr = Tensor::full(kF32, {}, rate),
                 flag = Tensor::full(DType::kBool, {}, apply);
    return test::run(*executor, {{"values", &v}, {"indices", &i}, {"lr", &lr}, {"apply", &flag}}, {}).flags;
  }
  Numbers w() const { return numbers(executor->variable("w")); }
  Numbers slot(size_t i) const { return numbers(executor->variable(names[i])); }

  Shape row;
  DType dtype = kF32;
  std::unique_ptr<Executor> executor;
  Strings names;
};

OptimizerOptions momentum(OptimizerKind kind, double share) {
  OptimizerOptions o = OptimizerOptions::of(kind);
  o.momentum = share;
  return o;
}

// tests: T12
TEST(SparseUpdates, PartsOfARowAreSummedFirstInAscendingPosition) {
  // 2^24 + 1 is 2^24 in float32: only the second order keeps the 1.
  for (const auto& [parts, sum] :
       std::vector<std::pair<Numbers, double>>{{{0x1p24, 1, -0x1p24}, 0}, {{0x1p24, -0x1p24, 1}, 1}}) {
    SliceRig rig(sgd(1), {kF32, {3}}, 3);
    rig.step(parts, {1, 1, 1}, 1);
    EXPECT_EQ(rig.w(), (Numbers{0, -sum, 0}));
  }
  {  // the squares of Adam are of the sum: (1 + 2)^2, not 1 + 4
    OptimizerOptions adam = OptimizerOptions::of(OptimizerKind::kAdam);
    adam.beta2 = 0.5;
    SliceRig rig(adam, {kF32, {2}}, 2);
    rig.step({1, 2}, {0, 0}, 0);
    EXPECT_EQ(rig.slot(1), (Numbers{4.5, 0}));
  }
  {  // in half the sum is rounded once: 2048 + 1 + 1 + 1 = 2051, which lies between 2050 and 2052
    SliceRig rig(sgd(1), {kF32, {1}}, 4, kF16);
    rig.step({2048, 1, 1, 1}, {0, 0, 0, 0}, 1);
    EXPECT_EQ(rig.w(), Numbers{-2052});
  }
}

// tests: T12
TEST(SparseUpdates, PlainDescentIsTheDensePathBitForBit) {
  for (const DType dtype : {kF16, kB16, kF32})
    for (const bool separate : {false, true}) {
      OptimizerOptions o = sgd(0.1);
      o.separate_roundings = separate;
      const TensorType type{dtype, {6, 3}};
      SliceRig sparse(o, type, 4);
      test::UpdateRig dense(o, type, kF32);
      Numbers w;
      for (int i = 0; i < 18; ++i) w.push_back((i % 7 - 3) / 3.0);
      sparse.executor->set_variable("w", tensor(dtype, type.shape, w));
      dense.set("w", w);
      for (int step = 0; step < 5; ++step) {
        Numbers values, indices, scattered(18, 0);
        for (int i = 0; i < 4; ++i) indices.push_back((step + i * i) % 6);
        for (int i = 0; i < 12; ++i) {
          values.push_back(static_cast<double>(static_cast<float>(std::sin(step * 12 + i) / 5)));
          double& sum =
              scattered[static_cast<size_t>(indices[static_cast<size_t>(i) / 3]) * 3 + static_cast<size_t>(i) % 3];
          sum = static_cast<double>(static_cast<float>(sum) + static_cast<float>(values.back()));
        }
        sparse.step(values, indices, 0.1f);
        dense.step(scattered, 0.1f);
        EXPECT_TRUE(sparse.executor->variable("w").same_bits(dense.w()))
            << name_of(dtype) << " " << separate << " " << step;
      }
      EXPECT_NE(sparse.w(), w);
    }
}

// tests: N264, T12
TEST(SparseUpdates, MomentumMovesTheTouchedRowsAlone) {
  SliceRig rig(momentum(OptimizerKind::kMomentum, 0.5), {kF32, {3, 2}}, 1);
  rig.step({1, 2}, {0}, 1);
  EXPECT_EQ(rig.w(), (Numbers{-1, -2, 0, 0, 0, 0}));
  EXPECT_EQ(rig.slot(0), (Numbers{1, 2, 0, 0, 0, 0}));
  rig.step({4, 8}, {2}, 1);  // a dense gradient would move row 0 on, by -0.5 and -1
  EXPECT_EQ(rig.w(), (Numbers{-1, -2, 0, 0, -4, -8}));
  EXPECT_EQ(rig.slot(0), (Numbers{1, 2, 0, 0, 4, 8}));
  rig.step({1, 1}, {0}, 1);
  EXPECT_EQ(rig.w(), (Numbers{-2.5, -4, 0, 0, -4, -8}));
  EXPECT_EQ(rig.slot(0), (Numbers{1.5, 2, 0, 0, 4, 8}));
  rig.step({1, 1}, {1}, 1, false);  // a skipped step moves nothing
  EXPECT_EQ(rig.w(), (Numbers{-2.5, -4, 0, 0, -4, -8}));
  EXPECT_EQ(rig.slot(0), (Numbers{1.5, 2, 0, 0, 4, 8}));
}

// tests: T12
TEST(SparseUpdates, NesterovAndRmsPropToo) {
  for (const OptimizerKind kind : {OptimizerKind::kNesterov, OptimizerKind::kRmsProp})
    for (const bool separate : {false, true}) {
      OptimizerOptions o = momentum(kind, 0.5);
      o.separate_roundings = separate;
      SliceRig rig(o, {kF32, {3}}, 1);
      test::UpdateRig rows[3] = {{o, {kF32, {1}}, kF32}, {o, {kF32, {1}}, kF32}, {o, {kF32, {1}}, kF32}};
      for (test::UpdateRig& row : rows) row.set("w", {0});
      for (const int row : {0, 2, 2, 0}) {
        rig.step({row + 0.5}, {static_cast<double>(row)}, 0.25);
        rows[row].step({row + 0.5}, 0.25);
        for (int i = 0; i < 3; ++i) {
          EXPECT_EQ(rig.w()[static_cast<size_t>(i)], rows[i].w().value(0)) << name_of(kind) << " " << i;
          EXPECT_EQ(rig.slot(0)[static_cast<size_t>(i)], rows[i].slot(0).value(0)) << name_of(kind) << " " << i;
        }
      }
      EXPECT_EQ(rig.w()[1], 0);
      EXPECT_NE(rig.w()[2], 0);
    }
}

// tests: T12
TEST(SparseUpdates, AdamMovesAllRowsAsDense) {
  for (const OptimizerKind kind : {OptimizerKind::kAdam, OptimizerKind::kAdamW}) {
    const OptimizerOptions o = OptimizerOptions::of(kind);
    SliceRig rig(o, {kF32, {2}}, 1);
    test::UpdateRig dense(o, {kF32, {2}}, kF32);
    dense.set("w", {0, 0});
    rig.step({1}, {0}, 0.5);
    dense.step({1, 0}, 0.5);
    const double once = rig.w()[0];
    rig.step({1}, {1}, 0.5);
    dense.step({0, 1}, 0.5);
    EXPECT_NE(rig.w()[0], once) << name_of(kind);  // moved on by its momentum, though not touched
    EXPECT_TRUE(rig.executor->variable("w").same_bits(dense.w())) << name_of(kind);
    for (size_t i = 0; i < 2; ++i)
      EXPECT_TRUE(rig.executor->variable(rig.names[i]).same_bits(dense.slot(i))) << name_of(kind);
  }
}

// tests: T12
TEST(SparseUpdates, OtherRowsAreNotRead) {
  for (const OptimizerKind kind : {OptimizerKind::kSgd, OptimizerKind::kMomentum, OptimizerKind::kRmsProp}) {
    SliceRig rig(OptimizerOptions::of(kind), {kF32, {3}}, 1);
    Tensor w = floats({0, 5, 0});
    w.as<float>()[0] = std::bit_cast<float>(0x7fa00001u);  // a signalling NaN
    w.as<float>()[2] = -0.0f;
    rig.executor->set_variable("w", w);
    EXPECT_EQ(rig.step({1}, {1}, 0.5), 0) << name_of(kind);  // no flag
    const Tensor& after = rig.executor->variable("w");
    EXPECT_EQ(after.code(0), 0x7fa00001u) << name_of(kind);
    EXPECT_EQ(after.code(2), 0x80000000u) << name_of(kind);
    EXPECT_LT(after.value(1), 5);
  }
}

// ---- a training loop of the user's own

// tests: T12
TEST(SparseLoop, ScaledSparseGradientsFromLossToUpdate) {
  GraphBuilder b;
  const Variable table = variable(b, "table", {kF32, {3, 2}});
  const Port ids = b.placeholder("ids", DType::kInt32, {3}), x = b.placeholder("x", kF32, {3, 2}),
             rate = b.placeholder("rate", kF32, {}), scale = b.placeholder("scale", kF32, {});
  LossScaleOptimizer optimizer(KerasOptimizer{momentum(OptimizerKind::kMomentum, 0.5)}, KerasLossScale{true, 8.0, 1});
  const Port loss = total(b, b.add("Mul", {b.add("GatherV2", {table.port, ids}), x}));
  // As a loop of one's own has it: scaled loss, gradients, unscaled gradients, update.
  const Port scaled = optimizer.get_scaled_loss(b, loss, scale);
  const Pairs gradients = sparse_gradients(
      b, Optimizer(optimizer.inner_optimizer().options).compute_gradients(b, scaled, std::vector{table}));
  const Pairs unscaled = optimizer.get_unscaled_gradients(b, gradients, scale);
  ASSERT_TRUE(unscaled[0].slices.has_value());
  EXPECT_EQ(unscaled[0].slices->indices, gradients[0].slices->indices);
  const Port applied = optimizer.apply_gradients(b, unscaled, rate);
  const Strings fetches{b.graph().port_name(applied), b.graph().port_name(gradients[0].slices->values)};
  const auto executor = make_executor(b.build());
  executor->set_variable("table", Tensor::full(kF32, {3, 2}, 0));
  executor->set_variable("table/Momentum", Tensor::full(kF32, {3, 2}, 0));
  Numbers scaled_values;
  const auto step = [&](const Numbers& indices, const Numbers& factors) {
    const Tensor i = ints(indices), f = tensor(kF32, {3, 2}, factors), lr = Tensor::full(kF32, {}, 1),
                 s = Tensor::full(kF32, {}, static_cast<double>(optimizer.loss_scale().scale()));
    const RunResult r = test::run(*executor, {{"ids", &i}, {"x", &f}, {"rate", &lr}, {"scale", &s}}, fetches);
    scaled_values = numbers(r.values[1]);
    const bool finite = r.values[0].value(0) != 0;
    optimizer.loss_scale().update({.finite = finite});
    return finite;
  };
  EXPECT_TRUE(step({2, 0, 2}, {1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(scaled_values, (Numbers{8, 16, 24, 32, 40, 48}));
  EXPECT_EQ(numbers(executor->variable("table")), (Numbers{-3, -4, 0, 0, -6, -8}));
  EXPECT_EQ(optimizer.loss_scale().scale(), 16);
  // One value that is not finite leaves out the step as a whole.
  EXPECT_FALSE(step({0, 1, 1}, {1, 1, 1, HUGE_VAL, 1, 1}));
  EXPECT_EQ(numbers(executor->variable("table")), (Numbers{-3, -4, 0, 0, -6, -8}));
  EXPECT_EQ(numbers(executor->variable("table/Momentum")), (Numbers{3, 4, 0, 0, 6, 8}));
  EXPECT_EQ(optimizer.loss_scale().scale(), 8);
  EXPECT_TRUE(step({0, 0, 0}, {1, 0, 1, 0, 1, 0}));
  EXPECT_EQ(numbers(executor->variable("table")), (Numbers{-7.5, -6, 0, 0, -6, -8}));  // acc 4.5, 2
  EXPECT_EQ(optimizer.loss_scale().scale(), 16);
}

// ---- bad input

// tests: T12
TEST(IndexedSlices, IndicesThatAreNoRowsStopTheRun) {
  for (const OptimizerKind kind : {OptimizerKind::kSgd, OptimizerKind::kAdam})
    for (const double bad : {-1.0, 3.0}) {
      SliceRig rig(OptimizerOptions::of(kind), {kF32, {3}}, 2);
      EXPECT_EQ(
          refusal<std::out_of_range>([&] {
            rig.step({1, 1}, {0, bad}, 1);
          }),
          "GatherV2 'update/w/slices': indices[1] = " + std::to_string(static_cast<int>(bad)) + " is not in [0, 3)");
      EXPECT_EQ(rig.w(), (Numbers{0, 0, 0}));
    }
}

TEST(IndexedSlices, WhatDoesNotFitIsRefused) {
  GraphBuilder b;
  const Variable w = variable(b, "w", {kF32, {4, 2}});
  const Port values = b.placeholder("values", kF32, {3, 2}), wide = b.placeholder("wide", kF32, {3, 5}),
             doubles = b.placeholder("doubles", DType::kFloat64, {3, 2}), scalar = b.placeholder("scalar", kF32, {}),
             indices = b.placeholder("indices", DType::kInt32, {3}), two = b.placeholder("two", DType::kInt32, {2}),
             real = b.placeholder("real", kF32, {3}), lr = b.placeholder("lr", kF32, {}),
             apply = b.placeholder("apply", DType::kBool, {});
  const auto refused = [&](const GradientAndVariable& pair) {
    const std::string why = refusal<GraphError>([&] { Optimizer(sgd(1)).apply_gradients(b, Pairs{pair}, lr, apply); });
    if (pair.slices && pair.slices->dense_shape == Shape{4, 2} && !pair.gradient) {  // unscaling says the same
      EXPECT_EQ(refusal<GraphError>([&] { get_unscaled_gradients(b, Pairs{pair}, lr); }), why);
    }
    return why;
  };
  const auto slices = [&](Port v, Port i, const Shape& dense = {4, 2}) {
    return refused({{}, w, IndexedSlices{v, i, dense}});
  };
  const std::string place = "the slices of variable 'w': ",
                    kinds = "; expected float16, bfloat16 or float32 [n,2], rows of [4,2]";
  EXPECT_EQ(slices(wide, indices), place + "values is wide, float32 [3,5]" + kinds);
  EXPECT_EQ(slices(doubles, indices), place + "values is doubles, float64 [3,2]" + kinds);
  EXPECT_EQ(slices(scalar, indices), place + "values is scalar, float32 []" + kinds);
  EXPECT_EQ(slices(values, two), place + "indices is two, int32 [2]; expected int32 [3], one to a row of the values");
  EXPECT_EQ(slices(values, real),
            place + "indices is real, float32 [3]; expected int32 [3], one to a row of the values");
  EXPECT_EQ(slices(Port{99, 0}, indices), place + "values is no output of the graph");
  EXPECT_EQ(slices(values, Port{99, 0}), place + "indices is no output of the graph");
  EXPECT_EQ(slices(values, indices, {5, 2}), place + "dense_shape is [5,2]; expected [4,2], that of the variable");
  EXPECT_EQ(slices(values, indices, {}), place + "dense_shape is []; expected rank 1 at least");
  EXPECT_EQ(refused({w.port, w, IndexedSlices{values, indices, {4, 2}}}),
            "variable 'w' has a gradient and slices; expected one of the two");

  const IndexedSlices good{values, indices, {4, 2}}, other{values, indices, {9, 2}};
  EXPECT_EQ(refusal<GraphError>([&] {
              concatenate(b, std::vector{good, other});
            }),
            "the slices of part 1: dense_shape is [9,2]; expected [4,2], that of part 0");
  EXPECT_EQ(refusal<GraphError>([&] { concatenate(b, {}); }), "no slices are given; expected one part at least");
  EXPECT_EQ(refusal<GraphError>([&] { sum_gradients(b, {}); }),
            "no gradients are given to be summed; expected one part at least");
  EXPECT_EQ(refusal<GraphError>([&] {
              sum_gradients(b, Pairs{{w.port, w}, {w.port, Variable{"v", w.port}}});
            }),
            "a gradient of variable 'v' among those to be summed of variable 'w'");
  EXPECT_EQ(refused({{}, w, good}), "");
}

}  // namespace
}  // namespace softamp
