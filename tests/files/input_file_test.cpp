// How texts are read: files, pipes, folders; limits from both sides.
#include "src/files/input_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <limits>
#include <thread>

#include "tests/files.h"
#include "tests/refusal.h"

namespace softamp::files {
namespace {

using test::TemporaryFolder;
using test::write_text;

std::string input_refusal(const std::filesystem::path& file, uint64_t most = 100) {
  return test::refusal<InputError>([&] { read_input(file, "a script", most); });
}

/// What is read of a pipe that another thread fills.
template <class Act>
auto from_pipe(const std::string& bytes, Act&& act) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  std::thread writer([&] {
    for (size_t done = 0; done < bytes.size();) {
      const ssize_t n = write(ends[1], bytes.data() + done, bytes.size() - done);
      if (n <= 0) break;
      done += static_cast<size_t>(n);
    }
    close(ends[1]);
  });
  const auto result = act(ends[0]);
  char rest[4096];
  while (read(ends[0], rest, sizeof rest) > 0) {
  }
  writer.join();
  EXPECT_EQ(close(ends[0]), 0) << "what the caller opened the caller closes";
  return result;
}

TEST(InputFile, AFileIsReadWhole) {
  const TemporaryFolder folder;
  for (const size_t size : {0u, 1u, 99u, 100u}) {
    write_text(folder.file("a"), std::string(size, 'x'));
    EXPECT_EQ(read_input(folder.file("a"), "a script", 100), std::string(size, 'x'));
  }
  write_text(folder.file("large"), std::string(300000, 'y'));
  EXPECT_EQ(read_input(folder.file("large"), "", 1 << 20).size(), 300000u);
}

TEST(InputFile, LeavesNoFileOpen) {
  const TemporaryFolder folder;
  write_text(folder.file("a"), std::string(101, 'x'));
  const auto open_files = [] {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  const auto before = open_files();
  read_input(folder.file("a"), "a script", 101);
  input_refusal(folder.file("a"));
  input_refusal(folder.path());
  EXPECT_EQ(open_files(), before);
}

TEST(InputFile, AFileAboveTheLimitIsRefusedUnread) {
  const TemporaryFolder folder;
  write_text(folder.file("a"), std::string(101, 'x'));
  EXPECT_EQ(input_refusal(folder.file("a")), folder.file("a") + ": 101 bytes; expected at most 100");
  std::filesystem::resize_file(folder.file("a"), uint64_t{1} << 42);  // more than there is memory
  EXPECT_EQ(input_refusal(folder.file("a"), uint64_t{1} << 31),
            folder.file("a") + ": 4398046511104 bytes; expected at most 2147483648");
}

TEST(InputFile, WhatIsNoTextIsNamed) {
  const TemporaryFolder folder;
  EXPECT_EQ(input_refusal(folder.path()), folder.path().string() + ": is a folder; expected a script");
  EXPECT_EQ(input_refusal(folder.file("none")), folder.file("none") + ": No such file or directory; expected a script");
  EXPECT_EQ(input_refusal(""), ": No such file or directory; expected a script");
  write_text(folder.file("shut"), "x");
  std::filesystem::permissions(folder.file("shut"), std::filesystem::perms::none);
  if (access(folder.file("shut").c_str(), R_OK) != 0) {  // root reads all
    EXPECT_EQ(input_refusal(folder.file("shut")), folder.file("shut") + ": Permission denied; expected a script");
  }
  EXPECT_EQ(test::refusal<InputError>([&] { read_input(folder.path(), "graph JSON", 1, "g.json"); }),
            "g.json: is a folder; expected graph JSON");
}

TEST(InputFile, AClosedDescriptorAndOneThatOnlyWrites) {
  const int closed = open("/dev/null", O_RDONLY);
  close(closed);
  EXPECT_EQ(test::refusal<InputError>([&] { InputFile(closed, "standard input", "a script", 1); }),
            "standard input: is closed; expected a script");
  const int writes = open("/dev/null", O_WRONLY);
  EXPECT_EQ(test::refusal<InputError>([&] { InputFile(writes, "standard input", "a script", 1).rest(); }),
            "standard input: is closed; expected a script");
  close(writes);
}

TEST(InputFile, APipeIsReadUpToTheLimit) {
  const auto whole = [](size_t size) {
    return from_pipe(std::string(size, 'x'), [](int end) {
      return test::refusal<InputError>([&] { InputFile(end, "a pipe", "", 200000).rest(); });
    });
  };
  EXPECT_EQ(whole(200000), "");
  EXPECT_EQ(whole(200001), "a pipe: more than 200000 bytes, the most that is expected");
  EXPECT_EQ(from_pipe("add 1 1\n", [](int end) { return InputFile(end, "a pipe", "", 100).rest(); }), "add 1 1\n");
}

TEST(InputFile, LinesAndTheirLimit) {
  const std::string longest(100000, 'a');
  const std::string text = "one\n\n" + longest + "\nlast";
  const auto lines = [&](size_t limit) {
    return from_pipe(text, [&](int end) {
      std::vector<std::string> all;
      const std::string refused = test::refusal<InputError>([&] {
        InputFile file(end, "a pipe", "", std::numeric_limits<uint64_t>::max());
        for (std::string line; file.line(line, limit);) all.push_back(line);
      });
      if (!refused.empty()) all.push_back(refused);
      return all;
    });
  };
  EXPECT_EQ(lines(100000), (std::vector<std::string>{"one", "", longest, "last"}));
  EXPECT_EQ(lines(99999), (std::vector<std::string>{"one", "", "a pipe: line 3 is longer than 99999 bytes"}));
}

TEST(InputFile, KindsOfFiles) {
  EXPECT_EQ(kind_of_file("none", S_IFDIR), "a folder");
  EXPECT_EQ(kind_of_file("none", S_IFIFO), "a pipe");
  EXPECT_EQ(kind_of_file("none", S_IFCHR), "a device");
  EXPECT_EQ(kind_of_file("none", S_IFREG), "a regular file");
}

}  // namespace
}  // namespace softamp::files
