// FpUnit: one worker's floating-point unit, with its control, status and PRNG registers; the scalar reference of all
// layers above, and a class to write programs with.
#pragma once

#include "softamp/numerics/behaviour.h"
#include "softamp/numerics/half.h"
#include "softamp/numerics/tile_random.h"

namespace softamp {

/// Control and status registers of a worker, by index.
// implements: N56
enum class Csr : uint32_t {
  kFpSts = 0x100,     ///< $FP_STS: sticky INV, DIV0, OFLO
  kFpClr = 0x101,     ///< $FP_CLR: write 1 to clear the flag of that position; reads 0. Bit 3 (ZAACC) is accepted
  kFpCtl = 0x102,     ///< $FP_CTL: see ControlRegister
  kPrng00 = 0x103,    ///< $PRNG_0_0
  kPrng01 = 0x104,    ///< $PRNG_0_1
  kPrng10 = 0x105,    ///< $PRNG_1_0
  kPrng11 = 0x106,    ///< $PRNG_1_1
  kPrngSeed = 0x107,  ///< $PRNG_SEED: a write seeds all four; reads 0
};

/// What a unit can execute on halves or on floats.
enum class UnitOp : uint8_t { kAdd, kSub, kMul, kDiv, kSqrt, kFma, kRem, kReciprocal, kReciprocalSqrt, kMin, kMax };

/// Operands that an operation takes.
SOFTAMP_INLINE int arity(UnitOp op) {
  switch (op) {
    case UnitOp::kFma: return 3;
    case UnitOp::kSqrt:
    case UnitOp::kReciprocal:
    case UnitOp::kReciprocalSqrt: return 1;
    default: return 2;
  }
}

/// The scalar operation itself, without any unit: codes of format f in, a code and flags out.
constexpr SOFTAMP_HD Rounded evaluate(UnitOp op, const FloatFormat& f, const uint64_t* v, const Semantics& s,
                                      uint32_t random = 0) {
  switch (op) {
    case UnitOp::kAdd: return fp::add(f, v[0], v[1], s, random);
    case UnitOp::kSub: return fp::sub(f, v[0], v[1], s, random);
    case UnitOp::kMul: return fp::mul(f, v[0], v[1], s, random);
    case UnitOp::kDiv: return fp::div(f, v[0], v[1], s, random);
    case UnitOp::kSqrt: return fp::sqrt(f, v[0], s, random);
    case UnitOp::kFma: return fp::fma(f, v[0], v[1], v[2], s, random);
    case UnitOp::kRem: return fp::rem(f, v[0], v[1], s, random);
    case UnitOp::kReciprocal: return fp::reciprocal(f, v[0], s, random);
    case UnitOp::kReciprocalSqrt: return fp::reciprocal_sqrt(f, v[0], s, random);
    case UnitOp::kMin: return fp::minimum(f, v[0], v[1], s);
    case UnitOp::kMax: break;
  }
  return fp::maximum(f, v[0], v[1], s);
}

/// Why a worker stopped: the first operation that raised an enabled flag. No exception where `flags` is 0.
struct UnitException {
  uint8_t flags = 0;                         ///< what that operation raised, over all its lanes
  int lane = 0;                              ///< the lowest lane that raised an enabled flag
  const char* operation = "";                ///< for example "mul"
  FloatFormat format = FloatFormat::fp16();  ///< of the operands
  int operand_count = 0;
  uint64_t operands[3] = {};  ///< of that lane, as codes
};

/// A worker's unit. Half results round to nearest even or, with ESR on, stochastically by the unit's own
/// xoroshiro128aox; float results always to nearest even. Flags are sticky in $FP_STS. An operation that raises an
/// enabled flag still gives its result; `exception()` then reports it until `launch` or `clear_exception`, and
/// findings/exception.h turns it into a C++ exception.
class FpUnit {
 public:
  static constexpr int kLanes = 4;  ///< of a vector operation on halves

  // Templates come first: clang evaluates a constexpr member only if what it calls is already declared.
 private:
  struct Group {
    const char* name;
    FloatFormat format;
    int lanes;
    int arity;
    uint64_t operands[kLanes][3];
    uint64_t results[kLanes] = {};
  };

  static SOFTAMP_INLINE uint32_t bits(float x) { return __builtin_bit_cast(uint32_t, x); }
  static SOFTAMP_INLINE uint32_t prng_word(Csr index) {
    return static_cast<uint32_t>(index) - static_cast<uint32_t>(Csr::kPrng00);
  }
  static SOFTAMP_HD constexpr const char* name(UnitOp op) {
    switch (op) {
      case UnitOp::kAdd: return "add";
      case UnitOp::kSub: return "sub";
      case UnitOp::kMul: return "mul";
      case UnitOp::kDiv: return "div";
      case UnitOp::kSqrt: return "sqrt";
      case UnitOp::kFma: return "fma";
      case UnitOp::kRem: return "rem";
      case UnitOp::kReciprocal: return "reciprocal";
      case UnitOp::kReciprocalSqrt: return "reciprocal_sqrt";
      case UnitOp::kMin: return "min";
      case UnitOp::kMax: break;
    }
    return "max";
  }

  /// Draws for the group where its results are halves that are rounded, evaluates each lane, records the flags.
  template <class Operation>
  SOFTAMP_HD constexpr void run(Group& group, bool rounds_to_half, const Operation& operation) {
    LaneBits random;
    if (rounds_to_half) {
      const TileWork work{static_cast<uint64_t>(group.lanes), semantics_.narrow.stochastic(), switches_};
      random = work.draw(prng_, static_cast<uint32_t>(group.lanes), inexact_lanes(group, operation));
    }
    uint8_t raised = 0, lane_flags[kLanes] = {};
    for (int i = 0; i < group.lanes; ++i) {
      const Rounded r = operation(group.operands[i], semantics_, random.lane[i]);
      group.results[i] = r.code;
      lane_flags[i] = r.flags;
      raised = static_cast<uint8_t>(raised | r.flags);
    }
    record(group, raised, lane_flags);
  }

  /// The lanes whose results will not be exact, where the generator's advance depends on it (`sr_advance`).
  template <class Operation>
  SOFTAMP_HD constexpr uint32_t inexact_lanes(const Group& group, const Operation& operation) const {
    if (switches_.sr_advance == DrawAdvance::kEveryGroup) return 0xF;
    Semantics probe = semantics_;
    probe.narrow.flags = kAllFlags;
    probe.narrow.overflow_flags = kOverflow | kInexact;
    probe.wide.flags = kAllFlags;
    uint32_t lanes = 0;
    for (int i = 0; i < group.lanes; ++i)
      if (operation(group.operands[i], probe, 0).flags & kInexact) lanes |= 1u << i;
    return lanes;
  }

  // implements: N57
  SOFTAMP_HD constexpr void record(const Group& group, uint8_t raised, const uint8_t* lane_flags) {
    const uint8_t enabled = behaviour().enabled_flags();
    status_ |= StatusRegister::encode(switches_.sts_when_disabled ? raised : static_cast<uint8_t>(raised & enabled));
    if (!(raised & enabled) || excepted()) return;
    int lane = 0;
    while (!(lane_flags[lane] & enabled)) ++lane;
    exception_ = UnitException{raised, lane, group.name, group.format, group.arity, {}};
    for (int i = 0; i < group.arity; ++i) exception_.operands[i] = group.operands[lane][i];
  }

  SOFTAMP_HD constexpr bool compare(const char* operation, Half a, Half b, fp::Compared result) {
    const Group group{operation, FloatFormat::fp16(), 1, 2, {{a.bits(), b.bits(), 0}}};
    record(group, result.flags, &result.flags);
    return result.value;
  }

 public:
  /// behaviour  [=all off, the machine's own default]
  /// switches   [=the preset ipu]
  explicit SOFTAMP_HD constexpr FpUnit(const FloatingPointBehaviour& behaviour = FloatingPointBehaviour::all_off(),
                                       const IpuSwitches& switches = {})
      : switches_(switches) {
    set_behaviour(behaviour);
  }

  /// Starts a worker: $FP_CTL = `control` ($FP_ICTL's word), $FP_STS = 0. The generator's state survives.
  /// False, and nothing done, for a word that `put` refuses.
  // implements: N57
  SOFTAMP_HD constexpr bool launch(uint32_t control) {
    if (!put(Csr::kFpCtl, control)) return false;
    status_ = 0;
    clear_exception();
    return true;
  }

  SOFTAMP_HD constexpr FloatingPointBehaviour behaviour() const { return ControlRegister::decode(control_); }
  SOFTAMP_HD constexpr void set_behaviour(const FloatingPointBehaviour& b) {
    put(Csr::kFpCtl, ControlRegister::encode(b));
  }
  SOFTAMP_HD constexpr const IpuSwitches& switches() const { return switches_; }
  SOFTAMP_HD constexpr const Semantics& semantics() const { return semantics_; }

  /// Writes a register. False, and nothing written, for $FP_STS (read only), for bits that the register does not have,
  /// and for a $FP_CTL with RND other than 0, whose encodings are not public (`rnd_modes`).
  SOFTAMP_HD constexpr bool put(Csr index, uint32_t word) {
    switch (index) {
      case Csr::kFpSts: return false;
      case Csr::kFpClr:
        if (word > 15) return false;
        status_ &= ~word;
        return true;
      case Csr::kFpCtl:
        if (!ControlRegister::acceptable(word)) return false;
        control_ = word;
        semantics_ = Semantics::ipu(behaviour(), switches_, RandomEngine::kXoroshiro128aox);
        return true;
      case Csr::kPrngSeed: prng_ = Xoroshiro128aox::from_seed_register(word); return true;
      case Csr::kPrng00:
      case Csr::kPrng01:
      case Csr::kPrng10:
      case Csr::kPrng11: {
        PrngRegisters registers = prng_.registers();
        registers.word[prng_word(index)] = word;
        prng_ = Xoroshiro128aox::from_registers(registers);
        return true;
      }
    }
    return false;
  }

  /// Reads a register; one that is write-only reads 0.
  SOFTAMP_HD constexpr uint32_t get(Csr index) const {
    switch (index) {
      case Csr::kFpSts: return status_;
      case Csr::kFpCtl: return control_;
      case Csr::kPrng00:
      case Csr::kPrng01:
      case Csr::kPrng10:
      case Csr::kPrng11: return prng_.registers().word[prng_word(index)];
      case Csr::kFpClr:
      case Csr::kPrngSeed: break;
    }
    return 0;
  }

  SOFTAMP_HD constexpr const Xoroshiro128aox& prng() const { return prng_; }
  SOFTAMP_HD constexpr void set_prng(const Xoroshiro128aox& state) { prng_ = state; }
  SOFTAMP_HD constexpr uint64_t urand64() { return prng_.urand64(); }
  SOFTAMP_HD constexpr uint32_t urand32() { return prng_.urand32(switches_.urand32_half); }

  SOFTAMP_HD constexpr const UnitException& exception() const { return exception_; }
  SOFTAMP_HD constexpr bool excepted() const { return exception_.flags != 0; }
  SOFTAMP_HD constexpr void clear_exception() { exception_ = UnitException{}; }

  /// One vector operation on 1..4 half lanes: where it rounds stochastically the lanes share the draw of a group.
  /// Operands beyond the operation's arity are not read. `out` may be an operand.
  SOFTAMP_HD constexpr void execute(UnitOp op, int lanes, Half* out, const Half* a, const Half* b = nullptr,
                                    const Half* c = nullptr) {
    Group group{name(op), FloatFormat::fp16(), lanes, arity(op), {}};
    for (int i = 0; i < lanes; ++i) {
      group.operands[i][0] = a[i].bits();
      if (group.arity > 1) group.operands[i][1] = b[i].bits();
      if (group.arity > 2) group.operands[i][2] = c[i].bits();
    }
    const bool rounds = op != UnitOp::kMin && op != UnitOp::kMax;
    run(group, rounds, [op](const uint64_t* v, const Semantics& s, uint32_t random) {
      return evaluate(op, FloatFormat::fp16(), v, s, random);
    });
    for (int i = 0; i < lanes; ++i) out[i] = Half::from_bits(static_cast<uint16_t>(group.results[i]));
  }

  /// One scalar half operation: a group of one lane.
  SOFTAMP_HD constexpr Half execute(UnitOp op, Half a, Half b = Half{}, Half c = Half{}) {
    Half result;
    execute(op, 1, &result, &a, &b, &c);
    return result;
  }

  /// One scalar float operation; never stochastic, draws nothing.
  SOFTAMP_HD constexpr float execute(UnitOp op, float a, float b = 0.0F, float c = 0.0F) {
    Group group{name(op), FloatFormat::fp32(), 1, arity(op), {{bits(a), bits(b), bits(c)}}};
    run(group, false, [op](const uint64_t* v, const Semantics& s, uint32_t random) {
      return evaluate(op, FloatFormat::fp32(), v, s, random);
    });
    return __builtin_bit_cast(float, static_cast<uint32_t>(group.results[0]));
  }

  SOFTAMP_HD constexpr Half add(Half a, Half b) { return execute(UnitOp::kAdd, a, b); }
  SOFTAMP_HD constexpr Half sub(Half a, Half b) { return execute(UnitOp::kSub, a, b); }
  SOFTAMP_HD constexpr Half mul(Half a, Half b) { return execute(UnitOp::kMul, a, b); }
  SOFTAMP_HD constexpr Half div(Half a, Half b) { return execute(UnitOp::kDiv, a, b); }
  SOFTAMP_HD constexpr Half sqrt(Half a) { return execute(UnitOp::kSqrt, a); }
  SOFTAMP_HD constexpr Half fma(Half a, Half b, Half c) { return execute(UnitOp::kFma, a, b, c); }
  SOFTAMP_HD constexpr float add(float a, float b) { return execute(UnitOp::kAdd, a, b); }
  SOFTAMP_HD constexpr float sub(float a, float b) { return execute(UnitOp::kSub, a, b); }
  SOFTAMP_HD constexpr float mul(float a, float b) { return execute(UnitOp::kMul, a, b); }
  SOFTAMP_HD constexpr float div(float a, float b) { return execute(UnitOp::kDiv, a, b); }
  SOFTAMP_HD constexpr float sqrt(float a) { return execute(UnitOp::kSqrt, a); }
  SOFTAMP_HD constexpr float fma(float a, float b, float c) { return execute(UnitOp::kFma, a, b, c); }

  /// f32tof16 on 1..4 lanes.
  SOFTAMP_HD constexpr void to_half(int lanes, Half* out, const float* a) {
    Group group{"f32tof16", FloatFormat::fp32(), lanes, 1, {}};
    for (int i = 0; i < lanes; ++i) group.operands[i][0] = bits(a[i]);
    run(group, true, [](const uint64_t* v, const Semantics& s, uint32_t random) {
      return fp::convert(FloatFormat::fp32(), FloatFormat::fp16(), v[0], s, random);
    });
    for (int i = 0; i < lanes; ++i) out[i] = Half::from_bits(static_cast<uint16_t>(group.results[i]));
  }
  SOFTAMP_HD constexpr Half to_half(float a) {
    Half result;
    to_half(1, &result, &a);
    return result;
  }
  /// f16tof32; exact, draws nothing.
  SOFTAMP_HD constexpr float to_float(Half a) {
    Group group{"f16tof32", FloatFormat::fp16(), 1, 1, {{a.bits(), 0, 0}}};
    run(group, false, [](const uint64_t* v, const Semantics& s, uint32_t) {
      return fp::convert(FloatFormat::fp16(), FloatFormat::fp32(), v[0], s, RoundingPolicy::kStill);
    });
    return __builtin_bit_cast(float, static_cast<uint32_t>(group.results[0]));
  }
  /// f32toi32, nearest even.
  SOFTAMP_HD constexpr int32_t to_int32(float a) {
    Group group{"f32toi32", FloatFormat::fp32(), 1, 1, {{bits(a), 0, 0}}};
    run(group, false,
        [](const uint64_t* v, const Semantics& s, uint32_t) { return fp::to_int32(FloatFormat::fp32(), v[0], s); });
    return static_cast<int32_t>(static_cast<uint32_t>(group.results[0]));
  }

  SOFTAMP_HD constexpr bool equal(Half a, Half b) {
    return compare("cmpeq", a, b, fp::equal(FloatFormat::fp16(), a.bits(), b.bits(), semantics_));
  }
  SOFTAMP_HD constexpr bool less(Half a, Half b) {
    return compare("cmplt", a, b, fp::less(FloatFormat::fp16(), a.bits(), b.bits(), semantics_));
  }
  SOFTAMP_HD constexpr bool less_equal(Half a, Half b) {
    return compare("cmple", a, b, fp::less_equal(FloatFormat::fp16(), a.bits(), b.bits(), semantics_));
  }

 private:
  uint32_t control_ = 0;
  uint32_t status_ = 0;
  Xoroshiro128aox prng_;
  IpuSwitches switches_;
  Semantics semantics_;
  UnitException exception_;
};

}  // namespace softamp
