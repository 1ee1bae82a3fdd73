// The tensors of a graph that live longer than a step, in an engine's memory: variables, constants, feeds, results.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "softamp/engine/engine.h"
#include "softamp/tensor/tensor.h"

namespace softamp::engine {

/// A tensor of the host and its copy in the engine's memory. If that is the host's memory, there is only one.
class MirroredTensor {
 public:
  MirroredTensor(Engine& engine, const TensorType& type);

  /// The engine's copy.
  void* data() { return engine_.host_memory() ? host_.data() : image_.data(); }
  const void* data() const { return engine_.host_memory() ? host_.data() : image_.data(); }
  const TensorType& type() const { return host_.type(); }

  /// The host's, fetched if the engine has written its copy since.
  const Tensor& host() const;
  /// Sets both.
  void set(const Tensor& value);
  /// Sets the engine's from its own memory.
  void assign(const void* from);

 private:
  Engine& engine_;
  mutable Tensor host_;
  mutable bool stale_ = false;
  Buffer image_;
};

/// Copies of an operation's tensors in the host's memory; the tensors themselves where the engine's memory is the
/// host's.
class HostView {
 public:
  HostView(Engine& engine, std::span<const TensorType> types, const void* const* data);
  const void* const* data() const { return pointers_.data(); }

 private:
  std::vector<Tensor> copies_;
  std::vector<const void*> pointers_;
};

}  // namespace softamp::engine
