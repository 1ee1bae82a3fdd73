// A digest of bytes, by which tensors, traces and checkpoints are told apart.
#pragma once

#include <cstddef>
#include <string>

namespace softamp {

/// XXH3-128 of the bytes, as 32 hexadecimal digits.
std::string hash_text(const void* data, size_t bytes);

}  // namespace softamp
