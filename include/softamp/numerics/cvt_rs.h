// NVIDIA's packed stochastic conversion, PTX's cvt.rs of sm_100a and sm_103a (N312, N320), as a function of bit
// patterns: the position of each operand, its bits of the random word, .satfinite and .relu.
//
// The forms to formats of 6 and 4 bits (e2m3x4, e3m2x4, e2m1x4) are left out: those formats have neither NaN nor
// infinity, which no FloatFormat of ours can say, and sm_100a's byte order of e2m1x4 has not been probed (N324).
#pragma once

#include "softamp/numerics/chips.h"
#include "softamp/numerics/convert.h"

namespace softamp {

/// The format of the packed values.
// implements: N324
enum class CvtRsType : uint8_t { kF16x2, kBf16x2, kE4m3x4, kE5m2x4 };

/// cvt.rs{.relu}{.satfinite}.type.f32
struct CvtRs {
  CvtRsType type = CvtRsType::kF16x2;
  bool satfinite = false;  ///< e4m3x4 and e5m2x4 have no other form: always true there
  bool relu = false;       ///< a result with a sign, -0 too, becomes +0; NaN stays the canonical one

  SOFTAMP_INLINE int lanes() const { return type == CvtRsType::kF16x2 || type == CvtRsType::kBf16x2 ? 2 : 4; }
  SOFTAMP_INLINE FloatFormat format() const {
    return type == CvtRsType::kF16x2    ? FloatFormat::fp16()
           : type == CvtRsType::kBf16x2 ? FloatFormat::bf16()
           : type == CvtRsType::kE4m3x4 ? FloatFormat::e4m3()
                                        : FloatFormat::e5m2();
  }
};

/// The packed result. `sources`: fp32 codes in the order in which PTX writes them, a, b (and e, f): the first lands
/// highest. chip: kNvidiaSm100 or kNvidiaSm103.
// implements: N312, N321
SOFTAMP_GENERAL uint32_t cvt_rs(Chip chip, const CvtRs& form, const uint32_t* sources, uint32_t random_word) {
  const FloatFormat to = form.format();
  const int lanes = form.lanes();
  const ChipOverflow overflow = form.satfinite || lanes == 4 ? ChipOverflow::kSaturating : ChipOverflow::kSpecial;
  const ChipRounding rounding = chip_rounding(chip, to);
  const Semantics s = chip_semantics(chip, to, overflow);
  uint32_t packed = 0;
  for (int lane = 0; lane < lanes; ++lane) {
    const uint32_t source = sources[lanes - 1 - lane];
    uint64_t code = fp::convert(FloatFormat::fp32(), to, source, s, chip_random(rounding, random_word, lane)).code;
    if (form.relu && (code & to.sign_mask()) != 0) code = 0;  // NaNs are positive here
    packed |= static_cast<uint32_t>(code) << 32 / lanes * lane;
  }
  return packed;
}

}  // namespace softamp
