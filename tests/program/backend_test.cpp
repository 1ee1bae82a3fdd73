// --backend of every verb that computes: what it says, what it refuses, and that it is no setting that decides a bit.
// The same tests serve a machine with a GPU and one without.
#include "tests/program/process.h"
#include "tests/program/run_log.h"

#include "softamp/graph/executor.h"
#include "softamp/numerics/version.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace softamp::test {
namespace {

using nlohmann::json;

const std::string kTinyRun = " --set generated=true --set train_images=16 --set batch_size=8 --set evaluate=false ";

BackendChoice of_auto() {
  ExecutorOptions o;
  o.backend = "auto";
  return choose_backend(o);
}
bool has_device() { return of_auto().backend == "cuda"; }

class Backend : public ::testing::Test {
 protected:
  Backend() {
    write_text(file("g.json"), R"({"softamp_graph": 1, "nodes": [
      {"name": "x", "op": "Fill", "attributes": {"dtype": "float16", "shape": [2, 64], "value": 1}},
      {"name": "little", "op": "Fill", "attributes": {"dtype": "float16", "shape": [2, 64], "value": 0.001}},
      {"name": "z", "op": "AddV2", "inputs": ["x", "little"]}]})");
  }
  std::string file(const std::string& name) const { return folder_.file(name); }
  Outcome run(const std::string& options) const {
    return run_softamp("run " + file("g.json") + " --behaviour esr " + options);
  }
  TemporaryFolder folder_;
};

/// What every verb says of "cuda" where there is no device: one line, with what would work.
void expect_no_device(const Outcome& o, const std::string& verb, int code) {
  EXPECT_EQ(o.code, code) << o.err;
  EXPECT_EQ(o.out, "");
  EXPECT_EQ(o.err.find(verb), 0u) << o.err;
  EXPECT_TRUE(contains(o.err, "backend cuda: " + of_auto().about)) << o.err;
  EXPECT_TRUE(contains(o.err, "; expected a ")) << o.err;
  EXPECT_TRUE(
      contains(o.err, "a GPU of compute capability 7.5 or later, or the backend emu, which gives the same bits\n"))
      << o.err;
  EXPECT_EQ(o.err.find('\n'), o.err.size() - 1) << o.err;
}

TEST_F(Backend, AutoSaysWhichItTookAndWhy) {
  const BackendChoice choice = of_auto();
  const std::string line =
      "backend auto: " + choice.backend + (has_device() ? ", " : ", because ") + choice.about + "\n";
  const Outcome o = run("--backend auto --json");
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(o.err.find("softamp run: " + line), 0u) << o.err;
  EXPECT_EQ(json::parse(o.out)["backend"], choice.backend);
  EXPECT_EQ(run("--backend auto --quiet").err, "");

  const Outcome t = run_softamp("train --backend auto --set steps=1" + kTinyRun + "--log " + file("log"));
  EXPECT_EQ(t.code, 0) << t.err;
  EXPECT_EQ(t.err.find("softamp train: " + line), 0u) << t.err;
  EXPECT_EQ(lines_of(file("log"))[0]["settings"]["backend"], choice.backend) << "what was taken, not what was asked";

  const Outcome s = run_softamp("study --backend auto --grid precision=float16 --seeds 1 --set steps=1" + kTinyRun);
  EXPECT_EQ(s.code, 0) << s.err;
  EXPECT_EQ(s.err.find("softamp study: " + line), 0u) << s.err;
}

TEST_F(Backend, WhatIsTheCpusAloneTakesTheCpuOrIsRefused) {
  EXPECT_EQ(run("--backend auto --reference")
                .err.find("softamp run: backend auto: emu, because the reference runs only on the CPU\n"),
            0u);
  EXPECT_TRUE(contains(run("--backend auto --isa portable").err,
                       "backend auto: emu, because portable is an instruction set of the CPU\n"));
  EXPECT_EQ(run("--backend cuda --reference").err,
            "softamp run: --reference: computes only on the CPU; expected it with --backend emu, not cuda\n");
  EXPECT_EQ(run("--backend cuda --isa portable").err,
            "softamp run: --isa: 'portable': is an instruction set of the CPU; expected it with --backend emu, not "
            "cuda\n");
  EXPECT_EQ(run("--backend cuda --reference").code, 2);
}

TEST_F(Backend, UnknownOnesAreRefusedWithTheNearest) {
  const std::string message = "--backend: unknown backend 'cudo'; nearest: cuda; known: emu, cuda, auto\n";
  for (const char* verb : {"train", "study --grid seed=1", "selftest"}) {
    const Outcome o = run_softamp(std::string(verb) + " --backend cudo");
    EXPECT_EQ(o.code, 2);
    EXPECT_TRUE(contains(o.err, message)) << o.err;
  }
  EXPECT_EQ(run("--backend cudo").err, "softamp run: " + message);
  EXPECT_TRUE(contains(run_softamp("train --set backend=gpus").err,
                       "--set: 'backend' is 'gpus'; expected emu, cuda or auto\n"));
}

TEST_F(Backend, GpuIsAnotherSpellingOfCuda) {
  EXPECT_TRUE(contains(run_softamp("train --set backend=gpu --print-settings").out, "\"backend\": \"cuda\""));
  EXPECT_TRUE(contains(run_softamp("train --backend gpu --print-settings").out, "\"backend\": \"cuda\""));
  for (const std::string verb : {"train", "study --grid precision=float16", "selftest"}) {
    const std::string arguments =
        verb == "selftest" ? verb + " --backend " : verb + kTinyRun + "--set steps=1 --backend ";
    const Outcome gpu = run_softamp(arguments + "gpu"), cuda = run_softamp(arguments + "cuda");
    EXPECT_EQ(gpu.code, cuda.code) << verb;
    EXPECT_EQ(gpu.err.substr(0, gpu.err.find('\n')), cuda.err.substr(0, cuda.err.find('\n'))) << verb;
  }
  ExecutorOptions o;
  o.backend = "gpu";
  if (has_device())
    EXPECT_EQ(choose_backend(o).backend, "cuda");
  else
    EXPECT_THROW(choose_backend(o), std::runtime_error) << "not a name that is unknown";
}

// tests: N423
TEST_F(Backend, CudaWithoutADeviceIsOneLineWithWhatWouldWork) {
  if (has_device()) GTEST_SKIP() << "this machine has one";
  expect_no_device(run("--backend cuda --quiet"), "softamp run: ", 2);
  expect_no_device(run_softamp("train --backend cuda"), "softamp train: ", 2);
  expect_no_device(run_softamp("train --set backend=cuda"), "softamp train: ", 2);
  expect_no_device(run_softamp("study --backend cuda --grid precision=float16"), "softamp study: ", 2);
  expect_no_device(run_softamp("selftest --backend cuda"), "softamp selftest: skipped: ", 77);
  const Outcome o = run_softamp("selftest --backend cuda --json");
  EXPECT_EQ(o.code, 77);
  EXPECT_TRUE(contains(json::parse(o.out)["skipped"], of_auto().about));
  EXPECT_EQ(run_softamp("train --backend cuda --print-settings").code, 0) << "that computes nothing";
  if (json::parse(run_softamp("--version --json").out)["cuda"] == false) {
    EXPECT_TRUE(contains(o.err, "`bash tests/build.sh program -DSOFTAMP_CUDA=ON`")) << o.err;
  }
}

TEST_F(Backend, TheSelftestOfAutoSkipsOrRuns) {
  const Outcome o = run_softamp("selftest --backend auto");
  EXPECT_EQ(o.code, 0) << o.out;
  if (has_device())
    EXPECT_TRUE(contains(o.out, "15 of 15 checks passed") && contains(o.out, "pass  cuda equals emu: ")) << o.out;
  else
    EXPECT_TRUE(contains(o.out, "skip  the backend cuda equals emu\n      " + of_auto().about + "\n11 of 11 "))
        << o.out;
}

TEST_F(Backend, TracesOfTwoBackendsAreEqual) {
  EXPECT_EQ(run("--backend emu --trace " + file("emu")).code, 0);
  if (has_device()) {
    EXPECT_EQ(run("--backend cuda --trace " + file("cuda")).code, 0);
  } else {  // what a GPU's would be
    std::string trace = read_text(file("emu"));
    const std::string version = R"({"softamp_trace":1,"arithmetic":)" + std::to_string(kArithmeticVersion);
    const std::string head = version + R"(,"backend":"emu",)";
    ASSERT_EQ(trace.find(head), 0u) << trace;
    write_text(file("cuda"), version + R"(,"backend":"cuda",)" + trace.substr(head.size()));
  }
  const Outcome o = run_softamp("compare " + file("emu") + " " + file("cuda"));
  EXPECT_EQ(o.code, 0) << o.out;
  EXPECT_EQ(o.out, "3 tensors are equal, emu and cuda\n");
  EXPECT_EQ(o.err, "") << "two backends are no other settings";
}

TEST_F(Backend, ACheckpointDoesNotSayItsBackend) {
  const std::string state = file("state.npz"), settings = "train --quiet" + kTinyRun;
  ASSERT_EQ(run_softamp(settings + "--set steps=1 --backend auto --checkpoint " + state).code, 0);
  const Outcome o = run_softamp(settings + "--set steps=2 --backend emu --resume " + state + " --log " + file("log"));
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(lines_of(file("log"))[0]["settings"]["backend"], "emu");
}

}  // namespace
}  // namespace softamp::test
