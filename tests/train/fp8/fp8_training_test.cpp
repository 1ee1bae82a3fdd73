// Training under recipes of block formats: where the graph quantises, that scales move, and that they are kept.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <memory>
#include <set>

#include "softamp/graph/operation.h"
#include "softamp/names/block_format_names.h"
#include "softamp/train/exchange.h"
#include "tests/files.h"
#include "tests/refusal.h"
#include "tests/train/mechanism_rig.h"
#include "tests/train/ranks.h"

namespace softamp::mechanisms {
namespace {

using test::refusal;
using testing::HasSubstr;

/// Two hidden dense layers, a bias and a head.
Port dense_network(VariableStore& store, Port x) {
  x = layers::flatten(store, x);
  x = layers::dense(store, x, 24, {.relu = true}, "first");
  x = layers::dense(store, x, 16, {.relu = true}, "second");
  return layers::dense(store, x, 10, {}, "head");
}
Model dense_model() { return build_model(dense_network, tiny_options()); }

/// "first/MatMul[0]: mxfp8_e4m3 along 1": of each product, what its operands are.
std::vector<std::string> quantised(const Graph& g) {
  std::vector<std::string> all;
  for (const Node& n : g.nodes()) {
    if (n.op != "MatMul" && !n.op.starts_with("Conv2D")) continue;
    for (size_t i = 0; i < 2; ++i) {
      const Node* from = &g.node(n.inputs[i].node);
      if (from->op != "FakeQuantize") continue;
      std::string line = n.name + "[" + std::to_string(i) + "]: " + attribute<std::string>(*from, "format") +
                         " along " + std::to_string(attribute<int64_t>(*from, "axis"));
      if (g.node(from->inputs[0].node).op == "HadamardTransform") line += ", transformed";
      all.push_back(line);
    }
  }
  return all;
}

// tests: N499, N503
TEST(Fp8Training, BlocksLieAlongTheAxisThatEachProductSums) {
  const Trainer trainer(dense_model(), tiny_trainer("fp8=mxfp8"));
  const std::string f = "mxfp8_e4m3:scale_rule=rceil";
  // y = x W sums the inputs; dx = g W^T the outputs; dW = x^T g the batch.
  EXPECT_THAT(quantised(trainer.gradient_graph()),
              testing::ElementsAre("first/MatMul[0]: " + f + " along 1", "first/MatMul[1]: " + f + " along 0",
                                   "second/MatMul[0]: " + f + " along 1", "second/MatMul[1]: " + f + " along 0",
                                   "gradients/second/MatMul_grad/MatMul[0]: " + f + " along 1",
                                   "gradients/second/MatMul_grad/MatMul[1]: " + f + " along 1",
                                   "gradients/second/MatMul_grad/MatMul_1[0]: " + f + " along 0",
                                   "gradients/second/MatMul_grad/MatMul_1[1]: " + f + " along 0",
                                   "gradients/first/MatMul_grad/MatMul[0]: " + f + " along 0",
                                   "gradients/first/MatMul_grad/MatMul[1]: " + f + " along 0"));
}

// tests: N499, N502
TEST(Fp8Training, EachOperandHasItsFormat) {
  Fp8Recipe recipe = Fp8Recipe::find("nvfp4");
  recipe.keep_last = 0;
  const std::string sr = "nvfp4:rounding=stochastic,bits=8";
  TrainerOptions o = tiny_trainer();
  o.pass = [recipe](const Graph& graph, std::span<const std::string> fetches) {
    return quantize_products(graph, recipe, fetches);
  };
  const Trainer trainer(dense_model(), o);
  const std::vector<std::string> found = quantised(trainer.gradient_graph());
  EXPECT_THAT(found, testing::Contains("head/MatMul[1]: nvfp4_16x16 along -1"));
  EXPECT_THAT(found, testing::Contains("gradients/second/MatMul_grad/MatMul[0]: " + sr + " along 1"));
  EXPECT_THAT(found, testing::Contains("gradients/second/MatMul_grad/MatMul[1]: nvfp4_16x16 along -1"));
  EXPECT_THAT(found, testing::Contains("gradients/second/MatMul_grad/MatMul_1[0]: nvfp4 along 0, transformed"));
  EXPECT_THAT(found, testing::Contains("gradients/second/MatMul_grad/MatMul_1[1]: " + sr + " along 0, transformed"));
  EXPECT_THAT(trainer.precision_report()->colours.messages.back(),
              HasSubstr("quantised the operands of 8 products of 3 linear layers; kept 0"));
}

// tests: N499
TEST(Fp8Training, ConvolutionsHaveBlocksAlongChannelsAndTheBatch) {
  const Trainer trainer(tiny_model(), tiny_trainer("fp8=mxfp8"));
  const std::vector<std::string> found = quantised(trainer.gradient_graph());
  const std::string f = "mxfp8_e4m3:scale_rule=rceil";
  const auto has = [&](const char* part, const std::string& end) {
    return std::any_of(found.begin(), found.end(),
                       [&](const std::string& l) { return l.find(part) != std::string::npos && l.ends_with(end); });
  };
  EXPECT_TRUE(has("/Conv2D[0]: ", f + " along 3"));
  EXPECT_TRUE(has("/Conv2D[1]: ", f + " along 2"));
  EXPECT_TRUE(has("/Conv2DBackpropInput[0]: ", f + " along 3"));
  EXPECT_TRUE(has("/Conv2DBackpropInput[1]: ", f + " along 3"));
  EXPECT_TRUE(has("/Conv2DBackpropFilter[0]: ", f + " along 0"));
  EXPECT_TRUE(has("/Conv2DBackpropFilter[1]: ", f + " along 0"));
}

/// One step by hand: the products of quantised operands, float32 for the rest.
TEST(Fp8Training, AStepIsThatOfQuantisedOperands) {
  const Batch batch = std::move(batches_of(0, 1)[0]);
  Trainer plain(dense_model(), tiny_trainer()), quantising(dense_model(), tiny_trainer("fp8=fp8_current"));
  const double before = plain.step(batch).loss, after = quantising.step(batch).loss;
  EXPECT_NE(before, after);
  EXPECT_NEAR(before, after, 0.1);
  // Of a recipe that quantises nothing every bit is that of none.
  TrainerOptions o = tiny_trainer();
  Fp8Recipe nothing;
  o.pass = [nothing](const Graph& g, std::span<const std::string> fetches) {
    return quantize_products(g, nothing, fetches);
  };
  Trainer same(dense_model(), o);
  EXPECT_EQ(same.step(batch).loss, before);
  EXPECT_EQ(same.weight_hash(), plain.weight_hash());
}

/// A product that quantises its operands itself is the product of quantised operands.
TEST(Fp8Training, ScaledProductsAreThoseOfQuantisedOperands) {
  const auto under = [](const char* accumulation) {
    Fp8Recipe recipe = Fp8Recipe::find("mxfp8");
    recipe.accumulation = accumulation;
    TrainerOptions o = tiny_trainer();
    o.pass = [recipe](const Graph& g, std::span<const std::string> fetches) {
      return quantize_products(g, recipe, fetches);
    };
    return std::make_unique<Trainer>(dense_model(), o);
  };
  const auto apart = under(""), chain = under("fp32_chain"), hopper = under("hopper");
  int scaled = 0;
  for (const Node& n : chain->gradient_graph().nodes()) scaled += n.op == "ScaledMatMul";
  EXPECT_EQ(scaled, 5);
  EXPECT_TRUE(quantised(chain->gradient_graph()).empty());
  for (int s = 0; s < 3; ++s) {
    const Batch batch = std::move(batches_of(s, 1)[0]);
    EXPECT_EQ(apart->step(batch).loss, chain->step(batch).loss) << s;
    EXPECT_GT(hopper->step(batch).loss, 0) << s;
  }
  EXPECT_EQ(apart->weight_hash(), chain->weight_hash());
  EXPECT_NE(apart->weight_hash(), hopper->weight_hash());  // 13 bits are kept of each product
}

float state_of(const Trainer& t, const std::string& name, int64_t i = 0) {
  return static_cast<float>(t.variable(name).value(i));
}

TEST(Fp8Training, DelayedScalesFollowTheStepsBefore) {
  TrainerOptions o = tiny_trainer("fp8=fp8_delayed");
  Trainer trainer(dense_model(), o);
  std::map<std::string, std::vector<float>> amaxes;
  const std::vector<std::string> sites = {"fp8/first/MatMul/input", "fp8/first/MatMul/weight",
                                          "fp8/second/MatMul/gradient"};
  for (int step = 0; step < 6; ++step) {
    trainer.step(batches_of(step, 1));
    for (const std::string& site : sites) {
      std::vector<float>& seen = amaxes[site];
      // The scale that this step used: from the greatest of the steps before.
      float greatest = 0;
      for (const float a : seen) greatest = std::max(greatest, a);
      const float most = site.ends_with("gradient") ? 57344.0F : 448.0F;
      EXPECT_EQ(state_of(trainer, site + "/scale"), greatest > 0 ? most / greatest : 1.0F) << site << ", step " << step;
      if (!seen.empty()) {
        EXPECT_EQ(state_of(trainer, site + "/amax_history"), seen.back()) << site;
      }
      seen.push_back(state_of(trainer, site + "/amax"));
      EXPECT_GT(seen.back(), 0.0F) << site;
    }
  }
  // What a weight's amax is, by hand.
  Trainer fresh(dense_model(), o);
  float greatest = 0;
  for (const double w : fresh.variable("first/kernel").values())
    greatest = std::max(greatest, std::fabs(static_cast<float>(w)));
  fresh.step(batches_of(0, 1));
  EXPECT_EQ(state_of(fresh, "fp8/first/MatMul/weight/amax"), greatest);
}

// tests: N500
TEST(Fp8Training, ScalesArePartOfTheState) {
  for (const char* mechanism : {"fp8=fp8_delayed", "fp8=nvfp4"}) {
    TrainerOptions o = tiny_trainer(mechanism);
    Trainer whole(dense_model(), o), first(dense_model(), o);
    for (int s = 0; s < 5; ++s) whole.step(batches_of(s, 1));
    for (int s = 0; s < 3; ++s) first.step(batches_of(s, 1));
    Trainer second(dense_model(), o);
    second.set_state(first.state());
    for (int s = 3; s < 5; ++s) second.step(batches_of(s, 1));
    const auto a = whole.state(), b = second.state();
    ASSERT_EQ(a.tensors[0].size(), b.tensors[0].size());
    const bool delayed = std::string(mechanism) == "fp8=fp8_delayed";
    const auto scales = std::count_if(a.tensors[0].begin(), a.tensors[0].end(),
                                      [](const auto& t) { return t.first.starts_with("fp8/"); });
    EXPECT_EQ(scales, delayed ? 18 : 0) << mechanism;  // three variables for each of two layers' three operands
    for (size_t i = 0; i < a.tensors[0].size(); ++i)
      EXPECT_TRUE(a.tensors[0][i].second.same_bits(b.tensors[0][i].second))
          << mechanism << ", " << a.tensors[0][i].first;
  }
}

TEST(Fp8Training, AnEvaluationChangesNoScale) {
  Trainer looked(dense_model(), tiny_trainer("fp8=fp8_delayed")),
      not_looked(dense_model(), tiny_trainer("fp8=fp8_delayed"));
  for (int s = 0; s < 3; ++s) {
    looked.step(batches_of(s, 1));
    not_looked.step(batches_of(s, 1));
    const Tensor once = looked.logits(batches_of(9, 1)[0].images), again = looked.logits(batches_of(9, 1)[0].images);
    EXPECT_TRUE(once.same_bits(again));
  }
  EXPECT_EQ(looked.weight_hash(), not_looked.weight_hash());
  EXPECT_EQ(state_of(looked, "fp8/first/MatMul/input/scale"), state_of(not_looked, "fp8/first/MatMul/input/scale"));
}

// tests: N501
TEST(Fp8Training, ReplicasAgreeOnTheGreatestMagnitude) {
  TrainerOptions o = tiny_trainer("fp8=fp8_delayed");
  o.replicas = 2;
  Trainer both(dense_model(), o);
  both.step(batches_of(0, 2));
  // Each replica alone: the greater of the two is what both go on with; now the one, now the other has it.
  std::set<int> greater;
  for (const char* site :
       {"first/MatMul/input", "first/MatMul/gradient", "second/MatMul/input", "second/MatMul/gradient"}) {
    const std::string amax = std::string("fp8/") + site + "/amax";
    float alone[2];
    for (int r = 0; r < 2; ++r) {
      Trainer one(dense_model(), tiny_trainer("fp8=fp8_delayed"));
      for (const Batch& batch : batches_of(r, 1)) one.step(batch);
      alone[r] = state_of(one, amax);
    }
    if (alone[0] != alone[1]) greater.insert(alone[1] > alone[0]);
    for (int r = 0; r < 2; ++r)
      EXPECT_EQ(static_cast<float>(both.variable(amax, r).value(0)), std::max(alone[0], alone[1])) << site;
  }
  EXPECT_EQ(greater.size(), 2u);
  EXPECT_FALSE(both.replicas_may_differ());
  for (int s = 1; s < 4; ++s) both.step(batches_of(2 * s, 2));
  EXPECT_EQ(both.state().tensors.size(), 1u);  // equal on all replicas
  // Shared by two ranks: the same bits.
  std::string hash;
  const auto errors = test::on_ranks(2, [&](Exchange& exchange) {
    TrainerOptions mine = o;
    mine.exchange = &exchange;
    mine.executor.threads = 1;
    Trainer shared(dense_model(), mine);
    for (int s = 0; s < 4; ++s) {
      std::vector<Batch> all = batches_of(2 * s, 2);
      const Batch& here = all[static_cast<size_t>(exchange.rank())];
      shared.step(here);
    }
    if (exchange.rank() == 1) hash = shared.weight_hash();
  });
  for (const std::string& e : errors) EXPECT_EQ(e, "");
  EXPECT_EQ(hash, both.weight_hash());
  o.accumulation = 2;
  EXPECT_THAT(refusal<std::invalid_argument>([&] { Trainer(dense_model(), o); }),
              HasSubstr("2 replicas with 2 micro-batches each"));
  o.accumulation = 1;
  o.replica_invariant = true;
  EXPECT_THAT(refusal<std::invalid_argument>([&] { Trainer(dense_model(), o); }),
              HasSubstr("keeps state from one slice to the next"));
}

/// The published order on generated images: 8 bits learn as float32 does, 4 bits to nearest do not.
TEST(Fp8Training, EightBitsLearnAsFloat32Does) {
  const double none = learn("none", 1).loss;
  for (const char* mechanism :
       {"fp8=mxfp8", "fp8=fp8_current", "fp8=fp8_delayed", "fp8=deepseek_v3", "fp8=unit_scaling"}) {
    const double loss = learn(mechanism, 1).loss;
    EXPECT_LT(loss, 1.0) << mechanism;
    EXPECT_NE(loss, none) << mechanism;
  }
}

}  // namespace
}  // namespace softamp::mechanisms
