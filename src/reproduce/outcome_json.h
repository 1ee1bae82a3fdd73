// The outcome of an experiment as JSON, and back, with every bit.
#pragma once

#include <string>
#include <string_view>

#include "src/reproduce/experiment.h"

namespace softamp::reproduce {

/// A finished run: experiment, request and outcome.
struct Result {
  std::string name, summary, source;  ///< of the experiment
  std::string version;                ///< of softamp
  std::string program;                ///< digest of the program; empty: not computed
  std::string command;                ///< the line that repeats it
  Json request = Json::object();      ///< request_json of it
  double seconds = 0;                 ///< that it took
  Outcome outcome;
  std::string failed;  ///< not empty: what stopped it; the outcome is then empty
};

Json result_json(const Result& result);
/// Whether `json` is one of an earlier version.
bool is_of_before(const Json& json);
/// Throws std::invalid_argument if `json` is no result_json.
Result result_from_json(const Json& json);

Json outcome_json(const Outcome& outcome);
Outcome outcome_from_json(const Json& json);

/// Makes of each number in tables and settings that is not finite, which JSON does not know, the text "nan", "inf" or
/// "-inf". (Points of figures stay numbers: outcome_json writes them so, and reads them back.)
void spell_out(Outcome& outcome);

/// The document as text: an object a member a line, a list of plain values on one line.
std::string json_text(const Json& json);

/// "figure", "bound", "shape", "recorded"
std::string_view name_of(Against against);

}  // namespace softamp::reproduce
