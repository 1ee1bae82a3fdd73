// One holder of a key among processes, machines and threads: a dead one is taken over by exactly one other, a living
// one by none.
#include "src/files/claim.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "src/files/output_file.h"
#include "tests/files.h"
#include "tests/refusal.h"

namespace softamp::test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using files::ClaimHolder;
using files::ClaimPace;
using files::Claims;

/// On another machine.
ClaimHolder far_away(const std::string& host = "far") {
  ClaimHolder holder = ClaimHolder::me();
  holder.host = host;
  holder.boot = "another";
  holder.process = 7;
  return holder;
}

/// Processes that share a folder, each with a clock of its own that a test sets; no thread of theirs does anything.
class ClaimsOf : public ::testing::Test {
 protected:
  struct Clock {
    Claims::Clock::time_point time{1h};
  };
  Claims claims(Clock& clock, const ClaimHolder& me = ClaimHolder::me()) {
    return Claims(folder_.path(), "--out", kPace, me, [&clock] { return clock.time; });
  }
  std::set<std::string> names() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_.path())) names.insert(entry.path().filename().string());
    return names;
  }
  using Names = std::set<std::string>;

  static constexpr ClaimPace kPace{1h, 60s, 2s};
  const TemporaryFolder folder_;
  Clock here_, there_;
};

TEST_F(ClaimsOf, OneHoldsAKeyUntilItGivesItUp) {
  Claims mine = claims(here_), yours = claims(there_, far_away());
  EXPECT_TRUE(mine.take("a"));
  EXPECT_FALSE(mine.take("a"));
  EXPECT_FALSE(yours.take("a"));
  EXPECT_TRUE(yours.take("b"));
  EXPECT_TRUE(mine.holds("a"));
  EXPECT_FALSE(yours.holds("a"));
  EXPECT_EQ(names(), (Names{"a.claim.0", "b.claim.0"}));
  mine.give_up("a");
  EXPECT_TRUE(yours.take("a"));
  mine.give_up("a");
  EXPECT_EQ(names(), (Names{"a.claim.0", "b.claim.0"})) << "only its own";
}

TEST_F(ClaimsOf, GoWithTheirHolder) {
  {
    Claims mine = claims(here_);
    EXPECT_TRUE(mine.take("a"));
    EXPECT_TRUE(mine.take("b"));
  }
  EXPECT_EQ(names(), Names{});
}

TEST_F(ClaimsOf, OfThisMachinesDeadAreTakenOverAtOnce) {
  std::array<int, 2> ready{};
  ASSERT_EQ(::pipe(ready.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    Claims its = claims(there_);
    if (!its.take("a") || ::write(ready[1], "", 1) != 1) ::_exit(1);
    ::pause();
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  Claims mine = claims(here_);
  EXPECT_FALSE(mine.take("a")) << "it lives";
  const auto seen = files::claim_of(folder_.path(), "a");
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->holder.process, child);
  EXPECT_EQ(seen->holder.text(), ClaimHolder::me().host + " process " + std::to_string(child));
  EXPECT_FALSE(seen->gone);
  ::kill(child, SIGKILL);
  siginfo_t how{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &how, WEXITED | WNOWAIT), 0);
  EXPECT_TRUE(files::claim_of(folder_.path(), "a")->gone) << "though its parent has not asked for its end yet";
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(files::claim_of(folder_.path(), "a")->gone);
  EXPECT_TRUE(mine.take("a"));
  EXPECT_EQ(names(), (Names{"a.claim.0", "a.claim.1"})) << "the dead one's is not touched";
  mine.finish("a");
  EXPECT_EQ(names(), Names{});
  for (const int end : ready) ::close(end);
}

// The number of a process that has ended may be another's by now.
TEST_F(ClaimsOf, AProcessIsKnownByItsStart) {
  ClaimHolder before = ClaimHolder::me();
  ASSERT_GT(before.start, 1u);
  EXPECT_FALSE(before.gone(ClaimHolder::me()));
  --before.start;
  EXPECT_TRUE(before.gone(ClaimHolder::me()));
  Claims its = claims(there_, before), mine = claims(here_);
  ASSERT_TRUE(its.take("a"));
  EXPECT_TRUE(mine.take("a"));
  // What is not known to be of this machine is not judged by its processes.
  for (std::string ClaimHolder::*part : {&ClaimHolder::host, &ClaimHolder::boot, &ClaimHolder::pid_namespace})
    for (const char* other : {"", "another"}) {
      ClaimHolder far = before;
      far.*part = other;
      EXPECT_FALSE(far.gone(ClaimHolder::me()));
    }
}

TEST_F(ClaimsOf, OfAnotherMachineLivesAsLongAsItGivesSigns) {
  Claims its = claims(there_, far_away()), mine = claims(here_);
  ASSERT_TRUE(its.take("a"));
  for (int hour = 0; hour < 3; ++hour) {
    EXPECT_FALSE(mine.take("a"));
    here_.time += 59s;
    EXPECT_FALSE(mine.take("a"));
    there_.time += 2h;
    its.beat();
    here_.time += 59s;
    EXPECT_FALSE(mine.take("a")) << "a sign of life begins a new minute";
  }
  here_.time += 59s;
  EXPECT_FALSE(mine.take("a"));
  here_.time += 1s;
  EXPECT_TRUE(mine.take("a")) << "a minute on this clock, whatever the other shows";
  EXPECT_TRUE(mine.holds("a"));
  EXPECT_FALSE(its.holds("a"));
}

TEST_F(ClaimsOf, TheSilenceBeginsWithTheFirstLook) {
  Claims its = claims(there_, far_away()), mine = claims(here_);
  ASSERT_TRUE(its.take("a"));
  here_.time += 24h;
  EXPECT_FALSE(mine.take("a"));
}

// Both machines slept, or this process did.
TEST_F(ClaimsOf, ALongTimeWithoutALookIsNotSilence) {
  Claims its = claims(there_, far_away());
  Claims mine(folder_.path(), "", {10s, 60s, 2s}, ClaimHolder::me(), [this] { return here_.time; });
  ASSERT_TRUE(its.take("a"));
  for (int look = 0; look < 6; ++look) {
    EXPECT_FALSE(mine.take("a"));
    here_.time += 24h;
  }
  EXPECT_TRUE(mine.take("a"));
}

// Stopped for more than a minute, and woken.
TEST_F(ClaimsOf, OneThatWakesAfterATakeoverDoesNoHarm) {
  Claims its = claims(there_, far_away());
  ASSERT_TRUE(its.take("a"));
  Clock third_clock;
  Claims mine = claims(here_), third = claims(third_clock, far_away("farther"));
  EXPECT_FALSE(mine.take("a"));
  here_.time += 60s;
  ASSERT_TRUE(mine.take("a"));
  there_.time += 2h;
  its.beat();
  EXPECT_FALSE(its.take("a"));
  its.give_up("a");
  EXPECT_EQ(names(), (Names{"a.claim.0", "a.claim.1"}));
  EXPECT_TRUE(mine.holds("a"));
  EXPECT_FALSE(third.take("a"));
  mine.give_up("a");
  EXPECT_EQ(names(), (Names{"a.claim.0"})) << "it is now as if nobody had taken over";
  EXPECT_FALSE(third.take("a"));
  third_clock.time += 60s;
  EXPECT_TRUE(third.take("a"));
  third.finish("a");
  EXPECT_EQ(names(), Names{});
}

TEST_F(ClaimsOf, TheHighestHoldsEvenIfOneBelowIsGone) {
  Claims its = claims(there_, far_away()), mine = claims(here_);
  ASSERT_TRUE(its.take("a"));
  fs::rename(folder_.file("a.claim.0"), folder_.file("a.claim.1"));
  EXPECT_FALSE(mine.take("a"));
  EXPECT_EQ(names(), (Names{"a.claim.1"}));
  here_.time += 60s;
  EXPECT_TRUE(mine.take("a"));
  EXPECT_EQ(names(), (Names{"a.claim.1", "a.claim.2"}));
}

TEST_F(ClaimsOf, OneThatWasKilledAsItWroteItsNameIsTakenOverSoon) {
  write_text(folder_.file("a.claim.0"), "");
  Claims mine = claims(here_);
  EXPECT_FALSE(mine.take("a"));
  EXPECT_EQ(files::claim_of(folder_.path(), "a")->holder.text(), "an unknown process");
  here_.time += 1999ms;
  EXPECT_FALSE(mine.take("a"));
  here_.time += 1ms;
  EXPECT_TRUE(mine.take("a"));
  // What stands there and is no claim of ours is waited for as for any other.
  for (const char* text :
       {"softamp", "process -1\nstart 1\n", "softamp claim\nhost \nprocess 99999999999999999999\n"}) {
    write_text(folder_.file("b.claim.0"), text);
    EXPECT_FALSE(mine.take("b"));
    here_.time += 2s;
    EXPECT_FALSE(mine.take("b"));
  }
  fs::create_directory(folder_.file("c.claim.0"));
  EXPECT_FALSE(mine.take("c"));
  here_.time += 60s;
  EXPECT_TRUE(mine.take("c"));
}

TEST_F(ClaimsOf, WhatTheSystemRefusesIsNamed) {
  const auto refused = [](const fs::path& folder) {
    return refusal<files::OutputError>([&] { Claims(folder, "--out").take("a"); });
  };
  EXPECT_EQ(folder_.without(refused(folder_.file("none"))),
            "--out: 'none/a.claim.0' cannot be written: No such file or directory");
  write_text(folder_.file("file"), "");
  EXPECT_EQ(folder_.without(refused(folder_.file("file"))),
            "--out: 'file/a.claim.0' cannot be written: Not a directory");
  // A full disk, as a limit on the size of files shows it.
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_FSIZE, &none);
    try {
      Claims(folder_.path(), "--out").take("a");
    } catch (const files::OutputError& e) {
      ::_exit(e.reason == "File too large" ? 0 : 1);
    }
    ::_exit(2);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(names(), (Names{"file"})) << "nothing is left";
}

TEST_F(ClaimsOf, AThreadGivesSignsOfLife) {
  const std::string file = folder_.file("a.claim.0");
  Claims mine(folder_.path(), "", {10ms, 60s, 2s});
  ASSERT_TRUE(mine.take("a"));
  EXPECT_EQ(mine.why_no_thread(), "");
  const std::string first = read_text(file);
  std::string last = first;
  for (int i = 0; i < 2000 && last == first; ++i) {
    std::this_thread::sleep_for(5ms);
    last = read_text(file);
  }
  EXPECT_NE(last, first);
  EXPECT_EQ(last.size(), first.size());
  EXPECT_EQ(last.find("softamp claim\nhost "), 0u) << last;
  fs::remove(file);
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(names(), Names{}) << "one that is gone does not come again";
}

TEST_F(ClaimsOf, AChildThatEndsLeavesThemToItsParent) {
  Claims mine = claims(here_);
  ASSERT_TRUE(mine.take("a"));
  const pid_t child = ::fork();
  if (child == 0) {
    mine.~Claims();
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(mine.holds("a"));
}

// Between a look at the dead one's claim and the making of the next lies a look at the clock: here the other takes
// over.
TEST_F(ClaimsOf, OfTwoThatFindOneDeadTheFirstTakesOver) {
  Claims its = claims(there_, far_away()), yours = claims(here_, far_away("farther"));
  bool yours_comes_first = false;
  Claims mine(folder_.path(), "--out", kPace, ClaimHolder::me(), [&] {
    if (std::exchange(yours_comes_first, false)) yours.take("a");
    return here_.time;
  });
  ASSERT_TRUE(its.take("a"));
  EXPECT_FALSE(mine.take("a"));
  EXPECT_FALSE(yours.take("a"));
  here_.time += 60s;
  yours_comes_first = true;
  EXPECT_FALSE(mine.take("a"));
  EXPECT_FALSE(yours_comes_first) << "it has looked";
  EXPECT_TRUE(yours.holds("a"));
  EXPECT_FALSE(mine.holds("a"));
  EXPECT_EQ(names(), (Names{"a.claim.0", "a.claim.1"}));
}

/// Many find one dead at the same moment.
TEST_F(ClaimsOf, ExactlyOneTakesOver) {
  ClaimHolder before = ClaimHolder::me();
  --before.start;
  constexpr int kKeys = 200;
  Claims dead = claims(there_, before);
  for (int k = 0; k < kKeys; ++k) ASSERT_TRUE(dead.take(std::to_string(k)));
  std::vector<std::atomic<int>> takers(kKeys);
  std::atomic<int> through{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      Claims mine = claims(here_);
      for (int k = 0; k < kKeys; ++k) takers[static_cast<size_t>(k)] += mine.take(std::to_string(k));
      ++through;
      while (through < 4) std::this_thread::yield();  // held until all have asked
      for (int k = 0; k < kKeys; ++k) mine.finish(std::to_string(k));
    });
  for (std::thread& thread : threads) thread.join();
  for (const auto& n : takers) EXPECT_EQ(n, 1);
}

/// As a study does it: whoever has a claim looks whether the work is done, does it, and removes the claim.
TEST_F(ClaimsOf, EachPieceOfWorkIsDoneOnce) {
  constexpr size_t kKeys = 300;
  std::vector<std::atomic<int>> begun(kKeys), done(kKeys);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      Claims mine = claims(here_, far_away("node" + std::to_string(t)));
      for (size_t left = kKeys; left > 0;) {
        left = 0;
        for (size_t k = 0; k < kKeys; ++k) {
          const std::string key = std::to_string(k);
          if (done[k] > 0) continue;
          if (!mine.take(key)) {
            ++left;
            continue;
          }
          if (done[k] == 0) {
            ++begun[k];
            std::this_thread::yield();
            ++done[k];
          }
          mine.finish(key);
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const auto& n : begun) EXPECT_EQ(n, 1);
  EXPECT_EQ(names(), Names{});
}

TEST(ClaimNames, AreKnown) {
  EXPECT_EQ(files::key_of_claim("abc.claim.0"), "abc");
  EXPECT_EQ(files::key_of_claim("a.claim.1.claim.20"), "a.claim.1");
  for (const char* other : {"", "abc", "abc.claim.", "abc.claim.x", ".claim.0", "abc.claim.0.part", "abc.claim.-1"})
    EXPECT_EQ(files::key_of_claim(other), "") << other;
  const TemporaryFolder folder;
  EXPECT_FALSE(files::claim_of(folder.path(), "abc"));
  EXPECT_FALSE(files::claim_of(folder.file("none"), "abc"));
}

}  // namespace
}  // namespace softamp::test
