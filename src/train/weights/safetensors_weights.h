// First weights in a .safetensors file. A minimal build has a stand-in, which refuses such files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "softamp/tensor/tensor.h"

namespace softamp::train_detail {

struct SafetensorsWeights {
  std::vector<std::string> names;
  std::function<std::vector<uint64_t>(const std::string& name)> shape;
  std::function<Tensor(const std::string& name)> read;  ///< throws npy::Error for a type that is not floating
};

/// Throws safetensors::Error for a file that is none.
SafetensorsWeights open_safetensors(const std::filesystem::path& file);

}  // namespace softamp::train_detail
