#include "src/program/backend_option.h"

#include "src/program/description/words.h"

#include "softamp/report/names.h"

#include <algorithm>
#include <iostream>

namespace softamp::program {
namespace {

const Words kBackends = {"emu", "cuda", "auto"};

/// "backend auto: emu, because this build has no CUDA"
std::string line_of(const std::string& asked, const BackendChoice& choice) {
  if (asked != "auto") return "backend " + choice.backend + (choice.about.empty() ? "" : ": " + choice.about);
  return "backend auto: " + choice.backend + (choice.backend == "cuda" ? ", " : ", because ") + choice.about;
}

}  // namespace

std::string backend_from_name(const std::string& text) {
  if (text == "gpu") return "cuda";
  if (std::find(kBackends.begin(), kBackends.end(), text) != kBackends.end()) return text;
  throw UsageError("--backend: " + unknown_name_message("backend", text, kBackends));
}

void offer_backends(CLI::App& app) { offer(app, "--backend", kBackends); }

CLI::Option* add_backend(CLI::App& app, std::string& target, const std::string& usual) {
  CLI::Option* option = app.add_option_function<std::string>(
      "--backend", [&target](const std::string& text) { target = backend_from_name(text); },
      "emu (the CPU), cuda or gpu, auto (a GPU where there is one); results do not depend on it [=" + usual + "]");
  offer_backends(app);
  return option->type_name("WORD");
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
