// All results on one HTML page, and as the text of docs/REPRODUCED.md.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "src/reproduce/outcome_json.h"

namespace softamp::reproduce {

/// Whether a file exists in the page's folder.
using FileIsThere = std::function<bool(const std::string& name)>;

/// The page. Figures and tables' files beside it are linked if they exist; a long table is shown in part. No other
/// files are referred to.
std::string page_html(const std::vector<Result>& results, const FileIsThere& there);

/// Every result in Markdown: source, command, our results next to the published ones. It contains no times and no
/// folders: the same results give the same text.
std::string page_markdown(const std::vector<Result>& results);

/// `text`, escaped for HTML.
std::string html_escaped(const std::string& text);

}  // namespace softamp::reproduce
