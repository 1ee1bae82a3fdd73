// What people type by habit from other programs, and what it is here: for messages about words that are not known.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace softamp {

/// `word` is no name of `what`, "format", and means `meant`: "e4m3 or e5m2".
struct Habit {
  std::string_view what, word, meant;
};
std::span<const Habit> habits();

/// What a word means that is no name of `what`, "format": "e4m3 or e5m2"; empty where no habit is known.
std::string_view meant_by_habit(std::string_view what, std::string_view word);

/// The name that an option of an earlier version has now; empty where it has none.
std::string_view renamed_option(std::string_view name);

/// The message about an option that a verb does not have. `arguments`: the option, as it was typed, and what follows.
/// `known`: the options of the verb. `keys`: of the settings that its --set takes, "epochs="; empty where it has none.
std::string unknown_option_message(std::span<const std::string> arguments, const std::vector<std::string>& known,
                                   const std::vector<std::string>& keys);

}  // namespace softamp
