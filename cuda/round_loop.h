// The second pass of an operation whose outputs depend on sums: each output from elements at its own place and from
// values of its row, group or channel; then one rounding.
#pragma once

#include "cuda/code_queue.h"

namespace softamp::cuda {

/// Operands of output i as the body gets them.
struct OutputOperands {
  const Reader* in;
  uint32_t code[2];  ///< of their elements i
  const Semantics& semantics;

  SOFTAMP_PRIMITIVE float operator()(unsigned k, kernel::Steps& steps) const {
    return in[k].enter_code(steps.flags, code[k], semantics);
  }
  /// The same if its flags count elsewhere.
  SOFTAMP_PRIMITIVE float silent(unsigned k) const {
    uint8_t ignored = 0;
    return in[k].enter_code(ignored, code[k], semantics);
  }
  /// Element `place` of a small operand.
  SOFTAMP_PRIMITIVE float of(const Reader& r, uint64_t place, kernel::Steps& steps) const {
    return r.enter(steps, place, semantics);
  }
};

/// Eight outputs a thread, which share a block of random bits. `Body`:
///   Place place(uint64_t i) const                 what the body knows of output i's place
///   void next(Place&) const                       that of output i + 1
///   float operator()(const OutputOperands&, const Place&, kernel::Steps&) const     before the rounding
///   uint64_t flag_index(uint64_t i) const
template <class Body>
struct RoundLoop {
  static constexpr unsigned kMostThreads = 128, kLeastBlocks = 4;

  uint64_t size;
  uint32_t site;
  Writer out;
  Reader in[2];  ///< read at the output's place
  unsigned reads;
  bool vectors;  ///< all of these are aligned
  StepEnvironment environment;
  DeviceStatus* status;
  Body body;

  template <class Block>
  SOFTAMP_HD void operator()(Block& block) const {
    block.each([&](unsigned t) {
      const uint64_t stride = kGroup * uint64_t{block.blocks()} * block.threads();
      uint64_t first = kGroup * (uint64_t{block.index()} * block.threads() + t);
      if (first >= size) return;
      Codes codes = load(first);
      for (;;) {
        const uint64_t after = first + stride;
        const Codes ahead = after < size ? load(after) : Codes{};  // on its way while this group is worked on
        group(first, codes);
        if (after >= size) return;
        first = after;
        codes = ahead;
      }
    });
  }

 private:
  struct Codes {
    CodeQueue of[2];
  };
  SOFTAMP_PRIMITIVE unsigned count_at(uint64_t first) const {
    return size - first < kGroup ? static_cast<unsigned>(size - first) : kGroup;
  }
  SOFTAMP_PRIMITIVE Codes load(uint64_t first) const {
    Codes codes{};
    codes.of[0].load(in[0], first, count_at(first), vectors);
    if (reads > 1) codes.of[1].load(in[1], first, count_at(first), vectors);
    return codes;
  }

  SOFTAMP_PRIMITIVE void group(uint64_t first, Codes codes) const {
    const kernel::Environment& e = environment.environment;
    const RoundingPolicy& p = e.semantics.rounding(out.format);
    const unsigned n = count_at(first);
    RandomWords words{};
    if (p.stochastic()) words = random_words(e, *environment.step, site, first, p.random_bits, n);
    auto place = body.place(first);
#if defined(__CUDACC__)
#pragma unroll 1
#endif
    for (unsigned j = 0; j < n; ++j) {
      kernel::Steps steps;
      const OutputOperands operands{
          in, {codes.of[0].take(in[0].is_wide()), reads > 1 ? codes.of[1].take(in[1].is_wide()) : 0}, e.semantics};
      const float value = body(operands, place, steps);
      const uint8_t flags = out.put(first + j, value, steps.flags, e.semantics, words.word[0]);
      for_each_of<kGroup - 1>([&](unsigned k) { words.word[k] = words.word[k + 1]; });
      if (flags) raise_status(status, flags, body.flag_index(first + j));
      if (j + 1 < n) body.next(place);
    }
  }
};

/// `x`, `second`: operands that are read at the output's place; a null second is none.
template <class Body>
void launch_rounding(const DeviceCall& call, const char* name, uint64_t size, uint32_t site, const Writer& out,
                     const Reader& x, const Reader& second, const Body& body) {
  if (!out.data && !call.status) return;
  const auto fits = [](const Reader& r) {
    return !r.data || detail::aligned_groups(r.data, static_cast<unsigned>(size_of(r.type)));
  };
  const bool vectors = fits(x) && fits(second);
  call.device.launch(
      name, loop_grid(call.device, (size + kGroup - 1) / kGroup, RoundLoop<Body>::kMostThreads),
      RoundLoop<Body>{
          size, site, out, {x, second}, second.data ? 2u : 1u, vectors, call.environment, call.status, body});
}

}  // namespace softamp::cuda
