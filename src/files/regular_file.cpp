#include "src/files/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace softamp::files {
namespace {

[[noreturn]] void fail(const std::string& name, const char* action, int why) {
  throw InputError(name + ": cannot " + action + ": " + std::strerror(why));
}

}  // namespace

RegularFile::RegularFile(const std::filesystem::path& file, const std::string& expected)
    : name_(file.string()),
      descriptor_(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {  // a pipe is refused, not waited for
  if (descriptor_ < 0) fail(name_, "open", errno);
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) {
    const int why = errno;
    ::close(descriptor_);
    fail(name_, "examine", why);
  }
  if (!S_ISREG(status.st_mode)) {
    ::close(descriptor_);
    throw InputError(name_ + ": is " + kind_of_file(file, status.st_mode) + "; expected a regular file, " + expected);
  }
  size_ = static_cast<uint64_t>(status.st_size);
}

RegularFile::~RegularFile() { ::close(descriptor_); }

size_t RegularFile::read_at(uint64_t offset, void* out, size_t count) const {
  size_t done = 0;
  while (done < count) {
    const ssize_t n =
        ::pread(descriptor_, static_cast<char*>(out) + done, count - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(name_, "read", errno);
    if (n == 0) break;
    done += static_cast<size_t>(n);
  }
  return done;
}

std::string read_regular(const std::filesystem::path& file, const std::string& expected, uint64_t most_bytes) {
  const RegularFile in(file, expected);
  if (in.size() > most_bytes)
    throw InputError(file.string() + ": " + std::to_string(in.size()) + " bytes; expected at most " +
                     std::to_string(most_bytes));
  std::string text(static_cast<size_t>(in.size()), '\0');
  text.resize(in.read_at(0, text.data(), text.size()));
  return text;
}

}  // namespace softamp::files
