#include "src/train/run/training_log.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <utility>

#include <nlohmann/json.hpp>

#include "src/files/place.h"
#include "src/text/newer_file.h"
#include "src/text/read_json.h"
#include "src/train/json_number.h"
#include "src/train/settings/settings_fields.h"
#include "src/train/settings/used_settings.h"

namespace softamp::train_detail {
namespace {

using Json = nlohmann::ordered_json;

double number_of(const Json& json) {
  if (json.is_number()) return json.get<double>();
  const double infinity = std::numeric_limits<double>::infinity();
  return json == "inf" ? infinity : json == "-inf" ? -infinity : std::numeric_limits<double>::quiet_NaN();
}

/// Adds the step of a line, if it is the line of one.
void note_step(const Json& line, StepCurves& steps) {
  if (!line.contains("loss")) return;
  const auto number = [&](const char* key) { return number_of(line.value(key, Json())); };
  steps.losses.push_back(number("loss"));
  steps.learning_rates.push_back(number("learning_rate"));
  steps.loss_scales.push_back(number("scale_before"));
  steps.gradient_norms.push_back(number("gradient_norm"));
}

[[noreturn]] void fail(const std::string& file, const std::string& message) {
  throw std::runtime_error(file + ": " + message);
}

}  // namespace

TrainingLog::TrainingLog(std::string file) : file_(std::move(file)) {
  if (!file_.empty()) out_.emplace(file_);
}

void TrainingLog::begin(const TrainSettings& settings, const std::vector<std::string>& warnings) {
  if (!file_.empty()) start(first_line(settings, warnings), nullptr, 0);
}

void TrainingLog::resume(const TrainSettings& settings, const std::vector<std::string>& warnings, int64_t keep,
                         const std::vector<std::string>& unlogged) {
  lines_ = keep;
  if (!file_.empty()) go_on(settings, warnings, keep);
  for (const std::string& line : unlogged) {
    note_step(read_json(line), kept_steps_);
    add(line);
  }
  write_out();
}

void TrainingLog::go_on(const TrainSettings& settings, const std::vector<std::string>& warnings, int64_t keep) {
  const files::Place place(file_);
  if (!place.there || place.is_special()) {
    lines_before_ = keep;
    return start(first_line(settings, warnings), nullptr, 0);
  }
  std::ifstream in(file_, std::ios::binary);
  if (!in) fail(file_, std::string("cannot be read: ") + std::strerror(errno) + "; expected the log to go on with");
  std::string line;
  std::getline(in, line);
  if (in.bad()) fail(file_, std::string("cannot be read: ") + std::strerror(errno));
  const Json first = read_json_or_discard(line);
  if (const std::string newer = newer_file(first, "softamp_log", 1); !newer.empty()) fail(file_, "line 1: " + newer);
  if (!first.is_object() || first.value("softamp_log", Json()) != 1 || !first.contains("settings"))
    fail(file_, "line 1: expected the start of a log, {\"softamp_log\":1,\"settings\":{...}}; it is not overwritten");
  const std::string difference = difference_that_decides(settings.to_json(false), first["settings"].dump());
  if (!difference.empty()) fail(file_, "the log is of a run with other settings: " + difference);
  const Json before = first.value("lines_before", Json(0));
  const auto lines_before = whole_number_in<int64_t>(before, 0);
  if (!lines_before) fail(file_, "line 1: 'lines_before' is " + before.dump() + "; expected a whole number, 0 or more");
  lines_before_ = std::min(*lines_before, keep);
  start(first_line(settings, warnings), &in, keep - lines_before_);
}

/// Begins the file: line 1, and the next `keep` lines of `kept`. A crash in between loses nothing of the old one.
void TrainingLog::start(const std::string& first_line, std::istream* kept, int64_t keep) {
  out_->begin([&](const LogFile::Put& put) {
    put(first_line);
    int64_t found = 0;
    for (std::string line; found < keep && std::getline(*kept, line) && !kept->eof(); ++found) {
      const Json json = read_json_or_discard(line);
      if (!json.is_object()) break;
      note_step(json, kept_steps_);
      put(line);
    }
    if (kept && kept->bad()) fail(file_, std::string("cannot be read: ") + std::strerror(errno));
    if (found < keep)
      fail(file_, std::to_string(found) + " whole lines after line 1; expected the " + std::to_string(keep) +
                      " of the run up to its checkpoint");
  });
}

std::string TrainingLog::first_line(const TrainSettings& settings, const std::vector<std::string>& warnings) const {
  Json json;
  json["softamp_log"] = 1;
  json["settings"] = read_json(settings.to_json());
  json["used"] = read_json(used_settings(settings));
  json["warnings"] = warnings;
  if (lines_before_ > 0) json["lines_before"] = lines_before_;
  return json.dump();
}

void TrainingLog::add(std::string line) {
  ++lines_;
  if (!file_.empty()) waiting_.push_back(std::move(line));
}

/// A line is complete in the file before the run continues, so that readers, and a crash, find only complete lines.
void TrainingLog::write_out() {
  for (; !waiting_.empty(); waiting_.pop_front()) out_->line(waiting_.front());
}

void TrainingLog::synchronise() {
  if (out_) out_->synchronise();
}

void TrainingLog::step(const StepResult& result) { add(file_.empty() ? std::string() : result.json()); }

void TrainingLog::epoch(int64_t epoch, bool warmup, int64_t step, double average_loss) {
  add(Json{{"epoch", epoch}, {"warmup", warmup}, {"step", step}, {"average_loss", json_number(average_loss)}}.dump());
}

void TrainingLog::evaluation(const Evaluation& e) {
  Json one = {{"step", e.step}, {"images", e.images}};
  const bool right_or_wrong = e.kind != NetworkOutput::Kind::kValues;
  if (right_or_wrong) one["correct"] = e.correct;
  one["loss"] = json_number(e.loss);
  if (right_or_wrong) one["accuracy"] = e.accuracy();
  add_measures(one, e);
  add(Json{{"evaluation", one}}.dump());
}

}  // namespace softamp::train_detail
