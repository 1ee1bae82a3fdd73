// Updates of optimizers, to the bit and to the flag, against the same formulas over exact numbers; what they do with
// `apply` false; the check of gradients.
#include "softamp/numerics/convert.h"
#include "tests/graph/models/model_run.h"
#include "tests/oracle/tensor_model_training.h"
#include "tests/oracle/tensor_order.h"
#include "tests/refusal.h"

namespace softamp::test {
namespace {

using oracle::model::Optimizer;
using oracle::model::UpdateCase;
using oracle::model::UpdateResult;

[[maybe_unused]] const ::testing::Environment* const kCoversTraining =
    covers({"ApplyGradientDescent", "ApplyMomentum", "ApplyRMSProp", "ApplyAdam", "AllFinite"});

struct Types {
  DType var, slot, grad;
};
constexpr DType kH = DType::kFloat16, kB = DType::kBFloat16, kF = DType::kFloat32;
constexpr Types kTypes[] = {{kH, kH, kH}, {kF, kF, kF}, {kB, kB, kB}, {kF, kF, kH},
                            {kH, kF, kH}, {kF, kH, kB}, {kB, kF, kF}, {kH, kB, kF}};
constexpr Optimizer kOptimizers[] = {Optimizer::kGradientDescent, Optimizer::kMomentum, Optimizer::kNesterov,
                                     Optimizer::kRmsProp, Optimizer::kAdam};

int slots_of(Optimizer o) { return o == Optimizer::kGradientDescent ? 0 : o <= Optimizer::kNesterov ? 1 : 2; }

struct Named {
  std::string name;
  Semantics semantics;
};
std::vector<Named> usual() {
  std::vector<Named> all;
  for (const Mode& mode : kModes) {
    FloatingPointBehaviour b = FloatingPointBehaviour::all_off();
    b.esr = mode.stochastic;
    b.nanoo = mode.nanoo;
    all.push_back({mode.name, mode.ipu ? Semantics::ipu(b) : Semantics::ieee()});
  }
  return all;
}
std::vector<Named> unusual() {
  std::vector<Named> all;
  for (const RoundingMode mode :
       {RoundingMode::kTowardZero, RoundingMode::kUp, RoundingMode::kDown, RoundingMode::kNearestAway})
    all.push_back({"mode " + std::to_string(static_cast<int>(mode)), Semantics::ieee(RoundingPolicy::ieee(mode))});
  for (const int bits : {7, 16, 24, 32}) {
    RoundingPolicy p = RoundingPolicy::stochastic_carry(bits);
    all.push_back({"carry " + std::to_string(bits), Semantics::ieee(p)});
    p.variant = bits % 16 ? StochasticVariant::kRne : StochasticVariant::kHalf;
    p.overflow = Overflow::kSaturate;
    p.overflow_rule = OverflowRule::kHalfway;
    all.push_back({"variant of " + std::to_string(bits) + " bits", Semantics::ieee(p)});
  }
  RoundingPolicy p;
  p.nan = NanPattern::kPropagate;
  p.subnormals = Subnormals::kFlush;
  p.overflow_rule = OverflowRule::kExact;
  all.push_back({"flush, propagate, exact overflow", Semantics::ieee(p)});
  p.subnormals = Subnormals::kFlushToPositive;
  all.push_back({"flush to +0", Semantics::ieee(p)});
  IpuSwitches w;
  w.half_inf_operand = InfinityOperand::kNextBinade;
  w.f32_flush_sign = FlushSign::kPositive;
  w.f32_ftz = false;
  FloatingPointBehaviour esr = FloatingPointBehaviour::all_off();
  esr.esr = true;
  all.push_back({"ipu, infinities are 65536, flush to +0", Semantics::ipu(esr, w)});
  w = {};
  w.half_inf_operand = InfinityOperand::kNan;
  w.nan_pattern = NanPattern::kAllOnes;
  w.f32_daz = false;
  w.sr_form = StochasticVariant::kOdd;
  all.push_back({"ipu, infinities are NaN, no daz", Semantics::ipu(esr, w)});
  return all;
}

/// The r random bits of an address in step 0 (N70, N71).
uint32_t random_bits(uint64_t seed, uint32_t operation, uint64_t index, int r) {
  if (r > 16) return oracle::order::word_of(seed, operation, index) & (~0u >> (32 - r));
  const uint64_t block = index / 8, lane = index % 8;
  const auto words =
      oracle::order::philox({static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), operation, 0},
                            static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32));
  return words[lane / 2] >> (lane % 2 * 16) & ((1u << r) - 1);
}

/// A node with its inputs.
struct Update {
  std::string op;
  std::vector<Tensor> inputs;
  Attributes attributes;
  UpdateCase model;
};

Tensor scalar32(uint64_t code) {
  Tensor t(kF, Shape{});
  set_code(t, 0, code);
  return t;
}
Tensor truth(bool value) {
  Tensor t(DType::kBool, Shape{});
  set_code(t, 0, value);
  return t;
}

Update update_of(Optimizer o, const Types& t, int64_t n, uint64_t seed, bool apply = true) {
  Mixer mix(seed);
  const auto one_of = [&](std::initializer_list<double> all) { return all.begin()[mix() % all.size()]; };
  const auto data = [&](bool square) {
    const Data kinds[] = {Data::kUnit, Data::kMiddle, Data::kAny, square ? Data::kPositive : Data::kBroad};
    return square && mix() % 3 ? Data::kPositive : kinds[mix() % 4];
  };
  Update u;
  u.model.optimizer = o;
  u.model.var = format_of(t.var);
  u.model.slot = format_of(t.slot);
  u.model.grad = format_of(t.grad);
  u.model.share = one_of({0.9, 0.99951171875, 0, 1, 0.3});
  u.model.second_share = one_of({0.999, 0.99951171875, 0, 1, 0.7});
  u.model.epsilon = one_of({1e-8, 1e-3, 0, 1e-40, 1});
  const auto rate = [&]() -> uint64_t {
    const uint32_t specials[] = {0, 0x80000000u, 0x7F800000u, 0x7FC00000u, 0x7F800001u, 0x00400000u, 0x7F7FFFFFu};
    if (mix() % 8 == 0) return specials[mix() % 7];
    return random_code(mix, kF, Data::kMiddle) & ~(mix() % 8 ? 0x80000000u : 0u);
  };
  u.model.rate = rate();
  u.model.decay = o == Optimizer::kAdam ? (mix() % 3 ? rate() : 0) : 0;

  const Ints shape{n};
  u.inputs.push_back(random_tensor(t.var, shape, data(false), seed + 1));
  for (int k = 0; k < slots_of(o); ++k) {
    const bool square = o == Optimizer::kAdam ? k == 1 : o == Optimizer::kRmsProp && k == 0;
    u.inputs.push_back(random_tensor(t.slot, shape, data(square), seed + 2 + static_cast<uint64_t>(k)));
  }
  Tensor grad = random_tensor(t.grad, shape, data(false), seed + 5);
  // Sums that cancel: a gradient that is all but the opposite of what is left of the slot, or of the variable.
  for (int64_t i = 0; i < n; i += 3) {
    const Tensor& other = u.inputs[mix() % std::min<size_t>(2, u.inputs.size())];
    const double x = fp::to_double(format_of(other.dtype()), other.code(i));
    set_code(grad, i, fp::from_double(u.model.grad, -x * u.model.share) ^ (mix() & 1));
  }
  u.inputs.push_back(scalar32(u.model.rate));
  if (o == Optimizer::kAdam) u.inputs.push_back(scalar32(u.model.decay));
  u.inputs.push_back(std::move(grad));
  u.inputs.push_back(truth(apply));
  switch (o) {
    case Optimizer::kGradientDescent: u.op = "ApplyGradientDescent"; break;
    case Optimizer::kMomentum:
    case Optimizer::kNesterov:
      u.op = "ApplyMomentum";
      u.attributes = {{"momentum", u.model.share}, {"use_nesterov", o == Optimizer::kNesterov}};
      break;
    case Optimizer::kRmsProp:
      u.op = "ApplyRMSProp";
      u.attributes = {{"rho", u.model.share}, {"momentum", u.model.second_share}, {"epsilon", u.model.epsilon}};
      break;
    case Optimizer::kAdam:
      u.op = "ApplyAdam";
      u.attributes = {{"beta1", u.model.share}, {"beta2", u.model.second_share}, {"epsilon", u.model.epsilon}};
      break;
  }
  return u;
}

const Tensor& gradient_of(const Update& u) { return u.inputs[u.inputs.size() - 2]; }

void expect_exact(const Update& u, const Named& preset) {
  ExecutorOptions options;
  options.semantics = preset.semantics;
  options.seed = 7;
  options.threads = 1;
  options.status = true;
  const Outcome got = run_operation(u.op, u.inputs, u.attributes, options);
  const int sites = 1 + slots_of(u.model.optimizer);
  FpStatus status;
  int told = 0;
  for (int64_t i = 0; i < u.inputs[0].elements(); ++i) {
    UpdateCase c = u.model;
    c.var_code = u.inputs[0].code(i);
    for (int k = 0; k + 1 < sites; ++k) c.slot_code[k] = u.inputs[static_cast<size_t>(1 + k)].code(i);
    c.grad_code = gradient_of(u).code(i);
    for (int site = 0; site < sites; ++site) {
      const RoundingPolicy& p = preset.semantics.rounding(site ? c.slot : c.var);
      if (p.stochastic())
        c.words[site] = random_bits(7, operation_id(u.inputs.size(), static_cast<uint32_t>(site)),
                                    static_cast<uint64_t>(i), p.random_bits);
    }
    const UpdateResult expected = oracle::model::update(c, preset.semantics);
    status.raise(expected.flags, static_cast<uint64_t>(i));
    for (int site = 0; site < sites && told < 3; ++site) {
      const uint64_t code = got.outputs[static_cast<size_t>(site)].code(i);
      if (code == expected.code[site]) continue;
      ++told;
      ADD_FAILURE() << u.op << (u.model.optimizer == Optimizer::kNesterov ? " Nesterov" : "") << " (" << preset.name
                    << ") output " << site << " element " << i << std::hex << ": got " << code << ", expected "
                    << expected.code[site] << "; var " << c.var_code << ", slots " << c.slot_code[0] << ", "
                    << c.slot_code[1] << ", gradient " << c.grad_code << ", rate " << c.rate << ", decay " << c.decay;
    }
  }
  EXPECT_EQ(got.status, status) << u.op << " (" << preset.name << "): flags " << int{got.status.flags} << ", expected "
                                << int{status.flags};
}

// tests: N91, N235, N238, N240, N241
TEST(ModelTraining, UpdatesAreExactFormulasRoundedOnce) {
  uint64_t seed = 1;
  for (int round = 0; round < rounds(); ++round)
    for (const Named& preset : usual())
      for (const Types& t : kTypes)
        for (const Optimizer o : kOptimizers) {
          if (++seed % 2 == 0) continue;  // optimizers are odd in number: the next dtypes take the others
          expect_exact(update_of(o, t, 70, seed), preset);
          if (HasFailure()) return;
        }
}

TEST(ModelTraining, UnderAnyPolicy) {
  uint64_t seed = 100000;
  for (int round = 0; round < rounds(); ++round)
    for (const Named& preset : unusual())
      for (const Types& t : {kTypes[0], kTypes[1], kTypes[4]})
        for (const Optimizer o : kOptimizers) {
          if (++seed % 2 == 0) continue;
          expect_exact(update_of(o, t, 66, seed), preset);
          if (HasFailure()) return;
        }
}

// tests: N244
TEST(ModelTraining, WhereApplyIsFalseNothingHappens) {
  uint64_t seed = 200000;
  for (const Named& preset : usual())
    for (const Types& t : kTypes)
      for (const Optimizer o : kOptimizers) {
        const Update u = update_of(o, t, 131, ++seed, false);
        ExecutorOptions options;
        options.semantics = preset.semantics;
        options.status = true;
        const Outcome got = run_operation(u.op, u.inputs, u.attributes, options);
        for (size_t k = 0; k < got.outputs.size(); ++k)
          EXPECT_TRUE(got.outputs[k].same_bits(u.inputs[k])) << u.op << " output " << k;
        EXPECT_EQ(got.status, FpStatus{}) << u.op;
      }
}

/// 1 - 2^-12 is half way between two halves: to nearest a weight stands still for ever; stochastically it moves in
/// half of all cases.
TEST(ModelTraining, SmallUpdatesAreSwampedUnlessTheyAreStochastic) {
  const int64_t n = 4096;
  std::vector<Tensor> in;
  in.push_back(Tensor::full(kH, Shape{n}, 1));
  in.push_back(scalar32(0x39800000u));  // 2^-12
  in.push_back(Tensor::full(kH, Shape{n}, 1));
  in.push_back(truth(true));
  const std::vector<Named> presets = usual();
  for (const Named& preset : {presets[1], presets[2]}) {
    ExecutorOptions options;
    options.semantics = preset.semantics;
    const Tensor var = std::move(run_operation("ApplyGradientDescent", in, {}, options).outputs[0]);
    int64_t moved = 0;
    for (int64_t i = 0; i < n; ++i) {
      EXPECT_TRUE(var.code(i) == 0x3C00 || var.code(i) == 0x3BFF);
      moved += var.code(i) == 0x3BFF;
    }
    // Binomial: mean n / 2, deviation sqrt(n) / 2 = 32; six deviations.
    if (preset.semantics.narrow.stochastic())
      EXPECT_LT(std::abs(moved - n / 2), 192);
    else
      EXPECT_EQ(moved, 0);
  }
}

/// Adam in halves: an epsilon of 0 (1e-8 as a half) and a gradient whose square underflows divide by zero.
TEST(ModelTraining, AZeroDivisorIsADivisionByZero) {
  std::vector<Tensor> in;
  in.push_back(Tensor::full(kH, Shape{3}, 0.5));
  in.push_back(Tensor::full(kH, Shape{3}, 0));
  in.push_back(Tensor::full(kH, Shape{3}, 0));
  in.push_back(scalar32(0x3A83126Fu));  // 0.001
  in.push_back(scalar32(0));
  in.push_back(Tensor::from_values(kH, Shape{3}, std::vector<double>{1, 0x1p-10, 0}));
  in.push_back(truth(true));
  const Attributes a{{"beta1", 0.9}, {"beta2", 0.999}, {"epsilon", 0.0}};
  ExecutorOptions options;
  options.status = true;
  const Outcome got = run_operation("ApplyAdam", in, a, options);
  EXPECT_EQ(got.status.lowest_index(kDivideByZero), 1u);  // m / 0
  EXPECT_EQ(got.status.lowest_index(kInvalid), 2u);       // 0 / 0
  EXPECT_EQ(got.outputs[0].code(1), 0x7E00u);
  EXPECT_EQ(got.outputs[0].code(2), 0x7E00u);
}

// tests: N245
TEST(ModelTraining, AllFiniteCounts) {
  uint64_t seed = 300000;
  for (const DType t : kFloats)
    for (const int64_t n : {0, 1, 63, 64, 200, 100000}) {
      std::vector<Tensor> in;
      in.push_back(random_tensor(t, {n}, Data::kAny, ++seed));
      in.push_back(random_tensor(t, {3, 5}, Data::kWide, ++seed));
      in.push_back(random_tensor(t, {}, Data::kAny, ++seed));
      const Outcome got = run_operation("AllFinite", in, {}, options_of(kModes[1]));
      int64_t all = 0;
      for (size_t k = 0; k < in.size(); ++k) {
        int64_t count = 0;
        for (int64_t i = 0; i < in[k].elements(); ++i) count += !std::isfinite(oracle::model::decode(t, in[k].code(i)));
        EXPECT_EQ(got.outputs[1].value(static_cast<int64_t>(k)), static_cast<double>(count)) << name_of(t) << " " << n;
        all += count;
      }
      EXPECT_EQ(got.outputs[0].code(0), all == 0);
      EXPECT_EQ(got.status, FpStatus{});
    }
}

TEST(ModelTraining, WrongInputsAreNamed) {
  const auto refused = [](const std::string& op, std::vector<TensorType> types, Attributes a) {
    GraphBuilder b;
    std::vector<Port> ports;
    for (const TensorType& t : types) ports.push_back(b.placeholder("in", t.dtype, t.shape));
    return refusal<GraphError>([&] { b.add(op, ports, std::move(a), "w/update"); });
  };
  const TensorType var{kH, Shape{2, 3}}, rate{kF, Shape{}}, apply{DType::kBool, Shape{}};
  const Attributes momentum{{"momentum", 0.9}};
  EXPECT_EQ(refused("ApplyMomentum", {var, {kF, Shape{2, 3}}, rate, {kB, Shape{2, 3}}, apply}, momentum), "");
  EXPECT_EQ(refused("ApplyMomentum", {var, {kF, Shape{3, 2}}, rate, var, apply}, momentum),
            "ApplyMomentum 'w/update': accum is [3,2]; expected [2,3], the shape of var");
  EXPECT_EQ(refused("ApplyMomentum", {var, var, {kF, Shape{1}}, var, apply}, momentum),
            "ApplyMomentum 'w/update': lr is [1]; expected [], a scalar");
  EXPECT_EQ(refused("ApplyMomentum", {var, var, rate, var, apply}, {{"momentum", 1.5}}),
            "ApplyMomentum 'w/update': attribute 'momentum' is 1.5; expected 0 .. 1");
  EXPECT_EQ(
      refused("ApplyRMSProp", {var, var, var, rate, var, apply}, {{"rho", 0.9}, {"momentum", 0.0}, {"epsilon", -1e-8}}),
      "ApplyRMSProp 'w/update': attribute 'epsilon' is -1e-08; expected 0 .. 2^127");
  EXPECT_NE(refused("ApplyAdam", {var, var, {kF, Shape{2, 3}}, rate, rate, var, apply},
                    {{"beta1", 0.9}, {"beta2", 0.999}, {"epsilon", 1e-8}}),
            "");
  EXPECT_NE(refused("ApplyMomentum", {var, var, {kH, Shape{}}, var, apply}, momentum), "");
}

}  // namespace
}  // namespace softamp::test
