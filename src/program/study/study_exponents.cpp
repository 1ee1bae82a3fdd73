#include "src/program/study/study_exponents.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <stdexcept>

#include "softamp/names/names.h"
#include "src/numbers/decimal_text.h"
#include "src/pictures/html_page.h"
#include "src/program/study/study_verdict.h"
#include "src/text/read_json.h"
#include "src/train/run/exponent_plot.h"

namespace softamp::program {
namespace {

using Kind = LayerExponents::Kind;

ExponentHistogram histogram_from(const Json& json) {
  ExponentHistogram h{json.at("elements"),   json.at("zeros"), json.at("subnormals"),
                      json.at("infinities"), json.at("nans"),  {}};
  for (const auto& [exponent, count] : json.at("exponents").items()) h.exponents[std::stoi(exponent)] = count;
  return h;
}

Kind kind_from(const std::string& name) {
  for (const Kind kind : {Kind::kWeights, Kind::kActivations, Kind::kGradients})
    if (name == name_of(kind)) return kind;
  throw std::invalid_argument("kind: '" + name + "'; expected weights, activations or gradients");
}

std::string percent(int64_t part, int64_t all) {
  return all == 0 ? "–" : significant_digits(100 * static_cast<double>(part) / static_cast<double>(all), 3);
}

/// The same exponents in all pictures, so that they can be laid side by side.
void share_range(std::vector<Plot>& plots) {
  std::optional<PlotRange> range;
  for (const Plot& plot : plots)
    for (const Curve& curve : plot.curves)
      for (const double x : curve.x) {
        if (!range) range = PlotRange{x, x};
        range = PlotRange{std::min(range->least, x), std::max(range->greatest, x)};
      }
  if (!range) return;
  for (Plot& plot : plots) plot.x_range = PlotRange{range->least - 1, range->greatest + 1};
}

std::string table_by_layer(const StudyReport& r) {
  html::Table table;
  table.caption = "Exponents by setting and layer";
  const auto add = [&](const std::string& head, bool right) {
    table.columns.push_back(head);
    table.right.push_back(right);
  };
  for (const std::string& key : r.keys) add(key, false);
  for (const char* head : {"layer", "of", "dtype"}) add(head, false);
  for (const char* head : {"elements", "zero, %", "subnormal, %", "infinite or NaN", "least", "greatest"})
    add(head, true);
  for (const StudyRow& row : r.rows) {
    if (!row.exponents) continue;
    for (const LayerExponents& layer : row.exponents->layers) {
      const ExponentHistogram& h = layer.counts;
      std::vector<html::Cell>& cells = table.rows.emplace_back();
      for (const std::string& value : row.values) cells.push_back({value});
      cells.push_back({layer.layer});
      cells.push_back({name_of(layer.kind)});
      cells.push_back({std::string(name_of(layer.dtype))});
      cells.push_back({std::to_string(h.elements)});
      cells.push_back({percent(h.zeros, h.elements)});
      cells.push_back({percent(h.subnormals, h.elements)});
      cells.push_back({std::to_string(h.infinities + h.nans), h.infinities + h.nans ? "differs" : ""});
      cells.push_back({h.exponents.empty() ? "–" : std::to_string(h.exponents.begin()->first)});
      cells.push_back({h.exponents.empty() ? "–" : std::to_string(h.exponents.rbegin()->first)});
      if (table.rows.size() == kRunsOnPage) return table.text();
    }
  }
  return table.text();
}

}  // namespace

Json exponents_json(const ExponentTotals& totals) {
  Json json;
  json["steps"] = totals.steps;
  json["least_scale"] = totals.least_scale;
  json["greatest_scale"] = totals.greatest_scale;
  json["layers"] = Json::array();
  for (const LayerExponents& layer : totals.layers) {
    Json line = {{"layer", layer.layer},
                 {"kind", name_of(layer.kind)},
                 {"dtype", name_of(layer.dtype)},
                 {"counts", read_json(layer.counts.json())}};
    if (layer.kind == Kind::kGradients) line["unscaled"] = read_json(layer.unscaled.json());
    json["layers"].push_back(std::move(line));
  }
  return json;
}

ExponentTotals exponents_from(const Json& json) {
  ExponentTotals totals{json.at("steps"), json.at("least_scale"), json.at("greatest_scale"), {}};
  for (const Json& line : json.at("layers")) {
    LayerExponents& layer = totals.layers.emplace_back();
    layer.layer = line.at("layer");
    layer.kind = kind_from(line.at("kind"));
    const std::string dtype = line.at("dtype");
    const auto parsed = parse_dtype(dtype);
    if (!parsed) throw std::invalid_argument("dtype: '" + dtype + "'; expected a floating type");
    layer.dtype = *parsed;
    layer.counts = histogram_from(line.at("counts"));
    if (layer.kind == Kind::kGradients) layer.unscaled = histogram_from(line.at("unscaled"));
  }
  return totals;
}

std::string exponents_on_page(const StudyReport& r, const StudyPageOptions& options, int first_picture) {
  std::vector<Plot> plots;
  std::vector<const StudyRow*> rows;
  for (const StudyRow& row : r.rows) {
    if (!row.exponents || row.exponents->steps == 0) continue;
    rows.push_back(&row);
    if (plots.size() < kExponentPictures) plots.push_back(train_detail::gradient_exponents(*row.exponents));
  }
  if (rows.empty()) return {};
  share_range(plots);
  std::string html = html::heading("Exponents of the gradients", "exponents");
  std::string what =
      "How many elements of the gradients have which exponent, over the steps that were looked at in all seeds: as "
      "computed, and without the loss scale.";
  if (rows.size() > plots.size())
    what += " The first " + std::to_string(plots.size()) + " of " + std::to_string(rows.size()) + " settings.";
  if (!options.draw) what += " Not drawn: there was no gnuplot where this page was made.";
  html += html::paragraph(what, "dim");
  for (size_t i = 0; i < plots.size() && options.draw; ++i) {
    const std::string title = row_title(r, *rows[i]);
    const std::string caption = title + ": " + plots[i].subtitle + ".";
    plots[i].subtitle = "";  // the page says it
    html += html::picture(options.draw(plots[i]), first_picture + static_cast<int>(i),
                          "Exponents of the gradients: " + title, caption);
  }
  return html + html::folded("Weights, activations and gradients by layer", table_by_layer(r));
}

}  // namespace softamp::program
