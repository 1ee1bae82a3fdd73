// Converts codes to values: shifts the mantissa into place, then one exact multiplication corrects the exponent.
#pragma once

#include "emu/bulk/plan.h"
#include "emu/simd.h"

namespace softamp::emu {
namespace {

/// kGroup codes at `in` to 32-bit words; bits above the format's width are kept.
SOFTAMP_LANES void load_codes(const void* in, Element type, uint32_t* codes) {
  const char* source = static_cast<const char*>(in);
  constexpr size_t kLanes = sizeof(U32) / 4;
  switch (type) {
    case Element::kU8:
      for (size_t i = 0; i < kGroup; i += kLanes)
        store(codes + i, __builtin_convertvector(load<U8of32>(source + i), U32));
      break;
    case Element::kU16:
      for (size_t i = 0; i < kGroup; i += kLanes)
        store(codes + i, __builtin_convertvector(load<U16of32>(source + 2 * i), U32));
      break;
    default: __builtin_memcpy(codes, source, kGroup * 4);
  }
}

/// kGroup codes to an array of 8, 16 or 32 bits an element.
SOFTAMP_LANES void store_codes(const uint32_t* codes, Element type, void* out) {
  char* target = static_cast<char*>(out);
  constexpr size_t kLanes = sizeof(U32) / 4;
  if (type != Element::kU8 && type != Element::kU16) {
    __builtin_memcpy(target, codes, kGroup * 4);
    return;
  }
  for (size_t i = 0; i < kGroup; i += 4 * kLanes) {
    const auto vector = [&](size_t v) { return load<U32>(codes + i + v * kLanes); };
    if (type == Element::kU8)
      store_u8(target + i, vector(0), vector(1), vector(2), vector(3));
    else
      store_u16(target + 2 * i, vector(0), vector(1), vector(2), vector(3));
  }
}

/// One plan's constants, and the flags seen.
class Widener {
 public:
  SOFTAMP_LANES explicit Widener(const WidenPlan& plan) : p_(plan) {}

  /// kGroup codes to fp32 or binary64.
  SOFTAMP_LANES void group(const uint32_t* codes, Element to, void* out) {
    constexpr size_t kLanes = sizeof(U32) / 4;
    for (size_t i = 0; i < kGroup; i += kLanes) {
      const U32 code = load<U32>(codes + i);
      U32 magnitude = code & p_.magnitude_mask;
      U32 sign = (code << p_.sign_shift) & 0x80000000u;
      U32 rare = (U32)(magnitude > p_.greatest);
      if (p_.sign_alone_is_nan) rare |= (U32)(magnitude == 0) & (U32)(sign != 0);
      if (p_.flush_below) {
        const U32 flushed = (U32)(magnitude - 1 < splat<U32>(p_.flush_below - 1));
        magnitude &= ~flushed;
        sign &= ~flushed | p_.flush_sign;
      }
      const F32 value = (F32)((U32)((F32)(magnitude << p_.mantissa_shift) * p_.scale) | sign);
      if (to == Element::kF32)
        put32(value, code, magnitude, rare, static_cast<char*>(out) + 4 * i);
      else
        put64(value, code, magnitude, rare, static_cast<char*>(out) + 8 * i);
    }
  }

  uint8_t flags() const { return flags_; }

 private:
  SOFTAMP_LANES void put32(F32 value, U32 code, U32 magnitude, U32 rare, char* out) {
    if (any(rare)) [[unlikely]] {
      const U32 sign = (code << p_.sign_shift) & 0x80000000u;
      const U32 infinite = see(code, magnitude, rare);
      U32 nan = splat<U32>(p_.nan32);
      if (p_.propagate_nan) nan = (magnitude << p_.mantissa_shift) | 0x7FC00000u | sign;
      const U32 infinity = sign != 0 ? splat<U32>(p_.infinity32[1]) : splat<U32>(p_.infinity32[0]);
      value = (F32)(infinite ? infinity : rare ? nan : (U32)value);
    }
    store(out, value);
  }

  SOFTAMP_LANES void put64(F32 value, U32 code, U32 magnitude, U32 rare, char* out) {
    uint64_t special[sizeof(U32) / 4];
    U32 infinite = {};
    const bool has_special = any(rare);
    if (has_special) [[unlikely]] {
      infinite = see(code, magnitude, rare);
      for (size_t l = 0; l < sizeof(U32) / 4; ++l) {
        const bool negative = ((code[l] << p_.sign_shift) & 0x80000000u) != 0;
        uint64_t nan = p_.nan64;
        if (p_.propagate_nan)
          nan = static_cast<uint64_t>(magnitude[l] << p_.mantissa_shift & 0x7FFFFFu) << 29 | 0x7FF8000000000000u |
                (negative ? 0x8000000000000000u : 0);
        special[l] = infinite[l] ? p_.infinity64[negative] : nan;
      }
    }
    F32of64 half[2];
    __builtin_memcpy(half, &value, sizeof value);
    store(out, widened(half[0]));
    store(out + sizeof(F64), widened(half[1]));
    if (has_special) [[unlikely]]
      for (size_t l = 0; l < sizeof(U32) / 4; ++l)
        if (rare[l]) __builtin_memcpy(out + 8 * l, special + l, 8);
  }

  /// Records the flags of infinities and NaNs; returns the mask of the infinities.
  SOFTAMP_LANES U32 see(U32, U32 magnitude, U32 rare) {
    const U32 infinite = rare & (U32)(magnitude == p_.infinity);
    const U32 nan = rare & ~infinite;
    const U32 quiet = p_.quiet_bit ? (U32)((magnitude & p_.quiet_bit) != 0) : ~U32{};
    if (any(infinite)) flags_ |= p_.on_infinity;
    if (any(nan & quiet)) flags_ |= p_.on_quiet_nan;
    if (any(nan & ~quiet)) flags_ |= p_.on_signaling_nan;
    return infinite;
  }

  const WidenPlan& p_;
  uint8_t flags_ = 0;
};

}  // namespace
}  // namespace softamp::emu
