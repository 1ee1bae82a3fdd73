#include "src/program/backend_choice.h"

#include "src/program/usage.h"

#include "softamp/names/names.h"
#include "src/names/name_rows.h"

#include <iostream>

namespace softamp::program {
namespace {

/// "backend auto: emu, because this build has no CUDA"
std::string line_of(const std::string& asked, const BackendChoice& choice) {
  if (asked != "auto") return "backend " + choice.backend + (choice.about.empty() ? "" : ": " + choice.about);
  return "backend auto: " + choice.backend + (choice.backend == "cuda" ? ", " : ", because ") + choice.about;
}

}  // namespace

const std::vector<std::string>& backend_names() {
  static const std::vector<std::string> kNames = name_rows::first_names(name_rows::kBackends);
  return kNames;
}

std::string backend_from_name(const std::string& text, const std::string& option) {
  const std::string name = name_rows::our_name(name_rows::kBackends, text);
  if (find_word(backend_names(), name)) return name;
  throw UsageError(option + ": " + unknown_name_message("backend", text, backend_names()));
}

void settle_backend(ExecutorOptions& options, const std::string& place) {
  if (options.backend == "cuda" && options.reference)
    throw UsageError("--reference: computes only on the CPU; expected it with --backend emu, not cuda");
  if (options.backend == "cuda" && options.isa != bulk::InstructionSet::kAuto)
    throw UsageError(std::string("--isa: '") + bulk::name(options.isa) +
                     "': is an instruction set of the CPU; expected it with --backend emu, not cuda");
  const BackendChoice choice = choose_backend(options);
  if (options.backend != "emu" && !place.empty())
    std::cerr << place << ": " << line_of(options.backend, choice) << '\n';
  options.backend = choice.backend;
}

void settle_backend(std::string& backend, const std::string& place) {
  ExecutorOptions options;
  options.backend = backend;
  settle_backend(options, place);
  backend = options.backend;
}

}  // namespace softamp::program
