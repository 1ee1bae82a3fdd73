// Operations on many paths at once, against the scalar operations element by element: all pairs of small formats,
// random pairs of large ones, every mode, variant and alignment, and every cut of the paths into calls.
#include "src/reproduce/steps/paths.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "softamp/names/names.h"
#include "softamp/numerics/operations.h"
#include "softamp/numerics/random.h"

namespace softamp::reproduce {
namespace {

constexpr uint64_t kPathSeed = 0x123456789abcdef0;
constexpr Paths::Site kSite{7, 1234567, 40};

using Codes = std::vector<uint16_t>;

struct PathOperation {
  const char* name;
  void (Paths::*paths)(std::span<const uint16_t>, std::span<const uint16_t>, std::span<uint16_t>,
                       const Paths::Site&) const;
  Rounded (*scalar)(const FloatFormat&, uint64_t, uint64_t, const Semantics&, uint32_t);
};
const PathOperation kPathOperations[] = {
    {"add", &Paths::add,
     [](const FloatFormat& f, uint64_t a, uint64_t b, const Semantics& s, uint32_t w) {
       return fp::add(f, a, b, s, w);
     }},
    {"sub", &Paths::sub,
     [](const FloatFormat& f, uint64_t a, uint64_t b, const Semantics& s, uint32_t w) {
       return fp::sub(f, a, b, s, w);
     }},
    {"mul", &Paths::mul,
     [](const FloatFormat& f, uint64_t a, uint64_t b, const Semantics& s, uint32_t w) {
       return fp::mul(f, a, b, s, w);
     }},
};

Codes by_scalars(const PathOperation& o, const FloatFormat& f, const Semantics& s, const Codes& a, const Codes& b,
                 const Paths::Site& site) {
  const RandomBits random{kPathSeed};
  Codes out(a.size());
  for (size_t i = 0; i < a.size(); ++i) {
    const int r = s.rounding(f).random_bits;
    const uint32_t word = s.draws(f) ? random.bits(site.step, site.operation, site.first_path + i, r) : 0;
    out[i] = static_cast<uint16_t>(o.scalar(f, a[i], b[i], s, word).code);
  }
  return out;
}

void expect_same(const FloatFormat& f, const Semantics& s, const Codes& a, const Codes& b, const std::string& what,
                 const Paths::Site& site = kSite) {
  const Paths paths(f, s, kPathSeed);
  for (const PathOperation& o : kPathOperations) {
    const Codes expected = by_scalars(o, f, s, a, b, site);
    Codes out(a.size());
    (paths.*o.paths)(a, b, out, site);
    for (size_t i = 0; i < a.size(); ++i)
      ASSERT_EQ(out[i], expected[i]) << format_name(f) << ' ' << o.name << ", " << what << ": " << std::hex << a[i]
                                     << ", " << b[i];
  }
}

/// Every policy that an experiment may ask for, and what other presets combine.
std::vector<std::pair<std::string, Semantics>> all_semantics() {
  std::vector<std::pair<std::string, Semantics>> all;
  for (const RoundingMode m : {RoundingMode::kNearestEven, RoundingMode::kNearestAway, RoundingMode::kTowardZero,
                               RoundingMode::kUp, RoundingMode::kDown})
    all.emplace_back(name_of(m), experiment_semantics(m));
  for (const StochasticVariant v : {StochasticVariant::kCarry, StochasticVariant::kHalf, StochasticVariant::kRne,
                                    StochasticVariant::kOdd, StochasticVariant::kAtLeast})
    for (const int r : {1, 8, 13, 16, 17, 32}) {
      RoundingPolicy p = RoundingPolicy::stochastic_carry(r);
      p.variant = v;
      all.emplace_back("variant " + std::to_string(static_cast<int>(v)) + ", " + std::to_string(r) + " bits",
                       Semantics::ieee(p));
    }
  RoundingPolicy p = RoundingPolicy::stochastic_carry(10);
  p.alignment = RandomAlignment::kAsIfNormal;
  p.overflow = Overflow::kSaturate;
  p.nan = NanPattern::kPropagate;
  all.emplace_back("as if normal, saturating, NaNs kept", Semantics::ieee(p));
  p = {};
  p.mode = RoundingMode::kDown;
  p.subnormals = Subnormals::kFlush;
  p.signed_zeros = false;
  p.overflow_rule = OverflowRule::kExact;
  all.emplace_back("down, flushed, zeros without a sign", Semantics::ieee(p));
  FloatingPointBehaviour behaviour = FloatingPointBehaviour::all_off();
  behaviour.esr = true;
  IpuSwitches switches;
  switches.half_inf_operand = InfinityOperand::kNextBinade;
  all.emplace_back("ipu, infinities as the next binade", Semantics::ipu(behaviour, switches));
  return all;
}

TEST(Paths, AllPairsOfSmallFormatsAreTheScalarOperations) {
  // Six bits: every pair under every policy.
  for (const FloatFormat& f : {FloatFormat::ieee(3, 3), FloatFormat{2, 4, 2, Specials::kNegativeZeroNan},
                               FloatFormat{3, 3, 3, Specials::kNanOnly}}) {
    Codes a, b;
    for (uint32_t x = 0; x <= f.code_mask(); ++x)
      for (uint32_t y = 0; y <= f.code_mask(); ++y) {
        a.push_back(static_cast<uint16_t>(x));
        b.push_back(static_cast<uint16_t>(y));
      }
    for (const auto& [what, s] : all_semantics()) expect_same(f, s, a, b, what);
  }
}

TEST(Paths, RandomPairsOfEveryFormatAreTheScalarOperations) {
  std::mt19937_64 generator(5);
  for (const FloatFormat& f : {kFp16, kBf16, kE4m3, kE5m2, kF143, kF152, FloatFormat::ieee(8, 2),
                               FloatFormat::ieee(2, 14), FloatFormat::ieee(6, 10)}) {
    Codes a(1500), b(1500);
    for (size_t i = 0; i < a.size(); ++i) {
      a[i] = static_cast<uint16_t>(generator() & f.code_mask());
      // Mostly within a few binades of each other, where sums are rounded; now and then opposite.
      const uint64_t near = (a[i] + (generator() % 64 << (f.precision - 2)) + generator() % 1024) & f.code_mask();
      b[i] = static_cast<uint16_t>(i % 4 == 0    ? generator() & f.code_mask()
                                   : i % 37 == 0 ? a[i] ^ f.sign_mask()
                                                 : near);
    }
    for (const auto& [what, s] : all_semantics()) expect_same(f, s, a, b, what);
  }
}

TEST(Paths, CutsOfThePathsChangeNothing) {
  std::mt19937_64 generator(6);
  for (const FloatFormat& f : {kFp16, kBf16})
    for (const int r : {13, 24}) {
      const Semantics s = experiment_semantics(RoundingMode::kStochastic, r);
      const Paths paths(f, s, kPathSeed);
      Codes a(2500), b(2500), whole(2500);
      for (size_t i = 0; i < a.size(); ++i) {
        a[i] = static_cast<uint16_t>(f.min_normal_code() * 9 + generator() % 500);
        b[i] = static_cast<uint16_t>(f.min_normal_code() * 7 + generator() % 500);
      }
      paths.add(a, b, whole, kSite);
      for (const size_t length : {1u, 2u, 7u, 8u, 11u, 63u, 64u, 65u, 511u, 513u, 1024u, 1025u, 2500u}) {
        Codes parts(2500);
        for (size_t begin = 0; begin < a.size(); begin += length) {
          const size_t n = std::min(length, a.size() - begin);
          paths.add(std::span(a).subspan(begin, n), std::span(b).subspan(begin, n), std::span(parts).subspan(begin, n),
                    {kSite.operation, kSite.step, kSite.first_path + begin});
        }
        ASSERT_EQ(parts, whole) << format_name(f) << ", parts of " << length;
      }
      Codes in_place = a;
      paths.add(in_place, b, in_place, kSite);
      EXPECT_EQ(in_place, whole);
      in_place = b;
      paths.add(a, in_place, in_place, kSite);
      EXPECT_EQ(in_place, whole);
    }
}

TEST(Paths, TheSiteNamesTheRandomWords) {
  const Semantics s = experiment_semantics(RoundingMode::kStochastic);
  const Codes a(64, 0x3c00), b(64, 0x1155);  // 1 + a value that is half a quantum or so
  Codes first(64), other(64);
  const Paths paths(kFp16, s, 1);
  paths.add(a, b, first, {3, 9, 0});
  for (const Paths::Site& site : {Paths::Site{4, 9, 0}, Paths::Site{3, 10, 0}, Paths::Site{3, 9, 8}}) {
    paths.add(a, b, other, site);
    EXPECT_NE(other, first);
  }
  Paths(kFp16, s, 2).add(a, b, other, {3, 9, 0});
  EXPECT_NE(other, first);
}

TEST(Paths, RefusesWhatItCannotDo) {
  EXPECT_THROW(Paths(kFp32, {}, 0), std::invalid_argument);
  EXPECT_THROW(Paths(kBinary64, {}, 0), std::invalid_argument);
  const Paths paths(kFp16, {}, 0);
  Codes three(3), four(4);
  EXPECT_THROW(paths.add(three, four, three, {}), std::invalid_argument);
  EXPECT_THROW(paths.mul(three, three, four, {}), std::invalid_argument);
}

}  // namespace
}  // namespace softamp::reproduce
