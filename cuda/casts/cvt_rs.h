// The packed stochastic conversion of NVIDIA's Blackwell (N312, N330) for kernels: by the instruction where the code is
// compiled for the chip whose preset is asked for (100a, 103a), by the same policy in software elsewhere.
#pragma once

#include "cuda/each_item.h"
#include "cuda/element_group.h"
#include "cuda/element_loop.h"
#include "cuda/fast_round.h"
#include "softamp/numerics/cvt_rs.h"

namespace softamp::cuda {

/// Whether this code is compiled for the chip of this preset, and so has its instruction.
// implements: N330
SOFTAMP_PRIMITIVE bool has_cvt_rs([[maybe_unused]] Chip chip) {
#if defined(__CUDA_ARCH_FEAT_SM100_ALL)
  return chip == Chip::kNvidiaSm100;
#elif defined(__CUDA_ARCH_FEAT_SM103_ALL)
  return chip == Chip::kNvidiaSm103;
#else
  return false;
#endif
}

/// cvt.rs.satfinite: the packed result of x[0], which lands lowest, x[1] and, in forms of four, x[2] and x[3].
// implements: N330
template <CvtRsType kType>
SOFTAMP_PRIMITIVE uint32_t cvt_rs_satfinite(Chip chip, const float* x, uint32_t word) {
#if defined(__CUDA_ARCH_FEAT_SM100_ALL) || defined(__CUDA_ARCH_FEAT_SM103_ALL)
#define SOFTAMP_CVT_RS_2(type) \
  asm("cvt.rs.satfinite." type ".f32 %0, %1, %2, %3;" : "=r"(d) : "f"(x[1]), "f"(x[0]), "r"(word))
#define SOFTAMP_CVT_RS_4(type)                                  \
  asm("cvt.rs.satfinite." type ".f32 %0, {%1, %2, %3, %4}, %5;" \
      : "=r"(d)                                                 \
      : "f"(x[3]), "f"(x[2]), "f"(x[1]), "f"(x[0]), "r"(word))
  if (has_cvt_rs(chip)) {
    uint32_t d;
    if constexpr (kType == CvtRsType::kF16x2) SOFTAMP_CVT_RS_2("f16x2");
    if constexpr (kType == CvtRsType::kBf16x2) SOFTAMP_CVT_RS_2("bf16x2");
    if constexpr (kType == CvtRsType::kE4m3x4) SOFTAMP_CVT_RS_4("e4m3x4");
    if constexpr (kType == CvtRsType::kE5m2x4) SOFTAMP_CVT_RS_4("e5m2x4");
    return d;
  }
#undef SOFTAMP_CVT_RS_2
#undef SOFTAMP_CVT_RS_4
#endif
  const CvtRs form{kType, true, false};
  uint32_t sources[4] = {};
  for (int k = 0; k < form.lanes(); ++k) sources[k] = bits_of(x[form.lanes() - 1 - k]);
  return cvt_rs(chip, form, sources, word);
}

/// An array by it: a thread takes the elements of four words, which are one Philox block's and 16 bytes of codes.
// implements: N330
template <CvtRsType kType>
struct PackedRounding {
  static constexpr bool kTwo = kType == CvtRsType::kF16x2 || kType == CvtRsType::kBf16x2;
  static constexpr unsigned kLanes = kTwo ? 2 : 4, kBytes = 4 / kLanes, kElements = 4 * kLanes;
  static constexpr FastRound::Way kWay =
      kType == CvtRsType::kF16x2 ? FastRound::Way::kHalfCarry : FastRound::Way::kBf16Carry;

  Chip chip;
  bool saturates;
  ChipRounding rounding;
  Semantics semantics;  ///< of chip, format and overflow
  FastRound fast;       ///< the same for forms of two
  const float* in;
  void* out;
  const uint32_t* words;  ///< word k serves elements k kLanes and on; null: the generator's
  RandomBits random;
  uint32_t step, operation;
  uint64_t first_index;  ///< of element 0 [with words: 0]
  uint64_t size;
  bool vectors;          ///< first_index is a block's first, and both arrays are aligned
  DeviceStatus* status;  ///< null: flags are not wanted

  /// `in` and what follows is for the caller to set.
  static PackedRounding of(Chip chip, ChipOverflow overflow) {
    PackedRounding k{};
    const FloatFormat to = CvtRs{kType, true, false}.format();
    k.chip = chip;
    k.rounding = chip_rounding(chip, to);
    k.semantics = chip_semantics(chip, to, overflow);
    k.saturates = k.semantics.rounding(to).overflow == Overflow::kSaturate;
    if (kTwo) k.fast = FastRound::of(to, k.semantics, false, true);
    return k;
  }
  /// Groups of kElements, the first of which may begin before element 0.
  SOFTAMP_HD uint64_t groups() const { return (first_index % kElements + size + kElements - 1) / kElements; }

  template <class Block>
  SOFTAMP_HD void operator()(Block& block) const {
    block.each([&](unsigned t) {
      const uint64_t lead = first_index % kElements;
      items_of_thread(block, t, groups(), [&](uint64_t g) {
        const uint64_t begin = g == 0 ? 0 : g * kElements - lead, end = (g + 1) * kElements - lead;
        const bool stored = vectors && end <= size && group(begin);
        if (!stored || status) elements(begin, end < size ? end : size, stored);
      });
    });
  }

 private:
  /// A whole group; false, with nothing written, if the policy must carry out some of it.
  SOFTAMP_PRIMITIVE bool group(uint64_t first) const {
    using detail::Quad;
    if (!kTwo && !has_cvt_rs(chip)) return false;
    const Quad* const from = reinterpret_cast<const Quad*>(in + first);
    Quad read[kLanes];
    for (unsigned q = 0; q < kLanes; ++q) read[q] = from[q];
    float x[kElements];
    for (unsigned j = 0; j < kElements; ++j) x[j] = from_bits(read[j / 4].word[j % 4]);
    RandomBlock word;
    if (words)
      for (unsigned k = 0; k < 4; ++k) word.word[k] = words[first / kLanes + k];
    else
      word = random_block(random, step, operation, (first_index + first) / kElements);
    bool rare = false;
    Quad codes;
    for (unsigned k = 0; k < 4; ++k) codes.word[k] = packed(x + k * kLanes, word.word[k], rare);
    if (rare) return false;
    *reinterpret_cast<Quad*>(static_cast<unsigned char*>(out) + first * kBytes) = codes;
    return true;
  }

  /// Four bytes of codes; sets `rare`, and returns a meaningless value, if the policy must carry it out.
  SOFTAMP_PRIMITIVE uint32_t packed(const float* x, uint32_t word, bool& rare) const {
    if (has_cvt_rs(chip)) {
      if (!saturates)  // what the other form makes of an overflow is not public (N323)
        for (unsigned k = 0; k < kLanes; ++k) rare |= fast.is_rare(x[k]);
      return cvt_rs_satfinite<kType>(chip, x, word);
    }
    if constexpr (kTwo) return fast.template codes<kWay>(x[0], x[1], word, word >> 16, rare);
    return 0;
  }

  /// One by one, by the policy: the codes, if they are not `stored` yet, and the flags.
  SOFTAMP_HD void elements(uint64_t begin, uint64_t end, bool stored) const {
    uint32_t word = 0;
#if defined(__CUDACC__)
#pragma unroll 1
#endif
    for (uint64_t i = begin; i < end; ++i) {
      const uint64_t index = first_index + i, lane = index % kLanes;
      if (i == begin || lane == 0) word = words ? words[i / kLanes] : random.bits(step, operation, index / kLanes, 32);
      const Rounded r = by_policy(in[i], word, static_cast<int>(lane));
      if (!stored) store_element(out, kBytes, i, r.code);
      raise_status(status, r.flags, i);
    }
  }

  SOFTAMP_HD Rounded by_policy(float x, uint32_t word, int lane) const {
    return fp::convert(FloatFormat::fp32(), rounding.to, bits_of(x), semantics, chip_random(rounding, word, lane));
  }
};

}  // namespace softamp::cuda
