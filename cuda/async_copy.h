// Copies from device memory to shared memory that go on while their thread computes: they pass through no register.
//
//   AsyncCopies<Block> copies;            // one a thread, kept from phase to phase
//   copies.copy<16>(to, from);            // begins
//   copies.close();                       // ends a group, which may be empty
//   copies.wait<1>();                     // until at most the one group closed last is on its way
//
// What was waited for is there for the thread, and for its block from the next phase on. From capability 8.0 on; a
// device before that copies at once. On the host a copy arrives as late as it may: in `wait`. Until then its place
// holds garbage.
#pragma once

#include <cstddef>
#include <cstring>
#include <vector>

#include "cuda/primitives.h"

namespace softamp::cuda {

#if defined(__CUDACC__)

class DeviceAsyncCopies {
 public:
  /// kBytes: 4 or 16, to and from addresses that are multiples of it.
  template <unsigned kBytes>
  SOFTAMP_PRIMITIVE void copy(uint32_t* to, const void* from) const {
    static_assert(kBytes == 4 || kBytes == 16);
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    const auto place = static_cast<uint32_t>(__cvta_generic_to_shared(to));
    if constexpr (kBytes == 16)
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(place), "l"(from) : "memory");
    else
      asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(place), "l"(from) : "memory");
#else
    for (unsigned i = 0; i < kBytes / 4; ++i) to[i] = static_cast<const uint32_t*>(from)[i];
#endif
  }
  SOFTAMP_PRIMITIVE void close() const {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
  }
  template <unsigned kOpen>
  SOFTAMP_PRIMITIVE void wait() const {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(kOpen) : "memory");
#endif
  }
};

template <class Block>
using AsyncCopies = DeviceAsyncCopies;

#else

class SerialAsyncCopies {
 public:
  template <unsigned kBytes>
  void copy(uint32_t* to, const void* from) {
    static_assert(kBytes == 4 || kBytes == 16);
    if ((reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from)) % kBytes != 0) __builtin_trap();
    std::memset(to, 0xA5, kBytes);
    copies_.push_back({to, from, kBytes, closed_});
  }
  void close() { ++closed_; }
  template <unsigned kOpen>
  void wait() {
    size_t arrived = 0;
    for (; arrived < copies_.size() && copies_[arrived].group + kOpen < closed_; ++arrived)
      std::memcpy(copies_[arrived].to, copies_[arrived].from, copies_[arrived].bytes);
    copies_.erase(copies_.begin(), copies_.begin() + static_cast<std::ptrdiff_t>(arrived));
  }

 private:
  struct Copy {
    uint32_t* to;
    const void* from;
    unsigned bytes;
    size_t group;
  };
  std::vector<Copy> copies_;
  size_t closed_ = 0;  ///< groups
};

template <class Block>
using AsyncCopies = SerialAsyncCopies;

#endif

}  // namespace softamp::cuda
