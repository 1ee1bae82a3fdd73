// --backend: what a run is computed on. It changes no bit, so it is chosen apart from the settings that do.
#pragma once

#include "src/program/program.h"

#include "softamp/graph/executor.h"

#include <string>

namespace softamp::program {

/// The text, where it names a backend or is "auto"; "cuda" for "gpu"; else UsageError with the nearest.
std::string backend_from_name(const std::string& text);

/// Says what --backend of a verb takes, where the verb adds it itself.
void offer_backends(CLI::App& app);

/// Adds --backend to a verb: emu, cuda (or gpu) or auto, else UsageError with the nearest. `target` must outlive the
/// parsing.
CLI::Option* add_backend(CLI::App& app, std::string& target, const std::string& usual = "emu");

/// Puts "emu" or "cuda" in the place of "auto". Where another than "emu" was asked for, says what it is in a line that
/// begins with `place`, unless that is empty: "softamp run: backend cuda: NVIDIA H100 ...", "softamp run: backend auto:
/// emu, because ...". Throws std::runtime_error where there is no device for "cuda", UsageError for options that "cuda"
/// does not have.
void settle_backend(ExecutorOptions& options, const std::string& place);
void settle_backend(std::string& backend, const std::string& place);

}  // namespace softamp::program
