// The element-wise forms that compute on integers: selections and comparisons of codes, and int32.
#pragma once

#include "emu/elementwise/elementwise_lanes.h"

namespace softamp::emu {
namespace {

using kernel::Elementwise;

constexpr size_t kLanes32 = sizeof(U32) / 4;

/// Groups in, groups out: `step(i, rare)` does the lanes of elements i .. of a group.
template <bool kStream, int kOperands, size_t kBytes, class Group>
SOFTAMP_LANES uint64_t each_group(const LaneCall& call, const Group& group) {
  uint64_t rare = 0;
  for (size_t g = 0; g < call.count / kGroup; ++g) {
    if constexpr (kStream)
      for (int k = 0; k < kOperands; ++k)
        fetch_ahead(static_cast<const char*>(call.in[k]) + g * kGroup * kBytes, kGroup * kBytes);
    if (group(g * kGroup)) [[unlikely]]
      rare |= uint64_t{1} << g;
  }
  return rare;
}

/// Selections, on codes.
template <Elementwise kOp, class C, bool kStream>
uint64_t code_groups(const LaneCall& call) {
  using U = typename C::U;
  using I = typename C::I;
  using Word = typename C::Word;
  const LaneParameters p = *call.parameters;
  const C c(p);
  constexpr int kOperands = kernel::operand_count(kOp);
  const char* const a = static_cast<const char*>(call.in[0]);
  const char* const b = static_cast<const char*>(call.in[1]);
  char* const out = static_cast<char*>(call.out);
  const Word magnitude_mask = static_cast<Word>(~C::kSign);
  return each_group<kStream, kOperands, sizeof(Word)>(call, [&](size_t g) SOFTAMP_ALWAYS {
    U rare = {};
    SOFTAMP_UNROLLED for (size_t i = g; i < g + kGroup; i += sizeof(U) / sizeof(Word)) {
      const U x = load<U>(a + i * sizeof(Word)), y = kOperands == 2 ? load<U>(b + i * sizeof(Word)) : x;
      U r = x;
      if constexpr (kOp == Elementwise::kNeg || kOp == Elementwise::kAbs) {
        rare |= (U)((I)(x & magnitude_mask) > (I)c.infinity);
        r = kOp == Elementwise::kNeg ? x ^ C::kSign : x & magnitude_mask;
      } else if constexpr (kOp == Elementwise::kReluGrad) {
        rare |= (U)((I)(y & magnitude_mask) > (I)c.infinity);
        r = x & (U)((I)y >= (I)c.least_positive);
      } else {
        rare |= (U)((I)(x & magnitude_mask) >= (I)c.rare_from);
        if constexpr (kOp == Elementwise::kMaximum || kOp == Elementwise::kMinimum) {
          rare |= (U)((I)(y & magnitude_mask) >= (I)c.rare_from);
          const U u = c.operand(x), v = c.operand(y);
          // Ordered as integers: the magnitude's bits inverted if the number is negative.
          const I ku = (I)(u ^ ((U)((I)u < 0) & magnitude_mask)), kv = (I)(v ^ ((U)((I)v < 0) & magnitude_mask));
          const U first = kOp == Elementwise::kMaximum ? (U)(ku > kv) : (U)(ku < kv);
          r = c.result((u & first) | (v & ~first));
        } else {
          const U u = c.operand(x);
          r = u & (U)((I)u > 0);
          if constexpr (kOp == Elementwise::kRelu6) {
            const U above = (U)((I)r > (I)c.six);
            r = (c.six & above) | (r & ~above);
          }
          r = c.result(r);
        }
      }
      put_vector<kStream>(out + i * sizeof(Word), r);
    }
    return any(rare);
  });
}

template <Elementwise kOp>
SOFTAMP_LANES I32 int_value(U32 x, U32 y) {
  const I32 a = (I32)x, b = (I32)y;
  if constexpr (kOp == Elementwise::kAdd) return (I32)(x + y);
  if constexpr (kOp == Elementwise::kSub) return (I32)(x - y);
  if constexpr (kOp == Elementwise::kMul) return (I32)(x * y);
  if constexpr (kOp == Elementwise::kSquare) return (I32)(x * x);
  if constexpr (kOp == Elementwise::kNeg) return (I32)(U32{} - x);
  if constexpr (kOp == Elementwise::kAbs) return (I32)((x ^ (U32)(a < 0)) - (U32)(a < 0));
  if constexpr (kOp == Elementwise::kMaximum) return a < b ? b : a;
  if constexpr (kOp == Elementwise::kMinimum) return a < b ? a : b;
  if constexpr (kOp == Elementwise::kRelu) return a & (a > 0);
  if constexpr (kOp == Elementwise::kRelu6) return a > 6 ? splat<I32>(6) : (a & (a > 0));
  if constexpr (kOp == Elementwise::kReluGrad) return a & (b > 0);
}

template <Elementwise kOp, bool kStream>
uint64_t int_groups(const LaneCall& call) {
  constexpr int kOperands = kernel::operand_count(kOp);
  const char* const a = static_cast<const char*>(call.in[0]);
  const char* const b = static_cast<const char*>(call.in[1]);
  char* const out = static_cast<char*>(call.out);
  return each_group<kStream, kOperands, 4>(call, [&](size_t g) SOFTAMP_ALWAYS {
    for (size_t i = g; i < g + kGroup; i += kLanes32) {
      const U32 x = load<U32>(a + 4 * i), y = kOperands == 2 ? load<U32>(b + 4 * i) : x;
      put_vector<kStream>(out + 4 * i, (U32)int_value<kOp>(x, y));
    }
    return false;
  });
}

/// Truth values of 32-bit lanes: codes of 16 bits are widened by zeros on the right.
template <Elementwise kOp, class C, bool kInteger>
uint64_t compare_groups(const LaneCall& call) {
  const LaneParameters p = *call.parameters;
  constexpr int kOperands = kernel::operand_count(kOp);
  constexpr size_t kBytes = C::kBytes;
  constexpr bool kLooks = kOp == Elementwise::kIsNan || kOp == Elementwise::kIsFinite;
  const char* const a = static_cast<const char*>(call.in[0]);
  const char* const b = static_cast<const char*>(call.in[1]);
  char* const out = static_cast<char*>(call.out);
  const I32 infinity = splat<I32>(static_cast<int32_t>(kBytes == 2 ? p.infinity << 16 : p.infinity));
  return each_group<false, kOperands, kBytes>(call, [&](size_t g) SOFTAMP_ALWAYS {
    U32 rare = {};
    const auto truth = [&](size_t i) SOFTAMP_ALWAYS -> U32 {
      U32 x = C::at(a + kBytes * i), y = kOperands == 2 ? C::at(b + kBytes * i) : x;
      if constexpr (kLooks) {
        const I32 magnitude = (I32)(x & 0x7FFFFFFFu);
        return (U32)(kOp == Elementwise::kIsNan ? magnitude > infinity : magnitude < infinity) & 1u;
      } else {
        if constexpr (!kInteger) {
          rare |= (U32)((I32)(x & 0x7FFFFFFFu) >= infinity) | (U32)((I32)(y & 0x7FFFFFFFu) >= infinity);
          x = flushed(x, p.flush_below, 0), y = flushed(y, p.flush_below, 0);
          // Sign and magnitude to two's complement: both zeros are 0.
          const auto number = [](U32 u) SOFTAMP_ALWAYS {
            const U32 negative = (U32)((I32)u < 0);
            return ((u & 0x7FFFFFFFu) ^ negative) - negative;
          };
          x = number(x), y = number(y);
        }
        const I32 u = (I32)x, v = (I32)y;
        if constexpr (kOp == Elementwise::kEqual) return (U32)(u == v) & 1u;
        if constexpr (kOp == Elementwise::kNotEqual) return (U32)(u != v) & 1u;
        if constexpr (kOp == Elementwise::kLess) return (U32)(u < v) & 1u;
        if constexpr (kOp == Elementwise::kLessEqual) return (U32)(u <= v) & 1u;
        if constexpr (kOp == Elementwise::kGreater) return (U32)(u > v) & 1u;
        return (U32)(u >= v) & 1u;
      }
    };
    for (size_t i = g; i < g + kGroup; i += 4 * kLanes32)
      store_u8(out + i, truth(i), truth(i + kLanes32), truth(i + 2 * kLanes32), truth(i + 3 * kLanes32));
    return any(rare);
  });
}

}  // namespace
}  // namespace softamp::emu
