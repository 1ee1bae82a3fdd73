// Where libsoftamp_nccl.so is.
#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "src/exchange/nccl_exchange.h"

namespace softamp {
namespace {

constexpr const char* kNcclModule = "libsoftamp_nccl.so";

/// The file that the environment names, alone; else beside the program, as in a build folder, and where it is
/// installed.
std::vector<std::filesystem::path> nccl_module_places() {
  if (const char* const named = std::getenv("SOFTAMP_NCCL_MODULE"); named && *named) return {named};
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return {kNcclModule};
  const std::filesystem::path folder = program.parent_path();
  return {folder / kNcclModule, (folder / SOFTAMP_LIBDIR_FROM_BINDIR / "softamp" / kNcclModule).lexically_normal()};
}

const NcclTable* load_nccl_table() {
  std::string tried;
  for (const std::filesystem::path& place : nccl_module_places()) {
    std::error_code error;
    if (!std::filesystem::exists(place, error)) {
      tried += (tried.empty() ? "" : ", ") + place.string();
      continue;
    }
    void* const module = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    const char* const reason = module ? nullptr : dlerror();
    if (!module)
      throw std::runtime_error(place.string() + " cannot be loaded: " + (reason ? reason : "no reason given"));
    void* const symbol = dlsym(module, kNcclTableSymbol);
    const NcclTable* const table = symbol ? reinterpret_cast<const NcclTable* (*)()>(symbol)() : nullptr;
    if (!table || table->layout != NcclTable::kLayout)
      throw std::runtime_error(place.string() +
                               " is of another version of softamp; expected the module built with this program");
    return table;
  }
  throw std::runtime_error(
      "no NCCL module: there is no " + tried +
      "; expected softamp built where nvcc and nccl.h are (CMake's option SOFTAMP_NCCL=ON says what is "
      "missing), or the module's place in the environment's SOFTAMP_NCCL_MODULE");
}

}  // namespace

const NcclTable& nccl_table() {
  static const NcclTable* const table = load_nccl_table();
  return *table;
}

}  // namespace softamp
