// mpirun -n N softamp train: the files of one process, byte for byte (N284); and what is refused, once.
#include <gtest/gtest.h>

#include <cstdlib>
#include <regex>
#include <span>

#include "tests/program/mpi.h"

namespace softamp {
namespace {

using namespace test;

constexpr const char* kSmall =
    "train --set generated=true --set train_images=48 --set test_images=20 --set batch_size=2 --set epochs=2 --set "
    "evaluate_every=1 ";

/// What all lines of standard output say, but for times.
std::string without_times(const std::string& text) {
  return std::regex_replace(std::regex_replace(text, std::regex("(time so far|throughput) [0-9.]+"), "$1"),
                            std::regex("\"(seconds|images_per_second)\": [0-9.e+-]+"), "$1");
}

// tests: N284
TEST(MpiTrain, FilesOfOneProcess) {
  const std::vector<Mpi> all = mpis();
  if (all.empty()) GTEST_SKIP() << kNoMpi;
  // Each case by each MPI, with 2 and 4 processes; an ordinary run has one of these four for a case, by the slice.
  const bool every = std::getenv("SOFTAMP_MPI_ALL") != nullptr;
  const char* const slice = std::getenv("SOFTAMP_SLICE");
  const TemporaryFolder folder;
  const std::string files = " --log " + folder.file("run.jsonl") + " --checkpoint " + folder.file("run.npz") +
                            " --plot " + folder.file("run.svg") + " --csv " + folder.file("run.csv");
  size_t turn = slice ? static_cast<size_t>(std::atoll(slice)) : 0;
  for (const std::string settings :
       {"--set network=fashion_cnn --set precision=mixed --set optimizer=adam",
        "--set network=resnet8 --set precision=float16 --set stochastic_rounding=on",
        "--set network=resnet8 --set precision=float16 --set stochastic_rounding=replica_identical_only",
        "--set network=resnet8 --set precision=float16 --set stochastic_rounding=on --set replica_drift=true",
        "--set network=resnet8 --set precision=float16 --set stochastic_rounding=on --set replica_invariant=4",
        "--set precision=mixed --set loss_scale=mindspore --set behaviour=nanoo --set epochs=4",  // overflows at first
        "--set precision=bfloat16 --set accumulation=3 --set shuffle=true",
        "--set precision=mixed --set clip_global_norm=0.01 --set momentum=0.5"}) {
    ++turn;
    for (const int ranks : {2, 4}) {
      if (!every && ranks != (turn % 2 ? 2 : 4)) continue;
      const std::string arguments = kSmall + settings + " --set replicas=" + std::to_string(ranks) + files + " --json";
      const Outcome one = run_softamp(arguments);
      ASSERT_EQ(one.code, 0) << one.err;
      const std::string log = read_text(folder.file("run.jsonl")), checkpoint = read_text(folder.file("run.npz"));
      EXPECT_EQ(log.find("\"applied\":false") != std::string::npos, settings.find("mindspore") != std::string::npos);
      const size_t first = every ? 0 : turn / 2 % all.size(), last = every ? all.size() - 1 : first;
      for (size_t m = first; m <= last; ++m) {
        SCOPED_TRACE(all[m].name + " -n " + std::to_string(ranks) + " softamp " + arguments);
        const Outcome o = run_softamp_on(all[m], ranks, arguments);
        EXPECT_EQ(o.code, 0) << o.err;
        EXPECT_TRUE(read_text(folder.file("run.jsonl")) == log);
        EXPECT_TRUE(read_text(folder.file("run.npz")) == checkpoint);
        EXPECT_EQ(without_times(o.out), without_times(one.out));
        EXPECT_NE(o.err.find("softamp train: exchange: " + std::to_string(ranks) + " ranks by "), std::string::npos);
      }
    }
  }
}

TEST(MpiTrain, ProcessesAreReplicasWhereNoneAreNamed) {
  for (const Mpi& mpi : mpis()) {
    const Outcome o = run_softamp_on(mpi, 2, std::string(kSmall) + "--print-settings");
    EXPECT_NE(o.out.find("\"replicas\": 2,"), std::string::npos) << o.out << o.err;
    EXPECT_EQ(o.out.find("\"replicas\""), o.out.rfind("\"replicas\""));
  }
}

TEST(MpiTrain, BadInputIsToldOnceAndEndsAll) {
  const TemporaryFolder folder;
  write_text(folder.file("settings.json"), "{\"seed\": 1,}");
  write_text(folder.file("bad.npz"), "no archive");
  int turn = 0;
  for (const Mpi& mpi : mpis())
    for (const auto& [arguments, words] : std::vector<std::pair<std::string, std::string>>{
             {"--set replicas=3", "training: replicas is 3, shared by 2 processes; expected a multiple of these"},
             {"--set replicas=1", "training: replicas is 1, shared by 2 processes; expected a multiple of these"},
             {folder.file("settings.json"), "settings.json"},
             {"--resume " + folder.file("bad.npz"), "bad.npz"},
             {"--log " + folder.file("none/run.jsonl"), "none/run.jsonl"},
             {"--log /dev/full --quiet", "/dev/full"},
             {"--compare emu", "--compare: 2 processes; expected it in one, without mpirun"},
             {"--print loss --quiet", "tensors to print are asked for in a run of 2 processes"},
             {"--set lerning_rate=1", "lerning_rate"}}) {
      // An Open MPI takes a second and more to end a job that fails.
      if (mpi.name == "openmpi" && turn++ % 8 != 0 && std::getenv("SOFTAMP_MPI_ALL") == nullptr) continue;
      SCOPED_TRACE(mpi.name + " " + arguments);
      const Outcome o = run_softamp_on(mpi, 2, kSmall + arguments);
      EXPECT_EQ(o.code, 2) << o.err;
      const std::string lines = told(o);
      EXPECT_NE(lines.find(words), std::string::npos) << o.err;
      EXPECT_EQ(lines.find(words), lines.rfind(words)) << o.err;
      EXPECT_EQ(o.out.find("Average loss"), std::string::npos) << o.out;
    }
}

TEST(MpiTrain, AnExceptionEndsAllWithItsCode) {
  const std::vector<Mpi> all = mpis();
  for (const Mpi& mpi : std::span(all).last(std::min<size_t>(1, all.size()))) {
    const std::string arguments = std::string(kSmall) +
                                  "--set precision=float16 --set behaviour=oflo --set loss_scale=2^24 --set replicas=2 "
                                  "--quiet --json";
    const Outcome one = run_softamp(arguments), o = run_softamp_on(mpi, 2, arguments);
    EXPECT_EQ(one.code, 3);
    EXPECT_EQ(o.code, 3) << o.err;
    EXPECT_EQ(o.out.substr(0, one.out.size()), one.out);
    EXPECT_NE(o.err.find(one.err), std::string::npos) << o.err;
    EXPECT_EQ(o.err.find(one.err), o.err.rfind(one.err)) << o.err;
  }
}

TEST(MpiTrain, RanksThatDifferAreNamed) {
  for (const Mpi& mpi : mpis()) {
    // Not by two programs with a colon between them: Open MPI 5.0.7's mpirun crashes at that (docs/CLUSTERS.md).
    const Outcome o = run_shell(mpi.start + "2 sh -c 'exec \"$@\" --set seed=1$OMPI_COMM_WORLD_RANK$PMI_RANK' sh '" +
                                SOFTAMP_PROGRAM "' " + kSmall);
    EXPECT_EQ(o.code, 2) << o.err;
    EXPECT_EQ(told(o),
              "softamp train: rank 1 has 'seed' 11, and rank 0 has 'seed' 10; expected the same run on all ranks\n");
  }
}

TEST(MpiTrain, TwoJobsOnOneCheckpoint) {
  const TemporaryFolder folder;
  const std::string file = folder.file("run.npz");
  const std::vector<Mpi> all = mpis();
  if (!all.empty()) {
    const Mpi& mpi = all.back();
    const std::string run = mpi.start + "2 '" SOFTAMP_PROGRAM "' " + kSmall + " --checkpoint " + file;
    // The first holds its lock when its log has begun.
    const Outcome o = run_shell("rm -f " + folder.file("log") + "; " + run + " --set epochs=100000 --quiet --log " +
                                folder.file("log") + " & p=$!; while [ ! -s " + folder.file("log") +
                                " ]; do sleep 0.05; done; " + run + "; code=$?; kill $p; wait $p; exit $code");
    EXPECT_EQ(o.code, 2) << o.err;
    EXPECT_NE(told(o).find("is being written by process"), std::string::npos) << o.err;
  }
}

TEST(MpiTrain, AMissingModuleIsNamed) {
  // As mpirun leaves the environment, for a program that stands alone.
  const TemporaryFolder folder;
  const std::string copy = folder.file("softamp");
  std::filesystem::copy_file(SOFTAMP_PROGRAM, copy);
  const Outcome o = run_shell("OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 '" + copy + "' " + kSmall);
  EXPECT_EQ(o.code, 2);
  EXPECT_NE(o.err.find("libsoftamp_mpi_openmpi.so"), std::string::npos) << o.err;
  const Outcome other = run_shell("OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 '" + copy + "' " + kSmall);
  EXPECT_EQ(other.code, 2);
  EXPECT_EQ(other.err, "");
  const Outcome srun = run_shell("SLURM_JOB_ID=1 SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_NTASKS=2 '" SOFTAMP_PROGRAM "' " +
                                 std::string(kSmall));
  EXPECT_EQ(srun.code, 2);
  EXPECT_NE(srun.err.find("--mpi=pmix"), std::string::npos) << srun.err;
}

}  // namespace
}  // namespace softamp
