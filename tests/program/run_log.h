// Logs of training runs, read back.
#pragma once

#include <nlohmann/json.hpp>

#include <sstream>
#include <string>
#include <vector>

#include "tests/files.h"

namespace softamp::test {

inline std::vector<nlohmann::json> lines_of(const std::string& file) {
  std::vector<nlohmann::json> lines;
  std::istringstream in(read_text(file));
  for (std::string line; std::getline(in, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

/// The lines that training steps wrote; equal runs write equal ones.
inline std::vector<nlohmann::json> steps_of(const std::string& file) {
  std::vector<nlohmann::json> steps;
  for (const nlohmann::json& line : lines_of(file))
    if (line.contains("scale_before")) steps.push_back(line);
  return steps;
}

}  // namespace softamp::test
