#include "src/program/backend_option.h"

#include "src/program/description/words.h"

#include <CLI/CLI.hpp>

namespace softamp::program {

void offer_backends(CLI::App& app) { offer(app, "--backend", backend_names()); }

CLI::Option* add_backend(CLI::App& app, std::string& target, const std::string& usual) {
  CLI::Option* option = app.add_option_function<std::string>(
      "--backend", [&target](const std::string& text) { target = backend_from_name(text); },
      "emu (the CPU), cuda or gpu, auto (a GPU where there is one); results do not depend on it [=" + usual + "]");
  offer_backends(app);
  return option->type_name("WORD");
}

}  // namespace softamp::program
