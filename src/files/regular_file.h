// A file of bytes that is read at any place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "src/files/input_file.h"

namespace softamp::files {

/// A regular file, open for reading.
class RegularFile {
 public:
  /// expected: what messages end with, "a .npy file". Throws InputError: "x.npy: is a pipe; expected a regular file, a
  /// .npy file".
  RegularFile(const std::filesystem::path& file, const std::string& expected);
  ~RegularFile();
  RegularFile(const RegularFile&) = delete;
  RegularFile& operator=(const RegularFile&) = delete;

  /// When it was opened.
  uint64_t size() const { return size_; }
  /// Reads until `count` bytes are there or the file ends; returns how many. Throws InputError.
  size_t read_at(uint64_t offset, void* out, size_t count) const;

 private:
  std::string name_;
  int descriptor_;
  uint64_t size_ = 0;
};

/// The whole of a text that is read from a regular file alone: where a pipe stands, nobody waits for one to write.
/// Throws InputError as read_input and RegularFile.
std::string read_regular(const std::filesystem::path& file, const std::string& expected, uint64_t most_bytes);

}  // namespace softamp::files
