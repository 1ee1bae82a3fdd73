// --backend: which device computes a run. It changes no bit, so it is not one of the settings.
#pragma once

#include "src/program/program.h"

#include "softamp/graph/executor.h"

#include <string>

namespace softamp::program {

/// The text if it names a backend or is "auto"; "cuda" for "gpu"; else UsageError with the nearest.
std::string backend_from_name(const std::string& text);

/// Declares the words of --backend, for a verb that adds the option itself.
void offer_backends(CLI::App& app);

/// Adds --backend to a verb: emu, cuda (or gpu) or auto, else UsageError with the nearest. `target` must outlive the
/// parsing.
CLI::Option* add_backend(CLI::App& app, std::string& target, const std::string& usual = "emu");

/// Replaces "auto" by "emu" or "cuda". If another than "emu" was asked for, prints the choice in a line that begins
/// with `place`, unless that is empty: "softamp run: backend cuda: NVIDIA H100 ...", "softamp run: backend auto: emu,
/// because ...". Throws std::runtime_error if "cuda" has no device, UsageError for options that "cuda" does not have.
void settle_backend(ExecutorOptions& options, const std::string& place);
void settle_backend(std::string& backend, const std::string& place);

}  // namespace softamp::program
