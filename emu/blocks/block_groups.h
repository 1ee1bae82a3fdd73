// Elements of blocks by groups of 64: loads, factors, stores.
#pragma once

#include "emu/blocks/scale_body.h"

namespace softamp::emu {
namespace {

constexpr size_t kVectorsOfGroup = kBlockGroup / kLanes32;

SOFTAMP_LANES void fetch_next_strip([[maybe_unused]] const void* p, [[maybe_unused]] size_t bytes,
                                    [[maybe_unused]] size_t strip) {
#if defined(__SSE2__)
  for (size_t b = 0; b < bytes; b += 64) _mm_prefetch(static_cast<const char*>(p) + strip + b, _MM_HINT_T0);
#endif
}

/// Stores a vector at a place that is aligned to it where `stream` is set, around the caches then.
SOFTAMP_LANES void store_values(float* out, F32 v, [[maybe_unused]] bool stream) {
#if defined(__AVX512F__)
  if (stream) return _mm512_stream_ps(out, (__m512)v);
#elif defined(__AVX2__)
  if (stream) return _mm256_stream_ps(out, (__m256)v);
#endif
  store(out, v);
}

/// Stores 64 codes, numbers below 2^8 in lanes.
SOFTAMP_LANES void store_group(uint8_t* out, const U32* c, [[maybe_unused]] bool stream) {
#if defined(__AVX512F__)
  alignas(64) static constexpr auto kOrder = [] {
    struct Order {
      uint8_t of[64];
    } order{};
    for (int i = 0; i < 64; ++i) order.of[i] = static_cast<uint8_t>(i % 16 * 4 + i / 16);
    return order;
  }();
  const U32 low = c[0] | (c[1] << 8), high = (c[2] | (c[3] << 8)) << 16;
  const __m512i bytes = _mm512_permutexvar_epi8(_mm512_load_si512(&kOrder), (__m512i)(low | high));
  if (stream)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(out), bytes);
  else
    store(out, bytes);
#else
#if defined(__AVX2__)
  if (stream) {
    alignas(64) uint8_t line[kBlockGroup];
    for (size_t v = 0; v < kVectorsOfGroup; v += 4) store_u8(line + v * kLanes32, c[v], c[v + 1], c[v + 2], c[v + 3]);
    _mm256_stream_si256(reinterpret_cast<__m256i*>(out), load<__m256i>(line));
    _mm256_stream_si256(reinterpret_cast<__m256i*>(out + 32), load<__m256i>(line + 32));
    return;
  }
#endif
  for (size_t v = 0; v < kVectorsOfGroup; v += 4) store_u8(out + v * kLanes32, c[v], c[v + 1], c[v + 2], c[v + 3]);
#endif
}

/// Walks over the factors of groups. kRun: 1, 16, 32 or 64 for any multiple of it.
template <size_t kRun>
class FactorCursor {
 public:
  SOFTAMP_LANES FactorCursor(const float* of, size_t run) : of_(of), run_(run), left_(run) {}
  /// That of vector v of the group.
  SOFTAMP_LANES F32 at(size_t v) const {
    if constexpr (kRun == 1) return load<F32>(of_ + v * kLanes32);
    uint32_t code;  // as bits: a splat of numbers makes +0 of -0
    __builtin_memcpy(&code, of_ + (kRun == 64 ? 0 : v * kLanes32 / kRun), 4);
    return (F32)splat<U32>(code);
  }
  SOFTAMP_LANES void next() {
    if constexpr (kRun < 64) {
      of_ += kBlockGroup / kRun;
    } else if ((left_ -= kBlockGroup) == 0) {
      ++of_;
      left_ = run_;
    }
  }

 private:
  const float* of_;
  size_t run_, left_;
};

/// Calls body(in, cursor's factors, out) for whole groups of n elements, the last one by way of copies that are filled
/// up with zeros.
template <class In, class Out, class Body, class... Cursors>
SOFTAMP_LANES void for_block_groups(const In* in, size_t n, Out* out, const Body& body, Cursors&... cursors) {
  for (; n >= kBlockGroup; n -= kBlockGroup, in += kBlockGroup, out += kBlockGroup) {
    body(in, out, false);
    (cursors.next(), ...);
  }
  if (n == 0) return;
  alignas(64) In part[kBlockGroup] = {};
  alignas(64) Out results[kBlockGroup];
  __builtin_memcpy(part, in, n * sizeof(In));
  body(part, results, true);
  __builtin_memcpy(out, results, n * sizeof(Out));
}

/// Calls act with the run as a constant.
template <class Act>
SOFTAMP_LANES void by_run(size_t run, const Act& act) {
  switch (run) {
    case 1: act(std::integral_constant<size_t, 1>{}); break;
    case 16: act(std::integral_constant<size_t, 16>{}); break;
    case 32: act(std::integral_constant<size_t, 32>{}); break;
    default: act(std::integral_constant<size_t, 64>{});
  }
}
template <class Act>
SOFTAMP_LANES void by_element(const ElementPlan& p, const Act& act) {
  if (p.integer)
    act(FixedElement(p));
  else if (p.keeps_zero_signs)
    act(FloatElement<true>(p));
  else
    act(FloatElement<false>(p));
}

}  // namespace
}  // namespace softamp::emu
