#include "softamp/engine/tensors.h"

#include <cstring>

namespace softamp::engine {

MirroredTensor::MirroredTensor(Engine& engine, const TensorType& type) : engine_(engine), host_(type) {
  if (engine.host_memory()) return;
  image_ = Buffer(engine, type.bytes());
  if (type.bytes()) engine.upload(image_.data(), host_.data(), type.bytes());
}

const Tensor& MirroredTensor::host() const {
  if (stale_ && host_.bytes()) engine_.download(host_.data(), image_.data(), host_.bytes());
  stale_ = false;
  return host_;
}

void MirroredTensor::set(const Tensor& value) {
  host_ = value.clone();
  stale_ = false;
  if (!engine_.host_memory() && host_.bytes()) engine_.upload(image_.data(), host_.data(), host_.bytes());
}

void MirroredTensor::assign(const void* from) {
  if (!host_.bytes()) return;
  engine_.copy(data(), from, host_.bytes());
  stale_ = !engine_.host_memory();
}

HostView::HostView(Engine& engine, std::span<const TensorType> types, const void* const* data)
    : pointers_(data, data + types.size()) {
  if (engine.host_memory()) return;
  for (size_t k = 0; k < types.size(); ++k) {
    if (!data[k]) continue;
    copies_.emplace_back(types[k]);
    if (types[k].bytes()) engine.download(copies_.back().data(), data[k], types[k].bytes());
    pointers_[k] = copies_.back().data();
  }
}

}  // namespace softamp::engine
