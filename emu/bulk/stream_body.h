// Groups of results past the caches: operands are fetched ahead, results computed in the first-level cache and stored
// around it.
#pragma once

#include <cstddef>

#include "emu/simd.h"

namespace softamp::emu {
namespace {

#if defined(__AVX2__)
constexpr bool kStreams = true;
#else
constexpr bool kStreams = false;
#endif

SOFTAMP_LANES void fetch_ahead([[maybe_unused]] const char* group, [[maybe_unused]] size_t bytes) {
#if defined(__AVX2__)
  constexpr size_t kAhead = 2048;
  for (size_t b = 0; b < bytes; b += 64) _mm_prefetch(group + kAhead + b, _MM_HINT_T0);
#endif
}

/// Writes a group that has been computed at `results` to `out`, the start of a cache line.
SOFTAMP_LANES void stream_group([[maybe_unused]] const char* results, [[maybe_unused]] char* out,
                                [[maybe_unused]] size_t bytes) {
#if defined(__AVX512F__)
  for (size_t b = 0; b < bytes; b += 64)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(out + b), load<__m512i>(results + b));
#elif defined(__AVX2__)
  for (size_t b = 0; b < bytes; b += 32)
    _mm256_stream_si256(reinterpret_cast<__m256i*>(out + b), load<__m256i>(results + b));
#endif
}

}  // namespace
}  // namespace softamp::emu
