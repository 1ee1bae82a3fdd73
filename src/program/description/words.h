// The words that an option takes, declared where the option is added. Completions offer them; the option's parser may
// accept other spellings, too.
#pragma once

#include "softamp/names/names.h"
#include "softamp/numerics/chips.h"
#include "softamp/numerics/format.h"
#include "softamp/numerics/rounding.h"
#include "src/program/cli.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace softamp::program {

using Words = std::vector<std::string>;

/// Declares the words of the option (or positional) of this name; a later call replaces an earlier one. A word that
/// ends in '=' is the beginning of a value. The function is called when a completion script is made, not before.
void offer(const cli::App& app, const std::string& option, std::function<Words()> words);
void offer(const cli::App& app, const std::string& option, const Words& words);

/// The words declared for the option; else empty.
Words offered(const cli::Option& option);

/// The first name of each value of a type that has names.
template <typename T>
Words names_of_all();
template <>
Words names_of_all<RoundingMode>();
template <>
Words names_of_all<StochasticVariant>();
template <>
Words names_of_all<Overflow>();
template <>
Words names_of_all<CastProfile>();
template <>
Words names_of_all<Tininess>();
template <>
Words names_of_all<RandomEngine>();
template <>
Words names_of_all<Preset>();
template <>
Words names_of_all<FloatFormat>();
template <>
Words names_of_all<Chip>();
template <>
inline Words names_of_all<std::optional<Overflow>>() {
  return names_of_all<Overflow>();
}
template <>
inline Words names_of_all<std::optional<CastProfile>>() {
  return names_of_all<CastProfile>();
}
template <>
inline Words names_of_all<std::optional<Tininess>>() {
  return names_of_all<Tininess>();
}
template <>
inline Words names_of_all<std::optional<Preset>>() {
  return names_of_all<Preset>();
}
template <>
inline Words names_of_all<std::optional<Chip>>() {
  return names_of_all<Chip>();
}
/// The named formats that can be computed in: all except fp64.
Words names_of_compute_formats();

}  // namespace softamp::program
