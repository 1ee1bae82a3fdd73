#include "src/program/study/study_shard.h"

#include <cstdlib>
#include <limits>

#include "src/program/usage.h"
#include "src/text/word.h"

namespace softamp::program {
namespace {

constexpr uint64_t kMost = std::numeric_limits<int64_t>::max(), kMostShards = StudyPlan::kMostRuns;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

uint64_t array_value(const char* name, uint64_t least) {
  const std::string value = variable(name);
  if (value.empty())
    throw UsageError("--shard: 'slurm': " + std::string(name) + " is not set; expected a task of a job array, as of " +
                     "`sbatch --array=1-10`");
  return parse_whole("--shard: 'slurm': " + std::string(name), value, least, kMost);
}

Shard shard_of_task() {
  const uint64_t task = array_value("SLURM_ARRAY_TASK_ID", 0), first = array_value("SLURM_ARRAY_TASK_MIN", 0);
  const uint64_t step = variable("SLURM_ARRAY_TASK_STEP").empty() ? 1 : array_value("SLURM_ARRAY_TASK_STEP", 1);
  const uint64_t count = array_value("SLURM_ARRAY_TASK_COUNT", 1);
  const std::string named = "--shard: 'slurm': SLURM_ARRAY_TASK_ID: '" + std::to_string(task) + "': ";
  if (task < first)
    throw UsageError(named + "expected at least " + std::to_string(first) + ", the SLURM_ARRAY_TASK_MIN");
  if ((task - first) % step != 0 || (task - first) / step >= count)
    throw UsageError(named + "expected one of the " + std::to_string(count) +
                     " (SLURM_ARRAY_TASK_COUNT) numbers from " + std::to_string(first) + " on in steps of " +
                     std::to_string(step) + " (SLURM_ARRAY_TASK_STEP), as of `sbatch --array=1-10`");
  return {(task - first) / step + 1, count};
}

}  // namespace

std::vector<StudyRun> Shard::of(const std::vector<StudyRun>& runs) const {
  std::vector<StudyRun> mine;
  for (uint64_t i = number - 1; i < runs.size(); i += count) mine.push_back(runs[i]);
  return mine;
}

Shard parse_shard(const std::string& text) {
  if (same_word(text, "slurm")) return shard_of_task();
  const size_t slash = text.find('/');
  if (slash == std::string::npos)
    throw UsageError("--shard: '" + text + "': expected I/N, as 2/10, or slurm, in a task of a job array");
  const std::string place = "--shard: '" + text + "'";
  const uint64_t count = parse_whole(place + ": N", text.substr(slash + 1), 1, kMostShards);
  return {parse_whole(place + ": I", text.substr(0, slash), 1, count), count};
}

}  // namespace softamp::program
