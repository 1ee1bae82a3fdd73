// A device: its memory, and a queue of launches and copies, run in order. cuda/device.cu is a GPU; tests have one that
// runs kernels on the host (tests/serial_grid/device.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "cuda/grid.h"

namespace softamp::cuda {

/// Errors of the device: no device, too old, out of memory, a launch that failed, with kernel and operation.
class DeviceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct DeviceProperties {
  std::string name;
  int major = 0, minor = 0;  ///< compute capability
  int multiprocessors = 1;
  size_t memory = 0;  ///< bytes
};

/// A recorded sequence of launches that can be run again at once.
class Recording {
 public:
  virtual ~Recording() = default;
};

class Device {
 public:
  /// Device number `ordinal` (from 0). Throws DeviceError, in one line: there is none, it is older than compute
  /// capability 7.5, the driver is older than the toolkit, another process holds the device, or its mode forbids it.
  explicit Device(int ordinal = 0);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const DeviceProperties& properties() const { return properties_; }

  /// Throws DeviceError naming the requested, free and total memory.
  void* allocate(size_t bytes);
  /// Throws DeviceError, with the same, if `bytes` for `what` ("the graph") are not free.
  void expect_memory(const std::string& what, size_t bytes) const;
  void release(void* memory) noexcept;

  // In the order of the queue; `upload` and `download` are done on return. Of 0 bytes nothing is done, wherever the
  // pointers lead.
  void upload(void* to, const void* from, size_t bytes);
  void download(void* to, const void* from, size_t bytes);
  void copy(void* to, const void* from, size_t bytes);
  void fill(void* to, unsigned char byte, size_t bytes);
  /// One word, by value: the host does not wait. Not part of a recording.
  void store(uint32_t* to, uint32_t value);

  /// The operation that launches from now on belong to, for errors: "MatMul 'y'".
  void begin_operation(std::string operation);
  /// Puts a kernel (grid.h) into the queue. `name` is a literal. Nothing is done for grid.blocks = 0.
  template <class Kernel>
  void launch(const char* name, const Grid& grid, const Kernel& kernel);

  /// Waits for all that this process has begun on the device, in any queue. Throws as `wait`.
  void wait_for_all();
  /// Waits for all of the queue. Throws DeviceError naming the kernel and operation that failed.
  void wait();

  /// Between stretches of a long queue: waits until all that lay in it at the last call has run, so that the host is
  /// one stretch ahead of the device. About every millisecond of waiting it asks `stop`; true: that has said true. What
  /// is in the queue cannot be called back.
  // implements: N306
  bool pace(const std::function<bool()>& stop);

  /// Launches, copies and fills between the two are recorded, not run. Nothing else may be called meanwhile.
  void begin_recording();
  std::unique_ptr<Recording> end_recording();
  /// Instead of end_recording, after a failure in between.
  void abandon_recording() noexcept;
  void replay(const Recording& recording);

  /// What kernels see of a structure. On the host, a word that is an address of memory that is not the device's leads
  /// to memory that nobody can touch: a GPU could not follow it either.
  template <class T>
  T seen_by_kernels(const T& value) const;

 private:
  struct State;
  /// Where a launch says that it has begun, in memory that the host sees even if the device is lost, and what it says
  /// there. Null: it says nothing, since the write has to cross the bus before the kernel can end.
  struct Note {
    uint32_t* to;
    uint32_t number;
  };
  /// A launch begins.
  Note begin_launch(const char* name, const Grid& grid);
  void end_launch();
  /// On the host: work for the queue, done at once or kept for a recording.
  void put(std::function<void()> work);
  void hide_host_memory(void* words, size_t bytes) const;

  DeviceProperties properties_;
  std::unique_ptr<State> state_;

  // For `launch`: passed to the runtime.
  void* stream_ = nullptr;             ///< cudaStream_t
  uint32_t* started_ = nullptr;        ///< on the host, seen by the device: number of the last launch with a note
  bool backwards_ = false;             ///< the host's: order of blocks and threads
  std::vector<unsigned char> shared_;  ///< the host's: shared memory
};

/// An array in a device's memory, freed with this object.
template <class T>
class DeviceArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  DeviceArray() = default;
  DeviceArray(Device& device, const std::vector<T>& values) : DeviceArray() {
    device_ = &device;
    size_ = values.size();
    if (values.empty()) return;
    data_ = static_cast<T*>(device.allocate(size_ * sizeof(T)));
    if constexpr (std::is_arithmetic_v<T>) {
      device.upload(data_, values.data(), size_ * sizeof(T));
    } else {
      std::vector<T> seen;
      for (const T& value : values) seen.push_back(device.seen_by_kernels(value));
      device.upload(data_, seen.data(), size_ * sizeof(T));
    }
  }
  DeviceArray(DeviceArray&& other) noexcept { swap(other); }
  DeviceArray& operator=(DeviceArray&& other) noexcept {
    swap(other);
    return *this;
  }
  ~DeviceArray() {
    if (data_) device_->release(data_);
  }
  const T* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  void swap(DeviceArray& other) {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }
  Device* device_ = nullptr;
  T* data_ = nullptr;
  size_t size_ = 0;
};

namespace detail {
template <class Kernel>
constexpr bool is_launchable = std::is_trivially_copyable_v<Kernel> && sizeof(Kernel) <= 4000;

/// The most threads that a kernel is launched with: Kernel::kMostThreads [=256]. The compiler ensures that there are
/// registers for that many.
template <class Kernel>
constexpr unsigned most_threads() {
  if constexpr (requires { Kernel::kMostThreads; })
    return Kernel::kMostThreads;
  else
    return 256;
}
/// Blocks of a kernel that a multiprocessor must have registers for: Kernel::kLeastBlocks [=1].
template <class Kernel>
constexpr unsigned least_blocks() {
  if constexpr (requires { Kernel::kLeastBlocks; })
    return Kernel::kLeastBlocks;
  else
    return 1;
}
inline void expect_threads(const char* name, const Grid& grid, unsigned most) {
  if (grid.threads > most)
    throw DeviceError(std::string("launch of ") + name + ": " + std::to_string(grid.threads) +
                      " threads to a block; its kernel names " + std::to_string(most) + " (kMostThreads)");
}
}  // namespace detail

#if defined(__CUDACC__)

namespace detail {
template <class Kernel>
__global__ void __launch_bounds__(most_threads<Kernel>(), least_blocks<Kernel>())
    run_block(const __grid_constant__ Kernel kernel, uint32_t* started, uint32_t number) {
  if (started && blockIdx.x == 0 && threadIdx.x == 0) *started = number;
  DeviceBlock block;
  kernel(block);
}
}  // namespace detail

// implements: N424
template <class Kernel>
void Device::launch(const char* name, const Grid& grid, const Kernel& kernel) {
  static_assert(detail::is_launchable<Kernel>);
  if (grid.blocks == 0) return;
  detail::expect_threads(name, grid, detail::most_threads<Kernel>());
  const Note note = begin_launch(name, grid);
  detail::run_block<<<grid.blocks, grid.threads, grid.shared, static_cast<cudaStream_t>(stream_)>>>(kernel, note.to,
                                                                                                    note.number);
  end_launch();
}

template <class T>
T Device::seen_by_kernels(const T& value) const {
  return value;
}

#else

template <class T>
T Device::seen_by_kernels(const T& value) const {
  static_assert(std::is_trivially_copyable_v<T>);
  T seen = value;
  // Small numbers side by side may look like an address; what is aligned to less than one holds none.
  if constexpr (alignof(T) >= alignof(void*)) hide_host_memory(&seen, sizeof seen);
  return seen;
}

template <class Kernel>
void Device::launch(const char* name, const Grid& grid, const Kernel& kernel) {
  static_assert(detail::is_launchable<Kernel>);
  if (grid.blocks == 0) return;
  detail::expect_threads(name, grid, detail::most_threads<Kernel>());
  put([=, this, seen = seen_by_kernels(kernel)] {
    begin_launch(name, grid);
    for (unsigned b = 0; b < grid.blocks; ++b) {
      shared_.assign(grid.shared, 0xA5);  // undefined before the block runs
      SerialBlock block(grid, backwards_ ? grid.blocks - 1 - b : b, backwards_, shared_);
      seen(block);
    }
    end_launch();
  });
}

#endif

}  // namespace softamp::cuda
