// Files are written whole or not at all, wherever writing fails, and nobody else's part is touched.
#include "src/files/output_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <utility>

#include "tests/files.h"
#include "tests/refusal.h"
#include "tests/small_disk.h"

namespace softamp::files {
namespace {

namespace fs = std::filesystem;
using test::read_text;
using test::refusal;
using test::TemporaryFolder;
using test::write_text;

mode_t mode_of(const std::string& file) {
  struct stat status {};
  EXPECT_EQ(::stat(file.c_str(), &status), 0);
  return status.st_mode & 07777;
}

TEST(OutputFile, AppearsWholeAtTheEndAndLeavesNothingBeside) {
  const TemporaryFolder folder;
  const std::string file = folder.file("a.csv");
  write_text(file, "old");
  OutputFile out(file);
  out.write("first, ");
  out.write("second");
  EXPECT_EQ(read_text(file), "old");
  EXPECT_EQ(read_text(folder.file(".a.csv.part")), "first, second");
  EXPECT_EQ(out.file(), file);
  out.commit();
  EXPECT_EQ(read_text(file), "first, second");
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(OutputFile, WithoutCommitTheOldOneStays) {
  const TemporaryFolder folder;
  const std::string file = folder.file("a");
  { OutputFile(file).write("half"); }
  EXPECT_EQ(folder.entries(), 0u);
  write_text(file, "old");
  OutputFile moved = [&] {
    OutputFile out(file);
    out.write("half");
    return out;
  }();
  moved = OutputFile(folder.file("b"));
  EXPECT_EQ(read_text(file), "old");
  EXPECT_FALSE(fs::exists(folder.file(".a.part")));
}

TEST(OutputFile, APlaceThatTakesNoFileIsToldAtOnceWithTheReason) {
  const TemporaryFolder folder;
  write_text(folder.file("file"), "");
  const auto fault = [&](const std::string& file, const std::string& option = "") {
    return folder.without(refusal<OutputError>([&] { OutputFile(file, option); }));
  };
  EXPECT_EQ(fault(folder.file("none/a.csv"), "--csv"),
            "--csv: 'none/a.csv' cannot be written: No such file or directory");
  EXPECT_EQ(fault(folder.file("none/a.csv")), "'none/a.csv' cannot be written: No such file or directory");
  EXPECT_EQ(fault(folder.file("file/a.csv")), "'file/a.csv' cannot be written: Not a directory");
  EXPECT_EQ(fault(folder.file("")), "'' cannot be written: Is a directory");
  EXPECT_EQ(fault(folder.file("new/")), "'new/' cannot be written: No such file or directory");
  EXPECT_EQ(fault(""), "'' cannot be written: No such file or directory");
  EXPECT_EQ(fault(folder.file(std::string(300, 'a'))).find("File name too long") == std::string::npos, false);
  fs::create_directory(folder.file(".b.part"));
  EXPECT_EQ(fault(folder.file("b")), "'b' cannot be written: '.b.part' is in the way");
  EXPECT_EQ(fault(folder.file("a\nb\x1b[2J/c")), "'a\\nb\\x1b[2J/c' cannot be written: No such file or directory");
  EXPECT_EQ(folder.entries(), 2u);
  EXPECT_EQ(folder.without(refusal<OutputError>([&] { try_output(folder.file("none/a"), "--plot"); })),
            "--plot: 'none/a' cannot be written: No such file or directory");
  EXPECT_NO_THROW(try_output(folder.file("c")));
  EXPECT_EQ(folder.entries(), 2u);
}

TEST(OutputFile, AFolderIsTriedBeforeItIsMade) {
  const TemporaryFolder folder;
  write_text(folder.file("file"), "");
  EXPECT_NO_THROW(try_folder(folder.path()));
  EXPECT_NO_THROW(try_folder(folder.file("new/deep/")));
  EXPECT_NO_THROW(try_folder("softamp_no_such_folder/deep"));
  EXPECT_EQ(folder.without(refusal<OutputError>([&] { try_folder(folder.file("file/deep"), "--out"); })),
            "--out: 'file/deep' cannot be written: Not a directory");
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(OutputFile, AFileThatItsModeProtectsIsNotReplaced) {
  if (::geteuid() == 0) GTEST_SKIP() << "no mode binds root";
  const TemporaryFolder folder;
  write_text(folder.file("a"), "old");
  fs::permissions(folder.file("a"), fs::perms::owner_read);
  EXPECT_EQ(folder.without(refusal<OutputError>([&] { OutputFile(folder.file("a")); })),
            "'a' cannot be written: Permission denied");
  EXPECT_EQ(read_text(folder.file("a")), "old");
}

TEST(OutputFile, ASmallDiskIsToldAtTheFirstByteThatIsRefused) {
  const TemporaryFolder folder;
  const std::string file = folder.file("a");
  write_text(file, "old");
  OutputFile out(file, "--trace");
  std::string first, again, last;
  {
    const test::SmallDisk full(10);
    out.write("0123456789");
    first = refusal<OutputError>([&] { out.write("x"); });
    EXPECT_EQ(folder.entries(), 1u) << "the part is gone";
    again = refusal<OutputError>([&] { out.write(""); });
    last = refusal<OutputError>([&] { out.commit(); });
  }
  EXPECT_EQ(folder.without(first), "--trace: 'a' cannot be written: File too large");
  EXPECT_EQ(again, first);
  EXPECT_EQ(last, first);
  EXPECT_EQ(read_text(file), "old");
}

TEST(OutputFile, ARenameThatFailsLeavesTheOldFile) {
  const TemporaryFolder folder;
  OutputFile out(folder.file("a"));
  out.write("new");
  fs::create_directories(folder.file("a/full"));
  EXPECT_EQ(folder.without(refusal<OutputError>([&] { out.commit(); })), "'a' cannot be written: Is a directory");
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(OutputFile, ModesAreKept) {
  const TemporaryFolder folder;
  const std::string file = folder.file("a");
  for (const mode_t mode : {0600, 0664, 0755}) {
    write_text(file, "old");
    ASSERT_EQ(::chmod(file.c_str(), mode), 0);
    write_file(file, "new");
    EXPECT_EQ(mode_of(file), mode);
  }
  const mode_t mask = ::umask(027);
  write_file(folder.file("b"), "");
  ::umask(mask);
  EXPECT_EQ(mode_of(folder.file("b")), 0640u);
}

TEST(OutputFile, LinksAreFollowedAndStay) {
  const TemporaryFolder folder;
  fs::create_directory(folder.file("deep"));
  write_text(folder.file("deep/a"), "old");
  fs::create_symlink("deep/a", folder.file("one"));
  fs::create_symlink("one", folder.file("two"));
  write_file(folder.file("two"), "new");
  EXPECT_EQ(read_text(folder.file("deep/a")), "new");
  EXPECT_EQ(fs::read_symlink(folder.file("two")), "one");
  EXPECT_EQ(fs::read_symlink(folder.file("one")), "deep/a");
  fs::create_symlink("deep/none", folder.file("three"));
  write_file(folder.file("three"), "made");
  EXPECT_TRUE(fs::is_symlink(folder.file("three")));
  EXPECT_EQ(read_text(folder.file("deep/none")), "made");
  fs::create_symlink("round", folder.file("round"));
  EXPECT_EQ(folder.without(refusal<OutputError>([&] { write_file(folder.file("round"), ""); })),
            "'round' cannot be written: Too many levels of symbolic links");
}

TEST(OutputFile, DevicesAndPipesAreWrittenToAndStay) {
  const TemporaryFolder folder;
  fs::create_symlink("/dev/null", folder.file("nothing"));
  write_file(folder.file("nothing"), "gone");
  EXPECT_TRUE(fs::is_character_file(folder.file("nothing")));
  EXPECT_TRUE(fs::is_symlink(folder.file("nothing")));
  if (fs::exists("/dev/full")) {
    EXPECT_EQ(refusal<OutputError>([] { write_file("/dev/full", "x"); }),
              "'/dev/full' cannot be written: No space left on device");
  }
  const std::string pipe = folder.file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::string heard;
  std::thread reader([&] { heard = read_text(pipe); });
  write_file(pipe, "through the pipe");
  reader.join();
  EXPECT_EQ(heard, "through the pipe");
  EXPECT_TRUE(fs::is_fifo(pipe));
  EXPECT_NO_THROW(try_output(pipe)) << "and does not wait for a reader";
  EXPECT_EQ(folder.entries(), 2u);
}

TEST(OutputFile, AFileThatIsOpenAlreadyIsWrittenWhereItIs) {
  const TemporaryFolder folder;
  const int descriptor = ::open(folder.file("a").c_str(), O_WRONLY | O_CREAT, 0600);
  ASSERT_EQ(::write(descriptor, "before, ", 8), 8);
  for (const char* names : {"/dev/fd/", "/proc/self/fd/"}) write_file(names + std::to_string(descriptor), "between, ");
  ASSERT_EQ(::write(descriptor, "after", 5), 5);
  ::close(descriptor);
  EXPECT_EQ(read_text(folder.file("a")), "before, between, between, after");
  EXPECT_EQ(refusal<OutputError>([&] { OutputFile("/dev/fd/" + std::to_string(descriptor)); }),
            "'/dev/fd/" + std::to_string(descriptor) + "' cannot be written: Bad file descriptor");
}

TEST(OutputFile, TwoWritersOfOneFileAreOneTooMany) {
  const TemporaryFolder folder;
  fs::create_symlink("a", folder.file("link"));
  OutputFile first(folder.file("a"));
  first.write("of the first");
  EXPECT_EQ(folder.without(refusal<LockedError>([&] { OutputFile(folder.file("link"), "--csv"); })),
            "--csv: 'link' is being written by process " + std::to_string(::getpid()) + "; expected one run at a time");
  first.commit();
  EXPECT_EQ(read_text(folder.file("a")), "of the first");
  EXPECT_NO_THROW(write_file(folder.file("link"), "of the second"));
  EXPECT_EQ(read_text(folder.file("a")), "of the second");
}

TEST(OutputFile, UnderALockThatIsHeld) {
  const TemporaryFolder folder;
  const FileLock lock(folder.file("a"));
  OutputFile out(folder.file("a"), lock, "--log");
  out.write("new");
  out.commit();
  EXPECT_EQ(read_text(folder.file("a")), "new");
  EXPECT_THROW(OutputFile(folder.file("a")), LockedError) << "it is still held";
}

TEST(OutputFile, WhatAKilledRunHasLeftIsWrittenAnew) {
  const TemporaryFolder folder;
  const pid_t child = ::fork();
  if (child == 0) {
    OutputFile out(folder.file("a"));
    out.write("a long part of a run that was killed");
    ::raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_TRUE(fs::exists(folder.file(".a.part")));
  EXPECT_TRUE(fs::exists(folder.file(".a.lock")));
  write_file(folder.file("a"), "short");
  EXPECT_EQ(read_text(folder.file("a")), "short");
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(OutputFile, LeftoversBesideAWholeFileGo) {
  const TemporaryFolder folder;
  for (const char* name : {"a", ".a.part", ".a.lock"}) write_text(folder.file(name), "1");
  {
    const FileLock held(folder.file("a"));
    remove_leftovers(folder.file("a"));
    EXPECT_EQ(folder.entries(), 3u) << "another run writes it";
  }
  remove_leftovers(folder.file("a"));
  EXPECT_EQ(folder.entries(), 1u);
  remove_leftovers(folder.file("none"));
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(OutputFile, APartThatSomebodyHasMadeALinkIsNotFollowed) {
  const TemporaryFolder folder, other;
  write_text(other.file("precious"), "precious");
  fs::create_symlink(other.file("precious"), folder.file(".a.part"));
  fs::create_symlink(other.file("precious"), folder.file(".a.lock"));
  write_file(folder.file("a"), "new");
  EXPECT_EQ(read_text(other.file("precious")), "precious");
  EXPECT_EQ(read_text(folder.file("a")), "new");
}

}  // namespace
}  // namespace softamp::files
