// TensorFlow's graph rewrite on random graphs, with loops and lists of tensors: the colours are those of a second, slow
// implementation written from the same rules; and the properties that every mechanism promises.
//
// SOFTAMP_DAGS graphs in each test [=6000]; 100000 take a minute.
#include <gtest/gtest.h>

#include <bitset>
#include <cstdlib>
#include <tuple>

#include "softamp/graph/executor.h"
#include "softamp/precision/graph_rewrite.h"
#include "tests/precision/op_graph_rig.h"
#include "tests/precision/random_dag.h"

namespace softamp {
namespace {

using namespace test;

constexpr size_t kMost = 384;  // units and nodes of one graph together
using Bits = std::bitset<kMost>;

// ---- graphs

/// A random graph with a few loops and lists of tensors joined to it.
OpGraph random_graph(uint64_t seed) {
  Dice dice(seed);
  OpGraph graph = random_op_graph(seed + 1, {.most_nodes = 45});
  PictureRig rig;  // for the signatures
  std::vector<OpEdge> floats;
  const auto note = [&](int n) {
    const OpNode& node = graph.nodes[static_cast<size_t>(n)];
    for (int port = 0; port < static_cast<int>(node.output_types.size()); ++port)
      if (node.output_types[static_cast<size_t>(port)] == ElementType::kFloat) floats.push_back({n, port});
  };
  for (int n = 0; n < graph.size(); ++n) note(n);
  const auto pick = [&] { return floats[static_cast<size_t>(dice.below(static_cast<int>(floats.size())))]; };
  const auto add = [&](const char* op, const std::vector<OpEdge>& inputs,
                       const std::map<std::string, ElementType>& types = {}) {
    const int n = graph.size();
    OpNode node =
        rig.add(std::string(op) + "_" + std::to_string(n), op, std::vector<std::string>(inputs.size()), types);
    node.inputs = inputs;
    if (dice.chance(3)) node.device = "/cpu:0";
    node.preserved = node.preserved || dice.chance(2);
    graph.nodes.push_back(std::move(node));
    note(n);
    return OpEdge{n, 0};
  };
  static const char* const kUnary[] = {"Relu", "Exp", "Tanh", "Identity", "Neg", "Sqrt"};
  const auto step = [&](OpEdge from) {
    return dice.chance(40) ? add("MatMul", {from, pick()}) : add(kUnary[dice.below(6)], {from});
  };
  if (floats.empty()) floats.push_back(add("Const", {}));
  const OpEdge index = add("Const", {}, {{"dtype", ElementType::kInt32}});
  for (int lists = dice.below(3); lists > 0; --lists) {
    std::vector<OpEdge> handles{add("EmptyTensorList", {index, index})};
    for (int steps = 1 + dice.below(5); steps > 0; --steps) {
      const OpEdge handle = handles[static_cast<size_t>(dice.below(static_cast<int>(handles.size())))];
      const int what = dice.below(20);
      if (what < 8) {
        handles.push_back(add("TensorListPushBack", {handle, pick()}));
      } else if (what < 15) {
        handles.push_back(add("TensorListPopBack", {handle, index}));
        if (dice.chance(70)) step({handles.back().node, 1});
      } else if (what < 18) {
        handles.push_back(add("Identity", {handle}, {{"T", ElementType::kVariant}}));
      } else {
        handles.push_back(add(what == 18 ? "StatefulPartitionedCall" : "TensorListResize", {handle, index}));
      }
    }
  }
  for (int loops = dice.below(3); loops > 0; --loops) {
    const OpEdge enter = add("Enter", {pick()});
    const OpEdge merge = add("Merge", {enter, enter});
    OpEdge last = merge;
    for (int steps = 1 + dice.below(3); steps > 0; --steps) last = step(last);
    const OpEdge next = add("NextIteration", {last});
    floats.pop_back();  // nothing but a Merge reads it
    graph.nodes[static_cast<size_t>(merge.node)].inputs[1] = next;
    if (dice.chance(30)) add("Merge", {enter, next});
    add("Exit", {merge});
  }
  graph.number_units();
  return graph;
}

// ---- the second implementation: matrices, and sets that grow until nothing changes

struct Rules {
  const OpGraph& graph;
  const OpLists& lists;
  size_t units;
  std::vector<const OpNode*> node;    // of each unit
  std::vector<const TypeUnit*> unit;  // each
  std::vector<Bits> into, out;        // row v: units with an edge into v; that v leads to
  Bits processable, allow_listed, deny_listed, infer_listed, clear_listed, convertible;
  std::vector<std::vector<int>> clusters;
  Bits allow, deny;

  Rules(const OpGraph& g, const OpLists& l) : graph(g), lists(l), units(static_cast<size_t>(g.units())) {
    for (const OpNode& n : g.nodes)
      for (const TypeUnit& u : n.units) {
        const size_t v = node.size();
        node.push_back(&n);
        unit.push_back(&u);
        const OpClass c = l.class_of(n.op);
        processable[v] = !n.preserved && n.device != "/cpu:0";
        allow_listed[v] = c == OpClass::kAllow;
        deny_listed[v] = c == OpClass::kDeny;
        infer_listed[v] = c == OpClass::kInfer;
        clear_listed[v] = c == OpClass::kClear;
        convertible[v] = u.type == ElementType::kFloat && u.can_be(l.low);
      }
    into.resize(units);
    out.resize(units);
    for (int n = 0; n < g.size(); ++n)
      for (int i = 0; i < static_cast<int>(g.nodes[static_cast<size_t>(n)].inputs.size()); ++i) {
        const int from = g.producer_unit(g.nodes[static_cast<size_t>(n)].inputs[static_cast<size_t>(i)]);
        const int to = g.reader_unit(n, i);
        if (from >= 0 && to >= 0) join(static_cast<size_t>(from), static_cast<size_t>(to));
      }
    find_lists();
  }

  void join(size_t from, size_t to) { into[to][from] = out[from][to] = true; }

  /// Grows `set` by members of `room` next to it until nothing changes.
  Bits grown(Bits set, const Bits& room, bool along_outputs, bool along_inputs) const {
    for (Bits before; before != set;) {
      before = set;
      for (size_t v = 0; v < units; ++v)
        if (before[v]) set |= room & ((along_outputs ? out[v] : Bits()) | (along_inputs ? into[v] : Bits()));
    }
    return set;
  }

  static bool holds_list(const OpNode& n) {
    return n.op.find("TensorList") != std::string::npos && !n.units.empty() && n.units[0].type == ElementType::kFloat;
  }

  /// Handles among nodes: here one node has one handle.
  void find_lists() {
    const auto nodes = static_cast<size_t>(graph.size());
    std::vector<Bits> near(nodes), below(nodes);  // either way; downstream through processable nodes
    for (size_t n = 0; n < nodes; ++n)
      for (const OpEdge& e : graph.nodes[n].inputs) {
        if (graph.type(e) != ElementType::kVariant) continue;
        const auto from = static_cast<size_t>(e.node);
        near[n][from] = near[from][n] = true;
        const auto on_gpu = [&](size_t m) { return !graph.nodes[m].preserved && graph.nodes[m].device != "/cpu:0"; };
        if (on_gpu(n) && on_gpu(from)) below[from][n] = true;
      }
    for (size_t k = 0; k < nodes; ++k)
      for (size_t n = 0; n < nodes; ++n) {
        if (near[n][k]) near[n] |= near[k];
        if (below[n][k]) below[n] |= below[k];
      }
    Bits done;
    for (size_t n = 0; n < nodes; ++n) {
      if (!holds_list(graph.nodes[n]) || done[n]) continue;
      near[n][n] = true;
      bool any = false, safe = true;
      std::vector<int> cluster;
      for (size_t m = 0; m < nodes; ++m) {
        if (!near[n][m]) continue;
        const OpNode& other = graph.nodes[m];
        if (holds_list(other)) {
          done[m] = true;
          const int u = graph.unit(static_cast<int>(m), 0);
          cluster.push_back(u);
          (processable[static_cast<size_t>(u)] ? any : safe) = processable[static_cast<size_t>(u)];
          if (other.op == "TensorListPushBack")
            for (size_t r = 0; r < nodes; ++r)
              if (below[m][r] && graph.nodes[r].op == "TensorListPopBack")
                join(static_cast<size_t>(u), static_cast<size_t>(graph.unit(static_cast<int>(r), 0)));
        } else if (other.op == "StatefulPartitionedCall") {
          safe = false;
        }
      }
      if (!any) continue;
      for (const int u : cluster)
        if (!safe && processable[static_cast<size_t>(u)]) deny[static_cast<size_t>(u)] = true;
      clusters.push_back(std::move(cluster));
    }
  }

  void match_lists() {
    for (const std::vector<int>& cluster : clusters) {
      bool any_deny = false, any_allow = false;
      for (const int u : cluster) {
        any_deny = any_deny || deny[static_cast<size_t>(u)];
        any_allow = any_allow || allow[static_cast<size_t>(u)];
      }
      for (const int u : cluster) {
        if (any_deny) allow[static_cast<size_t>(u)] = false, deny[static_cast<size_t>(u)] = true;
        if (!any_deny && any_allow) allow[static_cast<size_t>(u)] = true;
      }
    }
  }

  bool reads_variable(const OpNode& n) const {
    if (n.inputs.empty()) return false;
    const OpNode& input = graph.nodes[static_cast<size_t>(n.inputs[0].node)];
    if (n.op == "Enter") return input.op == "Identity" && reads_variable(input);
    return n.op == "Identity" && input.op == "VariableV2";
  }

  void match_loops() {
    for (bool again = true; again;) {
      again = false;
      for (int n = 0; n < graph.size(); ++n) {
        if (graph.nodes[static_cast<size_t>(n)].op != "NextIteration") continue;
        const auto next = static_cast<size_t>(graph.unit(n, 0));
        bool all = !graph.nodes[static_cast<size_t>(n)].preserved;
        for (size_t m = 0; m < units; ++m) all = all && (!out[next][m] || allow[m]);
        for (size_t m = 0; m < units; ++m)
          if (!all && out[next][m] && allow[m]) allow[m] = false, again = true;
        allow[next] = all;
      }
    }
  }

  Bits colours() {
    allow = processable & allow_listed;
    if (allow.none()) return allow;
    const Bits leads = grown(deny_listed | infer_listed, clear_listed, false, true);
    deny |= grown(deny_listed & ~deny, leads & ~deny, true, false);
    match_lists();
    const Bits listed = processable & allow_listed;
    const Bits below =
        grown(listed, convertible & processable & ~deny & ~allow_listed & (clear_listed | infer_listed), true, false);
    allow |= grown(listed, below, false, true);
    Bits room = convertible & processable & ~deny & clear_listed & ~allow;
    for (size_t v = 0; v < units; ++v)
      if (reads_variable(*node[v])) room[v] = false;
    allow |= grown(allow & processable, room, true, true);
    for (size_t v = 0; v < units; ++v)
      if (allow_listed[v] && !unit[v]->can_be(lists.low)) allow[v] = false;
    match_lists();
    match_loops();
    for (size_t v = 0; v < units; ++v) allow[v] = allow[v] && convertible[v] && !node[v]->preserved;
    const OpReaders all = readers(graph);
    for (int n = 0; n < graph.size(); ++n) {
      const OpNode& cast = graph.nodes[static_cast<size_t>(n)];
      if (cast.op != "Cast" || cast.units[1].type != ElementType::kFloat || cast.preserved || all.of(n).empty())
        continue;
      bool every = true;
      for (const auto& read : all.of(n)) {
        const int u = graph.reader_unit(read.node, read.input);
        every = every && u >= 0 && allow[static_cast<size_t>(u)];
      }
      if (every) allow[static_cast<size_t>(graph.unit(n, 1))] = true;
    }
    return allow;
  }
};

OpLists lists_of(int i) {
  OpLists lists = i % 5 ? OpLists::tf_2_3() : OpLists::tf_2019();
  if (i % 3 == 0) lists.low = DType::kBFloat16;
  return lists;
}

/// What was decided, by names: independent of the order of nodes.
std::set<std::string> decisions(const OpGraph& graph, const Colouring& colours) {
  std::set<std::string> all(colours.messages.begin(), colours.messages.end());
  for (int n = 0; n < graph.size(); ++n)
    for (int u = 0; u < static_cast<int>(graph.nodes[static_cast<size_t>(n)].units.size()); ++u) {
      const auto i = static_cast<size_t>(graph.unit(n, u));
      all.insert(graph.nodes[static_cast<size_t>(n)].name + "." + std::to_string(u) + " " +
                 std::to_string(colours.low_units[i]) + " " + colours.lists[i] + " " + colours.reasons[i]);
    }
  return all;
}

// tests: T08
TEST(TensorFlowDags, ColoursAreThoseOfASlowImplementation) {
  std::map<std::string, int> kinds;  // of reasons: every rule must have been at work
  for (int i = 0; i < dags(6000); ++i) {
    const uint64_t seed = 7919u * static_cast<uint64_t>(i) + 5;
    const OpGraph graph = random_graph(seed);
    ASSERT_LE(static_cast<size_t>(graph.units() + graph.size()), kMost);
    const OpLists lists = lists_of(i);
    const Colouring colours = colour_tensorflow(graph, lists);
    const Bits slow = Rules(graph, lists).colours();
    for (int u = 0; u < graph.units(); ++u) {
      ASSERT_EQ(colours.is_low(u), slow[static_cast<size_t>(u)]) << "unit " << u << ", seed " << seed;
      const std::string& reason = colours.reasons[static_cast<size_t>(u)];
      ++kinds[reason.substr(0, std::min(reason.find('\''), reason.size()))];
    }
  }
  for (const char* kind :
       {"allow list", "deny list", "downstream of ", "between ", "reached through clear operations from ",
        "list of tensors that cannot change because of ", "list of tensors shared with ", "in a loop with ",
        "all that read it are float16", "no float16 kernel", "preserved", "not on a GPU: device ", "reads a variable",
        "in no list", "not between allowed operations"})
    EXPECT_GT(kinds[kind], 0) << kind;
}

// tests: T16
TEST(TensorFlowDags, TypeConsistentSharedAndNeverWhereItMayNot) {
  for (int i = 0; i < dags(6000); ++i) {
    const uint64_t seed = 104729u * static_cast<uint64_t>(i) + 11;
    const OpGraph graph = random_graph(seed);
    const OpLists lists = lists_of(i);
    const Colouring colours = colour_tensorflow(graph, lists);
    const CastPlan plan = plan_casts(graph, colours);
    const OpGraph after = applied(graph, plan);
    ASSERT_EQ(type_fault(after), "") << "seed " << seed;
    for (const auto& [n, u] : plan.retyped) {
      const OpNode& node = graph.nodes[static_cast<size_t>(n)];
      ASSERT_NE(lists.class_of(node.op), OpClass::kDeny) << node.name << ", seed " << seed;
      ASSERT_FALSE(node.preserved) << node.name;
      // Two rules of TensorFlow's do not ask where a node is: a Cast follows its readers, a NextIteration its Merges.
      if (node.device == "/cpu:0") {
        ASSERT_TRUE(node.op == "Cast" || node.op == "NextIteration") << node.name;
      }
    }
    std::set<std::pair<int, int>> ports;
    for (const PlannedCast& cast : plan.casts)
      ASSERT_TRUE(ports.emplace(cast.from.node, cast.from.port).second) << cast.name << ", seed " << seed;

    const Colouring again = colour_tensorflow(after, lists);
    const CastPlan second = plan_casts(after, again);
    ASSERT_TRUE(second.retyped.empty()) << "a second run converts "
                                        << after.nodes[static_cast<size_t>(second.retyped[0].first)].name << ", seed "
                                        << seed;
    ASSERT_TRUE(second.casts.empty()) << "a second run adds " << second.casts[0].name << ", seed " << seed;
  }
}

// tests: T08
TEST(TensorFlowDags, TheOrderOfNodesDoesNotMatter) {
  for (int i = 0; i < dags(6000) / 4; ++i) {
    const uint64_t seed = 15485863u * static_cast<uint64_t>(i) + 3;
    const OpGraph graph = random_graph(seed);
    std::vector<int> place;
    const OpGraph other = shuffled(graph, seed, place);
    const OpLists lists = lists_of(i);
    const Colouring a = colour_tensorflow(graph, lists), b = colour_tensorflow(other, lists);
    ASSERT_EQ(decisions(graph, a), decisions(other, b)) << "seed " << seed;
    std::set<std::string> casts, others;
    for (const PlannedCast& cast : plan_casts(graph, a).casts) casts.insert(cast.name);
    for (const PlannedCast& cast : plan_casts(other, b).casts) others.insert(cast.name);
    ASSERT_EQ(casts, others) << "seed " << seed;
  }
}

/// What is clear behind one reader of a list, beside one that lies between allowed ones, whichever node is the first.
// tests: T08
TEST(TensorFlowDags, AnotherReaderOfAListIsAllowedToo) {
  const std::vector<std::tuple<std::string, std::string, std::vector<std::string>>> nodes = {
      {"input", "Const", {}},
      {"allow1", "MatMul", {"input", "input"}},
      {"shape", "Const", {}},
      {"list", "TensorListFromTensor", {"allow1", "shape"}},
      {"all", "TensorListStack", {"list", "shape"}},
      {"allow2", "MatMul", {"all", "all"}},
      {"one", "TensorListGetItem", {"list", "shape", "shape"}},
      {"clear", "Relu", {"one"}},
      {"fetch1", "Identity", {"allow2"}},
      {"fetch2", "Identity", {"clear"}}};
  for (size_t first = 0; first < nodes.size(); ++first) {
    PictureRig rig;
    for (size_t n = 0; n < nodes.size(); ++n) {
      const auto& [name, op, inputs] = nodes[(first + n) % nodes.size()];
      rig.add(name, op, inputs,
              name == "shape" ? std::map<std::string, ElementType>{{"dtype", ElementType::kInt32}}
                              : std::map<std::string, ElementType>{});
    }
    const OpGraph graph = rig.build({"fetch1", "fetch2"});
    const Colouring colours = colour_tensorflow(graph, OpLists::tf_2_3());
    EXPECT_EQ(low_names(graph, colours), (std::set<std::string>{"allow1", "list", "all", "allow2", "one", "clear"}));
    EXPECT_EQ(reason_of(graph, colours, "one"), "reached through clear operations from 'list'");
  }
}

// tests: T06, T16
TEST(TensorFlowDags, GraphsOfSoftampVerifyAndRun) {
  int converted = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Graph graph = random_matrix_graph(seed), copy = graph;
    const std::vector<std::string> fetches{"out"};
    const GraphRewrite done = rewrite(graph, OpLists::tf_2_3(), fetches);
    ASSERT_EQ(graph, copy);
    ASSERT_NO_THROW(verify(done.graph)) << "seed " << seed;
    ASSERT_EQ(done.graph.type(done.graph.port("out")).dtype, DType::kFloat32);
    ASSERT_EQ(rewrite(done.graph, OpLists::tf_2_3(), fetches).graph, done.graph) << "seed " << seed;
    converted += done.graph != graph;
    const auto executor = make_executor(done.graph);
    const Tensor x = Tensor::full(DType::kFloat32, {2, 2}, 0.5);
    ASSERT_EQ(executor->run(std::vector<Feed>{{"x", &x}}, fetches).values[0].dtype(), DType::kFloat32);
  }
  EXPECT_GT(converted, 100);
}

/// Long chains and wide fans: nothing recurses, nothing is quadratic (a quadratic walk of these would take minutes).
TEST(TensorFlowDags, LargeGraphs) {
  constexpr int kNodes = 200000;
  PictureRig rig;
  rig.add("input", "Const");
  static const char* const kOps[] = {"Relu", "Tanh", "MatMul", "Exp", "Relu", "Mul", "Enter", "Identity"};
  std::string last = "input";
  for (int i = 0; i < kNodes; ++i) {
    const bool deep = i < kNodes / 2;
    const std::string name = "n" + std::to_string(i);
    rig.add(name, deep && i % 1000 ? kOps[static_cast<size_t>(i % 2) + 6] : kOps[i % 8], {deep ? last : "n7"});
    last = name;
  }
  // One handle through 20000 writers and as many readers: 2 10^8 pairs of them.
  rig.add("index", "Const", {}, {{"dtype", ElementType::kInt32}});
  rig.add("product", "MatMul", {"input", "input"});
  rig.add("list", "EmptyTensorList", {"index", "index"});
  std::string handle = "list";
  for (int i = 0; i < kNodes / 10; ++i) {
    const std::string push = "push" + std::to_string(i);
    rig.add(push, "TensorListPushBack", {handle, "product"});
    rig.add("pop" + std::to_string(i), "TensorListPopBack", {push, "index"});
    handle = push;
  }
  const OpGraph graph = rig.build();
  const Colouring colours = colour_tensorflow(graph, OpLists::tf_2_3());
  EXPECT_GT(plan_casts(graph, colours).retyped.size(), size_t{kNodes / 10});
}

}  // namespace
}  // namespace softamp
