// The log of a training loop of one's own: nobody else writes it, and what is in it is whole.
#include "softamp/train/run_log.h"

#include <gtest/gtest.h>

#include "tests/files.h"
#include "tests/refusal.h"
#include "tests/small_disk.h"

namespace softamp::test {
namespace {

TEST(RunLog, ReplacesWhatWasThereAndGrows) {
  const TemporaryFolder folder;
  const std::string file = folder.file("log");
  write_text(file, "old\n");
  {
    RunLog log(file);
    EXPECT_EQ(read_text(file), "old\n") << "until it begins";
    EXPECT_THROW(log.line("x"), std::logic_error);
    const std::string kept[] = {"a", "b"};
    log.begin(kept);
    EXPECT_EQ(read_text(file), "a\nb\n");
    log.line("c");
    EXPECT_EQ(read_text(file), "a\nb\nc\n") << "at once, for every reader";
    log.synchronise();
    log.begin({kept, 1});
    log.line("d");
  }
  EXPECT_EQ(read_text(file), "a\nd\n");
  EXPECT_EQ(folder.entries(), 1u) << "neither a lock nor a part stays";
}

TEST(RunLog, IsOneRunsAtATime) {
  const TemporaryFolder folder;
  const std::string file = folder.file("log");
  write_text(file, "old\n");
  const RunLog log(file);
  EXPECT_NE(
      refusal<std::runtime_error>([&] { RunLog other(file); }).find("'" + file + "' is being written by process "),
      std::string::npos);
  EXPECT_EQ(read_text(file), "old\n");
}

TEST(RunLog, OnAFullDiskKeepsWhatItHas) {
  const TemporaryFolder folder;
  const std::string file = folder.file("log");
  const std::string ten[] = {"123456789"};
  RunLog log(file);
  log.begin(ten);
  {
    const test::SmallDisk disk(25);
    log.line("123456789");
    EXPECT_NE(refusal<std::exception>([&] { log.line("123456789"); }).find("'" + file + "' cannot be written: "),
              std::string::npos);
    EXPECT_EQ(read_text(file), "123456789\n123456789\n") << "no part of a line";
    const std::string more[] = {"123456789", "123456789", "123456789"};
    EXPECT_NE(refusal<std::exception>([&] { log.begin(more); }), "");
    EXPECT_EQ(read_text(file), "123456789\n123456789\n") << "the old one";
  }
  EXPECT_EQ(refusal<std::exception>([&] { RunLog other(folder.file("none/log")); }).find("the log: "), 0u);
}

}  // namespace
}  // namespace softamp::test
