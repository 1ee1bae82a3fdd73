// TUTORIAL G21: that first program compiled, and its sum fed back ten thousand times in twenty lanes. The sums are
// those of sums/running_sum.h, bit for bit: an element of a graph reads the same random bits as a replica whose
// additions are rounded at the same site (N72).
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "softamp/graph/graph_json.h"
#include "softamp/numbers/number_text.h"
#include "softamp/sums/running_sum.h"
#include "tests/graph/executor_check.h"

namespace softamp::test {
namespace {

constexpr uint64_t kAdditions = 10000, kLanes = 20, kSeed = 7;

const Graph& adder() {
  static const Graph graph = load_graph(SOFTAMP_SOURCE_DIR "/examples/graphs/add_two_numbers.json").graph;
  return graph;
}

std::vector<uint64_t> by_graph(ExecutorOptions options) {
  options.seed = kSeed;
  const auto executor = make_executor(adder(), options);
  Tensor sum = Tensor(DType::kFloat16, Shape{int64_t{kLanes}});
  for (uint64_t step = 0; step < kAdditions; ++step)
    sum = std::move(run(*executor, {{"sum", &sum}}, {"next"}).values[0]);
  const auto* const codes = static_cast<const uint16_t*>(sum.data());
  return {codes, codes + kLanes};
}

std::vector<uint64_t> by_running_sum(const Semantics& semantics) {
  RunningSumSetup setup;
  setup.semantics = semantics;
  setup.addend = fp::convert(kBinary64, kFp16, std::bit_cast<uint64_t>(0.0001), Semantics::ieee()).code;
  setup.count = kAdditions;
  setup.replicas = kLanes;
  setup.seed = kSeed;
  setup.operation = adder().node(adder().find("next")).operation_id;
  return running_sum(setup).codes;
}

// tests: G13, G21, N72
TEST(FedBack, G21StochasticSumsAreThoseOfRunningSum) {
  // TUTORIAL G13: twenty of them
  FloatingPointBehaviour behaviour = FloatingPointBehaviour::all_off();
  behaviour.esr = true;
  const std::vector<uint64_t> sums = by_graph(stochastic());
  EXPECT_EQ(sums, by_running_sum(Semantics::ipu(behaviour)));
  double mean = 0;
  for (const uint64_t code : sums) mean += value_of(kFp16, code) / kLanes;
  EXPECT_NEAR(mean, 1.0001659393310547, 6 * 0.0167 / std::sqrt(20.0)) << "six deviations of such a mean";
}

// tests: G21
TEST(FedBack, G21NearestSumsStopAtAQuarter) {
  const std::vector<uint64_t> sums = by_graph({});
  EXPECT_EQ(sums, std::vector<uint64_t>(kLanes, 0x3400));
  EXPECT_EQ(sums, by_running_sum(Semantics::ipu(FloatingPointBehaviour::all_off())));
}

}  // namespace
}  // namespace softamp::test
