// Whether two names lead to one file, also through links; used to refuse writing over a file that is read.
#pragma once

#include <filesystem>
#include <string>

namespace softamp {

/// False for an empty name, and if `written` exists and is no regular file (a pipe, a device).
inline bool same_file(const std::string& written, const std::string& other) {
  namespace fs = std::filesystem;
  if (written.empty() || other.empty()) return false;
  std::error_code error;
  if (fs::exists(written, error) && !fs::is_regular_file(written, error)) return false;
  const auto place = [](const std::string& name) {
    std::error_code ignored;
    const fs::path path = fs::weakly_canonical(fs::absolute(name, ignored), ignored);
    return ignored ? fs::path(name) : path;
  };
  return place(written) == place(other) || fs::equivalent(written, other, error);
}

}  // namespace softamp
