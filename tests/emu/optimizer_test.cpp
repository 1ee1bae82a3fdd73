// Updates by vectors, threads and tables of words against the body in kernel/optimizers.h, bit for bit, flags and
// lowest indices included; plain steps against the fused multiply-add of numerics/; the counts of AllFinite.
#include "softamp/kernel/optimizers.h"

#include <cmath>

#include "tests/backend/update_rules.h"
#include "tests/emu/reduction_check.h"

namespace softamp::test {
namespace {

constexpr DType kH = DType::kFloat16, kB = DType::kBFloat16, kF = DType::kFloat32;

/// Inputs of an update.
struct Inputs {
  std::vector<Tensor> tensors;
  std::vector<const Tensor*> all() const {
    std::vector<const Tensor*> pointers;
    for (const Tensor& t : tensors) pointers.push_back(&t);
    return pointers;
  }
};

Tensor scalar(DType type, double value) { return Tensor::full(type, Shape{}, value); }

/// Every few elements the gradient cancels what stays of the slot, or a step cancels the variable, up to some bits.
Inputs inputs_of(const UpdateRule& u, const UpdateTypes& t, int64_t n, Data kind, Mixer& mix, bool apply = true) {
  Inputs in;
  const double rate = kind == Data::kHuge ? 4 : 0.05, share = 0.9;
  in.tensors.push_back(random_tensor(t.var, Shape{n}, mix, kind));
  for (size_t k = 0; k < u.slots; ++k) {
    in.tensors.push_back(random_tensor(t.slot, Shape{n}, mix, kind));
    const FloatFormat f = format_of(t.slot);
    const bool square = (u.slots == 2) && (k == (u.op[5] == 'A' ? 1u : 0u));
    for (int64_t i = 0; square && i < n; ++i)
      if (mix() % 16)
        kernel::put_code(in.tensors.back().data(), f, static_cast<uint64_t>(i),
                         in.tensors.back().code(i) & ~f.sign_mask());
  }
  Tensor grad = random_tensor(t.grad, Shape{n}, mix, kind);
  const FloatFormat g = format_of(t.grad);
  for (int64_t i = 0; kind == Data::kEdge && i < n; i += 5) {
    const Tensor& other = in.tensors[mix() % std::min<size_t>(2, in.tensors.size())];
    const double x = fp::to_double(format_of(other.dtype()), other.code(i));
    const double value = mix() & 1 ? -share * x : x / rate;
    kernel::put_code(grad.data(), g, static_cast<uint64_t>(i), fp::from_double(g, value) ^ (mix() % 3 == 0));
  }
  if (u.has_rates()) in.tensors.push_back(scalar(kF, rate));
  if (std::string(u.op) == "ApplyAdam") in.tensors.push_back(scalar(kF, mix() & 1 ? 0.01 : 0));
  in.tensors.push_back(std::move(grad));
  in.tensors.push_back(scalar(DType::kBool, apply));
  return in;
}

// tests: N236, N243
TEST(Optimizer, VectorsGiveTheBodysBits) {
  const UpdateTypes types[] = {{kH, kH, kH}, {kF, kF, kF}, {kB, kB, kB}, {kF, kF, kH}, {kH, kF, kH}, {kB, kH, kF}};
  Mixer mix(1);
  for (const NamedSemantics& preset : presets())
    for (const UpdateRule& u : update_rules())
      for (const UpdateTypes& t : types)
        for (const Data kind : {Data::kPlain, Data::kEdge, Data::kHuge}) {
          const int64_t sizes[] = {0, 1, 63, 64, 65, 700, 1500};
          const int64_t n = sizes[mix() % 7];
          if (!u.has_rates() && (t.slot != t.var || t.grad != t.var)) continue;
          const Inputs in = inputs_of(u, t, n, kind, mix);
          expect_as_body(u.op, u.attributes, in.all(), preset);
          if (HasFailure()) return;
        }
}

/// Steps beyond the greatest number by less than half of its last bit, at it and below it, and steps between subnormal
/// numbers, under each rule of overflow and with an R that stays with the source.
// tests: N20, N236, N313
TEST(Optimizer, StepsAtBothEndsOfTheRange) {
  std::vector<NamedSemantics> policies;
  for (const RoundingMode mode : {RoundingMode::kNearestEven, RoundingMode::kTowardZero, RoundingMode::kStochastic})
    for (int rule = 0; rule < 4; ++rule)
      for (const int bits : {3, 12, 26}) {
        RoundingPolicy p;
        p.mode = mode;
        p.overflow_rule = static_cast<OverflowRule>(rule);
        p.random_bits = bits;
        p.alignment = RandomAlignment::kAsIfNormal;
        p.variant = bits == 12 ? StochasticVariant::kCarry : StochasticVariant::kRne;
        if (mode == RoundingMode::kStochastic || bits == 3) policies.push_back({"rule", Semantics::ieee(p)});
      }
  Mixer mix(6);
  for (const UpdateRule& u : update_rules())
    for (const DType type : {kH, kB, kF}) {
      const FloatFormat f = format_of(type);
      Inputs in = inputs_of(u, {type, type, type}, 300, Data::kPlain, mix);
      Tensor &var = in.tensors.front(), &grad = in.tensors[in.tensors.size() - 2];
      for (uint64_t i = 0; i < 300; ++i) {
        const bool great = mix() % 2;
        const uint64_t sign = mix() & f.sign_mask();
        const double last = std::ldexp(1, f.max_exponent() - f.mantissa_bits());
        kernel::put_code(var.data(), f, i,
                         (great ? f.max_finite_code() - mix() % 2 : mix() & f.mantissa_mask()) ^ sign);
        const double step = great ? last * static_cast<double>(mix() % 64)
                                  : std::ldexp(static_cast<double>(mix() % 4096), f.min_quantum() - 4);
        kernel::put_code(grad.data(), f, i, fp::from_double(f, step) ^ (sign ^ (mix() % 4 ? f.sign_mask() : 0)));
      }
      for (const NamedSemantics& policy : policies) expect_as_body(u.op, u.attributes, in.all(), policy);
      if (HasFailure()) return;
    }
}

/// Large enough for several pieces; 1, 2, 3 threads.
// tests: N236, N242
TEST(Optimizer, ThreadsGiveTheBodysBits) {
  Mixer mix(2);
  for (const NamedSemantics& preset : {presets()[0], presets()[5], presets()[6]})
    for (const size_t op : {size_t{1}, size_t{5}})
      for (const UpdateTypes& t : {UpdateTypes{kH, kH, kH}, UpdateTypes{kF, kF, kF}}) {
        const UpdateRule& u = update_rules()[op];
        const Inputs in = inputs_of(u, t, 70001, Data::kPlain, mix);
        emu::EngineSettings settings = settings_for(preset.semantics, true);
        const OpRun expected = run_op(u.op, u.attributes, in.all(), settings);
        settings.reference = false;
        for (const int threads : {1, 2, 3}) {
          settings.threads = threads;
          expect_same(expected, run_op(u.op, u.attributes, in.all(), settings),
                      std::string(u.op) + " " + preset.name + " threads " + std::to_string(threads));
        }
      }
}

/// Tensors that pass the caches by are stored by streaming: the same bits.
TEST(Optimizer, LargeTensorsGiveTheSameBits) {
  Mixer mix(3);
  const int64_t n = (int64_t{1} << 20) + 77;
  const UpdateRule& u = update_rules()[1];
  for (const UpdateTypes& t : {UpdateTypes{kF, kF, kF}, UpdateTypes{kH, kH, kH}}) {
    const int64_t large = t.var == kH ? 2 * n : n;
    const Inputs in = inputs_of(u, t, large, Data::kPlain, mix);
    emu::EngineSettings settings = settings_for(presets()[6].semantics);
    settings.threads = 2;
    const OpRun got = run_op(u.op, u.attributes, in.all(), settings);
    // Elements of the start again as a tensor of their own, which stays in the cache.
    const int64_t few = 4096;
    Inputs start;
    for (const Tensor& whole : in.tensors) {
      Tensor part(whole.dtype(), whole.shape().rank() ? Shape{few} : Shape{});
      std::memcpy(part.data(), whole.data(), part.bytes());
      start.tensors.push_back(std::move(part));
    }
    settings.reference = true;
    const OpRun expected = run_op(u.op, u.attributes, start.all(), settings);
    for (size_t p = 0; p < expected.outputs.size(); ++p)
      EXPECT_EQ(0, std::memcmp(expected.outputs[p].data(), got.outputs[p].data(), expected.outputs[p].bytes()));
  }
}

/// The hardware's order: words drawn beforehand serve every site in its turn.
TEST(Optimizer, WordsOfATableServeTheirSites) {
  Mixer mix(4);
  const int64_t n = 1003;
  std::vector<uint32_t> words[3];
  for (auto& w : words)
    for (int64_t i = 0; i < n; ++i) w.push_back(static_cast<uint32_t>(mix()));
  for (const UpdateRule& u : update_rules()) {
    const Inputs in = inputs_of(u, {kH, kH, kH}, n, Data::kPlain, mix);
    emu::EngineSettings settings = settings_for(presets()[6].semantics, true);
    settings.environment.semantics.narrow.random_bits = mix() & 1 ? 13 : 16;
    for (size_t site = 0; site <= u.slots; ++site)
      settings.environment.table[site] = {words[site].data(), static_cast<uint64_t>(n)};
    const OpRun expected = run_op(u.op, u.attributes, in.all(), settings);
    settings.reference = false;
    for (const InstructionSet isa : usable_sets()) {
      settings.isa = isa;
      expect_same(expected, run_op(u.op, u.attributes, in.all(), settings), std::string(u.op) + " " + bulk::name(isa));
    }
    // Another word at one site changes that site's tensor, at that element.
    const uint64_t place = 500;
    bool moved = false;
    for (int tries = 0; tries < 64 && !moved; ++tries) {
      words[u.slots][place] = static_cast<uint32_t>(mix());
      const OpRun other = run_op(u.op, u.attributes, in.all(), settings);
      moved = !other.outputs[u.slots].same_bits(expected.outputs[u.slots]);
      for (int64_t i = 0; i < n; ++i) {
        if (i == static_cast<int64_t>(place)) continue;
        ASSERT_EQ(other.outputs[u.slots].code(i), expected.outputs[u.slots].code(i));
      }
    }
    EXPECT_TRUE(moved || std::string(u.op) != "ApplyMomentum");
  }
}

/// var - alpha delta is a fused multiply-add, momentum accum + grad another, whatever the policy.
// tests: N236, N237
TEST(Optimizer, PlainStepsAreFusedMultiplyAdds) {
  Mixer mix(5);
  std::vector<Semantics> all;
  for (const NamedSemantics& p : presets()) all.push_back(p.semantics);
  for (const int bits : {27, 32}) all.push_back(Semantics::ieee(RoundingPolicy::stochastic_carry(bits)));
  const int64_t n = 2000;
  for (const Semantics& s : all) {
    if (s.operand_flush_sign == FlushSign::kPositive || s.wide.nan == NanPattern::kPropagate) continue;
    const UpdateRule& u = update_rules()[1];
    const Inputs in = inputs_of(u, {kF, kF, kF}, n, Data::kEdge, mix);
    emu::EngineSettings settings = settings_for(s);
    const OpRun got = run_op(u.op, u.attributes, in.all(), settings);
    kernel::Environment e = settings.environment;
    e.step = 3;
    e.operation = 6;  // after five placeholders
    const uint64_t share = fp::from_double(kFp32, 0.9), minus_rate = fp::from_double(kFp32, -0.05);
    for (int64_t i = 0; i < n; ++i) {
      const uint64_t index = static_cast<uint64_t>(i);
      const Rounded accum =
          fp::fma(kFp32, share, in.tensors[1].code(i), in.tensors[3].code(i), s, e.draw(s.wide, 1, index));
      const Rounded var = fp::fma(kFp32, minus_rate, accum.code, in.tensors[0].code(i), s, e.draw(s.wide, 0, index));
      ASSERT_EQ(got.outputs[1].code(i), accum.code) << i;
      ASSERT_EQ(got.outputs[0].code(i), var.code) << i;
    }
  }
}

/// With a rate of zero, of either sign, a variable stays, and -0 stays -0 where the step is +0.
// tests: N40, N241
TEST(Optimizer, ZerosKeepTheirSigns) {
  for (const DType t : {kH, kF})
    for (const double rate : {0.0, -0.0})
      for (const InstructionSet isa : usable_sets()) {
        const Tensor var = Tensor::full(t, Shape{64}, -0.0), delta = Tensor::full(t, Shape{64}, 1);
        const Tensor alpha = scalar(kF, rate), apply = scalar(DType::kBool, 1);
        emu::EngineSettings settings = settings_for(Semantics::ieee());
        settings.isa = isa;
        const OpRun run = run_op("ApplyGradientDescent", {}, {&var, &alpha, &delta, &apply}, settings);
        for (int64_t i = 0; i < 64; ++i)
          ASSERT_EQ(run.outputs[0].code(i), std::signbit(rate) ? 0 : format_of(t).sign_mask()) << bulk::name(isa);
      }
}

/// Sums that binary64 rounds to the middle of two fp32 numbers, from either side, and middles: 3/4 of odd codes, with
/// gradients far below.
// tests: N238
TEST(Optimizer, MiddlesOfTwoFloats) {
  const int64_t n = 300;
  Tensor var = Tensor::full(kF, Shape{n}, 1), m(kF, Shape{n}), v = Tensor::full(kF, Shape{n}, 0.25), grad(kF, Shape{n});
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t k = static_cast<uint64_t>(i), tiny = fp::from_double(kFp32, i % 3 == 0   ? 0
                                                                               : i % 3 == 1 ? 1e-30
                                                                                            : -1e-30);
    kernel::put_code(m.data(), kFp32, k, (0x3F800001u + 2 * k) | (i % 2 ? 0x80000000u : 0));
    kernel::put_code(grad.data(), kFp32, k, tiny);
  }
  const Tensor rate = scalar(kF, 0.01), decay = scalar(kF, 0), apply = scalar(DType::kBool, 1);
  const Attributes adam = {{"beta1", 0.75}, {"beta2", 0.75}, {"epsilon", 1e-8}};
  for (const NamedSemantics& preset : presets())
    expect_as_body("ApplyAdam", adam, {&var, &m, &v, &rate, &decay, &grad, &apply}, preset);
}

// tests: N245
TEST(Optimizer, AllFiniteCountsEveryLane) {
  Mixer mix(6);
  for (const DType t : {kH, kB, kF})
    for (const int64_t n : {0, 1, 31, 64, 1000, 200003}) {
      Tensor x = random_tensor(t, Shape{n}, mix, Data::kPlain);
      const FloatFormat f = format_of(t);
      const uint64_t specials[] = {f.infinity_code(), f.infinity_code() | f.sign_mask(), f.infinity_code() + 1,
                                   f.magnitude_mask(), f.infinity_code() | f.quiet_bit() | f.sign_mask()};
      int32_t count = 0;
      for (int64_t i = 0; i < n; ++i)
        if (mix() % (n < 100 ? 5 : 900) == 0 || n == 200003) {
          kernel::put_code(x.data(), f, static_cast<uint64_t>(i), specials[mix() % 5]);
          ++count;
        }
      const Tensor tame = Tensor::full(t, Shape{7}, fp::to_double(f, f.max_finite_code()));
      for (const InstructionSet isa : usable_sets())
        for (const int threads : {1, 3}) {
          emu::EngineSettings settings = settings_for(Semantics::ipu());
          settings.isa = isa;
          settings.threads = threads;
          const OpRun run = run_op("AllFinite", {}, {&tame, &x}, settings);
          EXPECT_EQ(run.outputs[1].as<int32_t>()[0], 0);
          EXPECT_EQ(run.outputs[1].as<int32_t>()[1], count) << name_of(t) << " " << n << " " << bulk::name(isa);
          EXPECT_EQ(run.outputs[0].code(0), count == 0);
          EXPECT_EQ(run.status, FpStatus{});
        }
    }
}

}  // namespace
}  // namespace softamp::test
