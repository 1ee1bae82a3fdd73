// Which MPI started this process, and the module that speaks with it. An MPI is looked for when a run asks for one:
// softamp runs where none is installed.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "src/exchange/mpi_table.h"

namespace softamp {

enum class MpiKind { kOpenMpi, kMpich };

/// "Open MPI", "MPICH".
std::string name_of(MpiKind kind);

/// Whose mpirun, or mpiexec, started this process, by the environment that it left; nothing if none did.
std::optional<MpiKind> mpi_launcher();
/// How many processes it says that it started; nothing if it does not say.
std::optional<int> mpi_launcher_ranks();

/// "libsoftamp_mpi_openmpi.so"
std::string module_name(MpiKind kind);

/// Loads the module of an MPI, and with it the MPI: from `folder`, or, if that is empty, from beside the program or
/// from <libdir>/softamp/ of where the program is installed. It stays loaded. Throws std::runtime_error that says what
/// was looked for, where, and what to do.
const softamp_mpi_table& load_mpi_module(MpiKind kind, const std::filesystem::path& folder = {});

}  // namespace softamp
