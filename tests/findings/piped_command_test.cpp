#include "src/pictures/piped_command.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

namespace softamp {
namespace {

/// More than any pipe holds, on both sides at once.
TEST(PipedCommand, TextGoesThroughWhateverItsSize) {
  std::string text;
  for (int i = 0; i < 300000; ++i) text += std::to_string(i) + '\n';
  const PipedCommand done = run_piped({"sh", "-c", "tee /dev/stderr"}, text);
  EXPECT_EQ(done.status, 0);
  EXPECT_TRUE(done.output == text);
  EXPECT_TRUE(done.said == text);
  const PipedCommand none = run_piped({"cat"}, "");
  EXPECT_EQ(none.output + none.said, "");
}

TEST(PipedCommand, SaysHowItEnded) {
  const PipedCommand failed = run_piped({"sh", "-c", "echo out; echo why >&2; exit 3"}, "");
  EXPECT_TRUE(WIFEXITED(failed.status) && WEXITSTATUS(failed.status) == 3);
  EXPECT_EQ(failed.output, "out\n");
  EXPECT_EQ(failed.said, "why\n");
  const PipedCommand killed = run_piped({"sh", "-c", "kill -TERM $$"}, "");
  EXPECT_TRUE(WIFSIGNALED(killed.status) && WTERMSIG(killed.status) == SIGTERM);
  try {
    run_piped({"softamp-no-such-program"}, "");
    ADD_FAILURE();
  } catch (const std::system_error& e) {
    EXPECT_EQ(e.code().value(), ENOENT);
  }
}

TEST(PipedCommand, OneThatDoesNotReadIsNoSignal) {
  const PipedCommand done = run_piped({"sh", "-c", "exec 0<&-; echo done"}, std::string(10000000, 'x'));
  EXPECT_EQ(done.status, 0);
  EXPECT_EQ(done.output, "done\n");
}

/// The ends of pipes must not be the numbers that the child gets.
TEST(PipedCommand, WhereStandardInputIsClosed) {
  const int before = ::dup(STDIN_FILENO);
  ::close(STDIN_FILENO);
  const PipedCommand done = run_piped({"cat"}, "text");
  if (before >= 0) {
    ::dup2(before, STDIN_FILENO);
    ::close(before);
  }
  EXPECT_EQ(done.output, "text");
}

}  // namespace
}  // namespace softamp
