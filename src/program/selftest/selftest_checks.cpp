#include "src/program/selftest/selftest_checks.h"
#include "src/program/selftest/known_carries.h"

#include "softamp/numerics/operations.h"
#include "softamp/numerics/random.h"
#include "softamp/numerics/unit.h"
#include "softamp/sums/running_sum.h"

#include <cstdio>

namespace softamp::program {
namespace {

// Random123's known-answer file: rounds, counter, key, result.
std::string check_philox() {
  constexpr uint32_t kOnes = 0xffffffff;
  const struct {
    int rounds;
    RandomBlock counter;
    PhiloxKey key;
    RandomBlock result;
  } rows[] = {
      {10, {{0, 0, 0, 0}}, {{0, 0}}, {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}}},
      {10, {{kOnes, kOnes, kOnes, kOnes}}, {{kOnes, kOnes}}, {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}}},
      {10,
       {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}},
       {{0xa4093822, 0x299f31d0}},
       {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}},
      {7, {{0, 0, 0, 0}}, {{0, 0}}, {{0x5f6fb709, 0x0d893f64, 0x4f121f81, 0x4f730a48}}},
      {7, {{kOnes, kOnes, kOnes, kOnes}}, {{kOnes, kOnes}}, {{0x5207ddc2, 0x45165e59, 0x4d8ee751, 0x8c52f662}}},
      {7,
       {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}},
       {{0xa4093822, 0x299f31d0}},
       {{0x4dfccaba, 0x190a87f0, 0xc47362ba, 0xb6b5242a}}},
  };
  for (const auto& row : rows) {
    const RandomBlock found = philox4x32(row.counter, row.key, row.rounds);
    for (int i = 0; i < 4; ++i) {
      const std::string what = "philox4x32-" + std::to_string(row.rounds) + " word " + std::to_string(i);
      if (found.word[i] != row.result.word[i]) return difference(what, found.word[i], row.result.word[i]);
    }
  }
  return "";
}

std::string check_addresses() {
  const uint32_t lanes[8] = {0xa2a1, 0x8821, 0x7414, 0xdeb2, 0xd51e, 0xe01e, 0xac84, 0x44d5};
  for (uint32_t i = 0; i < 8; ++i) {
    const uint32_t found = RandomBits{42}.bits(1, 7, i, 16);
    if (found != lanes[i])
      return difference("seed 42, step 1, operation 7, index " + std::to_string(i), found, lanes[i]);
  }
  const RandomBlock far = RandomBits{0x123456789abcdef0u}.block(1, 7, 0x100000005u);
  const RandomBlock expected{{0x444b1a37, 0x683e6366, 0x805c36e1, 0x27a7e72a}};
  for (int i = 0; i < 4; ++i)
    if (far.word[i] != expected.word[i]) return difference("block 0x100000005", far.word[i], expected.word[i]);
  return "";
}

std::string check_xoroshiro() {
  const struct {
    Xoroshiro128aox start;
    uint64_t outputs[3];
  } rows[] = {
      {{1, 2}, {0x0000000000000003, 0x008000300000c003, 0x013840e038000363}},
      {{1, 0}, {0x0000000000000001, 0x0080001000004001, 0x0018406018000121}},
      {{0x0123456789abcdef, 0xfedcba9876543210}, {0xffffffffffffffff, 0xf77c0992a3a0e991, 0x92c55b7bdf804d24}},
      {Xoroshiro128aox::from_seed_register(0xdeadbeef), {0x697c5ca6164f8239, 0x9f53f58c1eb3d820, 0x9569e9df28831450}},
      {Xoroshiro128aox::for_worker(42, 0, 0, 0), {0x69f82be22788e9e3, 0xfd828e505a80ef4d, 0x37a61e3b4f130b53}},
      {Xoroshiro128aox::for_worker(uint64_t{1} << 32 | 42, 7, 1471, 5),
       {0x1e6968f3f1933ee5, 0xad8d5bab12eaae01, 0xc8d2be1422a95178}},
  };
  for (const auto& row : rows) {
    Xoroshiro128aox generator = row.start;
    for (const uint64_t expected : row.outputs) {
      const uint64_t found = generator();
      if (found != expected) return difference("xoroshiro128aox", found, expected);
    }
  }
  Xoroshiro128aox jumped{1, 2};
  jumped.jump(uint64_t{1} << 32);
  if (jumped.s0 != 0x6f7f00c49da17e45u) return difference("state after 2^32 draws", jumped.s0, 0x6f7f00c49da17e45u);
  return "";
}

std::string check_stochastic_rounding() {
  RoundingPolicy policy = RoundingPolicy::stochastic_carry(13);
  policy.nan = NanPattern::kAllOnes;
  for (const KnownCarry& row : kKnownCarries)
    for (const Overflow overflow : {Overflow::kInfinity, Overflow::kNan, Overflow::kSaturate}) {
      policy.overflow = overflow;
      const uint64_t found = fp::convert(kFp32, kFp16, row.x, Semantics::ieee(policy), row.random).code;
      const uint16_t expected = overflow == Overflow::kInfinity ? row.infinity
                                : overflow == Overflow::kNan    ? row.nan
                                                                : row.saturated;
      if (found != expected) return difference("stochastic rounding of 0x" + std::to_string(row.x), found, expected);
    }
  return "";
}

// Four lanes of f32tof16 at a time, drawing from $PRNG_SEED = 0xdeadbeef, default switches, nanoo off.
std::string check_unit_lanes() {
  FpUnit unit(FloatingPointBehaviour{false, false, false, true, false});
  unit.put(Csr::kPrngSeed, 0xdeadbeef);
  const struct {
    float in[4];
    uint16_t out[4];
    uint32_t status;
  } rows[] = {
      {{1 + 0x1p-11F, 1 + 0x1p-11F, 1 + 0x1p-11F, 1 + 0x1p-11F}, {0x3c01, 0x3c00, 0x3c00, 0x3c00}, 0},
      {{65520, 65520, -65520, 65504}, {0x7bff, 0x7bff, 0xfbff, 0x7bff}, StatusRegister::kOflo},
      {{0x1p-25F, -0x1p-25F, 0x1.8p-25F, 0x1p-24F}, {0x0000, 0x8000, 0x0001, 0x0001}, StatusRegister::kOflo},
      {{1 + 0x1.8p-11F, -1 - 0x1p-12F, 2049, 1.0F / 3}, {0x3c01, 0xbc00, 0x6801, 0x3555}, StatusRegister::kOflo},
  };
  for (const auto& row : rows) {
    Half out[4];
    unit.to_half(4, out, row.in);
    for (int i = 0; i < 4; ++i)
      if (out[i].bits() != row.out[i]) return difference("lane " + std::to_string(i), out[i].bits(), row.out[i]);
    if (unit.get(Csr::kFpSts) != row.status) return difference("$FP_STS", unit.get(Csr::kFpSts), row.status);
  }
  return "";
}

// What a device does with each exception: result and flags, overflow saturating and as NaN.
std::string check_unit_exceptions() {
  const struct {
    UnitOp op;
    uint16_t a, b, off, nanoo;
    uint32_t status_off, status_nanoo;
  } rows[] = {
      {UnitOp::kMul, 0x7b53, 0x7b53, 0x7bff, 0x7e00, 4, 5},   // 60000 * 60000
      {UnitOp::kMul, 0x70e2, 0xf0e2, 0xfbff, 0x7e00, 4, 5},   // 10000 * -10000
      {UnitOp::kDiv, 0x70e2, 0x0000, 0x7e00, 0x7e00, 2, 3},   // 10000 / 0
      {UnitOp::kDiv, 0x0000, 0x0000, 0x7e00, 0x7e00, 1, 1},   // 0 / 0
      {UnitOp::kSub, 0x7c00, 0x7c00, 0x7e00, 0x7e00, 1, 1},   // Inf - Inf
      {UnitOp::kSqrt, 0xbc00, 0x0000, 0x7e00, 0x7e00, 1, 1},  // sqrt(-1)
      {UnitOp::kAdd, 0x7e00, 0x3c00, 0x7e00, 0x7e00, 1, 1},   // a quiet NaN
      {UnitOp::kAdd, 0x3c00, 0x1000, 0x3c00, 0x3c00, 0, 0},   // inexact: no such flag
  };
  for (const auto& row : rows)
    for (const bool nanoo : {false, true}) {
      FpUnit unit(FloatingPointBehaviour{false, false, false, false, nanoo});
      const Half result = unit.execute(row.op, Half::from_bits(row.a), Half::from_bits(row.b));
      const uint16_t expected = nanoo ? row.nanoo : row.off;
      if (result.bits() != expected)
        return difference("result of operands " + std::to_string(row.a), result.bits(), expected);
      const uint32_t status = nanoo ? row.status_nanoo : row.status_off;
      if (unit.get(Csr::kFpSts) != status) return difference("$FP_STS", unit.get(Csr::kFpSts), status);
    }
  return "";
}

// 0.0001, that is 1678 * 2^-24 in fp16, added 10000 times.
RunningSumSetup swamping_sum(const RoundingPolicy& policy, uint64_t replicas) {
  RunningSumSetup setup;
  setup.semantics = Semantics::ieee(policy);
  setup.addend = 0x068e;
  setup.count = 10000;
  setup.replicas = replicas;
  return setup;
}

std::string check_swamping() {
  const RunningSum nearest = running_sum(swamping_sum({}, 1));
  if (nearest.codes[0] != 0x3400) return difference("nearest sum", nearest.codes[0], 0x3400);
  if (nearest.last_change[0] != 2181) return difference("last addition that moves it", nearest.last_change[0], 2181);
  return "";
}

std::string check_stochastic_sums() {
  const uint16_t philox[20] = {0x3c11, 0x3b99, 0x3be3, 0x3bee, 0x3c09, 0x3c01, 0x3c09, 0x3bc2, 0x3c06, 0x3c02,
                               0x3c0a, 0x3bd8, 0x3bfc, 0x3c02, 0x3bdc, 0x3c09, 0x3bf9, 0x3be4, 0x3c11, 0x3be2};
  const RunningSum sums = running_sum(swamping_sum(RoundingPolicy::stochastic_carry(13), 20));
  for (size_t i = 0; i < 20; ++i)
    if (sums.codes[i] != philox[i]) return difference("replica " + std::to_string(i), sums.codes[i], philox[i]);

  const uint16_t hardware[4] = {0x3bf0, 0x3c01, 0x3c00, 0x3c12};
  RunningSumSetup setup = swamping_sum(RoundingPolicy::stochastic_carry(16), 4);
  setup.engine = RandomEngine::kXoroshiro128aox;
  setup.seed = 42;
  const RunningSum lanes = running_sum(setup);
  for (size_t i = 0; i < 4; ++i)
    if (lanes.codes[i] != hardware[i]) return difference("lane " + std::to_string(i), lanes.codes[i], hardware[i]);
  return "";
}

// Every half through fp32 and binary64 and back, in every mode: exact, without a flag.
std::string check_round_trips() {
  for (const RoundingMode mode :
       {RoundingMode::kNearestEven, RoundingMode::kNearestAway, RoundingMode::kTowardZero, RoundingMode::kUp,
        RoundingMode::kDown, RoundingMode::kOdd, RoundingMode::kStochastic})
    for (const FloatFormat& by_way_of : {kFp32, kBinary64})
      for (uint32_t code = 0; code < 65536; ++code) {
        const Semantics s = Semantics::ieee(RoundingPolicy::ieee(mode));
        const uint64_t expected = kFp16.is_nan(code) ? 0x7e00 : code;
        const Rounded wide = fp::convert(kFp16, by_way_of, code, s, 0xffffffff);
        const Rounded back = fp::convert(by_way_of, kFp16, wide.code, s, 0xffffffff);
        if (back.code != expected) return difference("half", back.code, expected);
        const uint8_t flags = kFp16.is_signaling_nan(code) ? kInvalid : 0;
        if ((wide.flags | back.flags) != flags) return difference("flags of a half", wide.flags | back.flags, flags);
      }
  return "";
}

}  // namespace

std::string difference(const std::string& what, unsigned long long found, unsigned long long expected) {
  char text[64];
  std::snprintf(text, sizeof text, ": found 0x%llx, expected 0x%llx", found, expected);
  return found == expected ? "" : what + text;
}

std::vector<SelftestCheck> known_answer_checks() {
  return {
      {"Philox4x32, 10 and 7 rounds: Random123's known answers", check_philox},
      {"addresses of random bits: seed, step, operation, index", check_addresses},
      {"xoroshiro128aox: outputs, seeding, jump by 2^32", check_xoroshiro},
      {"stochastic rounding, 13 bits, to fp16 under three overflow rules", check_stochastic_rounding},
      {"the unit's conversion of four lanes with $PRNG_SEED 0xdeadbeef", check_unit_lanes},
      {"the unit's exceptions: results and $FP_STS, nanoo off and on", check_unit_exceptions},
      {"all 65536 halves through fp32 and binary64 and back, seven modes", check_round_trips},
      {"0.0001 added 10000 times, nearest: 0.25 from addition 2181 on", check_swamping},
      {"the same, stochastic: 20 replicas with Philox, 4 lanes of tile 0", check_stochastic_sums},
  };
}

}  // namespace softamp::program
