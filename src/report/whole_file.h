// Files that are written whole or not at all: what was there before is lost only when the new one is complete.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace softamp {

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
  const fs::path partial = target.string() + "." + std::to_string(::getpid()) + ".partial";
  bool good = write(partial);
  if (good) fs::rename(partial, target, error);
  good = good && !error;
  if (!good) {
    const int why = error ? error.value() : errno;
    fs::remove(partial, error);
    errno = why;
  }
  return good;
}

}  // namespace softamp
