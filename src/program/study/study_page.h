// The report of a study: one page of HTML with what was asked, what came out, and how to do it again.
#pragma once

#include "src/program/study/study_report.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace softamp::program {

struct StudyPageOptions {
  bool log = false;    ///< the loss on a logarithmic axis
  std::string folder;  ///< where the runs are kept; "": nowhere
  /// Draws a picture, as svg_of does; empty where nothing can draw, and then the page says so.
  std::function<std::string(const Plot& plot)> draw;
};

/// Without times and speeds: the same results give the same page. At most kRunsOnPage runs are listed one by one.
std::string study_page(const StudyPlan& plan, const std::vector<StudyRun>& runs,
                       const std::vector<std::optional<StudyResult>>& results, const StudyReport& report,
                       const StudyPageOptions& options);

inline constexpr size_t kRunsOnPage = 2000;

}  // namespace softamp::program
