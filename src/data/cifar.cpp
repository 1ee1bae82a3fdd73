// CIFAR-10's binary records. Source: A. Krizhevsky, www.cs.toronto.edu/~kriz/cifar.html, "binary version".
#include "src/data/image_formats.h"

namespace softamp {

void append_cifar10(std::span<const std::byte> bytes, const std::string& name, ImageSet& set) {
  if (bytes.empty() || bytes.size() % kCifarRecord != 0)
    archive::fail(
        name, bytes.size() - bytes.size() % kCifarRecord,
        std::to_string(bytes.size()) + " bytes; expected a multiple of 3073: records of a label and 32x32x3 pixels");
  const size_t records = bytes.size() / kCifarRecord, before = static_cast<size_t>(set.count);
  if (records > kMostCifarRecords || records * 3 * kCifarPlane > kMostPixels - set.pixels.size())
    archive::fail(name, kMostCifarRecords * kCifarRecord,
                  std::to_string(records) + " records; expected at most " + std::to_string(kMostCifarRecords) +
                      " in a file and 2^31 bytes of pixels in all");
  set.height = set.width = kCifarSide;
  set.channels = 3;
  set.pixels.resize((before + records) * 3 * kCifarPlane);
  uint8_t* pixel = set.pixels.data() + before * 3 * kCifarPlane;
  for (size_t r = 0; r < records; ++r) {
    const std::byte* record = bytes.data() + r * kCifarRecord;
    const int32_t label = std::to_integer<int32_t>(record[0]);
    check_label(label, set.classes, static_cast<int64_t>(r), name, r * kCifarRecord);
    set.labels.push_back(label);
    for (size_t p = 0; p < kCifarPlane; ++p)
      for (size_t c = 0; c < 3; ++c) *pixel++ = std::to_integer<uint8_t>(record[1 + c * kCifarPlane + p]);
  }
  set.count += static_cast<int64_t>(records);
}

std::vector<std::string> cifar_class_names() {
  return {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"};
}

ImageSet load_cifar10(std::span<const std::filesystem::path> files) {
  if (files.empty()) throw DataError("no CIFAR-10 file is named; expected at least one");
  ImageSet set;
  for (const std::filesystem::path& file : files) {
    const std::filesystem::path name = file.filename();
    const std::string stem = (name.extension() == ".gz" ? name.stem() : name).stem().string();
    set.name += (set.name.empty() ? "cifar-10/" : "+") + stem;
    append_cifar10(archive::read_file(file, kMostCifarRecords * kCifarRecord), file.string(), set);
  }
  set.class_names = cifar_class_names();
  return set;
}

}  // namespace softamp
