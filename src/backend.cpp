#include "src/backend.h"

#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cuda/engine.h"
#include "emu/engine.h"
#include "softamp/engine/float_environment.h"
#include "softamp/report/names.h"

namespace softamp {
namespace {

std::map<std::string, BackendFactory>& table() {
  static std::map<std::string, BackendFactory> backends = {{"cuda", cuda::make_executor}, {"emu", emu::make_executor}};
  return backends;
}

/// "gpu" is another spelling of "cuda".
std::string backend_called(const std::string& name) { return name == "gpu" ? "cuda" : name; }

/// The factory of the backend of this name.
BackendFactory factory_of(const std::string& name) {
  const auto found = table().find(name);
  if (found == table().end())
    throw std::invalid_argument(unknown_name_message("backend", name, {"emu", "cuda", "auto"}));
  return found->second;
}

/// The device of "cuda"; empty if there is none, and `why` then gives the reason.
std::string device_name(std::string& why) {
  if (factory_of("cuda") != cuda::make_executor) return "another engine in its place";  // a test's factory
  std::string name = cuda::device_name(&why);
  constexpr std::string_view kPlace = "backend cuda: ";
  if (why.starts_with(kPlace)) why.erase(0, kPlace.size());
  return name;
}

/// Why "auto" must take the CPU even if there is a GPU; empty: it need not.
std::string why_the_cpu(const ExecutorOptions& options) {
  if (options.reference) return "the reference runs only on the CPU";
  if (options.isa != bulk::InstructionSet::kAuto)
    return std::string(bulk::name(options.isa)) + " is an instruction set of the CPU";
  return {};
}

}  // namespace

BackendFactory exchange_backend(const std::string& name, BackendFactory factory) {
  return std::exchange(table()[name], factory);
}

std::vector<std::string> cuda_architectures() { return cuda::architectures(); }

BackendChoice choose_backend(const ExecutorOptions& options) {
  std::string why;
  if (options.backend == "auto") {
    why = why_the_cpu(options);
    const std::string device = why.empty() ? device_name(why) : std::string();
    return device.empty() ? BackendChoice{"emu", why} : BackendChoice{"cuda", device};
  }
  const std::string backend = backend_called(options.backend);
  factory_of(backend);
  if (backend != "cuda") return {backend, {}};
  const std::string device = device_name(why);
  if (device.empty()) {
    if (why.find("expected") == std::string::npos)
      why +=
          "; expected a build with CUDA and a GPU of compute capability 7.5 or later, or the backend emu, which gives "
          "the same bits";
    throw std::runtime_error("backend cuda: " + why);
  }
  return {"cuda", device};
}

std::unique_ptr<Executor> make_executor(Graph graph, ExecutorOptions options) {
  const engine::DefaultEnvironment guard;
  if (options.config.ipu_model.tiles_per_ipu > 0)
    options.device.tiles = static_cast<int>(options.config.ipu_model.tiles_per_ipu);
  options.backend = options.backend == "auto" ? choose_backend(options).backend : backend_called(options.backend);
  return factory_of(options.backend)(std::move(graph), std::move(options));
}

}  // namespace softamp
