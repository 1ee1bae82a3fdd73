// The loops over elements of blocks, a group of 64 at a time.
#pragma once

#include "emu/blocks/added_body.h"
#include "emu/blocks/block_groups.h"

namespace softamp::emu {
namespace {

template <size_t kRun, class Lanes>
[[gnu::noinline]] void code_groups(const Lanes lanes, const float* x, Factors f, size_t n, uint8_t* out,
                                   Passing passing) {
  FactorCursor<kRun> factors(f.of, f.run);
  for_block_groups(
      x, n, out,
      [&](const float* in, uint8_t* to, bool part) {
        U32 c[kVectorsOfGroup];
        for (size_t v = 0; v < kVectorsOfGroup; ++v) c[v] = lanes.code(load<F32>(in + v * kLanes32) * factors.at(v));
        if (passing.ahead && !part) fetch_next_strip(in, 4 * kBlockGroup, 4 * kBlockStrip);
        store_group(to, c, passing.stream && !part);
      },
      factors);
}

// implements: N468
template <size_t kRun, class Lanes>
[[gnu::noinline]] void fake_groups(const Lanes lanes, const float* x, Factors f, const float* d, size_t n, float* out,
                                   Passing passing) {
  FactorCursor<kRun> factors(f.of, f.run), decodes(d, f.run);
  for_block_groups(
      x, n, out,
      [&](const float* in, float* to, bool part) {
        if (passing.ahead && !part) fetch_next_strip(in, 4 * kBlockGroup, 4 * kBlockStrip);
        for (size_t v = 0; v < kVectorsOfGroup; ++v)
          store_values(to + v * kLanes32, lanes.value(load<F32>(in + v * kLanes32) * factors.at(v)) * decodes.at(v),
                       passing.stream && !part);
      },
      factors, decodes);
}

template <size_t kRun, class Lanes>
[[gnu::noinline]] void value_groups(const Lanes lanes, const uint8_t* codes, Factors d, size_t n, float* out,
                                    Passing passing) {
  FactorCursor<kRun> decodes(d.of, d.run);
  for_block_groups(
      codes, n, out,
      [&](const uint8_t* in, float* to, bool part) {
        U32 rare = {};
        for (size_t v = 0; v < kVectorsOfGroup; ++v) rare |= lanes.rare(load_bytes(in + v * kLanes32));
        const bool some = any(rare);
        if (passing.ahead && !part) fetch_next_strip(in, kBlockGroup, kBlockStrip);
        for (size_t v = 0; v < kVectorsOfGroup; ++v) {
          const U32 code = load_bytes(in + v * kLanes32);
          F32 value = lanes(code);
          if (some) [[unlikely]]
            value = (F32)where(lanes.rare(code), (U32)lanes.rare_value(code), (U32)value);
          store_values(to + v * kLanes32, value * decodes.at(v), passing.stream && !part);
        }
      },
      decodes);
}

// implements: N468
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

void block_codes(const ElementPlan& p, const float* x, Factors f, size_t n, uint8_t* out, Passing passing) {
  by_run(f.run, [&](auto run) {
    by_element(p, [&](const auto& lanes) { code_groups<run()>(lanes, x, f, n, out, passing); });
  });
}
void block_fake(const ElementPlan& p, const float* x, Factors f, const float* decode, size_t n, float* out,
                Passing passing) {
  by_run(f.run, [&](auto run) {
    by_element(p, [&](const auto& lanes) { fake_groups<run()>(lanes, x, f, decode, n, out, passing); });
  });
}
void block_values(const ElementPlan& p, const uint8_t* codes, Factors decode, size_t n, float* out, Passing passing) {
  by_run(decode.run, [&](auto run) {
    if (p.integer)
      value_groups<run()>(FixedValues(p), codes, decode, n, out, passing);
    else
      value_groups<run()>(FloatValues(p), codes, decode, n, out, passing);
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
    .added = block_added,
    .values = block_values,
};

}  // namespace
}  // namespace softamp::emu
