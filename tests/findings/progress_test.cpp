// The progress line: silent unless standard error is a terminal; a pseudo-terminal plays one here.
#include "src/machine/progress.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <thread>

namespace softamp {
namespace {

/// Sends standard error elsewhere while it lives.
class Redirected {
 public:
  explicit Redirected(int to) : before_(dup(STDERR_FILENO)) { dup2(to, STDERR_FILENO); }
  ~Redirected() {
    dup2(before_, STDERR_FILENO);
    close(before_);
  }

 private:
  int before_;
};

void run_for_a_while() {
  Progress progress("sum", 200, "additions");
  progress.update(50);
  std::this_thread::sleep_for(std::chrono::milliseconds(120));
  progress.update(100);
}

TEST(Progress, IsSilentWhereNobodyLooks) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  {
    const Redirected to_pipe(ends[1]);
    run_for_a_while();
  }
  close(ends[1]);
  char byte;
  EXPECT_EQ(read(ends[0], &byte, 1), 0);
  close(ends[0]);
}

/// All that a run writes to a terminal whose TERM is `term`; nothing where there is no pseudo-terminal.
std::string drawn_on(const char* term) {
  const int master = posix_openpt(O_RDWR | O_NOCTTY);
  if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) return "";
  const int terminal = open(ptsname(master), O_RDWR | O_NOCTTY);
  EXPECT_GE(terminal, 0);
  const char* const before = std::getenv("TERM");
  const std::string kept = before ? before : "";
  setenv("TERM", term, 1);
  {
    const Redirected to_terminal(terminal);
    run_for_a_while();
  }
  before ? setenv("TERM", kept.c_str(), 1) : unsetenv("TERM");
  close(terminal);
  // What is written arrives in parts; after the last one reading fails, because nobody holds the terminal.
  std::string text;
  char buffer[400];
  for (ssize_t n; (n = read(master, buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<size_t>(n));
  close(master);
  return text;
}

TEST(Progress, DrawsOneLineOnATerminalAndWipesIt) {
  const std::string text = drawn_on("xterm");
  if (text.empty()) GTEST_SKIP() << "no pseudo-terminal here";
  EXPECT_EQ(text.rfind("\r\033[Ksum: 50 % of 200 additions, ", 0), 0u) << text;  // the first update came too early
  EXPECT_NE(text.find(" s left"), std::string::npos);
  EXPECT_TRUE(text.ends_with("\r\033[K")) << text;
  EXPECT_EQ(text.find('\n'), std::string::npos);
}

TEST(Progress, ATerminalWithoutControlSequencesGetsBlanks) {
  const std::string text = drawn_on("dumb");
  if (text.empty()) GTEST_SKIP() << "no pseudo-terminal here";
  EXPECT_EQ(text.find('\033'), std::string::npos) << text;
  const size_t begin = text.find("sum: 50 %"), end = text.find(" s left") + 7;
  ASSERT_NE(begin, std::string::npos);
  EXPECT_EQ(text.substr(end), "\r" + std::string(end - begin, ' ') + "\r") << "the line is wiped";
}

}  // namespace
}  // namespace softamp
