// The loops over elements of blocks, a group of 64 at a time.
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
    return splat<F32>(of_[kRun == 64 ? 0 : v * kLanes32 / kRun]);
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

template <size_t kRun, class Lanes>
[[gnu::noinline]] void code_groups(const Lanes lanes, const float* x, Factors f, size_t n, uint8_t* out, bool stream) {
  FactorCursor<kRun> factors(f.of, f.run);
  for_block_groups(
      x, n, out,
      [&](const float* in, uint8_t* to, bool part) {
        U32 c[kVectorsOfGroup];
        for (size_t v = 0; v < kVectorsOfGroup; ++v) c[v] = lanes.code(load<F32>(in + v * kLanes32) * factors.at(v));
        if (!part) fetch_next_strip(in, 4 * kBlockGroup, 4 * kBlockStrip);
        store_group(to, c, stream && !part);
      },
      factors);
}

template <size_t kRun, class Lanes>
[[gnu::noinline]] void fake_groups(const Lanes lanes, const float* x, Factors f, const float* d, size_t n, float* out,
                                   bool stream) {
  FactorCursor<kRun> factors(f.of, f.run), decodes(d, f.run);
  for_block_groups(
      x, n, out,
      [&](const float* in, float* to, bool part) {
        if (!part) fetch_next_strip(in, 4 * kBlockGroup, 4 * kBlockStrip);
        for (size_t v = 0; v < kVectorsOfGroup; ++v)
          store_values(to + v * kLanes32, lanes.value(load<F32>(in + v * kLanes32) * factors.at(v)) * decodes.at(v),
                       stream && !part);
      },
      factors, decodes);
}

template <size_t kRun, class Lanes>
[[gnu::noinline]] void value_groups(const Lanes lanes, const uint8_t* codes, Factors d, size_t n, float* out,
                                    bool stream) {
  FactorCursor<kRun> decodes(d.of, d.run);
  for_block_groups(
      codes, n, out,
      [&](const uint8_t* in, float* to, bool part) {
        U32 rare = {};
        for (size_t v = 0; v < kVectorsOfGroup; ++v)
          rare |= lanes.rare(load_bytes(in + v * kLanes32));
        const bool some = any(rare);
        if (!part) fetch_next_strip(in, kBlockGroup, kBlockStrip);
        for (size_t v = 0; v < kVectorsOfGroup; ++v) {
          const U32 code = load_bytes(in + v * kLanes32);
          F32 value = lanes(code);
          if (some) [[unlikely]]
            value = (F32)where(lanes.rare(code), (U32)lanes.rare_value(code), (U32)value);
          store_values(to + v * kLanes32, value * decodes.at(v), stream && !part);
        }
      },
      decodes);
}

template <size_t kRun, bool kDivides>
[[gnu::noinline]] void scale_groups(bool sticky, const float* x, Factors f, size_t n, float* out) {
  FactorCursor<kRun> factors(f.of, f.run);
  for_block_groups(
      x, n, out,
      [&](const float* in, float* to, bool) {
        for (size_t v = 0; v < kVectorsOfGroup; ++v) {
          const F32 value = load<F32>(in + v * kLanes32);
          F32 y = kDivides ? value / factors.at(v) : value * factors.at(v);
          if (sticky) {
            const U32 lost = below(magnitude((U32)y), 0x800000u) & (U32)(magnitude((U32)value) != 0);
            y = (F32)((U32)y | (lost & 0x800000u));
          }
          store(to + v * kLanes32, y);
        }
      },
      factors);
}

void block_codes(const ElementPlan& p, const float* x, Factors f, size_t n, uint8_t* out, bool stream) {
  by_run(f.run,
         [&](auto run) { by_element(p, [&](const auto& lanes) { code_groups<run()>(lanes, x, f, n, out, stream); }); });
}
void block_fake(const ElementPlan& p, const float* x, Factors f, const float* decode, size_t n, float* out,
                bool stream) {
  by_run(f.run, [&](auto run) {
    by_element(p, [&](const auto& lanes) { fake_groups<run()>(lanes, x, f, decode, n, out, stream); });
  });
}
void block_values(const ElementPlan& p, const uint8_t* codes, Factors decode, size_t n, float* out, bool stream) {
  by_run(decode.run, [&](auto run) {
    if (p.integer)
      value_groups<run()>(FixedValues(p), codes, decode, n, out, stream);
    else
      value_groups<run()>(FloatValues(p), codes, decode, n, out, stream);
  });
}
void block_scaled(const ElementPlan& p, const float* x, Factors f, size_t n, bool divides, float* y) {
  by_run(f.run, [&](auto run) {
    if (divides)
      scale_groups<run(), true>(p.sticky, x, f, n, y);
    else
      scale_groups<run(), false>(p.sticky, x, f, n, y);
  });
}

constexpr BlockKernels kBlockKernels = {
    .magnitudes = block_magnitudes,
    .column_magnitudes = column_magnitudes,
    .scales = scales_of_blocks,
    .decode = decode_of_blocks,
    .scaled = block_scaled,
    .codes = block_codes,
    .fake = block_fake,
    .values = block_values,
};

}  // namespace
}  // namespace softamp::emu
