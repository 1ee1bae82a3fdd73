#include "src/train/run/training_log.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <stdexcept>
#include <utility>

#include <nlohmann/json.hpp>

#include "src/report/whole_file.h"
#include "src/train/json_number.h"
#include "src/train/settings/settings_fields.h"

namespace softamp::train_detail {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

double number_of(const Json& json) {
  if (json.is_number()) return json.get<double>();
  const double infinity = std::numeric_limits<double>::infinity();
  return json == "inf" ? infinity : json == "-inf" ? -infinity : std::numeric_limits<double>::quiet_NaN();
}

[[noreturn]] void fail(const std::string& file, const std::string& message) {
  throw std::runtime_error(file + ": " + message);
}

}  // namespace

TrainingLog::TrainingLog(std::string file, const TrainSettings& settings, const std::vector<std::string>& warnings)
    : file_(std::move(file)) {
  if (file_.empty()) return;
  open(false);
  write(first_line(settings, warnings));
}

TrainingLog::TrainingLog(std::string file, const TrainSettings& settings, const std::vector<std::string>& warnings,
                         int64_t keep)
    : file_(std::move(file)), lines_(keep) {
  if (file_.empty()) return;
  std::ifstream in(file_, std::ios::binary);
  if (!in) {
    lines_before_ = keep;
    open(false);
    write(first_line(settings, warnings));
    return;
  }
  std::string line;
  std::getline(in, line);
  const Json first = Json::parse(line, nullptr, false);
  if (!first.is_object() || first.value("softamp_log", Json()) != 1 || !first.contains("settings"))
    fail(file_, "line 1: expected the start of a log, {\"softamp_log\":1,\"settings\":{...}}; it is not overwritten");
  const std::string difference = difference_that_decides(settings.to_json(false), first["settings"].dump());
  if (!difference.empty()) fail(file_, "the log is of a run with other settings: " + difference);
  const Json before = first.value("lines_before", Json(0));
  if (!before.is_number_integer() || before < 0)
    fail(file_, "line 1: 'lines_before' is " + before.dump() + "; expected a whole number, 0 or more");
  lines_before_ = std::min(before.get<int64_t>(), keep);
  // The kept part goes to a new file, which replaces the old one: a crash in between loses nothing.
  const std::string partial = file_ + ".partial";
  std::ofstream out(partial, std::ios::binary | std::ios::trunc);
  if (!out) fail(partial, std::string("cannot be written: ") + std::strerror(errno));
  Replacement replacement(partial, file_);
  out << first_line(settings, warnings) << '\n';
  int64_t kept = lines_before_;
  for (; kept < keep && std::getline(in, line) && !in.eof(); ++kept) {
    const Json json = Json::parse(line, nullptr, false);
    if (!json.is_object()) break;
    if (json.contains("loss")) kept_losses_.push_back(number_of(json["loss"]));
    out << line << '\n';
  }
  out.close();
  if (kept < keep)
    fail(file_, std::to_string(kept - lines_before_) + " whole lines after line 1; expected the " +
                    std::to_string(keep - lines_before_) + " of the run up to its checkpoint");
  std::error_code error;
  if (out) replacement.put_in_place(error);
  if (!out || error) fail(file_, "not all could be written; is the disk full?");
  open(true);
}

void TrainingLog::open(bool append) {
  out_.open(file_, append ? std::ios::binary | std::ios::app : std::ios::binary | std::ios::trunc);
  if (!out_) fail(file_, std::string("cannot be written: ") + std::strerror(errno) + "; expected a file for the log");
}

std::string TrainingLog::first_line(const TrainSettings& settings, const std::vector<std::string>& warnings) const {
  Json json;
  json["softamp_log"] = 1;
  json["settings"] = Json::parse(settings.to_json());
  json["warnings"] = warnings;
  if (lines_before_ > 0) json["lines_before"] = lines_before_;
  return json.dump();
}

/// A line is complete in the file before the run continues, so that readers, and a crash, find only complete lines.
void TrainingLog::write(const std::string& line) {
  if (file_.empty()) return;
  out_ << line << '\n' << std::flush;
  if (!out_) fail(file_, "not all could be written; is the disk full?");
}

void TrainingLog::step(const StepResult& result) {
  ++lines_;
  if (!file_.empty()) write(result.json());
}

void TrainingLog::epoch(int64_t epoch, bool warmup, int64_t step, double average_loss) {
  ++lines_;
  write(Json{{"epoch", epoch}, {"warmup", warmup}, {"step", step}, {"average_loss", json_number(average_loss)}}.dump());
}

void TrainingLog::evaluation(const Evaluation& e) {
  ++lines_;
  write(Json{{"evaluation",
              {{"step", e.step},
               {"images", e.images},
               {"correct", e.correct},
               {"loss", json_number(e.loss)},
               {"accuracy", e.accuracy()}}}}
            .dump());
}

}  // namespace softamp::train_detail
