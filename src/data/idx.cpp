// IDX: a magic number (two zero bytes, the element type, the rank), an extent of four bytes for each axis, the
// elements; numbers are big-endian. Source: the page of MNIST, yann.lecun.com/exdb/mnist.
#include "src/data/image_formats.h"
#include "src/text/hexadecimal.h"

namespace softamp {
namespace {

constexpr uint32_t kImages = 0x00000803, kLabels = 0x00000801;

std::string hex(uint32_t value) { return "0x" + hexadecimal(value, 8); }

uint32_t big_endian32(std::span<const std::byte> bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<uint32_t>(bytes[at + i]);
  return value;
}

struct Header {
  uint32_t extents[3] = {1, 1, 1};
  uint64_t elements = 1;
  size_t bytes = 0;  ///< of the header itself
};

/// The header, checked except for the meaning of the extents.
Header read_header(archive::Source& source, uint32_t expected, const std::string& what) {
  const size_t rank = expected & 255;
  Header header{{1, 1, 1}, 1, 4 + 4 * rank};
  const std::vector<std::byte> start = source.read(header.bytes);
  if (start.size() < 4)
    archive::fail(source.name(), start.size(), "the file is cut off: expected the magic number of IDX " + what);
  if (const uint32_t magic = big_endian32(start, 0); magic != expected) {
    std::string found = "magic number " + hex(magic);
    if (magic >> 8 == expected >> 8)
      found += " (IDX, rank " + std::to_string(magic & 255) + ")";
    else if (magic >> 16 == 0)
      found += " (IDX, element type " + std::to_string(magic >> 8) + ")";
    archive::fail(
        source.name(), 0,
        found + "; expected " + hex(expected) + ": IDX " + what + ", unsigned bytes of rank " + std::to_string(rank));
  }
  if (start.size() < header.bytes)
    archive::fail(source.name(), start.size(),
                  "the header is cut off: expected " + std::to_string(header.bytes) + " bytes");
  for (size_t axis = 0; axis < rank; ++axis) {
    const uint32_t extent = header.extents[axis] = big_endian32(start, 4 + 4 * axis);
    if (extent == 0 || extent > kMostPixels / header.elements)
      archive::fail(source.name(), 4 + 4 * axis,
                    "extent " + std::to_string(extent) + " of axis " + std::to_string(axis) +
                        "; expected at least 1 and at most 2^31 elements in all");
    header.elements *= extent;
  }
  return header;
}

std::vector<std::byte> read_elements(archive::Source& source, const Header& header, const std::string& what) {
  std::vector<std::byte> bytes = source.read(header.elements);
  if (bytes.size() < header.elements)
    archive::fail(source.name(), source.offset(),
                  "the data are cut off: " + what + " need " + std::to_string(header.elements) + " bytes from byte " +
                      std::to_string(header.bytes) + ", found " + std::to_string(bytes.size()));
  if (!source.next().empty())
    archive::fail(source.name(), header.bytes + header.elements,
                  "other bytes follow " + what + "; expected the end of the file");
  return bytes;
}

}  // namespace

ImageSet read_idx(archive::Source& images, archive::Source& labels) {
  const Header image_header = read_header(images, kImages, "images");
  const Header label_header = read_header(labels, kLabels, "labels");
  const uint32_t count = image_header.extents[0];
  if (label_header.extents[0] != count)
    archive::fail(labels.name(), 4,
                  std::to_string(label_header.extents[0]) + " labels; expected " + std::to_string(count) +
                      ", as many as there are images in " + images.name());
  ImageSet set;
  set.count = count;
  set.height = image_header.extents[1];
  set.width = image_header.extents[2];
  set.channels = 1;
  const std::string extent = extents_text(count, set.height, set.width);
  const std::vector<std::byte> pixels = read_elements(images, image_header, extent + " pixels");
  const std::vector<std::byte> numbers = read_elements(labels, label_header, std::to_string(count) + " labels");
  const auto* first = reinterpret_cast<const uint8_t*>(pixels.data());
  set.pixels.assign(first, first + pixels.size());
  set.labels.reserve(numbers.size());
  for (size_t i = 0; i < numbers.size(); ++i) {
    const int32_t label = std::to_integer<int32_t>(numbers[i]);
    check_label(label, set.classes, static_cast<int64_t>(i), labels.name(), label_header.bytes + i);
    set.labels.push_back(label);
  }
  return set;
}

ImageSet load_idx(const std::filesystem::path& images, const std::filesystem::path& labels) {
  archive::Source image_source(images), label_source(labels);
  ImageSet set = read_idx(image_source, label_source);
  set.name = images.filename().string();
  return set;
}

void check_label(int64_t label, int64_t classes, int64_t index, const std::string& name, uint64_t offset) {
  if (label < 0 || label >= classes)
    archive::fail(name, offset,
                  "label " + std::to_string(index) + " is " + std::to_string(label) + "; expected 0 to " +
                      std::to_string(classes - 1));
}

std::string extents_text(int64_t height, int64_t width, int64_t channels) {
  return std::to_string(height) + "x" + std::to_string(width) + "x" + std::to_string(channels);
}

}  // namespace softamp
