// The exchange under the mpirun of each MPI that this build has a module for: what it carries, and what happens to the
// others when a rank leaves, is killed, or is stopped. mpi_check.cpp is what runs.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <thread>

#include "src/exchange/mpi_module.h"

namespace softamp {
namespace {

namespace fs = std::filesystem;

/// What one run left: by rank what it printed on standard output, and on standard error, where the MPI's own warnings
/// are, too; and its exit code (-1: none was written; a signal: 128 + its number).
struct Left {
  std::map<int, std::string> output, errors;
  std::map<int, int> code;
  int mpirun = -1;
  double seconds = 0;
  std::string said;  ///< mpirun's own words
};

bool on_path(const std::string& command) {
  return std::system(("command -v " + command + " >/dev/null 2>&1").c_str()) == 0;
}

/// The number before the first point of the version of Open MPI's mpirun, 0 if it says none. What it says is like
/// "mpirun (Open MPI) 5.0.7", or "mpirun.openmpi (OpenRTE) 4.1.4".
int open_mpi_generation() {
  std::string words(256, '\0');
  FILE* const pipe = ::popen("mpirun.openmpi --version 2>&1", "r");
  if (!pipe) return 0;
  words.resize(std::fread(words.data(), 1, words.size(), pipe));
  ::pclose(pipe);
  const std::string mark = ") ";
  const size_t at = words.find(mark);
  return at == std::string::npos ? 0 : std::atoi(words.c_str() + at + mark.size());
}

class MpiRun : public testing::TestWithParam<MpiKind> {
 protected:
  void SetUp() override {
    const std::string name = name_of(GetParam());
    if (!fs::exists(fs::path(SOFTAMP_BINARY_DIR) / module_name(GetParam())))
      GTEST_SKIP() << name << " was not found when this was built: nothing was run with it";
    mpirun_ = GetParam() == MpiKind::kOpenMpi ? "mpirun.openmpi" : "mpirun.mpich";
    if (!on_path(mpirun_)) GTEST_SKIP() << mpirun_ << " is not on PATH: nothing was run with " << name;
    live_on_ = " -disable-auto-cleanup";
    if (GetParam() == MpiKind::kMpich) return;
    mpirun_ += " --allow-run-as-root --oversubscribe";
    const int generation = open_mpi_generation();
    ASSERT_GT(generation, 0);
    live_on_ = " --enable-recovery";
    if (generation > 4) live_on_ += " --runtime-options error-nonzero-status=false";
  }

  /// While it waits for a rank that was stopped, it calls `meanwhile`. `live_on`: mpirun leaves the others when one
  /// ends.
  Left run(int ranks, const std::string& mode, const std::function<void(const fs::path&)>& meanwhile = {},
           bool live_on = true) const {
    static std::atomic<int> runs{0};
    const fs::path folder =
        fs::path(testing::TempDir()) / ("softamp_mpi_" + std::to_string(::getpid()) + "_" + std::to_string(runs++));
    fs::create_directories(folder);
    // Each rank is in a shell that writes down how it ended (docs/CLUSTERS.md).
    std::ofstream(folder / "rank.sh") << "trap '' USR1\nr=${PMI_RANK:-$OMPI_COMM_WORLD_RANK}\n'" << SOFTAMP_MPI_CHECK
                                      << "' '" << SOFTAMP_BINARY_DIR << "' " << mode << " >'" << folder.string()
                                      << "'/out.$r 2>'" << folder.string() << "'/err.$r\nc=$?\necho $c >'"
                                      << folder.string() << "'/code.$r\nexit $c\n";
    // Open MPI's mpirun refuses to start where one with its process number has left its folder in TMPDIR, as one that
    // was killed does; in containers numbers come again soon.
    const std::string command = "TMPDIR='" + folder.string() + "' timeout -k 5 60 " + mpirun_ +
                                (live_on ? live_on_ : "") + " -n " + std::to_string(ranks) + " sh '" +
                                (folder / "rank.sh").string() + "' >'" + (folder / "said").string() + "' 2>&1";
    Left result;
    const auto begin = std::chrono::steady_clock::now();
    std::thread helper;
    if (meanwhile) helper = std::thread([&] { meanwhile(folder); });
    const int status = std::system(command.c_str());
    if (helper.joinable()) helper.join();
    result.mpirun = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    const auto text = [&](const std::string& file) {
      std::ostringstream all;
      all << std::ifstream(folder / file).rdbuf();
      return all.str();
    };
    // mpirun may end before those of whom it has lost sight.
    const auto all_there = [&] {
      for (int r = 0; r < ranks; ++r)
        if (text("code." + std::to_string(r)).empty()) return false;
      return true;
    };
    for (int i = 0; i < 500 && !all_there(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    for (int r = 0; r < ranks; ++r) {
      const std::string code = text("code." + std::to_string(r));
      result.output[r] = text("out." + std::to_string(r));
      result.errors[r] = text("err." + std::to_string(r));
      result.code[r] = code.empty() ? -1 : std::atoi(code.c_str());
    }
    result.said = text("said");
    fs::remove_all(folder);
    return result;
  }

  /// All but `ended` end with `code`, and each says `why`: by an exception, or where its MPI did not come back.
  static void expect_all(const Left& run, int ended, int code, const std::string& why) {
    for (const auto& [rank, of_rank] : run.code) {
      if (rank == ended) continue;
      const std::string words = run.output.at(rank) + run.errors.at(rank);
      EXPECT_EQ(of_rank, code) << "rank " << rank << ": " << words << run.said;
      EXPECT_NE(words.find(why), std::string::npos) << "rank " << rank << ": " << words;
    }
    EXPECT_LT(run.seconds, 30);
  }

  std::string mpirun_, live_on_;
};

TEST_P(MpiRun, CarriesWhatTheExchangeInProcessCarries) {
  for (const int ranks : {1, 2, 4}) {
    const Left done = run(ranks, "patterns");
    EXPECT_EQ(done.mpirun, 0) << done.said;
    for (int r = 0; r < ranks; ++r) {
      EXPECT_EQ(done.code.at(r), 0) << done.output.at(r) << done.errors.at(r) << done.said;
      const std::string who = "rank " + std::to_string(r) + " of " + std::to_string(ranks) + ", local " +
                              std::to_string(r) + " of " + std::to_string(ranks) + ", " + name_of(GetParam()) + " ";
      EXPECT_TRUE(done.output.at(r).starts_with(who)) << done.output.at(r);
      EXPECT_TRUE(done.output.at(r).ends_with(": equal\n")) << done.output.at(r);
    }
  }
}

TEST_P(MpiRun, OneThatLeavesEndsAllWithItsCodeAndItsReason) {
  expect_all(run(4, "leave 2"), -1, 7, "rank 2 has no more disk");
  expect_all(run(2, "leave 0"), -1, 7, "rank 0 has no more disk");
}

TEST_P(MpiRun, MpirunEndsWithTheCodeThatAllEndWith) {
  for (int leaver = 0; leaver < 4; ++leaver) {
    const Left done = run(4, "leave " + std::to_string(leaver), {}, false);
    EXPECT_EQ(done.mpirun, 7) << "rank " << leaver << ": " << done.said;
  }
}

TEST_P(MpiRun, OneThatIsKilledIsNamedByAllOthers) {
  for (const int killed : {0, 1}) {
    const Left done = run(4, "kill " + std::to_string(killed));
    EXPECT_EQ(done.code.at(killed), 128 + SIGKILL);
    expect_all(done, killed, 4, "rank " + std::to_string(killed) + " (");
    expect_all(done, killed, 4, ") has ended without a word");
  }
  // While the others wait at the end of the run.
  expect_all(run(2, "kill_late 1"), 1, 4, "");
}

TEST_P(MpiRun, OneThatDestroysItsExchangeHasEnded) {
  const Left thrown = run(2, "throw 1");
  EXPECT_EQ(thrown.code.at(1), 9) << thrown.output.at(1);
  expect_all(thrown, 1, 4, ") has ended\n");
  const Left early = run(2, "early 0");
  EXPECT_EQ(early.code.at(0), 0) << early.output.at(0);
  expect_all(early, 0, 4, ") has ended\n");
}

TEST_P(MpiRun, OneThatIsStoppedForFiveSecondsIsNoError) {
  const Left done = run(2, "stop 1", [](const fs::path& folder) {
    int process = 0;
    for (int i = 0; i < 8000 && process == 0; ++i) {  // as long as mpirun has
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      std::string word;
      std::ifstream(folder / "out.1") >> word >> process;
    }
    std::this_thread::sleep_for(std::chrono::seconds(5));
    if (process > 0) ::kill(process, SIGCONT);
  });
  EXPECT_GT(done.seconds, 5);
  EXPECT_EQ(done.mpirun, 0) << done.said;
  for (const int r : {0, 1})
    EXPECT_NE(done.output.at(r).find(": done\n"), std::string::npos) << done.output.at(r) << done.errors.at(r);
}

TEST_P(MpiRun, OneThatIsStoppedForGoodIsEndedByMpirunWithTheOthers) {
  const Left done = run(3, "stay 1", {}, false);
  EXPECT_EQ(done.code.at(0), 7) << done.output.at(0) << done.errors.at(0) << done.said;
  EXPECT_NE(done.mpirun, 124) << done.said;  // that of `timeout`
  EXPECT_LT(done.seconds, 30);
}

INSTANTIATE_TEST_SUITE_P(Each, MpiRun, testing::Values(MpiKind::kOpenMpi, MpiKind::kMpich),
                         [](const auto& kind) { return kind.param == MpiKind::kOpenMpi ? "OpenMpi" : "Mpich"; });

TEST(MpiModule, SaysWhereItWasLookedForAndWhatToDo) {
  const auto error = [](const fs::path& folder) -> std::string {
    try {
      load_mpi_module(MpiKind::kMpich, folder);
    } catch (const std::runtime_error& e) {
      return e.what();
    }
    return "none";
  };
  EXPECT_EQ(error("/nowhere"),
            "MPICH: libsoftamp_mpi_mpich.so is not in /nowhere; expected softamp built where MPICH is (Debian package "
            "libmpich-dev), with the CMake option SOFTAMP_MPI=ON");
  const fs::path folder = fs::path(testing::TempDir()) / ("softamp_module_" + std::to_string(::getpid()));
  fs::create_directories(folder);
  std::ofstream(folder / module_name(MpiKind::kMpich)) << "no module";
  EXPECT_NE(error(folder).find(" cannot be loaded: "), std::string::npos) << error(folder);
  fs::remove_all(folder);
}

TEST(MpiModule, TheLauncherIsKnownByItsEnvironment) {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_SIZE", "PMI_RANK", "MPI_LOCALNRANKS"})
    ::unsetenv(name);
  EXPECT_EQ(mpi_launcher(), std::nullopt);
  EXPECT_EQ(mpi_launcher_ranks(), std::nullopt);
  ::setenv("PMI_SIZE", "3", 1);
  EXPECT_EQ(mpi_launcher(), MpiKind::kMpich);
  EXPECT_EQ(mpi_launcher_ranks(), 3);
  ::setenv("PMI_SIZE", "three", 1);
  EXPECT_EQ(mpi_launcher_ranks(), std::nullopt);
  ::setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
  EXPECT_EQ(mpi_launcher(), MpiKind::kOpenMpi);
  EXPECT_EQ(mpi_launcher_ranks(), 2);
  ::unsetenv("OMPI_COMM_WORLD_SIZE"), ::unsetenv("PMI_SIZE");
}

}  // namespace
}  // namespace softamp
