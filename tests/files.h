// Files of a test: a folder that goes away, and whole texts.
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace softamp::test {

/// A folder for one test's files, in memory where the system offers that, removed with its contents when the test ends.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    const bool memory = ::access("/dev/shm", W_OK | X_OK) == 0;
    const std::filesystem::path above = memory ? "/dev/shm" : std::filesystem::temp_directory_path();
    std::string pattern = (above / "softamp_test_XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string file(const std::string& name) const { return (path_ / name).string(); }
  /// `text` with `mark` wherever this folder stands in a path.
  std::string without(std::string text, const std::string& mark = "") const {
    const std::string folder = path_.string() + "/";
    for (size_t at; (at = text.find(folder)) != std::string::npos;) text.replace(at, folder.size(), mark);
    return text;
  }
  size_t entries() const {
    return static_cast<size_t>(
        std::distance(std::filesystem::directory_iterator(path_), std::filesystem::directory_iterator()));
  }

 private:
  std::filesystem::path path_;
};

inline std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace softamp::test
