// fp32 -> fp16 for all 2^32 inputs: seven presets with their flags against the table oracle, and four modes against the
// processor's own conversion where there is one (NaNs canonicalised first).
#include "softamp/numerics/convert.h"
#include "tests/exhaustive/proof.h"
#include "tests/oracle/fp16_walk.h"
#include "tests/oracle/host_unit.h"
#include "tests/oracle/machine_semantics.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace {

using namespace softamp;

/// |x| as a numerator over 2^40, in units of 2^-24. Every non-zero |x| below 2^-40 lies at the same place of the first
/// gap, and everything from 2^17 up overflows alike, so both ends are represented by one number.
oracle::Wide numerator_of(uint32_t magnitude_code) {
  const int field = static_cast<int>(magnitude_code >> 23);
  if (magnitude_code == 0) return 0;
  if (field < 127 - 40) return 1;
  if (field >= 127 + 17) return oracle::Wide{1} << (17 + 64);
  return oracle::Wide{(magnitude_code & 0x7FFFFF) | 0x800000} << (field - 150 + 64);
}

oracle::Outcome expected(const oracle::Machine& m, uint32_t x, const oracle::Place& p) {
  const bool negative = x >> 31 != 0;
  const uint32_t magnitude = x & 0x7FFFFFFF;
  if (magnitude > 0x7F800000) return m.nan_operand((magnitude & 0x400000) == 0);
  if (magnitude == 0x7F800000) return m.infinite(negative);
  if (m.ipu && magnitude < 0x00800000) return oracle::Machine::zero(negative);  // flushed on the way in
  if (magnitude == 0) return oracle::Machine::zero(negative);
  return m.finish(p, negative);
}

struct Block {  // 2^16 inputs with the same upper half
  std::vector<oracle::Place> place = std::vector<oracle::Place>(0x10000);
};

void report(proof::Tally& tally, const char* name, uint32_t x, uint32_t got, uint32_t wanted) {
  tally.mismatch(std::string("f32_to_f16 ") + name + " " + proof::hex(x, 8) + " got " + proof::hex(got & 0xFFFF, 4) +
                 " " + proof::hex(got >> 16, 2) + " expected " + proof::hex(wanted & 0xFFFF, 4) + " " +
                 proof::hex(wanted >> 16, 2));
}

template <int machine>
void compare(uint32_t upper, const Block& block, proof::Tally& tally) {
  constexpr Semantics s = semantics_of(oracle::kMachines[machine]);
  for (uint32_t low = 0; low < 0x10000; ++low) {
    const uint32_t x = upper << 16 | low;
    const Rounded r = fp::convert(kFp32, kFp16, x, s);
    const oracle::Outcome o = expected(oracle::kMachines[machine], x, block.place[low]);
    if (r.code == o.code && r.flags == o.flags) [[likely]]
      continue;
    report(tally, oracle::kMachineNames[machine], x, static_cast<uint32_t>(r.code) | uint32_t{r.flags} << 16,
           o.code | o.flags << 16);
  }
  tally.add_cases(0x10000);
}

#if defined(__x86_64__)
template <int machine, int immediate>
__attribute__((target("f16c,avx"))) void compare_with_processor(uint32_t upper, proof::Tally& tally) {
  constexpr Semantics s = semantics_of(oracle::kMachines[machine]);
  for (uint32_t low = 0; low < 0x10000; ++low) {
    const uint32_t x = upper << 16 | low;
    const __m128i h = _mm_cvtps_ph(_mm_castsi128_ps(_mm_cvtsi32_si128(static_cast<int>(x))), immediate);
    uint32_t theirs = static_cast<uint32_t>(_mm_cvtsi128_si32(h)) & 0xFFFF;
    if (oracle::is_nan(theirs)) theirs = oracle::kNan;
    const auto ours = static_cast<uint32_t>(fp::convert(kFp32, kFp16, x, s).code);
    if (ours != theirs) [[unlikely]]
      report(tally, "processor", x, ours, theirs);
  }
  tally.add_cases(0x10000);
}
void compare_with_processor(uint32_t upper, proof::Tally& tally) {
  compare_with_processor<0, _MM_FROUND_TO_NEAREST_INT>(upper, tally);
  compare_with_processor<2, _MM_FROUND_TO_ZERO>(upper, tally);
  compare_with_processor<3, _MM_FROUND_TO_POS_INF>(upper, tally);
  compare_with_processor<4, _MM_FROUND_TO_NEG_INF>(upper, tally);
}
#else
void compare_with_processor(uint32_t, proof::Tally&) {}
#endif

}  // namespace

int main(int argc, char** argv) {
  const proof::Options o = proof::parse(argc, argv, 64);
  proof::Tally tally;
  const auto shuffled = [](uint64_t i) { return static_cast<uint32_t>(i * 40503) & 0xFFFF; };
  {
    const proof::Section section("f32_to_f16, 7 presets, against the table", tally);
    proof::for_each_in_slice(o, 0x10000, [&] {
      return [&, block = Block{}](uint64_t i) mutable {
        const uint32_t upper = shuffled(i);
        const oracle::Wide first = numerator_of((upper & 0x7FFF) << 16);
        uint32_t guess = oracle::place(first, oracle::Wide{1} << 40).lower;
        for (uint32_t low = 0; low < 0x10000; ++low) {
          block.place[low] =
              oracle::place_near(guess, numerator_of((upper & 0x7FFF) << 16 | low), oracle::Wide{1} << 40);
          guess = block.place[low].lower;
        }
        compare<0>(upper, block, tally);
        compare<1>(upper, block, tally);
        compare<2>(upper, block, tally);
        compare<3>(upper, block, tally);
        compare<4>(upper, block, tally);
        compare<5>(upper, block, tally);
        compare<6>(upper, block, tally);
      };
    });
  }
  if (oracle::host::has_half_conversion()) {
    const proof::Section section("f32_to_f16, 4 modes, against F16C", tally);
    proof::for_each_in_slice(o, 0x10000,
                             [&] { return [&](uint64_t i) { compare_with_processor(shuffled(i), tally); }; });
  } else {
    std::printf("f32_to_f16 against the processor: SKIPPED, it has no F16C\n");
  }
  return proof::verdict("fp32_to_fp16", o, tally);
}
