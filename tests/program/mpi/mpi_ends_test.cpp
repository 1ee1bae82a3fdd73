// How runs under mpirun end where a signal comes, or where not all ranks train: with one reason, and with nobody
// accused.
#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include "tests/program/mpi.h"
#include "tests/slice.h"

namespace softamp {
namespace {

using namespace test;

constexpr const char* kQuietRun =
    "train --set generated=true --set train_images=48 --set test_images=20 --set batch_size=2 --quiet ";

/// Whom a signal is for: mpirun, as `kill` sends it; its group of processes, as a terminal does; one rank; or all of
/// them one after the other, so that the last get theirs when the first have ended.
enum class SignalTo { kMpirun, kGroup, kRank, kEachRank };
constexpr const char* kSignalTo[] = {"mpirun", "its group", "rank 1", "each rank"};

/// Three ranks that train for long, are sent the signal after some steps, and end.
Outcome run_interrupted(const Mpi& mpi, const TemporaryFolder& folder, int signal, SignalTo to) {
  write_text(folder.file("rank.sh"), "echo $$ >'" + folder.file("pid.") +
                                         "'$OMPI_COMM_WORLD_RANK$PMI_RANK\nexec '" SOFTAMP_PROGRAM "' " + kQuietRun +
                                         "--set replicas=3 --set epochs=100000 --log '" + folder.file("log") +
                                         "' --checkpoint '" + folder.file("run.npz") + "'\n");
  const std::string number = std::to_string(signal);
  const std::string send[] = {
      "kill -" + number + " $m", "kill -" + number + " -$m",
      "kill -" + number + " $(cat '" + folder.file("pid.1") + "')",
      "for r in 2 0 1; do kill -" + number + " $(cat '" + folder.file("pid.") + "'$r) 2>/dev/null; sleep 0.03; done"};
  // A shell in the background ignores SIGINT, and what it starts does, too: Python does not.
  return run_shell(
      "python3 -c 'import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.setsid(); "
      "os.execvp(sys.argv[1], sys.argv[1:])' " +
      mpi.start + "3 sh '" + folder.file("rank.sh") + "' & m=$!; i=0; while [ $(cat '" + folder.file("log") +
      "' 2>/dev/null | wc -l) -lt 20 ] && [ $i -lt 600 ]; do sleep 0.05; i=$((i + 1)); done; " +
      send[static_cast<int>(to)] + "; wait $m");
}

TEST(MpiEnds, InterruptedAsARunOfOneProcess) {
  Slice slice(4);
  for (const Mpi& mpi : mpis())
    for (const int signal : {SIGINT, SIGTERM})
      for (const SignalTo to : {SignalTo::kMpirun, SignalTo::kGroup, SignalTo::kRank, SignalTo::kEachRank}) {
        if (to == SignalTo::kGroup && signal == SIGTERM) continue;  // no terminal sends it
        if (!slice.takes()) continue;
        SCOPED_TRACE(mpi.name + ", signal " + std::to_string(signal) + " to " + kSignalTo[static_cast<int>(to)]);
        const TemporaryFolder folder;
        const Outcome o = run_interrupted(mpi, folder, signal, to);
        const std::string line = told(o);
        EXPECT_TRUE(line.starts_with("softamp train: interrupted after ") &&
                    line.ends_with(" steps; continue with --resume " + folder.file("run.npz") + "\n") &&
                    line.find('\n') == line.size() - 1)
            << o.err;
        EXPECT_TRUE(std::filesystem::exists(folder.file("run.npz")));
        // Where the signal came to mpirun itself, Open MPI's has a code of its own, and MPICH's at times.
        const bool itself = to == SignalTo::kMpirun || to == SignalTo::kGroup;
        if (itself && mpi.name == "openmpi") {
          EXPECT_EQ(o.code, 1) << o.err;
        } else if (!itself || o.code != 0) {
          EXPECT_EQ(o.code, 128 + signal) << o.err;
        }
        const Outcome more =
            run_softamp(kQuietRun + std::string("--set replicas=3 --set epochs=1 --resume ") + folder.file("run.npz"));
        EXPECT_TRUE(more.code == 0 || more.err.find("expected at most the") != std::string::npos) << more.err;
      }
}

/// Two ranks, each with a command line of its own, by a colon or by a script that looks at its rank.
Outcome run_two(const Mpi& mpi, const std::string& first, const std::string& second, bool by_script) {
  const std::string program = "'" SOFTAMP_PROGRAM "' ", limit = "timeout -k 5 60 ";
  if (!by_script) return run_shell(limit + mpi.start + "1 " + program + first + " : -n 1 " + program + second);
  const TemporaryFolder folder;
  // Both scripts meet, so that a machine with much to do does not start one rank when the other one has ended.
  const std::string here = "'" + folder.file("here.") + "'";
  write_text(folder.file("rank.sh"), "r=$OMPI_COMM_WORLD_RANK$PMI_RANK\n: >" + here + "$r\nwhile [ ! -e " + here +
                                         "$((1 - r)) ]; do sleep 0.01; done\ncase $r in 0) exec " + program + first +
                                         ";; esac\nexec " + program + second + "\n");
  return run_shell(limit + mpi.start + "2 sh '" + folder.file("rank.sh") + "'");
}

TEST(MpiEnds, ARankThatDoesNotTrainWithTheOthersIsNamed) {
  const std::string train = std::string(kQuietRun) + "--set epochs=1", sum = "sum --value 0.1 --count 10";
  const auto words = [](const std::string& other, int rank) {
    return "softamp: rank " + std::to_string(rank) + " runs `softamp " + other + "`, and rank " +
           std::to_string(1 - rank) +
           " `softamp train`, which trains on all ranks together; expected `softamp train` on all of them\n";
  };
  int turn = 0;
  Slice slice(4);
  for (const Mpi& mpi : mpis())
    for (const auto& [first, second, expected] : std::vector<std::array<std::string, 3>>{
             {train, sum, words("sum", 1)},
             {sum, train, words("sum", 0)},
             {train, "train --help", words("train --help", 1)},
             {train, train + " --print-settings", words("train --print-settings", 1)},
             {"--version", train, words("--version", 0)},
             {train, "trian", words("trian", 1)},
             {train, "sum --value 0.1 --count 100000000000000 --rounding stochastic", words("sum", 1)}}) {
      // Open MPI 5.0.7's mpirun crashes at a colon (docs/CLUSTERS.md).
      const bool by_script = turn++ % 2 == 0;
      if (!slice.takes()) continue;
      SCOPED_TRACE(mpi.name + (by_script ? ", by a script: " : ": ") + first + " : " + second);
      const Outcome o = run_two(mpi, first, second, by_script);
      EXPECT_EQ(o.code, 2) << o.err;
      EXPECT_EQ(told(o), expected) << o.err;
      EXPECT_EQ(o.out, "");
    }
}

TEST(MpiEnds, ARankThatEndsBeforeAllHaveMetIsNamed) {
  const std::string train = std::string(kQuietRun) + "--set epochs=1";
  for (const Mpi& mpi : mpis())
    for (const int bad : {0, 1}) {
      SCOPED_TRACE(mpi.name + ", rank " + std::to_string(bad));
      const std::string wrong = train + " --no-such-option";
      const Outcome o = run_two(mpi, bad == 0 ? wrong : train, bad == 0 ? train : wrong, false);
      EXPECT_NE(o.code, 0) << o.err;  // 2; MPICH's mpirun has its own where the other rank has begun to start the MPI
      EXPECT_NE(o.err.find("softamp train: unknown option '--no-such-option'"), std::string::npos) << o.err;
      if (mpi.name == "openmpi") continue;  // its mpirun may end the other rank before that says more
      EXPECT_TRUE(std::regex_search(o.err, std::regex("softamp train: (rank " + std::to_string(bad) +
                                                      " has|1 of 2 processes that mpirun \\(PMI_SIZE=2\\) started on "
                                                      "this machine have) ended before all ranks had met; expected "
                                                      "`softamp train` on all of them\n")))
          << o.err;
    }
}

TEST(MpiEnds, OtherVerbsAreRunsOfTheirOwn) {
  for (const Mpi& mpi : mpis()) {
    SCOPED_TRACE(mpi.name);
    const std::string one = run_softamp("inspect 0.1").out;
    const Outcome same = run_softamp_on(mpi, 2, "inspect 0.1");
    EXPECT_EQ(same.code, 0) << same.err;
    EXPECT_EQ(same.out.size(), 2 * one.size());
    EXPECT_EQ(same.err, "");
    const Outcome other = run_two(mpi, "inspect 0.1", "formats", true);
    EXPECT_EQ(other.code, 0) << other.err;
    EXPECT_EQ(other.out.size(), one.size() + run_softamp("formats").out.size());
    // Steps of a script before the ranks train, and another one that trains at once.
    const TemporaryFolder folder;
    write_text(folder.file("rank.sh"), "case $OMPI_COMM_WORLD_RANK$PMI_RANK in 1) '" SOFTAMP_PROGRAM
                                       "' inspect 0.1; sleep 0.5;; esac\n'" SOFTAMP_PROGRAM "' " +
                                           std::string(kQuietRun) + "--set epochs=1 --set replicas=2\nexit $?\n");
    const Outcome steps = run_shell("timeout -k 5 60 " + mpi.start + "2 sh '" + folder.file("rank.sh") + "'");
    EXPECT_EQ(steps.code, 0) << steps.err;
    EXPECT_EQ(told(steps), "") << steps.err;
    EXPECT_EQ(steps.out, one);
  }
}

}  // namespace
}  // namespace softamp
