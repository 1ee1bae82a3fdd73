// `softamp reproduce`: the list, one experiment, all of them, and what it refuses.
#include "tests/program/process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace softamp::test {
namespace {

using nlohmann::json;

/// One that is always there and runs in no time.
const std::string kName = "tutorial-lines";

std::vector<std::string> names() {
  std::vector<std::string> result;
  const json list = json::parse(run_softamp("reproduce --json").out);
  for (const json& e : list["experiments"]) result.push_back(e["name"]);
  return result;
}

/// All experiments, run once for the tests that begin with a copy of what is kept of them.
struct AllBrief {
  const TemporaryFolder folder{};
  const std::string page = folder.file("page"), markdown = folder.file("page.md");
  const Outcome outcome = run_softamp("reproduce all --brief --out " + page + " --markdown " + markdown);
  void copy_page(const std::string& to) const {
    using std::filesystem::copy_options;
    std::filesystem::copy(page, to, copy_options::skip_existing | copy_options::recursive);
  }
};
const AllBrief& all_brief() {
  static const AllBrief run;
  return run;
}

TEST(Reproduce, ListsTheShelf) {
  const Outcome o = run_softamp("reproduce");
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(o.out.rfind("experiment ", 0), 0u);
  ASSERT_EQ(names().size(), 17u);
  for (const std::string& name : names()) EXPECT_NE(o.out.find("\n" + name + " "), std::string::npos) << name;
  EXPECT_NE(o.out.find("  takes "), std::string::npos);
  EXPECT_NE(o.out.find("softamp reproduce all --out DIR"), std::string::npos);
}

TEST(Reproduce, RunsOneAndPrintsTablesWordsAndVerdicts) {
  const Outcome o = run_softamp("reproduce " + kName + " --brief --quiet");
  ASSERT_EQ(o.code, 0) << o.out << o.err;
  EXPECT_EQ(o.err, "");
  for (const char* part : {"experiment  tutorial-lines: ", "\nsource ",
                           "\ncommand     softamp reproduce tutorial-lines", "\nsettings\n", "\nChecks: ", "  agrees "})
    EXPECT_NE(o.out.find(part), std::string::npos) << part << o.out;
  EXPECT_EQ(o.out.find("  differs "), std::string::npos) << o.out;
}

TEST(Reproduce, WritesItsFilesAndOneDocument) {
  const TemporaryFolder folder;
  const Outcome o = run_softamp("reproduce " + kName + " --brief --json --out " + folder.file("a/b"));
  ASSERT_EQ(o.code, 0) << o.out << o.err;
  const json printed = json::parse(o.out);
  json kept = json::parse(read_text(folder.file("a/b/" + kName + ".json")));
  EXPECT_EQ(kept.erase("checksum"), 1u);
  EXPECT_EQ(printed, kept);
  EXPECT_EQ(printed["name"], kName);
  EXPECT_EQ(printed["request"]["brief"], true);
  for (const json& table : printed["tables"])
    EXPECT_NE(read_text(folder.file("a/b/" + kName + "-" + table["name"].get<std::string>() + ".csv")), "");
  for (const json& figure : printed["figures"])
    for (const char* ending : {".svg", ".png"})
      EXPECT_NE(read_text(folder.file("a/b/" + kName + "-" + figure["name"].get<std::string>() + ending)), "");
  EXPECT_NE(o.err.find("the page is " + folder.file("a/b/" + kName + ".html")), std::string::npos) << o.err;
}

TEST(Reproduce, FilesAreWrittenEvenIfNobodyReadsOn) {
  const TemporaryFolder folder;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);  // the reader has gone before the first byte
  const std::string out = folder.file("kept");
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGPIPE, SIG_DFL);
    dup2(ends[1], STDOUT_FILENO);
    execl(SOFTAMP_PROGRAM, "softamp", "reproduce", kName.c_str(), "--brief", "--quiet", "--out", out.c_str(), nullptr);
    _exit(127);
  }
  close(ends[1]);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 128 + SIGPIPE) << status;
  EXPECT_EQ(json::parse(read_text(out + "/" + kName + ".json"))["name"], kName);
}

TEST(Reproduce, AllMakesThePageAndGoesOnFromWhatIsKept) {
  const TemporaryFolder& folder = all_brief().folder;
  const Outcome& first = all_brief().outcome;
  ASSERT_TRUE(first.code == 0) << first.out << first.err;
  const std::string command = "reproduce all --brief --out " + all_brief().page;
  const std::string page = read_text(folder.file("page/index.html")), markdown = read_text(all_brief().markdown);
  size_t kept = 0;
  for (const std::string& name : names()) {
    EXPECT_NE(page.find("<h2 id=\"" + name + "\">"), std::string::npos) << name;
    EXPECT_NE(markdown.find("\n## " + name + "\n"), std::string::npos) << name;
    EXPECT_NE(first.out.find(name + " "), std::string::npos) << name;
    kept += std::filesystem::exists(folder.file("page/" + name + ".json"));
  }
  EXPECT_GE(kept, 1u);
  EXPECT_NE(first.out.find("\nall "), std::string::npos) << first.out;

  // Again: nothing is run; without one result: that one.
  const std::string told = std::to_string(kept) + " of 17 experiments are kept in " + folder.file("page");
  const std::string before = read_text(folder.file("page/" + kName + ".json"));
  const Outcome second = run_softamp(command);
  ASSERT_EQ(second.code, 0) << second.err;
  EXPECT_NE(second.err.find(told), std::string::npos) << second.err;
  EXPECT_EQ(second.err.find(kName + ": "), std::string::npos) << second.err;
  EXPECT_NE(second.out.find("kept from before"), std::string::npos);
  EXPECT_EQ(read_text(folder.file("page/" + kName + ".json")), before);
  std::filesystem::remove(folder.file("page/" + kName + ".json"));
  const Outcome third = run_softamp(command);
  EXPECT_NE(third.err.find("softamp reproduce: " + kName + ": "), std::string::npos) << third.err;

  // The same bits but for the clock.
  json a = json::parse(before), b = json::parse(read_text(folder.file("page/" + kName + ".json")));
  for (const char* of_the_clock : {"seconds", "checksum"}) {
    a.erase(of_the_clock);
    b.erase(of_the_clock);
  }
  EXPECT_EQ(a, b);
}

TEST(Reproduce, WithoutGnuplotTheRestIsWritten) {
  const TemporaryFolder folder;
  const Outcome o = run_shell("PATH=" + folder.file("empty") + " '" SOFTAMP_PROGRAM "' reproduce " + kName +
                              " --brief --out " + folder.file("a"));
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(o.err.rfind("softamp reproduce: no gnuplot here: tables and JSON are written, figures are not drawn", 0),
            0u)
      << o.err;
  const Outcome quiet = run_shell("PATH=" + folder.file("empty") + " '" SOFTAMP_PROGRAM "' reproduce " + kName +
                                  " --brief --quiet --out " + folder.file("a"));
  EXPECT_EQ(quiet.err, "");
  EXPECT_TRUE(std::filesystem::exists(folder.file("a/" + kName + ".json")));
  for (const auto& entry : std::filesystem::directory_iterator(folder.file("a")))
    EXPECT_NE(entry.path().extension(), ".svg");
}

TEST(Reproduce, AFigureThatCannotBeDrawnTakesNoNumberAway) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.file("bin"));
  write_text(folder.file("bin/gnuplot"), "#!/bin/sh\necho out of ink >&2\nexit 1\n");
  std::filesystem::permissions(folder.file("bin/gnuplot"), std::filesystem::perms::owner_all);
  const std::string program = "PATH=" + folder.file("bin") + ":$PATH '" SOFTAMP_PROGRAM "' reproduce ";
  const Outcome one = run_shell(program + kName + " --brief --quiet --out " + folder.file("a"));
  EXPECT_EQ(one.code, 2);
  EXPECT_NE(one.out.find("\nChecks: "), std::string::npos) << one.out;
  EXPECT_NE(one.err.find("gnuplot failed: out of ink"), std::string::npos) << one.err;
  EXPECT_TRUE(std::filesystem::exists(folder.file("a/" + kName + ".json")));
  // All, kept or not, name what they lack, and the page has the numbers: one is run, the others are there without their
  // figures.
  all_brief().copy_page(folder.file("a"));
  const std::string not_kept = "recursive-sum";
  std::filesystem::remove(folder.file("a/index.html"));
  std::filesystem::remove(folder.file("a/" + not_kept + ".json"));
  std::vector<std::filesystem::path> figures;
  for (const auto& entry : std::filesystem::directory_iterator(folder.file("a")))
    if (entry.path().extension() == ".svg") figures.push_back(entry.path());
  for (const auto& figure : figures) std::filesystem::remove(figure);
  const Outcome all = run_shell(program + "all --brief --quiet --out " + folder.file("a"));
  EXPECT_EQ(all.code, 2);
  EXPECT_NE(all.err.find("softamp reproduce: " + kName + ": not all files are written: gnuplot failed: out of ink"),
            std::string::npos)
      << all.err;
  EXPECT_NE(all.err.find("softamp reproduce: " + not_kept + ": not all files are written: gnuplot failed"),
            std::string::npos)
      << all.err;
  EXPECT_EQ(all.out.find(" failed "), std::string::npos) << all.out;
  EXPECT_NE(read_text(folder.file("a/index.html")).find(".svg was not drawn. "), std::string::npos);
  // With a gnuplot that draws: the figures are there, nothing is run again.
  const Outcome again = run_softamp("reproduce all --brief --out " + folder.file("a"));
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(again.err.find("\nsoftamp reproduce: " + kName + ": "), std::string::npos) << again.err;
  EXPECT_EQ(read_text(folder.file("a/index.html")).find(".svg was not drawn. "), std::string::npos);
}

TEST(Reproduce, APictureThatIsAPipeIsNotRead) {
  const TemporaryFolder folder;
  all_brief().copy_page(folder.file("a"));
  const std::string picture = folder.file("a/harmonic-series-sums.svg");
  ASSERT_TRUE(std::filesystem::remove(picture));
  ASSERT_EQ(mkfifo(picture.c_str(), 0600), 0);
  const Outcome o = run_softamp("reproduce all --brief --quiet --out " + folder.file("a"));
  EXPECT_EQ(o.code, 2);
  EXPECT_NE(o.err.find("is a pipe; expected a regular file, a picture"), std::string::npos) << o.err;
}

TEST(Reproduce, ALongRunAsksFirst) {
  const Outcome o = run_softamp("reproduce unit-circle --samples 1000000");
  EXPECT_EQ(o.code, 2);
  EXPECT_EQ(o.out, "");
  EXPECT_EQ(o.err.rfind("softamp reproduce: 'unit-circle' will take about ", 0), 0u) << o.err;
  EXPECT_NE(o.err.find("on two cores; add --yes to run it, or lower --samples"), std::string::npos) << o.err;
}

TEST(Reproduce, BadInputIsNamed) {
  const TemporaryFolder folder;
  write_text(folder.file("file"), "");
  const struct {
    std::string arguments, message;
  } rows[] = {
      {"tutorial-line", "unknown experiment 'tutorial-line'; nearest: tutorial-lines; known: tutorial-lines, "},
      {kName + " --format fp61", "--format: unknown format 'fp61'; nearest: fp16"},
      {kName + " --rounding nearst", "--rounding: unknown rounding 'nearst'; nearest: nearest"},
      {kName + " --bits 33", "--bits: '33': expected a whole number in 1..32"},
      {kName + " --samples 0", "--samples: '0': expected a whole number in 1..1099511627776"},
      {kName + " --seed x", "--seed: 'x': expected a whole number in 0..18446744073709551615"},
      {kName + " --data " + folder.file("x"), "--data: 'tutorial-lines' does not take it; it takes "},
      {kName + " --again", "--again: only with `softamp reproduce all`"},
      {kName + " --sample 3", "unknown option '--sample'; nearest: --samples"},
      {kName + " --out /dev/null/x",
       "--out: '/dev/null/x': Not a directory; expected a folder that can be written to, or a place for one"},
      {kName + " --out " + folder.file("file"), "--out: '" + folder.file("file") + "': "},
      {"all --out /dev/null/x", "--out: '/dev/null/x': Not a directory"},
      {"all --format fp16", "--format: 'all' does not take it; it takes --seed, --data, --out, --markdown, --brief"},
      {"all --samples 3", "--samples: 'all' does not take it"},
      {"all --again", "--again: nothing is kept without --out"},
      {"all --fixed-format q2.14", "--fixed-format: 'all' does not take it"},
      {"all --brief --markdown " + folder.file("no/page.md"),
       "--markdown: '" + folder.file("no/page.md") + "' cannot be written: No such file or directory"},
      {"all --brief --markdown " + folder.path().string(),
       "--markdown: '" + folder.path().string() + "' is a folder; expected the name of a file"},
      {kName + " --format fp16 --format e5p11", "--format: 'fp16' is given twice"},
      {kName + " --fixed-format q2.99", "--fixed-format: fixed-point format 'q2.99': expected q<I>.<F>"},
      {"--out " + folder.file("x") + " --format fp16", ": NAME is missing; expected an experiment"},
      {"--brief", "--brief: NAME is missing; expected an experiment"},
  };
  for (const auto& row : rows) expect_complaint("reproduce", row.arguments, row.message);
}

TEST(Reproduce, AnInterruptedRunLeavesInOrder) {
  const TemporaryFolder folder;
  const std::string first = folder.file("a/" + kName + ".json");
  // In its default sizes, so that there is something to interrupt once the first result is kept.
  const Outcome o = run_shell("'" SOFTAMP_PROGRAM "' reproduce all --yes --out " + folder.file("a") +
                              " & p=$!; for i in $(seq 600); do test -e " + first +
                              " && break; sleep 0.1; done; kill -TERM $p; wait $p");
  EXPECT_EQ(o.code, 128 + SIGTERM) << o.err;
  EXPECT_NE(o.err.find("softamp reproduce: interrupted; "), std::string::npos) << o.err;
  EXPECT_NE(
      o.err.find("experiments are finished; they are kept in " + folder.file("a") + ", the same command continues"),
      std::string::npos)
      << o.err;
  EXPECT_TRUE(std::filesystem::exists(first));
  EXPECT_FALSE(std::filesystem::exists(folder.file("a/index.html")));
  for (const auto& entry : std::filesystem::directory_iterator(folder.file("a")))
    for (const char* temporary : {".part", ".lock", ".tmp"})
      EXPECT_NE(entry.path().extension(), temporary) << entry.path();
  EXPECT_EQ(o.out, "");
}

TEST(Reproduce, AForeignFileInTheFolderIsNotOverwritten) {
  const TemporaryFolder folder;
  write_text(folder.file(kName + ".json"), "my notes");
  const Outcome o = run_softamp("reproduce all --brief --out " + folder.path().string());
  EXPECT_EQ(o.code, 2);
  EXPECT_NE(o.err.find(folder.file(kName + ".json")), std::string::npos) << o.err;
  EXPECT_EQ(read_text(folder.file(kName + ".json")), "my notes");
  EXPECT_EQ(run_softamp("reproduce " + kName + " --brief --out " + folder.path().string()).code, 2);
  EXPECT_EQ(run_softamp("reproduce all --again --brief --out " + folder.path().string()).code, 2);
  EXPECT_EQ(read_text(folder.file(kName + ".json")), "my notes");
}

}  // namespace
}  // namespace softamp::test
