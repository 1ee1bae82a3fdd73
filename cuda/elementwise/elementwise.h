// Shared by the files of this engine's element-wise operations.
#pragma once

#include "cuda/element_group.h"
#include "cuda/fast_round.h"
#include "softamp/kernel/elementwise.h"

namespace softamp::cuda {

/// An operation of kernel::Elementwise on tensors of one dtype, with everything that a launch of it needs.
struct ElementwiseLaunch {
  kernel::Elementwise op;
  DType type;   ///< of the operands
  float alpha;  ///< of leaky ReLUs
  GroupOperand in[2];
  void* out;
  unsigned out_bytes;
  uint64_t size;
};

// Each puts the operation into the queue if the preset allows its fast code, which gives the body's bits; the body
// computes rare elements. False: nothing was put there. Operands that can be read in groups (GroupOperand::at_once) are
// worked on in groups, some at once; others element by element.

/// Selections and comparisons of floats of at most 32 bits, on codes; int32 (cuda/elementwise/element_codes.cu).
bool launch_codes(const DeviceCall& call, const ElementwiseLaunch& e);
/// Arithmetic, and formulas in fp32, by the device's own fp32 arithmetic (cuda/elementwise/element_values.cu).
bool launch_values(const DeviceCall& call, const ElementwiseLaunch& e);

/// The bodies as functions, since few elements are rare; those of formats of at most 32 bits.
struct ElementBody {
  kernel::Elementwise op;
  FloatFormat format;
  float alpha;

  /// What rounds: arithmetic, and formulas in fp32.
  SOFTAMP_HD __attribute__((noinline)) Rounded rounded(uint64_t a, uint64_t b, const Semantics& s,
                                                       uint32_t random) const {
    const FloatFormat f = format;
    if (f.exponent_bits == 11) __builtin_unreachable();  // binary64's arithmetic is not compiled here
    if (kernel::is_arithmetic(op)) return kernel::arithmetic(op, f, a, b, s, random);
    return kernel::fp32_inside(op, f, a, b, alpha, s, random);
  }
  /// Selections and comparisons.
  SOFTAMP_HD __attribute__((noinline)) Rounded chosen(uint64_t a, uint64_t b, const Semantics& s) const {
    if (kernel::is_selection(op)) return kernel::selection(op, format, a, b, s);
    return kernel::comparison(op, format, a, b, s);
  }
};

/// Rounds a whole group of values of rounding site 0, and stores it in vectors; or, with nothing stored, true: the body
/// must compute one of them. `round`: usable, to a format of kBytes (2, 4) bytes.
template <unsigned kBytes>
SOFTAMP_PRIMITIVE bool store_rounded(const FastRound& round, const GroupRun& run, uint32_t step, uint64_t first,
                                     const float (&x)[kGroup], void* out) {
  using Way = FastRound::Way;
  uint32_t code[kGroup];
  bool rare = false;
  if constexpr (kBytes == 4) {
    for_group([&](unsigned j) { code[j] = round.template code<Way::kFloat>(x[j], 0, rare); });
    if (!rare) store_whole(out, 4, first, code);
  } else {
    RandomWords words{};
    if (round.draws) words = random_words(run.environment.environment, step, 0, first, round.random_bits, kGroup);
    detail::Quad two;
    const auto by = [&](auto way) {
      for_each_of<4>([&](unsigned k) {
        two.word[k] = round.template codes<decltype(way)::value>(x[2 * k], x[2 * k + 1], words.word[2 * k],
                                                                 words.word[2 * k + 1], rare);
      });
    };
    switch (round.way) {
      case Way::kHalfNearest: by(std::integral_constant<Way, Way::kHalfNearest>()); break;
      case Way::kHalfCarry: by(std::integral_constant<Way, Way::kHalfCarry>()); break;
      case Way::kBf16Nearest: by(std::integral_constant<Way, Way::kBf16Nearest>()); break;
      default: by(std::integral_constant<Way, Way::kBf16Carry>()); break;
    }
    if (!rare) *reinterpret_cast<detail::Quad*>(static_cast<unsigned char*>(out) + first * 2) = two;
  }
  return rare;
}

// How the preset treats infinities and subnormals among operands.
inline bool infinities_are_plain(const Semantics& s, const FloatFormat& f) {
  return f.storage_bits() > 16 || s.narrow_infinity == InfinityOperand::kIeee;
}
inline constexpr uint32_t kLeastNormal32 = 0x00800000u;

/// A code of fp32 with subnormals made zeros: codes with a magnitude below `below` keep only the bits of `sign`.
SOFTAMP_PRIMITIVE uint32_t flushed(uint32_t code, uint32_t below, uint32_t sign) {
  return (code & 0x7FFFFFFFu) < below ? code & sign : code;
}

}  // namespace softamp::cuda
