// The words of --behaviour, and of a script's command `behaviour`.
#pragma once

#include "src/program/program.h"

#include "softamp/graph/ipu_config.h"
#include "softamp/numerics/semantics.h"

#include <string>
#include <vector>

namespace softamp::program {

/// The behaviour that has these flags (inv, div0, oflo, esr, nanoo) on and the others off; "all" turns all on, "off" or
/// "none" all off, and later words come on top.
/// Throws UsageError for another word; `place` begins its message.
FloatingPointBehaviour behaviour_from_words(const std::string& place, const std::vector<std::string>& words);

/// Sets the behaviour that words name, separated by commas, as behaviour_from_words reads them.
void set_behaviour(IpuConfig& config, const std::string& words);

/// Declares the words of the option --behaviour.
void offer_behaviours(const cli::App& app);

}  // namespace softamp::program
