// The one way in which the library and its program write a file: tried when the work begins, whole or not at all.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "src/files/file_lock.h"

namespace softamp::files {

/// A file cannot be written. The message names option or file, and the reason as the system gives it:
/// "--csv: 'out/table.csv' cannot be written: No space left on device".
class OutputError : public std::runtime_error {
 public:
  OutputError(const std::filesystem::path& file, const std::string& option, std::string why);
  std::string reason;  ///< "No space left on device"
};

/// A file that is replaced whole or not at all. What was there stays until commit() has put the new one in its place.
/// A symbolic link is followed and stays; the new file has the mode of the old one, and its owner where the system
/// allows that. A pipe or a device (/dev/stdout) is opened and written as it is, and never replaced.
///
/// Bytes go to ".NAME.part" beside the file, under the lock of the file (file_lock.h): nobody else writes it meanwhile,
/// and what a killed run has left there is written anew. Where there are no locks the part has the process's number.
class OutputFile {
 public:
  /// Opens it at once, so that a folder that is missing or cannot be written to is told before the work, and a file
  /// that its mode protects.
  /// option: what messages begin with, "--csv" [=the file's name alone]. Throws OutputError; LockedError.
  explicit OutputFile(std::filesystem::path file, std::string option = {});
  /// The same under a lock of this file that the caller holds, and goes on holding.
  OutputFile(std::filesystem::path file, const FileLock& held, std::string option = {});
  /// Without commit() the part is removed.
  ~OutputFile();
  OutputFile(OutputFile&&) noexcept;
  OutputFile& operator=(OutputFile&&) noexcept;

  /// Throws OutputError at the first byte that the system does not take; the part is removed then, and all further
  /// calls throw the same.
  void write(std::string_view bytes);
  /// The same at a place of the file, which may lie behind its end; `write` goes on where it was. Throws OutputError
  /// for a pipe or a device, too.
  void write_at(uint64_t offset, std::string_view bytes);
  /// Writes out and synchronises the part, puts it in place, synchronises the folder. At most once. Throws OutputError;
  /// the old file is then as it was.
  void commit();

  const std::filesystem::path& file() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// OutputFile, write, commit.
void write_file(const std::filesystem::path& file, std::string_view bytes, const std::string& option = {});

/// Whether an OutputFile can be made now, for work whose file is opened at its end. A pipe is not opened. Throws as
/// OutputFile.
void try_output(const std::filesystem::path& file, const std::string& option = {});

/// Whether files can be made in this folder, which need not be there yet. Throws OutputError.
void try_folder(const std::filesystem::path& folder, const std::string& option = {});

/// Removes what a killed run has left beside a file that is whole, unless another run writes it now.
void remove_leftovers(const std::filesystem::path& file);

/// So that a renamed or new file survives a power cut. Some file systems cannot; nothing is said then.
void synchronise_folder(const std::filesystem::path& folder);

}  // namespace softamp::files
