// A cell of comma-separated values (RFC 4180), for all tables.
#pragma once

#include <string>

namespace softamp {

/// In quotes if necessary.
inline std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string result = "\"";
  for (const char c : text) result += c == '"' ? std::string("\"\"") : std::string(1, c);
  return result + "\"";
}

}  // namespace softamp
