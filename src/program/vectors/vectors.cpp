// softamp vectors: test vectors for an operation of the unit, in the line format of the TestFloat suite.
#include "src/program/program.h"
#include "src/program/vectors/vector_cases.h"

#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <iostream>
#include <limits>
#include <memory>
#include <vector>

namespace softamp::program {
namespace {

constexpr const char* kVectorsForm =
    R"(A line holds the operands of one case, the random field where the operation rounds stochastically (R itself; with --chip
the chip's random word of 32 bits, of p3109 and exact, which are no chips, R itself), the result and the flags, in hexadecimal: what `testfloat_gen` writes, and `softamp compute
--check` judges. First come all tuples of edge operands: at level 1 zeros, the ends of the subnormal and normal numbers, 1
and its neighbours, infinities and NaNs; at level 2 every operand where that gives at most 2^17 cases, else the ends of
exponents and significands. Then cases made for the result, half and half with random ones: ties and their neighbours, the
thresholds of overflow and underflow, the last R that stays and the first that goes up.

  $ softamp vectors f16_add --count 3
  0000 0000 0000 00
  0000 0001 0001 00
  0000 0002 0002 00
  $ softamp vectors f16_add --rounding stochastic --level 2 > vectors.txt
  $ softamp compute f16_add --rounding stochastic --random-field --check < vectors.txt
  1000000 lines agree

)";
constexpr const char* kVectorsRules = R"(
Line n depends on n, the seed and the other options alone.)";

constexpr uint64_t kUsual[] = {50000, 1000000};  ///< lines at each level

struct VectorsOptions {
  ComputeOptions compute;
  int level = 1;
  uint64_t count = 0, seed = 0;
};

int run_vectors(const VectorsOptions& o, const cli::App& app) {
  const ComputePlan plan = compute_plan(o.compute, app);
  refuse_idle_random(app, plan, true, "", true);
  if (plan.behaviour.enabled_flags() != 0)
    throw UsageError("--behaviour: expected esr, nanoo or off; inv, div0 and oflo would stop at the first line");
  const VectorCases cases(plan, o.level, o.seed);
  const uint64_t count = o.count ? o.count : kUsual[o.level - 1];
  LineShape shape = plan.operation.shape;
  shape.field_bits = plan.random.bits;

  constexpr size_t kBatch = 32;  // blocks between two writes
  constexpr uint64_t kBlock = CaseBlock::kCapacity;
  std::vector<std::string> texts(kBatch);
  std::vector<std::unique_ptr<CaseBlock>> blocks(kBatch);
  for (auto& block : blocks) block = std::make_unique<CaseBlock>();
  std::cout.flush();
  for (uint64_t first = 0; first < count; first += kBatch * kBlock) {
    const uint64_t left = std::min<uint64_t>(count - first, kBatch * kBlock);
    tbb::parallel_for(size_t{0}, static_cast<size_t>((left + kBlock - 1) / kBlock), [&](size_t i) {
      const uint64_t begin = i * kBlock;
      cases.fill(first + begin, static_cast<size_t>(std::min(kBlock, left - begin)), *blocks[i]);
      texts[i].clear();
      write_cases(*blocks[i], blocks[i]->count, shape, texts[i]);
    });
    for (size_t i = 0; i * kBlock < left; ++i) write_lines(texts[i]);
  }
  return kSuccess;
}

}  // namespace

Verb add_vectors(const cli::App& program) {
  cli::App app = program.add_subcommand("vectors", "Test vectors for an operation, edges first (TestFloat's format)");
  app.footer(std::string(kVectorsForm) + kComputeOperationsHelp + kVectorsRules);
  const auto o = std::make_shared<VectorsOptions>();
  add_compute_options(app, o->compute);
  add_whole(app, "--level", o->level, 1, VectorCases::kLevels, "how dense the edges are: 1, 2 [=1]");
  add_whole(app, "--count", o->count, 1, uint64_t{1} << 40, "lines [=50000 at level 1, 1000000 at level 2]");
  add_whole(app, "--seed", o->seed, 0, std::numeric_limits<uint64_t>::max(),
            "seed of operands and random fields, 64 bits [=0]");
  return {app, [o, app] { return run_vectors(*o, app); }};
}

}  // namespace softamp::program
