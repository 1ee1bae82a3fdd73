// Whole texts that are kept beside their test. Each difference is told; with SOFTAMP_WRITE_KEPT=1 in the environment a
// test writes its texts anew, for `git diff` to show what changed.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "tests/files.h"

namespace softamp::test {

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

inline std::string whole_of(std::string place) {
  std::replace(place.begin(), place.end(), '/', '.');
  return SOFTAMP_BINARY_DIR "/kept." + place;
}

/// The text is that of the file `place` below tests/. Where it has digests, `all` is what they are of: it is written
/// into the build folder, to compare with that of another commit.
inline void expect_kept(const std::string& place, const std::string& text, const std::string& all = {}) {
  const std::string file = SOFTAMP_SOURCE_DIR "/tests/" + place;
  if (std::getenv("SOFTAMP_WRITE_KEPT")) write_text(file, text);
  const std::string kept = read_text(file);
  if (kept == text) return;
  if (!all.empty()) write_text(whole_of(place), all);
  const std::vector<std::string> was = lines_of(kept), is = lines_of(text);
  size_t first = 0, last = 0;
  while (first < std::min(was.size(), is.size()) && was[first] == is[first]) ++first;
  while (last < std::min(was.size(), is.size()) - first && was[was.size() - 1 - last] == is[is.size() - 1 - last])
    ++last;
  const auto shown = [&](const std::vector<std::string>& lines, const char* mark) {
    std::string some;
    for (size_t i = first; i < lines.size() - last && i < first + 20; ++i) some += mark + lines[i] + '\n';
    return some;
  };
  ADD_FAILURE() << "tests/" << place << ", line " << first + 1 << " (SOFTAMP_WRITE_KEPT=1 writes it anew):\n"
                << shown(was, "- ") << shown(is, "+ ") << (all.empty() ? "" : "digests are of " + whole_of(place));
}

}  // namespace softamp::test
