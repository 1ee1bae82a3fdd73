#include "src/program/ranks/launched.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <optional>
#include <thread>

#include "src/program/usage.h"

namespace softamp::program {
namespace {

constexpr uint64_t kMost = std::numeric_limits<int>::max();

/// Nothing where it is not set, or empty.
std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

int whole(const char* name, const std::string& value, uint64_t least, uint64_t greatest = kMost) {
  return static_cast<int>(parse_whole(name, value, least, greatest));
}

std::optional<int> whole_of(const char* name, uint64_t least) {
  const std::optional<std::string> value = variable(name);
  if (!value) return std::nullopt;
  return whole(name, *value, least);
}

struct Launcher {
  const char *name, *rank, *ranks, *here;
};
constexpr Launcher kMpi[] = {
    {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"mpirun", "PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"},
};
constexpr Launcher kSlurm = {"srun", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_NTASKS_PER_NODE"};

Launched launched(const Launcher& l, const std::string& rank, const std::string& ranks) {
  Launched found;
  found.ranks = whole(l.ranks, ranks, 1);
  found.rank = whole(l.rank, rank, 0, static_cast<uint64_t>(found.ranks) - 1);
  found.by = std::string(l.name) + " (" + l.ranks + "=" + ranks + ")";
  const std::optional<int> here = whole_of(l.here, 1);
  found.ranks_here = std::min(here.value_or(found.ranks), found.ranks);
  found.knows_here = here.has_value();
  return found;
}

}  // namespace

int Launched::cores() const {
  const auto all = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  return cores_given > 0 ? cores_given : std::max(1, all / std::max(1, ranks_here));
}

Launched launched_by() {
  for (const Launcher& l : kMpi) {
    const std::optional<std::string> rank = variable(l.rank), ranks = variable(l.ranks);
    if (!rank && !ranks) continue;
    if (!rank || !ranks)
      throw UsageError(std::string(rank ? l.ranks : l.rank) + " is not set, but " + (rank ? l.rank : l.ranks) +
                       " is; expected both, as mpirun sets them, or none");
    return launched(l, *rank, *ranks);
  }
  const std::optional<std::string> rank = variable(kSlurm.rank), ranks = variable(kSlurm.ranks);
  const bool is_script = variable("SLURM_JOB_ID") && !variable("SLURM_STEP_ID");
  if (!rank || !ranks || is_script || whole(kSlurm.ranks, *ranks, 1) == 1) return {};
  Launched found = launched(kSlurm, *rank, *ranks);
  // "16(x4),8": the first machine's stand for all.
  if (const auto tasks = variable("SLURM_STEP_TASKS_PER_NODE"); tasks && !variable(kSlurm.here)) {
    const std::string first = tasks->substr(0, tasks->find_first_not_of("0123456789"));
    found.ranks_here = std::min(whole("SLURM_STEP_TASKS_PER_NODE", first.empty() ? *tasks : first, 1), found.ranks);
  }
  found.cores_given = whole_of("SLURM_CPUS_PER_TASK", 1).value_or(0);
  return found;
}

}  // namespace softamp::program
