#include "src/files/run_files.h"

#include <unistd.h>

#include <algorithm>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "src/files/place.h"
#include "src/text/printable.h"

namespace softamp::files {
namespace {

namespace fs = std::filesystem;

/// A file into which the shell puts what this descriptor gets.
bool is_open_as(int descriptor, const Place& place) {
  struct stat status {};
  return place.there && ::fstat(descriptor, &status) == 0 && same_file(status, place.status);
}

}  // namespace

RunFiles& RunFiles::reads(std::string what, fs::path file) {
  if (!file.empty()) read_.push_back({std::move(what), std::move(file)});
  return *this;
}

RunFiles& RunFiles::reads(const std::string& what, const std::vector<fs::path>& files) {
  for (const fs::path& file : files) reads(what, file);
  return *this;
}

RunFiles& RunFiles::writes(std::string option, fs::path file) {
  return replaces(std::move(option), std::move(file), {});
}

RunFiles& RunFiles::replaces(std::string option, fs::path file, std::string what) {
  if (!file.empty()) written_.push_back({std::move(option), std::move(file), std::move(what)});
  return *this;
}

RunFiles& RunFiles::writes_into(std::string option, fs::path folder,
                                std::function<bool(const std::string& name)> may_be) {
  if (!folder.empty()) folders_.push_back({std::move(option), std::move(folder), std::move(may_be)});
  return *this;
}

std::vector<fs::path> RunFiles::inputs() const {
  std::vector<fs::path> files;
  for (const Entry& entry : read_) files.push_back(entry.file);
  return files;
}

bool RunFiles::Folder::has(const Place& place) const {
  std::vector<std::string> names = place.stands_beside();
  names.push_back(place.file.filename().string());
  if (std::any_of(names.begin(), names.end(), may_be) && Place(folder).same_file(Place(place.folder()))) return true;
  if (!place.there || place.status.st_nlink < 2) return false;
  std::error_code error;  // a hard link to one of them
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (may_be(entry->path().filename().string()) && place.same_file(Place(entry->path()))) return true;
  return false;
}

void RunFiles::check() const {
  std::vector<std::pair<const Entry*, Place>> before;
  for (const Entry& entry : written_) {
    const auto refuse = [&](const std::string& what, const std::string& expected = "another file") {
      throw std::invalid_argument(entry.what + ": " + in_quotes(entry.file) + " is " + what + "; expected " + expected);
    };
    if (entry.file == "-")
      throw std::invalid_argument(entry.what +
                                  ": '-' does not stand for standard output; expected the name of a file (./- for one "
                                  "of this name), or /dev/stdout");
    Place place(entry.file);
    if (place.is_folder()) refuse("a folder", "the name of a file");
    if (place.is_special()) continue;
    if (is_open_as(STDOUT_FILENO, place)) refuse("standard output", "another file, or /dev/stdout");
    if (is_open_as(STDERR_FILENO, place)) refuse("standard error", "another file, or /dev/stderr");
    for (const Entry& read : read_) {
      const Place its(read.file);
      if (read.what != entry.but && place.same_file(its)) refuse(read.what);
      if (its.is_partial_of(place))
        throw std::invalid_argument(read.what + ": " + in_quotes(read.file) + " is where " + entry.what +
                                    " has its file while that is written; expected another file");
    }
    for (const auto& [other, its] : before) {
      if (place.same_file(its)) refuse("the file of " + other->what);
      if (place.is_partial_of(its)) refuse("where " + other->what + " has its file while that is written");
      if (its.is_partial_of(place))
        throw std::invalid_argument(other->what + ": " + in_quotes(other->file) + " is where " + entry.what +
                                    " has its file while that is written; expected another file");
    }
    for (const Folder& folder : folders_)
      if (folder.has(place)) refuse("one of the files of " + folder.option);
    before.emplace_back(&entry, std::move(place));
  }
}

}  // namespace softamp::files
