#include "src/files/input_file.h"

#include "src/files/known_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace softamp::files {
namespace {

constexpr size_t kInputPiece = size_t{1} << 16;  ///< bytes that are read at a time, at least

}  // namespace

std::string kind_of_file(const std::filesystem::path& file, mode_t mode) {
  if (S_ISDIR(mode)) {
    std::string kind = known_kind_of(file);
    return kind.empty() ? "a folder" : kind;
  }
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
  if (S_ISSOCK(mode)) return "a socket";
  return "a regular file";
}

InputFile::InputFile(const std::filesystem::path& file, std::string expected, uint64_t most_bytes, std::string name)
    : name_(name.empty() ? file.string() : std::move(name)),
      expected_(std::move(expected)),
      most_bytes_(most_bytes),
      descriptor_(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY)),
      ours_(true) {
  if (descriptor_ < 0) refuse(std::strerror(errno));
  try {
    if (std::error_code none; std::filesystem::is_directory(file, none)) refuse("is " + kind_of_file(file, S_IFDIR));
    examine();
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

InputFile::InputFile(int descriptor, std::string name, std::string expected, uint64_t most_bytes)
    : name_(std::move(name)),
      expected_(std::move(expected)),
      most_bytes_(most_bytes),
      descriptor_(descriptor),
      ours_(false) {
  examine();
}

InputFile::~InputFile() {
  if (ours_) ::close(descriptor_);
}

void InputFile::examine() {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) refuse(errno == EBADF ? "is closed" : std::strerror(errno));
  if (S_ISDIR(status.st_mode)) refuse("is a folder");
  // A device may have no end; a terminal is a person, and the null device is empty.
  struct stat null {};
  const bool is_null = S_ISCHR(status.st_mode) && ::stat("/dev/null", &null) == 0 && status.st_rdev == null.st_rdev;
  if (S_ISBLK(status.st_mode) || (S_ISCHR(status.st_mode) && !is_null && ::isatty(descriptor_) != 1))
    refuse("is a device");
  if (!S_ISREG(status.st_mode)) return;
  size_ = static_cast<uint64_t>(status.st_size);
  if (size_ > most_bytes_)
    throw InputError(name_ + ": " + std::to_string(size_) + " bytes; expected at most " + std::to_string(most_bytes_));
}

bool InputFile::read_more() {
  pending_.erase(0, std::exchange(at_, 0));
  const size_t before = pending_.size();
  const size_t piece = std::max(kInputPiece, pending_.capacity() - before);
  ssize_t n = 0;
  pending_.resize(before + piece);
  do n = ::read(descriptor_, pending_.data() + before, piece);
  while (n < 0 && errno == EINTR);
  const int why = errno;
  pending_.resize(before + static_cast<size_t>(std::max<ssize_t>(n, 0)));
  if (n < 0) refuse(why == EBADF ? "is closed" : std::string("cannot be read: ") + std::strerror(why));
  read_ += static_cast<uint64_t>(n);
  if (read_ > most_bytes_)
    throw InputError(name_ + ": more than " + std::to_string(most_bytes_) + " bytes, the most that is expected");
  return n > 0;
}

std::string InputFile::rest() {
  pending_.reserve(static_cast<size_t>(size_) + kInputPiece);
  while (read_more()) {
  }
  if (const std::string kind = known_kind(pending_, name_); !kind.empty()) refuse("is " + kind);
  return std::move(pending_);
}

bool InputFile::line(std::string& text, size_t longest) {
  size_t searched = at_, end = 0;
  for (;;) {
    end = pending_.find('\n', searched);
    if (std::min(end, pending_.size()) - at_ > longest)
      refuse("line " + std::to_string(lines_ + 1) + " is longer than " + std::to_string(longest) + " bytes");
    if (end != std::string::npos) break;
    const size_t left = pending_.size() - at_;
    if (!read_more()) {
      if (left == 0) return false;
      end = left;
      break;
    }
    searched = left;
  }
  ++lines_;
  text.assign(pending_, at_, end - at_);
  at_ = std::min(end + 1, pending_.size());
  return true;
}

void InputFile::refuse(const std::string& what) const {
  throw InputError(name_ + ": " + what + (expected_.empty() ? "" : "; expected " + expected_));
}

}  // namespace softamp::files
