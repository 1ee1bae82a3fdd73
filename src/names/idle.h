// Settings that change no result: every door refuses them, with the same reason.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace softamp::detail {

/// How one case of a command, a call or a grid gets its random bits; a case is one format rounded in one way.
struct RandomUse {
  bool stochastic = false;  ///< its rounding draws random bits
  bool generator = true;    ///< a generator makes them; false: they are given as words
};

/// What a setting needs to have an effect, the condition that is missed first in front.
enum class IdleNeed : uint8_t { kStochastic, kGenerator };

/// A setting of random bits, and all that a case has to have to use it.
struct RandomSetting {
  std::string_view key;  ///< "first_index"; a door may spell it in its own way
  std::span<const IdleNeed> needs;
};
std::span<const RandomSetting> random_settings();

/// Where settings come in: the command line, a call of Python, settings of a training run.
struct Door {
  /// The name of a setting, "--first-index", if it was asked for; an empty text otherwise.
  std::function<std::string(std::string_view key)> asked;
  std::string stochastic;  ///< what makes a rounding stochastic here: "--rounding stochastic"
  std::string words;       ///< what gives random bits as words: "--random-words"
};

/// "--bits: no rounding is stochastic; expected --rounding stochastic"
std::string idle_message(const std::string& setting, const std::string& why, const std::string& expected);

/// The message about the first setting of random bits that was asked for and that no case uses.
std::optional<std::string> idle_random_setting(const Door& door, std::span<const RandomUse> cases);

}  // namespace softamp::detail
