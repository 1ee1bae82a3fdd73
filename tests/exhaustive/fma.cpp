// fp16 fused multiply-add under seven presets, values and flags: 4 10^8 cases, random and built to be rounded wrongly
// by anything that rounds twice, against 128-bit integers; every 250th also against Boost.Multiprecision.
#include "softamp/numerics/arithmetic.h"
#include "tests/exhaustive/proof.h"
#include "tests/oracle/exact_operations.h"
#include "tests/oracle/fma_cases.h"
#include "tests/oracle/fp16_walk.h"
#include "tests/oracle/machine_semantics.h"

namespace {

using namespace softamp;

constexpr uint64_t kCasesPerBlock = 100000, kBlocks = 4000;

/// Cases in which a first rounding to a wider format would have changed the result.
struct Hits {
  std::atomic<uint64_t> by_binary32 = 0, by_binary64 = 0, judged_by_cpp_int = 0;
};

void compare(const oracle::Triple& t, int machine, const Rounded& got, uint64_t code, uint32_t flags, const char* judge,
             proof::Tally& tally) {
  if (got.code == code && got.flags == flags) [[likely]]
    return;
  tally.mismatch(std::string("f16_mulAdd ") + oracle::kMachineNames[machine] + " " + proof::hex(t.a, 4) + " " +
                 proof::hex(t.b, 4) + " " + proof::hex(t.c, 4) + " got " + proof::hex(got.code, 4) + " " +
                 proof::hex(got.flags, 2) + " expected " + proof::hex(code, 4) + " " + proof::hex(flags, 2) + " by " +
                 judge);
}

void prove_block(uint64_t block, const Semantics* semantics, Hits& hits, proof::Tally& tally) {
  uint64_t by_binary32 = 0, by_binary64 = 0, judged = 0;
  for (uint64_t i = 0; i < kCasesPerBlock; ++i) {
    const oracle::Triple t = oracle::fma_case(block * kCasesPerBlock + i);
    const bool finite = oracle::is_finite(t.a) && oracle::is_finite(t.b) && oracle::is_finite(t.c);
    const oracle::SignedWide sum = finite ? oracle::fma_value(t.a, t.b, t.c) : 0;
    const oracle::Place place = oracle::place_fma(sum);  // serves all presets
    for (int m = 0; m < oracle::kMachineCount; ++m) {
      const Rounded got = fp::fma(kFp16, t.a, t.b, t.c, semantics[m]);
      const oracle::Outcome o = sum != 0 ? oracle::kMachines[m].finish(place, sum < 0)
                                         : *oracle::special_fma(t.a, t.b, t.c, oracle::kMachines[m]);
      compare(t, m, got, o.code, o.flags, "128-bit integers", tally);
      if (oracle::is_constructed(block * kCasesPerBlock + i)) {
        if (m == 0) by_binary32 += oracle::rounded_twice<float>(t, RoundingMode::kNearestEven) != o.code;
        if (m == 3) by_binary64 += oracle::rounded_twice<double>(t, RoundingMode::kUp) != o.code;
      }
      if (i % 1000 < 4 && m == static_cast<int>(i / 1000 % oracle::kMachineCount)) {
        const Rounded r = oracle::exact::fma(kFp16, t.a, t.b, t.c, semantics[m]);
        compare(t, m, got, r.code, r.flags, "cpp_int", tally);
        ++judged;
      }
    }
  }
  tally.add_cases(kCasesPerBlock);
  hits.by_binary32 += by_binary32;
  hits.by_binary64 += by_binary64;
  hits.judged_by_cpp_int += judged;
}

}  // namespace

int main(int argc, char** argv) {
  const proof::Options o = proof::parse(argc, argv, 50);
  proof::Tally tally;
  Hits hits;
  Semantics semantics[oracle::kMachineCount];
  for (int m = 0; m < oracle::kMachineCount; ++m) semantics[m] = semantics_of(oracle::kMachines[m]);
  {
    const proof::Section section("f16_mulAdd, triples, each under 7 presets", tally);
    proof::for_each_in_slice(o, kBlocks,
                             [&] { return [&](uint64_t block) { prove_block(block, semantics, hits, tally); }; });
  }
  const auto show = [](const std::atomic<uint64_t>& n) { return static_cast<unsigned long long>(n); };
  std::printf(
      "rounding twice would be wrong, by way of binary32: %llu, of binary64: %llu; also judged by cpp_int: %llu\n",
      show(hits.by_binary32), show(hits.by_binary64), show(hits.judged_by_cpp_int));
  if (hits.by_binary32 == 0 || hits.by_binary64 == 0) {
    std::printf("fma: the constructed cases missed their aim\n");
    return 1;
  }
  return proof::verdict("fma", o, tally);
}
