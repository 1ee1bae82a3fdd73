// --backend: which device computes a run. It changes no bit, so it is not one of the settings.
#pragma once

#include "src/program/backend_choice.h"
#include "src/program/program.h"

#include <string>

namespace softamp::program {

/// Declares the words of --backend, for a verb that adds the option itself.
void offer_backends(const cli::App& app);

/// Adds --backend to a verb: emu, cuda (or gpu) or auto, else UsageError with the nearest. `target` must outlive the
/// parsing.
cli::Option add_backend(const cli::App& app, std::string& target, const std::string& usual = "emu");

}  // namespace softamp::program
