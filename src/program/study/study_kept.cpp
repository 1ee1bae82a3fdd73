#include "src/program/study/study_kept.h"

#include "softamp/graph/trace.h"
#include "softamp/numerics/version.h"
#include "src/files/input_file.h"
#include "src/files/output_file.h"
#include "src/precision/recipe_source.h"
#include "src/program/train/train_options.h"
#include "src/program/usage.h"
#include "src/report/newer_file.h"
#include "src/report/read_json.h"
#include "src/report/reason.h"
#include "src/train/json_number.h"
#include "src/train/run/run_data.h"

#include <limits>

namespace softamp::program {
namespace {

namespace fs = std::filesystem;

/// The file's format; 1 did not name the program.
constexpr int kStudyRunFormat = 2;

/// NaN and infinities, which JSON does not have, are written as null and read back as NaN.
double number_or_nan(const Json& value) {
  if (value.is_number()) return value.get<double>();
  if (!value.is_null()) throw UsageError(value.dump() + " is no number");
  return std::numeric_limits<double>::quiet_NaN();
}

Json verdict_json(const Verdict& v) {
  Json json{{"outcome", name_of(v.outcome)}, {"text", v.text}};
  if (const FirstNonfinite& n = v.nonfinite; n.step >= 0)
    json["nonfinite"] = {{"step", n.step}, {"part", n.part}, {"tensor", n.tensor}, {"value", n.value}};
  return json;
}

Verdict verdict_from(const Json& json) {
  using enum TrainingOutcome;
  Verdict v;
  for (const TrainingOutcome outcome : {kTrains, kAtChance, kDiverged})
    if (json.at("outcome") == name_of(outcome)) v.outcome = outcome;
  v.text = json.at("text");
  if (const auto n = json.find("nonfinite"); n != json.end())
    v.nonfinite = {train_detail::whole_number(*n, "step"), n->at("part"), n->at("tensor"), n->at("value")};
  return v;
}

/// The distance is null where it is infinite.
Json drift_json(const ReplicaDriftTotals& d) {
  return {{"first_step", d.first_step},     {"largest_step", d.largest_step}, {"distance", d.largest.distance},
          {"variable", d.largest.variable}, {"replica", d.largest.replica},   {"element", d.largest.element}};
}

ReplicaDriftTotals drift_from(const Json& json) {
  const Json& far = json.at("distance");
  return {train_detail::whole_number(json, "first_step"),
          train_detail::whole_number(json, "largest_step"),
          {far.is_null() ? std::numeric_limits<double>::infinity() : number_or_nan(far), json.at("variable"),
           static_cast<int>(train_detail::whole_number(json, "replica", 255)),
           train_detail::whole_number(json, "element")}};
}

StudyResult result_from(const Json& json) {
  StudyResult result;
  for (const Json& loss : json.at("losses")) result.losses.push_back(number_or_nan(loss));
  result.skipped = train_detail::whole_number(json, "skipped");
  result.images = train_detail::whole_number(json, "images");
  result.correct = train_detail::whole_number(json, "correct", result.images);
  result.seconds = number_or_nan(json.at("seconds"));
  result.images_per_second = number_or_nan(json.at("images_per_second"));
  if (json.contains("low_share")) {  // where there was a mechanism
    result.low_share = number_or_nan(json["low_share"]);
    result.casts = train_detail::whole_number(json, "casts");
  }
  if (const auto v = json.find("verdict"); v != json.end()) result.verdict = verdict_from(*v);
  if (const auto d = json.find("replica_drift"); d != json.end()) result.replica_drift = drift_from(*d);
  result.stopped = json.at("stopped");
  return result;
}

}  // namespace

const StudyData::Facts& StudyData::facts(const TrainSettings& s) {
  const NetworkInfo network = find_network(s.network);
  const auto [at, is_new] =
      facts_.try_emplace({s.generated ? std::string() : s.data, network.image, s.train_images, s.test_images});
  if (!is_new) return at->second;
  try {
    const ImageSets sets = train_detail::load_data(s, network);
    at->second = {sets.train.count, {contents_hash(sets.train), contents_hash(sets.test), {}, {}}};
  } catch (...) {
    facts_.erase(at);
    throw;
  }
  return at->second;
}

RunInputs StudyData::inputs(const TrainSettings& settings) {
  RunInputs found = settings.generated ? RunInputs{} : facts(settings).inputs;
  found.initial = train_detail::initial_hash(settings);
  found.recipe = train_detail::recipe_hash(settings);
  return found;
}

KeptRuns::KeptRuns(fs::path folder, StudyData& data)
    : folder_(std::move(folder)), data_(data), program_{SOFTAMP_VERSION, reproduce::program_digest()} {}

bool may_be_kept_run(const std::string& name) {
  constexpr size_t kDigits = 32;
  return name.find_first_not_of("0123456789abcdef") == kDigits && name.substr(kDigits) == ".json";
}

fs::path KeptRuns::file_of(const TrainSettings& settings, const RunInputs& read) const {
  TrainSettings nameless = settings;
  nameless.data.clear();  // a folder may later have another name, or other images; a recipe's file other lists
  nameless.initial.clear();
  const std::string text = nameless.to_json(false) + read.images + read.test_images + read.initial + read.recipe;
  return folder_ / (hash_text(text.data(), text.size()) + ".json");
}

std::optional<StudyResult> KeptRuns::find(const TrainSettings& settings) {
  const fs::path file = file_of(settings, data_.inputs(settings));
  if (!fs::exists(file)) return std::nullopt;
  files::remove_leftovers(file);
  const std::string text = files::read_input(file, "the result of a run", JsonLimits{}.bytes);
  try {
    const Json json = read_json(text, "");
    if (const std::string newer = newer_file(json, "softamp_study_run", kStudyRunFormat); !newer.empty())
      throw UsageError(newer);
    if (json.at("softamp_study_run") != kStudyRunFormat)
      throw UsageError("softamp_study_run: " + json["softamp_study_run"].dump() + "; expected " +
                       std::to_string(kStudyRunFormat));
    const reproduce::Program program{json.at("version"), json.at("program")};
    if (program != program_ || json.at("arithmetic") != kArithmeticVersion) return std::nullopt;
    return result_from(json);
  } catch (const std::exception& e) {
    throw UsageError(file.string() + ": " + reason_of(e) + "; expected the result of a run that `softamp study` wrote");
  }
}

void KeptRuns::make_folder() const {
  try {
    reproduce::make_folder(folder_);
  } catch (const std::exception& e) {
    throw UsageError(std::string("--out: ") + e.what());
  }
}

void KeptRuns::keep(const TrainSettings& settings, RunInputs read, const StudyResult& result) {
  if (settings.generated) read.images = read.test_images = "";
  const std::lock_guard lock(mutex_);  // two rows may have equal settings, and one file
  if (read != data_.inputs(settings))
    throw UsageError((settings.generated ? settings.mechanism : settings.data) +
                     ": what is read there changed while the study ran; expected the same to its end. Kept runs are "
                     "those of what was there before");
  Json json;
  json["softamp_study_run"] = kStudyRunFormat;
  json["version"] = program_.version;
  json["program"] = program_.digest;
  json["arithmetic"] = kArithmeticVersion;
  json["settings"] = read_json(settings.to_json());
  if (!settings.generated) json["contents"] = read.images + read.test_images;
  json["losses"] = result.losses;
  json["skipped"] = result.skipped;
  json["images"] = result.images;
  json["correct"] = result.correct;
  json["seconds"] = result.seconds;
  json["images_per_second"] = result.images_per_second;
  if (settings.mechanism != TrainSettings{}.mechanism) {
    json["low_share"] = result.low_share;
    json["casts"] = result.casts;
  }
  if (result.verdict) json["verdict"] = verdict_json(*result.verdict);
  if (result.replica_drift.first_step >= 0) json["replica_drift"] = drift_json(result.replica_drift);
  json["stopped"] = result.stopped;
  files::write_file(file_of(settings, read), json.dump() + "\n");
}

}  // namespace softamp::program
