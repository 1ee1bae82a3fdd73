// The trace of running sums: what the first replicas of a chunk are after the additions that are asked for.
#pragma once

#include "softamp/numbers/number_text.h"
#include "src/sums/sum_chunk.h"

namespace softamp::detail {

/// Records the sums of the first replicas for a trace.
class Tracer {
 public:
  Tracer(const RunningSumSetup& setup, const SumChunk& chunk) : setup_(setup), chunk_(chunk) {}

  /// `code(i)`: the sum of replica i after `additions`.
  template <class Code>
  void see(uint64_t additions, const Code& code) {
    if (!chunk_.trace_at || place_ >= chunk_.trace_at->size() || additions < (*chunk_.trace_at)[place_]) return;
    for (size_t i = 0; i < chunk_.traces.size(); ++i) chunk_.traces[i][place_] = value_of(setup_.format, code(i));
    ++place_;
  }
  /// The sums no longer change: records them for the rest of the trace.
  template <class Code>
  void finish(const Code& code) {
    if (chunk_.trace_at)
      while (place_ < chunk_.trace_at->size()) see((*chunk_.trace_at)[place_], code);
  }

 private:
  const RunningSumSetup& setup_;
  const SumChunk& chunk_;
  size_t place_ = 0;
};

}  // namespace softamp::detail
