// Runs the command `softamp`, as a user would, and collects what it says.
#pragma once

#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace softamp::testing {

/// A folder for one test's files, removed with its contents when the test ends.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "softamp_test_XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string file(const std::string& name) const { return (path_ / name).string(); }
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

struct Outcome {
  int code;  ///< exit code; -1 where a signal ended the program
  std::string out, err;
};

/// Runs a shell command with `input` on its standard input.
inline Outcome run_shell(const std::string& command, const std::string& input = "") {
  const TemporaryFolder folder;
  write_text(folder.file("in"), input);
  const std::string line =
      "( " + command + " ) < " + folder.file("in") + " > " + folder.file("out") + " 2> " + folder.file("err");
  const int status = std::system(line.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_text(folder.file("out")), read_text(folder.file("err"))};
}

/// Runs `softamp` with these arguments, written as in a shell.
inline Outcome run_softamp(const std::string& arguments, const std::string& input = "") {
  return run_shell("'" SOFTAMP_PROGRAM "' " + arguments, input);
}

}  // namespace softamp::testing
