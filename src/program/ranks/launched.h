// Whether a launcher (mpirun, srun) has started this process as one of several.
#pragma once

#include <string>

namespace softamp::program {

struct Launched {
  int rank = 0, ranks = 1;
  std::string by{};         ///< "mpirun (OMPI_COMM_WORLD_SIZE=4)"; "" where there is no launcher
  int ranks_here = 1;       ///< of them on this machine, as far as the launcher says; else all
  bool knows_here = false;  ///< whether the launcher says how many they are
  int cores_given = 0;      ///< for each rank, as the launcher says; 0: it does not

  /// Cores for this rank: those that it was given, else its part of those of this machine; at least 1.
  int cores() const;
};

/// From OMPI_COMM_WORLD_RANK and _SIZE (Open MPI), PMI_RANK and PMI_SIZE (MPICH, and what stems from it), or
/// SLURM_PROCID and SLURM_NTASKS (srun). A batch script of Slurm is no task of srun, though it has these as well: it
/// has a SLURM_JOB_ID and no SLURM_STEP_ID. Throws UsageError, naming the variable.
Launched launched_by();

}  // namespace softamp::program
