// Settings as JSON.
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <type_traits>

#include "softamp/machine/float_environment.h"
#include "softamp/train/network_file.h"
#include "softamp/train/train_settings.h"
#include "src/names/habits.h"
#include "src/text/nearest_name.h"
#include "src/text/printable.h"
#include "src/text/read_json.h"
#include "src/train/settings/settings_fields.h"

namespace softamp {
namespace {

using files::excerpt;
using train_detail::for_each_setting;
using Json = nlohmann::ordered_json;

/// The lines of the outermost object's keys, in the order of the text, which is known to be JSON.
std::vector<size_t> key_lines(std::string_view text) {
  std::vector<size_t> lines;
  size_t line = 1;
  int depth = 0;
  bool key_is_next = false;  // inside the outermost object, before a key
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') ++line;
    if (c == '{' || c == '[') key_is_next = ++depth == 1;
    if (c == '}' || c == ']') --depth;
    if (c == ',' && depth == 1) key_is_next = true;
    if (c != '"') continue;
    if (depth == 1 && key_is_next) lines.push_back(line);
    key_is_next = false;
    while (text[++i] != '"') i += text[i] == '\\';
  }
  return lines;
}

/// The text as an object.
class SettingsText {
 public:
  SettingsText(std::string_view text, std::string_view place)
      : place_(place), json_(read_json(text, place_, {kMostWrittenBytes, 8})) {
    if (!json_.is_object())
      throw std::invalid_argument(place_ + ": expected a JSON object of settings, found " + excerpt(json_.dump()));
    const std::vector<size_t> lines = key_lines(text);
    for (const auto& [key, value] : json_.items()) lines_.emplace_back(key, lines.at(lines_.size()));
  }

  const Json& json() const { return json_; }
  [[noreturn]] void refuse(const std::string& key, const std::string& what) const {
    std::string line;
    for (const auto& [known, number] : lines_)
      if (known == key) line = "line " + std::to_string(number) + ": ";
    throw std::invalid_argument(place_ + ": " + line + "'" + excerpt(key) + "' " + what);
  }

 private:
  std::string place_;
  Json json_;
  std::vector<std::pair<std::string, size_t>> lines_;
};

[[noreturn]] void wrong_type(const SettingsText& text, const char* key, const Json& value, const char* expected) {
  text.refuse(key, "is " + excerpt(value.dump()) + "; expected " + expected);
}

void read(const SettingsText& text, const char* key, const Json& value, std::string& out) {
  if (std::string_view(key) == "loss_scale" && value.is_number()) {  // 256 and "256" mean the same
    out = value.dump();
    return;
  }
  if (std::string_view(key) == "stochastic_rounding" && value.is_boolean()) {  // as IPU's configuration takes it
    out = value.dump();
    return;
  }
  if (!value.is_string()) wrong_type(text, key, value, "a text in quotes");
  out = value.get<std::string>();
  constexpr size_t kMost = 4096;  // bytes, as many as a path's: each run of a study has a copy
  if (out.size() > kMost)
    text.refuse(key, "has " + std::to_string(out.size()) + " bytes; expected at most " + std::to_string(kMost));
}
void read(const SettingsText& text, const char* key, const Json& value, bool& out) {
  if (!value.is_boolean()) wrong_type(text, key, value, "true or false");
  out = value.get<bool>();
}
void read(const SettingsText& text, const char* key, const Json& value, double& out) {
  if (!value.is_number()) wrong_type(text, key, value, "a number");
  out = value.get<double>();
}
template <class T>
requires std::is_integral_v<T>
void read(const SettingsText& text, const char* key, const Json& value, T& out) {
  static const std::string expected = "a whole number" + std::string(std::is_unsigned_v<T> ? ", 0 or more," : "") +
                                      " of " + std::to_string(8 * sizeof(T)) + " bits";
  const std::optional<T> number = whole_number_in<T>(value);
  if (!number) wrong_type(text, key, value, expected.c_str());
  out = *number;
}
template <class T>
void read(const SettingsText& text, const char* key, const Json& value, std::optional<T>& out) {
  if (value.is_null()) {
    out.reset();
    return;
  }
  T inner{};
  read(text, key, value, inner);
  out = inner;
}

template <class T>
Json json_of(const T& value) {
  return value;
}
template <class T>
Json json_of(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

/// Every setting.
Json all_of(const TrainSettings& settings) {
  Json json;
  for_each_setting(settings, [&](const char* key, const auto& member) { json[key] = json_of(member); });
  return json;
}

const Json& defaults() {
  static const Json all = all_of(TrainSettings{});
  return all;
}

/// Settings that decide about every digit and that logs and checkpoints of earlier versions do not have; there they
/// are at their defaults.
constexpr const char* kOnceUnwritten[] = {"learning_rate_schedule", "warmup_steps",        "decay_steps",
                                          "min_learning_rate",      "decay_matrices_only", "weight_update",
                                          "accumulation_reduction"};

/// Left out where they are at their defaults, so that logs and checkpoints of earlier versions keep their bytes.
bool is_left_out_at_default(std::string_view key) {
  const auto is_key = [&](std::string_view name) { return name == key; };
  return is_key("mechanism") || is_key("validation_split") || is_key("preset") ||
         std::any_of(std::begin(kOnceUnwritten), std::end(kOnceUnwritten), is_key);
}

/// Settings from before there was a preset mean ipu by leaving it out.
bool is_ipu_without_saying(const TrainSettings& settings) {
  if (settings.preset != "ipu") return false;
  TrainSettings unsaid = settings;
  unsaid.preset.clear();
  return unsaid.spelled_out().preset == "ipu";
}

bool is_network_file(const Json& name) { return name.is_string() && names_network_file(name.get<std::string>()); }

bool free_to_differ(std::string_view key) {
  for (const char* free : {"program", "data", "generated", "test_images", "validation_split", "epochs", "steps",
                           "evaluate", "evaluate_every", "threads", "backend", "initial"})
    if (key == free) return true;
  return false;
}

/// Writes out what settings from before some keys mean by leaving them out: their defaults; but then, replicas drifted
/// where they rounded stochastically; and the preset was ipu.
void spell_missing(Json& settings) {
  if (!settings.contains("preset")) settings["preset"] = "ipu";
  if (!settings.contains("replica_drift"))
    settings["replica_drift"] =
        settings.value("stochastic_rounding", Json("off")) == "on" && settings.value("replicas", Json(1)) != 1;
  const auto spell = [&](const char* key) {
    if (!settings.contains(key)) settings[key] = defaults().at(key);
  };
  for (const char* key : {"replica_invariant", "rounding_variant", "chip", "matmul_partials", "convolution_partials",
                          "accumulator", "tensor_core_operands", "bias_in_accumulator", "use_stable_statistics"})
    spell(key);
  for (const char* key : kOnceUnwritten) spell(key);
}

/// Dtypes by our names, as from_json reads them, in settings that were written before it did.
void spell_dtypes(Json& settings) {
  for (const char* key : {"optimizer_state", "hyperparameters", "accumulation_dtype"})
    if (const Json value = settings.value(key, Json()); value.is_string())
      if (const auto dtype = parse_dtype(value.get<std::string>())) settings[key] = std::string(name_of(*dtype));
}

/// Writes out hyperparameters that settings before leave to their optimizer.
void spell_hyperparameters(Json& settings) {
  const auto name = settings.find("optimizer");
  if (name == settings.end() || !name->is_string()) return;
  TrainSettings own;
  own.optimizer = name->get<std::string>();
  try {
    own = train_detail::with_hyperparameters(own);
  } catch (const std::invalid_argument&) {  // no optimizer of this program
    return;
  }
  for (const auto& [key, value] : {std::pair{"momentum", own.momentum},
                                   {"rho", own.rho},
                                   {"beta1", own.beta1},
                                   {"beta2", own.beta2},
                                   {"epsilon", own.epsilon},
                                   {"weight_decay", own.weight_decay}})
    if (value && settings.value(key, Json()).is_null()) settings[key] = *value;
}

}  // namespace

TrainSettings TrainSettings::from_json(std::string_view text, std::string_view place) {
  return from_json(text, place, TrainSettings{});
}

TrainSettings TrainSettings::from_json(std::string_view text, std::string_view place, const TrainSettings& defaults) {
  const engine::DefaultEnvironment guard;
  const SettingsText source(text, place);
  TrainSettings settings = defaults;
  std::vector<std::string> known;
  for_each_setting(settings, [&](const char* key, auto& member) {
    known.emplace_back(key);
    if (const auto it = source.json().find(key); it != source.json().end()) read(source, key, *it, member);
  });
  for (const auto& [key, value] : source.json().items()) {
    graph_detail::Nearest nearest(key);
    bool good = false;
    for (const std::string& name : known) {
      good = good || key == name;
      nearest.offer(name);
    }
    if (good) continue;
    const std::string_view meant = meant_by_habit("setting", key);
    const std::string near(meant.empty() ? nearest.best() : meant);
    source.refuse(key, "is not a setting" + (near.empty() ? "; `softamp train --print-settings` prints them"
                                                          : ". Did you mean '" + near + "'?"));
  }
  train_detail::use_our_names(settings);
  const train_detail::SettingFault fault = train_detail::first_fault(settings);
  if (!fault.key.empty()) source.refuse(fault.key, fault.what);
  return settings;
}

TrainSettings TrainSettings::with(std::string_view key, std::string_view text, std::string_view place) const {
  const engine::DefaultEnvironment guard;
  Json all = read_json(to_json());
  const std::string name(key);
  const bool is_text = defaults().contains(name) && defaults()[name].is_string();
  const Json value = is_text ? Json(Json::value_t::discarded) : read_json_or_discard(text);
  all[name] = value.is_discarded() ? Json(std::string(text)) : value;
  try {
    return from_json(all.dump(), place);
  } catch (const std::invalid_argument& e) {
    // The line number is that of a text we made ourselves: left out.
    std::string message = e.what();
    const std::string line = std::string(place) + ": line 1: ";
    if (message.starts_with(line)) message = std::string(place) + ": " + message.substr(line.size());
    throw std::invalid_argument(message);
  }
}

std::string TrainSettings::to_json(bool with_backend, bool whole) const {
  const engine::DefaultEnvironment guard;
  Json json;
  const Json all = all_of(*this);
  for (const auto& [key, value] : all.items()) {
    if (!whole && is_left_out_at_default(key) && value == defaults()[key]) continue;
    if (!whole && key == "preset" && is_ipu_without_saying(*this)) continue;
    if (with_backend || (key != "threads" && key != "backend")) json[key] = value;
  }
  return json.dump();
}

std::string train_detail::difference_that_decides(const std::string& asked, const std::string& was) {
  Json a = read_json(asked), b = read_json(was);
  spell_hyperparameters(a);
  spell_hyperparameters(b);
  spell_missing(a);
  spell_missing(b);
  // A schedule that ends with the run has other rates in a run of another length.
  const bool ends_with_the_run = a["learning_rate_schedule"] != "constant" && a["decay_steps"] == 0;
  const bool any_replicas = a["replica_invariant"] != 0 && a["replica_invariant"] == b["replica_invariant"];
  spell_dtypes(a);
  spell_dtypes(b);
  std::string text;
  const auto add = [&](const std::string& key, const Json& x, const Json& y) {
    if (any_replicas && (key == "replicas" || key == "accumulation")) return;
    if (key == "network" && is_network_file(x) && is_network_file(y)) return;  // their contents are compared
    const bool length = key == "epochs" || key == "steps";
    if (x != y && (!free_to_differ(key) || (length && ends_with_the_run)))
      text += (text.empty() ? "'" : ", '") + key + "' is " + excerpt(x.dump()) + " and was " + excerpt(y.dump());
  };
  for (const auto& [key, value] : a.items()) add(key, value, b.value(key, Json()));
  for (const auto& [key, value] : b.items())
    if (!a.contains(key)) add(key, Json(), value);
  return text;
}

}  // namespace softamp
