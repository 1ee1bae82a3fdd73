#include "src/program/study/study_kept.h"

#include "src/program/study/study_exponents.h"

#include "softamp/graph/trace.h"
#include "softamp/numerics/version.h"
#include "src/files/checked_json.h"
#include "src/files/claim.h"
#include "src/files/file_lock.h"
#include "src/files/output_file.h"
#include "src/files/regular_file.h"
#include "src/precision/recipe_source.h"
#include "src/program/train/train_options.h"
#include "src/program/usage.h"
#include "src/text/newer_file.h"
#include "src/text/read_json.h"
#include "src/text/reason.h"
#include "src/train/json_number.h"
#include "src/train/run/run_data.h"

#include <nlohmann/json.hpp>

#include <chrono>
#include <limits>
#include <thread>

namespace softamp::program {
namespace {

namespace fs = std::filesystem;

/// The file's format; 1 did not name the program, 2 had no checksum.
constexpr int kStudyRunFormat = 3;

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
  for (const TrainingOutcome outcome : {kTrains, kAtChance, kWorseThanGuessing, kNoUpdate, kDiverged})
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
  result.predictions = train_detail::whole_number(json, "predictions");
  result.correct = train_detail::whole_number(json, "correct", result.predictions);
  result.test_loss = number_or_nan(json.at("test_loss"));
  result.seconds = number_or_nan(json.at("seconds"));
  result.images_per_second = number_or_nan(json.at("images_per_second"));
  if (json.contains("low_share")) {  // where there was a mechanism
    result.low_share = number_or_nan(json["low_share"]);
    result.casts = train_detail::whole_number(json, "casts");
  }
  if (const auto v = json.find("verdict"); v != json.end()) result.verdict = verdict_from(*v);
  if (const auto d = json.find("replica_drift"); d != json.end()) result.replica_drift = drift_from(*d);
  if (const auto e = json.find("exponents"); e != json.end()) result.exponents = exponents_from(*e);
  result.stopped = json.at("stopped");
  return result;
}

}  // namespace

const StudyData::Facts& StudyData::facts(const TrainSettings& s) {
  const NetworkInfo network = find_network(s.network);
  const bool has_name = train_detail::network_hash(s).empty();  // and so takes images of classes
  const auto [at, is_new] =
      facts_.try_emplace({s.generated ? std::string() : s.data, has_name ? std::string() : s.network, network.image,
                          s.train_images, s.test_images, s.validation_split});
  if (!is_new) return at->second;
  try {
    const train_detail::SampleSets sets = train_detail::load_data(s, network);
    at->second = {sets.train->count(), {sets.train->hash(), sets.test->hash(), {}, {}}};
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
  found.network = train_detail::network_hash(settings);
  return found;
}

KeptRuns::KeptRuns(fs::path folder, StudyData& data, bool exponents)
    : folder_(std::move(folder)),
      data_(data),
      exponents_(exponents),
      program_{SOFTAMP_VERSION, reproduce::program_digest()} {}

namespace {

bool is_key(std::string_view text) {
  constexpr size_t kDigits = 32;
  return text.size() == kDigits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string key_of(const TrainSettings& settings, const RunInputs& read) {
  TrainSettings nameless = settings;
  nameless.data.clear();  // a folder may later have another name, or other images; a recipe's file other lists
  nameless.initial.clear();
  if (!read.network.empty()) nameless.network.clear();
  const std::string text =
      nameless.to_json(false) + read.images + read.test_images + read.initial + read.recipe + read.network;
  return hash_text(text.data(), text.size());
}

/// "KEY" of ".KEY.json.lock" and the like, which stand beside a file while it is written; "" of another name.
std::string_view key_of_part(std::string_view name) {
  if (!name.starts_with('.')) return {};
  name.remove_prefix(1);
  const size_t at = name.find(".json.");
  return at == std::string_view::npos ? std::string_view() : name.substr(0, at);
}

/// Another process that does the same run, or cleans up after one, may hold the file's lock for a moment.
void write_patiently(const fs::path& file, const std::string& text) {
  using namespace std::chrono_literals;
  for (const auto until = std::chrono::steady_clock::now() + 10s;; std::this_thread::sleep_for(10ms)) try {
      return files::write_file(file, text);
    } catch (const files::LockedError&) {
      if (std::chrono::steady_clock::now() > until) throw;
    }
}

}  // namespace

bool may_be_kept_run(const std::string& name) {
  const std::string_view text = name;
  return is_key(files::key_of_claim(name)) || (name.ends_with(".json") && is_key(text.substr(0, text.size() - 5)));
}

void check_is_folder(const fs::path& folder) {
  std::error_code error;
  const fs::file_status status = fs::status(folder, error);
  if (fs::exists(status) && !fs::is_directory(status))
    throw UsageError("--out: '" + folder.string() + "': Not a directory; expected a folder of kept runs");
  if (error && status.type() != fs::file_type::not_found)
    throw UsageError("--out: '" + folder.string() + "': " + error.message() + "; expected a folder of kept runs");
}

std::string KeptRuns::key(const TrainSettings& settings) { return key_of(settings, data_.inputs(settings)); }

std::optional<StudyResult> KeptRuns::find(const std::string& key) const {
  const fs::path file = file_of(key);
  if (!fs::exists(file)) return std::nullopt;
  const std::string text = files::read_regular(file, "the result of a run", JsonLimits{}.bytes);
  try {
    const Json json = read_json(text, "");
    if (const std::string newer = newer_file(json, "softamp_study_run", kStudyRunFormat); !newer.empty())
      throw UsageError(newer);
    const Json& format = json.at("softamp_study_run");
    if (format == 1 || format == 2) return std::nullopt;  // of another program, therefore
    if (format != kStudyRunFormat)
      throw UsageError("softamp_study_run: " + format.dump() + "; expected " + std::to_string(kStudyRunFormat));
    verify_checksum(text);
    const reproduce::Program program{json.at("version"), json.at("program")};
    if (program != program_ || json.at("arithmetic") != kArithmeticVersion) return std::nullopt;
    if (exponents_ && !json.contains("exponents")) return std::nullopt;
    return result_from(json);
  } catch (const std::exception& e) {
    throw UsageError(
        file.string() + ": " + reason_of(e) +
        "; expected the result of a run that `softamp study` wrote; without the file it does the run again");
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
  json["predictions"] = result.predictions;
  json["correct"] = result.correct;
  json["test_loss"] = result.test_loss;
  json["seconds"] = result.seconds;
  json["images_per_second"] = result.images_per_second;
  if (settings.mechanism != TrainSettings{}.mechanism) {
    json["low_share"] = result.low_share;
    json["casts"] = result.casts;
  }
  if (result.verdict) json["verdict"] = verdict_json(*result.verdict);
  if (result.replica_drift.first_step >= 0) json["replica_drift"] = drift_json(result.replica_drift);
  if (result.exponents) json["exponents"] = exponents_json(*result.exponents);
  json["stopped"] = result.stopped;
  write_patiently(file_of(key_of(settings, read)), with_checksum(json.dump()));
}

void KeptRuns::clean(const std::set<std::string>& kept) const {
  std::error_code error;
  const auto is_kept = [&](std::string_view key) { return kept.contains(std::string(key)); };
  std::vector<fs::path> claims, parts;
  for (fs::directory_iterator entry(folder_, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (is_kept(files::key_of_claim(name))) claims.push_back(entry->path());
    if (const std::string_view key = key_of_part(name); is_kept(key)) parts.push_back(file_of(std::string(key)));
  }
  for (const fs::path& claim : claims) fs::remove(claim, error);
  for (const fs::path& part : parts) files::remove_leftovers(part);
  files::remove_leftovers(folder_ / "softamp");  // of make_folder()
  if (!fs::exists(folder_ / ".lock", error)) return;
  try {
    const files::FileLock of_before(folder_);  // takes it over, and goes with it
  } catch (const files::LockedError&) {        // an earlier version is at work here
  }
}

}  // namespace softamp::program
