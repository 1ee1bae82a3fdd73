// Every operation of the table: an example of each is built, verified, written, read back, printed; its attributes and
// inputs are refused where they are spoilt.
#include <gtest/gtest.h>

#include <algorithm>

#include "softamp/graph/graph_json.h"
#include "softamp/graph/graph_text.h"
#include "tests/ops/named_rows.h"
#include "tests/ops/node_rows.h"
#include "tests/refusal.h"

using namespace softamp;

namespace {

/// A graph with the node "example".
Graph graph_of(const test::NodeRow& row) {
  GraphBuilder b;
  test::add_node(row, test::placeholders_of(row, DType::kFloat16, b), b, "example");
  return b.build();
}
Graph example_graph(const Operation& op) { return graph_of(*test::node_row(op.name)); }

Node example(const Graph& g) { return g.node(g.find("example")); }

/// The example with its node changed; the message with which it is refused.
template <class Change>
std::string refusal(const Graph& g, Change change) {
  GraphBuilder b;
  return test::refusal<GraphError>([&] {
    for (Node node : g.nodes()) {
      if (node.name == "example") change(node);
      b.add_named(node.name, node.op, node.inputs, node.attributes);
    }
    b.build();
  });
}

}  // namespace

TEST(EveryOperation, HasATestRow) {
  for (const Operation& op : operations())
    EXPECT_NE(test::node_row(op.name), nullptr) << op.name << ": expected a row in tests/ops/<family>_rows.h";
}

class EveryRow : public test::RowTest<test::NodeRow> {};
INSTANTIATE_TEST_SUITE_P(Rows, EveryRow, ::testing::ValuesIn(test::named(test::node_rows())), test::kNameOfRow);

TEST_P(EveryRow, IsBuiltWrittenReadAndPrinted) {
  const Operation& op = row().operation();
  const Graph g = graph_of(row());
  EXPECT_NO_THROW(verify(g));
  const std::string written = graph_json(g);
  Graph back;
  ASSERT_NO_THROW(back = read_graph_json(written)) << written;
  EXPECT_TRUE(back == g) << written;
  EXPECT_NE(text(g).find(op.name + "("), std::string::npos);
  EXPECT_NE(dot(g).find(op.name), std::string::npos);
  const Node node = example(g);
  EXPECT_EQ(node.attributes.size(), op.attributes.size() + (!op.inputs.empty() && op.inputs.back().variadic));
  EXPECT_FALSE(node.outputs.empty());
}

TEST(EveryOperation, RefusesSpoiltAttributesAndInputs) {
  for (const Operation& op : operations()) {
    const Graph g = example_graph(op);
    const Node node = example(g);
    const std::string place = op.name + " 'example': ";
    EXPECT_EQ(refusal(g, [](Node&) {}), "") << op.name;
    EXPECT_EQ(
        refusal(g, [](Node& n) { n.attributes["no such"] = true; }).rfind(place + "unknown attribute 'no such'", 0),
        0u);
    for (const AttributeSpec& a : op.attributes) {
      const Attribute other = a.kind == AttributeKind::kBool ? Attribute("word") : Attribute(true);
      EXPECT_EQ(
          refusal(g, [&](Node& n) { n.attributes[a.name] = other; }).rfind(place + "attribute '" + a.name + "' is ", 0),
          0u)
          << op.name << "." << a.name;
      if (!a.choices.empty()) {
        EXPECT_EQ(refusal(g, [&](Node& n) { n.attributes[a.name] = "QQ"; })
                      .rfind(place + "attribute '" + a.name + "' is 'QQ'; expected ", 0),
                  0u)
            << op.name << "." << a.name;
      }
    }
    if (node.inputs.empty() || op.inputs.back().variadic) continue;
    EXPECT_EQ(refusal(g, [](Node& n) { n.inputs.insert(n.inputs.end(), 9, n.inputs.back()); }).rfind(place, 0), 0u)
        << op.name;
    const bool all_optional =
        std::all_of(op.inputs.begin(), op.inputs.end(), [](const PortSpec& p) { return p.optional; });
    if (!all_optional) {
      EXPECT_EQ(refusal(g, [](Node& n) { n.inputs.clear(); }).rfind(place + "0 inputs; expected ", 0), 0u);
    }
  }
}

// A later input of another dtype than the first: the field's words, for every operation with two inputs of one type.
// tests: N90
TEST(EveryOperation, RefusesUnlikeDtypes) {
  int checked = 0;
  for (const Operation& op : operations()) {
    if (op.inputs.size() < 2 || op.inputs[0].type != op.inputs[1].type || parse_dtype(op.inputs[0].type)) continue;
    const Graph g = example_graph(op);
    const Node node = example(g);
    GraphBuilder b(g);
    std::vector<Port> inputs = node.inputs;
    inputs[1] = b.placeholder("other", DType::kFloat32, g.type(inputs[1]).shape);
    Attributes attributes = node.attributes;
    attributes.erase(op.inputs[0].type);
    EXPECT_EQ(test::refusal<DtypeMismatchError>([&] { b.add(op.name, inputs, attributes); }),
              "Input '" + op.inputs[1].name + "' of '" + op.name +
                  "' Op has type float32 that does not match type float16 of argument '" + op.inputs[0].name + "'.");
    ++checked;
  }
  EXPECT_GE(checked, 20);
}
