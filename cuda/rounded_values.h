// Conversion of elements to fp32 and back, as kernel/reductions.h defines it (Steps::enter, finish): in a few
// instructions for ordinary elements, else by the bodies.
#pragma once

#include "cuda/element_loop.h"
#include "cuda/fast_round.h"
#include "softamp/kernel/reductions.h"
#include "softamp/names/dtype.h"

namespace softamp::cuda {

namespace detail {

/// An element as it was entered, and the flags of that: by value, so that a caller's flags need no address.
struct Entered {
  float value;
  uint32_t flags;
};
SOFTAMP_HD __attribute__((noinline)) inline Entered enter_rare(const FloatFormat& format, uint64_t code,
                                                               const Semantics& s) {
  kernel::Steps steps;
  const float x = steps.enter_code(format, code, s);
  return {x, steps.flags};
}
template <class F>
SOFTAMP_HD __attribute__((noinline)) Rounded finish_rare(const FloatFormat& format, F value, uint8_t step_flags,
                                                         const Semantics& s, uint32_t random) {
  return kernel::finish(format, value, step_flags, s, random);
}

}  // namespace detail

/// Elements of float16, bfloat16 or float32, in the device's memory.
struct Reader {
  const void* data = nullptr;
  FloatFormat format = FloatFormat::fp32();
  DType type = DType::kFloat32;
  bool plain_zeros = true;  ///< fp32: flushing keeps the sign of a zero
  bool usual = true;        ///< else the body reads every element

  Reader() = default;
  Reader(DType t, const Semantics& s)
      : format(format_of(t)),
        type(t),
        plain_zeros(s.operand_flush_sign == FlushSign::kSame && s.wide.subnormals != Subnormals::kFlushToPositive),
        usual(s.usual()) {}
  Reader on(const void* elements) const {
    Reader r = *this;
    r.data = elements;
    return r;
  }

  SOFTAMP_PRIMITIVE bool is_wide() const { return type == DType::kFloat32; }
  SOFTAMP_PRIMITIVE uint32_t code(uint64_t i) const {
    return is_wide() ? static_cast<const uint32_t*>(data)[i] : static_cast<const uint16_t*>(data)[i];
  }
  /// Whether `value` of a code is what Steps::enter gives, without flags.
  SOFTAMP_PRIMITIVE bool is_plain(uint32_t code) const {
    if (type == DType::kFloat16) return (code & 0x7FFFu) < 0x7C00u && usual;
    if (type == DType::kBFloat16) return ((code & 0x7F80u) - 0x80u < 0x7F00u || (code & 0x7FFFu) == 0) && usual;
    return ((code & 0x7F800000u) - 0x00800000u < 0x7F000000u || code << (plain_zeros ? 1 : 0) == 0) && usual;
  }
  SOFTAMP_PRIMITIVE float value(uint32_t code) const {
    if (type == DType::kFloat16) return float_of_half(code);
    return type == DType::kBFloat16 ? float_of_bf16(code) : from_bits(code);
  }

  /// Element i as Steps::enter gives it.
  SOFTAMP_PRIMITIVE float enter(kernel::Steps& steps, uint64_t i, const Semantics& s) const {
    return enter(steps.flags, i, s);
  }
  /// The same if its flags count elsewhere.
  SOFTAMP_PRIMITIVE float entered(uint64_t i, const Semantics& s) const {
    uint8_t ignored = 0;
    return enter(ignored, i, s);
  }

  /// The same of a code that has been read.
  SOFTAMP_PRIMITIVE float enter_code(uint8_t& flags, uint32_t c, const Semantics& s) const {
    if (is_plain(c)) return value(c);
    const detail::Entered rare = detail::enter_rare(format, c, s);
    flags = static_cast<uint8_t>(flags | rare.flags);
    return rare.value;
  }

 private:
  SOFTAMP_PRIMITIVE float enter(uint8_t& flags, uint64_t i, const Semantics& s) const {
    return enter_code(flags, code(i), s);
  }
};

/// The final rounding of fp32 results, and their destination.
struct Writer {
  void* data = nullptr;  ///< null: nowhere, only flags are computed
  FloatFormat format = FloatFormat::fp32();
  unsigned bytes = 4;
  FastRound round{};

  Writer() = default;
  Writer(DType t, const Semantics& s, bool status_wanted)
      : format(format_of(t)),
        bytes(static_cast<unsigned>(size_of(t))),
        round(FastRound::of(format, t == DType::kFloat32 ? s : kernel::detail::unflushed(s), status_wanted, true)) {}
  Writer on(void* elements) const {
    Writer w = *this;
    w.data = elements;
    return w;
  }

  /// Writes kernel::finish(value, step_flags) to element i; returns the flags. `random`: what Environment::draw gives.
  SOFTAMP_PRIMITIVE uint8_t put(uint64_t i, float value, uint8_t step_flags, const Semantics& s,
                                uint32_t random) const {
    bool rare = !round.usable || step_flags != 0;
    uint32_t code = 0;
    if (!rare) code = round(value, random, rare);
    uint8_t flags = 0;
    if (rare) {
      // The fast code may leave extra high bits in a word; the body needs them cleared.
      const int bits = s.rounding(format).random_bits;
      const uint32_t word = bits < 32 ? random & ((1u << bits) - 1) : random;
      const Rounded r = detail::finish_rare<float>(format, value, step_flags, s, word);
      code = static_cast<uint32_t>(r.code);
      flags = r.flags;
    }
    if (data) store_element(data, bytes, i, code);
    return flags;
  }
};

/// The random word of one rounding of an output of `format`. By value in the launch; the step is read here.
SOFTAMP_PRIMITIVE uint32_t draw_word(const StepEnvironment& e, const FloatFormat& format, uint32_t site,
                                     uint64_t index) {
  const RoundingPolicy& p = e.environment.semantics.rounding(format);
  if (!p.stochastic()) return 0;
  const kernel::WordTable& table = e.environment.table[site];
  if (table.words) return *table.at(index);
  return e.environment.random.bits(*e.step, e.environment.operation + site, index, p.random_bits);
}

}  // namespace softamp::cuda
