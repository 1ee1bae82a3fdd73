// Reader and Writer of npy.h, with POSIX descriptors.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "softamp/data/npy.h"
#include "src/files/input_file.h"
#include "src/files/output_file.h"

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

/// What a file that is written throws, as this header's Error.
template <class Act>
void told_as_error(Act&& act) {
  try {
    act();
  } catch (const std::runtime_error& e) {
    throw Error(e.what());
  }
}

}  // namespace

Reader::Reader(const std::string& path) : path_(path) {
  Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};  // a pipe is refused, not waited for
  if (file.value < 0) fail_errno(path, "open");
  struct stat status {};
  if (::fstat(file.value, &status) != 0) fail_errno(path, "examine");
  if (!S_ISREG(status.st_mode))
    throw Error(path + ": is " + files::kind_of_file(status.st_mode) + "; expected a regular file, a .npy file");
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

Writer::Writer(const std::string& path, ElementType type, std::span<const uint64_t> shape)
    : path_(path), type_(type), missing_(element_count(shape, size_of(type), path)) {
  const std::string header = make_header(type, shape);
  told_as_error([&] {
    out_ = std::make_unique<files::OutputFile>(path);
    out_->write(header);
  });
}

Writer::~Writer() = default;

void Writer::write(const void* elements, size_t count) {
  if (count > missing_)
    throw Error(path_ + ": " + std::to_string(count) + " elements more, where the shape has room for " +
                std::to_string(missing_));
  told_as_error([&] { out_->write({static_cast<const char*>(elements), count * size_of(type_)}); });
  missing_ -= count;
}

void Writer::commit() {
  if (missing_ > 0) throw Error(path_ + ": " + std::to_string(missing_) + " elements of its shape are missing");
  told_as_error([&] { out_->commit(); });
}

}  // namespace softamp::npy
