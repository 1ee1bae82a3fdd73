// The table of `softamp rewrite --evaluate` as text, CSV and JSON.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "src/numbers/decimal_text.h"
#include "src/program/options.h"
#include "src/program/rewrite/evaluate.h"
#include "src/results/csv.h"
#include "src/results/latex.h"
#include "src/results/text.h"

namespace softamp::program {
namespace {

constexpr int kDigits = 3;

results::Table evaluation(const std::vector<NodeEvaluation>& rows, size_t count) {
  results::Table table{.title = "errors of the nodes of the rewritten graph", .columns = {{"node"}, {"op"}, {"dtype"}}};
  for (const char* key : {"own", "own_mean", "error", "error_mean", "binary64", "binary64_mean"}) {
    std::string head = key;
    std::replace(head.begin(), head.end(), '_', ' ');
    table.columns.push_back({.key = key, .head = head, .digits = kDigits});
  }
  for (const char* key : {"flags", "elements", "subnormals", "saturated", "nonfinite"}) table.columns.push_back({key});
  for (size_t r = 0; r < std::min(count, rows.size()); ++r) {
    const NodeEvaluation& node = rows[r];
    results::Row& row = table.rows.emplace_back(results::Row{node.node, node.op, node.dtype});
    for (const Distance* d : {&node.own, &node.before, &node.binary64}) row.insert(row.end(), {d->largest, d->mean()});
    row.insert(row.end(), {node.flags ? flag_names(node.flags) : "", node.elements, node.subnormals, node.saturated,
                           node.nonfinite});
  }
  return table;
}

}  // namespace

std::string evaluation_table(const std::vector<NodeEvaluation>& rows, size_t top) {
  std::string text = results::text(evaluation(rows, top));
  if (rows.size() > top)
    text += "and " + std::to_string(rows.size() - top) + " more: --top N, or --report csv or json\n";
  text +=
      "own: the node by itself, on the tensors of the graph before; error: what has come together there, against the "
      "graph "
      "before; binary64: against\nthe graph in binary64. Largest and mean over all elements, in units of the largest "
      "magnitude of the tensor;\nelements that are not finite there are left out.\n";
  if (rows[0].own.largest > 0)
    text += "most by itself: '" + rows[0].node + "' (" + rows[0].op + ", " + rows[0].dtype + "), " +
            significant_digits(rows[0].own.largest, kDigits) + '\n';
  else
    text += "no node adds an error by itself\n";
  return text;
}

std::string evaluation_csv(const std::vector<NodeEvaluation>& rows) {
  return results::csv(evaluation(rows, rows.size()));
}

std::string evaluation_latex(const std::vector<NodeEvaluation>& rows, size_t top) {
  return results::latex(evaluation(rows, top));
}

std::string evaluation_json(const std::vector<NodeEvaluation>& rows) {
  Json list = Json::array();
  const auto number = [](double v) { return std::isfinite(v) ? Json(v) : Json(nullptr); };
  const auto distance = [&](const Distance& d) {
    return Json{{"largest", number(d.largest)}, {"mean", number(d.mean())}};
  };
  for (const NodeEvaluation& row : rows)
    list.push_back({{"node", row.node},
                    {"op", row.op},
                    {"dtype", row.dtype},
                    {"own", distance(row.own)},
                    {"error", distance(row.before)},
                    {"binary64", distance(row.binary64)},
                    {"flags", row.flags ? flag_names(row.flags) : ""},
                    {"elements", row.elements},
                    {"subnormals", row.subnormals},
                    {"saturated", row.saturated},
                    {"nonfinite", row.nonfinite}});
  return Json{{"nodes", list}}.dump(2) + '\n';
}

}  // namespace softamp::program
