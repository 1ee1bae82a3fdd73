// The table of `softamp rewrite --evaluate` as text, CSV and JSON.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "src/numbers/decimal_text.h"
#include "src/program/options.h"
#include "src/program/rewrite/evaluate.h"
#include "src/text/columns.h"
#include "src/text/csv_cell.h"

namespace softamp::program {
namespace {

const std::vector<std::string> kHeader = {"node",     "op",         "dtype",     "own",           "own mean",
                                          "error",    "error mean", "binary64",  "binary64 mean", "flags",
                                          "elements", "subnormals", "saturated", "nonfinite"};

std::vector<std::string> cells_of(const NodeEvaluation& row, int digits) {
  const auto number = [&](double v) { return digits ? significant_digits(v, digits) : round_trip_text(v); };
  std::vector<std::string> cells = {row.node, row.op, row.dtype};
  for (const Distance* d : {&row.own, &row.before, &row.binary64}) {
    cells.push_back(number(d->largest));
    cells.push_back(number(d->mean()));
  }
  cells.push_back(row.flags ? flag_names(row.flags) : "");
  for (const int64_t count : {row.elements, row.subnormals, row.saturated, row.nonfinite})
    cells.push_back(std::to_string(count));
  return cells;
}

}  // namespace

std::string evaluation_table(const std::vector<NodeEvaluation>& rows, size_t top) {
  std::vector<std::vector<std::string>> lines = {kHeader};
  for (size_t r = 0; r < std::min(top, rows.size()); ++r) lines.push_back(cells_of(rows[r], 3));
  std::string text = in_columns(lines);
  if (rows.size() > top)
    text += "and " + std::to_string(rows.size() - top) + " more: --top N, or --report csv or json\n";
  text +=
      "own: the node by itself, on the tensors of the graph before; error: what has come together there, against the "
      "graph "
      "before; binary64: against\nthe graph in binary64. Largest and mean over all elements, in units of the largest "
      "magnitude of the tensor;\nelements that are not finite there are left out.\n";
  if (rows[0].own.largest > 0)
    text += "most by itself: '" + rows[0].node + "' (" + rows[0].op + ", " + rows[0].dtype + "), " +
            significant_digits(rows[0].own.largest, 3) + '\n';
  else
    text += "no node adds an error by itself\n";
  return text;
}

std::string evaluation_csv(const std::vector<NodeEvaluation>& rows) {
  std::string text;
  const auto add = [&](const std::vector<std::string>& cells) {
    for (size_t c = 0; c < cells.size(); ++c) text += (c ? "," : "") + csv_cell(cells[c]);
    text += "\r\n";
  };
  std::vector<std::string> header = kHeader;
  for (std::string& name : header) std::replace(name.begin(), name.end(), ' ', '_');
  add(header);
  for (const NodeEvaluation& row : rows) add(cells_of(row, 0));
  return text;
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
