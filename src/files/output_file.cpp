#include "src/files/output_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <system_error>
#include <utility>

#include "src/files/place.h"
#include "src/text/printable.h"

namespace softamp::files {
namespace {

namespace fs = std::filesystem;

/// A pipe, a device or a file that is open already, for writing.
int open_special(const Place& place) {
  return place.descriptor >= 0 ? ::fcntl(place.descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)
                               : ::open(place.file.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
}

/// Some file systems cannot synchronise; a disk that is full or broken is another matter.
bool synchronise(int descriptor) {
  return ::fsync(descriptor) == 0 || errno == EINVAL || errno == ENOSYS || errno == ENOTSUP;
}

/// As the old file: its owner where the system allows that, its mode.
void take_mode(int descriptor, const struct stat& old) {
  struct stat mine {};
  if (::fstat(descriptor, &mine) != 0) return;
  const bool others = mine.st_uid != old.st_uid || mine.st_gid != old.st_gid;
  if (others && ::fchown(descriptor, old.st_uid, old.st_gid) != 0) errno = 0;
  if (::fchmod(descriptor, old.st_mode & 07777) != 0) errno = 0;
}

}  // namespace

OutputError::OutputError(const fs::path& file, const std::string& option, std::string why)
    : std::runtime_error((option.empty() ? "" : option + ": ") + in_quotes(file) + " cannot be written: " + why),
      reason(std::move(why)) {}

struct OutputFile::State {
  fs::path file;
  std::string option;
  fs::path target, part{};  ///< part: empty where it is written as it is
  std::optional<FileLock> lock{};
  int descriptor = -1;
  std::optional<OutputError> failure{};  ///< of the first call that failed
  pid_t owner = ::getpid();

  State(fs::path name, std::string words) : file(std::move(name)), option(std::move(words)) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { give_up(); }

  [[noreturn]] void fail(int why) { fail(std::strerror(why)); }
  [[noreturn]] void fail(const std::string& why) {
    failure.emplace(file, option, why);
    give_up();
    throw *failure;
  }
  /// Throws what the first failure has thrown, if there was one.
  void go_on() const {
    if (failure) throw *failure;
  }
  /// write_some(descriptor, from, size): as the system's write.
  template <class WriteSome>
  void write_all(std::string_view bytes, WriteSome&& write_some) {
    go_on();
    while (!bytes.empty()) {
      const ssize_t n = write_some(descriptor, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) fail(errno);
      bytes.remove_prefix(static_cast<size_t>(n));
    }
  }
  /// A child made by fork leaves the part to its parent.
  void give_up() {
    if (descriptor >= 0) ::close(std::exchange(descriptor, -1));
    if (!part.empty() && ::getpid() == owner) ::unlink(part.c_str());
    part.clear();
    lock.reset();
  }

  void open(const FileLock* held) {
    const Place place(file);
    target = place.file;
    if (place.is_folder()) fail(EISDIR);
    if (place.is_special()) {
      descriptor = open_special(place);
      if (descriptor < 0) fail(errno);
      return;
    }
    if (target.filename().empty()) fail(ENOENT);
    std::error_code error;
    if (fs::is_symlink(target, error)) fail(ELOOP);
    // Putting a new file in its place needs no permission of the old one: what its mode forbids is asked for.
    if (place.there && ::faccessat(AT_FDCWD, target.c_str(), W_OK, AT_EACCESS) != 0) fail(errno);
    if (!held) held = &lock.emplace(file, option);
    const fs::path made = place.beside(held->held() ? ".part" : "." + std::to_string(owner) + ".part");
    ::unlink(made.c_str());  // of a killed run
    descriptor = ::open(made.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (descriptor < 0) errno == EEXIST ? fail(in_quotes(made) + " is in the way") : fail(errno);
    part = made;
    if (place.there) take_mode(descriptor, place.status);
  }
};

OutputFile::OutputFile(fs::path file, std::string option)
    : state_(std::make_unique<State>(std::move(file), std::move(option))) {
  state_->open(nullptr);
}

OutputFile::OutputFile(fs::path file, const FileLock& held, std::string option)
    : state_(std::make_unique<State>(std::move(file), std::move(option))) {
  state_->open(&held);
}

OutputFile::~OutputFile() = default;
OutputFile::OutputFile(OutputFile&&) noexcept = default;
OutputFile& OutputFile::operator=(OutputFile&&) noexcept = default;

const fs::path& OutputFile::file() const { return state_->file; }

void OutputFile::write(std::string_view bytes) {
  state_->write_all(bytes,
                    [](int descriptor, const char* from, size_t size) { return ::write(descriptor, from, size); });
}

void OutputFile::write_at(uint64_t offset, std::string_view bytes) {
  State& s = *state_;
  s.go_on();
  if (s.part.empty()) s.fail("it is written front to back; expected a regular file");
  const char* const first = bytes.data();
  s.write_all(bytes, [&](int descriptor, const char* from, size_t size) {
    return ::pwrite(descriptor, from, size, static_cast<off_t>(offset) + (from - first));
  });
}

void OutputFile::commit() {
  State& s = *state_;
  s.go_on();
  if (!s.part.empty() && !synchronise(s.descriptor)) s.fail(errno);
  if (::close(std::exchange(s.descriptor, -1)) != 0 && errno != EINTR) s.fail(errno);
  if (!s.part.empty()) {
    if (std::rename(s.part.c_str(), s.target.c_str()) != 0) s.fail(errno);
    s.part.clear();
    synchronise_folder(s.target.has_parent_path() ? s.target.parent_path() : fs::path("."));
  }
  s.lock.reset();
}

void write_file(const fs::path& file, std::string_view bytes, const std::string& option) {
  OutputFile out(file, option);
  out.write(bytes);
  out.commit();
}

void try_output(const fs::path& file, const std::string& option) {
  if (!Place(file).is_special()) OutputFile(file, option);
}

void try_folder(const fs::path& folder, const std::string& option) {
  std::error_code error;
  fs::path above = fs::absolute(folder, error).lexically_normal();
  while (!fs::exists(above, error) && above.has_relative_path()) above = above.parent_path();
  const int why = !fs::is_directory(above, error)                                      ? ENOTDIR
                  : ::faccessat(AT_FDCWD, above.c_str(), W_OK | X_OK, AT_EACCESS) != 0 ? errno
                                                                                       : 0;
  if (why != 0) throw OutputError(folder, option, std::strerror(why));
}

void remove_leftovers(const fs::path& file) {
  const Place place(file);
  const fs::path part = place.beside(".part");
  std::error_code error;
  if (!fs::exists(part, error) && !fs::exists(place.beside(".lock"), error)) return;
  try {
    const FileLock lock(file);  // takes over the one that is there, and goes with it
    ::unlink(part.c_str());
  } catch (const LockedError&) {
  }
}

void synchronise_folder(const fs::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

}  // namespace softamp::files
