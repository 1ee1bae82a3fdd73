// Random small graphs: every instruction set and thread count against the definitions, element by element: values,
// flags, lowest offending index. A failure prints seed, operation and element.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "random_graph.h"

namespace softamp::test {
namespace {

struct Variant {
  const char* name;
  ExecutorOptions options;
};

std::vector<Variant> variants() {
  std::vector<Variant> all;
  const auto add = [&](const char* name, bool esr, bool nanoo, bool half, int block) {
    ExecutorOptions o;
    o.config.set("floating_point_behaviour.esr", esr);
    o.config.set("floating_point_behaviour.nanoo", nanoo);
    o.config.set("matmuls.poplar_options", PoplarOptions{{"partialsType", half ? "half" : "float"}});
    o.config.set("convolutions.poplar_options", PoplarOptions{{"partialsType", half ? "half" : "float"}});
    o.amp_block = block;
    o.seed = 7;
    o.status = true;
    all.push_back({name, o});
  };
  add("nearest", false, false, false, 16);
  add("stochastic", true, false, true, 16);
  add("stochastic, nanoo, block 1", true, true, true, 1);
  add("nearest, half partials, block 4", false, false, true, 4);
  ExecutorOptions ieee = all[0].options;
  ieee.semantics = Semantics::ieee();
  ieee.amp_block = 0;
  all.push_back({"ieee", ieee});
  return all;
}

struct Way {
  std::string name;
  bulk::InstructionSet isa;
  int threads;
};

std::vector<Way> ways() {
  using enum bulk::InstructionSet;
  std::vector<Way> all;
  for (const auto isa : {kPortable, kAvx2, kAvx512, kAvx512Fp16})
    if (isa <= bulk::best_instruction_set()) all.push_back({bulk::name(isa), isa, 1});
  for (const int threads : {2, 3, 8}) all.push_back({std::to_string(threads) + " threads", kAuto, threads});
  return all;
}

void expect_same(const RandomGraph& g, const RunResult& expected, const RunResult& found, const std::string& where) {
  for (size_t f = 0; f < g.fetches.size(); ++f) {
    const Tensor &x = expected.values[f], &y = found.values[f];
    if (x.same_bits(y)) continue;
    int64_t i = 0;
    while (x.code(i) == y.code(i)) ++i;
    const Node& node = g.graph.node(g.graph.port(g.fetches[f]).node);
    ADD_FAILURE() << where << ": " << node.op << " '" << g.fetches[f] << "' " << x.shape().text() << " "
                  << name_of(x.dtype()) << ", element " << i << ": expected 0x" << std::hex << x.code(i) << ", got 0x"
                  << y.code(i);
    return;  // what follows from it differs, too
  }
  ASSERT_EQ(expected.operations.size(), found.operations.size()) << where;
  for (size_t i = 0; i < expected.operations.size(); ++i) {
    EXPECT_EQ(expected.operations[i].name, found.operations[i].name) << where;
    // What the table says of inexact and underflow holds for the roundings of an operation, not for its fp32 inside.
    const FpStatus &a = expected.operations[i].status, &b = found.operations[i].status;
    for (int bit = 0; bit < kFlagCount; ++bit)
      EXPECT_EQ(a.first_index[bit], b.first_index[bit])
          << where << ": " << expected.operations[i].op << " '" << expected.operations[i].name << "', flag " << bit;
  }
}

void compare_all(uint64_t seed, int operations, bool specials) {
  RandomGraphMaker maker(seed);
  maker.specials_ = specials;
  const RandomGraph g = maker.make(operations);
  const std::vector<Feed> feeds = g.feed_list();
  for (const Variant& variant : variants()) {
    ExecutorOptions reference = variant.options;
    reference.reference = true;
    const auto slow = make_executor(g.graph, reference);
    const RunResult expected = slow->run(feeds, g.fetches);
    for (const Way& way : ways()) {
      ExecutorOptions options = variant.options;
      options.isa = way.isa;
      options.threads = way.threads;
      const auto fast = make_executor(g.graph, options);
      expect_same(g, expected, fast->run(feeds, g.fetches),
                  "seed " + std::to_string(seed) + ", " + variant.name + ", " + way.name);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

/// SOFTAMP_GRAPHS: how many of each kind.
int graphs() {
  const char* text = std::getenv("SOFTAMP_GRAPHS");
  return text ? std::atoi(text) : 20;
}

TEST(Differential, GraphsOfUsualNumbers) {
  for (int seed = 0; seed < graphs() && !HasFailure(); ++seed) compare_all(static_cast<uint64_t>(seed), 25, false);
}

TEST(Differential, GraphsWithSpecialNumbers) {
  for (int seed = 0; seed < graphs() && !HasFailure(); ++seed)
    compare_all(1000 + static_cast<uint64_t>(seed), 25, true);
}

TEST(Differential, EveryOperationHasBeenThere) {
  static const std::set<std::string> kElsewhere = {"VariableV2", "Assign", "PrintTensor", "OutfeedEnqueue",
                                                   "NoOp"};  // graph.executor
  for (uint64_t seed = 5000; seed < 5100; ++seed) RandomGraphMaker(seed).make(40);
  for (const Operation& op : operations())
    EXPECT_TRUE(RandomGraphMaker::used().count(op.name) || kElsewhere.count(op.name)) << op.name;
}

}  // namespace
}  // namespace softamp::test
