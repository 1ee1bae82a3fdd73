// Numbers in the logs and checkpoints of training. JSON has neither NaN nor infinities; they are written as words.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

#include <nlohmann/json.hpp>

#include "softamp/train/training_run.h"
#include "src/text/read_json.h"

namespace softamp::train_detail {

inline nlohmann::ordered_json json_number(double x) {
  if (std::isnan(x)) return "nan";
  if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
  return x;
}

/// The field as a whole number in 0..most (-1: there is none). Throws std::invalid_argument that names the field, and
/// nlohmann's exception where it is missing.
inline int64_t whole_number(const nlohmann::ordered_json& object, const char* key,
                            int64_t most = std::numeric_limits<int64_t>::max()) {
  const nlohmann::ordered_json& value = object.at(key);
  if (const auto number = whole_number_in<int64_t>(value, 0, most)) return *number;
  throw std::invalid_argument("'" + std::string(key) + "' is " + value.dump() + "; expected a whole number in 0.." +
                              std::to_string(most));
}

/// What an evaluation of outputs that are no classes of one sample has besides step, images and loss.
inline void add_measures(nlohmann::ordered_json& json, const Evaluation& e) {
  using Kind = NetworkOutput::Kind;
  if (e.kind == Kind::kClasses) return;
  if (e.kind == Kind::kNextToken) json["perplexity"] = json_number(e.perplexity());
  if (e.kind == Kind::kValues) json["rmse"] = json_number(e.rmse());
  json["predictions"] = e.predictions;
  json["loss_error"] = json_number(e.loss_error);
  json["loss_of_guessing"] = json_number(e.guessing);
}

/// The field as a finite float32. Throws as whole_number does.
inline float float_number(const nlohmann::ordered_json& object, const char* key) {
  const nlohmann::ordered_json& value = object.at(key);
  if (value.is_number() && std::abs(value.get<double>()) <= double{std::numeric_limits<float>::max()})
    return static_cast<float>(value.get<double>());
  throw std::invalid_argument("'" + std::string(key) + "' is " + value.dump() + "; expected a number of float32");
}

}  // namespace softamp::train_detail
