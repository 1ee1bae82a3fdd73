// All arrays of a .npz file at once, as feeds and variables of a graph.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "softamp/tensor/tensor.h"

namespace softamp {

/// The arrays by name, without a ":0" at its end; unsigned 16-bit integers are taken as bfloat16, as checkpoints keep
/// it. Of a checkpoint (train/checkpoint.h) the variables, by their names (where replicas differ, the first one's).
/// Throws npy::Error as npz::Reader does.
std::map<std::string, Tensor> load_npz(const std::filesystem::path& file);

}  // namespace softamp
