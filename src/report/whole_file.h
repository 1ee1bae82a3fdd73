// Files that are written whole or not at all: what was there before is lost only when the new one is complete. What is
// on disk after a power cut is not promised here; who needs that synchronises file and folder
// (src/train/checkpoint.cpp).
#pragma once

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>

namespace softamp {

/// A file that has been made beside another, which it replaces once it is complete; removed unless it gets there.
class Replacement {
 public:
  Replacement(std::filesystem::path made, std::filesystem::path replaced)
      : made_(std::move(made)), replaced_(std::move(replaced)) {}
  Replacement(const Replacement&) = delete;
  Replacement& operator=(const Replacement&) = delete;
  ~Replacement() { remove_made(); }

  const std::filesystem::path& made() const { return made_; }
  /// As the destructor does, but now. Leaves errno as it is.
  void remove_made() {
    if (std::exchange(settled_, true)) return;
    const int why = errno;
    std::error_code ignored;
    std::filesystem::remove(made_, ignored);
    errno = why;
  }
  /// At most once, when all is written and closed.
  void put_in_place(std::error_code& error) {
    std::filesystem::rename(made_, replaced_, error);
    settled_ = !error;
  }
  /// The same. Throws std::filesystem::filesystem_error.
  void put_in_place() {
    std::filesystem::rename(made_, replaced_);
    settled_ = true;
  }

 private:
  std::filesystem::path made_, replaced_;
  bool settled_ = false;  ///< in place, or removed
};

/// Writes a temporary file beside it and renames that at the end; a pipe or device is written directly. False on
/// failure: the file is then unchanged, and errno says why.
inline bool write_whole_file(const std::filesystem::path& file, std::string_view bytes) {
  namespace fs = std::filesystem;
  std::error_code error;
  const auto write = [&](const fs::path& path) {
    std::ofstream out(path, std::ios::binary);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    out.close();
    return static_cast<bool>(out);
  };
  if (fs::exists(file, error) && !fs::is_regular_file(file, error))
    return !fs::is_directory(file, error) && write(file);
  const fs::path target = fs::is_symlink(file, error) ? fs::weakly_canonical(file, error) : file;
  Replacement replacement(target.string() + "." + std::to_string(::getpid()) + ".partial", target);
  if (!write(replacement.made())) return false;
  replacement.put_in_place(error);
  if (error) errno = error.value();
  return !error;
}

}  // namespace softamp
