// What the kernels of blocks read: constants worked out once a call. No kernel looks at a format or a policy again.
#pragma once

#include <optional>

#include "emu/blocks/block_call.h"
#include "emu/bulk/plan.h"

namespace softamp::emu {

/// An element to nearest even, and the value of a code.
///
/// Float, with a precision p, W = 24 - p: |y| + P M in fp32, where P is the power of two below |y|, or the least normal
/// number, and M = 2^W + c 2^(W-23). The last bit of the sum is the quantum of the result, so the processor's rounding
/// is the one that is wanted, and the low bits of the sum are |y| in quanta, plus c; P's exponent added to them makes
/// the code, if c takes its bias off modulo 2^(bits of the exponent). c is a multiple of 2^(p-1), so ties stay ties.
/// Fixed point: y + 1.5 2^23 quanta.
struct ElementPlan {
  bool integer;
  bool keeps_zero_signs;
  float least, greatest;    ///< the range of results; of a float its magnitudes' greatest
  uint32_t least_power;     ///< fp32's code of the least normal number
  float shifter;            ///< M; of fixed point 1.5 2^23 quanta
  int exponent_shift;       ///< W
  int sign_shift;           ///< left shift that takes a code's top bit to bit 31
  uint32_t magnitude_mask;  ///< of a code; of fixed point the whole code

  float quantum;           ///< of the least numbers
  uint32_t rebase;         ///< added to a code's magnitude << W: the value's fp32 code where it is normal
  uint32_t first_normal;   ///< code
  uint32_t greatest_code;  ///< magnitudes above it are infinity or NaN
  uint32_t infinity_code;  ///< ~0 where there is none
  bool sign_alone_is_nan;

  // Roundings that add something before bits are cut off (added_body.h).
  uint32_t least_field;  ///< of fp32: that of the least normal number; of fixed point one that is above all results
  int addend_shift;      ///< left shift of the random number
  uint32_t addend_base;  ///< and what is added to it
  uint32_t code_base;    ///< and, where codes are made, to take the bias off: above the bits that are cut off

  bool sticky;  ///< what x times a power of two loses below fp32's normal numbers leaves a trace
};

/// Scales of blocks from their greatest magnitudes.
struct ScalePlan {
  block::BlockFamily family;
  block::ScaleRule mx_rule;
  int max_exponent;  ///< of the element
  uint32_t half;     ///< what kEven adds
  float reciprocal;  ///< kRceil: RN32(1 / M)
  block::Nvfp4Rule nvfp4_rule;
  float encode, decode, encode_sixth, tensor_amax, of_both;  ///< N453; of_both RN32(1/(6 M))
  bool chooses, squares;                                     ///< N469: scales are of a / 6 S times `expand`
  float expand, largest_product;
  block::Fp8Rule fp8_rule;
  bool powers_of_two, has_infinity;
  uint32_t least_amax;
  float largest_factor, most;
};

/// How a call is carried out.
struct BlockPlan {
  enum class Way : uint8_t {
    kReference,  ///< element by element
    kNearest,    ///< to nearest even, by ElementPlan
    kAdded,      ///< stochastic (carry, half), to nearest away, toward zero: by ElementPlan, too
    kScaled,     ///< x is scaled in fp32, and rounded by the kernels of bulk/
  };
  /// `quantizes` is false for dequantize alone.
  BlockPlan(const BlockCall& call, bool quantizes);

  Way way = Way::kReference;
  bool vector_scales = false;  ///< else by the functions for one block
  ElementPlan element{};
  ScalePlan scale{};
  ScalePlan wider{};               ///< where blocks choose: what takes greatest magnitudes to 4
  std::optional<RoundPlan> round;  ///< of kScaled
  RandomPlan random{};
};

}  // namespace softamp::emu
