// Bulk rounding and widening equal the scalar reference: every instruction set, format, mode, variant and policy.
#include <cmath>
#include <cstring>

#include "tests/emu/bulk_check.h"

namespace softamp::test {
namespace {

/// One kind of output by one instruction set, with status and without; `what` and `input` say it of an element.
template <class In, class Out>
void check_output(const Expected& expected, const std::vector<In>& in, const FloatFormat& to, const Semantics& s,
                  BulkOptions o, const auto& what, const auto& input) {
  FpStatus status;
  for (const bool with_status : {false, true}) {
    std::vector<Out> out(in.size());
    o.status = with_status ? &status : nullptr;
    if constexpr (std::is_same_v<Out, float>)
      bulk::round_values(in, to, out, s, o);
    else
      bulk::round(in, to, std::span<Out>(out), s, o);
    expect_equal(expected.codes, out.data(), what, "input", input);
  }
  EXPECT_EQ(show(expected.status), show(status)) << what();
}

/// Rounds to outputs of these types, those that hold the format's codes, by every instruction set.
template <class... Outs, class In>
void check_round(const std::vector<In>& in, const FloatFormat& to, const Semantics& s, BulkOptions o) {
  using Word = std::conditional_t<sizeof(In) == 4, uint32_t, uint64_t>;
  const RoundingPolicy& p = s.rounding(to);
  const FloatFormat from = sizeof(In) == 4 ? kFp32 : kBinary64;
  const auto bits = [&](size_t i) { return uint64_t{std::bit_cast<Word>(in[i])}; };
  const auto input = [&](size_t i) { return hex(bits(i)) + " word " + hex(word_of(o, i, p)); };
  const Expected expected =
      reference(in.size(), p, o, [&](size_t i, uint32_t word) { return fp::convert(from, to, bits(i), s, word); });
  const auto check = [&]<class Out>(Out) {
    constexpr bool kValues = std::is_same_v<Out, float>;
    if (!kValues && to.storage_bits() > static_cast<int>(8 * sizeof(Out))) return;
    Expected of_type = expected;
    if (kValues)
      for (uint64_t& code : of_type.codes) code = std::bit_cast<uint32_t>(fp::to_float(to, code));
    for (const InstructionSet set : usable_sets()) {
      o.isa = set;
      const auto what = [&] {
        return std::string(bulk::name(set)) + " " + describe(to) + " " + describe(p) + " from " +
               std::to_string(8 * sizeof(In)) + " to " + std::to_string(8 * sizeof(Out)) + " bits";
      };
      check_output<In, Out>(of_type, in, to, s, o, what, input);
    }
  };
  (check(Outs{}), ...);
}

const FloatFormat kFormats[] = {kFp16,
                                kBf16,
                                kTf32,
                                kE4m3,
                                kE5m2,
                                kF143,
                                kF152,
                                kE2m1,
                                kE2m3,
                                kE3m2,
                                kFp32,
                                FloatFormat::ieee(2, 2),
                                FloatFormat::ieee(8, 2),
                                FloatFormat::ieee(3, 24),
                                FloatFormat::ieee(6, 9),
                                FloatFormat::ieee(4, 12),
                                {5, 4, 3, Specials::kNanOnly},
                                {8, 6, 140, Specials::kIeee},
                                {8, 8, 127, Specials::kNanOnly},
                                {8, 7, 127, Specials::kNone},
                                {8, 20, 128, Specials::kNegativeZeroNan},
                                {4, 5, -20, Specials::kIeee}};
/// Codes of every width that holds the format, and values.
void check_all_outputs(const std::vector<float>& in, const FloatFormat& to, const Semantics& s, const BulkOptions& o) {
  check_round<uint32_t, uint16_t, uint8_t, float>(in, to, s, o);
}

constexpr int kRandomBits[] = {1, 2, 5, 8, 11, 12, 13, 14, 15, 16, 17, 24, 30, 31, 32};

template <class In, class Body>
void for_policies(const FloatFormat& f, size_t n, uint64_t seed, const Body& body) {
  const auto in = edge_values<In>(f, n, seed);
  for (int mode = 0; mode < 7; ++mode)
    for (int overflow = 0; overflow < 3 && mode != static_cast<int>(RoundingMode::kStochastic); ++overflow) {
      RoundingPolicy p;
      p.mode = static_cast<RoundingMode>(mode);
      p.overflow = static_cast<Overflow>(overflow);
      body(in, p);
    }
  int overflow = 0;
  for (int variant = 0; variant < 5; ++variant)
    for (const int r : kRandomBits) {
      RoundingPolicy p = RoundingPolicy::stochastic_carry(r);
      p.variant = static_cast<StochasticVariant>(variant);
      p.overflow = static_cast<Overflow>(overflow++ % 3);
      body(in, p);
      p.alignment = RandomAlignment::kAsIfNormal;
      p.signed_zeros = r % 2 == 0;
      if (r % 3 == 1) body(in, p);
    }
}

template <class In, class Out>
void check_all_policies(size_t n) {
  for (const FloatFormat& f : kFormats) {
    if (f.storage_bits() > static_cast<int>(8 * sizeof(Out))) continue;
    uint64_t seed = 0;
    for_policies<In>(f, n, 1000 + static_cast<uint64_t>(f.precision), [&](const auto& in, const RoundingPolicy& p) {
      BulkOptions o;
      o.random.seed = ++seed * 0x123456789u;
      o.random.step = static_cast<uint32_t>(seed);
      o.random.operation = 7;
      o.random.replica = seed % 3 == 0 ? static_cast<uint32_t>(seed % 256) : 0;
      check_round<Out>(in, f, Semantics::ieee(p), o);
    });
  }
}

TEST(BulkRound, Fp32ToWords) { check_all_policies<float, uint32_t>(3000); }
// tests: N400, N401, N406
TEST(BulkRound, Fp32ToHalves) { check_all_policies<float, uint16_t>(1500); }
// tests: N29
TEST(BulkRound, Fp32ToBytes) { check_all_policies<float, uint8_t>(1500); }
TEST(BulkRound, Fp32ToValues) { check_all_policies<float, float>(1500); }
TEST(BulkRound, DoublesToWords) { check_all_policies<double, uint32_t>(3000); }
TEST(BulkRound, DoublesToHalves) { check_all_policies<double, uint16_t>(700); }
TEST(BulkRound, DoublesToValues) { check_all_policies<double, float>(700); }

// The switches of the IPU, and policies that no preset has.
TEST(BulkRound, Switches) {
  std::vector<Semantics> all;
  for (const bool esr : {false, true})
    for (const bool nanoo : {false, true})
      for (int rule = 0; rule < 4; ++rule)
        for (int pattern = 0; pattern < 4; ++pattern) {
          IpuSwitches w;
          w.overflow_rule = static_cast<OverflowRule>(rule);
          w.nan_pattern = static_cast<NanPattern>(pattern);
          w.inf_to_half_flags = static_cast<InfToHalfFlags>((rule + pattern) % 5);
          w.oflo_with_nanoo = rule & 1 ? OfloWithNanoo::kInvOnly : OfloWithNanoo::kOfloAndInv;
          w.f32_daz = (pattern & 1) == 0;
          w.f32_ftz = (rule & 1) == 0;
          w.f32_flush_sign = pattern & 2 ? FlushSign::kPositive : FlushSign::kSame;
          w.f32_overflow_result = static_cast<F32OverflowResult>(pattern % 3);
          FloatingPointBehaviour b = FloatingPointBehaviour::all_off();
          b.esr = esr;
          b.nanoo = nanoo;
          all.push_back(Semantics::ipu(b, w));
        }
  for_each_policy([&](RoundingPolicy p, int mode, int flush, int infinity) {
    p.overflow_flags = infinity == 0 ? uint8_t{kOverflow} : infinity == 1 ? uint8_t{kInexact} : kAllFlags;
    p.overflow_rule = static_cast<OverflowRule>(mode % 4);
    p.nan = static_cast<NanPattern>((mode + flush) % 4);
    all.push_back(Semantics::ieee(p));
  });
  // What the chips' presets are made of, in every combination.
  for (int variant = 0; variant < 5; ++variant)
    for (int flush = 0; flush < 3; ++flush)
      for (int pattern = (variant + flush) % 2; pattern < 5; pattern += 2) {
        RoundingPolicy p = RoundingPolicy::stochastic_carry(variant + flush + pattern < 6 ? 8 : 5 + 3 * pattern);
        p.variant = static_cast<StochasticVariant>(variant);
        p.alignment = static_cast<RandomAlignment>((variant + flush) % 2);
        p.subnormals = static_cast<Subnormals>(flush);
        p.nan = static_cast<NanPattern>(pattern);
        p.signed_zeros = (flush + pattern) % 2 == 0;
        p.flags = pattern < 3 ? kInvalid | kOverflow : kAllFlags;
        all.push_back(Semantics::ieee(p));
        all.back().wide_operands_flushed = pattern % 2 == 1;
        all.back().operand_flush_sign = pattern == 1 ? FlushSign::kPositive : FlushSign::kSame;
      }
  for (const FloatFormat& f : kFormats) {
    const auto in = edge_values<float>(f, 700, 5);
    const auto in64 = edge_values<double>(f, 300, 6);
    for (const Semantics& s : all) {
      check_round<uint32_t, float>(in, f, s, {});
      check_round<uint32_t>(in64, f, s, {});
      if (f == kFp16) check_round<uint16_t>(in, f, s, {});
    }
  }
}

// Words drawn and words handed in, R = 0 and R = 2^r - 1 among them, which decide the edges.
TEST(BulkRound, Chips) {
  for (const ChipRounding& chip : chip_roundings()) {
    const auto in = edge_values<float>(chip.to, 3000, 11);
    const auto in64 = edge_values<double>(chip.to, 1000, 12);
    Mixer mix(13);
    std::vector<uint32_t> words(in.size());
    for (uint32_t& w : words) w = static_cast<uint32_t>(mix() % 3 ? mix() : mix() % 2 ? 0 : ~uint64_t{0});
    for (const bool drawn : {true, false})
      for (const uint8_t flags : {kAllFlags, static_cast<uint8_t>(kInvalid | kOverflow)}) {
        BulkOptions o;
        o.random.words = drawn ? nullptr : words.data();
        Semantics s = chip.semantics;
        for (RoundingPolicy* p : {&s.wide, &s.narrow, &s.quarter}) p->flags = flags;
        check_all_outputs(in, chip.to, s, o);
        check_round<uint32_t>(in64, chip.to, s, o);
      }
  }
}

/// Normal numbers of `f` and (unless `exact`) numbers between them; often the least and (`ends`) the greatest.
std::vector<float> normal_values(const FloatFormat& f, size_t n, uint64_t seed, bool exact, bool ends) {
  Mixer mix(seed);
  const uint64_t least = f.min_normal_code(), greatest = f.max_finite_code();
  std::vector<float> values(n);
  for (float& v : values) {
    const uint64_t choice = mix() % 8;
    uint64_t code = least + mix() % (greatest - least - 1);
    if (choice == 0) code = least;
    if (choice == 1 && ends) code = greatest - mix() % 2;
    double x = fp::to_double(f, code);
    if (!exact && code < greatest)
      x +=
          (fp::to_double(f, code + 1) - x) * static_cast<double>(mix() % 4 ? mix() % 65536 : mix() % 4 * 16384) / 65536;
    v = static_cast<float>(mix() & 1 ? -x : x);
  }
  return values;
}

// Groups without a rare number, which the fastest code does alone: the greatest number with the greatest and the least
// R, and groups in which at most a random number makes a result inexact.
TEST(BulkRound, NormalNumbers) {
  std::vector<ChipRounding> all = chip_roundings();
  for (const FloatFormat& f : kFormats) {
    all.push_back({"nearest", f, Semantics::ieee()});
    all.push_back({"odd", f, Semantics::ieee(RoundingPolicy::ieee(RoundingMode::kOdd))});
    all.push_back({"carry", f, Semantics::ieee(RoundingPolicy::stochastic_carry(16))});
  }
  constexpr size_t kElements = 700;
  Mixer mix(14);
  std::vector<uint32_t> words(kElements);
  for (uint32_t& w : words) w = static_cast<uint32_t>(mix() % 2 ? mix() : mix() % 2 ? 0 : ~uint64_t{0});
  for (const ChipRounding& chip : all)
    for (const int kind : {0, 1, 2, 3}) {
      const auto in = normal_values(chip.to, kElements, 16, kind % 2 == 1, kind < 2);
      for (const bool drawn : {false, true})
        for (const uint8_t flags : {kAllFlags, static_cast<uint8_t>(kInvalid | kOverflow)}) {
          BulkOptions o;
          o.random.seed = 15;
          o.random.words = drawn ? nullptr : words.data();
          Semantics s = chip.semantics;
          for (RoundingPolicy* p : {&s.wide, &s.narrow, &s.quarter}) p->flags = flags;
          check_all_outputs(in, chip.to, s, o);
          // Whole groups alone: no rest of an array raises what they missed.
          if (kind % 2 == 1) check_all_outputs(std::vector<float>(in.begin(), in.begin() + 640), chip.to, s, o);
        }
    }
}

// One number of each kind among others that raise nothing, so that no other number raises its flags.
// tests: N29
TEST(BulkRound, EachKindAlone) {
  std::vector<Semantics> all = {Semantics::ieee(), Semantics::ipu(),
                                Semantics::ieee(RoundingPolicy::ieee(RoundingMode::kUp))};
  for (const int r : {8, 13, 24}) all.push_back(Semantics::ieee(RoundingPolicy::stochastic_carry(r)));
  all.push_back(all.back());
  all.back().quiet_nan_is_invalid = true;
  for (const FloatFormat& f : kFormats) {
    const auto value = [&](uint64_t code) { return static_cast<float>(fp::to_double(f, code)); };
    const float ordinary = value((f.min_normal_code() + f.max_finite_code()) / 2);
    const float most = value(f.max_finite_code()), least = value(1), quiet = std::nanf("");
    const float signaling = std::bit_cast<float>(0x7F800001u);
    for (const float kind :
         {ordinary, std::nextafter(ordinary, 0.0F), 0.0F, std::bit_cast<float>(1u), quiet, signaling, INFINITY, most,
          std::nextafter(most, INFINITY), most * 1.5F, value(f.min_normal_code()), least, least / 2, least * 0.75F})
      for (const float sign : {1.0F, -1.0F})
        for (const Semantics& s : all) {
          std::vector<float> in(130, ordinary);
          in[70] = std::copysign(kind, sign);
          check_round<uint32_t, uint16_t, float>(in, f, s, {});
        }
  }
}

// Tiny is what is below the normal numbers after a rounding with an unbounded exponent: each number alone in its array.
// tests: N29, N39
TEST(BulkRound, Tininess) {
  for (const FloatFormat& f : kFormats) {
    if (f.bias < 0 || f.bias > 127 || f.precision > 22) continue;
    const float least = static_cast<float>(fp::to_double(f, f.min_normal_code()));
    // Half a quantum of the binade below the least normal number, and its neighbours.
    const float edge = std::ldexp(least, -f.precision - 1);
    const uint32_t bits = std::bit_cast<uint32_t>(least - edge);
    for (const uint32_t at : {bits - 1, bits, bits + 1, std::bit_cast<uint32_t>(least) - 1}) {
      const std::vector<float> in(64, -std::bit_cast<float>(at));
      for (const Tininess tininess : {Tininess::kAfterRounding, Tininess::kBeforeRounding})
        for (const RoundingMode mode : {RoundingMode::kNearestEven, RoundingMode::kDown, RoundingMode::kStochastic}) {
          RoundingPolicy p = RoundingPolicy::ieee(mode);
          p.tininess = tininess;
          check_round<uint32_t, float>(in, f, Semantics::ieee(p), {});
        }
    }
  }
}

// More elements than stay in the caches, and an output at the start of a cache line: results go around them.
TEST(BulkRound, PastTheCache) {
  constexpr size_t kElements = (size_t{16} << 20) / 4;
  const auto few = edge_values<float>(kE5m2, 4099, 17);
  std::vector<float> in(kElements);
  for (size_t i = 0; i < kElements; ++i)
    in[i] = i % 3 == 0 ? few[i % few.size()] : 1 + static_cast<float>(i % 1021) / 512;
  for (const InstructionSet set : usable_sets())
    for (const int bits : {0, 13}) {
      const Semantics s = bits ? Semantics::ieee(RoundingPolicy::stochastic_carry(bits)) : Semantics::ieee();
      BulkOptions o;
      o.isa = set;
      std::vector<uint8_t> bytes(kElements);
      std::vector<uint16_t> halves(kElements);
      std::vector<float> values(kElements);
      bulk::round(in, kE5m2, std::span<uint8_t>(bytes), s, o);
      bulk::round(in, kFp16, std::span<uint16_t>(halves), s, o);
      bulk::round_values(in, kE5m2, values, s, o);
      // The same in pieces that the caches hold.
      constexpr size_t kPiece = 65536;
      std::vector<uint8_t> some_bytes(kPiece);
      std::vector<uint16_t> some_halves(kPiece);
      std::vector<float> some_values(kPiece);
      size_t different = 0;
      for (size_t i = 0; i < kElements; i += kPiece) {
        o.random.first_index = i;
        const std::span<const float> piece(in.data() + i, kPiece);
        bulk::round(piece, kE5m2, std::span<uint8_t>(some_bytes), s, o);
        bulk::round(piece, kFp16, std::span<uint16_t>(some_halves), s, o);
        bulk::round_values(piece, kE5m2, some_values, s, o);
        different += std::memcmp(some_bytes.data(), bytes.data() + i, kPiece) != 0;
        different += std::memcmp(some_halves.data(), halves.data() + i, kPiece * 2) != 0;
        different += std::memcmp(some_values.data(), values.data() + i, kPiece * 4) != 0;
      }
      EXPECT_EQ(different, 0u) << bulk::name(set) << " " << bits << " random bits";
    }
}

/// Widens codes, kept in words of these types that hold the format's, by every instruction set.
template <class Out, class... Ins>
void check_widen(const FloatFormat& f, const std::vector<uint32_t>& codes, const Semantics& s) {
  BulkOptions o;
  const Expected expected = reference(codes.size(), s.wide, o, [&](size_t i, uint32_t) {
    return fp::convert(f, sizeof(Out) == 4 ? kFp32 : kBinary64, codes[i] & f.code_mask(), s);
  });
  const auto check = [&]<class In>(In) {
    if (f.storage_bits() > static_cast<int>(8 * sizeof(In))) return;
    const std::vector<In> in(codes.begin(), codes.end());
    for (const InstructionSet set : usable_sets()) {
      const auto what = [&] {
        return std::string(bulk::name(set)) + " widen " + describe(f) + " from " + std::to_string(8 * sizeof(In)) +
               " to " + std::to_string(8 * sizeof(Out)) + " bits";
      };
      std::vector<Out> out(in.size());
      FpStatus status;
      o.isa = set, o.status = &status;
      bulk::widen(in, f, std::span<Out>(out), s, o);
      expect_equal(expected.codes, out.data(), what, "code", [&](size_t i) { return hex(in[i]); });
      EXPECT_EQ(show(expected.status), show(status)) << what();
    }
  };
  (check(Ins{}), ...);
}

TEST(BulkWiden, EveryCodeOrMany) {
  std::vector<Semantics> all = {Semantics::ieee(), Semantics::ipu()};
  for (int infinity = 0; infinity < 3; ++infinity)
    for (int flush = 0; flush < 3; ++flush) {
      RoundingPolicy p;
      p.infinity = static_cast<InfinityResult>(infinity);
      p.infinity_flags = kInvalid;
      p.subnormals = static_cast<Subnormals>(flush);
      p.nan = static_cast<NanPattern>((infinity + flush) % 4);
      all.push_back(Semantics::ieee(p));
      p.nan = NanPattern::kSigned;
      all.push_back(Semantics::ieee(p));
      p.nan = NanPattern::kInfinity;
      p.signed_zeros = flush == 2;
      all.push_back(Semantics::ieee(p));
    }
  for (int operand = 1; operand < 4; ++operand) {
    IpuSwitches w;
    w.half_inf_operand = static_cast<InfinityOperand>(operand);
    w.nan_pattern = operand == 2 ? NanPattern::kPropagate : NanPattern::kQuiet;
    w.f32_flush_sign = FlushSign::kPositive;
    all.push_back(Semantics::ipu(FloatingPointBehaviour{}, w));
  }
  for (const FloatFormat& f : kFormats)
    for (const Semantics& s : all) {
      Mixer mix(9);
      const size_t n = f.storage_bits() <= 16 ? size_t{1} << f.storage_bits() : 3000;
      std::vector<uint32_t> codes(n);
      for (size_t i = 0; i < n; ++i) codes[i] = static_cast<uint32_t>(f.storage_bits() <= 16 ? i : mix());
      check_widen<float, uint32_t, uint16_t, uint8_t>(f, codes, s);
      check_widen<double, uint32_t, uint16_t, uint8_t>(f, codes, s);
    }
}

}  // namespace
}  // namespace softamp::test
