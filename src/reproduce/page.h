// All results on one HTML page, and as the text of docs/REPRODUCED.md.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "src/reproduce/outcome_json.h"

namespace softamp::reproduce {

/// What the page needs to know of the folder that it stands in.
using FileIsThere = std::function<bool(const std::string& name)>;

/// The page. Pictures and the tables' files, which stand beside it, are linked to if they are there; a table of many
/// rows is shown in part. No file from elsewhere is referred to.
std::string page_html(const std::vector<Result>& results, const FileIsThere& there);

/// Every result in Markdown: source, command, what was found against what was published. No clock, no folder: the same
/// results give the same text.
std::string page_markdown(const std::vector<Result>& results);

/// `text` where HTML stands.
std::string html_escaped(const std::string& text);

}  // namespace softamp::reproduce
