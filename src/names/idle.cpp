#include "src/names/idle.h"

#include <algorithm>

namespace softamp::detail {
namespace {

constexpr IdleNeed kRounding[] = {IdleNeed::kStochastic};
constexpr IdleNeed kRoundingAndGenerator[] = {IdleNeed::kStochastic, IdleNeed::kGenerator};

constexpr RandomSetting kSettings[] = {
    {"bits", kRounding},
    {"variant", kRounding},
    {"random_words", kRounding},
    {"random_field", kRounding},
    {"replicas", kRounding},
    {"random", kRoundingAndGenerator},
    {"seed", kRoundingAndGenerator},
    {"step", kRoundingAndGenerator},
    {"operation", kRoundingAndGenerator},
    {"first_index", kRoundingAndGenerator},
};

bool has(const RandomUse& use, IdleNeed need) {
  return need == IdleNeed::kStochastic ? use.stochastic : use.stochastic && use.generator;
}

std::string message(const std::string& setting, IdleNeed missed, const Door& door) {
  return missed == IdleNeed::kStochastic
             ? idle_message(setting, "no rounding is stochastic", door.stochastic)
             : idle_message(setting, "random bits come from " + door.words + ", not from a generator",
                            "no " + door.words);
}

}  // namespace

std::span<const RandomSetting> random_settings() { return kSettings; }

std::string idle_message(const std::string& setting, const std::string& why, const std::string& expected) {
  return setting + ": " + why + "; expected " + expected;
}

std::optional<std::string> idle_random_setting(const Door& door, std::span<const RandomUse> cases) {
  for (const RandomSetting& setting : kSettings) {
    const std::string name = door.asked(setting.key);
    if (name.empty()) continue;
    for (const IdleNeed need : setting.needs)
      if (std::none_of(cases.begin(), cases.end(), [need](const RandomUse& use) { return has(use, need); }))
        return message(name, need, door);
  }
  return std::nullopt;
}

}  // namespace softamp::detail
