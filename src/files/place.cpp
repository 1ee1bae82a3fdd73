#include "src/files/place.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <system_error>

namespace softamp::files {
namespace {

namespace fs = std::filesystem;

fs::path folder_of(const fs::path& file) { return file.has_parent_path() ? file.parent_path() : fs::path("."); }

/// The number of /proc/self/fd/N, to which /dev/stdout and /dev/fd/N lead; -1 for another name.
int descriptor_of(const fs::path& file) {
  std::error_code error;
  const fs::path folder = fs::canonical(folder_of(file), error);
  if (error || (folder != "/dev/fd" && folder != "/proc/" + std::to_string(::getpid()) + "/fd")) return -1;
  const std::string name = file.filename().string();
  int number = -1;
  const auto [end, bad] = std::from_chars(name.data(), name.data() + name.size(), number);
  return bad == std::errc{} && end == name.data() + name.size() ? number : -1;
}

}  // namespace

Place::Place(const fs::path& name) : file(name) {
  constexpr int kMostLinks = 40;  // the system's own limit; a circle of links is told by whoever opens it
  std::error_code error;
  for (int i = 0; i < kMostLinks; ++i) {
    descriptor = descriptor_of(file);
    if (descriptor >= 0 || !fs::is_symlink(file, error)) break;
    const fs::path next = fs::read_symlink(file, error);
    if (error) break;
    file = next.is_absolute() ? next : folder_of(file) / next;
  }
  there = ::stat(file.c_str(), &status) == 0;
}

bool Place::same_file(const Place& other) const {
  if (there || other.there) return there && other.there && files::same_file(status, other.status);
  std::error_code a, b;
  const fs::path mine = fs::weakly_canonical(fs::absolute(file, a), a);
  const fs::path others = fs::weakly_canonical(fs::absolute(other.file, b), b);
  return !a && !b ? mine == others : file == other.file;
}

fs::path Place::beside(const std::string& ending) const { return folder() / ("." + file.filename().string() + ending); }

std::vector<std::string> Place::stands_beside() const {
  const std::string name = file.filename().string();
  const bool part = name.ends_with(".part");
  constexpr size_t kEnding = 5;
  if (!name.starts_with('.') || !(part || name.ends_with(".lock")) || name.size() < kEnding + 2) return {};
  std::vector<std::string> names{name.substr(1, name.size() - kEnding - 1)};
  const std::string& one = names[0];
  const size_t dot = one.rfind('.');
  if (part && dot != std::string::npos && dot > 0 && dot + 1 < one.size() &&
      one.find_first_not_of("0123456789", dot + 1) == std::string::npos)
    names.push_back(one.substr(0, dot));
  return names;
}

bool Place::is_partial_of(const Place& other) const {
  const std::vector<std::string> names = stands_beside();
  if (std::find(names.begin(), names.end(), other.file.filename().string()) != names.end())
    return Place(folder()).same_file(Place(other.folder()));
  return there && (same_file(Place(other.beside(".part"))) || same_file(Place(other.beside(".lock"))));
}

fs::path Place::folder() const { return folder_of(file); }

}  // namespace softamp::files
