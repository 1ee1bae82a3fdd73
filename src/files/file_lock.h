// One run at a time writes a file: a lock that other processes, and other writers of this one, respect.
#pragma once

#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>

namespace softamp::files {

/// Another run writes the file: "'run.jsonl' is being written by process 4711; expected one run at a time".
class LockedError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Held from construction to destruction; the system ends it with the process, however that ends. It is flock on
/// ".NAME.lock" beside the file (in a folder: on ".lock" inside it), which holds the number of the process and goes
/// with the lock; one that a killed run has left is taken over. Where a file system has no locks, or the folder takes
/// no new file, there is none. A pipe or a device is nobody's.
class FileLock {
 public:
  /// Links are followed: two names of a file are one lock. option: what the message begins with, "--log" [=nothing].
  /// Throws LockedError.
  explicit FileLock(const std::filesystem::path& file, const std::string& option = {});
  ~FileLock();
  FileLock(FileLock&&) noexcept;
  FileLock& operator=(FileLock&&) noexcept;

  /// False where there is none to hold.
  bool held() const { return state_ != nullptr; }

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace softamp::files
