// Rounding of an array of floats: a thread takes the elements of one Philox block, fp16 and bf16 in a few instructions.
#pragma once

#include "cuda/each_item.h"
#include "cuda/element_loop.h"
#include "cuda/fast_round.h"
#include "softamp/numerics/convert.h"
#include "softamp/numerics/random.h"
#include "softamp/tensor/device_round.h"

namespace softamp::cuda {

/// bulk::round_on_device with a device that has the arrays, and with checked arguments.
void round_array(Device& device, const bulk::DeviceRounding& rounding, const Semantics& semantics,
                 const bulk::BulkOptions& options);

struct ArrayRounding {
  static constexpr uint64_t kElements = 8;  ///< of a Philox block with lanes of 16 bits

  const float* in = nullptr;
  void* out = nullptr;
  uint64_t size = 0;
  FloatFormat to;
  bool values = false;  ///< out has floats, else codes of `bytes`
  unsigned bytes = 2;
  Semantics semantics;
  FastRound fast;
  int random_bits = 0;  ///< 0: nothing is drawn
  RandomBits random;
  uint32_t step = 0, operation = 0;
  uint64_t first_index = 0;        ///< of element 0
  DeviceStatus* status = nullptr;  ///< null: flags are not wanted

  SOFTAMP_HD uint64_t groups() const { return (first_index % kElements + size + kElements - 1) / kElements; }

  template <class Block>
  SOFTAMP_HD void operator()(Block& block) const {
    block.each([&](unsigned t) {
      FpStatus seen;
      const uint64_t lead = first_index % kElements;
      items_of_thread(block, t, groups(), [&](uint64_t g) {
        const uint64_t begin = g == 0 ? 0 : g * kElements - lead, end = (g + 1) * kElements - lead;
        group(begin, end < size ? end : size, seen);
      });
      merge_status(status, seen);
    });
  }

 private:
  SOFTAMP_HD void group(uint64_t begin, uint64_t end, FpStatus& seen) const {
    RandomBlock block{};
    const bool narrow = random_bits > 0 && random_bits <= 16;
    if (narrow) block = random_block(random, step, operation, (first_index + begin) / kElements);
#if defined(__CUDACC__)
#pragma unroll 1
#endif
    for (uint64_t i = begin; i < end; ++i) {
      const uint64_t index = first_index + i;
      uint32_t word = 0;
      if (narrow) word = block.lane16(static_cast<uint32_t>(index % kElements)) & ((1u << random_bits) - 1);
      if (random_bits > 16) word = random.bits(step, operation, index, random_bits);
      bool rare = !fast.usable;
      uint64_t code = rare ? 0 : fast(in[i], word, rare);
      if (rare || status) {
        const Rounded r = fp::convert(FloatFormat::fp32(), to, bits_of(in[i]), semantics, word);
        code = r.code;
        if (r.flags) seen.raise(r.flags, i);
      }
      if (!values)
        store_element(out, bytes, i, code);
      else
        static_cast<float*>(out)[i] = rare ? fp::to_float(to, code) : plain_value(static_cast<uint32_t>(code));
    }
  }

  /// Of a code that `fast` gave.
  SOFTAMP_PRIMITIVE float plain_value(uint32_t code) const {
    if (to == FloatFormat::fp32()) return from_bits(code);
    return to == FloatFormat::fp16() ? float_of_half(code) : float_of_bf16(code);
  }
};

}  // namespace softamp::cuda
