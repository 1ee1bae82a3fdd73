// PrecisionReport: what its renderings make of names that break what trusts them, of shared casts, of many nodes.
#include "softamp/precision/precision_report.h"

#include "tests/csv.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace softamp::test {
namespace {

using nlohmann::json;

/// A picture with names that break what trusts them, under colours by hand.
PrecisionReport hostile_report() {
  PrecisionReport r;
  const std::vector<std::string> names = {"plain", "comma, quote\" and\r\nlines", "bad\xff\xc3(utf8)\x01",
                                          std::string(100000, 'n'), "back\\slash\\N"};
  for (size_t n = 0; n < names.size(); ++n) {
    OpNode node;
    node.name = names[n];
    node.op = "Op<&>" + names[n].substr(0, 8);
    node.units = {{"T", ElementType::kFloat, true, true}};
    if (n > 0) node.inputs = {{static_cast<int>(n) - 1, 0}};
    if (n > 0) node.input_units = {0};
    node.output_units = {0};
    node.output_types = {ElementType::kFloat};
    r.before.nodes.push_back(std::move(node));
  }
  OpNode bare;  // no attribute at all
  bare.name = "bare";
  bare.op = "NoOp";
  r.before.nodes.push_back(bare);
  r.before.number_units();
  r.colours = Colouring::nothing(r.before, "by <hand>", DType::kFloat16);
  r.colours.low_units = {0, 1, 0, 1, 1};
  r.colours.lists.assign(5, "allow");
  r.colours.reasons = {"one", "of \"two\", three", "a\nb", "c", "d"};
  r.colours.groups = {-1, 7, -1, 2, 2, -1};
  r.colours.messages = {"INFO \xff"};
  r.plan = plan_casts(r.before, r.colours);
  return r;
}

TEST(PrecisionReport, NoNameBreaksARendering) {
  const PrecisionReport r = hostile_report();
  ASSERT_EQ(r.plan.casts.size(), 3u);
  EXPECT_EQ(r.groups(), 2);
  EXPECT_EQ(r.low_share(), 0.6);
  const auto lines = parse_csv(r.csv());
  ASSERT_EQ(lines.size(), 7u);
  EXPECT_EQ(lines[2][0], "comma, quote\" and\r\nlines");
  EXPECT_EQ(lines[2][11], "of \"two\", three");
  EXPECT_EQ(lines[2][10], "7");
  EXPECT_EQ(lines[3][0], "bad\xff\xc3(utf8)\x01") << "CSV holds the bytes as they are";
  EXPECT_EQ(lines[4][0].size(), 100000u);
  EXPECT_EQ(lines[6][0], "bare");
  EXPECT_EQ(lines[6][4], "");
  const json j = json::parse(r.json());
  EXPECT_EQ(j["units"][1]["node"], "comma, quote\" and\r\nlines");
  EXPECT_EQ(j["units"][2]["node"], "bad\xEF\xBF\xBD\xEF\xBF\xBD(utf8)\x01");
  EXPECT_EQ(j["units"][4]["node"], "back\\slash\\N");
  const std::string table = r.table();
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 7) << "a line to a unit, whatever its name holds";
  const std::string dot = r.dot();
  EXPECT_LT(dot.size(), 6000u) << "long names are cut";
  EXPECT_NE(dot.find("label=\"back\\\\slash\\\\N\\n"), std::string::npos) << dot;
  EXPECT_NE(dot.find("by &lt;hand&gt;"), std::string::npos);
  EXPECT_NE(dot.find("subgraph cluster_2 {"), std::string::npos);
  EXPECT_NE(dot.find("subgraph cluster_7 {"), std::string::npos);
  for (size_t at = 0; at < dot.size(); ++at) ASSERT_NE(dot[at], '\x01');
}

/// y = MatMul(x, x) in low precision, z reads it at a port of fixed type; with a Cast of x that is there already.
PrecisionReport fixed_port_report(bool with_cast) {
  PrecisionReport r;
  const auto node = [](const char* name, const char* op, std::vector<OpEdge> inputs) {
    OpNode n;
    n.name = name;
    n.op = op;
    n.input_units.assign(inputs.size(), 0);
    n.inputs = std::move(inputs);
    n.units = {{"T", ElementType::kFloat, true, true}};
    n.output_units = {0};
    n.output_types = {ElementType::kFloat};
    return n;
  };
  r.before.nodes = {node("x", "Placeholder", {}), node("y", "MatMul", {{0, 0}, {0, 0}}), node("z", "Scale", {{1, 0}})};
  r.before.nodes[0].preserved = true;
  r.before.nodes[2].input_units = {OpNode::kNoUnit};  // takes float32, whatever T is
  if (with_cast) {
    OpNode cast = node("cast", "Cast", {{0, 0}});
    cast.units = {{"SrcT", ElementType::kFloat, true, true}, {"DstT", ElementType::kHalf, true, true}};
    cast.output_units = {1};
    cast.output_types = {ElementType::kHalf};
    r.before.nodes.push_back(cast);
  }
  r.before.number_units();
  r.colours = Colouring::nothing(r.before, "by hand", DType::kFloat16);
  r.colours.low_units[1] = 1;
  r.plan = plan_casts(r.before, r.colours);
  return r;
}

TEST(PrecisionReport, CastsAreCountedOnceAndAtPortsOfFixedType) {
  const auto lines = parse_csv(fixed_port_report(false).csv());
  const auto casts = [&](size_t l) { return lines[l][0] + " " + lines[l][4] + " " + lines[l][8] + " " + lines[l][9]; };
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_EQ(casts(1), "x T 0 1");
  EXPECT_EQ(casts(2), "y T 1 1") << "both inputs read the one cast";
  EXPECT_EQ(casts(3), "z T 0 0");
  EXPECT_EQ(casts(4), "z  1 0") << "a row of its own";
}

TEST(PrecisionReport, ACastThatIsThereIsDrawnAsItIsRead) {
  const PrecisionReport r = fixed_port_report(true);
  ASSERT_EQ(r.plan.casts.size(), 1u);
  ASSERT_EQ(r.plan.redirected.size(), 2u);
  const std::string dot = r.dot();
  EXPECT_EQ(dot.find("n0 -> n1"), std::string::npos) << dot;
  EXPECT_NE(dot.find("n3 -> n1 [tooltip=\"float16\""), std::string::npos) << dot;
  EXPECT_NE(dot.find("n1 -> c0"), std::string::npos);
  EXPECT_NE(dot.find("c0 -> n2"), std::string::npos);
}

TEST(PrecisionReport, AnEmptyGraph) {
  PrecisionReport r;
  r.before.number_units();
  r.colours = Colouring::nothing(r.before, "none", DType::kFloat16);
  r.plan = plan_casts(r.before, r.colours);
  EXPECT_EQ(r.low_share(), 0);
  EXPECT_EQ(parse_csv(r.csv()).size(), 1u);
  EXPECT_EQ(json::parse(r.json())["units"], json::array());
  EXPECT_EQ(r.table(), "node  op  attribute  list  before  after  in  out  reason\n");
}

}  // namespace
}  // namespace softamp::test
