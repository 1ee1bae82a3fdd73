// The status of an operation in a device's memory (N414: integer atomics only).
#pragma once

#include "softamp/numerics/status.h"

namespace softamp::cuda {

/// FpStatus as threads merge into it.
// implements: N414
struct DeviceStatus {
  uint32_t flags;
  uint32_t unused;
  uint64_t first_index[kFlagCount];

  /// Without flags, for threads to merge into.
  static DeviceStatus none() {
    DeviceStatus none{};
    for (uint64_t& place : none.first_index) place = FpStatus::kNever;
    return none;
  }
  /// What threads have merged, each element's index greater by `offset`.
  FpStatus status(uint64_t offset = 0) const {
    FpStatus s;
    for (int b = 0; b < kFlagCount; ++b)
      if (flags >> b & 1) s.raise(static_cast<uint8_t>(1 << b), first_index[b] + offset);
    return s;
  }
};

/// Merges the flags that a thread has seen. Does nothing for a null status.
SOFTAMP_HD inline void merge_status(DeviceStatus* to, const FpStatus& seen) {
  if (!to || !seen.flags) return;
#if defined(__CUDA_ARCH__)
  volatile const DeviceStatus* now = to;  // flags that are set already need no atomic
  if ((now->flags & seen.flags) != seen.flags) atomicOr(&to->flags, static_cast<unsigned>(seen.flags));
  for (int b = 0; b < kFlagCount; ++b)
    if (seen.first_index[b] < now->first_index[b])
      atomicMin(reinterpret_cast<unsigned long long*>(&to->first_index[b]),
                static_cast<unsigned long long>(seen.first_index[b]));
#else
  to->flags |= seen.flags;
  for (int b = 0; b < kFlagCount; ++b)
    if (seen.first_index[b] < to->first_index[b]) to->first_index[b] = seen.first_index[b];
#endif
}

namespace detail {
/// Out of line: kernels that call it where an element is rare shall have no registers for it.
SOFTAMP_HD __attribute__((noinline)) inline void raise_now(DeviceStatus* to, uint8_t flags, uint64_t index) {
  FpStatus seen;
  seen.raise(flags, index);
  merge_status(to, seen);
}
}  // namespace detail

/// The flags of one element.
// implements: N414
SOFTAMP_HD inline void raise_status(DeviceStatus* to, uint8_t flags, uint64_t index) {
  if (to && flags) detail::raise_now(to, flags, index);
}

}  // namespace softamp::cuda
