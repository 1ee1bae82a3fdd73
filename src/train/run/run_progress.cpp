#include "src/train/run/run_progress.h"

#include <optional>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "src/numbers/decimal_text.h"
#include "src/text/read_json.h"
#include "src/train/json_number.h"

namespace softamp::train_detail {
namespace {

using Json = nlohmann::ordered_json;

double exact_number_of(const Json& json) {
  const std::string& text = json.get_ref<const std::string&>();
  if (const std::optional<double> x = number_of_decimal(text)) return *x;
  throw std::invalid_argument("progress: '" + text + "': expected a number");
}

}  // namespace

std::string RunProgress::to_json() const {
  Json json;
  json["skipped"] = skipped;
  json["epoch_sum"] = round_trip_text(epoch_sum);
  json["epoch_losses"] = Json::array();
  for (const double loss : epoch_losses) json["epoch_losses"].push_back(round_trip_text(loss));
  json["evaluations"] = Json::array();
  for (const Evaluation& e : evaluations) {
    Json one = {{"step", e.step}, {"images", e.images}, {"correct", e.correct}, {"loss", round_trip_text(e.loss)}};
    if (e.input != NetworkInput::Kind::kImage) one["input"] = static_cast<int>(e.input);
    if (e.kind != NetworkOutput::Kind::kClasses) {
      one["kind"] = static_cast<int>(e.kind);
      one["predictions"] = e.predictions;
      one["mean_square"] = round_trip_text(e.mean_square);
      one["loss_error"] = round_trip_text(e.loss_error);
      one["guessing"] = round_trip_text(e.guessing);
    }
    json["evaluations"].push_back(one);
  }
  if (drift.first_step >= 0)
    json["replica_drift"] = {{"first_step", drift.first_step},
                             {"largest_step", drift.largest_step},
                             {"distance", round_trip_text(drift.largest.distance)},
                             {"variable", drift.largest.variable},
                             {"replica", drift.largest.replica},
                             {"element", drift.largest.element}};
  if (nonfinite.step >= 0)
    json["nonfinite"] = {
        {"step", nonfinite.step}, {"part", nonfinite.part}, {"tensor", nonfinite.tensor}, {"value", nonfinite.value}};
  json["log_lines"] = log_lines;
  if (!unlogged.empty()) json["unlogged"] = unlogged;
  json["data"] = inputs.images;
  json["test_data"] = inputs.test_images;
  if (!inputs.recipe.empty()) json["recipe"] = inputs.recipe;
  if (!inputs.network.empty()) json["network"] = inputs.network;
  return json.dump();
}

RunProgress RunProgress::from_json(const std::string& text) {
  const Json json = read_json(text, "progress");
  RunProgress p;
  p.skipped = whole_number(json, "skipped");
  p.epoch_sum = exact_number_of(json.at("epoch_sum"));
  for (const Json& loss : json.at("epoch_losses")) p.epoch_losses.push_back(exact_number_of(loss));
  for (const Json& e : json.at("evaluations")) {
    Evaluation one{whole_number(e, "step"), whole_number(e, "images"), whole_number(e, "correct"),
                   exact_number_of(e.at("loss"))};
    if (e.contains("input")) one.input = static_cast<NetworkInput::Kind>(whole_number(e, "input", 2));
    if (e.contains("kind")) {
      one.kind = static_cast<NetworkOutput::Kind>(whole_number(e, "kind", 3));
      one.predictions = whole_number(e, "predictions");
      one.mean_square = exact_number_of(e.at("mean_square"));
      one.loss_error = exact_number_of(e.at("loss_error"));
      one.guessing = exact_number_of(e.at("guessing"));
    }
    p.evaluations.push_back(one);
  }
  if (const auto drift = json.find("replica_drift"); drift != json.end())
    p.drift = {whole_number(*drift, "first_step"),
               whole_number(*drift, "largest_step"),
               {exact_number_of(drift->at("distance")), drift->at("variable").get<std::string>(),
                static_cast<int>(whole_number(*drift, "replica", 255)), whole_number(*drift, "element")}};
  if (const auto n = json.find("nonfinite"); n != json.end())
    p.nonfinite = {whole_number(*n, "step"), n->at("part").get<std::string>(), n->at("tensor").get<std::string>(),
                   n->at("value").get<std::string>()};
  p.log_lines = whole_number(json, "log_lines");
  p.unlogged = json.value("unlogged", std::vector<std::string>());
  p.inputs = {json.at("data"), json.value("test_data", ""), {}, json.value("recipe", ""), json.value("network", "")};
  return p;
}

}  // namespace softamp::train_detail
