// Dot products of quantised vectors as the rules read (N485 to N491): exact numbers where a sum is exact, the host's
// float where a rule says a step of fp32. Without a line of numerics/block.
#pragma once

#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "tests/oracle/fused_group.h"

namespace oracle {

/// An element's format: a small float, or fractions of 2^-6 in two's complement.
struct DotElement {
  FloatFormat format = softamp::kE4m3;
  bool integer = false;
};
enum class DotScale { kE8m0, kE4m3, kFp32, kOne };

/// One operand: a code for every k, a scale for every block of `size`. Without blocks (size 0) there is one fp32 scale,
/// which comes last.
struct DotSide {
  DotElement element;
  DotScale scale = DotScale::kE8m0;
  size_t size = 32;
  std::vector<uint32_t> codes, scales;
  bool nvfp4 = false, transformer_engine = true;
  float amax = 0;                ///< of nvfp4
  float largest_product = 2688;  ///< of the greatest scale and element
  float torchao_p = 1;           ///< of nvfp4 that is not TransformerEngine's
  bool three_quarters = false;
};

struct DotResult {
  uint32_t code = 0;
  bool invalid = false, overflow = false;
};

namespace block_dot {

inline float as_float(uint32_t code) { return std::bit_cast<float>(code); }

/// A number, an infinity or a NaN; the sign of a zero is kept.
struct Term {
  bool nan = false, infinite = false, negative = false;
  Dyadic magnitude;
  bool zero() const { return !nan && !infinite && magnitude.sign() == 0; }
  Dyadic value() const { return negative ? -magnitude : magnitude; }
};
inline Term term(const Decoded& d) { return {d.nan(), d.infinite(), d.negative, d.magnitude}; }
inline Term element(const DotElement& e, uint32_t code) {
  if (!e.integer) return term(decode(e.format, code));
  const int value = static_cast<int8_t>(code);
  return {false, false, value < 0, {std::abs(value), -6}};
}
/// One number for all of a sum, in the end.
inline bool comes_last(const DotSide& s) { return s.scale == DotScale::kFp32 && s.size == 0; }
inline Term own_scale(const DotSide& s, uint32_t code) {
  if (s.scale == DotScale::kOne) return {false, false, false, {1, 0}};
  if (s.scale == DotScale::kFp32) return term(decode(softamp::kFp32, code));
  if (s.scale == DotScale::kE4m3) return term(decode(softamp::kE4m3, code & 0x7F));
  return {code == 0xFF, false, false, {1, static_cast<int>(code) - 127}};
}
inline Term product(const Term& x, const Term& y) {
  Term p{x.nan || y.nan, x.infinite || y.infinite, x.negative != y.negative, {0, 0}};
  if (p.infinite && (x.zero() || y.zero())) p.nan = true;
  if (!p.nan && !p.infinite) p.magnitude = x.magnitude * y.magnitude;
  return p;
}
inline uint32_t rounded(const Term& x) {
  if (x.nan) return 0x7FC00000;
  const uint32_t sign = x.negative ? 0x80000000u : 0u;
  return sign | (x.infinite ? 0x7F800000u : sum_code(x.magnitude, 8, 23, true));
}

/// What is no number among the terms of a sum that starts from `c`.
struct Odd {
  bool nan, wrong = false, infinite[2];

  explicit Odd(const Decoded& c) : nan(c.nan()), infinite{c.infinite() && !c.negative, c.infinite() && c.negative} {}
  /// Whether p = x z is a number.
  bool takes(const Term& x, const Term& z, const Term& p) {
    if (x.nan || z.nan)
      nan = true;
    else if (p.nan)
      wrong = true;
    else if (p.infinite)
      infinite[p.negative] = true;
    return !p.nan && !p.infinite;
  }
  /// After all terms: whether the sum is invalid.
  bool invalid() {
    wrong = wrong || (!nan && infinite[0] && infinite[1]);
    return wrong;
  }
  /// Then: the sum's code, 0 where it is a number.
  uint32_t code(uint32_t nan_code) const {
    return nan || wrong ? nan_code : infinite[0] ? 0x7F800000 : infinite[1] ? 0xFF800000 : 0;
  }
};

/// The state of one product.
class Summing {
 public:
  Summing(const DotSide& a, const DotSide& b, float c) : a_(a), b_(b), y_(c) {}

  DotResult exact() {
    std::vector<std::pair<Term, Term>> pairs;
    for (size_t k = 0; k < a_.codes.size(); ++k)
      pairs.push_back({product(element(a_.element, a_.codes[k]), whole_scale(a_, k)),
                       product(element(b_.element, b_.codes[k]), whole_scale(b_, k))});
    y_ = sum(pairs, y_);
    return result();
  }

  DotResult chain() {
    for (size_t k = 0; k < a_.codes.size(); ++k) {
      const float x = value(a_, k), z = value(b_, k), before = y_;
      y_ = fma(x, z, before);
    }
    return result();
  }

  DotResult blocks() {
    for_blocks(0, [&](size_t begin, size_t end) {
      std::vector<std::pair<Term, Term>> pairs;
      for (size_t k = begin; k < end; ++k)
        pairs.push_back({element(a_.element, a_.codes[k]), element(b_.element, b_.codes[k])});
      const float d = sum(pairs, 0);
      Term scale = product(inner_scale(a_, begin), inner_scale(b_, begin));
      if (a_.scale == DotScale::kFp32 || b_.scale == DotScale::kFp32) {
        const float x = inner_float(a_, begin), z = inner_float(b_, begin);
        const float both = note(x * z, {x, z});
        scale = term(decode(softamp::kFp32, std::bit_cast<uint32_t>(both)));
      }
      const Term t = product(term(decode(softamp::kFp32, std::bit_cast<uint32_t>(d))), scale);
      const float add = as_float(rounded(t)), before = y_;
      overflow_ = overflow_ || (std::isinf(add) && !t.infinite);
      invalid_ = invalid_ || (std::isnan(add) && !std::isnan(d) && !scale.nan);
      y_ = note(before + add, {before, add});
    });
    return finished();
  }

  DotResult hopper(const std::string& order, size_t every) {
    for_blocks(every, [&](size_t begin, size_t end) {
      uint32_t partial = 0;
      for (size_t k = begin; k < end; k += 32)
        partial = group(k, std::min(k + 32, end), 13, GroupResult::kE8m13, false, partial);
      const float p = as_float(partial), x = inner_float(a_, begin), z = inner_float(b_, begin), before = y_;
      if (order == "scales_first") {
        const float both = note(x * z, {x, z});
        y_ = fma(both, p, before);
        return;
      }
      const float first = note(p * x, {p, x});
      if (order == "partner_last") {
        y_ = fma(first, z, before);
        return;
      }
      const float second = note(first * z, {first, z});
      y_ = note(before + second, {before, second});
    });
    return finished();
  }

  DotResult blackwell() {
    const bool fp4 = !a_.element.integer && !b_.element.integer && a_.element.format == softamp::kE2m1 &&
                     b_.element.format == softamp::kE2m1;
    const size_t length = fp4 ? 64 : 32, n = a_.codes.size();
    uint32_t c = std::bit_cast<uint32_t>(y_);
    for (size_t k = 0; k < n; k += length)
      c = fp4 ? fp4_group(k, std::min(k + 64, n), c) : group(k, std::min(k + 32, n), 25, GroupResult::kFp32, true, c);
    y_ = as_float(c);
    return finished();
  }

  /// Of an operand as a chain takes it.
  static float value(const DotSide& s, size_t k) {
    return as_float(rounded(product(element(s.element, s.codes[k]), whole_scale(s, k))));
  }

 private:
  static uint32_t scale_code(const DotSide& s, size_t k) { return s.scales[s.size == 0 ? 0 : k / s.size]; }
  /// The scale of a block that is taken while summing.
  static Term inner_scale(const DotSide& s, size_t k) {
    return comes_last(s) ? Term{false, false, false, {1, 0}} : own_scale(s, scale_code(s, k));
  }
  static float inner_float(const DotSide& s, size_t k) { return as_float(rounded(inner_scale(s, k))); }
  /// What dequantising multiplies a code by.
  static Term whole_scale(const DotSide& s, size_t k) {
    const Term own = own_scale(s, scale_code(s, k));
    if (!s.nvfp4) return own;
    const float v = as_float(rounded(own));
    const float whole = s.transformer_engine ? (v * s.amax) * (1.F / s.largest_product) : v * s.torchao_p;
    return term(decode(softamp::kFp32, std::bit_cast<uint32_t>(whole)));
  }
  float note(float out, std::initializer_list<float> in) {
    bool nan = false, infinite = false;
    for (const float x : in) nan = nan || std::isnan(x), infinite = infinite || std::isinf(x);
    if (std::isnan(out) && !nan) invalid_ = true;
    if (std::isinf(out) && !infinite) overflow_ = true;
    return out;
  }

  /// Inf 0 raises invalid even beside a NaN.
  float fma(float x, float z, float y) {
    invalid_ = invalid_ || (std::isinf(x) && z == 0) || (x == 0 && std::isinf(z));
    return note(std::fma(x, z, y), {x, z, y});
  }

  /// The exact sum of products and c, rounded once.
  float sum(const std::vector<std::pair<Term, Term>>& pairs, float c) {
    const Decoded start = decode(softamp::kFp32, std::bit_cast<uint32_t>(c));
    Odd odd(start);
    Dyadic total = start.sort == Sort::kFinite ? start.value() : Dyadic{};
    for (const auto& [x, z] : pairs) {
      const Term p = product(x, z);
      if (odd.takes(x, z, p)) total = total + p.value();
    }
    invalid_ = odd.invalid() || invalid_;
    if (const uint32_t code = odd.code(0x7FC00000)) return as_float(code);
    uint32_t code = sum_code(total, 8, 23, true);
    if (code == 0 && total.sign() < 0) code = 0x80000000;  // a number too small keeps its sign
    const float out = as_float(code);
    overflow_ = overflow_ || std::isinf(out);
    return out;
  }

  uint32_t group(size_t begin, size_t end, int fraction_bits, GroupResult to, bool scaled, uint32_t c) {
    const auto exponent = [](const DotElement& e, const Term& x) {
      const int least = 1 - e.format.bias;
      return std::max(top_of(x.magnitude), least);
    };
    const Decoded start = decode(softamp::kFp32, c);
    Odd odd(start);
    std::vector<std::pair<Dyadic, int>> terms;
    for (size_t k = begin; k < end; ++k) {
      const Term x = element(a_.element, a_.codes[k]), z = element(b_.element, b_.codes[k]), p = product(x, z);
      int scale = 0;
      if (scaled) {
        for (const DotSide* s : {&a_, &b_})
          if (s->scale == DotScale::kE8m0) {
            odd.nan = odd.nan || scale_code(*s, k) == 255;
            scale += static_cast<int>(scale_code(*s, k)) - 127;
          }
      }
      if (odd.takes(x, z, p) && !p.zero())
        terms.push_back({p.value() * Dyadic{1, scale}, exponent(a_.element, x) + exponent(b_.element, z) + scale});
    }
    invalid_ = odd.invalid() || invalid_;
    if (const uint32_t code = odd.code(0x7FFFFFFF)) return code;
    return fused(terms, start, fraction_bits, -133, to);
  }

  uint32_t fp4_group(size_t begin, size_t end, uint32_t c) {
    const Decoded start = decode(softamp::kFp32, c);
    bool nan = start.nan();
    std::vector<std::pair<Dyadic, int>> terms;
    for (size_t k = begin; k < end; k += 16) {
      Dyadic total;
      bool counts = false;  // products that cancel do, a sum of zeros does not
      for (size_t i = k; i < std::min(k + 16, end); ++i) {
        const Term p = product(element(a_.element, a_.codes[i]), element(b_.element, b_.codes[i]));
        counts = counts || !p.zero();
        total = total + p.value();
      }
      int place = 0;
      for (const DotSide* s : {&a_, &b_}) {
        const Term scale = inner_scale(*s, k);
        nan = nan || scale.nan;
        if (scale.nan) continue;
        counts = counts && !scale.zero();
        if (scale.zero()) continue;
        total = total * scale.magnitude;
        place += s->scale == DotScale::kE4m3 ? std::max(top_of(scale.magnitude), -6) : top_of(scale.magnitude);
      }
      if (counts) terms.push_back({total, place});
    }
    if (nan) return 0x7FFFFFFF;
    if (start.infinite()) return c;
    return fused(terms, start, 35, -139, GroupResult::kFp32);
  }

  uint32_t fused(std::vector<std::pair<Dyadic, int>> terms, const Decoded& c, int fraction_bits, int floor,
                 GroupResult to) {
    if (!c.zero()) terms.push_back({c.value(), std::max(top_of(c.magnitude), -126)});
    int greatest = floor;
    for (const auto& [x, e] : terms) greatest = std::max(greatest, e);
    Big total = 0;
    for (const auto& [x, e] : terms)
      if (x.sign() != 0) total += truncated(x, greatest - fraction_bits);
    const bool short_result = to == GroupResult::kE8m13;
    const uint32_t code = sum_code({total, greatest - fraction_bits}, 8, short_result ? 13 : 23, false)
                          << (short_result ? 10 : 0);
    overflow_ = overflow_ || (code & 0x7F800000) == 0x7F800000;
    return code;
  }

  template <typename F>
  void for_blocks(size_t every, const F& f) {
    size_t begin = 0;
    for (size_t k = 1; k <= a_.codes.size(); ++k)
      if (k == a_.codes.size() || (a_.size != 0 && k % a_.size == 0) || (b_.size != 0 && k % b_.size == 0) ||
          (every != 0 && k - begin == every)) {
        f(begin, k);
        begin = k;
      }
  }

  DotResult finished() {
    const auto system = [](const DotSide& s) { return s.nvfp4 && s.transformer_engine; };
    const auto part = [&](const DotSide& s) {
      if (comes_last(s)) return as_float(s.scales[0]);
      return !s.nvfp4 ? 1.F : system(s) ? s.amax / s.largest_product : s.torchao_p;
    };
    const bool any = a_.nvfp4 || b_.nvfp4 || comes_last(a_) || comes_last(b_);
    if (any && !a_.codes.empty()) {
      const float t = system(a_) && system(b_) ? a_.amax * b_.amax / (a_.largest_product * b_.largest_product)
                                               : part(a_) * part(b_);
      const float before = y_;
      y_ = note(t * before, {t, before});
    }
    return result();
  }
  DotResult result() {
    const int quarters = a_.three_quarters + b_.three_quarters;
    if (quarters == 0) return {std::bit_cast<uint32_t>(y_), invalid_, overflow_};
    const float factor = quarters == 2 ? 16.F / 9.F : 4.F / 3.F, before = y_;
    y_ = note(before * factor, {before});
    return {std::bit_cast<uint32_t>(y_), invalid_, overflow_};
  }

  const DotSide &a_, &b_;
  float y_;
  bool invalid_ = false, overflow_ = false;
};

}  // namespace block_dot

}  // namespace oracle
