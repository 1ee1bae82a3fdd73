// What the serial grid sees that the host by itself would let pass; and a device that is too small, is lost, or is to
// stop.
#include <gtest/gtest.h>

#include <array>
#include <vector>

#define cuda serial_grid  // as the library of this folder has it
#include "cuda/device.h"
#undef cuda

#include "softamp/graph/trace.h"
#include "softamp/train/training_run.h"
#include "tests/files.h"
#include "tests/serial_grid/both.h"
#include "tests/train/quiet_run.h"

namespace softamp {
namespace {

using test::BothBackends;
using test::contains;
using test::read_text;
using test::said;
using test::TemporaryFolder;

namespace grid = softamp::serial_grid;

struct Store {
  float* to;
  int64_t at;

  template <class Block>
  void operator()(Block& block) const {
    block.each([&](unsigned) { to[at] = 2; });
  }
};

/// Follows a pointer that lies in a table on the device.
struct StoreByTable {
  const Store* table;

  template <class Block>
  void operator()(Block& block) const {
    block.each([&](unsigned) { table->to[0] = 3; });
  }
};

class SerialGridDeathTest : public ::testing::Test {
 protected:
  SerialGridDeathTest() { device_.begin_operation("Test 'x'"); }
  void store(float* to) { device_.launch("store", {1, 1, 0}, Store{to, 0}); }

  static constexpr const char* kMessage = "kernel 'store' follows an address of the host's memory";
  grid::Device device_;
};

TEST_F(SerialGridDeathTest, AKernelFollowsAnAddressOfTheHost) {
  std::vector<float> heap(1 << 20);
  float on_the_stack[4];
  EXPECT_DEATH(store(heap.data()), kMessage);
  EXPECT_DEATH(store(heap.data() + 77777), kMessage);
  EXPECT_DEATH(store(on_the_stack), kMessage);
#if defined(__PIE__)
  static float fixed[4];
  std::vector<float> small(4);
  EXPECT_DEATH(store(fixed), kMessage);
  EXPECT_DEATH(store(small.data()), kMessage);
#endif
  EXPECT_DEATH(
      {
        const grid::DeviceArray<Store> table(device_, {{on_the_stack, 0}});
        device_.launch("store", {1, 1, 0}, StoreByTable{table.data()});
      },
      kMessage);
  EXPECT_DEATH(
      {
        device_.begin_recording();
        store(on_the_stack);
        device_.replay(*device_.end_recording());
      },
      kMessage);
}

TEST_F(SerialGridDeathTest, AddressesOfTheDeviceAndNullAreKept) {
  float* const memory = static_cast<float*>(device_.allocate(64));
  const std::array<float, 16> zeros{};
  device_.upload(memory, zeros.data(), 64);
  device_.launch("store", {1, 1, 0}, Store{memory + 16, -1});  // from the end
  const grid::DeviceArray<Store> table(device_, {{memory + 3, 0}, {nullptr, -1}});
  device_.launch("store", {1, 1, 0}, StoreByTable{table.data()});
  std::array<float, 16> found;
  device_.download(found.data(), memory, 64);
  std::array<Store, 2> rows;
  device_.download(rows.data(), table.data(), sizeof rows);
  device_.release(memory);
  EXPECT_EQ(found[15], 2);
  EXPECT_EQ(found[3], 3);
  EXPECT_EQ(rows[1].to, nullptr);
  EXPECT_EQ(rows[1].at, -1);
}

struct alignas(16) Four {
  uint32_t word[4];
};
struct LoadFour {
  const void* from;
  Four* to;

  template <class Block>
  void operator()(Block& block) const {
    block.each([&](unsigned) { *to = *static_cast<const Four*>(from); });
  }
};
struct Shift {
  uint32_t* to;
  unsigned by;

  template <class Block>
  void operator()(Block& block) const {
    block.each([&](unsigned) { *to = 1u << by; });
  }
};

TEST_F(SerialGridDeathTest, AVectorLoadOffItsAlignmentAndAShiftByTheWidth) {
  std::byte* const memory = static_cast<std::byte*>(device_.allocate(64));
  const auto load = [&](size_t from) {
    device_.launch("load", {1, 1, 0}, LoadFour{memory + from, reinterpret_cast<Four*>(memory)});
  };
  const auto shift = [&](unsigned by) {
    device_.launch("shift", {1, 1, 0}, Shift{reinterpret_cast<uint32_t*>(memory), by});
  };
  load(16);
  shift(31);
  EXPECT_DEATH(load(8), "");
  EXPECT_DEATH(load(20), "");
  EXPECT_DEATH(shift(32), "");
  device_.release(memory);
}

TEST(SerialGridDevice, CopiesOfNothingDoNothing) {
  grid::Device device;
  device.upload(nullptr, nullptr, 0);
  device.download(nullptr, nullptr, 0);
  device.copy(nullptr, nullptr, 0);
  device.fill(nullptr, 1, 0);
  std::array<char, 2> here{};
  void* const memory = device.allocate(1);
  EXPECT_THROW(device.upload(memory, here.data(), 2), grid::DeviceError);
  EXPECT_THROW(device.download(here.data(), memory, 2), grid::DeviceError);
  EXPECT_THROW(device.upload(here.data(), here.data(), 1), grid::DeviceError);
  device.release(memory);
}

/// The machine as it was, at the end.
class BadMachine : public BothBackends {
 protected:
  ~BadMachine() override { grid::machine() = {}; }
};

Tensor numbers(int64_t count, double first) {
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(first + 0.01 * static_cast<double>(i));
  return Tensor::from_values(DType::kFloat16, {count}, values);
}

/// y = x + v in `length` additions, each rounded stochastically; v becomes y.
Graph chain(int length, int64_t elements) {
  GraphBuilder b;
  Port sum = b.placeholder("x", DType::kFloat16, {elements});
  const Port v = b.add("VariableV2", {}, {{"dtype", DType::kFloat16}, {"shape", Shape{elements}}}, "v");
  for (int i = 0; i < length; ++i) sum = b.add("AddV2", {sum, v}, {}, "sum" + std::to_string(i));
  b.add("Assign", {sum}, {{"ref", std::string("v")}}, "keep");
  b.add("Identity", {sum}, {}, "y");
  return b.build();
}

ExecutorOptions options_for(const std::string& backend) {
  ExecutorOptions o;
  o.backend = backend;
  o.seed = 4;
  o.status = true;
  o.config.set("floating_point_behaviour.esr", true);
  return o;
}

std::string step_of(Executor& e, const Tensor& x) {
  const std::vector<Feed> feeds = {{"x", &x}};
  const std::vector<std::string> fetches = {"y"};
  const RunResult r = e.run(feeds, fetches);
  std::string text = hash_text(r.values[0].data(), r.values[0].bytes());
  for (const OperationStatus& o : r.operations)
    text += " " + o.name + ":" + std::to_string(o.status.lowest_index(0xFF));
  return text;
}

TEST_F(BadMachine, AGraphThatNeedsMoreMemoryThanIsFreeSaysBoth) {
  constexpr int64_t kElements = 3 << 20;  // 6 MiB a tensor
  const auto e = make_executor(chain(3, kElements), options_for("cuda"));
  const Tensor x(TensorType{DType::kFloat16, {kElements}});
  grid::machine().memory = 16 << 20;  // of which the variable has 6
  const std::string first = said([&](const std::string&) { return step_of(*e, x); }, "");
  // x, y, and one sum, which becomes the next one in its place.
  EXPECT_EQ(first,
            "error: backend cuda: the graph needs 18 MiB on the host, serially, 10 of 16 MiB are free; expected a "
            "smaller batch or graph, or the backend emu, which gives the same bits");
  grid::machine().memory = (24 << 20) - 1;
  EXPECT_TRUE(contains(said([&](const std::string&) { return step_of(*e, x); }, ""), "needs 18 MiB"));
  grid::machine().memory = 25 << 20;  // flags and the step's number take little
  const auto emu = make_executor(chain(3, kElements), options_for("emu"));
  EXPECT_EQ(step_of(*e, x), step_of(*emu, x)) << "after it, with enough";
}

TEST_F(BadMachine, ALostDeviceIsOneLineAndTheStepIsNotCounted) {
  const Tensor x = numbers(70, 0.1);
  for (const int64_t at : {0, 2, 4, 7, 11}) {  // in steps 0 to 3: run, recorded, replayed
    const auto e = make_executor(chain(3, 70), options_for("cuda"));
    grid::machine().launches_until_lost = at;
    uint32_t done = 0;
    std::string text;
    for (int step = 0; step < 5 && text.find("error: ") != 0; ++step) {
      done = e->step();
      text = said([&](const std::string&) { return step_of(*e, x); }, "");
    }
    EXPECT_EQ(text.find("error: backend cuda: kernel "), 0u) << at << ": " << text;
    EXPECT_TRUE(contains(text, "of AddV2 'sum")) << text;
    EXPECT_TRUE(contains(text, "(cudaErrorECCUncorrectable); expected a device whose memory")) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos);
    EXPECT_EQ(e->step(), done);
    EXPECT_EQ(done, static_cast<uint32_t>(at / 3));
    const std::string again = said([&](const std::string&) { return step_of(*e, x); }, "");
    EXPECT_EQ(again.find("error: backend cuda: kernel "), 0u) << "the device stays lost: " << again;
  }
}

// Log and checkpoint end at the last step that was whole, and the run goes on elsewhere.
TEST_F(BadMachine, ATrainingRunThatLosesItsDeviceGoesOnElsewhere) {
  const std::string small = R"({"train_images": 12, "batch_size": 2, "epochs": 1, "precision": "mixed"})";
  const auto with = [&](const std::string& backend) {
    return test::settings_over(nlohmann::ordered_json::parse(small),
                               R"({"network": "small_cnn", "generated": true, "test_images": 2, "seed": 5,
                                   "evaluate": false, "backend": ")" +
                                   backend + "\"}");
  };
  const TemporaryFolder folder;
  const std::string whole_log = folder.file("whole"), log = folder.file("log"), file = folder.file("state.npz");
  const RunSummary whole = test::quiet_run(with("emu"), {.log = whole_log, .checkpoint = {}, .on_step = {}});
  RunOutput output{.log = log, .checkpoint = file, .on_step = {}};
  int steps = 0;
  output.on_step = [&steps](const StepResult&) {
    if (++steps == 3) grid::machine().launches_until_lost = 5;
  };
  const std::string text = said(
      [&](const std::string&) {
        test::quiet_run(with("cuda"), output);
        return std::string("no error");
      },
      "");
  EXPECT_EQ(text.find("error: "), 0u) << text;
  EXPECT_TRUE(contains(text, "cudaErrorECCUncorrectable")) << text;
  EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  EXPECT_EQ(steps, 3);
  grid::machine() = {};
  output.resume = file;
  steps = 0;
  output.on_step = [&steps](const StepResult&) { ++steps; };
  const RunSummary rest = test::quiet_run(with("emu"), output);
  EXPECT_EQ(steps, 3) << "of 6: the first three are in the checkpoint";
  EXPECT_EQ(rest.weight_hashes, whole.weight_hashes);
  EXPECT_EQ(read_text(log), read_text(whole_log));
}

// In every kind of step: run, recorded, replayed. The executor goes on with the bits of one that was never stopped.
// tests: N306
TEST_F(BadMachine, AStopEndsAStepBetweenItsOperations) {
  constexpr int kLength = 100;  // several stretches
  const Tensor x = numbers(70, 0.1);
  const auto emu = make_executor(chain(kLength, 70), options_for("emu"));
  int questions = 0, stop_at = -1;
  ExecutorOptions o = options_for("cuda");
  o.stop = [&] { return questions++ == stop_at; };
  const auto e = make_executor(chain(kLength, 70), o);
  for (int step = 0; step < 4; ++step) {
    questions = 0;
    const std::string expected = step_of(*emu, x);
    for (stop_at = 0; stop_at < 3; ++stop_at) {
      questions = 0;
      const std::string text = said([&](const std::string&) { return step_of(*e, x); }, "");
      EXPECT_EQ(text, "error: the run was stopped before the operation 'sum" + std::to_string(32 * stop_at) + "'");
      EXPECT_EQ(questions, stop_at + 1) << "nothing runs after it";
      EXPECT_EQ(e->step(), static_cast<uint32_t>(step));
    }
    stop_at = -1;
    EXPECT_EQ(step_of(*e, x), expected) << step;
    EXPECT_EQ(contains(expected, " sum90:"), step == 3) << expected;  // values overflow in several stretches
  }
}

}  // namespace
}  // namespace softamp
