#include "src/backend.h"

#include <map>
#include <stdexcept>
#include <utility>

#include "cuda/executor.h"
#include "emu/executor.h"
#include "softamp/report/names.h"

namespace softamp {
namespace {

std::map<std::string, BackendFactory>& table() {
  static std::map<std::string, BackendFactory> backends = {{"cuda", cuda::make_executor}, {"emu", emu::make_executor}};
  return backends;
}

}  // namespace

BackendFactory exchange_backend(const std::string& name, BackendFactory factory) {
  return std::exchange(table()[name], factory);
}

std::unique_ptr<Executor> make_executor(Graph graph, ExecutorOptions options) {
  if (options.config.ipu_model.tiles_per_ipu > 0)
    options.device.tiles = static_cast<int>(options.config.ipu_model.tiles_per_ipu);
  if (options.backend == "auto") options.backend = cuda::device_name().empty() ? "emu" : "cuda";
  const auto found = table().find(options.backend);
  if (found == table().end())
    throw std::invalid_argument(unknown_name_message("backend", options.backend, {"emu", "cuda", "auto"}));
  return found->second(std::move(graph), std::move(options));
}

}  // namespace softamp
