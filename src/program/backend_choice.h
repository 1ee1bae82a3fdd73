// Which device computes a run: what --backend says, and what it means on this machine.
#pragma once

#include "softamp/graph/executor.h"

#include <string>
#include <vector>

namespace softamp::program {

/// emu, cuda, auto.
const std::vector<std::string>& backend_names();

/// The text if it names a backend or is "auto"; "cuda" for "gpu"; else UsageError with the nearest;
/// `option` is its place.
std::string backend_from_name(const std::string& text, const std::string& option = "--backend");

/// Replaces "auto" by "emu" or "cuda". If another than "emu" was asked for, prints the choice in a line that begins
/// with `place`, unless that is empty: "softamp run: backend cuda: NVIDIA H100 ...", "softamp run: backend auto: emu,
/// because ...". Throws std::runtime_error if "cuda" has no device, UsageError for options that "cuda" does not have.
void settle_backend(ExecutorOptions& options, const std::string& place);
void settle_backend(std::string& backend, const std::string& place);

}  // namespace softamp::program
