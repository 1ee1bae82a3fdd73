// What a folder has of a study: a table of its runs, and what is missing, in words.
#pragma once

#include "src/program/study/study_runs.h"

#include <iosfwd>
#include <string>
#include <vector>

namespace softamp::program {

/// A line for each run: what the axes change, seed, key, state; then how many are done, claimed and missing.
void print_states(const StudyPlan& plan, const std::vector<StudyRun>& runs, const std::vector<RunState>& states,
                  std::ostream& out);
Json states_json(const StudyPlan& plan, const std::vector<StudyRun>& runs, const std::vector<RunState>& states);

/// A line for each row of which runs are missing: "float16 on: seeds 1 to 3, 7".
std::vector<std::string> missing_runs(const StudyPlan& plan, const std::vector<StudyRun>& runs,
                                      const std::vector<std::optional<StudyResult>>& results);

}  // namespace softamp::program
