// Every result of one row of operand pairs, by merging two sorted lists: as one operand walks upward, so does the
// exact result, and its place in the table moves along with it. One place serves every preset and mode.
#pragma once

#include <vector>

#include "tests/oracle/fp16_oracle.h"

namespace oracle {

inline constexpr uint32_t kCodes = 0x10000;

/// The presets that the exhaustive proof runs, in the order of their columns.
inline constexpr Machine kMachines[] = {Machine::ieee(RoundingMode::kNearestEven),
                                        Machine::ieee(RoundingMode::kNearestAway),
                                        Machine::ieee(RoundingMode::kTowardZero),
                                        Machine::ieee(RoundingMode::kUp),
                                        Machine::ieee(RoundingMode::kDown),
                                        Machine::ipu_nearest(false),
                                        Machine::ipu_nearest(true)};
inline constexpr int kMachineCount = 7;
inline constexpr const char* kMachineNames[] = {"ieee-nearest", "ieee-nearest-away", "ieee-zero",        "ieee-up",
                                                "ieee-down",    "ipu-nearest",       "ipu-nearest-nanoo"};

/// Expected code | flags << 16 for each machine and each code of the walking operand.
struct Row {
  std::vector<uint32_t> expected[kMachineCount];
  Row() {
    for (auto& e : expected) e.resize(kCodes);
  }
  void set(int machine, uint32_t code, const Outcome& o) { expected[machine][code] = o.code | o.flags << 16; }
};

namespace detail {
constexpr uint32_t walked_code(uint32_t i) { return i < kInfinity ? (kSign | (kMaxFinite - i)) : i - kInfinity; }

/// Zeros, infinities and NaNs: the operands whose results are decided by their kind.
constexpr bool is_ordinary(uint32_t code) { return is_finite(code) && !is_zero(code); }

/// The entries that `special` decides: all that are not ordinary, and every entry where `fixed` is not.
template <class Special>
void fill_specials(uint32_t fixed, Row& row, const Special& special) {
  for (uint32_t code = 0; code < kCodes; ++code) {
    if (is_ordinary(fixed) && is_ordinary(code)) continue;
    for (int m = 0; m < kMachineCount; ++m)
      if (const auto o = special(code, kMachines[m])) row.set(m, code, *o);
  }
}
inline void finish(Row& row, uint32_t code, const Place& p, bool negative, int first, int last) {
  for (int m = first; m < last; ++m) row.set(m, code, kMachines[m].finish(p, negative));
}
}  // namespace detail

/// a + b for every b. Of a - b, the row is that of -b.
inline void sum_row(uint32_t a, Row& row) {
  detail::fill_specials(a, row, [a](uint32_t b, const Machine& m) { return special_sum(a, b, m); });
  if (!is_finite(a)) return;
  uint32_t guess = 0;
  for (uint32_t i = 0; i < 2 * kInfinity; ++i) {  // from -65504 to 65504
    const uint32_t b = detail::walked_code(i);
    const int64_t sum = signed_value(a) + signed_value(b);
    if (sum == 0) {
      for (int m = 0; m < kMachineCount; ++m) row.set(m, b, *special_sum(a, b, kMachines[m]));
      continue;
    }
    const Place p = place_near(guess, static_cast<Wide>(sum < 0 ? -sum : sum), 1);
    guess = p.lower;
    detail::finish(row, b, p, sum < 0, 0, kMachineCount);
  }
}

/// a * b for every b.
inline void product_row(uint32_t a, Row& row) {
  detail::fill_specials(a, row, [a](uint32_t b, const Machine& m) { return special_product(a, b, m); });
  if (!is_finite(a) || is_zero(a)) return;
  uint32_t guess = 0;
  for (uint32_t b = 1; b < kInfinity; ++b) {
    const Place p = place_near(guess, Wide{magnitude(a)} * magnitude(b), Wide{1} << 24);
    guess = p.lower;
    detail::finish(row, b, p, is_negative(a), 0, kMachineCount);
    detail::finish(row, b | kSign, p, !is_negative(a), 0, kMachineCount);
  }
}

/// a / b for every a (the dividend walks).
inline void quotient_row(uint32_t b, Row& row) {
  detail::fill_specials(b, row, [b](uint32_t a, const Machine& m) { return special_quotient(a, b, m); });
  if (!is_finite(b) || is_zero(b)) return;
  uint32_t guess = 0;
  for (uint32_t a = 1; a < kInfinity; ++a) {
    const Place exact = place_quotient(guess, a, b, false);
    const Place by_fp32 = place_quotient(exact.lower, a, b, true);
    guess = exact.lower;
    detail::finish(row, a, exact, is_negative(b), 0, 5);
    detail::finish(row, a | kSign, exact, !is_negative(b), 0, 5);
    detail::finish(row, a, by_fp32, is_negative(b), 5, kMachineCount);
    detail::finish(row, a | kSign, by_fp32, !is_negative(b), 5, kMachineCount);
  }
}

}  // namespace oracle
