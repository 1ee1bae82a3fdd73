// Random small graphs, and every test row by itself: every instruction set and thread count against the definitions,
// element by element: values, flags, lowest offending index. A failure prints seed, operation and element.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <optional>

#include "random_graph.h"
#include "tests/graph/models/model_run.h"
#include "tests/ops/named_rows.h"

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
    o.print = [](const std::string&) {};
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
  for (const auto isa : bulk::instruction_sets()) all.push_back({bulk::name(isa), isa, 1});
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

/// Under every variant, or one of them.
void compare_all(const RandomGraph& g, const std::string& what, std::optional<size_t> chosen = {}) {
  static const std::vector<Variant> kVariants = variants();
  static const std::vector<Way> kWays = ways();
  const std::vector<Feed> feeds = g.feed_list();
  for (const Variant& variant : kVariants) {
    if (chosen && &variant != &kVariants[*chosen % kVariants.size()]) continue;
    ExecutorOptions reference = variant.options;
    reference.reference = true;
    const RunResult expected = make_executor(g.graph, reference)->run(feeds, g.fetches);
    for (const Way& way : kWays) {
      ExecutorOptions options = variant.options;
      options.isa = way.isa;
      options.threads = way.threads;
      expect_same(g, expected, make_executor(g.graph, options)->run(feeds, g.fetches),
                  what + ", " + variant.name + ", " + way.name);
      if (::testing::Test::HasFailure()) return;
    }
  }
}
void compare_random(uint64_t seed, bool specials) {
  RandomGraphMaker maker(seed);
  maker.specials_ = specials;
  compare_all(maker.make(25), "seed " + std::to_string(seed));
}

/// The graph of a row, fed with what its numbers say, else with any.
RandomGraph graph_of(const NodeRow& row, DType type, Data data, uint64_t seed) {
  RandomGraph g;
  GraphBuilder b;
  const Port node = add_node(row, placeholders_of(row, type, b), b);
  for (size_t i = 0; i < row.inputs.size(); ++i) {
    const NodeRow::Input& in = row.inputs[i];
    const DType own = row.dtype(i, type);
    g.feeds.emplace("x" + std::to_string(i), in.numbers.empty()
                                                 ? random_tensor(own, in.shape, data, seed * 10 + i)
                                                 : Tensor::from_values(own, Shape(in.shape), in.numbers));
  }
  g.graph = b.build();
  if (row.op == "Placeholder") g.feeds.emplace(g.graph.node(node.node).name, Tensor(g.graph.type(node)));
  for (int port = 0; port < static_cast<int>(g.graph.node(node.node).outputs.size()); ++port)
    g.fetches.push_back(g.graph.port_name({node.node, port}));
  return g;
}

/// SOFTAMP_GRAPHS: how many of each kind.
int graphs() {
  const char* text = std::getenv("SOFTAMP_GRAPHS");
  return text ? std::atoi(text) : 20;
}

TEST(Differential, GraphsOfUsualNumbers) {
  for (int seed = 0; seed < graphs() && !HasFailure(); ++seed) compare_random(static_cast<uint64_t>(seed), false);
}

TEST(Differential, GraphsWithSpecialNumbers) {
  for (int seed = 0; seed < graphs() && !HasFailure(); ++seed) compare_random(1000 + static_cast<uint64_t>(seed), true);
}

class DifferentialRows : public RowTest<NodeRow> {};
INSTANTIATE_TEST_SUITE_P(Rows, DifferentialRows, ::testing::ValuesIn(named(node_rows())), kNameOfRow);

/// SOFTAMP_ROWS [=1]: how often with other numbers. Each time a dtype is tried under one setting, with moderate numbers
/// or with any codes.
TEST_P(DifferentialRows, EqualTheirBodies) {
  const char* text = std::getenv("SOFTAMP_ROWS");
  const uint64_t times = text ? static_cast<uint64_t>(std::atoll(text)) : 1;
  for (uint64_t seed = GetParam().number; seed < GetParam().number + times && !HasFailure(); ++seed)
    for (const DType t : row().types())
      for (const Data data : {Data::kMiddle, Data::kAny})
        compare_all(graph_of(row(), t, data, seed), name_of(t) + (", numbers " + std::to_string(seed)), seed);
}

TEST(Differential, EveryOperationHasBeenThere) {
  static const std::set<std::string> kElsewhere = {"VariableV2", "Assign", "PrintTensor",
                                                   "OutfeedEnqueue"};  // DifferentialRows, graph.executor
  for (uint64_t seed = 5000; seed < 5400; ++seed) RandomGraphMaker(seed).make(40);
  for (const Operation& op : operations())
    EXPECT_TRUE(RandomGraphMaker::used().count(op.name) || kElsewhere.count(op.name)) << op.name;
}

}  // namespace
}  // namespace softamp::test
