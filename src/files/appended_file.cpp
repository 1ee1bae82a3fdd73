#include "src/files/appended_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "src/files/output_file.h"
#include "src/files/place.h"

namespace softamp::files {

AppendedFile::AppendedFile(std::filesystem::path file, std::string option)
    : file_(std::move(file)), option_(std::move(option)) {
  const Place place(file_);
  cuts_ = !place.is_special();
  descriptor_ = place.descriptor >= 0
                    ? ::fcntl(place.descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)
                    : ::open(place.file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0666);
  if (descriptor_ < 0) fail(errno);
}

AppendedFile::~AppendedFile() { ::close(descriptor_); }

void AppendedFile::append(std::string_view bytes) {
  const off_t before = cuts_ ? ::lseek(descriptor_, 0, SEEK_END) : 0;
  while (!bytes.empty()) {
    const ssize_t n = ::write(descriptor_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const int why = errno;
      // Where even this fails, whoever reads the file stops after its last whole line.
      if (cuts_ && ::ftruncate(descriptor_, before) != 0) fail(why);
      fail(why);
    }
    bytes.remove_prefix(static_cast<size_t>(n));
  }
}

void AppendedFile::synchronise() {
  if (::fsync(descriptor_) != 0 && errno != EINVAL && errno != ENOSYS && errno != ENOTSUP && errno != EROFS)
    fail(errno);
}

void AppendedFile::fail(int why) const { throw OutputError(file_, option_, std::strerror(why)); }

}  // namespace softamp::files
