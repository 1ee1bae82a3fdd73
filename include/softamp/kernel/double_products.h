// Products of binary64 (N441): one chain per output, in the order of kernel/products.h and kernel/convolutions.h.
//
//   acc = +0; acc = RN(acc + RN(a b)) for each product in ascending k; independent partials as there (N105, N125),
//   their sums added up in ascending order from the first on.
//
// Nothing is fused, since binary64 has no fused instruction in the baseline; there are no blocks, no half partials, and
// no other accumulator. Flags: a NaN operand's, invalid and overflow of every step.
#pragma once

#include "softamp/kernel/convolutions.h"
#include "softamp/kernel/reductions.h"

namespace softamp::kernel {

// implements: N441
class DoubleChain {
 public:
  SOFTAMP_INLINE void step(uint64_t a, uint64_t b, const Semantics& s) {
    const double x = steps_.enter_double_code(a, s), y = steps_.enter_double_code(b, s);
    acc_ = steps_.add(acc_, steps_.mul(x, y));
  }
  SOFTAMP_INLINE void close_partial() {
    total_ = any_partial_ ? steps_.add(total_, acc_) : acc_;
    any_partial_ = true;
    acc_ = 0;
  }
  /// independent: the sum is made of partials, all of them closed.
  SOFTAMP_INLINE Rounded finish(bool independent, const Semantics& s) const {
    const FloatFormat f = FloatFormat::binary64();
    const Rounded r = kernel::finish(f, independent ? total_ : acc_, steps_.flags, s, RoundingPolicy::kStill);
    return {r.code, static_cast<uint8_t>(r.flags & (kInvalid | kOverflow))};
  }

 private:
  Steps steps_;
  double acc_ = 0, total_ = 0;
  bool any_partial_ = false;
};

/// The products of an output, for the walks of kernel/convolutions.h: the definition.
class DoubleProducts {
 public:
  SOFTAMP_INLINE DoubleProducts(const uint64_t* a, const uint64_t* b, const Semantics& s) : a_(a), b_(b), s_(s) {}
  SOFTAMP_INLINE void product(uint64_t ia, uint64_t ib, uint64_t) { chain_.step(a_[ia], b_[ib], s_); }
  SOFTAMP_INLINE void run(uint64_t ia, uint64_t a_step, uint64_t ib, uint64_t b_step, uint64_t length) {
    for (uint64_t i = 0; i < length; ++i) product(ia + i * a_step, ib + i * b_step, 0);
  }
  SOFTAMP_INLINE void end_block(uint64_t) {}
  SOFTAMP_INLINE void close_partial(uint64_t) { chain_.close_partial(); }
  SOFTAMP_INLINE Rounded finish(bool independent) const { return chain_.finish(independent, s_); }

 private:
  const uint64_t *a_, *b_;
  const Semantics& s_;
  DoubleChain chain_;
};

/// The products of up to eight neighbouring outputs, whose elements of b lie `stride` apart: the same sums without the
/// flags. A finite sum has raised none, since a NaN or an infinity stays in it.
class DoubleLanes {
 public:
  static constexpr unsigned kLanes = 8;

  SOFTAMP_INLINE DoubleLanes(const uint64_t* a, const uint64_t* b, uint64_t stride, unsigned count)
      : a_(a), b_(b), stride_(stride), count_(count) {}
  SOFTAMP_INLINE void product(uint64_t ia, uint64_t ib, uint64_t) { run(ia, 1, ib, 1, 1); }
  /// Products of elements that lie a_step and b_step apart.
  SOFTAMP_INLINE void run(uint64_t ia, uint64_t a_step, uint64_t ib, uint64_t b_step, uint64_t length) {
    if (count_ != kLanes)
      few(ia, a_step, ib, b_step, length);
    else if (stride_ == 1)
      eight(ia, a_step, ib, b_step, length, 1);
    else
      eight(ia, a_step, ib, b_step, length, stride_);
  }
  SOFTAMP_INLINE void end_block(uint64_t) {}
  SOFTAMP_INLINE void close_partial(uint64_t) {
    for (unsigned l = 0; l < kLanes; ++l) {
      total_[l] = any_partial_ ? total_[l] + acc_[l] : acc_[l];
      acc_[l] = 0;
    }
    any_partial_ = true;
  }
  SOFTAMP_INLINE double sum(unsigned lane, bool independent) const { return independent ? total_[lane] : acc_[lane]; }

 private:
  static SOFTAMP_INLINE double at(const uint64_t* from, uint64_t i) { return __builtin_bit_cast(double, from[i]); }

  SOFTAMP_INLINE void few(uint64_t ia, uint64_t a_step, uint64_t ib, uint64_t b_step, uint64_t length) {
    for (uint64_t i = 0; i < length; ++i) {
      const double x = at(a_, ia + i * a_step);
      for (unsigned l = 0; l < count_; ++l) acc_[l] = acc_[l] + x * at(b_, ib + i * b_step + l * stride_);
    }
  }
  /// Eight sums in registers.
  SOFTAMP_INLINE void eight(uint64_t ia, uint64_t a_step, uint64_t ib, uint64_t b_step, uint64_t length,
                            uint64_t stride) {
    double s0 = acc_[0], s1 = acc_[1], s2 = acc_[2], s3 = acc_[3], s4 = acc_[4], s5 = acc_[5], s6 = acc_[6],
           s7 = acc_[7];
    for (uint64_t i = 0; i < length; ++i, ia += a_step, ib += b_step) {
      const double x = at(a_, ia);
      s0 = s0 + x * at(b_, ib);
      s1 = s1 + x * at(b_, ib + stride);
      s2 = s2 + x * at(b_, ib + 2 * stride);
      s3 = s3 + x * at(b_, ib + 3 * stride);
      s4 = s4 + x * at(b_, ib + 4 * stride);
      s5 = s5 + x * at(b_, ib + 5 * stride);
      s6 = s6 + x * at(b_, ib + 6 * stride);
      s7 = s7 + x * at(b_, ib + 7 * stride);
    }
    acc_[0] = s0, acc_[1] = s1, acc_[2] = s2, acc_[3] = s3, acc_[4] = s4, acc_[5] = s5, acc_[6] = s6, acc_[7] = s7;
  }

  const uint64_t *a_, *b_;
  uint64_t stride_;
  unsigned count_;
  double acc_[kLanes]{}, total_[kLanes]{};
  bool any_partial_ = false;
};

/// Neighbouring outputs, `count` of them (1 .. 8): walk(products) goes through the products of the first one;
/// put(lane, Rounded) receives each. by_definition: by DoubleProducts alone.
// implements: N441
template <class Walk, class Put>
SOFTAMP_INLINE void double_outputs(const uint64_t* a, const uint64_t* b, uint64_t stride, unsigned count,
                                   bool independent, bool by_definition, const Semantics& s, const Walk& walk,
                                   const Put& put) {
  DoubleLanes lanes(a, b, stride, count);
  if (!by_definition) walk(lanes);
  for (unsigned l = 0; l < count; ++l) {
    const double sum = lanes.sum(l, independent);
    if (!by_definition && is_finite(sum)) {
      put(l, finish(FloatFormat::binary64(), sum, 0, s, RoundingPolicy::kStill));
      continue;
    }
    DoubleProducts one(a, b + l * stride, s);
    walk(one);
    put(l, one.finish(independent));
  }
}

/// One product of matrices, row-major: a of rows x k, b of k x columns, or transposed.
struct DoubleMatrices {
  static constexpr uint64_t kPartial = 1024;  ///< products of an independent partial

  uint64_t rows, columns, k;
  bool transpose_a, transpose_b, independent;

  /// How far apart the elements of b of neighbouring columns lie.
  SOFTAMP_INLINE uint64_t stride() const { return transpose_b ? k : 1; }
  /// The products of output (row, column).
  template <class Products>
  SOFTAMP_INLINE void walk(uint64_t row, uint64_t column, Products& products) const {
    const uint64_t a = transpose_a ? row : row * k, a_step = transpose_a ? rows : 1;
    const uint64_t b = transpose_b ? column * k : column, b_step = transpose_b ? 1 : columns;
    const uint64_t at_once = independent ? kPartial : k;
    for (uint64_t i = 0; i < k; i += at_once) {
      products.run(a + i * a_step, a_step, b + i * b_step, b_step, k - i < at_once ? k - i : at_once);
      if (independent) products.close_partial(0);
    }
  }
};

}  // namespace softamp::kernel
