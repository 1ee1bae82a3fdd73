// libFuzzer target: any bytes given to the readers of IDX, CIFAR-10, tar, zip, .npz and PNG are refused with DataError
// or npy::Error, or understood consistently. The first byte chooses the reader; for IDX the next two are the length of
// the image file; for PNG the next three are height, width and channels, and checksums are set right first.
#include <algorithm>
#include <string>
#include <vector>

#include "softamp/data/npz.h"
#include "src/data/image_formats.h"
#include "src/data/png_image.h"
#include "tests/fuzz/require.h"

using namespace softamp;

namespace {

void require_consistent(const ImageSet& set) {
  require(set.count >= 1 && set.image_elements() >= 1, "a set has images");
  require(set.pixels.size() == static_cast<size_t>(set.count * set.image_elements()), "every image has its pixels");
  require(set.labels.size() == static_cast<size_t>(set.count), "every image has its label");
  for (const int32_t label : set.labels) require(label >= 0 && label < set.classes, "labels are classes");
}

/// The checksum of every chunk as it should be.
void set_checksums(std::vector<std::byte>& png) {
  for (size_t at = 8; at + 12 <= png.size();) {
    size_t length = 0;
    for (size_t i = 0; i < 4; ++i) length = length << 8 | std::to_integer<size_t>(png[at + i]);
    if (length > png.size() - at - 12) return;
    const uint32_t crc = archive::crc32(std::span(png).subspan(at + 4, length + 4));
    for (size_t i = 0; i < 4; ++i) png[at + 8 + length + i] = static_cast<std::byte>(crc >> (24 - 8 * i));
    at += 12 + length;
  }
}

void read(uint8_t reader, std::span<const std::byte> bytes) {
  if (reader == 0 && bytes.size() >= 2) {
    const size_t length = std::to_integer<size_t>(bytes[0]) | std::to_integer<size_t>(bytes[1]) << 8;
    bytes = bytes.subspan(2);
    const size_t cut = std::min(length, bytes.size());
    archive::Source images(bytes.first(cut), "input"), labels(bytes.subspan(cut), "input");
    const ImageSet set = read_idx(images, labels);
    require_consistent(set);
    if (!images.gzipped() && !labels.gzipped())
      require(bytes.size() == 24 + set.pixels.size() + set.labels.size(), "the files hold nothing else");
  } else if (reader == 1) {
    ImageSet set;
    append_cifar10(bytes, "input", set);
    require_consistent(set);
    require(bytes.size() == set.pixels.size() + set.labels.size(), "the file holds nothing else");
  } else if (reader == 2) {
    archive::Source source(bytes, "input");
    for (const archive::Entry& entry : archive::read_tar(source, [](std::string_view) { return 5000; }))
      require(entry.bytes.size() <= 5000, "an entry keeps to its limit");
  } else if (reader == 3) {
    uint64_t total = 22;
    for (const archive::Entry& entry : archive::parse_zip(bytes, "input"))
      total += 30 + 46 + 2 * entry.name.size() + entry.bytes.size();
    require(total <= bytes.size(), "entries do not overlap");
  } else if (reader == 4) {
    const npz::Reader arrays(bytes, "input", 1 << 20);
    for (const std::string& name : arrays.names()) {
      const npy::Header header = arrays.header(name);
      require(arrays.tensor(name, true).elements() == static_cast<int64_t>(header.elements), "arrays have their shape");
    }
  } else if (reader == 5 && bytes.size() >= 3) {
    const auto extent = [&](size_t i) { return std::to_integer<int64_t>(bytes[i]); };
    const int64_t height = extent(0), width = extent(1), channels = extent(2);
    std::vector<std::byte> png(bytes.begin() + 3, bytes.end());
    set_checksums(png);
    std::vector<uint8_t> pixels(static_cast<size_t>(height * width * channels));
    parse_png(png, "input", height, width, channels, pixels);
    require(height > 0 && width > 0 && channels >= 1 && channels <= 4, "an image has pixels");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  try {
    read(data[0], {reinterpret_cast<const std::byte*>(data + 1), size - 1});
  } catch (const DataError& e) {
    require_named(e);
  } catch (const npy::Error& e) {
    require_named(e);
  }
  return 0;
}
