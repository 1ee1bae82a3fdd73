// The file of a run's checkpoints, which no other run writes meanwhile.
#pragma once

#include <filesystem>

#include "softamp/train/checkpoint.h"
#include "src/files/file_lock.h"

namespace softamp::train_detail {

class CheckpointFile {
 public:
  /// Locks the file for as long as it lives, and tries it; what is in it stays. Throws CheckpointError: no regular
  /// file, it cannot be written, another run writes it.
  explicit CheckpointFile(std::filesystem::path file);
  /// As save_checkpoint.
  void save(const Checkpoint& checkpoint);

 private:
  std::filesystem::path file_;
  files::FileLock lock_;
};

/// load_checkpoint, unless another run, or another writer of this one, writes the file. Throws CheckpointError.
Checkpoint load_alone(const std::filesystem::path& file);

}  // namespace softamp::train_detail
