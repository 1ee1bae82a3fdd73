// Several `softamp study --out DIR`: they share the runs of the folder, by claims, by shards, or under a launcher.
#include "tests/program/process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/inotify.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <array>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>

namespace softamp::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const std::string kSharedRuns =
    "study --set generated=true --set train_images=64 --set test_images=32 --set batch_size=8 --set epochs=1 ";
const std::string kSharedGrid = "--grid precision=float16,float32 --grid stochastic_rounding=off,on ";
/// Of some seconds each.
const std::string kLongRuns =
    "study --set generated=true --set train_images=8000 --set test_images=32 --set batch_size=8 --set epochs=1 "
    "--grid precision=float16 ";
const std::string kLongRun = kLongRuns + "--seeds 1 --jobs 1 ";

/// A table without what clocks decide: images a second.
std::string without_speed(const std::string& table) {
  std::istringstream in(table);
  std::string text;
  size_t begin = 0, end = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.find("images/s") != std::string::npos && end == 0) {
      end = line.find("images/s") + 8;
      begin = end - 10;
    }
    text +=
        (line.size() > end && end > 0 && line.find(": ") == std::string::npos ? line.substr(0, begin) + line.substr(end)
                                                                              : line) +
        "\n";
  }
  return text;
}

/// A command that runs on, with what it says in files.
class Running {
 public:
  Running(const TemporaryFolder& folder, const std::string& name, const std::string& arguments)
      : out_(folder.file(name + ".out")), err_(folder.file(name + ".err")) {
    const std::string line = "exec '" SOFTAMP_PROGRAM "' " + arguments + " > " + out_ + " 2> " + err_;
    process_ = ::fork();
    if (process_ == 0) {
      ::signal(SIGINT, SIG_DFL);
      ::execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
      ::_exit(127);
    }
  }
  ~Running() {
    if (process_ > 0) end(SIGKILL);
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  /// Its outcome, after a signal where one is given.
  Outcome end(int signal = 0) {
    if (signal != 0) ::kill(process_, signal);
    int status = 0;
    ::waitpid(std::exchange(process_, -1), &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_text(out_), err()};
  }
  std::string err() const { return read_text(err_); }
  pid_t process() const { return process_; }

 private:
  std::string out_, err_;
  pid_t process_ = -1;
};

bool soon(const std::function<bool()>& holds, int seconds = 30) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  while (!holds() && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  return holds();
}

class SharedStudy : public ::testing::Test {
 protected:
  /// The names in the folder of runs that are not KEY.json.
  std::set<std::string> others() const {
    std::set<std::string> names;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(out_, none))
      if (entry.path().extension() != ".json") names.insert(entry.path().filename().string());
    return names;
  }
  size_t claims() const {
    const auto names = others();
    return static_cast<size_t>(
        std::count_if(names.begin(), names.end(), [](const std::string& n) { return contains(n, ".claim."); }));
  }
  /// There is one claim, and its maker has written its name.
  bool claimed_by_name() const {
    const auto names = others();
    return names.size() == 1 && contains(read_text(out_ + "/" + *names.begin()), "process ");
  }
  size_t kept() const { return fs::exists(out_) ? entries_of(out_) - others().size() : 0; }
  static size_t entries_of(const std::string& folder) {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder), {}));
  }
  json listed(const std::string& study) const { return json_of(study + into_ + "--list --json"); }

  const TemporaryFolder folder_;
  const std::string out_ = folder_.file("runs"), into_ = "--out " + out_ + " ";
};

TEST_F(SharedStudy, EachRunIsDoneByOneOfThem) {
  const std::string study = kSharedRuns + kSharedGrid + "--seeds 8 ";
  const std::string alone = run_softamp(study + "--quiet").out;
  fs::create_directory(out_);
  const int seen = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  ASSERT_GE(::inotify_add_watch(seen, out_.c_str(), IN_MOVED_TO), 0);
  {
    std::vector<std::unique_ptr<Running>> four;
    for (int i = 0; i < 4; ++i)
      four.push_back(std::make_unique<Running>(folder_, std::to_string(i), study + into_ + "--jobs 2 --quiet"));
    for (const auto& one : four) {
      const Outcome o = one->end();
      EXPECT_EQ(o.code, 0) << o.err;
      EXPECT_EQ(o.err, "");
      EXPECT_EQ(without_speed(o.out), without_speed(alone)) << "each prints the whole table";
    }
  }
  std::map<std::string, int> written;
  alignas(inotify_event) std::array<char, 1 << 16> events;
  for (ssize_t n; (n = ::read(seen, events.data(), events.size())) > 0;)
    for (ssize_t at = 0; at < n;) {
      const auto* event = reinterpret_cast<const inotify_event*>(events.data() + at);
      if (contains(event->name, ".json")) ++written[event->name];
      at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
    }
  ::close(seen);
  EXPECT_EQ(written.size(), 32u);
  for (const auto& [name, count] : written) EXPECT_EQ(count, 1) << name;
  EXPECT_EQ(others(), std::set<std::string>{});
}

TEST_F(SharedStudy, WaitsForOthersAndTakesOverWhatDies) {
  Running first(folder_, "first", kLongRun + into_);
  ASSERT_TRUE(soon([&] { return claimed_by_name(); })) << first.err();
  ::kill(first.process(), SIGSTOP);  // it shall not be done before it is killed, however slow the machine is
  ASSERT_TRUE(soon([&] { return listed(kLongRun)["claimed"] == 1; }));
  const json run = listed(kLongRun)["runs"][0];
  EXPECT_EQ(run["state"], "claimed");
  EXPECT_TRUE(run["holder"].get<std::string>().ends_with(" process " + std::to_string(first.process()))) << run;
  EXPECT_TRUE(
      contains(run_softamp(kLongRun + into_ + "--list").out, "  claimed by " + run["holder"].get<std::string>()));
  Running second(folder_, "second", kLongRun + into_);
  ASSERT_TRUE(soon([&] { return contains(second.err(), "waits"); })) << second.err();
  EXPECT_TRUE(contains(second.err(), "softamp study: 1 run is done by other processes, as by " +
                                         run["holder"].get<std::string>() + "; this one waits for them\n"))
      << second.err();
  EXPECT_EQ(first.end(SIGKILL).code, -1);
  EXPECT_TRUE(soon([&] { return claims() == 2; })) << "a claim of the next generation";
  EXPECT_EQ(second.end().code, 0);
  EXPECT_EQ(others(), std::set<std::string>{});
  EXPECT_EQ(kept(), 1u);
}

TEST_F(SharedStudy, GetsTheResultsOfAnother) {
  Running first(folder_, "first", kSharedRuns + "--grid precision=float16 --seeds 60 --jobs 1 --quiet " + into_);
  const Outcome o = run_softamp(kSharedRuns + "--grid precision=float16 --seeds 60 --jobs 1 --quiet " + into_);
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(without_speed(first.end().out), without_speed(o.out));
}

// A machine that cannot be reached may live: only its silence, a minute long, says that it does not.
TEST_F(SharedStudy, WaitsForAMachineThatIsFar) {
  const std::string study = kSharedRuns + "--grid precision=float16 --seeds 2 --jobs 1 ";
  const std::string key = listed(study)["runs"][1]["key"];
  const std::string claim = key + ".claim.0";
  fs::create_directory(out_);
  write_text(out_ + "/" + claim,
             "softamp claim\nhost far\nboot b\npids p\nprocess 7\nstart 9\nbeats 00000000000000000001\n");
  Running waiting(folder_, "waiting", study + into_);
  ASSERT_TRUE(soon([&] { return contains(waiting.err(), "waits"); })) << waiting.err();
  EXPECT_TRUE(contains(waiting.err(), ": 1 run is done by other processes, as by far process 7; ")) << waiting.err();
  const Outcome o = waiting.end(SIGTERM);
  EXPECT_EQ(o.code, 128 + SIGTERM);
  EXPECT_TRUE(contains(o.err, "interrupted; 1 of 2 runs are finished")) << o.err;
  EXPECT_EQ(others(), std::set<std::string>{claim}) << "the other's stays";
  EXPECT_EQ(listed(study)["runs"][1]["holder"], "far process 7");
  // It ends after all.
  Running again(folder_, "again", study + into_ + "--quiet");
  const TemporaryFolder other;
  ASSERT_EQ(run_softamp(study + "--quiet --out " + other.file("runs")).code, 0);
  fs::copy_file(other.file("runs/" + key + ".json"), out_ + "/" + key + ".json");
  EXPECT_EQ(again.end().code, 0);
  EXPECT_EQ(others(), std::set<std::string>{}) << "a claim of what is done is removed, whoever made it";
}

TEST_F(SharedStudy, WhatKilledOnesLeftGoesWithTheNext) {
  const std::string study = kSharedRuns + "--grid precision=float16 --seeds 2 --quiet ";
  const std::string first = run_softamp(study + into_).out;
  const std::string key = listed(study)["runs"][0]["key"];
  const std::string strange(32, 'a');
  for (const std::string& name :
       {key + ".claim.0", key + ".claim.1", "." + key + ".json.part", "." + key + ".json.lock",
        std::string(".softamp.part"), std::string(".lock"), strange + ".claim.0"})
    write_text(out_ + "/" + name, name == ".lock" ? "4711" : "");
  const Outcome o = run_softamp(study + into_);
  EXPECT_EQ(without_speed(o.out), without_speed(first));
  EXPECT_EQ(o.err, "");
  EXPECT_EQ(others(), std::set<std::string>{strange + ".claim.0"}) << "another study's";
}

TEST_F(SharedStudy, OtherStudiesAreNotDisturbed) {
  const std::string a = kSharedRuns + "--grid precision=float16 --seeds 20 --quiet --jobs 1 ",
                    b = kSharedRuns + "--grid precision=float32,float16 --seeds 10 --quiet --jobs 1 ";
  const std::string alone_a = run_softamp(a).out, alone_b = run_softamp(b).out;
  Running with_a(folder_, "a", a + into_), with_b(folder_, "b", b + into_);
  EXPECT_EQ(without_speed(with_a.end().out), without_speed(alone_a));
  EXPECT_EQ(without_speed(with_b.end().out), without_speed(alone_b));
  EXPECT_EQ(kept(), 30u);
  EXPECT_EQ(others(), std::set<std::string>{});
}

TEST_F(SharedStudy, RunsThatAreOneAreDoneOnce) {
  const Outcome o = run_softamp(
      kSharedRuns + "--case precision=float16 --case precision=half --seeds 2 --quiet --json --rates " + into_);
  const json rows = json_of(o)["rows"];
  EXPECT_EQ(rows[0]["mean_losses"], rows[1]["mean_losses"]);
  EXPECT_EQ(rows[0]["images_per_second"], rows[1]["images_per_second"]);
  EXPECT_EQ(kept(), 2u);
}

TEST_F(SharedStudy, AClaimThatCannotBeWrittenIsNamed) {
  const std::string study = kSharedRuns + "--grid precision=float16 --seeds 1 --quiet ";
  const std::string key = listed(study)["runs"][0]["key"];
  const Outcome o = run_shell("( trap '' XFSZ; ulimit -f 0; '" SOFTAMP_PROGRAM "' " + study + into_ + "2>&1 ) | cat");
  EXPECT_EQ(folder_.without(o.out),
            "softamp study: --out: 'runs/" + key + ".claim.0' cannot be written: File too large\n");
  EXPECT_EQ(others(), std::set<std::string>{});
}

TEST_F(SharedStudy, ShardsHaveEqualParts) {
  const std::string study = kSharedRuns + kSharedGrid + "--seeds 3 ";  // 12 runs
  const Outcome alone = run_softamp(study + "--quiet");
  const std::vector<std::string> said = {
      "softamp study: shard 1/5: 3 of 3 runs finished; 3 of 12 in all; the table: --collect\n",
      "softamp study: shard 2/5: 3 of 3 runs finished; 6 of 12 in all; the table: --collect\n",
      "softamp study: shard 3/5: 2 of 2 runs finished; 8 of 12 in all; the table: --collect\n",
      "softamp study: shard 4/5: 2 of 2 runs finished; 10 of 12 in all; the table: --collect\n"};
  for (int i = 1; i <= 4; ++i) {
    const Outcome o = run_softamp(study + "--quiet --shard " + std::to_string(i) + "/5 " + into_);
    EXPECT_EQ(o.code, 0);
    EXPECT_EQ(o.out, "");
    EXPECT_EQ(o.err, said[static_cast<size_t>(i) - 1]);
    if (i > 1) continue;
    std::vector<int> done;
    const json runs = listed(study)["runs"];
    for (const json& run : runs) done.push_back(run["state"] == "done");
    EXPECT_EQ(done, (std::vector<int>{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0})) << "dealt like cards";
  }
  const Outcome last = run_softamp(study + "--shard 5/5 " + into_);
  EXPECT_EQ(without_speed(last.out), without_speed(alone.out)) << "the last one has all";
  EXPECT_TRUE(contains(last.err, ", 12 runs, 2 in shard 5/5; generated=true")) << last.err;
  EXPECT_EQ(run_softamp(study + "--quiet --shard 20/40 " + into_).out, last.out) << "a shard without a run";
}

TEST_F(SharedStudy, ATaskOfAJobArrayIsAShard) {
  const std::string study = kSharedRuns + kSharedGrid + "--seeds 1 --quiet ";  // 4 runs
  const auto task = [&](const std::string& id, const std::string& variables) {
    return run_shell("SLURM_ARRAY_TASK_ID=" + id + " " + variables + " '" SOFTAMP_PROGRAM "' " + study +
                     "--shard slurm " + into_);
  };
  EXPECT_EQ(task("0", "SLURM_ARRAY_TASK_MIN=0 SLURM_ARRAY_TASK_COUNT=3").err,
            "softamp study: shard 1/3: 2 of 2 runs finished; 2 of 4 in all; the table: --collect\n");
  const std::string steps = "SLURM_ARRAY_TASK_MIN=3 SLURM_ARRAY_TASK_STEP=2 SLURM_ARRAY_TASK_COUNT=3";
  EXPECT_EQ(task("5", steps).err,
            "softamp study: shard 2/3: 1 of 1 runs finished; 3 of 4 in all; the table: --collect\n");
  const struct {
    std::string id, variables, message;
  } rows[] = {
      {"''", steps, "SLURM_ARRAY_TASK_ID is not set; expected a task of a job array, as of `sbatch --array=1-10`"},
      {"5", "SLURM_ARRAY_TASK_COUNT=3", "SLURM_ARRAY_TASK_MIN is not set; "},
      {"5", "SLURM_ARRAY_TASK_MIN=3", "SLURM_ARRAY_TASK_COUNT is not set; "},
      {"x", steps, "SLURM_ARRAY_TASK_ID: 'x': expected a whole number in 0.."},
      {"5", "SLURM_ARRAY_TASK_MIN=3 SLURM_ARRAY_TASK_STEP=0 SLURM_ARRAY_TASK_COUNT=3",
       "SLURM_ARRAY_TASK_STEP: '0': expected a whole number in 1.."},
      {"5", "SLURM_ARRAY_TASK_MIN=-3 SLURM_ARRAY_TASK_COUNT=3", "SLURM_ARRAY_TASK_MIN: '-3': expected a whole number"},
      {"2", steps, "SLURM_ARRAY_TASK_ID: '2': expected at least 3, the SLURM_ARRAY_TASK_MIN"},
      {"6", steps,
       "SLURM_ARRAY_TASK_ID: '6': expected one of the 3 (SLURM_ARRAY_TASK_COUNT) numbers from 3 on in steps of 2"},
      {"9", steps, "SLURM_ARRAY_TASK_ID: '9': expected one of the 3 "},
  };
  for (const auto& row : rows) {
    const Outcome o = task(row.id, row.variables);
    EXPECT_EQ(o.code, 2) << row.message;
    EXPECT_EQ(o.err.find("softamp study: --shard: 'slurm': " + row.message), 0u) << o.err;
  }
}

TEST_F(SharedStudy, ListsAndCollectsWhatIsThere) {
  const std::string study = kSharedRuns + kSharedGrid + "--seeds 4 --quiet ";
  EXPECT_EQ(listed(study)["missing"], 16) << "no folder yet";
  EXPECT_FALSE(fs::exists(out_)) << "nothing is made";
  expect_complaint("study", study.substr(6) + "--collect " + into_,
                   "--collect: '" + out_ + "' has none of the 16 runs");
  const Outcome whole = run_softamp(study + into_);
  const Outcome list = run_softamp(study + "--list " + into_);
  EXPECT_EQ(list.code, 0);
  EXPECT_EQ(list.out.find("precision  stochastic_rounding  seed  key" + std::string(31, ' ') +
                          "state\n"
                          "float16    off                     0  "),
            0u)
      << list.out;
  EXPECT_TRUE(list.out.ends_with("  done\n\n16 runs: 16 done, 0 claimed, 0 missing\n")) << list.out;
  const Outcome all = run_softamp(study + "--collect " + into_);
  EXPECT_EQ(all.code, 0);
  EXPECT_EQ(all.out, whole.out);
  EXPECT_EQ(all.err, "");
  // All of a row, and single seeds of others.
  const json runs = listed(study)["runs"];
  for (const size_t i : {0, 1, 3, 4, 5, 6, 7, 10}) fs::remove(out_ + "/" + runs[i]["key"].get<std::string>() + ".json");
  const Outcome some =
      run_softamp(study + "--collect " + into_ + "--csv " + folder_.file("t.csv") + " --runs-csv " +
                  folder_.file("r.csv") + " --steps-csv " + folder_.file("s.csv") + " --plot " + folder_.file("p.svg"));
  EXPECT_EQ(some.code, 1);
  EXPECT_EQ(some.err,
            "softamp study: missing: float16 off: seeds 0, 1, 3\nsoftamp study: missing: float16 on: seeds 0 to 3\n"
            "softamp study: missing: float32 off: seed 2\n");
  EXPECT_TRUE(contains(some.out, "\nprecision  stochastic_rounding  n  final loss")) << some.out;
  EXPECT_TRUE(contains(some.out, "\nfloat16    off                  1      ")) << some.out;
  EXPECT_TRUE(contains(some.out, "\nfloat16    on                   0           -       -           -")) << some.out;
  EXPECT_TRUE(contains(some.out, "  no run     -\n")) << some.out;
  EXPECT_TRUE(contains(some.out, "\nn: the runs that are there, of 4 seeds\n")) << some.out;
  const auto lines = [&](const char* name) {
    const std::string text = read_text(folder_.file(name));
    return std::count(text.begin(), text.end(), '\n');
  };
  EXPECT_EQ(lines("t.csv"), 1 + 4);
  EXPECT_EQ(lines("r.csv"), 1 + 8);
  EXPECT_EQ(lines("s.csv"), 1 + 8 * 8);
  EXPECT_TRUE(contains(read_text(folder_.file("t.csv")), "\nfloat16,on,0,,,,,,,,,,0,"))
      << read_text(folder_.file("t.csv"));
  EXPECT_TRUE(contains(read_text(folder_.file("p.svg")), "no run"));
  const Outcome document = run_softamp(study + "--collect --json " + into_);
  EXPECT_EQ(document.code, 1);
  const json rows = json::parse(document.out)["rows"];
  EXPECT_EQ(rows[1]["verdict"], "no run");
  EXPECT_EQ(rows[1]["runs"], 0);
  EXPECT_EQ(rows[3]["runs"], 4);
  EXPECT_TRUE(rows[2]["difference"].is_null()) << "no seed that both have but one: " << rows[2];
}

TEST_F(SharedStudy, ListKnowsTheDead) {
  const std::string study = kSharedRuns + "--grid precision=float16 --seeds 1 --quiet ";
  const std::string key = listed(study)["runs"][0]["key"];
  {
    Running first(folder_, "first", kLongRun + into_);
    ASSERT_TRUE(soon([&] { return claimed_by_name(); }));
    first.end(SIGKILL);
  }
  for (const auto& entry : fs::directory_iterator(out_))
    if (contains(entry.path().string(), ".claim.")) fs::rename(entry.path(), out_ + "/" + key + ".claim.0");
  const Outcome o = run_softamp(study + into_ + "--list");
  EXPECT_TRUE(contains(o.out, "  missing: ") && contains(o.out, " has died\n\n1 run: 0 done, 0 claimed, 1 missing\n"))
      << o.out;
}

TEST_F(SharedStudy, WhatDoesNotGoTogetherIsRefused) {
  write_text(folder_.file("file"), "");
  const std::string study = kSharedRuns.substr(6) + "--grid precision=float16 ";
  const struct {
    std::string arguments, message;
  } rows[] = {
      {into_ + "--shard 0/3", "--shard: '0/3': I: '0': expected a whole number in 1..3"},
      {into_ + "--shard 4/3", "--shard: '4/3': I: '4': expected a whole number in 1..3"},
      {into_ + "--shard 1/0", "--shard: '1/0': N: '0': expected a whole number in 1..1000000"},
      {into_ + "--shard a/b", "--shard: 'a/b': N: 'b': expected a whole number in 1..1000000"},
      {into_ + "--shard 2", "--shard: '2': expected I/N, as 2/10, or slurm, in a task of a job array"},
      {"--shard 1/2", "--shard: expected --out DIR beside it"},
      {"--list", "--list: expected --out DIR beside it"},
      {"--collect", "--collect: expected --out DIR beside it"},
      {into_ + "--collect --shard 1/2", "--collect: does not go with --shard; expected one of the two"},
      {into_ + "--collect --list", "--list: does not go with --collect; expected one of the two"},
      {into_ + "--list --plot a.svg", "--list: does not go with --plot; expected --plot with --collect"},
      {into_ + "--list --runs-csv a", "--list: does not go with --runs-csv; expected"},
      {into_ + "--shard 1/2 --csv a.csv", "--shard: does not go with --csv; expected --csv with --collect"},
      {"--list --out " + folder_.file("file"), "file': Not a directory; expected a folder of kept runs"},
      {"--collect --out " + folder_.file("file"), "file': Not a directory; expected a folder of kept runs"},
      {"--out " + folder_.file("file"), "file': Not a directory; expected a folder that can be written to"},
  };
  for (const auto& row : rows) expect_complaint("study", study + row.arguments, row.message);
  EXPECT_FALSE(fs::exists(out_));
}

/// Processes as a launcher starts them: by what it puts into their environment.
class LaunchedStudy : public SharedStudy {
 protected:
  static Outcome as(const std::string& variables, const std::string& arguments) {
    return run_shell(
        "env -u OMPI_COMM_WORLD_RANK -u OMPI_COMM_WORLD_SIZE -u PMI_RANK -u PMI_SIZE -u SLURM_PROCID -u "
        "SLURM_NTASKS -u SLURM_JOB_ID -u SLURM_STEP_ID " +
        variables + " '" SOFTAMP_PROGRAM "' " + arguments);
  }
  const std::string study_ = kSharedRuns + "--grid precision=float16 --seeds 3 ";
};

TEST_F(LaunchedStudy, OnlyRankZeroPrintsAndWrites) {
  const std::string table = "--csv " + folder_.file("t.csv") + " ";
  const std::string rank = "OMPI_COMM_WORLD_SIZE=3 OMPI_COMM_WORLD_RANK=";
  const Outcome other = as(rank + "1", study_ + into_ + table);
  EXPECT_EQ(other.code, 0) << other.err;
  EXPECT_EQ(other.out + other.err, "");
  EXPECT_EQ(kept(), 3u);
  EXPECT_FALSE(fs::exists(folder_.file("t.csv")));
  const Outcome first = as(rank + "0", study_ + into_ + table);
  EXPECT_TRUE(contains(first.out, "final loss")) << first.out;
  EXPECT_TRUE(contains(first.err, "softamp study: 1 settings, 3 seeds, 3 runs; ")) << first.err;
  EXPECT_TRUE(fs::exists(folder_.file("t.csv")));
  EXPECT_EQ(as(rank + "2", study_ + into_ + "--list").out, "");
  fs::remove(out_ + "/" + listed(study_)["runs"][0]["key"].get<std::string>() + ".json");
  EXPECT_TRUE(contains(as(rank + "0", study_ + into_ + "--collect").err, "missing: float16: seed 0\n"));
  const Outcome silent = as(rank + "2", study_ + into_ + "--collect");
  EXPECT_EQ(silent.code, 1);
  EXPECT_EQ(silent.out + silent.err, "");
}

TEST_F(LaunchedStudy, KnowsEachLauncher) {
  ASSERT_EQ(run_softamp(study_ + into_).code, 0);
  for (const std::string rank : {"PMI_SIZE=3 PMI_RANK=", "SLURM_NTASKS=3 SLURM_PROCID=",
                                 "SLURM_JOB_ID=5 SLURM_STEP_ID=0 SLURM_NTASKS=3 SLURM_PROCID="}) {
    EXPECT_EQ(as(rank + "1", study_ + into_).out, "") << rank;
    EXPECT_TRUE(contains(as(rank + "0", study_ + into_).out, "final loss")) << rank;
  }
}

TEST_F(LaunchedStudy, NeedsAFolder) {
  const std::string rank = "OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=";
  const Outcome first = as(rank + "0", study_), other = as(rank + "1", study_);
  EXPECT_EQ(first.code, 2);
  EXPECT_EQ(first.err,
            "softamp study: started by mpirun (OMPI_COMM_WORLD_SIZE=2): without --out each of the 2 processes would do "
            "all runs; expected --out DIR, a folder in which they share them\n");
  EXPECT_EQ(other.code, 2);
  EXPECT_EQ(other.out + other.err, "");
  EXPECT_TRUE(contains(as("SLURM_NTASKS=2 SLURM_PROCID=0", study_).err, "started by srun (SLURM_NTASKS=2): "));
}

TEST_F(LaunchedStudy, OneProcessIsNoGroup) {
  for (const char* variables : {"OMPI_COMM_WORLD_SIZE=1 OMPI_COMM_WORLD_RANK=0", "SLURM_NTASKS=1 SLURM_PROCID=0",
                                "SLURM_PROCID=0", "SLURM_NTASKS=4 SLURM_PROCID=0 SLURM_JOB_ID=5"})
    EXPECT_TRUE(contains(as(variables, study_).out, "final loss")) << variables << ": the last is a batch script";
}

TEST_F(LaunchedStudy, ABadEnvironmentIsNamed) {
  const struct {
    const char *variables, *message;
  } rows[] = {
      {"OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=2", "OMPI_COMM_WORLD_RANK: '2': expected a whole number in 0..1"},
      {"OMPI_COMM_WORLD_SIZE=0 OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_SIZE: '0': expected a whole number in 1.."},
      {"OMPI_COMM_WORLD_SIZE=2", "OMPI_COMM_WORLD_RANK is not set, but OMPI_COMM_WORLD_SIZE is; expected both"},
      {"PMI_RANK=1", "PMI_SIZE is not set, but PMI_RANK is; expected both, as mpirun sets them, or none"},
      {"SLURM_NTASKS=x SLURM_PROCID=0", "SLURM_NTASKS: 'x': expected a whole number in 1.."},
      {"SLURM_NTASKS=2 SLURM_PROCID=0 SLURM_STEP_TASKS_PER_NODE='(x2)'",
       "SLURM_STEP_TASKS_PER_NODE: '(x2)': expected a whole number in 1.."},
      {"PMI_RANK=0 PMI_SIZE=2 MPI_LOCALNRANKS=none", "MPI_LOCALNRANKS: 'none': expected a whole number in 1.."},
  };
  for (const auto& row : rows) {
    const Outcome o = as(row.variables, study_ + into_);
    EXPECT_EQ(o.code, 2);
    EXPECT_EQ(o.err.find(std::string("softamp study: ") + row.message), 0u) << o.err;
  }
}

// By as many claims as there are runs at a time. A look sees too few at most: one at a time is looked at while many
// short runs are done, several at a time while long ones are.
TEST_F(LaunchedStudy, TakesItsPartOfTheCores) {
  const auto with_ranks_here = [&](const char* ranks, const std::string& study,
                                   const std::function<bool(size_t)>& enough) {
    for (const auto& [name, value] : {std::pair{"PMI_RANK", "0"}, {"PMI_SIZE", "1000"}, {"MPI_LOCALNRANKS", ranks}})
      ::setenv(name, value, 1);
    fs::remove_all(out_);
    Running one(folder_, "one", study + "--quiet " + into_);
    size_t most = 0;
    soon([&] { return enough(most = std::max(most, claims())); });
    one.end(SIGTERM);
    for (const char* name : {"PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"}) ::unsetenv(name);
    return most;
  };
  EXPECT_EQ(with_ranks_here("1000", kSharedRuns + "--set epochs=4 --grid precision=float16 --seeds 30 ",
                            [&](size_t) { return kept() >= 12; }),
            1u);
  if (std::thread::hardware_concurrency() > 1) {
    EXPECT_GT(with_ranks_here("1", kLongRuns + "--seeds 30 ", [](size_t most) { return most > 1; }), 1u);
  }
}

}  // namespace
}  // namespace softamp::test
