// Instead of src/train/weights/safetensors_weights.cpp: without a reader of its header, a .safetensors file is refused.
#include "softamp/data/npy.h"
#include "src/train/weights/safetensors_weights.h"

namespace softamp::train_detail {

SafetensorsWeights open_safetensors(const std::filesystem::path& file) {
  throw npy::Error(file.string() +
                   ": a .safetensors file, and this build (SOFTAMP_MINIMAL=ON) reads none; expected weights as .npz");
}

}  // namespace softamp::train_detail
