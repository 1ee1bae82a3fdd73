// The loop of kernels whose outputs are independent elements: a grid-stride loop, flags merged at a thread's end.
#pragma once

#include <algorithm>

#include "cuda/op_kernel.h"

namespace softamp::cuda {

/// Grid of a loop over n items: one thread each, or, if there are too few threads, several items per thread.
inline Grid loop_grid(const Device& device, uint64_t n, unsigned threads = 256) {
  const uint64_t wanted = (n + threads - 1) / threads,
                 most = 32ull * static_cast<unsigned>(device.properties().multiprocessors);
  return {static_cast<unsigned>(std::min(wanted, most)), threads, 0};
}

/// flags = body(i) computes element i < size of the output.
template <class Body>
struct ElementLoop {
  uint64_t size;
  DeviceStatus* status;
  Body body;

  template <class Block>
  SOFTAMP_HD void operator()(Block& block) const {
    block.each([&](unsigned t) {
      FpStatus seen;
      const uint64_t stride = uint64_t{block.blocks()} * block.threads();
      for (uint64_t i = uint64_t{block.index()} * block.threads() + t; i < size; i += stride) {
        const uint8_t flags = body(i);
        if (flags) seen.raise(flags, i);
      }
      merge_status(status, seen);
    });
  }
};

/// Puts body(i), i = 0 .. size - 1, into the queue. `body`: uint8_t operator()(uint64_t) const, SOFTAMP_HD.
template <class Body>
void launch_elements(const DeviceCall& call, const char* name, uint64_t size, const Body& body) {
  call.device.launch(name, loop_grid(call.device, size), ElementLoop<Body>{size, call.status, body});
}

/// Element i of an array of elements of 1, 2, 4 or 8 bytes, as a code.
SOFTAMP_HD inline uint64_t load_element(const void* array, unsigned bytes, uint64_t i) {
  switch (bytes) {
    case 1: return static_cast<const uint8_t*>(array)[i];
    case 2: return static_cast<const uint16_t*>(array)[i];
    case 4: return static_cast<const uint32_t*>(array)[i];
    default: return static_cast<const uint64_t*>(array)[i];
  }
}
SOFTAMP_HD inline void store_element(void* array, unsigned bytes, uint64_t i, uint64_t code) {
  switch (bytes) {
    case 1: static_cast<uint8_t*>(array)[i] = static_cast<uint8_t>(code); break;
    case 2: static_cast<uint16_t*>(array)[i] = static_cast<uint16_t>(code); break;
    case 4: static_cast<uint32_t*>(array)[i] = static_cast<uint32_t>(code); break;
    default: static_cast<uint64_t*>(array)[i] = code;
  }
}

}  // namespace softamp::cuda
