// What a run reads is not written over, under any name, and no two outputs are one file.
#include "src/files/run_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <stdexcept>
#include <string>

#include "tests/files.h"
#include "tests/refusal.h"

namespace softamp::files {
namespace {

namespace fs = std::filesystem;
using test::TemporaryFolder;
using test::write_text;

class RunFilesOf : public ::testing::Test {
 protected:
  RunFilesOf() {
    write_text(file("g.json"), "{}");
    fs::create_symlink("g.json", file("link"));
    fs::create_hard_link(file("g.json"), file("hard"));
    fs::create_directory(file("folder"));
    fs::create_directory_symlink("folder", file("there"));
  }
  std::string file(const std::string& name) const { return folder_.file(name); }
  /// What is said of a run that reads one file and writes another.
  std::string of(const std::string& read, const std::string& written) const {
    return said(RunFiles().reads("the graph that is read", file(read)).writes("--trace", file(written)));
  }
  std::string said(const RunFiles& files) const {
    return folder_.without(test::refusal<std::invalid_argument>([&] { files.check(); }));
  }
  TemporaryFolder folder_;
};

TEST_F(RunFilesOf, AFileThatIsReadIsKnownUnderEveryName) {
  for (const std::string name : {"g.json", "./g.json", "folder/../g.json", "link", "hard"}) {
    EXPECT_EQ(of("g.json", name), "--trace: '" + name + "' is the graph that is read; expected another file");
    EXPECT_NE(of(name, "g.json"), "");
  }
  for (const std::string name : {"t.jsonl", "folder/g.json", "g.jso"}) EXPECT_EQ(of("g.json", name), "");
  EXPECT_EQ(of("none.json", "t.jsonl"), "");
}

TEST_F(RunFilesOf, SoIsOneThatIsNotThereYet) {
  const auto both = [&](const std::string& a, const std::string& b) {
    return said(RunFiles().writes("--csv", file(a)).writes("--plot", file(b)));
  };
  EXPECT_EQ(both("new", "./new"), "--plot: './new' is the file of --csv; expected another file");
  EXPECT_EQ(both("folder/new", "there/new"), "--plot: 'there/new' is the file of --csv; expected another file");
  EXPECT_EQ(both("none/new", "none/../none/new"),
            "--plot: 'none/../none/new' is the file of --csv; expected another file");
  fs::create_symlink("new", file("to_new"));
  EXPECT_EQ(both("to_new", "new"), "--plot: 'new' is the file of --csv; expected another file");
  EXPECT_EQ(both("new", "newer"), "");
}

TEST_F(RunFilesOf, EmptyNamesAreLeftOut) {
  EXPECT_EQ(said(RunFiles().reads("a", "").writes("--csv", "").writes("--plot", "").reads("b", file("g.json"))), "");
}

TEST_F(RunFilesOf, AFolderIsNoFile) {
  EXPECT_EQ(of("g.json", "folder"), "--trace: 'folder' is a folder; expected the name of a file");
  EXPECT_EQ(of("g.json", "there"), "--trace: 'there' is a folder; expected the name of a file");
}

TEST_F(RunFilesOf, ADashIsNotTakenForAName) {
  EXPECT_EQ(said(RunFiles().reads("the array", "-").writes("OUT", "-")),
            "OUT: '-' does not stand for standard output; expected the name of a file (./- for one of this name), or "
            "/dev/stdout");
  EXPECT_EQ(said(RunFiles().writes("OUT", "./-")), "");
}

TEST_F(RunFilesOf, DevicesAndPipesAreNobodys) {
  const std::string pipe = file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& name : {std::string("/dev/null"), std::string("/dev/stdout"), pipe})
    EXPECT_EQ(said(RunFiles().reads("it", name).writes("--csv", name).writes("--plot", name)), "");
}

TEST_F(RunFilesOf, SomeFilesAreReplacedOnPurpose) {
  const auto round = [&](const std::string& out) {
    return said(RunFiles()
                    .reads("the array that is read", file("g.json"))
                    .reads("the file of --random-words", file("bits"))
                    .replaces("OUT", file(out), "the array that is read"));
  };
  write_text(file("bits"), "");
  EXPECT_EQ(round("g.json"), "");
  EXPECT_EQ(round("bits"), "OUT: 'bits' is the file of --random-words; expected another file");
}

TEST_F(RunFilesOf, AFolderMayGetFilesThatOnlyTheRunKnows) {
  const auto beside = [&](const std::string& folder, const std::string& written) {
    return said(
        RunFiles().writes("--markdown", file(written)).writes_into("--out", file(folder), [](const std::string& name) {
          return name.ends_with(".csv");
        }));
  };
  const std::string expected = "' is one of the files of --out; expected another file";
  write_text(file("folder/old.csv"), "");
  fs::create_hard_link(file("folder/old.csv"), file("hard.md"));
  fs::create_symlink("folder/new.csv", file("link.md"));
  for (const std::string name : {"folder/new.csv", "folder/old.csv", "there/new.csv", "hard.md", "link.md"})
    EXPECT_EQ(beside("folder", name), "--markdown: '" + name + expected);
  EXPECT_EQ(beside("there", "folder/new.csv"), "--markdown: 'folder/new.csv" + expected);
  EXPECT_EQ(beside("none", "none/new.csv"), "--markdown: 'none/new.csv" + expected) << "a folder that is made yet";
  for (const std::string name : {"folder/new.md", "new.csv", "folder/g/new.csv", "hard"})
    EXPECT_EQ(beside("folder", name), "") << name;
}

TEST_F(RunFilesOf, WhatTheShellWritesIsNoFileForAnOption) {
  const int before = ::dup(STDOUT_FILENO);
  ASSERT_NE(std::freopen(file("printed").c_str(), "w", stdout), nullptr);
  const std::string message = said(RunFiles().writes("--csv", file("printed")));
  const std::string by_name = said(RunFiles().writes("--csv", "/dev/stdout"));
  std::fflush(stdout);
  ::dup2(before, STDOUT_FILENO);
  ::close(before);
  EXPECT_EQ(message, "--csv: 'printed' is standard output; expected another file, or /dev/stdout");
  EXPECT_EQ(by_name, "");
}

TEST_F(RunFilesOf, ANameIsPrintedOnOneLine) {
  write_text(file("a\nb"), "");
  EXPECT_EQ(of("a\nb", "a\nb"), "--trace: 'a\\nb' is the graph that is read; expected another file");
}

TEST_F(RunFilesOf, NoFileIsWhereAnotherStandsWhileItIsWritten) {
  const auto both = [&](const std::string& log, const std::string& checkpoint) {
    return said(RunFiles().writes("--log", file(log)).writes("--checkpoint", file(checkpoint)));
  };
  const std::string where = " is where --checkpoint has its file while that is written; expected another file";
  for (const char* name : {".a.npz.part", ".a.npz.lock", ".a.npz.4711.part"})
    EXPECT_EQ(both(name, "a.npz"), "--log: '" + std::string(name) + "'" + where);
  EXPECT_EQ(both("a.jsonl", ".a.jsonl.part"),
            "--checkpoint: '.a.jsonl.part' is where --log has its file while that is written; expected another file");
  EXPECT_EQ(both("there/.a.npz.part", "folder/a.npz"), "--log: 'there/.a.npz.part'" + where);
  for (const char* name : {"a.npz.part", ".b.npz.part", "folder/.a.npz.part", ".a.npz.x.part", ".part"})
    EXPECT_EQ(both(name, "a.npz"), "") << name;
  EXPECT_EQ(said(RunFiles().reads("the checkpoint", file(".a.npz.part")).writes("--checkpoint", file("a.npz"))),
            "the checkpoint: '.a.npz.part'" + where);
  const auto in_folder = [&](const std::string& csv) {
    return said(RunFiles().writes("--csv", file(csv)).writes_into("--out", file("folder"), [](const std::string& name) {
      return name == "run.json";
    }));
  };
  EXPECT_EQ(in_folder("folder/.run.json.part"),
            "--csv: 'folder/.run.json.part' is one of the files of --out; expected another file");
  EXPECT_EQ(in_folder("folder/.other.json.part"), "");
}

}  // namespace
}  // namespace softamp::files
