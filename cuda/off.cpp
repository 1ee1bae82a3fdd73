// Compiled instead of this folder in a build without CUDA: every function says that there is no CUDA engine.
#include <stdexcept>

#include "cuda/engine.h"

namespace softamp::cuda {
namespace {
constexpr char kWhy[] =
    "this build has no CUDA; where nvcc is installed, `bash tests/build.sh program -DSOFTAMP_CUDA=ON` adds it";

[[noreturn]] void refuse() {
  throw std::runtime_error(std::string("backend cuda: ") + kWhy +
                           "; expected a build with CUDA, or the backend emu, which gives the same bits");
}
}  // namespace

std::unique_ptr<Executor> make_executor(Graph, ExecutorOptions) { refuse(); }

void round_as(const bulk::ChipConversion&, std::span<const float>, void*, const bulk::RandomSource&, FpStatus*) {
  refuse();
}

void round_on_device(const bulk::DeviceRounding&, const Semantics&, const bulk::BulkOptions&) { refuse(); }

std::string device_name(std::string* why) {
  if (why) *why = kWhy;
  return {};
}

std::vector<std::string> architectures() { return {}; }

}  // namespace softamp::cuda
