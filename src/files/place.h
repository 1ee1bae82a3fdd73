// Where a file's name leads.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

namespace softamp::files {

/// A name with symbolic links at its end followed, also to a file that is not there yet; what is there.
struct Place {
  std::filesystem::path file;
  int descriptor = -1;  ///< /dev/stdout, /dev/fd/3: a file that this process has open already, as this number; else -1
  bool there = false;
  struct stat status {};  ///< where it is there

  explicit Place(const std::filesystem::path& name);

  bool is_folder() const { return there && S_ISDIR(status.st_mode); }
  /// A pipe, a device, a file that is open already: written to as it is. Such a place is nobody's alone.
  bool is_special() const { return descriptor >= 0 || (there && !S_ISREG(status.st_mode) && !is_folder()); }
  /// Also by a hard link, or where neither file is there yet.
  bool same_file(const Place& other) const;
  /// Where a file stands that goes with this one: "data/.NAME.lock".
  std::filesystem::path beside(const std::string& ending) const;
  std::filesystem::path folder() const;
  /// The names of the files that would put their part or their lock here: of ".a.part" and ".a.lock" it is "a", of
  /// ".a.17.part" also "a", where process 17 has no locks.
  std::vector<std::string> stands_beside() const;
  /// Whether this is where the other's part or lock stands.
  bool is_partial_of(const Place& other) const;
};

/// Whether the system has both for one file.
inline bool same_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

}  // namespace softamp::files
