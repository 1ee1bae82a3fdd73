// One operation on operands that stay on the device, as gpu_bench measures it.
#pragma once

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "cuda/op_kernel.h"
#include "softamp/engine/settings.h"
#include "tests/backend/parity.h"
#include "tests/gpu/bench.h"

namespace softamp::gpu {

/// Memory of the device for as long as its owner.
class Memory {
 public:
  Memory(cuda::Device& device, size_t bytes) : device_(device), data_(device.allocate(std::max<size_t>(bytes, 256))) {}
  ~Memory() { device_.release(data_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  void* get() const { return data_; }

 private:
  cuda::Device& device_;
  void* data_;
};

/// The last node of a graph. An operand of a large type is the elements of a smaller tensor, again and again, so that
/// the host need not make them all.
class Operation {
 public:
  struct Operand {
    TensorType type;
    const Tensor* elements;
  };
  Operation(cuda::Device& device, const Graph& graph, const std::vector<Operand>& operands,
            const ExecutorOptions& options);

  /// Into the queue; `status`: with flags.
  void put(bool status = false) {
    kernel_->enqueue({in_.data(), out_.data(), scratch_, environment_, status ? status_ : nullptr, device_});
  }
  const void* operand(size_t i) const { return in_[i]; }
  void* result() const { return out_[0]; }

 private:
  void* room(size_t bytes) {
    memory_.push_back(std::make_unique<Memory>(device_, bytes));
    return memory_.back()->get();
  }

  cuda::Device& device_;
  const Node& node_;
  engine::EngineSettings settings_;
  std::vector<TensorType> types_;
  std::vector<std::string> warnings_;
  std::vector<std::unique_ptr<Memory>> memory_;
  std::vector<const void*> in_;
  std::vector<void*> out_;
  void* scratch_ = nullptr;
  cuda::DeviceStatus* status_ = nullptr;
  cuda::StepEnvironment environment_{};
  std::unique_ptr<cuda::OpKernel> kernel_;
};

}  // namespace softamp::gpu
