// fp32 square roots of every significand in two neighbouring binades (all others are those times a power of four), four
// modes with their flags, against the processor; ours is run while MXCSR rounds to nearest, up and down, for the
// binary64 estimate inside must not show. Where the processor has no SSE the proof has no judge and says so.
#include "softamp/numerics/arithmetic.h"
#include "tests/exhaustive/proof.h"
#include "tests/oracle/host_unit.h"

namespace {

using namespace softamp;

constexpr uint32_t kBlock = 1 << 12, kFirst = 0x3F800000;  // 1.0; 2^24 codes reach up to 4.0
constexpr RoundingMode kModes[] = {RoundingMode::kNearestEven, RoundingMode::kTowardZero, RoundingMode::kUp,
                                   RoundingMode::kDown};

/// Not inlined, so that nothing of it moves out from between the writes of MXCSR.
template <RoundingMode mode>
__attribute__((noinline)) void ours(uint32_t first, std::vector<Rounded>& out) {
  constexpr Semantics s = Semantics::ieee(RoundingPolicy::ieee(mode));
  for (uint32_t i = 0; i < kBlock; ++i) out[i] = fp::sqrt(kFp32, first + i, s);
}

#if defined(__x86_64__)
template <RoundingMode mode>
void prove_block(uint32_t first, std::vector<Rounded>& out, proof::Tally& tally) {
  for (const RoundingMode caller : {RoundingMode::kNearestEven, RoundingMode::kUp, RoundingMode::kDown}) {
    const unsigned saved = _mm_getcsr();
    _mm_setcsr(oracle::host::control(caller));
    ours<mode>(first, out);
    _mm_setcsr(saved);
    for (uint32_t i = 0; i < kBlock; ++i) {
      const oracle::host::Result theirs = oracle::host::sqrt(first + i, mode);
      if (out[i].code == theirs.code && out[i].flags == theirs.flags) [[likely]]
        continue;
      tally.mismatch("f32_sqrt mode " + std::to_string(static_cast<int>(mode)) + " under MXCSR mode " +
                     std::to_string(static_cast<int>(caller)) + " " + proof::hex(first + i, 8) + " got " +
                     proof::hex(out[i].code, 8) + " " + proof::hex(out[i].flags, 2) + " processor " +
                     proof::hex(theirs.code, 8) + " " + proof::hex(theirs.flags, 2));
    }
    tally.add_cases(kBlock);
  }
}
#else
template <RoundingMode mode>
void prove_block(uint32_t, std::vector<Rounded>&, proof::Tally&) {}
#endif

}  // namespace

int main(int argc, char** argv) {
  const proof::Options o = proof::parse(argc, argv, 8);
  if (!oracle::host::available()) {
    std::printf("fp32_roots: SKIPPED, there is no SSE to judge by\n");
    return 0;
  }
  proof::Tally tally;
  {
    const proof::Section section("f32_sqrt, 2 binades, 4 modes, 3 callers", tally);
    proof::for_each_in_slice(o, (uint32_t{1} << 24) / kBlock, [&] {
      return [&, out = std::vector<Rounded>(kBlock)](uint64_t block) mutable {
        const uint32_t first = kFirst + static_cast<uint32_t>(block) * kBlock;
        prove_block<kModes[0]>(first, out, tally);
        prove_block<kModes[1]>(first, out, tally);
        prove_block<kModes[2]>(first, out, tally);
        prove_block<kModes[3]>(first, out, tally);
      };
    });
  }
  return proof::verdict("fp32_roots", o, tally);
}
