// The forms of emu/elementwise/elementwise.h for the vector of this translation unit.
#pragma once

#include "emu/bulk/philox_body.h"
#include "emu/elementwise/elementwise.h"
#include "emu/elementwise/elementwise_codes.h"
#include "emu/elementwise/elementwise_moves.h"

namespace softamp::emu {
namespace {

// How a form reads 64 elements as fp32 lanes.
struct FromFp16 {
  static constexpr size_t kBytes = 2;
  static SOFTAMP_LANES F32 at(const char* p, const LaneParameters&) { return widen_fp16(p); }
};
struct FromBf16 {
  static constexpr size_t kBytes = 2;
  static SOFTAMP_LANES F32 at(const char* p, const LaneParameters&) { return widen_bf16(p); }
};
struct FromFp32 {
  static constexpr size_t kBytes = 4;
  static SOFTAMP_LANES F32 at(const char* p, const LaneParameters& c) {
    return (F32)flushed(load<U32>(p), c.flush_below, c.flush_sign);
  }
};

template <Elementwise kOp>
SOFTAMP_LANES F32 value_of(F32 a, F32 b, const LaneParameters& c) {
  if constexpr (kOp == Elementwise::kAdd) return a + b;
  if constexpr (kOp == Elementwise::kSub) return a - b;
  if constexpr (kOp == Elementwise::kMul) return a * b;
  if constexpr (kOp == Elementwise::kDiv) return a / b;
  if constexpr (kOp == Elementwise::kSquare) return a * a;
  if constexpr (kOp == Elementwise::kSqrt) return root(a);
  if constexpr (kOp == Elementwise::kReciprocal) return 1.0f / a;
  if constexpr (kOp == Elementwise::kRsqrt) return 1.0f / root(a);
  if constexpr (kernel::is_fp32_inside(kOp)) return kernel::fp32_formula<kOp>(Lane32{a}, Lane32{b}, c.alpha).v;
}

/// The fp32 result; `rare` marks lanes that may be rounded wrongly.
template <Elementwise kOp, bool kFinal>
SOFTAMP_LANES U32 result_of(F32 x, F32 y, const LaneParameters& c, [[maybe_unused]] U32& rare) {
  // Only the IPU preset, for narrow formats, rounds root and quotient to fp32 each.
  if constexpr (kOp == Elementwise::kRsqrt && kFinal)
    return reciprocal_root(x, rare);
  else
    return (U32)value_of<kOp>(x, y, c);
}

/// fp32 results of fp32 lanes; where kFinal, results of the operation, else values to be rounded later.
template <Elementwise kOp, class In, bool kFinal, bool kStream>
uint64_t fp32_groups(const LaneCall& call) {
  LaneParameters c = *call.parameters;
  if constexpr (!kFinal) c.nan = 0x7FC00000u;  // a value, which the rounding makes the format's NaN
  constexpr int kOperands = kernel::operand_count(kOp);
  const char* const a = static_cast<const char*>(call.in[0]);
  const char* const b = static_cast<const char*>(call.in[1]);
  char* const out = static_cast<char*>(call.out);
  // The greatest finite number is rare, too: a rule may count it among the overflows.
  constexpr int32_t kRareFrom = 0x7F7FFFFF;
  const auto second = [&](size_t i, F32 x)
                          SOFTAMP_ALWAYS { return kOperands == 2 ? In::at(b + i * In::kBytes, c) : x; };
  const auto look_closer = [&](size_t g) {
    SeenLanes seen;
    for (size_t i = g; i < g + kGroup; i += kLanes32) {
      const F32 x = In::at(a + i * In::kBytes, c), y = second(i, x);
      const U32 value = result_of<kOp, kFinal>(x, y, c, seen.rare);
      const U32 right = detailed(value, infinite_lanes(x) | infinite_lanes(y), c, seen);
      store(out + 4 * i, flushed(right, c.result_flush_below, c.result_flush_sign));
    }
    return seen.settle(call, g);
  };
  return each_group<kStream, kOperands, In::kBytes>(call, [&](size_t g) SOFTAMP_ALWAYS {
    U32 rare = {};
    SOFTAMP_UNROLLED for (size_t i = g; i < g + kGroup; i += kLanes32) {
      const F32 x = In::at(a + i * In::kBytes, c), y = second(i, x);
      const U32 value = result_of<kOp, kFinal>(x, y, c, rare);
      rare |= (U32)((I32)(value & 0x7FFFFFFFu) >= kRareFrom);
      put_vector<kStream && kFinal>(out + 4 * i, flushed(value, c.result_flush_below, c.result_flush_sign));
    }
    return any(rare) && (!call.suspects || look_closer(g));
  });
}

template <Elementwise kOp, bool kStream>
uint64_t bf16_groups(const LaneCall& call) {
  const LaneParameters c = *call.parameters;
  constexpr int kOperands = kernel::operand_count(kOp);
  const char* const a = static_cast<const char*>(call.in[0]);
  const char* const b = static_cast<const char*>(call.in[1]);
  char* const out = static_cast<char*>(call.out);
  const auto value = [&](size_t i) SOFTAMP_ALWAYS {
    const F32 x = widen_bf16(a + 2 * i), y = kOperands == 2 ? widen_bf16(b + 2 * i) : x;
    return flushed((U32)value_of<kOp>(x, y, c), c.result_flush_below, c.result_flush_sign);
  };
  return each_group<kStream, kOperands, 2>(call, [&](size_t g) SOFTAMP_ALWAYS {
    U32 rare = {};
    const auto code = [&](size_t i) SOFTAMP_ALWAYS {
      const U32 v = value(i);
      rare |= (U32)((I32)(v & 0x7FFFFFFFu) >= kRareBf16);
      return nearest_bf16(v);
    };
    SOFTAMP_UNROLLED for (size_t i = g; i < g + kGroup; i += 2 * kLanes32)
        put_vector<kStream>(out + 2 * i, pack16(code(i), code(i + kLanes32)));
    if (!any(rare)) [[likely]]
      return false;
    if (!call.suspects) return true;
    SeenLanes seen;
    for (size_t i = g; i < g + kGroup; i += 2 * kLanes32)
      store(out + 2 * i, pack16(detailed_bf16(value(i), c, seen), detailed_bf16(value(i + kLanes32), c, seen)));
    return seen.settle(call, g);
  });
}

/// Binary64 rounded to odd.
template <Elementwise kOp, class In>
uint64_t odd_groups(const LaneCall& call) {
  const LaneParameters c = *call.parameters;
  constexpr int kOperands = kernel::operand_count(kOp);
  const char* const a = static_cast<const char*>(call.in[0]);
  const char* const b = static_cast<const char*>(call.in[1]);
  double* const out = static_cast<double*>(call.out);
  return each_group<false, kOperands, In::kBytes>(call, [&](size_t g) {
    alignas(64) float x[kGroup], y[kGroup] = {};
    for (size_t i = 0; i < kGroup; i += kLanes32) {
      store(x + i, In::at(a + (g + i) * In::kBytes, c));
      if (kOperands == 2) store(y + i, In::at(b + (g + i) * In::kBytes, c));
    }
    U64 rare = {};
    for (size_t i = 0; i < kGroup; i += sizeof(U64) / 8) {
      const F64 value = odd_value<kOp>(widened(load<F32of64>(x + i)), widened(load<F32of64>(y + i)), rare);
      if (c.zero_is_rare) rare |= (U64)(value == 0.0);
      store(out + g + i, value);
    }
    return any(rare);
  });
}

template <Elementwise kOp, bool kStream>
uint64_t fp64_groups(const LaneCall& call) {
  constexpr int kOperands = kernel::operand_count(kOp);
  const char* const a = static_cast<const char*>(call.in[0]);
  const char* const b = static_cast<const char*>(call.in[1]);
  char* const out = static_cast<char*>(call.out);
  return each_group<kStream, kOperands, 8>(call, [&](size_t g) SOFTAMP_ALWAYS {
    U64 rare = {};
    for (size_t i = g; i < g + kGroup; i += sizeof(U64) / 8) {
      const F64 x = load<F64>(a + 8 * i), y = kOperands == 2 ? load<F64>(b + 8 * i) : x;
      F64 value = x;
      if constexpr (kOp == Elementwise::kAdd) value = x + y;
      if constexpr (kOp == Elementwise::kSub) value = x - y;
      if constexpr (kOp == Elementwise::kMul) value = x * y;
      if constexpr (kOp == Elementwise::kDiv) value = x / y;
      if constexpr (kOp == Elementwise::kSquare) value = x * x;
      if constexpr (kOp == Elementwise::kSqrt) value = root(x);
      if constexpr (kOp == Elementwise::kReciprocal) value = 1.0 / x;
      if constexpr (kOp == Elementwise::kRsqrt) value = 1.0 / root(x);
      rare |= (U64)((I64)((U64)value & 0x7FFFFFFFFFFFFFFFu) >= 0x7FF0000000000000);
      put_vector<kStream>(out + 8 * i, (U64)value);
    }
    return any(rare);
  });
}

template <Elementwise kOp, template <Elementwise, bool> class Groups>
LaneKernel streaming() {
  return [](const LaneCall& call) -> uint64_t {
    return call.stream ? Groups<kOp, true>::run(call) : Groups<kOp, false>::run(call);
  };
}

#define SOFTAMP_GROUPS(Name, function, ...)                                                        \
  template <Elementwise kOp, bool kStream>                                                         \
  struct Name {                                                                                    \
    static uint64_t run(const LaneCall& call) { return function<kOp, __VA_ARGS__ kStream>(call); } \
  };
#define SOFTAMP_COMMA ,
SOFTAMP_GROUPS(Fp32Groups, fp32_groups, FromFp32 SOFTAMP_COMMA true SOFTAMP_COMMA)
SOFTAMP_GROUPS(Bf16Groups, bf16_groups, )
SOFTAMP_GROUPS(Fp64Groups, fp64_groups, )
SOFTAMP_GROUPS(IntGroups, int_groups, )
SOFTAMP_GROUPS(Code16Groups, code_groups, Codes16 SOFTAMP_COMMA)
SOFTAMP_GROUPS(Code32Groups, code_groups, Codes32 SOFTAMP_COMMA)
#undef SOFTAMP_GROUPS
#undef SOFTAMP_COMMA

template <Elementwise kOp>
LaneKernel form_of(LaneForm form) {
  if constexpr (kernel::is_arithmetic(kOp) || kernel::is_fp32_inside(kOp)) {
    if (form == LaneForm::kFp32) return streaming<kOp, Fp32Groups>();
    // In fp32 a root's reciprocal takes two roundings, which only the preset that divides in fp32 may use.
    if (form == LaneForm::kBf16) return kOp == Elementwise::kRsqrt ? nullptr : streaming<kOp, Bf16Groups>();
    if (form == LaneForm::kFp16To32) return fp32_groups<kOp, FromFp16, false, false>;
    if (form == LaneForm::kBf16To32) return fp32_groups<kOp, FromBf16, false, false>;
  }
  if constexpr (kernel::is_arithmetic(kOp)) {
    if (form == LaneForm::kFp64) return streaming<kOp, Fp64Groups>();
    if constexpr (kOp != Elementwise::kRsqrt) {
      if (form == LaneForm::kFp16To64) return odd_groups<kOp, FromFp16>;
      if (form == LaneForm::kBf16To64) return odd_groups<kOp, FromBf16>;
      if (form == LaneForm::kFp32To64) return odd_groups<kOp, FromFp32>;
    }
  }
  if constexpr (kernel::is_selection(kOp)) {
    if (form == LaneForm::kCode16) return streaming<kOp, Code16Groups>();
    if (form == LaneForm::kCode32) return streaming<kOp, Code32Groups>();
  }
  if constexpr (kernel::is_selection(kOp) || kOp <= Elementwise::kMul || kOp == Elementwise::kSquare)
    if (form == LaneForm::kInt32) return streaming<kOp, IntGroups>();
  if constexpr (kernel::is_comparison(kOp)) {
    if (form == LaneForm::kCompare16) return compare_groups<kOp, Compared16, false>;
    if (form == LaneForm::kCompare32) return compare_groups<kOp, Compared32, false>;
    if (form == LaneForm::kCompareInt32) return compare_groups<kOp, Compared32, true>;
  }
  return nullptr;
}

LaneKernel lane_form(LaneForm form, Elementwise op) {
  return kernel::with_constant(op, [&](auto constant) { return form_of<constant.value>(form); });
}

void lane_words(const RandomPlan& plan, uint64_t first, size_t count, uint32_t* out) {
  const PhiloxBlocks philox(plan);
  constexpr size_t kWords = PhiloxBlocks::kBlocks * 4;
  alignas(64) uint32_t strip[kWords > kGroup ? kWords : kGroup];
  for (size_t i = 0; i < count; i += kWords) {
    const bool whole = count - i >= kWords;
    philox.write((first + i) / 4, ~uint64_t{0}, whole ? out + i : strip);
    if (!whole) __builtin_memcpy(out + i, strip, 4 * (count - i));
  }
}

}  // namespace
}  // namespace softamp::emu
