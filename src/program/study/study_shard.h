// A part of a study's runs, for one of several processes that are started apart from each other.
#pragma once

#include "src/program/study/study_grid.h"

#include <cstdint>
#include <string>
#include <vector>

namespace softamp::program {

/// Runs are dealt like cards, row by row and seed by seed: run i (from 0) goes to shard i mod `count` + 1. So any two
/// shards differ by at most one run in all, and by at most one seed in each row.
struct Shard {
  uint64_t number = 1, count = 1;  ///< number: 1 to count

  std::vector<StudyRun> of(const std::vector<StudyRun>& runs) const;
  std::string text() const { return std::to_string(number) + "/" + std::to_string(count); }
};

/// "2/10"; or "slurm": the task of a job array, by SLURM_ARRAY_TASK_ID, _MIN, _STEP [=1] and _COUNT. Throws UsageError.
Shard parse_shard(const std::string& text);

}  // namespace softamp::program
