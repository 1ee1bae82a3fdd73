// One text for every compiler and both sides of CUDA: a walk through all of numerics/, reduced to FNV-1a/64 digests.
//
// The walk is cut into families and chunks; sweep(family, chunk) is a pure function, so that a GPU runs chunks in
// parallel and the digests, folded in order, still equal the host's. Every fp16 code is an operand of every operation
// under every semantics below. What must be equal: g++, clang++, nvcc's host and device passes, any optimisation, any
// -march, contraction on or off (N428).
#pragma once

#include <cinttypes>
#include <cstdio>

#include "softamp/numerics/operations.h"
#include "softamp/numerics/random.h"
#include "softamp/numerics/tile_random.h"
#include "softamp/numerics/unit.h"

#if defined(__CUDACC__)
#define SOFTAMP_SWEEP __host__ __device__ __noinline__
#else
#define SOFTAMP_SWEEP __attribute__((noinline)) inline
#endif

namespace softamp::sweep {

enum Family { kArithmetic, kConversions, kComparisons, kRandom, kUnit, kFamilies };
constexpr int kChunks = 1024;
constexpr uint32_t kCodesPerChunk = 65536 / kChunks;

/// FNV-1a of 64 bits, over the bytes of each value from the lowest.
struct Digest {
  uint64_t hash = 0xCBF29CE484222325u;

  SOFTAMP_HD void add(uint64_t value) {
    for (int byte = 0; byte < 8; ++byte) {
      hash = (hash ^ (value >> (8 * byte) & 0xFF)) * 0x100000001B3u;
    }
  }
  SOFTAMP_HD void add(const Rounded& r) { add(r.code ^ static_cast<uint64_t>(r.flags) << 56); }
  SOFTAMP_HD void add(const fp::Compared& c) { add(static_cast<uint64_t>(c.value) << 8 | c.flags); }
};

SOFTAMP_SWEEP FloatFormat format(int number) {
  switch (number) {
    case 0: return FloatFormat::fp16();
    case 1: return FloatFormat::bf16();
    case 2: return FloatFormat::fp32();
    case 3: return FloatFormat::tf32();
    case 4: return FloatFormat::e4m3();
    case 5: return FloatFormat::e5m2();
    case 6: return FloatFormat::f143();
    case 7: return FloatFormat::f152();
    case 8: return FloatFormat::ieee(3, 5);
    default: return FloatFormat::binary64();
  }
}
constexpr int kComputed = 9, kFormats = 10;  // binary64 is converted from and to, not computed in

SOFTAMP_SWEEP Semantics semantics(int number) {
  constexpr StochasticVariant kVariants[] = {StochasticVariant::kCarry, StochasticVariant::kHalf,
                                             StochasticVariant::kRne, StochasticVariant::kOdd};
  constexpr int kBits[] = {13, 8, 16, 24};
  FloatingPointBehaviour behaviour = FloatingPointBehaviour::all_off();
  if (number < 5) return Semantics::ieee(RoundingPolicy::ieee(static_cast<RoundingMode>(number)));
  if (number < 9) {
    RoundingPolicy policy = RoundingPolicy::stochastic_carry(kBits[number - 5]);
    policy.variant = kVariants[number - 5];
    return Semantics::ieee(policy);
  }
  if (number < 13) {
    behaviour.esr = (number - 9) & 1;
    behaviour.nanoo = (number - 9) >> 1;
    return Semantics::ipu(behaviour, {}, number == 12 ? RandomEngine::kXoroshiro128aox : RandomEngine::kPhilox);
  }
  IpuSwitches other;
  other.half_inf_operand = InfinityOperand::kNextBinade;
  other.overflow_rule = OverflowRule::kHalfway;
  other.nan_pattern = NanPattern::kPropagate;
  other.f2i_range = IntegerRange::kWrap;
  other.f32_overflow_result = F32OverflowResult::kSaturate;
  other.pole_flag = PoleFlag::kInvalid;
  other.f32_daz = other.f32_ftz = false;
  behaviour.esr = true;
  return Semantics::ipu(behaviour, other);
}
constexpr int kSemantics = 14;

/// The fp16 code, or its bits spread over a wider or folded into a narrower format.
SOFTAMP_SWEEP uint64_t operand(const FloatFormat& f, uint32_t code, uint32_t salt) {
  if (f == FloatFormat::fp16()) return (code + salt * 0x9E37u) & 0xFFFFu;
  uint64_t spread = (uint64_t{code} + 1) * 0x9E3779B97F4A7C15u + salt * 0xD1B54A32D192ED03u;
  spread ^= spread >> 29;
  return (salt & 1 ? spread >> 7 : spread) & f.code_mask();
}

// Apart from the loops around them, lest they be unrolled: compilation for the device would take minutes.
SOFTAMP_SWEEP Rounded to_integral(const FloatFormat& f, uint64_t a, const Semantics& s, bool exact, uint32_t random) {
  return fp::round_to_integral(f, a, s, exact, random);
}
constexpr int kOperations = static_cast<int>(UnitOp::kMax) + 1;

SOFTAMP_SWEEP uint64_t sweep_arithmetic(uint32_t first) {
  Digest digest;
  const RandomBits source{first};
  for (uint32_t code = first; code < first + kCodesPerChunk; ++code) {
    // fp16 under every semantics, one other format in turn.
    for (int k = 0; k < 2 * kSemantics; ++k) {
      const int number = k % kSemantics;
      const int other = 1 + static_cast<int>((code + static_cast<uint32_t>(k)) % (kComputed - 1));
      const FloatFormat f = format(k < kSemantics ? 0 : other);
      const Semantics s = semantics(number);
      const uint64_t operands[3] = {operand(f, code, 0), operand(f, code, 1), operand(f, code, 2)};
      const uint32_t random = source.bits(0, static_cast<uint32_t>(number), code, 32);
      for (int operation = 0; operation < kOperations; ++operation)
        digest.add(evaluate(static_cast<UnitOp>(operation), f, operands, s, random));
      digest.add(to_integral(f, operands[0], s, (code & 1) != 0, random));
    }
  }
  return digest.hash;
}

SOFTAMP_SWEEP Rounded conversion(const FloatFormat& from, const FloatFormat& to, uint64_t code, const Semantics& s,
                                 uint32_t random) {
  return fp::convert(from, to, code, s, random);
}

SOFTAMP_SWEEP uint64_t sweep_conversions(uint32_t first) {
  Digest digest;
  for (uint32_t code = first; code < first + kCodesPerChunk; ++code) {
    const Semantics s = semantics(static_cast<int>(code % kSemantics));
    for (int i = 0; i < kFormats; ++i) {
      const FloatFormat from = format(i);
      const uint64_t x = operand(from, code, static_cast<uint32_t>(i));
      const uint32_t random = RandomBits{code}.bits(1, 0, static_cast<uint64_t>(i), 32);
      for (int j = 0; j < kFormats; ++j) digest.add(conversion(from, format(j), x, s, random));
      digest.add(fp::to_int32(from, x, s, (code & 1) != 0, random));
      digest.add(fp::from_int32(static_cast<int32_t>(random), from, s, random));
      const double value = fp::to_double(from, x);
      if (!from.is_nan(x)) digest.add(__builtin_bit_cast(uint64_t, value));
    }
  }
  return digest.hash;
}

SOFTAMP_SWEEP uint64_t sweep_comparisons(uint32_t first) {
  Digest digest;
  for (uint32_t code = first; code < first + kCodesPerChunk; ++code) {
    for (int k = 0; k < kSemantics; ++k) {
      const FloatFormat f = format(k % kComputed);
      const Semantics s = semantics(k);
      const uint64_t a = operand(f, code, 0), b = operand(f, code, 3 + code % 2);
      digest.add(fp::equal(f, a, b, s));
      digest.add(fp::equal_signaling(f, a, b, s));
      digest.add(fp::less(f, a, b, s));
      digest.add(fp::less_quiet(f, a, b, s));
      digest.add(fp::less_equal(f, a, b, s));
      digest.add(fp::less_equal_quiet(f, a, b, s));
      digest.add(fp::maximum(f, a, b, s));
      digest.add(static_cast<uint64_t>(fp::classify(f, a, s)));
    }
  }
  return digest.hash;
}

SOFTAMP_SWEEP uint64_t sweep_random(uint32_t first) {
  Digest digest;
  for (uint32_t code = first; code < first + kCodesPerChunk; ++code) {
    const RandomBits ten{code * 0x9E3779B97F4A7C15u}, seven{code, 7, code & 0xFF};
    for (int r = 1; r <= 32; ++r) {
      const uint32_t step = static_cast<uint32_t>(r);
      digest.add(ten.bits(code, step, uint64_t{code} << r, r) ^ uint64_t{seven.bits(step, 0, code, r)} << 32);
    }
    Xoroshiro128aox generator = Xoroshiro128aox::for_worker(code * 0xD1B54A32D192ED03u, code, code, code % 6);
    for (int draw = 0; draw < 8; ++draw) digest.add(generator());
    IpuSwitches switches;
    switches.sr_lane_map = static_cast<LaneMap>(code % 3);
    switches.work_split = static_cast<WorkSplit>(code / 3 % 3);
    switches.sr_tail = static_cast<TailDraws>(code / 9 % 2);
    const TileWork work{13 + code % 8, true, switches};
    TileRandom tile = TileRandom::from_seed(code);
    for (uint64_t group = 0; group < work.groups(); ++group) {
      const LaneBits lanes = tile.draw(work, group);
      for (const uint32_t lane : lanes.lane) digest.add(lane);
    }
  }
  return digest.hash;
}

SOFTAMP_SWEEP void unit_operation(FpUnit& unit, UnitOp op, int lanes, Half* out, const Half* a, const Half* b,
                                  const Half* c) {
  unit.execute(op, lanes, out, a, b, c);
}
SOFTAMP_SWEEP Half half_arithmetic(Half a, Half b) { return a * b - b / a; }

/// Half arithmetic, fixed point, and one unit per chunk: registers, draws and the first exception included.
SOFTAMP_SWEEP uint64_t sweep_unit(uint32_t first) {
  Digest digest;
  const uint32_t chunk = first / kCodesPerChunk;
  FloatingPointBehaviour behaviour{true, true, true, (chunk & 1) != 0, (chunk & 2) != 0};
  IpuSwitches switches;
  switches.sr_advance = chunk & 4 ? DrawAdvance::kOnlyWhenInexact : DrawAdvance::kEveryGroup;
  switches.sr_lane_map = static_cast<LaneMap>(chunk / 8 % 3);
  FpUnit unit(behaviour, switches);
  unit.put(Csr::kPrngSeed, chunk);
  for (uint32_t code = first; code < first + kCodesPerChunk; ++code) {
    Half a[4], b[4], c[4], out[4];
    for (uint32_t lane = 0; lane < 4; ++lane) {
      a[lane] = Half::from_bits(static_cast<uint16_t>(code + lane));
      b[lane] = Half::from_bits(static_cast<uint16_t>(operand(FloatFormat::fp16(), code, lane + 1)));
      c[lane] = half_arithmetic(a[lane], b[lane]);
    }
    for (const UnitOp op : {UnitOp::kAdd, UnitOp::kSub, UnitOp::kMul, UnitOp::kDiv, UnitOp::kSqrt, UnitOp::kFma}) {
      unit_operation(unit, op, 1 + static_cast<int>(code % 4), out, a, b, c);
      for (uint32_t lane = 0; lane < 1 + code % 4; ++lane) digest.add(out[lane].bits());
    }
    const float wide = unit.to_float(a[0]) + static_cast<float>(code);
    digest.add(unit.to_half(wide).bits());
    digest.add(static_cast<uint64_t>(static_cast<uint32_t>(unit.to_int32(wide))));
    digest.add(c[0].bits() | static_cast<uint64_t>(a[0] == b[0]) << 16 | uint64_t{unit.get(Csr::kFpSts)} << 17);
    const RoundedInteger fixed =
        round_to_fixed({-12, -32768, 32767}, {(code & 1) != 0, -20, operand(FloatFormat::fp32(), code, 5)},
                       semantics(static_cast<int>(code % 9)).narrow, unit.urand32());
    digest.add(static_cast<uint64_t>(fixed.value) << 8 | fixed.flags);
  }
  digest.add(unit.exception().operands[0] | uint64_t{unit.exception().flags} << 32);
  for (const uint32_t word : unit.prng().registers().word) digest.add(word);
  return digest.hash;
}

/// The digest of one chunk (0 .. kChunks - 1) of one family.
SOFTAMP_SWEEP uint64_t sweep(int family, uint32_t chunk) {
  const uint32_t first = chunk * kCodesPerChunk;
  switch (family) {
    case kArithmetic: return sweep_arithmetic(first);
    case kConversions: return sweep_conversions(first);
    case kComparisons: return sweep_comparisons(first);
    case kRandom: return sweep_random(first);
    default: return sweep_unit(first);
  }
}

inline const char* family_name(int family) {
  constexpr const char* kNames[] = {"arithmetic", "conversions", "comparisons", "random", "unit"};
  return kNames[family];
}

/// The whole sweep of one family on the host.
// tests: N428
inline uint64_t family_digest(int family) {
  Digest digest;
  for (uint32_t chunk = 0; chunk < kChunks; ++chunk) digest.add(sweep(family, chunk));
  return digest.hash;
}

/// One line per family: its name and digest.
inline void print_digests() {
  for (int family = 0; family < kFamilies; ++family)
    std::printf("%-12s %016" PRIx64 "\n", family_name(family), family_digest(family));
}

}  // namespace softamp::sweep
