#include "src/files/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "src/files/place.h"
#include "src/text/printable.h"

namespace softamp::files {
namespace {

namespace fs = std::filesystem;

/// Another user's lock can be read only, which is enough to ask for it. A link in its place is not followed, nor a pipe
/// waited for.
int open_lock(const fs::path& lock) {
  const int flags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  const int descriptor = ::open(lock.c_str(), O_RDWR | O_CREAT | flags, 0666);
  return descriptor < 0 && errno == EACCES ? ::open(lock.c_str(), O_RDONLY | flags) : descriptor;
}

/// Whether the file that is open still has its name: the holder before may have removed it.
bool still_named(int descriptor, const fs::path& lock) {
  struct stat open {
  }, named{};
  return ::fstat(descriptor, &open) == 0 && ::lstat(lock.c_str(), &named) == 0 && same_file(open, named);
}

/// Who holds the lock, as it has written down.
std::string holder(int descriptor) {
  char text[32];
  const ssize_t size = ::pread(descriptor, text, sizeof text, 0);
  const std::string number(text, size > 0 ? static_cast<size_t>(size) : 0);
  return number.empty() || number.find_first_not_of("0123456789") != std::string::npos ? "another process"
                                                                                       : "process " + number;
}

void write_holder(int descriptor) {
  const std::string number = std::to_string(::getpid());
  if (::ftruncate(descriptor, 0) == 0 && ::pwrite(descriptor, number.data(), number.size(), 0) < 0) errno = 0;
}

}  // namespace

struct FileLock::State {
  fs::path lock;
  int descriptor;
  pid_t owner = ::getpid();

  State(fs::path name, int open) : lock(std::move(name)), descriptor(open) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  /// The name goes first: who opens it from now on makes a new lock. A child made by fork leaves it to its parent.
  ~State() {
    const int why = errno;
    if (::getpid() == owner) ::unlink(lock.c_str());
    ::close(descriptor);
    errno = why;
  }
};

FileLock::FileLock(const fs::path& file, const std::string& option) {
  const Place place(file);
  if (place.is_special()) return;
  const fs::path lock = place.is_folder() ? place.file / ".lock" : place.beside(".lock");
  constexpr int kMostTurns = 100;  // each ends as another run's lock goes
  for (int turn = 0; turn < kMostTurns; ++turn) {
    const int descriptor = open_lock(lock);
    if (descriptor < 0) return;
    if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
      const bool locked = errno == EWOULDBLOCK;
      const std::string who = holder(descriptor);
      if (!locked) ::unlink(lock.c_str());
      ::close(descriptor);
      if (!locked) return;
      throw LockedError((option.empty() ? "" : option + ": ") + in_quotes(file) + " is being written by " + who +
                        "; expected one run at a time");
    }
    if (still_named(descriptor, lock)) {
      write_holder(descriptor);
      state_ = std::make_unique<State>(lock, descriptor);
      return;
    }
    ::close(descriptor);
  }
}

FileLock::~FileLock() = default;
FileLock::FileLock(FileLock&&) noexcept = default;
FileLock& FileLock::operator=(FileLock&&) noexcept = default;

}  // namespace softamp::files
