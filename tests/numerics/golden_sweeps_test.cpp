// Published and golden digests of long sweeps: N343, N345 and N346.
#include <gtest/gtest.h>

#include <vector>

#include "softamp/numerics/convert.h"
#include "src/files/sha256.h"
#include "src/program/selftest/known_carries.h"
#include "tests/pinned_digests.h"
#include "tests/slice.h"

namespace {

using namespace softamp;

/// fp32 -> `to`, carry with r random bits; NaN is the positive all-ones pattern, as these vectors have it.
constexpr RoundingPolicy vector_policy(int r, Overflow overflow, InfinityResult infinity) {
  RoundingPolicy p = r > 0 ? RoundingPolicy::stochastic_carry(r) : RoundingPolicy::ieee();
  p.overflow = overflow;
  p.infinity = infinity;
  p.nan = NanPattern::kAllOnes;
  return p;
}

/// N345: every 97th fp32 pattern, R from a multiplicative hash; results as little-endian 16-bit codes.
template <int r, Overflow overflow, InfinityResult infinity>
std::string sweep_digest() {
  constexpr Semantics s = Semantics::ieee(vector_policy(r, overflow, infinity));
  softamp::Sha256 sha;
  std::vector<unsigned char> buffer;
  uint64_t count = 0;
  for (uint64_t u = 0; u < uint64_t{1} << 32; u += 97, ++count) {
    const uint32_t random = static_cast<uint32_t>(u) * 2654435761u >> 3 & 0x1FFF;
    const uint64_t code = fp::convert(kFp32, kFp16, u, s, random).code;
    buffer.push_back(static_cast<unsigned char>(code));
    buffer.push_back(static_cast<unsigned char>(code >> 8));
    if (buffer.size() >= 1 << 16) {
      sha.add(buffer.data(), buffer.size());
      buffer.clear();
    }
  }
  sha.add(buffer.data(), buffer.size());
  EXPECT_EQ(count, 44278014u);
  return sha.hex();
}

/// Whether this run makes the sweep of this number, of six.
bool takes(int sweep) {
  softamp::test::Slice slice(6);
  return slice.is(static_cast<uint64_t>(sweep));
}

std::string pinned_sweep(const char* sweep) { return softamp::test::pinned_digests("sweeps")[sweep]; }

// tests: N345
TEST(GoldenSweeps, SweepToNearestEven) {
  if (!takes(0)) GTEST_SKIP() << "in another slice";
  EXPECT_EQ((sweep_digest<0, Overflow::kInfinity, InfinityResult::kKeep>()), pinned_sweep("nearest even"));
}
// tests: N345
TEST(GoldenSweeps, SweepToInfinity) {
  if (!takes(1)) GTEST_SKIP() << "in another slice";
  EXPECT_EQ((sweep_digest<13, Overflow::kInfinity, InfinityResult::kKeep>()), pinned_sweep("stochastic, to infinity"));
}
// tests: N345
TEST(GoldenSweeps, SweepToNan) {
  if (!takes(2)) GTEST_SKIP() << "in another slice";
  EXPECT_EQ((sweep_digest<13, Overflow::kNan, InfinityResult::kKeep>()), pinned_sweep("stochastic, to NaN"));
}
// tests: N345
TEST(GoldenSweeps, SweepSaturating) {
  if (!takes(3)) GTEST_SKIP() << "in another slice";
  EXPECT_EQ((sweep_digest<13, Overflow::kSaturate, InfinityResult::kSaturate>()),
            pinned_sweep("stochastic, saturating"));
}

/// N346: x, R and the codes under overflow to infinity, NaN and saturation.
// tests: N346
TEST(GoldenSweeps, SingleCarries) {
  for (const program::KnownCarry& l : program::kKnownCarries) {
    const auto code = [&](Overflow o) {
      return fp::convert(kFp32, kFp16, l.x, Semantics::ieee(vector_policy(13, o, InfinityResult::kKeep)), l.random)
          .code;
    };
    EXPECT_EQ(code(Overflow::kInfinity), l.infinity) << std::hex << l.x << " " << l.random;
    EXPECT_EQ(code(Overflow::kNan), l.nan) << std::hex << l.x << " " << l.random;
    EXPECT_EQ(code(Overflow::kSaturate), l.saturated) << std::hex << l.x << " " << l.random;
  }
}

/// N343: digests that a third party published of the conversion instruction of a GPU, one fixed random word.
template <bool bf16>
std::string device_digest() {
  constexpr FloatFormat to = bf16 ? kBf16 : kFp16;
  constexpr Semantics s =
      Semantics::ieee(vector_policy(bf16 ? 16 : 13, Overflow::kSaturate, InfinityResult::kSaturate));
  const uint64_t low = fp::convert(kFp32, to, 0xDEADBEEF, s, 0x1FFF).code;
  softamp::Sha256 sha;
  std::vector<unsigned char> buffer;
  for (uint64_t a = 0x33000000; a <= 0x34800000; ++a) {
    const uint64_t d = fp::convert(kFp32, to, a, s, 0x1FFF).code << 16 | low;
    for (int byte = 0; byte < 4; ++byte) buffer.push_back(static_cast<unsigned char>(d >> 8 * byte));
    if (buffer.size() >= 1 << 16) {
      sha.add(buffer.data(), buffer.size());
      buffer.clear();
    }
  }
  sha.add(buffer.data(), buffer.size());
  return sha.hex();
}

// tests: N343
TEST(GoldenSweeps, DumpToFp16) {
  if (!takes(4)) GTEST_SKIP() << "in another slice";
  EXPECT_EQ(device_digest<false>(), "225d47353206381d2b38c2dfabd1f51538b0473f193866e09a16ad13464fba44");
}
// tests: N343
TEST(GoldenSweeps, DumpToBf16) {
  if (!takes(5)) GTEST_SKIP() << "in another slice";
  EXPECT_EQ(device_digest<true>(), "93c6e6c45b3333ed85c0e69648ccaeae80e28000c5706485fcf0279f89506126");
}

}  // namespace
