// The integer square roots under the floating-point ones, next to perfect squares, whatever the caller's MXCSR: there
// the binary64 estimate inside may be one off, which no rounding to 24 bits is likely to show.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "softamp/numerics/integer_math.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace {

using softamp::detail::root_of_128_bits;
using softamp::detail::root_of_64_bits;
using softamp::detail::uint128_t;

/// Calls `body` under each rounding of the host, and flushing.
template <class Body>
void under_any_caller(const Body& body) {
#if defined(__x86_64__)
  const unsigned saved = _mm_getcsr();
  for (const unsigned bits : {0x0000u, 0x2000u, 0x4000u, 0x6000u, 0x8040u}) {
    _mm_setcsr(0x1F80u | bits);
    asm volatile("" : : : "memory");
    body();
    asm volatile("" : : : "memory");
    _mm_setcsr(saved);
  }
#else
  body();
#endif
}

__attribute__((noinline)) uint64_t root64(uint64_t n) {
  asm volatile("" : "+r"(n) : : "memory");
  return root_of_64_bits(n);
}
__attribute__((noinline)) uint64_t root128(uint64_t high, uint64_t low) {
  asm volatile("" : "+r"(high), "+r"(low) : : "memory");
  return root_of_128_bits(high, low);
}

TEST(Roots, Of64BitsNextToSquares) {
  std::vector<uint64_t> roots = {uint64_t{1} << 31, (uint64_t{1} << 31) + 1, (uint64_t{1} << 32) - 1,
                                 (uint64_t{1} << 32) - 2};
  std::mt19937_64 random(71);
  for (int i = 0; i < 20000; ++i) roots.push_back((uint64_t{1} << 31) | (random() >> 33));
  uint64_t wrong = 0;
  under_any_caller([&] {
    for (const uint64_t k : roots) {
      wrong += root64(k * k) != k;
      wrong += root64(k * k + 1) != k;
      wrong += root64(k * k + k) != k;
      wrong += root64(k * k + 2 * k) != k;  // (k + 1)^2 - 1
    }
  });
  EXPECT_EQ(wrong, 0u);
}

/// floor(sqrt(N)) with bit 0 set where N is no square.
TEST(Roots, Of128BitsNextToSquares) {
  std::vector<uint64_t> roots = {uint64_t{1} << 63,  (uint64_t{1} << 63) + 1, ~uint64_t{0},       ~uint64_t{0} - 1,
                                 0xFFFFFFFF00000000, 0xFFFFFFFF00000001,      0x80000000FFFFFFFF, 0xB504F333F9DE6484};
  std::mt19937_64 random(72);
  for (int i = 0; i < 20000; ++i) roots.push_back((uint64_t{1} << 63) | random() >> 1);
  for (int i = 0; i < 2000; ++i) roots.push_back((random() | uint64_t{1} << 63) & ~(~uint64_t{0} >> (i % 63 + 1)));
  uint64_t wrong = 0;
  under_any_caller([&] {
    for (const uint64_t k : roots) {
      if (k >> 63 == 0) continue;
      const uint128_t square = static_cast<uint128_t>(k) * k;
      for (const uint128_t beyond : {uint128_t{0}, uint128_t{1}, uint128_t{k}, static_cast<uint128_t>(k) * 2}) {
        const uint128_t n = square + beyond;
        wrong += root128(static_cast<uint64_t>(n >> 64), static_cast<uint64_t>(n)) != (k | (beyond != 0));
      }
    }
  });
  EXPECT_EQ(wrong, 0u);
}

}  // namespace
