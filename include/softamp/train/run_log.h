// The log of a training loop of one's own: lines that are added while a run goes on, and that outlive it. run_training
// (training_run.h) writes its log by itself, in the same way.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace softamp {

class RunLog {
 public:
  /// Locks the file for as long as this object lives, and tries whether it can be written; what is in it stays until
  /// begin. A pipe or a device is written to as it is. Throws std::runtime_error that names the file: it cannot be
  /// written, and why; another run writes it, and which.
  explicit RunLog(const std::filesystem::path& file);
  ~RunLog();
  RunLog(RunLog&&) noexcept;
  RunLog& operator=(RunLog&&) noexcept;

  /// From now on the file consists of these lines, which have no newlines. They are on the disk before they take the
  /// place of what was there: a run that is killed leaves the old file or the new one. Throws std::runtime_error.
  void begin(std::span<const std::string> lines);
  /// One more line, after begin. It is in the file when this returns, whole or not at all: a run that is killed then
  /// has it. Throws std::runtime_error where the file cannot take it; std::logic_error before begin.
  void line(std::string_view text);
  /// What was written is on the disk, and survives a power cut: before a checkpoint that counts on it. Some files
  /// cannot (pipes); nothing is said then. Throws std::runtime_error.
  void synchronise();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace softamp
