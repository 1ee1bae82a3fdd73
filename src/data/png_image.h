// PNG files, one 8-bit image each.
//
// libpng unpacks rows; what depends on nothing else is done here. Chunks are counted, compared with their checksums and
// put in order before libpng sees any. It gets the ones that make the pixels and no others, so gamma, colour profiles
// and texts change nothing, whatever its version. Source of the format: W3C, Portable Network Graphics (Third Edition).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace softamp {

/// Reads the image into `pixels`, height x width x channels. Channels are those of the colour type: grey 1, grey with
/// alpha 2, RGB and palette 3, RGBA 4. Grey of 1, 2 or 4 bits is multiplied by 255, 85 or 17. Nothing is converted
/// else: another size, other channels, 16 bits and colours that are transparent (tRNS) are refused, and so is every
/// damage. Throws DataError. Memory: what the image needs, and twice that and 2^24 bytes for the file.
void read_png(const std::filesystem::path& file, int64_t height, int64_t width, int64_t channels,
              std::span<uint8_t> pixels);
/// The same of bytes in memory, which are written over. `name` stands for the file in errors.
void parse_png(std::span<std::byte> bytes, const std::string& name, int64_t height, int64_t width, int64_t channels,
               std::span<uint8_t> pixels);

}  // namespace softamp
