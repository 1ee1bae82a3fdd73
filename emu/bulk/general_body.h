// The general kernels: any plan. A group of 64 elements goes through its stages in the first-level cache.
#pragma once

#include "emu/bulk/arithmetic_body.h"
#include "emu/bulk/kernels.h"
#include "emu/bulk/philox_body.h"
#include "emu/bulk/round_body.h"
#include "emu/bulk/widen_body.h"

namespace softamp::emu {
namespace {

/// Calls body(first element, numbers) for each group of the slice; numbers is null if none are drawn.
template <Random kRandom, class Body>
SOFTAMP_LANES void for_groups(const RandomPlan& random, const Slice& slice, int random_bits, const Body& body) {
  if constexpr (kRandom == Random::kNone) {
    for (size_t i = 0; i < slice.count; i += kGroup) body(i, nullptr);
  } else {
    RandomStrip<kRandom == Random::k32> strip(random, slice, random_bits);
    constexpr size_t kStrip = decltype(strip)::kElements;
    for (size_t begin = 0; begin < slice.count; begin += kStrip) {
      const size_t count = slice.count - begin < kStrip ? slice.count - begin : kStrip;
      strip.fill(begin, count);
      for (size_t i = 0; i < count; i += kGroup) body(begin + i, strip.at(i));
    }
  }
}

/// Writes the codes, or their values.
SOFTAMP_LANES void emit(const uint32_t* codes, Element to, Widener& values, void* out, size_t i) {
  char* target = static_cast<char*>(out) + i * size_of(to);
  if (to == Element::kF32)
    values.group(codes, to, target);
  else
    store_codes(codes, to, target);
}

/// fp32 to binary64 with the operand flush of the plan.
SOFTAMP_LANES void to_f64(const RoundPlan& p, const void* in, double* out) {
  for (size_t i = 0; i < kGroup; i += sizeof(F64) / 8) {
    U32of64 u = load<U32of64>(static_cast<const char*>(in) + 4 * i);
    U32of64 magnitude = u & 0x7FFFFFFFu, sign = u & 0x80000000u;
    if (p.operand_flush_below) {
      const U32of64 flushed = (U32of64)(magnitude - 1 < p.operand_flush_below - 1);
      magnitude &= ~flushed;
      sign &= ~flushed | p.operand_flush_sign;
    }
    // By integers for NaNs: the conversion would make them quiet.
    const U32of64 nan = (U32of64)(magnitude > 0x7F800000u);
    const U64 payload = widened(magnitude & 0x7FFFFFu & nan) << 29;
    const F64 value = widened((F32of64)((magnitude & ~nan) | (nan & 0x7F800000u) | sign));
    store(out + i, (U64)value | payload);
  }
}

template <class L, Random kRandom>
uint8_t round_groups(const RoundPlan& plan, const RandomPlan& random, Element from, Element to, const Slice& slice,
                     uint8_t wanted) {
  Rounder<L, kRandom> rounder(plan, wanted);
  Widener values(plan.values);
  for_groups<kRandom>(random, slice, plan.random_bits, [&](size_t i, const void* numbers) {
    alignas(64) double widened[kGroup];
    alignas(64) uint32_t codes[kGroup];
    const void* source = static_cast<const char*>(slice.in[0]) + i * size_of(from);
    if (L::kBits == 64 && from == Element::kF32) {
      to_f64(plan, source, widened);
      source = widened;
    }
    rounder.group(source, numbers, codes);
    emit(codes, to, values, slice.out, i);
  });
  return rounder.flags();
}

uint8_t round_general(const RoundPlan& plan, const RandomPlan& random, Element from, Element to, const Slice& slice,
                      uint8_t wanted) {
  const bool wide_numbers = plan.random_bits > 16;
  if (from == Element::kF32 && plan.lanes32) {
    if (!plan.stochastic) return round_groups<Lanes32, Random::kNone>(plan, random, from, to, slice, wanted);
    return (wide_numbers ? round_groups<Lanes32, Random::k32> : round_groups<Lanes32, Random::k16>)(plan, random, from,
                                                                                                    to, slice, wanted);
  }
  if (!plan.stochastic) return round_groups<Lanes64, Random::kNone>(plan, random, from, to, slice, wanted);
  return (wide_numbers ? round_groups<Lanes64, Random::k32> : round_groups<Lanes64, Random::k16>)(plan, random, from,
                                                                                                  to, slice, wanted);
}

uint8_t widen_general(const WidenPlan& plan, Element from, Element to, const Slice& slice, uint8_t) {
  Widener widener(plan);
  for (size_t i = 0; i < slice.count; i += kGroup) {
    alignas(64) uint32_t codes[kGroup];
    load_codes(static_cast<const char*>(slice.in[0]) + i * size_of(from), from, codes);
    widener.group(codes, to, static_cast<char*>(slice.out) + i * size_of(to));
  }
  return widener.flags();
}

/// Arithmetic on one slice, group by group.
template <Random kRandom>
class GeneralArithmetic {
 public:
  GeneralArithmetic(const ArithmeticPlan& plan, const RandomPlan& random, const Slice& slice, uint8_t wanted)
      : plan_(plan), random_(random), slice_(slice), rounder_(plan.round, wanted) {}

  [[gnu::noinline]] void group(size_t i, const void* numbers) {
    const char* in[3];
    for (int k = 0; k < 3; ++k) in[k] = slice_.in[k] ? static_cast<const char*>(slice_.in[k]) + 2 * i : nullptr;
    alignas(64) double values[kGroup];
    alignas(64) uint32_t codes[kGroup];
    uint64_t special = exact_values(plan_, in, values);
    rounder_.group(values, numbers, codes);
    for (; special; special &= special - 1) {
      const size_t lane = static_cast<size_t>(__builtin_ctzll(special));
      const Rounded r = reference_lane(plan_, random_, slice_, i + lane);
      codes[lane] = static_cast<uint32_t>(r.code);
      flags_ |= r.flags;
    }
    store_codes(codes, Element::kU16, static_cast<char*>(slice_.out) + 2 * i);
  }
  uint8_t flags() const { return flags_ | rounder_.flags(); }

 private:
  const ArithmeticPlan& plan_;
  const RandomPlan& random_;
  const Slice& slice_;
  Rounder<Lanes64, kRandom> rounder_;
  uint8_t flags_ = 0;
};

template <Random kRandom>
uint8_t arithmetic_groups(const ArithmeticPlan& plan, const RandomPlan& random, const Slice& slice, uint8_t wanted) {
  GeneralArithmetic<kRandom> general(plan, random, slice, wanted);
  for_groups<kRandom>(random, slice, plan.round.random_bits,
                      [&](size_t i, const void* numbers) { general.group(i, numbers); });
  return general.flags();
}

uint8_t arithmetic_general(const ArithmeticPlan& plan, const RandomPlan& random, const Slice& slice, uint8_t wanted) {
  if (!plan.round.stochastic) return arithmetic_groups<Random::kNone>(plan, random, slice, wanted);
  return (plan.round.random_bits > 16 ? arithmetic_groups<Random::k32> : arithmetic_groups<Random::k16>)(plan, random,
                                                                                                         slice, wanted);
}

}  // namespace
}  // namespace softamp::emu
