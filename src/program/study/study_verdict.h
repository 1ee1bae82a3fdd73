// What the rows of a study come to: how many runs train, and whether a row is worse than the reference.
#pragma once

#include "src/program/study/study_report.h"

#include <string>

namespace softamp::program {

/// Adds a run's outcome to its row.
void count_outcome(StudyRow& row, const StudyResult& result);

/// "trains", "at chance", "worse than guessing", "no update", "diverged at step 12", "stopped", "unclear"; "no run" of
/// a row without any; of runs that differ "2 of 3 train, 1 diverged at step 12".
std::string verdict_of(const StudyRow& row);

/// The row that others are compared with: the only one in float32, else the first; none where there is no other.
std::optional<size_t> reference_of(const StudyReport& report);

/// Fills in every row's difference from the reference.
void compare_with_reference(StudyReport& report);

/// "worse by 0.1 (+4.2 se, p 0.01)", "better by 0.1 (-5.1 se, p 0.004)", "+0.02 (+0.8 se, p 0.5)", "equal", "worse by
/// 0.1 in every seed", "+0.012, no se" of one seed; "reference"; "-". Where the accuracy says the contrary of "worse"
/// or "better", "; accuracy +0.3 %" follows.
std::string difference_text(const StudyReport& report, size_t row);

/// What these words mean, for below the table.
std::string verdict_notes(const StudyReport& report);

/// "float16, stochastic_rounding on".
std::string row_title(const StudyReport& report, const StudyRow& row);

/// The only row in float32 is the reference for the others.
bool is_only_float32(const StudyReport& report, const StudyRow& row);

/// What softamp study says before runs whose replicas may drift apart; "" where none may.
std::string drift_warning_of(const StudyPlan& plan);
/// What to say where runs end before the steps that are asked for, as their epochs have fewer; "" where none does.
std::string length_warning_of(const StudyPlan& plan);

}  // namespace softamp::program
