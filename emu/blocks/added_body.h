// Roundings of |y| that add A below the result's last bit and cut off: stochastic (N12, N13: A = R 2^(W-r), or (2R + 1)
// 2^(W-r-1)), to nearest away (half of it), toward zero (0). W = 24 - p bits of fp32's significand lie below a normal
// result's last. A significand whose result is subnormal is moved down first; bits that are lost lie below all that A
// has, so that they could not carry.
#pragma once

#include "emu/blocks/block_groups.h"
#include "emu/bulk/philox_body.h"

namespace softamp::emu {
namespace {

SOFTAMP_LANES U32 load_halves(const void* p) {
#if defined(__AVX512F__)
  return (U32)_mm512_cvtepu16_epi32(load<__m256i>(p));
#elif defined(__AVX2__)
  return (U32)_mm256_cvtepu16_epi32(load<__m128i>(p));
#else
  return __builtin_convertvector(load<U16of32>(p), U32);
#endif
}

/// |y| as so many quanta of 2^(reached - 127 - (p - 1)), rounded.
struct Quanta {
  U32 count, reached;
};
// implements: N467
class AddedElement {
 public:
  SOFTAMP_LANES explicit AddedElement(const ElementPlan& p)
      : greatest_(splat<F32>(p.greatest)),
        least_field_(splat<U32>(p.least_field)),
        mask_(splat<U32>(p.magnitude_mask)),
        below_(p.exponent_shift),
        sign_shift_(p.sign_shift) {}

 protected:
  SOFTAMP_LANES Quanta quanta(F32 magnitude, U32 addend) const {
    const U32 m = (U32)magnitude, field = m >> 23;
    const U32 reached = (U32)greater(field, least_field_);
    const U32 significand = shr((m & 0x7FFFFFu) | 0x800000u, reached - field);  // 0 of what is no normal number
    return {(significand + addend) >> below_, reached};
  }
  /// The number of quanta times the quantum.
  SOFTAMP_LANES F32 value_of(const Quanta& q) const {
    const U32 quantum = (q.reached - static_cast<uint32_t>(23 - below_)) << 23;
    return __builtin_convertvector((I32)q.count, F32) * (F32)quantum;
  }

  F32 greatest_;
  U32 least_field_, mask_;
  int below_, sign_shift_;
};

/// kKeeps: zeros keep their signs.
template <bool kKeeps>
class AddedFloat : AddedElement {
 public:
  using AddedElement::AddedElement;
  /// Under addends with ElementPlan::code_base: `reached` is then to be added, and what it carries out of the code
  /// falls off.
  SOFTAMP_LANES U32 code(F32 y, U32 addend) const {
    const Quanta q = rounded(y, addend);
    const U32 code = q.count + (q.reached << (23 - below_));
    if constexpr (kKeeps) return by_bits(mask_, code, (U32)y >> sign_shift_);
    const U32 m = code & mask_;
    return m | ((sign(y) & (U32)(m != 0)) >> sign_shift_);
  }
  SOFTAMP_LANES F32 value(F32 y, U32 addend) const {
    const Quanta q = rounded(y, addend);
    return (F32)((U32)value_of(q) | (kKeeps ? sign(y) : sign(y) & (U32)(q.count != 0)));
  }

 private:
  SOFTAMP_LANES static U32 sign(F32 y) { return (U32)y & kSignBit; }
  SOFTAMP_LANES Quanta rounded(F32 y, U32 addend) const {
    return quanta(lesser((F32)magnitude((U32)y), greatest_), addend);
  }
};

class AddedFixed : AddedElement {
 public:
  SOFTAMP_LANES explicit AddedFixed(const ElementPlan& p) : AddedElement(p), least_(splat<F32>(p.least)) {}
  SOFTAMP_LANES U32 code(F32 y, U32 addend) const {
    const Quanta q = rounded(y, addend);
    const U32 negative = (U32)((I32)y < 0);
    return ((q.count ^ negative) - negative) & mask_;
  }
  SOFTAMP_LANES F32 value(F32 y, U32 addend) const {
    const Quanta q = rounded(y, addend);
    return (F32)((U32)value_of(q) | ((U32)y & kSignBit & (U32)(q.count != 0)));
  }

 private:
  SOFTAMP_LANES Quanta rounded(F32 y, U32 addend) const {
    return quanta((F32)magnitude((U32)larger(lesser(y, greatest_), least_)), addend);
  }
  F32 least_;
};

/// A of 256 elements at a time.
class Addends {
 public:
  /// Elements from an index on that is a multiple of 8.
  Addends(const ElementPlan& p, const RandomPlan& random, int bits, uint64_t index, bool of_codes)
      : shift_(p.addend_shift),
        base_(p.addend_base + (of_codes ? p.code_base : 0)),
        bits_(bits),
        slice_{{}, nullptr, nullptr, index, 0, false},
        few_(random, slice_, few(bits)),
        many_(random, slice_, bits > 16 ? bits : 32) {
    if (bits == 0)
      for (size_t i = 0; i < kElements; i += kLanes32) store(of_ + i, splat<U32>(base_));
  }
  static constexpr size_t kElements = 256;

  [[gnu::noinline]] const uint32_t* at(size_t begin) {
    if (bits_ == 0) return of_;
    if (bits_ > 16) {
      many_.fill(begin, kElements);
      for (size_t i = 0; i < kElements; i += kLanes32) put(i, load<U32>(many_.at(i)));
    } else {
      few_.fill(begin, kElements);
      for (size_t i = 0; i < kElements; i += kLanes32) put(i, load_halves(few_.at(i)));
    }
    return of_;
  }

 private:
  static int few(int bits) { return bits == 0 || bits > 16 ? 16 : bits; }
  SOFTAMP_LANES void put(size_t i, U32 number) { store(of_ + i, (number << shift_) + base_); }

  int shift_;
  uint32_t base_;
  int bits_;
  Slice slice_;
  RandomStrip<false> few_;
  RandomStrip<true> many_;
  alignas(64) uint32_t of_[kElements + kBlockGroup];
};

template <size_t kRun, class Lanes>
[[gnu::noinline]] void added_groups(const Lanes lanes, Addends& addends, size_t lead, const float* x, Factors f,
                                    const float* decode, size_t n, uint8_t* codes, float* out) {
  FactorCursor<kRun> factors(f.of, f.run), decodes(decode, f.run);
  const size_t step = lead == 0 ? Addends::kElements : Addends::kElements - kBlockGroup;  // lead is below a group
  for (size_t begin = 0; begin < n; begin += step) {
    const uint32_t* add = addends.at(begin) + lead;
    const size_t count = n - begin < step ? n - begin : step;
    const auto group = [&](const float* in, size_t v, const auto& act) {
      return act(load<F32>(in + v * kLanes32) * factors.at(v), load<U32>(add + v * kLanes32));
    };
    if (out)
      for_block_groups(
          x + begin, count, out + begin,
          [&](const float* in, float* to, bool) {
            for (size_t v = 0; v < kVectorsOfGroup; ++v) {
              const F32 value = group(in, v, [&](F32 y, U32 a) { return lanes.value(y, a); });
              store(to + v * kLanes32, value * decodes.at(v));
            }
            add += kBlockGroup;
          },
          factors, decodes);
    else
      for_block_groups(
          x + begin, count, codes + begin,
          [&](const float* in, uint8_t* to, bool) {
            U32 c[kVectorsOfGroup];
            for (size_t v = 0; v < kVectorsOfGroup; ++v)
              c[v] = group(in, v, [&](F32 y, U32 a) { return lanes.code(y, a); });
            store_group(to, c, false);
            add += kBlockGroup;
          },
          factors);
  }
}

void block_added(const ElementPlan& p, const RandomPlan& random, int bits, uint64_t index, const float* x, Factors f,
                 const float* decode, size_t n, uint8_t* codes, float* out) {
  const size_t lead = bits == 0 ? 0 : index % 8;
  Addends addends(p, random, bits, index - lead, codes != nullptr);
  by_run(f.run, [&](auto run) {
    if (p.integer)
      added_groups<run()>(AddedFixed(p), addends, lead, x, f, decode, n, codes, out);
    else if (p.keeps_zero_signs)
      added_groups<run()>(AddedFloat<true>(p), addends, lead, x, f, decode, n, codes, out);
    else
      added_groups<run()>(AddedFloat<false>(p), addends, lead, x, f, decode, n, codes, out);
  });
}

}  // namespace
}  // namespace softamp::emu
