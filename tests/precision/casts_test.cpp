// The one cast insertion: whatever the colours, the result is type-consistent, casts are shared, names and numbers do
// not depend on the order of nodes, and a second run adds nothing.
#include "softamp/precision/casts.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>

#include "softamp/graph/executor.h"
#include "softamp/graph/graph_json.h"
#include "softamp/graph/graph_text.h"
#include "softamp/precision/precision_report.h"
#include "tests/precision/random_dag.h"

namespace softamp::test {
namespace {

using enum DType;
using Strings = std::vector<std::string>;

TEST(OpGraph, AnOutputThatIsNotThereIsOfNoType) {
  OpGraph g;
  g.nodes.resize(1);
  g.nodes[0].output_types = {ElementType::kHalf};
  for (const auto& [port, type] :
       {std::pair(0, ElementType::kHalf), {1, ElementType::kUnknown}, {-1, ElementType::kUnknown}})
    EXPECT_EQ(g.type({0, port}), type) << port;
}

/// Any colours that are allowed.
Colouring random_colours(const OpGraph& graph, uint64_t seed, DType low) {
  Dice dice(seed);
  Colouring c = Colouring::nothing(graph, "random", low);
  const int percent = 20 + dice.below(80);
  for (int n = 0; n < graph.size(); ++n)
    for (int u = 0; u < static_cast<int>(graph.nodes[static_cast<size_t>(n)].units.size()); ++u)
      if (may_become_low(graph, n, u, low) && dice.chance(percent))
        c.low_units[static_cast<size_t>(graph.unit(n, u))] = 1;
  return c;
}

/// A graph x -> MatMul(x, w) -> Exp, with a second reader of x.
Graph small_graph() {
  GraphBuilder b;
  const Port x = b.placeholder("x", kFloat32, {2, 2});
  const Port w = b.add("VariableV2", {}, {{"dtype", kFloat32}, {"shape", Shape{2, 2}}}, "dense/w");
  const Port y = b.add("MatMul", {x, w}, {{"device", std::string("/gpu:0")}}, "dense/MatMul");
  b.add("MatMul", {x, y}, {}, "dense/again");
  b.add("Exp", {y}, {}, "Exp");
  b.add("Neg", {y}, {}, "Neg");
  return b.build();
}

Colouring colour_products(const OpGraph& graph) {
  Colouring c = Colouring::nothing(graph, "products", kFloat16);
  for (int n = 0; n < graph.size(); ++n)
    if (graph.nodes[static_cast<size_t>(n)].op == "MatMul") c.low_units[static_cast<size_t>(graph.unit(n, 0))] = 1;
  return c;
}

TEST(Picture, SaysWhatAGraphKnows) {
  const OpGraph picture = op_graph(small_graph(), Strings{"Exp:0"});
  ASSERT_EQ(picture.size(), 6);
  const OpNode& product = picture.nodes[2];
  EXPECT_EQ(product.layer, "dense");
  EXPECT_EQ(product.device, "/gpu:0");
  EXPECT_EQ(product.inputs, (std::vector<OpEdge>{{0, 0}, {1, 0}}));
  ASSERT_EQ(product.units.size(), 1u);
  EXPECT_EQ(product.units[0].attribute, "T");
  EXPECT_EQ(product.units[0].type, ElementType::kFloat);
  EXPECT_TRUE(product.units[0].can_be(kFloat16) && product.units[0].can_be(kBFloat16));
  EXPECT_TRUE(picture.nodes[0].preserved);  // Placeholder
  EXPECT_TRUE(picture.nodes[1].stateful);   // VariableV2
  EXPECT_FALSE(product.preserved || product.stateful);
  EXPECT_TRUE(picture.nodes[4].preserved);  // fetched
  EXPECT_FALSE(picture.nodes[5].preserved);
  const OpReaders read = readers(picture);
  ASSERT_EQ(read.of(2).size(), 3u);  // again (input 1), Exp, Neg
  EXPECT_EQ(read.of(2)[0].node, 3);
  EXPECT_EQ(read.of(2)[0].input, 1);
  EXPECT_THROW(op_graph(small_graph(), Strings{"nowhere"}), GraphError);
}

TEST(Picture, StatisticsOfTheFusedNormHaveNoLowKernel) {
  GraphBuilder b;
  const Port x = b.placeholder("x", kFloat32, {2, 3});
  const Port c = b.placeholder("c", kFloat32, {3});
  b.add("FusedBatchNormV3", {x, c, c, c, c});
  const OpGraph picture = op_graph(b.build());
  const OpNode& norm = picture.nodes[2];
  ASSERT_EQ(norm.units.size(), 2u);
  EXPECT_TRUE(norm.units[0].float16);
  EXPECT_FALSE(norm.units[1].float16);
  EXPECT_EQ(norm.output_units, (std::vector<int16_t>{0, 1, 1, OpNode::kNoUnit, OpNode::kNoUnit}));
  EXPECT_EQ(norm.output_types[3], ElementType::kFloat);
}

TEST(Picture, NamesOfTypes) {
  EXPECT_EQ(name_of(ElementType::kFloat), "float32");
  EXPECT_EQ(name_of(ElementType::kFloatRef), "float32_ref");
  EXPECT_EQ(name_of(ElementType::kHalf), "float16");
  EXPECT_EQ(name_of(ElementType::kBFloat16), "bfloat16");
  EXPECT_EQ(name_of(ElementType::kVariant), "variant");
  EXPECT_EQ(name_of(static_cast<ElementType>(77)), "type 77");
  EXPECT_EQ(dtype_of(ElementType::kHalf), kFloat16);
  EXPECT_EQ(dtype_of(ElementType::kInt64), kInt64);
  EXPECT_FALSE(dtype_of(ElementType::kVariant).has_value());
}

// tests: N291
TEST(Casts, AreSharedNamedAndStandBehindTheirProducers) {
  const Graph graph = small_graph();
  const OpGraph picture = op_graph(graph, Strings{"Exp", "Neg"});
  Colouring colours = colour_products(picture);
  colours.cast_suffix = "-AutoMixedPrecision";
  const CastPlan plan = plan_casts(picture, colours);
  // x once for its two readers, w, and y once for Exp and Neg; not between the products.
  ASSERT_EQ(plan.casts.size(), 3u);
  EXPECT_EQ(plan.casts[0].name, "x-0-CastToFp16-AutoMixedPrecision");
  EXPECT_EQ(plan.casts[0].readers, (std::vector<std::pair<int, int>>{{2, 0}, {3, 0}}));
  EXPECT_EQ(plan.casts[1].name, "dense/w-0-CastToFp16-AutoMixedPrecision");
  EXPECT_EQ(plan.casts[2].name, "dense/MatMul-0-CastToFp32-AutoMixedPrecision");
  EXPECT_EQ(plan.casts_to_low(), 2);
  EXPECT_EQ(plan.casts_to_low_counted(), 1);  // without the variable's
  EXPECT_EQ(plan.casts_to_float32(), 1);
  EXPECT_EQ(plan.converted_nodes(), 2);

  const Graph rewritten = apply(graph, plan);
  EXPECT_NO_THROW(verify(rewritten));
  EXPECT_EQ(graph, small_graph());
  const auto type = [&](const char* name) { return rewritten.type(rewritten.port(name)).dtype; };
  EXPECT_EQ(type("dense/MatMul"), kFloat16);
  EXPECT_EQ(type("Exp"), kFloat32);
  EXPECT_EQ(type("dense/w"), kFloat32);
  const int product = rewritten.find("dense/MatMul");
  EXPECT_EQ(rewritten.node(product + 1).name, "dense/MatMul-0-CastToFp32-AutoMixedPrecision");
  EXPECT_EQ(std::get<std::string>(rewritten.node(product + 1).attributes.at("device")), "/gpu:0");
}

TEST(Casts, NamesThatAreTakenGetANumber) {
  GraphBuilder b;
  const Port x = b.placeholder("x", kFloat32, {2, 2});
  b.add("Identity", {x}, {}, "x-0-CastToFp16");
  b.add("Identity", {x}, {}, "x-0-CastToFp16_1");
  b.add("MatMul", {x, x});
  const Graph graph = b.build();
  const CastPlan plan = plan_casts(op_graph(graph), colour_products(op_graph(graph)));
  ASSERT_EQ(plan.casts.size(), 1u);
  EXPECT_EQ(plan.casts[0].name, "x-0-CastToFp16_2");
}

// tests: N291
TEST(Casts, ACastThatIsThereIsShared) {
  GraphBuilder b;
  const Port x = b.placeholder("x", kFloat32, {2, 2});
  b.add("MatMul", {x, x});
  const Port low = b.add("Cast", {x}, {{"DstT", kFloat16}}, "by_hand");  // behind its new reader
  b.add("Neg", {low});
  const Graph graph = b.build();
  const CastPlan plan = plan_casts(op_graph(graph), colour_products(op_graph(graph)));
  EXPECT_TRUE(plan.casts.empty());
  ASSERT_EQ(plan.redirected.size(), 2u);
  const Graph rewritten = apply(graph, plan);
  EXPECT_NO_THROW(verify(rewritten));
  EXPECT_EQ(rewritten.size(), graph.size());
  const Node& product = rewritten.node(rewritten.find("MatMul"));
  EXPECT_EQ(rewritten.node(product.inputs[0].node).name, "by_hand");
}

TEST(Casts, RefuseWhatNoMechanismMayColour) {
  const OpGraph picture = op_graph(small_graph(), Strings{"Exp"});
  const auto with = [&](int node) {
    Colouring c = Colouring::nothing(picture, "wrong", kFloat16);
    c.low_units[static_cast<size_t>(picture.unit(node, 0))] = 1;
    return c;
  };
  EXPECT_THROW(plan_casts(picture, with(0)), std::logic_error);  // fed
  EXPECT_THROW(plan_casts(picture, with(1)), std::logic_error);  // a variable
  EXPECT_THROW(plan_casts(picture, with(4)), std::logic_error);  // fetched
  EXPECT_NO_THROW(plan_casts(picture, with(5)));
  Colouring c = Colouring::nothing(picture, "wrong", kFloat32);
  EXPECT_THROW(plan_casts(picture, c), std::logic_error);
  c.low = kFloat16;
  c.low_units.pop_back();
  EXPECT_THROW(plan_casts(picture, c), std::logic_error);
  CastPlan plan;
  plan.retyped = {{77, 0}};
  EXPECT_THROW(apply(small_graph(), plan), GraphError);
}

TEST(Casts, DeviceAndLayerBelongToAnyNode) {
  GraphBuilder b;
  const Port x = b.placeholder("x", kFloat32, {2});
  b.add("Neg", {x}, {{"layer", std::string("head")}, {"device", std::string("/cpu:0")}});
  EXPECT_THROW(b.add("Neg", {x}, {{"device", int64_t{0}}}), GraphError);
  const Graph graph = b.build();
  EXPECT_NO_THROW(verify(graph));
  EXPECT_EQ(op_graph(graph).nodes[1].layer, "head");
  EXPECT_EQ(read_graph_json(graph_json(graph)), graph);
  EXPECT_NE(text(graph).find("{device='/cpu:0', layer='head'}"), std::string::npos) << text(graph);
}

// tests: N290, N388
TEST(Casts, OfRandomGraphsAreConsistentSharedAndDoneOnce) {
  for (int i = 0; i < dags(100000); ++i) {
    const uint64_t seed = 1000003u * static_cast<uint64_t>(i);
    const DType low = i % 2 ? kBFloat16 : kFloat16;
    const OpGraph graph = random_op_graph(seed);
    ASSERT_EQ(type_fault(graph), "") << "seed " << seed;
    const Colouring colours = random_colours(graph, seed + 1, low);
    const CastPlan plan = plan_casts(graph, colours);
    const OpGraph after = applied(graph, plan);
    ASSERT_EQ(type_fault(after), "") << "seed " << seed;
    std::set<std::pair<int, int>> ports;
    for (const PlannedCast& cast : plan.casts) {
      ASSERT_TRUE(ports.emplace(cast.from.node, cast.from.port).second) << "two casts of a port, seed " << seed;
      ASSERT_FALSE(cast.readers.empty());
    }
    // Planned again with nothing more to colour, nothing is added.
    ASSERT_TRUE(plan_casts(after, Colouring::nothing(after, "again", low)).casts.empty());
    if (i % 10) continue;
    std::vector<int> place;
    const OpGraph other = shuffled(graph, seed + 2, place);
    Colouring moved = Colouring::nothing(other, "random", low);
    for (int n = 0; n < graph.size(); ++n)
      for (int u = 0; u < static_cast<int>(graph.nodes[static_cast<size_t>(n)].units.size()); ++u)
        moved.low_units[static_cast<size_t>(other.unit(place[static_cast<size_t>(n)], u))] =
            colours.low_units[static_cast<size_t>(graph.unit(n, u))];
    const CastPlan again = plan_casts(other, moved);
    const auto names = [](const OpGraph& g, const CastPlan& p) {
      std::set<std::string> all;
      for (const PlannedCast& c : p.casts) {
        std::set<std::string> who;
        for (const auto& [reader, input] : c.readers)
          who.insert(g.nodes[static_cast<size_t>(reader)].name + "#" + std::to_string(input));
        std::string line = c.name + " of " + g.nodes[static_cast<size_t>(c.from.node)].name + " for";
        for (const std::string& w : who) line += " " + w;
        all.insert(line);
      }
      for (const CastPlan::Redirect& r : p.redirected)
        all.insert(g.nodes[static_cast<size_t>(r.node)].name + "#" + std::to_string(r.input) + " reads " +
                   g.nodes[static_cast<size_t>(r.to.node)].name);
      return all;
    };
    ASSERT_EQ(names(graph, plan), names(other, again)) << "seed " << seed;
  }
}

TEST(Casts, RewrittenGraphsVerifyAndRun) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const Graph graph = random_matrix_graph(seed);
    const Strings fetches{"out"};
    const DType low = seed % 2 ? kBFloat16 : kFloat16;
    const GraphRewrite done =
        rewrite_with(graph, fetches, [&](const OpGraph& g) { return random_colours(g, seed + 9, low); });
    ASSERT_NO_THROW(verify(done.graph)) << "seed " << seed;
    ASSERT_EQ(done.graph.type(done.graph.port("out")).dtype, kFloat32);
    ASSERT_EQ(done.graph.size(), graph.size() + static_cast<int>(done.report.plan.casts.size()));
    if (seed % 10) continue;
    const auto executor = make_executor(done.graph);
    executor->set_variable("w", Tensor::full(kFloat32, {2, 2}, 0.5));
    const Tensor x = Tensor::full(kFloat32, {2, 2}, 0.125);
    const Feed feed{"x", &x};
    ASSERT_EQ(executor->run({&feed, 1}, fetches).values[0].dtype(), kFloat32);
  }
}

TEST(Casts, NodesThatShareAttributesAreRetypedEachByItsOwnUnits) {
  GraphBuilder b;
  const Port x = b.placeholder("x", kFloat32, {2});
  const Port first = b.add("Cast", {x}, {{"DstT", kFloat32}}, "first");
  const Port second = b.add("Cast", {first}, {{"DstT", kFloat32}}, "second");
  const Port third = b.add("Cast", {second}, {{"DstT", kFloat32}}, "third");
  const Graph graph = b.build();
  // As a copy of the first node they share what it has.
  ASSERT_EQ(graph.node(second.node).attributes, graph.node(first.node).attributes);
  const OpGraph picture = op_graph(graph);
  const auto& units = picture.nodes[static_cast<size_t>(first.node)].units;
  ASSERT_EQ(units.size(), 2u);
  const int to = units[0].attribute == "DstT" ? 0 : 1;
  CastPlan plan;
  plan.retyped = {{first.node, to}, {second.node, 1 - to}, {third.node, 0}, {third.node, 1}};
  PlannedCast cast;
  cast.name = "half";
  cast.from = {second.node, 0};
  cast.readers = {{third.node, 0}};
  plan.casts = {cast};
  const Graph done = apply(graph, plan);
  EXPECT_EQ(done.type(done.port("first")).dtype, kFloat16);
  EXPECT_EQ(done.type(done.port("second")).dtype, kFloat32);
  EXPECT_EQ(done.type(done.port("third")).dtype, kFloat16);
  EXPECT_NO_THROW(verify(done));
}

/// A source of so many float32 outputs, and a reader for each: of every two the first is low.
OpGraph fan(int ports) {
  OpGraph g;
  const TypeUnit unit{"T", ElementType::kFloat, true, true};
  OpNode source;
  source.name = "split";
  source.op = "Split";
  source.units = {unit};
  source.output_units.assign(static_cast<size_t>(ports), 0);
  source.output_types.assign(static_cast<size_t>(ports), ElementType::kFloat);
  g.nodes.push_back(std::move(source));
  for (int p = 0; p < ports; ++p) {
    OpNode reader;
    reader.name = "reader" + std::to_string(p);
    reader.op = p % 2 ? "Exp" : "MatMul";
    reader.inputs = {{0, p}};
    reader.units = {unit};
    reader.input_units = reader.output_units = {0};
    reader.output_types = {ElementType::kFloat};
    g.nodes.push_back(std::move(reader));
  }
  g.number_units();
  return g;
}

TEST(Casts, ANodeOfManyPortsTakesLinearTime) {
  constexpr int kPorts = 200'000;  // 20 s where every port looks at all readers
  const OpGraph graph = fan(kPorts);
  Colouring colours = Colouring::nothing(graph, "by hand", kFloat16);
  for (int p = 0; p < kPorts; p += 2) colours.low_units[static_cast<size_t>(graph.unit(1 + p, 0))] = 1;
  const auto begin = std::chrono::steady_clock::now();
  const CastPlan plan = plan_casts(graph, colours);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  ASSERT_EQ(plan.casts.size(), kPorts / 2u);
  EXPECT_EQ(plan.casts[1].name, "split-2-CastToFp16");
  EXPECT_EQ(plan.casts[1].readers, (std::vector<std::pair<int, int>>{{3, 0}}));
}

}  // namespace
}  // namespace softamp::test
