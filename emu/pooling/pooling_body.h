// The inner loops of pooling, for any instruction set: channels in lanes, as 32-bit numbers.
//
// Maxima compare keys: a code's magnitude with the sign folded in so that integers order as the values do, -0 below +0
// (flushed operands are zeros before).
#pragma once

#include <type_traits>

#include "emu/first_lanes.h"
#include "emu/pooling/pooling_kernels.h"
#include "emu/simd.h"

namespace softamp::emu {
namespace {

constexpr size_t kPoolingLanes = kVectorBytes / 4;

/// A run of channels of one element: lanes beyond `count` hold zeros.
template <PoolingPlan::Type kType>
struct PoolingCodes {
  using Word = std::conditional_t<kType == PoolingPlan::Type::kFp32, uint32_t, uint16_t>;
  static constexpr uint32_t kSign = kType == PoolingPlan::Type::kFp32 ? 0x80000000u : 0x8000u;
  static constexpr uint32_t kInfinity = kType == PoolingPlan::Type::kFp16   ? 0x7C00u
                                        : kType == PoolingPlan::Type::kBf16 ? 0x7F80u
                                                                            : 0x7F800000u;

  static SOFTAMP_LANES U32 whole(const Word* from) {
    if constexpr (sizeof(Word) == 4)
      return load<U32>(from);
    else
      return __builtin_convertvector(load<U16of32>(from), U32);
  }
  static SOFTAMP_LANES U32 get(const Word* from, size_t count) {
    if (count >= kPoolingLanes) return whole(from);
    if constexpr (sizeof(Word) == 4) return load_first(from, count);
    Word part[kPoolingLanes] = {};
    __builtin_memcpy(part, from, count * sizeof(Word));
    return whole(part);
  }
  static SOFTAMP_LANES void put(Word* to, size_t count, U32 codes) {
    if constexpr (sizeof(Word) == 4) {
      if (count < kPoolingLanes) return store_first(to, count, codes);
    }
    Word part[kPoolingLanes];
    Word* const whole_to = count >= kPoolingLanes ? to : part;
    if constexpr (sizeof(Word) == 4)
      store(whole_to, codes);
    else
      store(whole_to, __builtin_convertvector(codes, U16of32));
    if (count < kPoolingLanes) __builtin_memcpy(to, part, count * sizeof(Word));
  }
  static SOFTAMP_LANES U32 magnitude(U32 codes) { return codes & (kSign - 1); }
  static SOFTAMP_LANES U32 not_finite(U32 codes) { return (U32)(magnitude(codes) >= kInfinity); }

  static SOFTAMP_LANES U32 flushed(U32 codes, uint32_t below, uint32_t kept) {
    const U32 m = magnitude(codes);
    const U32 small = (U32)(m < below) & (U32)(m != 0);
    return codes & (~small | (kept & kSign));
  }
  static SOFTAMP_LANES U32 operand(const PoolingPlan& p, U32 codes) {
    return p.operand_flush_below ? flushed(codes, p.operand_flush_below, p.operand_flush_kept) : codes;
  }
  /// A key that ascends with the value; from a finite code and back.
  static SOFTAMP_LANES I32 key(U32 codes) {
    const U32 m = magnitude(codes);
    return (I32)((codes & kSign) != 0 ? ~m : m);
  }
  static SOFTAMP_LANES U32 code(I32 key) { return key < 0 ? ~(U32)key | kSign : (U32)key; }

  static SOFTAMP_LANES F32 value(U32 codes) {
    if constexpr (kType == PoolingPlan::Type::kFp32) return (F32)codes;
    if constexpr (kType == PoolingPlan::Type::kBf16) return (F32)(codes << 16);
    // The exponent, moved, is too small by 2^112.
    return (F32)((U32)((F32)(magnitude(codes) << 13) * 0x1p112f) | ((codes & kSign) << 16));
  }
};

SOFTAMP_LANES F32 get_floats(const float* from, size_t count) {
  return (F32)PoolingCodes<PoolingPlan::Type::kFp32>::get((const uint32_t*)(const void*)from, count);
}
SOFTAMP_LANES void put_floats(float* to, size_t count, F32 values) {
  PoolingCodes<PoolingPlan::Type::kFp32>::put((uint32_t*)(void*)to, count, (U32)values);
}
SOFTAMP_LANES U32 floats_not_finite(F32 x) { return (U32)(((U32)x & 0x7FFFFFFFu) >= 0x7F800000u); }

/// Calls f(codes of a place, place's number, its offset in elements) for the window's places.
template <class C, class F>
SOFTAMP_LANES void for_places(const PoolingPlan& p, const PoolingWindow& w, size_t c, size_t count, const F& f) {
  const typename C::Word* row = static_cast<const typename C::Word*>(w.first) + c;
  int32_t number = 0;
  for (size_t y = 0; y < w.rows; ++y, row += w.row_stride)
    for (size_t x = 0; x < w.columns; ++x, ++number)
      f(C::operand(p, C::get(row + x * w.column_stride, count)), number, y * w.row_stride + x * w.column_stride);
}

template <class C>
bool pooling_maximum_of(const PoolingPlan& p, const PoolingWindow& w, size_t channels, void* out) {
  U32 special = {};
  for (size_t c = 0; c < channels; c += kPoolingLanes) {
    const size_t count = channels - c;
    I32 best = splat<I32>(INT32_MIN);
    for_places<C>(p, w, c, count, [&](U32 codes, int32_t, size_t) {
      special |= C::not_finite(codes);
      const I32 key = C::key(codes);
      best = key > best ? key : best;
    });
    U32 codes = C::code(best);
    if (p.result_flush_below) codes = C::flushed(codes, p.result_flush_below, p.result_flush_kept);
    C::put(static_cast<typename C::Word*>(out) + c, count, codes);
  }
  return !any(special);
}

template <class C>
bool pooling_maximum_gradient_of(const PoolingPlan& p, const PoolingWindow& w, size_t channels, const void* gradient,
                                 float* sums) {
  U32 special = {};
  for (size_t c = 0; c < channels; c += kPoolingLanes) {
    const size_t count = channels - c;
    I32 best = splat<I32>(INT32_MIN), first = {};
    for_places<C>(p, w, c, count, [&](U32 codes, int32_t number, size_t) {
      special |= C::not_finite(codes);
      const I32 key = C::key(codes);
      first = key > best ? splat<I32>(number) : first;
      best = key > best ? key : best;
    });
    const U32 codes = C::operand(p, C::get(static_cast<const typename C::Word*>(gradient) + c, count));
    special |= C::not_finite(codes);
    const U32 value = (U32)C::value(codes);
    // Sums begin as +0 and never become -0, so that adding +0 elsewhere changes nothing.
    for_places<C>(p, w, c, count, [&](U32, int32_t number, size_t offset) {
      float* const at = sums + offset + c;
      const F32 sum = get_floats(at, count) + (F32)(value & (U32)(first == splat<I32>(number)));
      special |= floats_not_finite(sum);
      put_floats(at, count, sum);
    });
  }
  return !any(special);
}

template <class C>
bool pooling_average_of(const PoolingPlan& p, const PoolingWindow& w, size_t channels, float* out) {
  U32 special = {};
  const float places = static_cast<float>(w.rows * w.columns);
  for (size_t c = 0; c < channels; c += kPoolingLanes) {
    const size_t count = channels - c;
    F32 sum = (F32)splat<U32>(0x80000000u);  // -0: what x is added to gives x, -0 too
    for_places<C>(p, w, c, count, [&](U32 codes, int32_t, size_t) {
      special |= C::not_finite(codes);
      sum += C::value(codes);
    });
    special |= floats_not_finite(sum);
    put_floats(out + c, count, sum / splat<F32>(places));
  }
  return !any(special);
}

template <class C>
bool pooling_average_gradient_of(const PoolingPlan& p, size_t channels, const void* gradient, float places,
                                 float* out) {
  U32 special = {};
  for (size_t c = 0; c < channels; c += kPoolingLanes) {
    const size_t count = channels - c;
    const U32 codes = C::operand(p, C::get(static_cast<const typename C::Word*>(gradient) + c, count));
    special |= C::not_finite(codes);
    const F32 sum = get_floats(out + c, count) + C::value(codes) / splat<F32>(places);
    special |= floats_not_finite(sum);
    put_floats(out + c, count, sum);
  }
  return !any(special);
}

using PoolingFp16 = PoolingCodes<PoolingPlan::Type::kFp16>;
using PoolingBf16 = PoolingCodes<PoolingPlan::Type::kBf16>;
using PoolingFp32 = PoolingCodes<PoolingPlan::Type::kFp32>;

bool pooling_maximum(const PoolingPlan& p, const PoolingWindow& w, size_t channels, void* out) {
  switch (p.type) {
    case PoolingPlan::Type::kFp16: return pooling_maximum_of<PoolingFp16>(p, w, channels, out);
    case PoolingPlan::Type::kBf16: return pooling_maximum_of<PoolingBf16>(p, w, channels, out);
    case PoolingPlan::Type::kFp32: break;
  }
  return pooling_maximum_of<PoolingFp32>(p, w, channels, out);
}
bool pooling_maximum_gradient(const PoolingPlan& p, const PoolingWindow& w, size_t channels, const void* gradient,
                              float* sums) {
  switch (p.type) {
    case PoolingPlan::Type::kFp16: return pooling_maximum_gradient_of<PoolingFp16>(p, w, channels, gradient, sums);
    case PoolingPlan::Type::kBf16: return pooling_maximum_gradient_of<PoolingBf16>(p, w, channels, gradient, sums);
    case PoolingPlan::Type::kFp32: break;
  }
  return pooling_maximum_gradient_of<PoolingFp32>(p, w, channels, gradient, sums);
}
bool pooling_average(const PoolingPlan& p, const PoolingWindow& w, size_t channels, float* out) {
  switch (p.type) {
    case PoolingPlan::Type::kFp16: return pooling_average_of<PoolingFp16>(p, w, channels, out);
    case PoolingPlan::Type::kBf16: return pooling_average_of<PoolingBf16>(p, w, channels, out);
    case PoolingPlan::Type::kFp32: break;
  }
  return pooling_average_of<PoolingFp32>(p, w, channels, out);
}
bool pooling_average_gradient(const PoolingPlan& p, size_t channels, const void* gradient, float places, float* out) {
  switch (p.type) {
    case PoolingPlan::Type::kFp16: return pooling_average_gradient_of<PoolingFp16>(p, channels, gradient, places, out);
    case PoolingPlan::Type::kBf16: return pooling_average_gradient_of<PoolingBf16>(p, channels, gradient, places, out);
    case PoolingPlan::Type::kFp32: break;
  }
  return pooling_average_gradient_of<PoolingFp32>(p, channels, gradient, places, out);
}

}  // namespace
}  // namespace softamp::emu
