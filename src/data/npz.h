// NumPy's archives of arrays, .npz, as numpy.savez writes them: stored, not compressed.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "softamp/tensor/tensor.h"

namespace softamp {

/// The arrays by name; unsigned 16-bit integers are taken as bfloat16, as checkpoints keep it. Of a checkpoint
/// (train/checkpoint.h) the variables, by their names (where replicas differ, the first one's). Throws DataError and
/// npy::Error: a file that is no such archive, compressed entries (numpy.savez_compressed), an entry that is no array
/// of a dtype that tensors have.
std::map<std::string, Tensor> load_npz(const std::filesystem::path& file);

}  // namespace softamp
