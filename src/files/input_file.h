// The one way in which the library and its program read a text that is not trusted: from a file, a pipe or a device;
// never more of it than is expected.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <utility>

namespace softamp::files {

/// A text cannot be read, or is too long. The message names it, the reason, and what was expected: "r.json: is a
/// folder; expected a recipe, a JSON file".
class InputError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// What stands at a name: "a folder", "a SavedModel of TensorFlow; ..." (known_kind_of), "a pipe", "a device", "a
/// socket", "a regular file". mode: st_mode of stat.
std::string kind_of_file(const std::filesystem::path& file, mode_t mode);

/// A text that is read front to back. Of a regular file that is too long not a byte is read.
class InputFile {
 public:
  /// expected: what messages end with, "a recipe, a JSON file". most_bytes: more are refused. name: what messages begin
  /// with [=the file's]. Throws InputError.
  InputFile(const std::filesystem::path& file, std::string expected, uint64_t most_bytes, std::string name = {});
  /// What is open already, and stays so. name: "standard input".
  InputFile(int descriptor, std::string name, std::string expected, uint64_t most_bytes);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  /// All that is left. Throws InputError, also for a file of a kind that other programs write (known_file.h).
  std::string rest();
  /// The next line without its newline; false at the end. A last line may lack the newline. Throws InputError, also for
  /// a line of more than `longest` bytes.
  bool line(std::string& text, size_t longest);

 private:
  void examine();
  bool read_more();
  [[noreturn]] void refuse(const std::string& what) const;

  std::string name_, expected_;
  uint64_t most_bytes_, size_ = 0, read_ = 0, lines_ = 0;  ///< size_: of a regular file
  int descriptor_;
  bool ours_;            ///< to be closed
  std::string pending_;  ///< read, and not given out: from at_ on
  size_t at_ = 0;
};

/// The whole of a text. Throws InputError.
inline std::string read_input(const std::filesystem::path& file, std::string expected, uint64_t most_bytes,
                              std::string name = {}) {
  return InputFile(file, std::move(expected), most_bytes, std::move(name)).rest();
}

}  // namespace softamp::files
