// A file that grows at its end while a run goes on: a log.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace softamp::files {

/// Whoever appends holds the file's lock (file_lock.h); a file that begins anew is put in place by an OutputFile first.
class AppendedFile {
 public:
  /// Opens the file, or makes it; a pipe or a device as it is. option: what messages begin with, "--log" [=the file's
  /// name alone]. Throws OutputError (output_file.h).
  explicit AppendedFile(std::filesystem::path file, std::string option = {});
  ~AppendedFile();
  AppendedFile(const AppendedFile&) = delete;
  AppendedFile& operator=(const AppendedFile&) = delete;

  /// In the file when it returns, for every reader. All or nothing: the part that a full disk took is cut off again.
  /// Throws OutputError.
  void append(std::string_view bytes);
  /// What was appended is on the disk, and survives a power cut. Some files cannot (pipes); nothing is said then.
  /// Throws OutputError.
  void synchronise();

 private:
  [[noreturn]] void fail(int error) const;

  std::filesystem::path file_;
  std::string option_;
  int descriptor_ = -1;
  bool cuts_ = false;  ///< it can be made shorter again
};

}  // namespace softamp::files
