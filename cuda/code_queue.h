// Eight elements on their way from memory into the registers of a thread, as codes: in whole vectors, or one by one.
#pragma once

#include "cuda/element_group.h"
#include "cuda/rounded_values.h"

namespace softamp::cuda {

/// Eight codes of a Reader's elements, taken from the first on. In registers, which a loop that is not unrolled cannot
/// index.
struct CodeQueue {
  uint32_t word[kGroup];

  SOFTAMP_PRIMITIVE void load(const Reader& r, uint64_t first, unsigned count, bool vectors) {
    using detail::Quad;
    const auto* const from = static_cast<const unsigned char*>(r.data) + first * (r.is_wide() ? 4 : 2);
    if (vectors && count == kGroup) {
      const Quad low = *reinterpret_cast<const Quad*>(from);
      for_each_of<4>([&](unsigned k) { word[k] = low.word[k]; });
      if (!r.is_wide()) return;
      const Quad high = reinterpret_cast<const Quad*>(from)[1];
      for_each_of<4>([&](unsigned k) { word[4 + k] = high.word[k]; });
    } else if (r.is_wide()) {
      for_group([&](unsigned j) { word[j] = j < count ? reinterpret_cast<const uint32_t*>(from)[j] : 0; });
    } else {
      const auto* const halves = reinterpret_cast<const uint16_t*>(from);
      for_each_of<4>([&](unsigned k) {
        word[k] =
            (2 * k < count ? uint32_t{halves[2 * k]} : 0) | (2 * k + 1 < count ? uint32_t{halves[2 * k + 1]} << 16 : 0);
      });
    }
  }
  SOFTAMP_PRIMITIVE uint32_t take(bool wide) {
    const uint32_t code = wide ? word[0] : word[0] & 0xFFFFu;
    for_each_of<kGroup - 1>([&](unsigned k) { word[k] = wide ? word[k + 1] : word[k] >> 16 | word[k + 1] << 16; });
    return code;
  }

  /// The values of all eight, as Steps::enter gives them without flags where they are finite; sets `rare` where a
  /// finite one may be entered as another value.
  SOFTAMP_PRIMITIVE void values(const Reader& r, float (&x)[kGroup], bool& rare) const {
    if (r.type == DType::kFloat16) {
      for_group([&](unsigned j) { x[j] = float_of_half(j & 1 ? word[j / 2] >> 16 : word[j / 2] & 0xFFFFu); });
      return;
    }
    if (r.is_wide())
      for_group([&](unsigned j) { x[j] = from_bits(word[j]); });
    else
      for_group([&](unsigned j) { x[j] = from_bits(j & 1 ? word[j / 2] & 0xFFFF0000u : word[j / 2] << 16); });
    for_group([&](unsigned j) { rare |= (bits_of(x[j]) & 0x7FFFFFFFu) - 1u < 0x007FFFFFu; });
  }
};

/// Eight codes of up to the width of `Word`, each read by itself; taken from the first on.
template <class Word>
struct Singles {
  Word word[kGroup];

  /// Elements of `bytes` bytes: the first `count` of eight, which lie side by side from `first` on.
  SOFTAMP_PRIMITIVE void load(const void* data, unsigned bytes, unsigned count, uint64_t first) {
    read(data, bytes, count, [&](unsigned j) { return first + j; });
  }
  /// The same of elements that lie anywhere: element j at place_of(j).
  template <class PlaceOf>
  SOFTAMP_PRIMITIVE void load_scattered(const void* data, unsigned bytes, unsigned count, const PlaceOf& place_of) {
    uint64_t at[kGroup] = {};
#if defined(__CUDACC__)
#pragma unroll 1
#endif
    for (unsigned j = 0; j < kGroup; ++j) {  // places first, so that no element waits for another
      for_each_of<kGroup - 1>([&](unsigned k) { at[k] = at[k + 1]; });
      at[kGroup - 1] = j < count ? place_of(j) : 0;
    }
    read(data, bytes, count, [&](unsigned j) { return at[j]; });
  }
  SOFTAMP_PRIMITIVE Word take() {
    const Word code = word[0];
    for_each_of<kGroup - 1>([&](unsigned k) { word[k] = word[k + 1]; });
    return code;
  }

 private:
  template <class At>
  SOFTAMP_PRIMITIVE void read(const void* data, unsigned bytes, unsigned count, const At& at) {
    if (bytes == 2) return read_as<uint16_t>(data, count, at);
    if (bytes == 4) return read_as<uint32_t>(data, count, at);
    if constexpr (sizeof(Word) == 8) read_as<uint64_t>(data, count, at);
  }
  template <class T, class At>
  SOFTAMP_PRIMITIVE void read_as(const void* data, unsigned count, const At& at) {
    for_group([&](unsigned j) { word[j] = j < count ? static_cast<const T*>(data)[at(j)] : 0; });
  }
};

/// Whether one of the values is infinite or a NaN.
SOFTAMP_PRIMITIVE bool any_not_finite(const float (&x)[kGroup]) {
  bool found = false;
  for_group([&](unsigned j) { found |= !(magnitude_of(x[j]) < from_bits(0x7F800000u)); });
  return found;
}

}  // namespace softamp::cuda
