// Labelled images in .npy files.
#include "softamp/data/npy.h"
#include "src/data/image_formats.h"

namespace softamp {

ImageSet load_npy_images(const std::filesystem::path& images, const std::filesystem::path& labels) try {
  npy::Reader image_reader(images.string()), label_reader(labels.string());
  const npy::Header &pixels = image_reader.header(), &numbers = label_reader.header();
  const size_t rank = pixels.shape.size();
  if (pixels.type != npy::ElementType::kUint8 || rank < 3 || rank > 4 || pixels.elements == 0 ||
      pixels.elements > kMostPixels)
    throw DataError(images.string() + ": elements '" + npy::descr(pixels.type) + "' of shape " +
                    npy::shape_text(pixels.shape) +
                    "; expected '|u1' of shape (n, h, w) or (n, h, w, c), at least one and at most 2^31 of them");
  const bool bytes = numbers.type == npy::ElementType::kUint8;
  if ((!bytes && numbers.type != npy::ElementType::kInt32) || numbers.shape.size() != 1 ||
      numbers.shape[0] != pixels.shape[0])
    throw DataError(labels.string() + ": elements '" + npy::descr(numbers.type) + "' of shape " +
                    npy::shape_text(numbers.shape) + "; expected '|u1' or '<i4' of shape (" +
                    std::to_string(pixels.shape[0]) + ",), a label for each image of " + images.string());
  ImageSet set;
  set.name = images.filename().string();
  set.count = static_cast<int64_t>(pixels.shape[0]);
  set.height = static_cast<int64_t>(pixels.shape[1]);
  set.width = static_cast<int64_t>(pixels.shape[2]);
  set.channels = rank == 4 ? static_cast<int64_t>(pixels.shape[3]) : 1;
  set.pixels.resize(pixels.elements);
  image_reader.read(set.pixels.data(), set.pixels.size());
  set.labels.resize(numbers.elements);
  if (bytes) {
    std::vector<uint8_t> narrow(set.labels.size());
    label_reader.read(narrow.data(), narrow.size());
    set.labels.assign(narrow.begin(), narrow.end());
  } else {
    label_reader.read(set.labels.data(), set.labels.size());
  }
  for (size_t i = 0; i < set.labels.size(); ++i)
    check_label(set.labels[i], set.classes, static_cast<int64_t>(i), labels.string(),
                numbers.data_offset + i * npy::size_of(numbers.type));
  return set;
} catch (const npy::Error& e) {
  throw DataError(e.what());
}

}  // namespace softamp
