// Arrays in the memory of a CUDA device, rounded there: the bits of bulk::round and round_values.
#pragma once

#include "softamp/tensor/bulk.h"

namespace softamp::bulk {

/// float32 numbers in a CUDA device's memory, and where the result goes in the same device's memory.
struct DeviceRounding {
  int device = 0;  ///< its number, from 0
  const float* in = nullptr;
  size_t size = 0;
  FloatFormat to = kFp16;  ///< any valid format of at most 32 bits
  bool values = false;     ///< false: codes of 1, 2 or 4 bytes, whatever the format takes; true: floats [=false]
  void* out = nullptr;     ///< with values it may be `in`, otherwise they must not overlap

  /// Bytes of an element of `out`: 4 with values, else the 1, 2 or 4 that a code takes.
  size_t out_bytes() const { return values || to.storage_bits() > 16 ? 4 : to.storage_bits() > 8 ? 2 : 1; }
};

/// out[i] = in[i] rounded once. It first waits for all that the device has begun, and returns when all is done.
///
/// Of `options`, threads and isa are of the CPU and have no meaning here.
/// Throws std::invalid_argument as bulk::round does, for a pointer that is null or not aligned to its elements, and for
/// random.words and random.slice; std::runtime_error: no CUDA in this build, no such device, or one that fails.
void round_on_device(const DeviceRounding& rounding, const Semantics& semantics, const BulkOptions& options = {});

}  // namespace softamp::bulk
