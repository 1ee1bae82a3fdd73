// What an engine must provide: kernels, memory, and a way to run them. engine/graph_executor.h does the rest.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "softamp/engine/op_kernel.h"

namespace softamp::engine {

/// One operation of a step and where its tensors lie, in the engine's memory.
struct Call {
  const OpKernel* kernel;
  const Node* node;
  const void* const* in;
  void* const* out;
  void* scratch;  ///< kernel->scratch_bytes() of them; other operations of the step use it too
};

class Engine {
 public:
  virtual ~Engine() = default;
  virtual const char* name() const = 0;
  /// Null for an operation that this engine does not run.
  virtual std::unique_ptr<OpKernel> make_kernel(const OpContext& context) const = 0;

  /// The engine's memory is the host's: feeds, constants, variables and results are used where they lie, and nothing is
  /// copied.
  virtual bool host_memory() const = 0;
  /// Throws std::runtime_error, naming both, if a graph needs more than is free; does nothing where allocate alone can
  /// tell.
  virtual void expect_memory(size_t /*bytes*/) const {}
  /// `bytes` (> 0) of them, aligned to 64. Throws std::runtime_error naming the size if that much is not free.
  virtual void* allocate(size_t bytes) = 0;
  virtual void release(void* memory) noexcept = 0;
  /// Host to engine, engine to host, within the engine; done on return, as seen from the host.
  virtual void upload(void* to, const void* from, size_t bytes) = 0;
  virtual void download(void* to, const void* from, size_t bytes) = 0;
  virtual void copy(void* to, const void* from, size_t bytes) = 0;

  /// Runs one operation to its end. `status`: see OpKernel; null: not wanted.
  virtual void run(const Call& call, const kernel::Environment& environment, FpStatus* status) = 0;

  /// Whether the engine can run a whole step at once. Executors then use run_all.
  virtual bool runs_at_once() const { return false; }
  /// Runs all calls in order, and sets environment.operation for each. statuses: one per call, or empty.
  virtual void run_all(std::span<const Call>, const kernel::Environment&, std::span<FpStatus> /*statuses*/) {}
};

/// Memory of an engine, released at the end.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Engine& engine, size_t bytes) : engine_(&engine), data_(bytes ? engine.allocate(bytes) : nullptr) {}
  Buffer(Buffer&& other) noexcept
      : engine_(std::exchange(other.engine_, nullptr)), data_(std::exchange(other.data_, nullptr)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(engine_, other.engine_);
    std::swap(data_, other.data_);
    return *this;
  }
  ~Buffer() {
    if (data_) engine_->release(data_);
  }
  std::byte* data() const { return static_cast<std::byte*>(data_); }

 private:
  Engine* engine_ = nullptr;
  void* data_ = nullptr;
};

}  // namespace softamp::engine
