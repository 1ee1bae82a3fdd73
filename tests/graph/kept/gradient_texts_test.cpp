// The gradient of each test row as formulas, for each dtype: which operations with which attributes it is made of.
#include "softamp/graph/gradients.h"

#include <algorithm>
#include <set>

#include "tests/kept_text.h"
#include "tests/ops/node_rows.h"
#include "tests/outcomes.h"

namespace softamp::test::gradient_texts {
namespace {

constexpr DType kFloats[] = {DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64};

/// "Mul(dy, ReluGrad(dy, y))". A formula that is long is written out once, and named after its node from then on.
class Formulas {
 public:
  Formulas(const Graph& graph, DType type) : graph_(graph), type_(type) {}

  std::string of(Port p) {
    const Node& node = graph_.node(p.node);
    const std::string name = graph_.port_name(p);
    if (!name.starts_with("d/") || !written_.insert(p.node).second) return name.substr(name.rfind('/') + 1);
    std::string text = node.op + "(";
    for (size_t i = 0; i < node.inputs.size(); ++i) text += (i ? ", " : "") + of(node.inputs[i]);
    text += ")";
    std::string attributes;
    const Operation& op = operation(node.op);
    for (const AttributeSpec& spec : op.attributes) {
      const Attribute& value = node.attributes.at(spec.name);
      if (spec.default_value && equal(value, *spec.default_value)) continue;
      if (spec.kind == AttributeKind::kType && spec.name != "DstT") continue;
      const bool own = spec.kind == AttributeKind::kType && std::get<DType>(value) == type_;
      if (spec.kind == AttributeKind::kShape && std::get<Shape>(value) == Shape{}) continue;
      attributes += (attributes.empty() ? "" : " ") + spec.name + "=" + (own ? "T" : text_of(value));
    }
    if (!attributes.empty()) text += "{" + attributes + "}";
    return text + (p.port ? ":" + std::to_string(p.port) : "");
  }

 private:
  const Graph& graph_;
  const DType type_;  ///< the row's; written as T
  std::set<int> written_;
};

/// Of the first output, or of all; each input alone, so that what is not wanted is not made.
std::string formulas(const NodeRow& row, DType t, size_t input) {
  GraphBuilder b;
  const std::vector<Port> inputs = placeholders_of(row, t, b);
  const Port node = add_node(row, inputs, b, "y");
  std::vector<Port> sums;
  const size_t outputs = row.all_outputs ? b.graph().node(node.node).outputs.size() : 1;
  for (size_t o = 0; o < outputs; ++o) {
    const Port out{node.node, static_cast<int>(o)};
    sums.push_back(outputs == 1 ? out : b.add("Sum", {out}));
  }
  GradientOptions options;
  options.scope = "d";
  Port loss = sums[0];
  if (outputs > 1)
    loss = b.add("AddN", sums, {}, "loss");
  else
    options.seed = b.placeholder("dy", b.type(loss).dtype, b.type(loss).shape);
  const auto found = gradients(b, loss, {inputs[input]}, options);
  return found[0] ? Formulas(b.graph(), t).of(*found[0]) : "none";
}

TEST(Gradients, AreTheseFormulas) {
  std::string text;
  std::vector<NodeRow> rows = node_rows();
  // Steps back that take one element, and one step back beside.
  rows.push_back({"StridedSlice",
                  {{{5, 4}}},
                  {{"begin", NodeRow::Ints{-1, 3}}, {"end", NodeRow::Ints{2, 0}}, {"strides", NodeRow::Ints{-3, 1}}}});
  rows.push_back({"StridedSlice",
                  {{{5, 4}}},
                  {{"begin", NodeRow::Ints{-1, 3}}, {"end", NodeRow::Ints{2, 0}}, {"strides", NodeRow::Ints{-3, -2}}}});
  for (const NodeRow& row : rows) {
    if (!row.operation().gradient) continue;
    std::string head = row.op;
    for (size_t i = 0; i < row.inputs.size(); ++i) head += " x" + std::to_string(i) + Shape(row.inputs[i].shape).text();
    for (const auto& [name, value] : row.attributes) head += " " + name + "=" + text_of(value);
    text += head + "\n";
    for (size_t i = 0; i < row.inputs.size(); ++i) {
      std::vector<std::pair<std::string, std::string>> by_type;  // dtypes and what they share
      for (const DType t : kFloats) {
        const std::vector<DType> types = row.types();
        if (!std::count(types.begin(), types.end(), t) || !is_floating(row.dtype(i, t))) continue;
        const std::string formula = formulas(row, t, i);
        if (by_type.empty() || by_type.back().second != formula) by_type.emplace_back("", formula);
        by_type.back().first += std::string(" ") + name_of(t);
      }
      for (const auto& [types, formula] : by_type)
        text += "  x" + std::to_string(i) + (by_type.size() > 1 ? types : "") + ": " + formula + "\n";
    }
  }
  expect_kept("graph/kept/gradients.txt", text);
}

/// Gradients of one's own for operations with one, two, and any number of inputs, none of which fits.
TEST(Gradients, OfOnesOwnAreRefusedWithTheseWords) {
  Outcomes outcomes;
  for (const char* op : {"Neg", "Mul", "AddN", "FusedBatchNormV3"})
    for (size_t wrong = 0; wrong < 5; ++wrong)
      for (const char* how : {"shape", "dtype", "port", "less", "more"})
        outcomes.add(std::string(op) + " " + how + std::to_string(wrong), [&] {
          const NodeRow& row = *node_row(op);
          GraphBuilder b;
          const std::vector<Port> inputs = placeholders_of(row, DType::kFloat16, b);
          const Port node = add_node(row, inputs, b, "y");
          const std::string what = how;
          GradientOptions options;
          options.custom["y"] = [&](GraphBuilder& builder, const Node& n, int, std::span<const std::optional<Port>>) {
            std::vector<std::optional<Port>> results(n.inputs.begin(), n.inputs.end());
            if (what == "less") results.pop_back();
            if (what == "more") results.emplace_back();
            if (wrong < results.size() && what == "shape")
              results[wrong] = builder.placeholder("w", DType::kFloat16, {9});
            if (wrong < results.size() && what == "dtype")
              results[wrong] = builder.placeholder("w", DType::kInt32, {9});
            if (wrong < results.size() && what == "port") results[wrong] = Port{n.inputs[0].node, 7};
            return results;
          };
          gradients(b, b.add("Sum", {node}), {inputs[0]}, options);
          return std::string("taken");
        });
  expect_kept("graph/kept/own_gradients.txt", outcomes.text(), outcomes.all());
}

}  // namespace
}  // namespace softamp::test::gradient_texts
