// One writer at a time, in any process; nothing is left of a lock, and a killed run holds none.
#include "src/files/file_lock.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/files.h"
#include "tests/refusal.h"

namespace softamp::test {
namespace {

namespace fs = std::filesystem;
using files::FileLock;
using files::LockedError;

TEST(FileLock, NamesTheHolderAndGoesWithIt) {
  const TemporaryFolder folder;
  const std::string file = folder.file("run.jsonl"), me = std::to_string(::getpid());
  {
    const FileLock lock(file);
    EXPECT_TRUE(lock.held());
    EXPECT_EQ(read_text(folder.file(".run.jsonl.lock")), me);
    EXPECT_EQ(folder.without(refusal<LockedError>([&] { FileLock(file, "--log"); })),
              "--log: 'run.jsonl' is being written by process " + me + "; expected one run at a time");
    EXPECT_EQ(folder.without(refusal<LockedError>([&] { FileLock{file}; })),
              "'run.jsonl' is being written by process " + me + "; expected one run at a time");
    EXPECT_NO_THROW(FileLock(folder.file("another")));
  }
  EXPECT_EQ(folder.entries(), 0u);
  EXPECT_NO_THROW(FileLock{file});
}

TEST(FileLock, AnotherProcessIsRefusedAndAKilledOneHoldsNothing) {
  const TemporaryFolder folder;
  int ready[2], go[2];
  ASSERT_EQ(::pipe(ready) | ::pipe(go), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const FileLock lock(folder.file("a"));
    char byte = 0;
    if (::write(ready[1], &byte, 1) != 1 || ::read(go[0], &byte, 1) != 1) ::_exit(1);
    ::kill(::getpid(), SIGKILL);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_NE(refusal<LockedError>([&] { FileLock{folder.file("a")}; }).find("process " + std::to_string(child)),
            std::string::npos);
  ASSERT_EQ(::write(go[1], &byte, 1), 1);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(read_text(folder.file(".a.lock")), std::to_string(child)) << "left behind, and taken over";
  {
    const FileLock lock(folder.file("a"));
    EXPECT_EQ(read_text(folder.file(".a.lock")), std::to_string(::getpid()));
  }
  EXPECT_EQ(folder.entries(), 0u);
  for (const int end : {ready[0], ready[1], go[0], go[1]}) ::close(end);
}

TEST(FileLock, AChildThatEndsLeavesItToItsParent) {
  const TemporaryFolder folder;
  const FileLock lock(folder.file("a"));
  const pid_t child = ::fork();
  if (child == 0) {
    { const FileLock mine = std::move(const_cast<FileLock&>(lock)); }
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(fs::exists(folder.file(".a.lock")));
  EXPECT_THROW(FileLock{folder.file("a")}, LockedError);
}

TEST(FileLock, TwoNamesOfAFileAreOneLock) {
  const TemporaryFolder folder;
  fs::create_symlink("a", folder.file("link"));
  fs::create_directory_symlink(".", folder.file("here"));
  const FileLock lock(folder.file("a"));
  EXPECT_THROW(FileLock{folder.file("link")}, LockedError);
  EXPECT_THROW(FileLock{folder.file("here/a")}, LockedError);
}

TEST(FileLock, AFolderHasItsOwn) {
  const TemporaryFolder folder;
  const FileLock lock(folder.path());
  EXPECT_TRUE(fs::exists(folder.file(".lock")));
  EXPECT_THROW(FileLock{folder.path()}, LockedError);
  EXPECT_NO_THROW(FileLock{folder.file("a")});
}

TEST(FileLock, WhereThereIsNone) {
  const TemporaryFolder folder;
  EXPECT_FALSE(FileLock("/dev/null").held());
  EXPECT_FALSE(FileLock("/dev/stdout").held());
  EXPECT_FALSE(FileLock(folder.file("none/a")).held());
  const std::string pipe = folder.file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_FALSE(FileLock(pipe).held());
  EXPECT_EQ(folder.entries(), 1u);
}

/// The lock's file goes and comes all the time; never do two threads hold it.
TEST(FileLock, ManyThreadsOneHolder) {
  const TemporaryFolder folder;
  std::atomic<int> inside{0}, most{0}, held{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 300; ++i) {
        try {
          const FileLock lock(folder.file("a"));
          const int now = ++inside;
          if (now > most) most = now;
          ++held;
          --inside;
        } catch (const LockedError&) {
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most, 1);
  EXPECT_GT(held, 0);
  EXPECT_EQ(folder.entries(), 0u);
}

}  // namespace
}  // namespace softamp::test
