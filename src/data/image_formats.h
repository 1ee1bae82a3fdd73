// Readers of the image formats from bytes of any source, and what they share.
#pragma once

#include <string>

#include "softamp/data/images.h"
#include "src/data/archive.h"

namespace softamp {

/// Most bytes of pixels in one file: the header of a damaged one may claim any size.
inline constexpr uint64_t kMostPixels = uint64_t{1} << 31;
/// A CIFAR-10 record: the label, then the planes of red, green and blue.
inline constexpr size_t kCifarSide = 32, kCifarPlane = kCifarSide * kCifarSide, kCifarRecord = 1 + 3 * kCifarPlane;
/// Most records of a CIFAR-10 file: all of the set's.
inline constexpr size_t kMostCifarRecords = 60000;

ImageSet read_idx(archive::Source& images, archive::Source& labels);
/// Appends a file's records to a set.
void append_cifar10(std::span<const std::byte> bytes, const std::string& name, ImageSet& set);
std::vector<std::string> cifar_class_names();

/// Throws DataError at `offset` unless 0 <= label < classes.
void check_label(int64_t label, int64_t classes, int64_t index, const std::string& name, uint64_t offset);
/// "28x28x1"
std::string extents_text(int64_t height, int64_t width, int64_t channels);

}  // namespace softamp
