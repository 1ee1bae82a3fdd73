// All results on one HTML page, and as the text of docs/REPRODUCED.md.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "src/reproduce/outcome_json.h"

namespace softamp::reproduce {

/// The text of a figure's .svg in the page's folder; empty where it was not drawn.
using DrawnFigure = std::function<std::string(const std::string& file)>;

/// The page, one file that refers to no other: pictures are in it, tables are folded, of a very long one the first
/// rows. It names the files beside it that have everything.
std::string page_html(const std::vector<Result>& results, const DrawnFigure& drawn);

/// Every result in Markdown: source, command, our results next to the published ones. It contains no times and no
/// folders: the same results give the same text.
std::string page_markdown(const std::vector<Result>& results);

}  // namespace softamp::reproduce
