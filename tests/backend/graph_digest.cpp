// The digest of a suite of graphs: one line per setting, the same from every compiler, instruction set, number of
// threads and backend. graph_digest.expected pins it.
//
//   graph_digest [ISA [THREADS]]      ISA (auto, portable, avx2, avx512, avx512fp16, reference) [=auto], THREADS [=0:
//   all]
#include <cstdio>
#include <cstdlib>
#include <string>

#include "softamp/graph/trace.h"
#include "tests/graph/random_graph.h"

namespace {

using namespace softamp;

constexpr uint64_t kGraphs = 24;

ExecutorOptions options_of(int argc, char** argv) {
  ExecutorOptions o;
  const std::string isa = argc > 1 ? argv[1] : "auto";
  o.reference = isa == "reference";
  for (const auto set : {bulk::InstructionSet::kPortable, bulk::InstructionSet::kAvx2, bulk::InstructionSet::kAvx512,
                         bulk::InstructionSet::kAvx512Fp16})
    if (isa == bulk::name(set)) o.isa = set;
  o.threads = argc > 2 ? std::atoi(argv[2]) : 0;
  o.seed = 20;
  return o;
}

void digest(const char* title, const ExecutorOptions& options) {
  std::string hashes;
  for (uint64_t seed = 0; seed < kGraphs; ++seed) {
    testing::RandomGraphMaker maker(seed);
    maker.specials_ = seed % 2 == 1;
    const testing::RandomGraph g = maker.make(30);
    const auto executor = make_executor(g.graph, options);
    for (int step = 0; step < 2; ++step) {
      const RunResult result = executor->run(g.feed_list(), g.fetches);
      for (const Tensor& t : result.values) hashes += hash_text(t.data(), t.bytes());
    }
  }
  std::printf("%-32s %s\n", title, hash_text(hashes.data(), hashes.size()).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  ExecutorOptions o = options_of(argc, argv);
  std::printf("spec version %d\n", kSpecVersion);
  digest("nearest, float partials", o);
  o.config.matmuls.poplar_options = o.config.convolutions.poplar_options = {{"partialsType", "half"}};
  digest("nearest, half partials", o);
  o.config.floating_point_behaviour.esr = StochasticRoundingBehaviour::kOn;
  digest("stochastic, half partials", o);
  o.amp_block = 1;
  o.config.floating_point_behaviour.nanoo = true;
  digest("stochastic, nanoo, block 1", o);
  o.semantics = Semantics::ieee();
  digest("ieee, block 1", o);
}
