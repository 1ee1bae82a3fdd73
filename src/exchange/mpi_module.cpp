#include "src/exchange/mpi_module.h"

#include <dlfcn.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <vector>

namespace softamp {
namespace {

namespace fs = std::filesystem;

/// Beside the program, as in a build folder; and where it is installed.
std::vector<fs::path> usual_folders() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) return {};
  const fs::path folder = program.parent_path();
  return {folder, (folder / SOFTAMP_LIBDIR_FROM_BINDIR / "softamp").lexically_normal()};
}

const char* first_set(std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const char* value = std::getenv(name); value && *value) return value;
  return nullptr;
}

}  // namespace

std::string name_of(MpiKind kind) { return kind == MpiKind::kOpenMpi ? "Open MPI" : "MPICH"; }

std::optional<MpiKind> mpi_launcher() {
  // Open MPI's first: it may stand in a job of a resource manager that sets the others for all.
  if (first_set({"OMPI_COMM_WORLD_SIZE", "PMIX_RANK"})) return MpiKind::kOpenMpi;
  if (first_set({"PMI_SIZE", "PMI_RANK", "MPI_LOCALNRANKS"})) return MpiKind::kMpich;
  return std::nullopt;
}

std::optional<int> mpi_launcher_ranks() {
  const char* const text = first_set({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"});
  if (!text) return std::nullopt;
  int ranks = 0;
  const char* const end = text + std::strlen(text);
  const auto [rest, error] = std::from_chars(text, end, ranks);
  if (error != std::errc() || rest != end || ranks < 1) return std::nullopt;
  return ranks;
}

std::string module_name(MpiKind kind) {
  return kind == MpiKind::kOpenMpi ? "libsoftamp_mpi_openmpi.so" : "libsoftamp_mpi_mpich.so";
}

const softamp_mpi_table& load_mpi_module(MpiKind kind, const fs::path& folder) {
  const std::string mpi = name_of(kind), name = module_name(kind);
  const std::vector<fs::path> folders = folder.empty() ? usual_folders() : std::vector<fs::path>{folder};
  std::string looked;
  fs::path found;
  for (const fs::path& place : folders) {
    std::error_code error;
    if (fs::exists(place / name, error)) {
      found = place / name;
      break;
    }
    looked += (looked.empty() ? "" : ", ") + place.string();
  }
  if (found.empty())
    throw std::runtime_error(mpi + ": " + name + " is not in " + (looked.empty() ? "any folder" : looked) +
                             "; expected softamp built where " + mpi + " is (Debian package " +
                             (kind == MpiKind::kOpenMpi ? "libopenmpi-dev" : "libmpich-dev") +
                             "), with the CMake option SOFTAMP_MPI=ON");
  // UCX, which an MPI may stand on, prints its warnings and errors on standard output, which is the program's.
  ::setenv("UCX_LOG_FILE", "stderr", 0);
  // Parts of Open MPI that it loads itself look for its symbols among those of the whole process.
  const int scope = kind == MpiKind::kOpenMpi ? RTLD_GLOBAL : RTLD_LOCAL;
  void* const module = dlopen(found.c_str(), RTLD_NOW | scope);
  if (!module) {
    const char* const reason = dlerror();
    throw std::runtime_error(mpi + ": " + found.string() +
                             " cannot be loaded: " + (reason ? reason : "no reason given"));
  }
  void* const function = dlsym(module, SOFTAMP_MPI_TABLE_FUNCTION);
  const softamp_mpi_table* const table = function ? reinterpret_cast<softamp_mpi_table_function*>(function)() : nullptr;
  if (!table || table->version != SOFTAMP_MPI_TABLE_VERSION)
    throw std::runtime_error(mpi + ": " + found.string() + " is of another version of softamp" +
                             (table ? " (table " + std::to_string(table->version) + ")" : "") + "; expected table " +
                             std::to_string(SOFTAMP_MPI_TABLE_VERSION) + ", the module built with this program");
  return *table;
}

}  // namespace softamp
