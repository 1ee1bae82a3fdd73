// The chain of kernel/products.h against exact arithmetic on big integers: every rule, special values included.
#include <cmath>
#include <cstring>

#include "tests/emu/product_check.h"
#include "tests/oracle/exact_operations.h"

namespace softamp::test {
namespace {

using oracle::Decoded;
using oracle::Dyadic;
namespace exact = oracle::exact;

/// One output, as the rules read: no state but the partial's code, whole blocks at a time.
class SlowChain {
 public:
  SlowChain(const ProductCase& c, const kernel::Environment& e, uint64_t output)
      : c_(c), e_(e), s_(c.semantics), output_(output) {
    if (c.rules.stochastic_off && s_.narrow.mode == RoundingMode::kStochastic)
      s_.narrow.mode = RoundingMode::kNearestEven;
    sum_ = s_;
    sum_.wide.mode = RoundingMode::kNearestEven;
    if (!c.rules.flush_inner) sum_.wide.subnormals = Subnormals::kKeep, sum_.wide_operands_flushed = false;
  }

  void block(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b, uint64_t number) {
    std::vector<uint32_t> x, y;
    for (const uint32_t code : a) x.push_back(widened(c_.rules.a, code));
    for (const uint32_t code : b) y.push_back(widened(c_.rules.b, code));
    if (c_.rules.exact_each) {
      for (size_t i = 0; i < a.size(); ++i) {
        half_ = take(c_.rules.a == kFp16 && c_.rules.b == kFp16
                         ? exact::fma(kFp16, a[i], b[i], half_, s_, random(0, product_index(number, output_)))
                         : mixed_fma(x[i], y[i], random(0, product_index(number, output_))),
                     kAllFlags);
      }
      return;
    }
    if (c_.rules.inner == AmpInner::kExactDot4) {
      for (size_t i = 0; i < x.size(); i += 4) dot(x, y, i, std::min(i + 4, x.size()));
    } else {
      for (size_t i = 0; i < x.size(); ++i)
        float_ = take(exact::fma(kFp32, x[i], y[i], float_, sum_), kInvalid | kOverflow);
    }
    if (c_.rules.partials == PartialsType::kHalf) round(number);
  }
  void close(uint64_t number) {
    if (c_.rules.exact_each) float_ = widened(kFp16, half_);
    if (c_.rules.round_partials && c_.rules.partials == PartialsType::kFloat) round(number);
    total_ = any_ ? take(exact::add(kFp32, total_, float_, sum_), kInvalid | kOverflow) : float_;
    any_ = true;
    float_ = 0, half_ = 0;
  }
  Rounded finish() {
    const bool half = c_.rules.partials == PartialsType::kHalf && !c_.rules.independent;
    if (half && c_.rules.output == kFp16) return {half_, flags_};
    if (half) float_ = widened(kFp16, half_);
    if (c_.rules.independent) float_ = total_;
    if (c_.rules.output != kFp32)
      return {take(exact::convert(kFp32, c_.rules.output, float_, s_, random(1, output_)), kAllFlags), flags_};
    const Decoded d = oracle::decode(kFp32, float_);
    const bool tiny = d.sort == oracle::Sort::kFinite && !d.zero() && compare(d.magnitude, {1, -126}) < 0;
    uint32_t code = float_;
    if (d.nan()) code = static_cast<uint32_t>(oracle::nan_of(kFp32, s_.wide.nan));
    if (tiny && s_.wide.subnormals == Subnormals::kFlush) code &= 0x80000000u;
    if (tiny && s_.wide.subnormals == Subnormals::kFlushToPositive) code = 0;
    return {code, flags_};
  }

 private:
  uint32_t take(Rounded r, uint8_t seen) {
    flags_ |= r.flags & seen;
    return static_cast<uint32_t>(r.code);
  }
  uint32_t random(uint32_t site, uint64_t index) const {
    if (s_.narrow.mode != RoundingMode::kStochastic) return 0;
    return e_.random.bits(e_.step, e_.operation + site, index, s_.narrow.random_bits);
  }
  uint32_t widened(const FloatFormat& f, uint32_t code) const {
    const Decoded d = exact::operand(f, code, s_);
    const uint32_t sign = d.negative ? 0x80000000u : 0;
    if (d.nan()) return sign | (d.signaling ? 0x7F800001u : 0x7FC00000u);
    if (d.infinite()) return sign | 0x7F800000u;
    return static_cast<uint32_t>(oracle::round_value(kFp32, d.value(), RoundingPolicy{}, 0, d.negative).code);
  }
  void round(uint64_t number) {
    half_ = take(exact::convert(kFp32, kFp16, float_, s_, random(0, product_index(number, output_))), kAllFlags);
    float_ = widened(kFp16, half_);
  }
  Rounded mixed_fma(uint32_t a, uint32_t b, uint32_t word) const {
    const Decoded x = exact::operand(kFp32, a, sum_), y = exact::operand(kFp32, b, sum_),
                  z = exact::operand(kFp16, half_, s_);
    const bool undefined = (x.infinite() && y.zero()) || (x.zero() && y.infinite());
    if (auto r = exact::nan_among(kFp16, s_, {x, y, z})) {
      if (undefined) r->flags |= kInvalid;
      return *r;
    }
    const bool negative = x.negative != y.negative, infinite = x.infinite() || y.infinite();
    if (undefined || (infinite && z.infinite() && z.negative != negative)) return exact::invalid(kFp16, s_);
    if (infinite || z.infinite()) return oracle::infinity_under(kFp16, infinite ? negative : z.negative, s_.narrow);
    return exact::round_sum(kFp16, x.value() * y.value(), z.value(), negative, z.negative, s_, word);
  }
  void dot(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b, size_t begin, size_t end) {
    const Decoded z = exact::operand(kFp32, float_, sum_);
    bool nan = z.nan(), loud = nan && (z.signaling || s_.quiet_nan_is_invalid), undefined = false;
    bool infinite[2] = {z.infinite() && !z.negative, z.infinite() && z.negative};
    bool all_minus = z.zero() ? z.negative : false;
    Dyadic total = z.sort == oracle::Sort::kFinite ? z.value() : Dyadic{};
    for (size_t i = begin; i < end; ++i) {
      const Decoded x = exact::operand(kFp32, a[i], sum_), y = exact::operand(kFp32, b[i], sum_);
      const bool negative = x.negative != y.negative;
      for (const Decoded& d : {x, y})
        if (d.nan()) nan = true, loud = loud || d.signaling || s_.quiet_nan_is_invalid;
      if (x.nan() || y.nan()) continue;
      if ((x.infinite() && y.zero()) || (x.zero() && y.infinite()))
        undefined = true;
      else if (x.infinite() || y.infinite())
        infinite[negative] = true;
      else
        total = total + x.value() * y.value(), all_minus = all_minus && (x.zero() || y.zero()) && negative;
    }
    const uint8_t known = sum_.wide.flags;
    const auto nan_code = static_cast<uint32_t>(oracle::nan_of(kFp32, s_.wide.nan));
    if (nan) {
      float_ = nan_code;
      if (loud || undefined) flags_ |= kInvalid & known;
    } else if (undefined || (infinite[0] && infinite[1])) {
      float_ = nan_code, flags_ |= kInvalid;
    } else if (infinite[0] || infinite[1]) {
      float_ = take(oracle::infinity_under(kFp32, infinite[1], sum_.wide), kInvalid | kOverflow);
    } else {
      float_ = take(oracle::round_value(kFp32, total, sum_.wide, 0, all_minus), kInvalid | kOverflow);
    }
  }

  const ProductCase& c_;
  const kernel::Environment& e_;
  Semantics s_, sum_;
  uint64_t output_;
  uint32_t float_ = 0, half_ = 0, total_ = 0;
  bool any_ = false;
  uint8_t flags_ = 0;
};

FloatFormat operand_format(uint64_t choice) { return choice < 3 ? kFp16 : choice == 3 ? kBf16 : kFp32; }

Semantics random_semantics(Mixer& mix) {
  FloatingPointBehaviour b = FloatingPointBehaviour::all_off();
  b.esr = mix() & 1, b.nanoo = mix() & 1;
  IpuSwitches w;
  const int bits[] = {1, 8, 13, 16, 24, 32};
  w.sr_bits = bits[mix() % 6];
  w.sr_form = static_cast<StochasticVariant>(mix() % 4);
  if (mix() % 3 == 0) w.half_inf_operand = static_cast<InfinityOperand>(mix() % 4);
  if (mix() % 3 == 0) w.overflow_rule = static_cast<OverflowRule>(mix() % 4);
  if (mix() % 3 == 0) w.f32_overflow_result = static_cast<F32OverflowResult>(mix() % 3);
  if (mix() % 3 == 0) w.f32_flush_sign = FlushSign::kPositive;
  if (mix() % 3 == 0) w.inf_to_half_flags = static_cast<InfToHalfFlags>(mix() % 5);
  w.nan_pattern = static_cast<NanPattern>(mix() % 3);
  if (mix() % 3) return Semantics::ipu(b, w);
  RoundingPolicy p = RoundingPolicy::ieee(static_cast<RoundingMode>(mix() % 6));
  p.subnormals = static_cast<Subnormals>(mix() % 5 / 2);
  return Semantics::ieee(p);
}

// tests: N101
TEST(ProductChain, EqualsExactArithmetic) {
  Mixer mix(4711);
  uint64_t products = 0;
  for (int number = 0; number < 6000; ++number) {
    ProductCase c;
    c.semantics = random_semantics(mix);
    c.rules.a = operand_format(mix() % 5), c.rules.b = operand_format(mix() % 5);
    const FloatFormat outputs[] = {kFp16, kFp32, kBf16};
    c.rules.output = outputs[mix() % 3];
    c.rules.partials = static_cast<PartialsType>(mix() % 2);
    c.rules.independent = mix() % 3 == 0;
    c.rules.round_partials = c.rules.independent && mix() % 2;
    c.rules.flush_inner = mix() % 4 == 0;
    c.rules.stochastic_off = mix() % 8 == 0;
    switch (mix() % 4) {
      case 0: c.rules.inner = AmpInner::kExactDot4; break;
      case 1: c.rules.exact_each = c.rules.partials == PartialsType::kHalf; break;
      default: break;
    }
    const ProductData data = static_cast<ProductData>(mix() % kDataKinds);
    kernel::Environment e;
    e.semantics = c.semantics;
    e.random.seed = mix();
    e.step = 3, e.operation = 9;
    const uint64_t output = mix() % (uint64_t{1} << 35);
    kernel::ProductChain fast(c.rules, e, output);
    SlowChain slow(c, e, output);
    const size_t blocks = mix() % 5;
    uint64_t p = 0;
    for (size_t i = 0; i < blocks; ++i, p += 1 + mix() % 3) {
      const size_t length = c.rules.exact_each ? 1 : 1 + mix() % 9;
      std::vector<uint32_t> a, b;
      for (size_t k = 0; k < length; ++k, ++products) {
        a.push_back(product_code(mix, c.rules.a, data));
        b.push_back(product_code(mix, c.rules.b, data));
        fast.step(kernel::widen_operand(c.rules.a, a[k], c.semantics),
                  kernel::widen_operand(c.rules.b, b[k], c.semantics), p);
      }
      fast.end_block(p);
      slow.block(a, b, p);
      if (c.rules.independent && (mix() % 2 || i + 1 == blocks)) fast.close_partial(p), slow.close(p);
    }
    const Rounded got = fast.finish(), expected = slow.finish();
    ASSERT_EQ(hex(expected.code), hex(got.code)) << "case " << number << ": " << describe(c);
    ASSERT_EQ(int{expected.flags}, int{got.flags}) << "case " << number << ": " << describe(c);
  }
  EXPECT_GT(products, 30000u);
}

/// Sums of 16-bit codes times one: the code of the result.
uint64_t sum_of(const ProductRules& rules, const Semantics& s, const std::vector<uint16_t>& codes, size_t block) {
  kernel::Environment e;
  e.semantics = s;
  kernel::ProductChain chain(rules, e, 0);
  for (size_t k = 0; k < codes.size(); ++k) {
    chain.step(kernel::widen_operand(kFp16, codes[k], s), kernel::widen_operand(kFp16, 0x3C00, s), k / block);
    if ((k + 1) % block == 0 || k + 1 == codes.size()) chain.end_block(k / block);
  }
  return chain.finish().code;
}

// One rounding of the exact sum sees what a rounding to fp32 on the way has lost (N104).
// tests: N104
TEST(ProductChain, ExactEachRoundsOnce) {
  ProductRules rules;
  rules.partials = PartialsType::kHalf;
  const Semantics s = Semantics::ipu();
  kernel::Environment e;
  e.semantics = s;
  for (const bool exact_each : {true, false}) {
    rules.exact_each = exact_each;
    kernel::ProductChain chain(rules, e, 0);
    const auto add = [&](uint64_t a, uint64_t b, uint64_t p) {
      chain.step(kernel::widen_operand(kFp16, a, s), kernel::widen_operand(kFp16, b, s), p);
      chain.end_block(p);
    };
    add(0x6800, 0x3C00, 0);  // 2048
    add(0x3C01, 0x3BFF, 1);  // (1 + 2^-10)(1 - 2^-11) = 1 + 2^-11 - 2^-21: above the tie
    EXPECT_EQ(chain.finish().code, 0x6801u);
    kernel::ProductChain tie(rules, e, 0);
    tie.step(kernel::widen_operand(kFp16, 0x6800, s), kernel::widen_operand(kFp16, 0x3C00, s), 0);
    tie.end_block(0);
    // 1 + 2^-23: fp32 at 2048 cannot hold the last bit, so that 2049 remains, a tie for a half.
    tie.step(kernel::widen_operand(kFp32, 0x3F800001, s), kernel::widen_operand(kFp32, 0x3F800000, s), 1);
    tie.end_block(1);
    EXPECT_EQ(tie.finish().code, exact_each ? 0x6801u : 0x6800u);
  }
}

// 1 + 2^-24 is a tie, which 2^-100 breaks: the sum of a group of four is exact.
// tests: N106
TEST(ProductChain, DotOfFourSeesAll) {
  ProductRules rules;
  rules.a = rules.b = rules.output = kFp32;
  kernel::Environment e;
  e.semantics = Semantics::ieee();
  const auto sum = [&](uint32_t last) {
    kernel::ProductChain chain(rules, e, 0);
    for (const uint32_t code : {0x3F800000u, 0x33800000u, last}) chain.step(code, 0x3F800000u, 0);
    chain.end_block(0);
    return chain.finish().code;
  };
  rules.inner = AmpInner::kExactDot4;
  EXPECT_EQ(sum(0x0D800000u), 0x3F800001u);
  EXPECT_EQ(sum(0), 0x3F800000u);
  rules.inner = AmpInner::kFmaChain;
  EXPECT_EQ(sum(0x0D800000u), 0x3F800000u);
}

TEST(ProductChain, NansPropagateWhereAskedTo) {
  ProductRules rules;
  rules.a = rules.b = rules.output = kFp32;
  kernel::Environment e;
  e.semantics = Semantics::ieee();
  e.semantics.wide.nan = e.semantics.narrow.nan = NanPattern::kPropagate;
  for (const AmpInner inner : {AmpInner::kFmaChain, AmpInner::kExactDot4}) {
    rules.inner = inner;
    kernel::ProductChain chain(rules, e, 0);
    for (const uint32_t code : {0x3F800000u, 0xFFC12345u, 0x40000000u}) chain.step(code, 0x3F800000u, 0);
    chain.end_block(0);
    EXPECT_EQ(chain.finish().code, 0xFFC12345u);
  }
}

TEST(ProductChain, Swamping) {
  ProductRules rules;
  rules.partials = PartialsType::kHalf;
  const Semantics s = Semantics::ipu();
  EXPECT_EQ(sum_of(rules, s, std::vector<uint16_t>(4096, 0x3C00), 16), 0x6C00u);
  EXPECT_EQ(sum_of(rules, s, std::vector<uint16_t>(40000, 0x3C00), 16), 0x7800u);
  rules.exact_each = true;
  EXPECT_EQ(sum_of(rules, s, std::vector<uint16_t>(4096, 0x3C00), 1), 0x6800u);
}

}  // namespace
}  // namespace softamp::test
