// Runs `softamp` in several processes, by each MPI that this machine and this build have.
#pragma once

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "tests/program/process.h"

namespace softamp::test {

struct Mpi {
  std::string name, start;  ///< "openmpi"; the command up to the number of processes
};

/// Those whose mpirun is installed and whose module stands beside the program.
inline std::vector<Mpi> mpis() {
  std::vector<Mpi> all;
  const std::filesystem::path folder = std::filesystem::path(SOFTAMP_PROGRAM).parent_path();
  for (const Mpi& mpi : {Mpi{"openmpi", "mpirun.openmpi --allow-run-as-root --oversubscribe --bind-to none -n "},
                         Mpi{"mpich", "mpirun.mpich -n "}})
    if (std::filesystem::exists(folder / ("libsoftamp_mpi_" + mpi.name + ".so")) &&
        std::system(("command -v mpirun." + mpi.name + " >/dev/null 2>&1").c_str()) == 0)
      all.push_back(mpi);
  return all;
}

constexpr const char* kNoMpi =
    "neither Open MPI nor MPICH is installed, or this build has no module for them (packages openmpi-bin and "
    "libopenmpi-dev, mpich and libmpich-dev)";

inline Outcome run_softamp_on(const Mpi& mpi, int ranks, const std::string& arguments) {
  return run_shell(mpi.start + std::to_string(ranks) + " '" SOFTAMP_PROGRAM "' " + arguments);
}

/// The lines on standard error that are not the launcher's.
inline std::string told(const Outcome& o) {
  std::string lines;
  std::istringstream in(o.err);
  for (std::string line; std::getline(in, line);)
    if (line.rfind("softamp", 0) == 0) lines += line + "\n";
  return lines;
}

}  // namespace softamp::test
