// What a training run needs at least, from both sides of what there is.
#include "src/train/run/run_memory.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/refusal.h"
#include "tests/train/quiet_run.h"

namespace softamp::train_detail {
namespace {

TEST(RunMemory, ReplicasAreAddedUp) {
  const Trainer::Memory one{1000, 200, 30};
  EXPECT_EQ(needed_memory(one, 1), 1230u);
  EXPECT_EQ(needed_memory(one, 4), 4920u);
  EXPECT_EQ(lacking_memory(one, 4, {4920, "ulimit -v"}), "");
  EXPECT_EQ(lacking_memory(one, 4, {4919, "ulimit -v"}),
            "settings: 'replicas' 4 x (parameters 1000 + optimizer state 200 + activations 30) is 4920 bytes, and this "
            "process gets at most 4919 bytes (ulimit -v); expected a smaller 'batch_size', or fewer replicas");
  EXPECT_EQ(lacking_memory(one, 256, {}), "") << "no limit is known";
}

TEST(RunMemory, IsToldBeforeTheFirstStep) {
  uint64_t of_one = 0, of_three = 0;
  std::vector<std::string> order;
  RunOutput output;
  output.on_memory = [&](uint64_t bytes) {
    of_one = bytes;
    order.push_back("memory");
  };
  output.on_inputs = [&](const RunInputs&) { order.push_back("inputs"); };
  output.on_step = [&](const StepResult&) { order.push_back("step"); };
  const RunSummary one = test::quiet_run(test::small_run(R"({"steps": 1})"), output);
  EXPECT_EQ(order, (std::vector<std::string>{"memory", "inputs", "step"}));
  EXPECT_EQ(of_one, static_cast<uint64_t>(one.memory.parameters + one.memory.slots + one.memory.activations));
  output.on_memory = [&](uint64_t bytes) { of_three = bytes; };
  test::quiet_run(test::small_run(R"({"steps": 1, "replicas": 3})"), output);
  EXPECT_EQ(of_three, 3 * of_one);
}

}  // namespace
}  // namespace softamp::train_detail
