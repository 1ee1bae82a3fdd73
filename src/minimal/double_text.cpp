#include "src/minimal/double_text.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

namespace softamp::minimal {
namespace {

/// f * 2^e.
struct Scaled {
  uint64_t f;
  int e;
};

Scaled normalised(Scaled x) {
  const int shift = std::countl_zero(x.f);
  return {x.f << shift, x.e - shift};
}

/// The upper half of the product, rounded half up.
Scaled product(Scaled a, Scaled b) {
  __extension__ using Wide = unsigned __int128;
  const Wide p = static_cast<Wide>(a.f) * b.f + (uint64_t{1} << 63);
  return {static_cast<uint64_t>(p >> 64), a.e + b.e + 64};
}

/// 10^k with 64 bits, rounded to nearest (there is no tie): 5^k, or 2^n / 5^-k, in digits of 32 bits.
Scaled power_of_ten(int k) {
  constexpr int kDigits = 40;
  std::array<uint64_t, kDigits> digits{};  // the lowest first
  const int n = k < 0 ? 32 * (kDigits - 1) : 0;
  digits[static_cast<size_t>(n / 32)] = 1;
  for (int i = 0; i < k; ++i) {
    uint64_t carry = 0;
    for (uint64_t& d : digits) {
      carry += d * 5;
      d = carry & 0xFFFFFFFF;
      carry >>= 32;
    }
  }
  for (int i = 0; i < -k; ++i) {
    uint64_t rest = 0;
    for (size_t d = kDigits; d-- > 0;) {
      rest = rest << 32 | digits[d];
      digits[d] = rest / 5;
      rest %= 5;
    }
  }
  size_t top = kDigits - 1;
  while (digits[top] == 0) --top;
  const auto digit = [&](size_t below) { return top >= below ? digits[top - below] : 0; };
  const int lead = std::countl_zero(static_cast<uint32_t>(digits[top]));
  // 96 bits from the first one on.
  const uint64_t high = digit(0) << 32 | digit(1), low = digit(2) << 32 | digit(3);
  const uint64_t f = lead == 0 ? high : high << lead | low >> (64 - lead), next = low << lead >> 63;
  return {f + next, static_cast<int>(top) * 32 - 32 - lead - n + k};
}

/// The power that brings a product with exponent e into the range, and its k.
struct Cached {
  Scaled power;
  int k;
};
Cached cached_power(int e) {
  constexpr int kLeast = -300, kStep = 8, kLeastExponent = -60;
  static const std::vector<Scaled> kPowers = [] {
    std::vector<Scaled> all;
    for (int k = kLeast; k <= 324; k += kStep) all.push_back(power_of_ten(k));
    return all;
  }();
  const int f = kLeastExponent - e - 1;
  const int k = f * 78913 / (1 << 18) + (f > 0);  // log10(2) * f, upwards
  const int index = (k - kLeast + kStep - 1) / kStep;
  return {kPowers[static_cast<size_t>(index)], kLeast + index * kStep};
}

/// Decimal digits and the exponent of the last one.
struct Digits {
  std::string text;
  int exponent;

  /// Lowers the last digit while that comes closer to the number.
  void approach(uint64_t distance, uint64_t delta, uint64_t rest, uint64_t unit) {
    while (rest < distance && delta - rest >= unit &&
           (rest + unit < distance || distance - rest > rest + unit - distance)) {
      --text.back();
      rest += unit;
    }
  }
};

Digits digits_between(Scaled low, Scaled number, Scaled high, int exponent) {
  Digits out{"", exponent};
  uint64_t delta = high.f - low.f, distance = high.f - number.f;
  const int shift = -high.e;
  const uint64_t one = uint64_t{1} << shift;
  auto whole = static_cast<uint32_t>(high.f >> shift);
  uint64_t part = high.f & (one - 1);
  uint32_t unit = 1;
  int left = 1;
  while (whole / unit >= 10) unit *= 10, ++left;
  for (; left > 0; unit /= 10) {
    out.text += static_cast<char>('0' + whole / unit);
    whole %= unit;
    --left;
    const uint64_t rest = (uint64_t{whole} << shift) + part;
    if (rest > delta) continue;
    out.exponent += left;
    out.approach(distance, delta, rest, uint64_t{unit} << shift);
    return out;
  }
  for (;;) {
    part *= 10;
    out.text += static_cast<char>('0' + (part >> shift));
    part &= one - 1;
    delta *= 10;
    distance *= 10;
    --out.exponent;
    if (part <= delta) break;
  }
  out.approach(distance, delta, part, one);
  return out;
}

/// Of a positive number.
Digits grisu(double value) {
  const uint64_t bits = std::bit_cast<uint64_t>(value), fraction = bits & ((uint64_t{1} << 52) - 1);
  const int biased = static_cast<int>(bits >> 52);
  const Scaled v = biased == 0 ? Scaled{fraction, -1074} : Scaled{fraction | uint64_t{1} << 52, biased - 1075};
  const bool edge = fraction == 0 && biased > 1;
  const Scaled upper = normalised({2 * v.f + 1, v.e - 1});
  Scaled lower = edge ? Scaled{4 * v.f - 1, v.e - 2} : Scaled{2 * v.f - 1, v.e - 1};
  lower = {lower.f << (lower.e - upper.e), upper.e};
  const Cached c = cached_power(upper.e);
  const Scaled number = product(normalised(v), c.power);
  Scaled low = product(lower, c.power), high = product(upper, c.power);
  ++low.f;
  --high.f;
  return digits_between(low, number, high, -c.k);
}

std::string exponent_text(int e) {
  const std::string digits = std::to_string(e < 0 ? -e : e);
  return (e < 0 ? "e-" : "e+") + std::string(digits.size() < 2 ? 1 : 0, '0') + digits;
}

}  // namespace

std::string double_text(double value) {
  if (!std::isfinite(value)) return "null";
  const std::string sign = std::signbit(value) ? "-" : "";
  if (value == 0) return sign + "0.0";
  const auto [text, exponent] = grisu(std::fabs(value));
  const int count = static_cast<int>(text.size()), point = count + exponent;
  constexpr int kLeast = -4, kMost = 15;  // positions of the point that are written without an exponent
  if (count <= point && point <= kMost)
    return sign + text + std::string(static_cast<size_t>(point - count), '0') + ".0";
  const auto first = [&](int n) { return text.substr(0, static_cast<size_t>(n)); };
  const auto after = [&](int n) { return text.substr(static_cast<size_t>(n)); };
  if (0 < point && point <= kMost) return sign + first(point) + "." + after(point);
  if (kLeast < point && point <= 0) return sign + "0." + std::string(static_cast<size_t>(-point), '0') + text;
  return sign + first(1) + (count > 1 ? "." + after(1) : "") + exponent_text(point - 1);
}

}  // namespace softamp::minimal
