// The choice of a mechanism of mixed precision on a command line: --tensorflow, --recipe, --policy, --level, --dtype,
// --recipe-fp8 (verbs that train), or --mechanism with all in one text.
#pragma once

#include "src/program/options.h"

#include <optional>
#include <string>
#include <vector>

namespace softamp::program {

struct MechanismOptions {
  std::optional<std::string> tensorflow, recipe, policy, level, recipe_fp8, dtype, mechanism;  ///< as given
};
/// Offers what --tensorflow, --recipe, --policy, --level and --dtype take; the verb has them all.
void offer_mechanisms(const cli::App& app);
void add_mechanism_options(const cli::App& app, MechanismOptions& options);
void add_fp8_recipe_option(const cli::App& app, std::optional<std::string>& recipe);  ///< --recipe-fp8

/// --environment of verbs that train.
void add_environment_option(const cli::App& app, bool& environment);
/// The recipe that TF_BF16_CONVERSION names, as Mechanism::parse reads it; "" without one. It is read once, so that its
/// faults are told by the variable's name; its warnings go to standard error.
std::string environment_mechanism();

/// Names on standard error the variables of Gaudi that are set, but not obeyed because --environment is not given.
void say_idle_environment(const std::string& verb, bool environment, bool quiet);

/// The choice as Mechanism::parse reads it; "" without one. Throws UsageError: two choices, a dtype without a
/// mechanism, a text that Mechanism::parse refuses.
std::string mechanism_text(const MechanismOptions& options);

/// "a,b,c" as mechanisms: a part "dtype=bf16" belongs to the one before it. Throws UsageError that begins with `place`,
/// also if one is listed twice.
std::vector<std::string> split_mechanisms(const std::string& place, const std::string& text);

}  // namespace softamp::program
