// Reads a page of HTML as a strict reader would: its elements, its ids, what it refers to.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace softamp::test {

/// "" where every element is closed, in order, ids are unique, every reference is to an id of the page, and nothing is
/// fetched or run; else the first fault.
inline std::string faults_of_page(const std::string& html) {
  std::vector<std::string> open;
  std::set<std::string> ids, wanted;
  if (!html.starts_with("<!DOCTYPE html>\n")) return "no doctype";
  for (size_t at = html.find('<', 1); at != std::string::npos; at = html.find('<', at + 1)) {
    const size_t end = html.find('>', at);
    if (end == std::string::npos) return "cut off: " + html.substr(at, 60);
    const std::string tag = html.substr(at + 1, end - at - 1), name = tag.substr(0, tag.find_first_of(" \n/", 1));
    if (name == "script" || name == "link" || name == "iframe" || name == "img") return "<" + tag + ">";
    for (const std::string_view before : {" id=\"", " id='", "href=\"", "href='", "url("}) {
      for (size_t a = tag.find(before); a != std::string::npos; a = tag.find(before, a + 1)) {
        const size_t from = a + before.size();
        const std::string value = tag.substr(from, tag.find_first_of("\"')", from) - from);
        if (before.starts_with(" id") && !ids.insert(value).second) return "twice: " + value;
        if (!before.starts_with(" id") && value[0] != '#') return "refers to " + value;
        if (!before.starts_with(" id")) wanted.insert(value.substr(1));
      }
    }
    if (tag.find(" src=") != std::string::npos) return "<" + tag + ">";
    if (name == "meta" || name == "br" || tag.back() == '/') continue;
    if (name[0] != '/')
      open.push_back(name);
    else if (open.empty() || open.back() != name.substr(1))
      return "</" + name.substr(1) + "> in " + (open.empty() ? "nothing" : open.back());
    else
      open.pop_back();
    if (name == "style") at = html.find("</style>", at) - 1;
  }
  if (!open.empty()) return "open: " + open.back();
  for (const std::string& id : wanted)
    if (!ids.contains(id)) return "no #" + id;
  if (html.find("http") != std::string::npos) return "http";
  return {};
}

}  // namespace softamp::test
