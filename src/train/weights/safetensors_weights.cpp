#include "src/train/weights/safetensors_weights.h"

#include <memory>
#include <utility>

#include "softamp/data/npy.h"
#include "softamp/data/safetensors.h"

namespace softamp::train_detail {
namespace {

using Type = safetensors::ElementType;

constexpr std::pair<Type, DType> kFloating[] = {{Type::kF16, DType::kFloat16},
                                                {Type::kBf16, DType::kBFloat16},
                                                {Type::kF32, DType::kFloat32},
                                                {Type::kF64, DType::kFloat64}};

}  // namespace

SafetensorsWeights open_safetensors(const std::filesystem::path& file) {
  const auto reader = std::make_shared<const safetensors::Reader>(file.string());
  SafetensorsWeights weights;
  for (const safetensors::Entry& entry : reader->header().tensors) weights.names.push_back(entry.name);
  weights.shape = [reader](const std::string& name) { return reader->entry(name).shape; };
  weights.read = [reader, file](const std::string& name) {
    const safetensors::Entry& entry = reader->entry(name);
    for (const auto& [type, dtype] : kFloating) {
      if (entry.type != type) continue;
      const std::vector<int64_t> extents(entry.shape.begin(), entry.shape.end());
      Tensor tensor(dtype, Shape(std::span<const int64_t>(extents)));
      reader->read(name, 0, {static_cast<std::byte*>(tensor.data()), tensor.bytes()});
      return tensor;
    }
    throw npy::Error(file.string() + ": " + name + ": a tensor of " + safetensors::name_of(entry.type) +
                     "; expected F16, BF16, F32 or F64");
  };
  return weights;
}

}  // namespace softamp::train_detail
