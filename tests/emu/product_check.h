// What the tests of products share: data that goes wrong, the chain of kernel/products.h over whole matrices, the
// engine.
#pragma once

#include <cmath>
#include <memory>

#include "emu/products/product.h"
#include "tests/emu/bulk_check.h"

namespace softamp::test {

using kernel::PartialsType;
using kernel::ProductRules;

/// What a matrix holds.
enum class ProductData { kOrdinary, kSmall, kLarge, kNearOverflow, kSpecial, kAnything, kSubnormal };
constexpr int kDataKinds = 6;  ///< kSubnormal, where flushing is looked at, is not among those that are drawn

/// A code of `f` of that kind.
inline uint32_t product_code(Mixer& mix, const FloatFormat& f, ProductData data) {
  const auto random_exponent = [&](int least, int span) {
    const int exponent = std::max(least + static_cast<int>(mix() % static_cast<uint64_t>(span)), f.min_quantum());
    const double value = std::ldexp(1.0 + static_cast<double>(mix() % (1u << 24)) / (1 << 24), exponent);
    RoundingPolicy toward_zero;
    toward_zero.mode = RoundingMode::kTowardZero;
    const uint64_t bits = std::bit_cast<uint64_t>(mix() & 1 ? value : -value);
    return static_cast<uint32_t>(fp::convert(kBinary64, f, bits, Semantics::ieee(toward_zero)).code);
  };
  const uint32_t sign = mix() & 1 ? static_cast<uint32_t>(f.sign_mask()) : 0u;
  const bool half = f == kFp16;
  switch (data) {
    case ProductData::kOrdinary: return mix() % 16 == 0 ? sign : random_exponent(-4, 6);
    case ProductData::kSmall: return mix() % 4 == 0 ? sign : random_exponent(half ? -16 : mix() % 16 ? -75 : -14, 12);
    case ProductData::kLarge: return random_exponent(half ? 3 : mix() % 8 ? 3 : 55, 9);
    case ProductData::kNearOverflow: return random_exponent(4, 4);  // sums of some products: about 2^16
    case ProductData::kSpecial: {
      const uint64_t choice = mix() % 400;
      if (choice == 0) return sign | static_cast<uint32_t>(f.infinity_code());
      if (choice == 1) return sign | static_cast<uint32_t>(f.infinity_code() + 1 + mix() % (f.quiet_bit() - 1));
      if (choice == 2) return sign | static_cast<uint32_t>(f.infinity_code() | f.quiet_bit());
      if (choice == 3) return sign | static_cast<uint32_t>(f.max_finite_code());
      if (choice < 20) return sign | static_cast<uint32_t>(mix() % f.min_normal_code());
      return random_exponent(-4, 8);
    }
    case ProductData::kSubnormal:  // with a few numbers so large that their products with subnormals count
      return mix() % 16 ? sign | static_cast<uint32_t>(mix() % f.min_normal_code())
                        : random_exponent(half ? 11 : 120, 4);
    case ProductData::kAnything: break;
  }
  return static_cast<uint32_t>(mix() & f.code_mask());
}

/// Codes as the engine takes them.
class Matrix {
 public:
  Matrix(const FloatFormat& f, size_t count) : format_(f), bytes_((count + 2) * width()) {}
  void fill(Mixer& mix, ProductData data) {
    for (size_t i = 0; (i + 2) * width() < bytes_.size(); ++i) set(i, product_code(mix, format_, data));
  }
  uint32_t at(size_t i) const {
    uint32_t code = 0;
    std::memcpy(&code, data() + i * width(), width());
    return code;
  }
  void set(size_t i, uint32_t code) { std::memcpy(data() + i * width(), &code, width()); }
  const uint8_t* data() const { return bytes_.data() + 2 * width(); }  // not aligned to anything
  uint8_t* data() { return bytes_.data() + 2 * width(); }
  size_t width() const { return format_.storage_bits() <= 16 ? 2 : 4; }
  const FloatFormat& format() const { return format_; }

 private:
  FloatFormat format_;
  std::vector<uint8_t> bytes_;
};

struct ProductCase {
  ProductRules rules;
  Semantics semantics = Semantics::ieee();
  size_t m = 1, n = 1, k = 1, block = 16;
  bool transpose_a = false, transpose_b = false, batch_sum = false;
  uint64_t first_output = 0;
  ProductData data = ProductData::kOrdinary;
  uint64_t seed = 0;
  RandomBits random{};
  bool may_start = true;

  /// What chains begin with: of half of the cases +0, else a number for each column (1) or each output (2).
  int start() const { return rules.independent || !may_start ? 0 : seed % 4 == 1 ? 1 : seed % 4 == 2 ? 2 : 0; }
};

/// The roundings of halves that products are tried with; one draws `few` random bits.
constexpr int kPolicies = 9;
inline Semantics product_policy(int which, int few) {
  FloatingPointBehaviour b = FloatingPointBehaviour::all_off();
  IpuSwitches w;
  b.esr = which >= 2 && which <= 5;
  b.nanoo = which == 1 || which == 3;
  if (which == 4) w.sr_bits = 16;
  if (which == 5) w.sr_bits = few, w.sr_form = StochasticVariant::kHalf;
  Semantics s = Semantics::ipu(b, w);
  if (which == 6) s = Semantics::ieee(RoundingPolicy::ieee(RoundingMode::kTowardZero));
  if (which == 7) s = Semantics::ieee();
  if (which == 8) s = Semantics::ieee(RoundingPolicy::ieee(RoundingMode::kOdd));
  return s;
}

constexpr size_t kBlocks[] = {1, 4, 16, 0};

/// Draws what a case holds and the address of its random bits.
inline void draw_data(ProductCase& c, Mixer& mix) {
  c.data = static_cast<ProductData>(mix() % kDataKinds);
  c.random.seed = mix();
  c.random.rounds = mix() % 4 == 0 ? 7 : 10;
  c.random.replica = static_cast<uint32_t>(mix() % 3);
}

/// Draws the partials and what follows from them, the block and the dtype of operands.
inline void draw_partials(ProductCase& c, Mixer& mix) {
  const FloatFormat outputs[] = {kFp16, kFp32, kBf16};
  c.rules.partials = mix() % 3 == 0 ? PartialsType::kFloat : PartialsType::kHalf;
  c.rules.output = outputs[c.rules.partials == PartialsType::kFloat ? mix() % 3 : mix() % 8 / 7];
  c.rules.independent = c.batch_sum;
  c.rules.round_partials = c.batch_sum && mix() % 2;
  c.rules.exact_each = c.block == 1 && c.rules.partials == PartialsType::kHalf && mix() % 4 != 0;
  if (c.block == 1 && !c.rules.exact_each) c.rules.inner = AmpInner::kRn32Each;
}

/// A small case under an alternative that only the scalar body knows, or a switch that faster code leaves to it.
inline void make_rare(ProductCase& c, Mixer& mix, uint64_t number) {
  c.m = 1 + mix() % 9, c.n = 1 + mix() % 40, c.k = 1 + mix() % 40;
  switch (number % 5) {
    case 0: c.rules.inner = AmpInner::kExactDot4, c.rules.exact_each = false; break;
    case 1: c.rules.flush_inner = true; break;
    case 2: c.semantics.narrow.nan = c.semantics.wide.nan = NanPattern::kPropagate; break;
    case 3: c.semantics.wide.overflow = Overflow::kSaturate; break;
    case 4: c.semantics.narrow_infinity = static_cast<InfinityOperand>(1 + number / 5 % 3); break;
  }
  if (number % 2) c.data = ProductData::kAnything;
}

/// A small case under a policy that no preset has.
inline void draw_policy(ProductCase& c, Mixer& mix) {
  RoundingPolicy& p = c.semantics.narrow;
  p.mode = static_cast<RoundingMode>(mix() % 6);
  const int bits[] = {1, 2, 7, 11, 12, 13, 14, 15, 16, 17, 24, 31, 32};
  p.random_bits = bits[mix() % 13];
  p.variant = static_cast<StochasticVariant>(mix() % 4);
  p.alignment = static_cast<RandomAlignment>(mix() % 2);
  p.overflow = static_cast<Overflow>(mix() % 3);
  p.overflow_rule = static_cast<OverflowRule>(mix() % 4);
  p.infinity = static_cast<InfinityResult>(mix() % 3);
  p.infinity_flags = mix() % 2 ? kInvalid : kOverflow;
  p.subnormals = static_cast<Subnormals>(mix() % 3);
  p.nan = static_cast<NanPattern>(mix() % 3);
  c.semantics.operand_flush_sign = static_cast<FlushSign>(mix() % 2);
  c.m = 1 + mix() % 20, c.n = 1 + mix() % 40, c.k = 1 + mix() % 50;
}

inline std::string describe(const ProductCase& c) {
  return std::to_string(c.m) + "x" + std::to_string(c.n) + "x" + std::to_string(c.k) + " block " +
         std::to_string(c.block) + (c.transpose_a ? " At" : "") + (c.transpose_b ? " Bt" : "") +
         (c.batch_sum ? " batch" : "") + (c.rules.exact_each ? " exact" : "") + " partials " +
         std::to_string(static_cast<int>(c.rules.partials)) + " between " + std::to_string(c.rules.round_partials) +
         " inner " + std::to_string(static_cast<int>(c.rules.inner)) + " bits " +
         std::to_string(c.rules.a.storage_bits()) + (c.rules.a == kBf16 ? "b " : " ") +
         std::to_string(c.rules.b.storage_bits()) + (c.rules.b == kBf16 ? "b " : " ") +
         std::to_string(c.rules.output.storage_bits()) + (c.rules.output == kBf16 ? "b" : "") + " mode " +
         std::to_string(static_cast<int>(c.semantics.narrow.mode)) + " r " +
         std::to_string(c.semantics.narrow.random_bits) + " variant " +
         std::to_string(static_cast<int>(c.semantics.narrow.variant)) + " overflow " +
         std::to_string(static_cast<int>(c.semantics.narrow.overflow)) +
         (c.semantics.divide_by_way_of_fp32 ? " ipu" : " ieee") + " first " + std::to_string(c.first_output) +
         " start " + std::to_string(c.start()) + " data " + std::to_string(static_cast<int>(c.data)) + " seed " +
         std::to_string(c.seed);
}

/// Operands, and what they must give.
struct ProductExpectation {
  Matrix a, b;
  std::vector<uint32_t> start;  ///< C
  size_t start_row = 0;
  std::vector<uint32_t> codes;
  FpStatus status;
  emu::Schedule schedule;
  kernel::Environment environment;

  explicit ProductExpectation(const ProductCase& c)
      : a(c.rules.a, c.m * c.k),
        b(c.rules.b, c.k * c.n),
        codes(c.m * c.n),
        schedule(emu::Schedule::plain(c.k, c.block, c.batch_sum)) {
    Mixer mix(c.seed);
    a.fill(mix, c.data);
    b.fill(mix, c.data);
    environment.semantics = c.semantics;
    environment.random = c.random;
    environment.step = 5;
    environment.operation = 77;
    start.resize(c.start() == 0 ? 0 : c.start() == 1 ? c.n : c.m * c.n);
    start_row = c.start() == 2 ? c.n : 0;
    for (uint32_t& code : start) code = product_code(mix, kFp32, c.data);
    compute(c);
  }
  /// `codes` and `status` of `a` and `b`.
  void compute(const ProductCase& c) {
    status = {};
    const Semantics s = kernel::product_semantics(c.rules, c.semantics);
    for (size_t i = 0; i < c.m; ++i)
      for (size_t j = 0; j < c.n; ++j) {
        const uint64_t output = c.first_output + i * c.n + j;
        kernel::ProductChain chain(c.rules, environment, output);
        size_t k = 0;
        if (!start.empty()) chain.start(kernel::widen_operand(kFp32, start[i * start_row + j], s));
        for (const emu::ChainBlock& block : schedule.blocks) {
          for (uint32_t t = 0; t < block.length; ++t, ++k)
            chain.step(kernel::widen_operand(c.rules.a, a.at(c.transpose_a ? k * c.m + i : i * c.k + k), s),
                       kernel::widen_operand(c.rules.b, b.at(c.transpose_b ? j * c.k + k : k * c.n + j), s),
                       block.number);
          chain.end_block(block.number);
          if (block.closes_partial) chain.close_partial(block.number);
        }
        const Rounded r = chain.finish();
        codes[i * c.n + j] = static_cast<uint32_t>(r.code);
        status.raise(r.flags & (kInvalid | kOverflow), output);
      }
  }
};

/// Runs the engine and compares; false ends a test's loop early.
inline bool check_product(const ProductCase& c, const ProductExpectation& e, InstructionSet isa, int threads,
                          bool with_status = true, bool reference = false) {
  const emu::ProductPlan plan(c.rules, c.semantics, isa, reference);
  const emu::MatMulOperands operands(plan, e.a.data(), c.transpose_a, e.b.data(), c.transpose_b, c.m, c.n, c.k,
                                     c.first_output);
  Matrix out(c.rules.output, c.m * c.n);
  for (size_t i = 0; i < c.m * c.n; ++i) out.set(i, 0x5A5A5A5Au);
  FpStatus status;
  uint8_t* const origin = out.data() - c.first_output * out.width();
  emu::run_product(plan,
                   {c.m, c.n, &e.schedule, &operands, origin, e.start.empty() ? nullptr : e.start.data(), e.start_row},
                   e.environment, {threads, with_status ? &status : nullptr});
  const std::string what = std::string(bulk::name(isa)) + " way " + std::to_string(static_cast<int>(plan.way)) +
                           " threads " + std::to_string(threads) + ": " + describe(c);
  for (size_t i = 0; i < c.m * c.n; ++i)
    if (out.at(i) != e.codes[i]) {
      ADD_FAILURE() << what << "\n  output " << i / c.n << "," << i % c.n << ": " << hex(out.at(i)) << " instead of "
                    << hex(e.codes[i]);
      return false;
    }
  if (with_status && show(status) != show(e.status)) {
    ADD_FAILURE() << what << "\n  status " << show(status) << " instead of " << show(e.status);
    return false;
  }
  return true;
}

inline bool check_everywhere(const ProductCase& c, bool all_threads = true) {
  static const std::vector<InstructionSet> sets = usable_sets();
  const ProductExpectation e(c);
  bool good = true;
  for (const InstructionSet isa : sets) {
    good = good && check_product(c, e, isa, 1);
    if (!all_threads) continue;
    for (const int threads : {2, 3, 8}) good = good && check_product(c, e, isa, threads, threads != 3);
  }
  return good;
}

}  // namespace softamp::test
