// In the place of this folder where the build has no CUDA: the engine that is not there.
#include <stdexcept>

#include "cuda/executor.h"

namespace softamp::cuda {
namespace {
constexpr char kWhy[] = "this build has no CUDA: no nvcc was found on PATH or in CUDACXX, or SOFTAMP_CUDA is OFF";
}

std::unique_ptr<Executor> make_executor(Graph, ExecutorOptions) {
  throw std::runtime_error(std::string("backend cuda: ") + kWhy +
                           "; expected a build with CUDA, or the backend emu, which gives the same bits");
}

std::string device_name(std::string* why) {
  if (why) *why = kWhy;
  return {};
}

}  // namespace softamp::cuda
