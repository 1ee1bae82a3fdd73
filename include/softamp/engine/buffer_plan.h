// Places buffers of known lifetimes in one arena, so that memory is allocated once and reused within a step.
#pragma once

#include <cstddef>
#include <vector>

namespace softamp::engine {

/// A buffer that is written at step `first` and read last at step `last` (>= first).
struct BufferRequest {
  size_t bytes;
  int first, last;
};

struct BufferPlan {
  std::vector<size_t> offsets;  ///< one per request, multiples of 64
  size_t arena_bytes = 0;
};

/// Requests are in ascending order of `first`. Two requests whose lifetimes share a step never share a byte. Each takes
/// the gap that fits best, or the arena's end if no gap is large enough.
BufferPlan plan_buffers(const std::vector<BufferRequest>& requests);

}  // namespace softamp::engine
