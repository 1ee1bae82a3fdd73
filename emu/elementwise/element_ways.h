// How an element-wise operation on a dtype is computed under a preset: by one form, or in two stages, first the values,
// then their one rounding.
#pragma once

#include "emu/bulk/kernels.h"
#include "emu/elementwise/element_loop.h"

namespace softamp::emu {

/// A form, and the rounding of the values that it writes to a block, if it writes values.
struct Way {
  LaneKernel form = nullptr;  ///< null: the body computes everything
  RoundKernel round = nullptr;
  RoundPlan plan{};
  Element values = Element::kF32;  ///< what the form writes for `round`: fp32 or binary64
  bool told_by_mxcsr = false;      ///< inexact and underflow are read from MXCSR
  LaneKernel to_bf16 = nullptr;    ///< used instead of `round` while inexact and underflow are not sought
  LaneParameters parameters{};     ///< of to_bf16
  bool one_nan = true;             ///< all NaN results are one code
};

/// The semantics under which staged values are rounded: they are results, not operands, so nothing is flushed on entry.
Semantics of_results(const Semantics& s);

/// A rounding of fp32 or binary64 values to `to`.
Way staged(LaneKernel form, Element values, const FloatFormat& to, const Semantics& s, bulk::InstructionSet isa);

/// A staged block.
struct Rounding {
  uint64_t rare = 0;
  uint8_t flags = 0;
};
/// Rounds the values of slice.in[0] to codes of way.plan.format.
Rounding round_block(const Way& way, const RandomPlan& random, const Slice& slice, uint8_t wanted);

/// What to do with NaNs and infinities among results of format `f`.
void set_results(LaneParameters& parameters, const FloatFormat& f, const Semantics& s);
/// Whether all NaN results are one code, so that forms may write it.
inline bool one_nan(const Semantics& s, const FloatFormat& f) {
  const NanPattern nan = s.rounding(f).nan;
  return nan != NanPattern::kPropagate && nan != NanPattern::kInfinity && nan != NanPattern::kSigned;
}

/// The way that is taken while neither inexact nor underflow is sought, and the one that tells them.
struct Ways {
  Way silent, telling;
};

/// The ways of an operation on elements of dtype `t` (a float of at most 32 bits), and the constants of its forms.
Ways ways_of(kernel::Elementwise op, DType t, const Semantics& s, bulk::InstructionSet isa, LaneParameters& parameters);

/// The random words of a block, for kernels that take whole groups.
struct BlockWords {
  uint32_t tail[kGroup];
  const uint32_t* data = nullptr;

  BlockWords(const uint32_t* words, size_t count, size_t valid) : data(words) {
    if (!words || valid == count) return;
    for (size_t i = 0; i < kGroup; ++i) tail[i] = i < valid ? words[i] : 0;
    data = tail;
  }
};

}  // namespace softamp::emu
