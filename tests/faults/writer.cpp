// A program that writes one file, well or with one fault of its own: `writer FAULT FILE`. The judges of drive.py must
// find nothing in the first and each of the others.
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

std::string fault, file, part;

[[noreturn]] void fail() {
  const int why = errno;
  if (fault == "aborts") abort();
  if (fault != "leaves_part" && fault != "in_place") unlink(part.c_str());
  if (fault != "says_nothing")
    fprintf(stderr, "softamp %s: %s cannot be written: %s\n", fault.c_str(),
            fault == "hides_name" ? "something" : file.c_str(),
            fault == "hides_reason" ? "is the disk full?" : strerror(why));
  _exit(fault == "exit_code_1" ? 1 : 2);
}

void write_all(int descriptor, const std::string& bytes) {
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t n = write(descriptor, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && fault == "ignores_errors") return;
    if (n < 0 || (fault == "wants_whole_writes" && done + static_cast<size_t>(n) < bytes.size())) fail();
    done += static_cast<size_t>(n);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  fault = argv[1];
  file = argv[2];
  part = fault == "in_place" ? file : "." + file + (fault == "part_of_pid" ? std::to_string(getpid()) : "") + ".part";
  const int descriptor = open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0) fail();
  for (int line = 0; line < 3; ++line) write_all(descriptor, std::string(700, static_cast<char>('a' + line)) + "\n");
  if (fsync(descriptor) != 0 && fault != "trusts_fsync") fail();
  close(descriptor);
  if (fault != "in_place" && rename(part.c_str(), file.c_str()) != 0) fail();
  return 0;
}
