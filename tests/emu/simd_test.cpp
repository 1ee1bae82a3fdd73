// The vectors of emu/simd.h in this file's own set: the baseline's, or NEON's where tests/cross compiles it so.
#include "emu/simd.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace softamp::emu {
namespace {

template <class V, class Word>
void check_shifts(const std::vector<Word>& numbers) {
  constexpr Word kBits = 8 * sizeof(Word);
  std::vector<Word> counts;
  for (Word n = 0; n < 600; ++n) counts.push_back(n);  // an instruction may look at the lowest byte of a count alone
  for (Word n = 1; n < 600; ++n) counts.push_back(0 - n);
  for (const Word x : numbers)
    for (size_t i = 0; i < counts.size(); ++i) {
      V n = {};  // another count in each lane
      constexpr size_t kLanes = sizeof(V) / sizeof(Word);
      for (size_t lane = 0; lane < kLanes; ++lane) n[lane] = counts[(i + lane * 7) % counts.size()];
      const V left = shl(splat<V>(x), n), right = shr(splat<V>(x), n);
      for (size_t lane = 0; lane < kLanes; ++lane) {
        ASSERT_EQ(left[lane], n[lane] < kBits ? x << n[lane] : 0) << x << " << " << n[lane];
        ASSERT_EQ(right[lane], n[lane] < kBits ? x >> n[lane] : 0) << x << " >> " << n[lane];
      }
    }
}

TEST(Simd, ShiftsByAnyCount) {
  check_shifts<U32, uint32_t>({1, 0x80000000, 0xDEADBEEF, 0xFFFFFFFF});
  check_shifts<U64, uint64_t>({1, uint64_t{1} << 63, 0xDEADBEEF01234567, ~uint64_t{0}});
}

}  // namespace
}  // namespace softamp::emu
