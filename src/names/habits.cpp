#include "src/names/habits.h"

#include <algorithm>

#include "softamp/names/names.h"
#include "src/text/word.h"

namespace softamp {
namespace {

constexpr Habit kHabits[] = {
    {"format", "fp8", "e4m3 or e5m2"},
    {"format", "float8", "e4m3 or e5m2"},
    {"format", "f8", "e4m3 or e5m2"},
    {"format", "quarter", "f143 or f152"},
    {"format", "fp6", "e2m3 or e3m2"},
    {"format", "float6", "e2m3 or e3m2"},
    {"format", "float4", "e2m1"},
    {"format", "mxfp6", "mxfp6_e2m3 or mxfp6_e3m2"},
    {"rounding", "even", "nearest"},
    {"rounding", "ties-to-even", "nearest"},
    {"rounding", "half-even", "nearest"},
    {"rounding", "half-up", "nearest-away"},
    {"rounding", "rmm", "nearest-away"},
    {"rounding", "trunc", "zero"},
    {"rounding", "rtz", "zero"},
    {"rounding", "ceil", "up"},
    {"rounding", "rup", "up"},
    {"rounding", "floor", "down"},
    {"rounding", "rdn", "down"},
    {"rounding", "random", "stochastic"},
    {"overflow rule", "clip", "saturate"},
    {"overflow rule", "clamp", "saturate"},
    {"overflow rule", "satfinite", "saturate"},
    {"backend", "cpu", "emu"},
    {"backend", "nvidia", "cuda"},
    {"precision", "amp", "mixed"},
    {"precision", "16-mixed", "mixed"},
    {"precision", "bf16-mixed", "mixed_bfloat16"},
    {"setting", "lr", "learning_rate"},
    {"setting", "wd", "weight_decay"},
    {"setting", "batch", "batch_size"},
    {"setting", "bs", "batch_size"},
    {"setting", "bits", "random_bits"},
    {"setting", "rounding", "stochastic_rounding"},
    {"setting", "variant", "rounding_variant"},
    {"setting", "sr", "stochastic_rounding"},
    {"setting", "model", "network"},
    {"setting", "dtype", "precision"},
    {"setting", "format", "precision"},
    {"setting", "schedule", "learning_rate_schedule"},
    {"setting", "warmup", "warmup_steps"},
    // Of several the first that the verb has.
    {"option of a verb", "--fmt", "--format"},
    {"option of a verb", "--dtype", "--format"},
    {"option of a verb", "--dtype", "--precision"},
    {"option of a verb", "--type", "--format"},
    {"option of a verb", "--precision", "--format"},
    {"option of a verb", "--mode", "--rounding"},
    {"option of a verb", "--rnd", "--rounding"},
    {"option of a verb", "--stochastic", "--rounding stochastic"},
    {"option of a verb", "--stochastic", "--behaviour esr"},
    {"option of a verb", "--sr", "--rounding stochastic"},
    {"option of a verb", "--sr", "--behaviour esr"},
    {"option of a verb", "--saturate", "--overflow saturate"},
    {"option of a verb", "--clip", "--overflow saturate"},
    {"option of a verb", "--rng", "--random"},
    {"option of a verb", "--n", "--count"},
    {"option of a verb", "--output", "--out"},
    {"option of a verb", "--input", "--feed"},
    {"option of a verb", "--device", "--backend"},
    {"option of a verb", "--gpu", "--backend cuda"},
    {"option of a verb", "--cuda", "--backend cuda"},
    {"option of a verb", "--cpu", "--backend emu"},
    {"option of a verb", "--fp8", "--recipe-fp8 NAME"},
    {"option of a verb", "--amp", "--mechanism level=O2, or --set precision=mixed"},
    {"option of a verb", "--workers", "--threads"},
};

/// The meaning of --sr or --dtype that the verb has.
std::string_view option_by_habit(std::string_view name, const std::vector<std::string>& known) {
  for (const Habit& habit : kHabits)
    if (habit.what == "option of a verb" && same_word(habit.word, name) &&
        find_word(known, habit.meant.substr(0, habit.meant.find(' '))))
      return habit.meant;
  return {};
}

/// "--epochs" as the key of a setting, "epochs="; empty where no setting is meant.
std::string setting_of(std::string_view option, const std::vector<std::string>& keys) {
  const std::string_view word = option.substr(std::min(option.find_first_not_of('-'), option.size()));
  const std::string_view meant = meant_by_habit("setting", word);
  for (const std::string_view wanted : {word, meant})
    if (const std::string* const key = wanted.empty() ? nullptr : find_word(keys, std::string(wanted) + "="))
      return *key;
  return {};
}

}  // namespace

std::span<const Habit> habits() { return kHabits; }

std::string_view meant_by_habit(std::string_view what, std::string_view word) {
  for (const Habit& habit : kHabits)
    if (habit.what == what && same_word(habit.word, word)) return habit.meant;
  return {};
}

std::string_view renamed_option(std::string_view name) {
  // Understood in 0.1 alone.
  return name == "--random-bits" ? std::string_view("--random-words") : std::string_view();
}

std::string unknown_option_message(std::span<const std::string> arguments, const std::vector<std::string>& known,
                                   const std::vector<std::string>& keys) {
  const std::string& argument = arguments.front();
  const size_t equals = argument.find('=');
  const std::string name = argument.substr(0, equals);
  if (const std::string key = setting_of(name, keys); !key.empty()) {
    std::string value = equals != std::string::npos                               ? argument.substr(equals + 1)
                        : arguments.size() > 1 && !arguments[1].starts_with("--") ? arguments[1]
                                                                                  : "VALUE";
    return "unknown option '" + name + "'; expected --set " + key + value;
  }
  if (const std::string_view meant = option_by_habit(name, known); !meant.empty())
    return "unknown option '" + name + "'; expected " + std::string(meant);
  return unknown_name_message("option", name, known);
}

}  // namespace softamp
