#include "src/program/backend_option.h"

#include "src/program/description/words.h"

namespace softamp::program {

void offer_backends(const cli::App& app) { offer(app, "--backend", backend_names()); }

cli::Option add_backend(const cli::App& app, std::string& target, const std::string& usual) {
  cli::Option option = app.add_option_function(
      "--backend", [&target](const std::string& text) { target = backend_from_name(text); },
      "emu (the CPU), cuda or gpu, auto (a GPU where there is one); results do not depend on it [=" + usual + "]");
  offer_backends(app);
  return option.type_name("WORD");
}

}  // namespace softamp::program
