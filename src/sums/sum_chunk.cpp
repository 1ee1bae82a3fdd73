#include "src/sums/sum_chunk.h"

#include <algorithm>

#include "softamp/numerics/operations.h"
#include "src/sums/addition_bits.h"
#include "src/sums/sum_trace.h"
#include "src/sums/sum_ways.h"

namespace softamp::detail {
namespace {

/// Addition by addition, replica by replica.
FirstFlags by_scalars(const RunningSumSetup& s, const SumChunk& chunk, const std::function<void(uint64_t)>& done) {
  const bool stochastic = s.semantics.draws(s.format);
  const std::span<uint64_t> codes = chunk.codes;
  AdditionBits random(s, chunk);
  Tracer tracer(s, chunk);
  FirstFlags flags;
  const auto code = [&](size_t i) { return codes[i]; };
  tracer.see(0, code);
  for (uint64_t n = 1; n <= s.count; ++n) {
    const uint32_t* const words = stochastic ? random.draw(static_cast<uint32_t>(n - 1)) : nullptr;
    bool changed = false;
    for (size_t i = 0; i < codes.size(); ++i) {
      const Rounded r = fp::add(s.format, codes[i], s.addend, s.semantics, words ? words[i] : 0);
      if (r.code != codes[i]) {
        codes[i] = r.code;
        chunk.last_change[i] = n;
        changed = true;
      }
      if (r.flags & ~flags.flags) flags.raise(r.flags, n);
    }
    if (!changed && !stochastic) {
      tracer.finish(code);
      return flags;
    }
    tracer.see(n, code);
    if (n % kRunningSumTick == 0) done(n);
  }
  return flags;
}

}  // namespace

FirstFlags run_sum_chunk(const RunningSumSetup& setup, const SumChunk& chunk,
                         const std::function<void(uint64_t)>& done) {
  std::fill(chunk.codes.begin(), chunk.codes.end(), setup.start);
  std::fill(chunk.last_change.begin(), chunk.last_change.end(), 0);
  const bool addressed = setup.engine != RandomEngine::kXoroshiro128aox;
  if (addressed && setup.semantics.draws(setup.format) && setup.format.storage_bits() <= 16 &&
      chunk.codes.size() >= kLanesFrom)
    return sum_by_lanes(setup, chunk, done);
  if (doubles_serve(setup)) return sum_by_doubles(setup, chunk, done);
  return by_scalars(setup, chunk, done);
}

}  // namespace softamp::detail
