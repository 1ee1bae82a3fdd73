// Bulk arithmetic on halves equals the scalar reference: every first operand with edge values, all policies and
// switches.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "tests/emu/bulk_check.h"

namespace softamp::test {
namespace {

enum class Op { kAdd, kSub, kMul, kDiv, kFma };
constexpr const char* kNames[] = {"add", "sub", "mul", "div", "fma"};

/// Halves on which operations go wrong: zeros, subnormals, powers of two, neighbours of both, the largest, specials.
std::vector<uint16_t> edge_halves() {
  std::vector<uint16_t> codes;
  for (const int base :
       {0x0000, 0x0001, 0x0003, 0x01FF, 0x03FE, 0x0400, 0x0401, 0x1400, 0x2BFF, 0x3800, 0x3BFF, 0x3C00, 0x3C01, 0x3E00,
        0x4000, 0x4248, 0x53FF, 0x6400, 0x6C01, 0x7800, 0x7BFE, 0x7BFF, 0x7C00, 0x7C01, 0x7DFF, 0x7E00, 0x7FFF})
    for (const int sign : {0, 0x8000}) codes.push_back(static_cast<uint16_t>(base | sign));
  return codes;
}

struct Operands {
  std::vector<uint16_t> a, b, c;
};

/// All halves against edge values (n = 65536 of the pairs, chosen by `seed`), or random ones of nearby exponents.
Operands operands(size_t n, uint64_t seed) {
  static const std::vector<uint16_t> edges = edge_halves();
  Mixer mix(seed);
  Operands o;
  for (size_t i = 0; i < n; ++i) {
    const uint16_t a = static_cast<uint16_t>(mix());
    uint16_t b = static_cast<uint16_t>(mix()), c = static_cast<uint16_t>(mix());
    switch (mix() % 4) {
      case 0: b = edges[mix() % edges.size()], c = edges[mix() % edges.size()]; break;
      case 1: b = static_cast<uint16_t>((a ^ (mix() & 1 ? 0x8000 : 0)) + mix() % 9 - 4); break;  // cancellation
      case 2: {  // c near -(a b), so that the sum is small
        const double product = fp::to_double(kFp16, a) * fp::to_double(kFp16, b);
        c = static_cast<uint16_t>(fp::from_double(kFp16, -product) + mix() % 5 - 2);
        break;
      }
      default: break;
    }
    o.a.push_back(a), o.b.push_back(b), o.c.push_back(c);
  }
  return o;
}

Rounded scalar(Op op, uint16_t a, uint16_t b, uint16_t c, const Semantics& s, uint32_t word) {
  switch (op) {
    case Op::kAdd: return fp::add(kFp16, a, b, s, word);
    case Op::kSub: return fp::sub(kFp16, a, b, s, word);
    case Op::kMul: return fp::mul(kFp16, a, b, s, word);
    case Op::kDiv: return fp::div(kFp16, a, b, s, word);
    case Op::kFma: break;
  }
  return fp::fma(kFp16, a, b, c, s, word);
}

void bulk_op(Op op, const Operands& in, std::span<uint16_t> out, const Semantics& s, const BulkOptions& o) {
  switch (op) {
    case Op::kAdd: return bulk::add(in.a, in.b, out, s, o);
    case Op::kSub: return bulk::sub(in.a, in.b, out, s, o);
    case Op::kMul: return bulk::mul(in.a, in.b, out, s, o);
    case Op::kDiv: return bulk::div(in.a, in.b, out, s, o);
    case Op::kFma: break;
  }
  bulk::fma(in.a, in.b, in.c, out, s, o);
}

/// By every instruction set, against the reference.
void check(Op op, const Operands& in, const Semantics& s, BulkOptions o) {
  const RoundingPolicy& p = s.rounding(kFp16);
  const Expected expected = reference(
      in.a.size(), p, o, [&](size_t i, uint32_t word) { return scalar(op, in.a[i], in.b[i], in.c[i], s, word); });
  for (const InstructionSet set : usable_sets()) {
    const auto what = [&] {
      return std::string(bulk::name(set)) + " " + kNames[static_cast<int>(op)] + " " + describe(p) +
             (s.divide_by_way_of_fp32 ? " ipu" : " ieee");
    };
    std::vector<uint16_t> out(in.a.size());
    FpStatus got;
    o.isa = set;
    for (const bool with_status : {false, true}) {
      o.status = with_status ? &got : nullptr;
      bulk_op(op, in, out, s, o);
      expect_equal(expected.codes, out.data(), what, "a b c word", [&](size_t i) {
        return hex(in.a[i]) + " " + hex(in.b[i]) + " " + hex(in.c[i]) + " " + hex(word_of(o, i, p));
      });
    }
    EXPECT_EQ(show(expected.status), show(got)) << what();
  }
}

void check_all(const Semantics& s, size_t n, uint64_t seed) {
  const Operands in = operands(n, seed);
  for (int op = 0; op < 5; ++op) {
    BulkOptions o;
    o.random.seed = seed;
    o.random.step = 3;
    o.random.operation = 11;
    check(static_cast<Op>(op), in, s, o);
  }
}

// tests: N405
TEST(BulkArithmetic, DeterministicModes) {
  for (int mode = 0; mode < 5; ++mode)
    for (int overflow = 0; overflow < 3; ++overflow) {
      RoundingPolicy p;
      p.mode = static_cast<RoundingMode>(mode);
      p.overflow = static_cast<Overflow>(overflow);
      check_all(Semantics::ieee(p), 20000, static_cast<uint64_t>(mode * 3 + overflow));
    }
}

TEST(BulkArithmetic, Stochastic) {
  for (const int r : {1, 2, 5, 8, 11, 12, 13, 14, 15, 16, 17, 23, 24, 25, 32})
    for (int variant = 0; variant < 5; ++variant) {
      RoundingPolicy p = RoundingPolicy::stochastic_carry(r);
      if (r % 8 == 0) {  // what no fast kernel knows
        p.alignment = RandomAlignment::kAsIfNormal;
        p.signed_zeros = variant % 2 == 0;
        p.nan = r == 8 ? NanPattern::kInfinity : NanPattern::kSigned;
      }
      p.variant = static_cast<StochasticVariant>(variant);
      p.overflow = static_cast<Overflow>((r + variant) % 3);
      check_all(Semantics::ieee(p), variant == 0 ? 20000 : 5000, static_cast<uint64_t>(100 + r * 4 + variant));
    }
}

TEST(BulkArithmetic, Ipu) {
  for (const bool esr : {false, true})
    for (const bool nanoo : {false, true})
      for (const int r : {13, 16, 24, 32}) {
        FloatingPointBehaviour b = FloatingPointBehaviour::all_off();
        b.esr = esr;
        b.nanoo = nanoo;
        IpuSwitches w;
        w.sr_bits = r;
        check_all(Semantics::ipu(b, w), 10000, static_cast<uint64_t>(1000 + r + 2 * esr + nanoo));
      }
}

/// Integers whose quotients lie beside a number of about `bits` bits: a 2^k is 1 more or less than a multiple of b.
void add_quotients_beside(int bits, Operands& in) {
  for (uint32_t b = 1025; b < 2048; b += 6)
    for (int k = bits - 2; k <= bits + 1; ++k) {
      uint32_t a = 1;
      for (int i = 0; i < k; ++i) a = a % 2 == 0 ? a / 2 : (a + b) / 2;  // 2^-k modulo b
      for (const uint32_t beside : {a, b - a})
        for (const double sign : {1.0, -1.0}) {
          in.a.push_back(static_cast<uint16_t>(fp::from_double(kFp16, sign * beside)));
          in.b.push_back(static_cast<uint16_t>(fp::from_double(kFp16, sign * b)));
          in.c.push_back(0x3C00);
        }
    }
}

// Random words between two results: the least that rounds to the larger one, and the one below it.
TEST(BulkArithmetic, WordsBetweenTwoResults) {
  for (const int r : {1, 8, 13, 14, 16, 24, 32})
    for (int variant = 0; variant < 5; ++variant) {
      RoundingPolicy p = RoundingPolicy::stochastic_carry(r);
      p.variant = static_cast<StochasticVariant>(variant);
      const Semantics s = Semantics::ieee(p);
      Operands in = operands(600, static_cast<uint64_t>(300 + r));
      add_quotients_beside(11 + r, in);
      std::vector<uint32_t> words(in.a.size());
      for (int op = 0; op < 5; ++op) {
        for (size_t i = 0; i < words.size(); ++i) {
          const auto code = [&](uint64_t word) {
            return scalar(static_cast<Op>(op), in.a[i], in.b[i], in.c[i], s, static_cast<uint32_t>(word)).code;
          };
          uint64_t below = 0, above = uint64_t{1} << r;
          for (const uint64_t least = code(0); above - below > 1;) {
            const uint64_t middle = (below + above) / 2;
            (code(middle) == least ? below : above) = middle;
          }
          words[i] = static_cast<uint32_t>(i % 2 == 0 || above >> r ? below : above);
        }
        BulkOptions o;
        o.random.words = words.data();
        check(static_cast<Op>(op), in, s, o);
      }
    }
}

// Among exact results, all of them ordinary, one that is inexact: no group goes the careful way, which would tell of
// it.
TEST(BulkArithmetic, OneInexactAmongOrdinary) {
  std::vector<Semantics> all;
  for (const int r : {0, 13, 16})
    all.push_back(Semantics::ieee(r == 0 ? RoundingPolicy{} : RoundingPolicy::stochastic_carry(r)));
  constexpr size_t kCount = 1003;
  for (const Semantics& s : all)
    for (const size_t inexact : {size_t{0}, size_t{63}, size_t{517}, kCount - 1}) {
      Operands in{std::vector<uint16_t>(kCount, 0x3C00), std::vector<uint16_t>(kCount, 0x3C00),
                  std::vector<uint16_t>(kCount, 0x3C00)};
      in.a[inexact] = 0x3C01;  // 1 + 2^-10
      in.b[inexact] = 0x0C03;  // 2^-12 (1 + 3 2^-10)
      for (int op = 0; op < 5; ++op) check(static_cast<Op>(op), in, s, {});
    }
}

// Every switch that arithmetic on halves can see, and policies that no preset has.
TEST(BulkArithmetic, Switches) {
  uint64_t seed = 5000;
  for (int operand = 0; operand < 4; ++operand)
    for (int pattern = 0; pattern < 4; ++pattern)
      for (int rule = 0; rule < 4; ++rule) {
        IpuSwitches w;
        w.half_inf_operand = static_cast<InfinityOperand>(operand);
        w.nan_pattern = static_cast<NanPattern>(pattern);
        w.overflow_rule = static_cast<OverflowRule>(rule);
        w.inf_to_half_flags = static_cast<InfToHalfFlags>((operand + rule) % 5);
        FloatingPointBehaviour b;
        b.esr = (pattern & 1) != 0;
        b.nanoo = (rule & 1) != 0;
        check_all(Semantics::ipu(b, w), 1500, ++seed);
      }
  for_each_policy([&](RoundingPolicy p, int, int, int infinity) {
    p.overflow_flags = infinity == 0 ? uint8_t{kOverflow} : kAllFlags;
    Semantics s = Semantics::ieee(p);
    check_all(s, 1500, ++seed);
    s.divide_by_way_of_fp32 = true;  // with a wide policy that is not the IPU's
    check_all(s, 1500, ++seed);
  });
}

}  // namespace
}  // namespace softamp::test
