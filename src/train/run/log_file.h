// A log as a file: locked and tried while nothing is written yet, begun as a whole, then longer by whole lines. RunLog
// (train/run_log.h) shows it to users; TrainingLog is the log of run_training.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>

#include "src/files/appended_file.h"
#include "src/files/file_lock.h"

namespace softamp::train_detail {

class LogFile {
 public:
  using Put = std::function<void(std::string_view line)>;

  /// Locks the file for as long as this object lives, and tries it; what is in it stays until begin. Throws
  /// OutputError, LockedError.
  explicit LogFile(std::filesystem::path file);

  /// From now on the file consists of the lines that `write` puts, which have no newlines; what stood there stays until
  /// they are on the disk, and may be read meanwhile. A pipe or a device is written to as it is. Throws OutputError.
  void begin(const std::function<void(const Put&)>& write);
  bool begun() const { return out_.has_value(); }
  /// After begin: one more line, whole or not at all. Throws OutputError.
  void line(std::string_view text);
  /// AppendedFile::synchronise; nothing before begin.
  void synchronise();

  const std::filesystem::path& file() const { return file_; }

 private:
  std::filesystem::path file_;
  files::FileLock lock_;
  bool special_;
  std::optional<files::AppendedFile> out_;
};

}  // namespace softamp::train_detail
