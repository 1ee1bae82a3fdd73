// What reading and writing a safetensors header share.
#pragma once

#include "softamp/data/safetensors.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace softamp::safetensors {

/// Of the header's length, before the header.
inline constexpr uint64_t kLengthBytes = 8;

/// The length that the first kLengthBytes of `start` give. Throws Error where these are cut off, or the length is above
/// kMaxHeader or leads beyond the file.
uint64_t header_length(std::span<const std::byte> start, uint64_t file_size, std::string_view name);

/// Sets entry.elements; returns how many bytes the tensor fills. Throws Error, beginning with `place`, where a product
/// is above 2^64 - 1, or the last byte is not full.
uint64_t measure(Entry& entry, const std::string& place);

/// Throws Error: "name: byte N: message".
[[noreturn]] void fail(std::string_view name, uint64_t offset, const std::string& message);

/// 'tensor "w"', safe to print.
std::string tensor_text(std::string_view name);

}  // namespace softamp::safetensors
