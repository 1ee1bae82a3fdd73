// A log grows by whole lines, whatever the disk does.
#include "src/files/appended_file.h"

#include <gtest/gtest.h>

#include "src/files/output_file.h"
#include "tests/files.h"
#include "tests/refusal.h"
#include "tests/small_disk.h"

namespace softamp::files {
namespace {

using test::read_text;
using test::refusal;
using test::TemporaryFolder;
using test::write_text;

TEST(AppendedFile, GrowsForEveryReaderAtOnce) {
  const TemporaryFolder folder;
  const std::string file = folder.file("log");
  write_text(file, "old\n");
  AppendedFile out(file);
  EXPECT_EQ(read_text(file), "old\n");
  out.append("one\n");
  EXPECT_EQ(read_text(file), "old\none\n");
  out.append("");
  out.append("two\n");
  out.synchronise();
  EXPECT_EQ(read_text(file), "old\none\ntwo\n");
  AppendedFile(folder.file("new")).append("line\n");
  EXPECT_EQ(read_text(folder.file("new")), "line\n");
}

TEST(AppendedFile, WhatAFullDiskTookIsCutOffAgain) {
  const TemporaryFolder folder;
  const std::string file = folder.file("log"), line(100, 'x');
  AppendedFile out(file, "--log");
  out.append("first\n");
  {
    const test::SmallDisk disk(50);
    EXPECT_EQ(refusal<OutputError>([&] { out.append(line); }),
              "--log: '" + file + "' cannot be written: File too large");
    EXPECT_EQ(read_text(file), "first\n");
  }
  out.append("second\n");
  EXPECT_EQ(read_text(file), "first\nsecond\n");
}

TEST(AppendedFile, DevicesAreWrittenAsTheyAre) {
  AppendedFile full("/dev/full");
  EXPECT_EQ(refusal<OutputError>([&] { full.append("line\n"); }),
            "'/dev/full' cannot be written: No space left on device");
  AppendedFile null("/dev/null");
  null.append("line\n");
  null.synchronise();
  const TemporaryFolder folder;
  EXPECT_EQ(refusal<OutputError>([&] { AppendedFile(folder.file("no/log"), "--log"); }),
            "--log: '" + folder.file("no/log") + "' cannot be written: No such file or directory");
}

}  // namespace
}  // namespace softamp::files
