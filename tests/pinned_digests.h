// The digests that arithmetic.json pins, for tests that compute theirs.
#pragma once

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <map>
#include <string>

#include "tests/files.h"

namespace softamp::test {

inline const char* const kArithmeticFile = SOFTAMP_SOURCE_DIR "/tests/backend/arithmetic.json";

/// "nearest even  ffd326b0..." as {"nearest even", "ffd326b0..."}; two empty texts where a line is not like that.
inline std::pair<std::string, std::string> digest_of_line(const std::string& line) {
  const size_t blank = line.rfind(' ');
  const size_t end = blank == std::string::npos ? blank : line.find_last_not_of(' ', blank);
  if (end == std::string::npos) return {};
  return {line.substr(0, end + 1), line.substr(blank + 1)};
}

/// Of a section the newest list, by what stands before each digest; a failure of the test where there is none.
inline std::map<std::string, std::string> pinned_digests(const std::string& section) {
  std::map<std::string, std::string> digests;
  const auto file = nlohmann::json::parse(read_text(kArithmeticFile));
  for (const auto& entry : file.at("history")) {
    const auto sections = entry.find("digests");
    if (sections == entry.end() || !sections->contains(section)) continue;
    digests.clear();
    for (const std::string line : sections->at(section)) digests.insert(digest_of_line(line));
  }
  EXPECT_FALSE(digests.empty()) << kArithmeticFile << " pins no digests of '" << section << "'";
  return digests;
}

}  // namespace softamp::test
