// The one door to the engines.
#include <stdexcept>

#include "emu/executor.h"
#include "softamp/graph/executor.h"
#include "softamp/report/names.h"

namespace softamp {

std::unique_ptr<Executor> make_executor(Graph graph, ExecutorOptions options) {
  if (options.config.ipu_model.tiles_per_ipu > 0)
    options.device.tiles = static_cast<int>(options.config.ipu_model.tiles_per_ipu);
  if (options.backend == "emu") return emu::make_executor(std::move(graph), std::move(options));
  throw std::invalid_argument(unknown_name_message("backend", options.backend, {"emu"}));
}

}  // namespace softamp
