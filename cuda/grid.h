// How a kernel of this engine is written: as a program of one block, in phases.
//
//   struct Kernel {                                        // trivially copyable, at most 4 KiB: it travels by value
//     template <class Block> SOFTAMP_HD void operator()(Block& block) const {
//       float* tile = block.template shared<float>(256);   // of the launch's shared bytes, in the order of the calls
//       PerThread<float, Block> sum(block);                // one a thread, kept from phase to phase
//       block.each([&](unsigned t) { tile[t] = ...; });    // a phase: every thread t, then a barrier
//       block.each([&](unsigned t) { sum[t] = tile[t ^ 1]; });
//     }
//   };
//
// Within a phase threads run in any order: what one writes, another may read only in a later phase. Loops around phases
// must run equally often for all threads of a block. Blocks of one launch cannot communicate.
//
// On a GPU a block is CUDA's and `each` ends in __syncthreads(). The same kernels run on the host block by block and
// thread by thread (SerialBlock), forwards or backwards: so tests without a GPU cover them, including index arithmetic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "softamp/numerics/platform.h"

namespace softamp::cuda {

/// The size of a launch.
struct Grid {
  unsigned blocks = 1;   ///< (1 .. 2^31 - 1)
  unsigned threads = 1;  ///< (1 .. 1024) per block; a kernel with more than 256 declares Kernel::kMostThreads
  size_t shared = 0;     ///< (0 .. kMostShared) bytes of shared memory per block

  static constexpr size_t kMostShared = 49152;
};

namespace detail {
/// Every array in shared memory begins at a multiple of this.
constexpr size_t kSharedAlign = 16;
constexpr SOFTAMP_HD size_t shared_bytes(size_t bytes) {
  return (bytes + kSharedAlign - 1) / kSharedAlign * kSharedAlign;
}
}  // namespace detail

/// Bytes of shared memory of `count` elements of T; Grid::shared is the sum of these.
template <class T>
constexpr size_t shared_of(size_t count) {
  return detail::shared_bytes(count * sizeof(T));
}

#if defined(__CUDACC__)

class DeviceBlock {
 public:
#if defined(__CUDA_ARCH__)
  __device__ unsigned index() const { return blockIdx.x; }
  __device__ unsigned blocks() const { return gridDim.x; }
  __device__ unsigned threads() const { return blockDim.x; }
  template <class Phase>
  __device__ void each(const Phase& phase) {
    phase(threadIdx.x);
    __syncthreads();
  }
  template <class T>
  __device__ T* shared(size_t count) {
    extern __shared__ __align__(16) unsigned char all[];
    T* const mine = reinterpret_cast<T*>(all + used_);
    used_ += detail::shared_bytes(count * sizeof(T));
    return mine;
  }
#else  // never called: the host's pass over a kernel needs the names
  __host__ __device__ unsigned index() const { return 0; }
  __host__ __device__ unsigned blocks() const { return 1; }
  __host__ __device__ unsigned threads() const { return 1; }
  template <class Phase>
  __host__ __device__ void each(const Phase&) {}
  template <class T>
  __host__ __device__ T* shared(size_t) {
    return nullptr;
  }
#endif

  template <class T>
  class PerThread {
   public:
    explicit SOFTAMP_HD PerThread(DeviceBlock&) {}
    SOFTAMP_HD T& operator[](unsigned) { return value_; }
    SOFTAMP_HD const T& operator[](unsigned) const { return value_; }

   private:
    T value_;
  };

 private:
  size_t used_ = 0;
};

#else

/// A block on the host. `backwards`: threads run from the last to the first.
class SerialBlock {
 public:
  SerialBlock(const Grid& grid, unsigned index, bool backwards, std::vector<unsigned char>& shared)
      : grid_(grid), index_(index), backwards_(backwards), shared_(shared) {}

  unsigned index() const { return index_; }
  unsigned blocks() const { return grid_.blocks; }
  unsigned threads() const { return grid_.threads; }
  template <class Phase>
  void each(const Phase& phase) {
    for (unsigned t = 0; t < grid_.threads; ++t) phase(backwards_ ? grid_.threads - 1 - t : t);
  }
  template <class T>
  T* shared(size_t count) {
    const size_t at = used_;
    used_ += detail::shared_bytes(count * sizeof(T));
    if (used_ > grid_.shared) __builtin_trap();  // the launch gave fewer bytes than the kernel takes
    return reinterpret_cast<T*>(shared_.data() + at);
  }

  template <class T>
  class PerThread {
   public:
    explicit PerThread(SerialBlock& block) : values_(block.threads()) {
      if constexpr (std::is_trivially_copyable_v<T>)
        for (T& value : values_) std::memset(static_cast<void*>(&value), 0xA5, sizeof value);  // as on a GPU: undefined
    }
    T& operator[](unsigned t) { return values_[t]; }
    const T& operator[](unsigned t) const { return values_[t]; }

   private:
    std::vector<T> values_;
  };

 private:
  const Grid& grid_;
  unsigned index_;
  bool backwards_;
  std::vector<unsigned char>& shared_;
  size_t used_ = 0;
};

#endif

/// One T per thread, kept from phase to phase. T must not be bool.
template <class T, class Block>
using PerThread = typename Block::template PerThread<T>;

}  // namespace softamp::cuda
