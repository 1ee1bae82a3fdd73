// Places buffers of known lifetimes in one arena, so that memory is reused within a step and asked for once.
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

/// Requests are in ascending order of `first`. Two requests whose lifetimes share a step never share a byte. Best fit
/// among the gaps, at the arena's end where none is large enough.
BufferPlan plan_buffers(const std::vector<BufferRequest>& requests);

}  // namespace softamp::engine
