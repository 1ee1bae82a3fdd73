// Options that were given and change nothing: they are refused, with the reasons of names/idle.h.
#pragma once

#include "src/names/idle.h"
#include "src/program/cli.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace softamp::program {

/// What a verb calls the things that its options of random bits need.
struct RandomOptions {
  std::string stochastic = "--rounding stochastic";   ///< what makes a rounding stochastic
  std::string words = "--random-words";               ///< what gives random bits in the place of a generator
  std::vector<std::string_view> used_otherwise = {};  ///< keys of options that do more than choose random bits: "seed"
};

/// "--first-index", the option of the key "first_index".
std::string option_name(std::string_view key);

/// The option of a key, if it was given; none otherwise.
cli::Option asked_option(const cli::App& app, std::string_view key);

/// "--steps: '3'"; of a flag, and of an option that was given several times, the name alone.
std::string name_and_value(const cli::Option& option);

/// Throws UsageError for the first option of random bits that no case uses.
void refuse_idle_random(const cli::App& app, std::span<const detail::RandomUse> cases, const RandomOptions& how = {});

/// Throws UsageError if the option was given: "--steps: '3': --print runs nothing; expected no --print".
void refuse_idle(const cli::App& app, const std::string& option, const std::string& why, const std::string& expected);

/// Throws UsageError for the first option that was given and is not among `used`.
void refuse_all_but(const cli::App& app, const std::vector<std::string_view>& used, const std::string& why,
                    const std::string& expected);

}  // namespace softamp::program
