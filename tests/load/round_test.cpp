// `softamp round` needs the same memory for any number of elements.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "tests/load/memory_in_use.h"
#include "tests/program/process.h"

namespace softamp::test {
namespace {

/// A .npy file of float32 zeros, which takes no room: its elements are a hole.
void write_zeros(const std::string& path, int64_t count) {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + std::to_string(count) + ",), }";
  header.resize(117, ' ');
  header += '\n';
  write_text(path, std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header);
  ASSERT_EQ(truncate(path.c_str(), static_cast<off_t>(128 + 4 * count)), 0) << std::strerror(errno);
}

struct Rounded {
  int status = -1;
  int64_t bytes = 0;      ///< of memory at the fullest moment
  uintmax_t written = 0;  ///< size of the output
};

Rounded round_zeros(const std::filesystem::path& folder, int64_t count) {
  const std::string in = (folder / "in.npy").string(), out = (folder / "out.npy").string();
  write_zeros(in, count);
  Rounded result;
  const pid_t child = fork();
  if (child == 0) {
    if (std::freopen("/dev/null", "w", stderr) == nullptr) _exit(127);
    execl(SOFTAMP_PROGRAM, "softamp", "round", in.c_str(), out.c_str(), "--format", "e4m3", "--threads", "2", nullptr);
    _exit(127);
  }
  struct rusage usage = {};
  wait4(child, &result.status, 0, &usage);
  result.bytes = int64_t{usage.ru_maxrss} << 10;
  std::error_code error;
  result.written = std::filesystem::file_size(out, error);
  std::filesystem::remove(out, error);
  return result;
}

TEST(LoadRound, MemoryDoesNotDependOnTheNumberOfElements) {
  // On the disk: nightly the output is 10^9 bytes, and a TemporaryFolder lies in memory.
  std::string pattern = (std::filesystem::temp_directory_path() / "softamp_load_XXXXXX").string();
  const std::filesystem::path folder = mkdtemp(pattern.data());
  const int64_t few = 10'000'000, many = times(40'000'000, 1'000'000'000);
  const Rounded small = round_zeros(folder, few), large = round_zeros(folder, many);
  std::filesystem::remove_all(folder);
  ASSERT_EQ(small.status, 0);
  ASSERT_EQ(large.status, 0);
  EXPECT_EQ(large.written, static_cast<uintmax_t>(many) + 128);
  EXPECT_LT(large.bytes, small.bytes + (8 << 20)) << "held as a whole they would be " << 5 * (many - few) << " more";
  RecordProperty("bytes", std::to_string(large.bytes));
}

}  // namespace
}  // namespace softamp::test
