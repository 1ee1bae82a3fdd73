// The orders of accumulation of docs/NUMERICS_GRAPHS.md, on scalars: fp32 products and sums in the order that rules
// N101 to N140 state, roundings to halves with the random bits that rules N12, N70 and N72 give them. Written from the
// rules, element by element, so that a test can demand bits.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/oracle/tensor_model.h"

namespace oracle::order {

using model::Mode;
using model::Range;
using model::Real;
using softamp::DType;

/// Philox4x32-10 (N70).
inline std::array<uint32_t, 4> philox(std::array<uint32_t, 4> c, uint32_t k0, uint32_t k1) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53u} * c[0], p1 = uint64_t{0xCD9E8D57u} * c[2];
    c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<uint32_t>(p1),
         static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<uint32_t>(p0)};
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return c;
}

/// The 13 random bits of (seed, operation, index) in step 0: lane index mod 8 of 16 bits (N70, N71).
inline uint32_t thirteen_bits(uint64_t seed, uint32_t operation, uint64_t index) {
  const uint64_t block = index / 8;
  const auto words = philox({static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), operation, 0},
                            static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32));
  const uint64_t lane = index % 8;
  return words[lane / 2] >> (lane % 2 * 16) & 0x1FFF;
}
/// The 32-bit lane.
inline uint32_t word_of(uint64_t seed, uint32_t operation, uint64_t index) {
  const uint64_t block = index / 4;
  return philox({static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), operation, 0},
                static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32))[index % 4];
}

/// Where the roundings of one site of the operation find their bits.
struct Site {
  uint64_t seed = 0;
  uint32_t operation = 0;
};

/// x rounded once to t under the mode; `index`: the address of its bits.
inline Real rounded(DType t, Real x, const Mode& mode, const Site& site, uint64_t index) {
  if (std::isnan(x)) return x;
  const model::Precision& p = model::precision_of(t);
  const bool narrow = model::narrow(t);
  Real r = model::nearest(t, x);
  if (mode.stochastic && narrow && std::isfinite(x)) {
    const Real floor = model::below(t, std::fabs(x)), q = model::unit(t, x), d = (std::fabs(x) - floor) / q;
    const auto up = static_cast<uint32_t>(std::floor(d * 8192)) + thirteen_bits(site.seed, site.operation, index);
    r = std::copysign(up >= 8192 ? floor + q : floor, x);
  }
  if (std::fabs(r) > p.greatest) {
    if (!mode.ipu || !narrow) return std::copysign(model::kInfinity, r);
    return std::isinf(x) || mode.nanoo ? std::nanl("") : std::copysign(p.greatest, r);
  }
  if (mode.ipu && t == DType::kFloat32 && std::fabs(r) < p.least_normal) r = std::copysign(Real{0}, r);
  return r;
}

/// A product's chain (N101 to N105).
class Chain {
 public:
  Chain(bool half, bool exact_each, const Mode& mode, const Site& site, uint64_t output)
      : half_(half), exact_each_(exact_each), mode_(mode), site_(site), output_(output) {}

  void step(Real a, Real b) {
    if (exact_each_) {  // the exact sum is rounded once, at the end of its block of one
      const Range sum = Range(a) * Range(b) + Range(static_cast<Real>(acc_));
      exact_ = sum.low;
      return;
    }
    acc_ = std::fma(static_cast<float>(a), static_cast<float>(b), acc_);
  }
  void end_block(uint64_t p) {
    if (!half_) return;
    const Real value = exact_each_ ? exact_ : static_cast<Real>(acc_);
    acc_ = static_cast<float>(rounded(DType::kFloat16, value, mode_, site_, p << 35 | output_));
  }
  /// An independent partial ends.
  void close_partial() {
    total_ = any_ ? total_ + acc_ : acc_;
    any_ = true;
    acc_ = 0;
  }
  float value() const { return any_ ? total_ : acc_; }

 private:
  bool half_, exact_each_, any_ = false;
  Mode mode_;
  Site site_;
  uint64_t output_;
  Real exact_ = 0;
  float acc_ = 0, total_ = 0;
};

/// The sum of rule N140 with any `+`: add(left, right).
template <class T, class Add>
T tree(const std::vector<T>& terms, T zero, const Add& add) {
  std::vector<T> level;
  for (size_t first = 0; first < terms.size(); first += 1024) {
    const size_t end = std::min(terms.size(), first + 1024);
    std::vector<std::vector<T>> lanes(32);
    for (size_t i = first; i < end; ++i) lanes[(i - first) % 32].push_back(terms[i]);
    std::vector<T> sums;
    for (const auto& lane : lanes) {
      if (lane.empty()) continue;  // only the last lanes can be
      T s = lane[0];
      for (size_t i = 1; i < lane.size(); ++i) s = add(s, lane[i]);
      sums.push_back(s);
    }
    for (size_t stride = 16; stride > 0; stride /= 2)
      for (size_t l = 0; l < stride; ++l)
        if (l + stride < sums.size()) sums[l] = add(sums[l], sums[l + stride]);
    level.push_back(sums[0]);
  }
  if (level.empty()) return zero;
  while (level.size() > 1) {
    std::vector<T> next;
    for (size_t i = 0; i < level.size(); i += 2)
      next.push_back(i + 1 < level.size() ? add(level[i], level[i + 1]) : level[i]);
    level = next;
  }
  return level[0];
}
inline float tree_sum(const std::vector<float>& terms) {
  return tree(terms, 0.0f, [](float a, float b) { return a + b; });
}
/// Each `+` rounded to fp16 to nearest, saturating.
inline float half_tree_sum(const std::vector<float>& terms, const Mode& mode) {
  return tree(terms, 0.0f, [&](float a, float b) {
    return static_cast<float>(rounded(DType::kFloat16, static_cast<Real>(a) + b, mode, {}, 0));
  });
}

}  // namespace oracle::order
