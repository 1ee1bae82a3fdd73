// What a minimal build has in the place of packages, against the packages.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <sstream>

#include "softamp/graph/trace.h"
#include "src/minimal/shortest_decimal.h"
#include "src/minimal/xxh3.h"
#include "tests/minimal/json_answers.h"

namespace softamp {
namespace {

std::string text_of(const minimal::Hash128& hash) {
  char text[33];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(hash.high),
                static_cast<unsigned long long>(hash.low));
  return text;
}

TEST(StandIns, HashIsXxHash) {
  std::mt19937_64 random(1);
  std::vector<unsigned char> bytes(100000);
  for (unsigned char& b : bytes) b = static_cast<unsigned char>(random());
  // Every length up to five blocks, and some far beyond; at odd places in memory.
  for (size_t n = 0; n < 5200; ++n)
    ASSERT_EQ(text_of(minimal::xxh3_128(bytes.data() + 1, n)), hash_text(bytes.data() + 1, n)) << n << " bytes";
  for (int i = 0; i < 50; ++i) {
    const size_t n = random() % (bytes.size() - 1);
    ASSERT_EQ(text_of(minimal::xxh3_128(bytes.data() + 1, n)), hash_text(bytes.data() + 1, n)) << n << " bytes";
  }
}

/// Every decimal leads back to its number; how many are another text than the library's.
template <class Codes>
int others(const FloatFormat& f, int count, Codes&& code_at) {
  int differing = 0;
  for (int i = 0; i < count; ++i) {
    const uint64_t code = code_at(i) & f.magnitude_mask();
    if (f.is_nan(code) || f.is_infinity(code) || f.is_zero(code)) continue;
    const std::string text = minimal::shortest_positive(f, code);
    EXPECT_EQ(to_code(f, parse_number(text)).code, code) << text;
    differing += text != shortest_decimal(f, code);
  }
  return differing;
}

TEST(StandIns, DecimalsLeadBack) {
  std::mt19937_64 random(2);
  const auto all = [](int i) { return static_cast<uint64_t>(i); };
  const auto any = [&](int) { return random(); };
  // A few lower edges of binades have a shorter or closer decimal on their far side (header of shortest_decimal.h).
  EXPECT_LE(others(kFp16, 0x8000, all), 1);
  EXPECT_LE(others(kBf16, 0x8000, all), 10);
  EXPECT_EQ(others(kFp32, 5000, any), 0);
  EXPECT_EQ(others(kBinary64, 5000, any), 0);
}

TEST(StandIns, JsonIsThePackages) {
  std::istringstream found(test::answers_of_the_stand_in()), expected(test::answers_of_the_package());
  int lines = 0, refused = 0;
  for (std::string a, b; std::getline(expected, b); ++lines) {
    ASSERT_TRUE(std::getline(found, a)) << "too few answers";
    ASSERT_EQ(a, b) << "line " << lines;
    refused += b.ends_with(" -> refused");
  }
  EXPECT_GT(lines, 60000);
  EXPECT_GT(refused, 500);
}

}  // namespace
}  // namespace softamp
