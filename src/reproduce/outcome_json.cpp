#include "src/reproduce/outcome_json.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "src/text/newer_file.h"
#include "src/text/printable.h"
#include "src/text/read_json.h"
#include "src/text/reason.h"

namespace softamp::reproduce {
namespace {

/// The number in softamp_reproduce of a result; another one is not read.
constexpr int kDocument = 2;  // 1 had no checksum in its file

template <class E>
using Names = std::vector<std::pair<E, const char*>>;

const Names<CurveStyle>& style_names() {
  static const Names<CurveStyle> kNames = {{CurveStyle::kThin, "thin"},
                                           {CurveStyle::kBold, "bold"},
                                           {CurveStyle::kReference, "reference"},
                                           {CurveStyle::kPoints, "points"},
                                           {CurveStyle::kBars, "bars"}};
  return kNames;
}

const Names<Against>& against_names() {
  static const Names<Against> kNames = {{Against::kFigure, "figure"},
                                        {Against::kBound, "bound"},
                                        {Against::kShape, "shape"},
                                        {Against::kRecorded, "recorded"}};
  return kNames;
}

template <class E>
const char* name_in(const Names<E>& names, E value) {
  for (const auto& entry : names)
    if (entry.first == value) return entry.second;
  throw std::invalid_argument("an enumerator without a name");
}

template <class E>
E value_in(const Names<E>& names, const std::string& name) {
  for (const auto& entry : names)
    if (name == entry.second) return entry.first;
  throw std::invalid_argument("unknown word '" + name + "'");
}

/// JSON has no number for what is not finite.
Json number_json(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

void spell_out(Json& json) {
  if (json.is_number_float()) json = number_json(json.get<double>());
  if (json.is_structured())
    for (Json& part : json) spell_out(part);
}

double number_from(const Json& json) {
  if (json.is_number()) return json.get<double>();
  if (!json.is_string()) throw std::invalid_argument(json.dump() + " is no number");
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::string text = json;
  if (text == "nan") return std::nan("");
  if (text == "inf" || text == "-inf") return text == "inf" ? kInfinity : -kInfinity;
  throw std::invalid_argument("'" + text + "' is no number");
}

/// What is written as a plain number.
double finite_from(const Json& json, const char* key) {
  if (const double value = number_from(json); std::isfinite(value)) return value;
  throw std::invalid_argument("'" + std::string(key) + "' is " + json.dump() + "; expected a finite number");
}

int whole_number_from(const Json& object, const char* key, int most) {
  if (const auto number = whole_number_in<int>(object.at(key), 0, most)) return *number;
  throw std::invalid_argument("'" + std::string(key) + "' is " + object.at(key).dump() +
                              "; expected a whole number in 0.." + std::to_string(most));
}

Json numbers_json(const std::vector<double>& values) {
  Json json = Json::array();
  for (const double value : values) json.push_back(number_json(value));
  return json;
}

std::vector<double> numbers_from(const Json& json) {
  std::vector<double> values;
  for (const Json& value : json) values.push_back(number_from(value));
  return values;
}

Json range_json(const std::optional<PlotRange>& range) {
  return range ? Json::array({range->least, range->greatest}) : Json();
}

std::optional<PlotRange> range_from(const Json& figure, const char* key) {
  const Json& range = figure.at(key);
  if (range.is_null()) return std::nullopt;
  return PlotRange{finite_from(range.at(0), key), finite_from(range.at(1), key)};
}

Json figure_json(const Figure& figure) {
  const Plot& plot = figure.plot;
  Json json;
  json["name"] = figure.name;
  json["caption"] = figure.caption;
  json["title"] = plot.title;
  json["subtitle"] = plot.subtitle;
  json["x_label"] = plot.x_label;
  json["y_label"] = plot.y_label;
  json["x_log"] = plot.x_log;
  json["y_log"] = plot.y_log;
  json["x_range"] = range_json(plot.x_range);
  json["y_range"] = range_json(plot.y_range);
  json["equal_aspect"] = plot.equal_aspect;
  json["curves"] = Json::array();
  for (const Curve& curve : plot.curves) {
    Json c;
    c["title"] = curve.title;
    c["style"] = name_in(style_names(), curve.style);
    c["colour"] = curve.colour;
    c["dashed"] = curve.dashed;
    c["x"] = numbers_json(curve.x);
    c["y"] = numbers_json(curve.y);
    json["curves"].push_back(std::move(c));
  }
  return json;
}

Figure figure_from(const Json& json) {
  constexpr int kGreatestBase = 10, kGreatestColour = 1 << 20;  // the palette begins again
  Figure figure{json.at("name"), {}, json.at("caption")};
  Plot& plot = figure.plot;
  plot.title = json.at("title");
  plot.subtitle = json.at("subtitle");
  plot.x_label = json.at("x_label");
  plot.y_label = json.at("y_label");
  plot.x_log = whole_number_from(json, "x_log", kGreatestBase);
  plot.y_log = whole_number_from(json, "y_log", kGreatestBase);
  plot.x_range = range_from(json, "x_range");
  plot.y_range = range_from(json, "y_range");
  plot.equal_aspect = json.at("equal_aspect");
  for (const Json& c : json.at("curves"))
    plot.curves.push_back({c.at("title"), value_in(style_names(), c.at("style")), numbers_from(c.at("x")),
                           numbers_from(c.at("y")), whole_number_from(c, "colour", kGreatestColour), c.at("dashed")});
  return figure;
}

Json table_json(const Table& table) {
  Json json;
  json["name"] = table.name;
  json["title"] = table.title;
  json["columns"] = table.columns;
  json["rows"] = Json::array();
  for (const auto& row : table.rows) json["rows"].push_back(row);
  return json;
}

Table table_from(const Json& json) {
  Table table{json.at("name"), json.at("title"), json.at("columns"), {}};
  for (const Json& row : json.at("rows")) table.rows.emplace_back(row.begin(), row.end());
  return table;
}

bool plain_list(const Json& json) {
  return json.is_array() && std::none_of(json.begin(), json.end(), [](const Json& v) { return v.is_structured(); });
}

void write(const Json& json, const std::string& indent, std::string& text) {
  if (json.empty() || !json.is_structured() || plain_list(json)) {
    // Texts may come from anywhere: invalid UTF-8 must not prevent writing a run's results.
    text += json.dump(-1, ' ', false, Json::error_handler_t::replace);
    return;
  }
  const std::string deeper = indent + "  ";
  text += json.is_array() ? "[\n" : "{\n";
  bool first = true;
  for (const auto& [key, value] : json.items()) {
    text += (first ? "" : ",\n") + deeper +
            (json.is_array() ? "" : Json(key).dump(-1, ' ', false, Json::error_handler_t::replace) + ": ");
    write(value, deeper, text);
    first = false;
  }
  text += "\n" + indent + (json.is_array() ? "]" : "}");
}

}  // namespace

std::string_view name_of(Against against) { return name_in(against_names(), against); }

Json outcome_json(const Outcome& outcome) {
  Json json;
  if (!outcome.skipped.empty()) {
    json["skipped"] = outcome.skipped;
    return json;
  }
  json["settings"] = outcome.settings;
  json["tables"] = Json::array();
  for (const Table& table : outcome.tables) json["tables"].push_back(table_json(table));
  json["seen"] = outcome.seen;
  json["deviations"] = outcome.deviations;
  json["checks"] = Json::array();
  for (const Check& check : outcome.checks) {
    Json c;
    c["what"] = check.what;
    c["against"] = name_of(check.against);
    c["ours"] = check.ours;
    c["theirs"] = check.theirs;
    c["agrees"] = check.agrees;
    json["checks"].push_back(std::move(c));
  }
  json["figures"] = Json::array();
  for (const Figure& figure : outcome.figures) json["figures"].push_back(figure_json(figure));
  return json;
}

Outcome outcome_from_json(const Json& json) {
  Outcome outcome;
  if (json.contains("skipped")) {
    outcome.skipped = json.at("skipped");
    return outcome;
  }
  outcome.settings = json.at("settings");
  for (const Json& table : json.at("tables")) outcome.tables.push_back(table_from(table));
  outcome.seen = json.at("seen");
  outcome.deviations = json.value("deviations", std::string());
  for (const Json& c : json.at("checks"))
    outcome.checks.push_back({c.at("what"), value_in(against_names(), c.at("against")), c.at("ours"), c.at("theirs"),
                              c.at("agrees").get<bool>()});
  for (const Json& figure : json.at("figures")) outcome.figures.push_back(figure_from(figure));
  return outcome;
}

Json result_json(const Result& result) {
  Json json;
  json["softamp_reproduce"] = kDocument;
  json["name"] = result.name;
  json["summary"] = result.summary;
  json["source"] = result.source;
  json["version"] = result.version;
  if (!result.program.empty()) json["program"] = result.program;
  json["command"] = result.command;
  json["request"] = result.request;
  json["seconds"] = result.seconds;
  if (!result.failed.empty())
    json["failed"] = result.failed;
  else
    json.update(outcome_json(result.outcome));
  return json;
}

void spell_out(Outcome& outcome) {
  spell_out(outcome.settings);
  for (Table& table : outcome.tables)
    for (auto& row : table.rows)
      for (Json& cell : row) spell_out(cell);
}

bool is_of_before(const Json& json) {
  return json.is_object() && json.contains("softamp_reproduce") && json["softamp_reproduce"] == 1;
}

Result result_from_json(const Json& json) {
  try {
    if (const std::string newer = newer_file(json, "softamp_reproduce", kDocument); !newer.empty())
      throw std::invalid_argument(newer);
    if (json.at("softamp_reproduce") != kDocument) throw std::invalid_argument("of another kind");
    Result result;
    result.name = json.at("name");
    result.summary = json.at("summary");
    result.source = json.at("source");
    result.version = json.at("version");
    result.program = json.value("program", std::string());
    result.command = json.at("command");
    result.request = json.at("request");
    result.seconds = finite_from(json.at("seconds"), "seconds");
    if (json.contains("failed"))
      result.failed = json.at("failed");
    else
      result.outcome = outcome_from_json(json);
    return result;
  } catch (const Json::exception& e) {
    throw std::invalid_argument("no result of an experiment: " + reason_of(e));
  }
}

std::string json_text(const Json& json) {
  std::string text;
  write(json, "", text);
  return files::printable_json(text) + "\n";
}

}  // namespace softamp::reproduce
