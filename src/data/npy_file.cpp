// Reader and Writer of npy.h, with POSIX descriptors.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "softamp/data/npy.h"

namespace softamp::npy {
namespace {

[[noreturn]] void fail_errno(const std::string& path, const char* action) {
  throw Error(path + ": cannot " + action + ": " + std::strerror(errno));
}

/// Reads until `count` bytes are there or the file ends; returns how many.
size_t read_fully(int descriptor, void* out, size_t count, const std::string& path) {
  size_t done = 0;
  while (done < count) {
    const ssize_t n = ::read(descriptor, static_cast<char*>(out) + done, count - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_errno(path, "read");
    if (n == 0) break;
    done += static_cast<size_t>(n);
  }
  return done;
}

/// Closes the descriptor unless it is released: for constructors that may throw.
struct Descriptor {
  int value;
  ~Descriptor() {
    if (value >= 0) ::close(value);
  }
  int release() { return std::exchange(value, -1); }
};

}  // namespace

Reader::Reader(const std::string& path) : path_(path) {
  Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.value < 0) fail_errno(path, "open");
  struct stat status {};
  if (::fstat(file.value, &status) != 0) fail_errno(path, "examine");
  if (!S_ISREG(status.st_mode)) throw Error(path + ": not a regular file; expected a .npy file");
  const uint64_t size = static_cast<uint64_t>(status.st_size);
  std::vector<std::byte> start(std::min<uint64_t>(size, kMaxHeader + 12));
  start.resize(read_fully(file.value, start.data(), start.size(), path));
  header_ = parse_header(start, size, path);
  if (::lseek(file.value, static_cast<off_t>(header_.data_offset), SEEK_SET) < 0) fail_errno(path, "seek");
  descriptor_ = file.release();
}

Reader::~Reader() { ::close(descriptor_); }

size_t Reader::read(void* out, size_t capacity) {
  const size_t count = static_cast<size_t>(std::min<uint64_t>(capacity, header_.elements - next_));
  const size_t bytes = count * size_of(header_.type);
  if (read_fully(descriptor_, out, bytes, path_) != bytes)
    throw Error(path_ + ": the file was shortened while it was read, after element " + std::to_string(next_));
  next_ += count;
  return count;
}

Writer::Writer(const std::string& path, ElementType type, std::span<const uint64_t> shape) : path_(path), type_(type) {
  const std::string header = make_header(type, shape);
  missing_ = element_count(shape, size_of(type), path);
  const size_t slash = path.rfind('/');
  const size_t base = slash == std::string::npos ? 0 : slash + 1;
  struct stat status {};
  if (base == path.size() || (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)))
    throw Error(path + ": cannot be replaced; expected the name of a regular file");

  const std::string stem = path.substr(0, base) + "." + path.substr(base) + "." + std::to_string(::getpid());
  Descriptor file{-1};
  for (int attempt = 0; file.value < 0; ++attempt) {
    temporary_ = stem + "." + std::to_string(attempt) + ".part";
    file.value = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file.value < 0 && errno != EEXIST) fail_errno(path, "write");
  }
  descriptor_ = file.value;
  try {
    append(header.data(), header.size());
  } catch (...) {
    ::unlink(temporary_.c_str());
    throw;
  }
  file.release();
}

Writer::~Writer() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
}

void Writer::append(const void* bytes, size_t count) {
  const char* next = static_cast<const char*>(bytes);
  while (count > 0) {
    const ssize_t n = ::write(descriptor_, next, count);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_errno(path_, "write");
    next += n;
    count -= static_cast<size_t>(n);
  }
}

void Writer::write(const void* elements, size_t count) {
  if (count > missing_)
    throw Error(path_ + ": " + std::to_string(count) + " elements more, where the shape has room for " +
                std::to_string(missing_));
  append(elements, count * size_of(type_));
  missing_ -= count;
}

void Writer::commit() {
  if (missing_ > 0) throw Error(path_ + ": " + std::to_string(missing_) + " elements of its shape are missing");
  // A full disk may be reported only here. Not by Replacement (src/report/whole_file.h): closing and renaming fail
  // alike, and ~Writer, a public class's, removes the file by the descriptor that is still open.
  if (::close(std::exchange(descriptor_, -1)) != 0 || ::rename(temporary_.c_str(), path_.c_str()) != 0) {
    const int error = errno;
    ::unlink(temporary_.c_str());
    errno = error;
    fail_errno(path_, "write");
  }
}

}  // namespace softamp::npy
