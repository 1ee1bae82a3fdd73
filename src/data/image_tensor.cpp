// From 8-bit images to tensors.
#include <cstring>

#include "softamp/data/images.h"
#include "softamp/machine/float_environment.h"

namespace softamp {
namespace {

void check_indices(const ImageSet& set, std::span<const int64_t> indices) {
  for (size_t i = 0; i < indices.size(); ++i)
    if (indices[i] < 0 || indices[i] >= set.count)
      throw std::out_of_range("image " + std::to_string(indices[i]) + " (entry " + std::to_string(i) +
                              " of the list); \"" + set.name + "\" has " + std::to_string(set.count) + " images");
}

}  // namespace

ImageSet ImageSet::slice(int64_t first, int64_t how_many) const {
  if (first < 0 || how_many < 0 || first > count || how_many > count - first)
    throw std::out_of_range("images " + std::to_string(first) + " to " + std::to_string(first) + " + " +
                            std::to_string(how_many) + "; \"" + name + "\" has " + std::to_string(count) + " images");
  const auto pixel = pixels.begin() + first * image_elements();
  const auto label = labels.begin() + first;
  return {.name = name,
          .count = how_many,
          .height = height,
          .width = width,
          .channels = channels,
          .pixels = {pixel, pixel + how_many * image_elements()},
          .labels = {label, label + how_many},
          .classes = classes,
          .class_names = class_names};
}

// implements: N286
Tensor normalise(const ImageSet& set, std::span<const int64_t> indices, DType dtype) {
  const engine::DefaultEnvironment guard;
  if (dtype == DType::kInt32 || dtype == DType::kBool)
    throw std::invalid_argument(std::string("pixels as ") + std::string(name_of(dtype)) +
                                "; expected a floating dtype");
  check_indices(set, indices);
  // The quotient in binary64, then the dtype: this equals one rounding. A rounding boundary of a dtype of p <= 24 bits
  // is m/2^k with k <= p + 8; x/255 equals it, or differs by at least 1/(255 2^k) > 2^-41, and binary64 errs by 2^-54.
  std::vector<double> quotients(256);
  for (int x = 0; x < 256; ++x) quotients[static_cast<size_t>(x)] = x / 255.0;
  const Tensor table = Tensor::from_values(dtype, {256}, quotients);

  const int64_t elements = set.image_elements();
  Tensor images(dtype, {static_cast<int64_t>(indices.size()), set.height, set.width, set.channels});
  const auto gather = [&]<class Code>(Code) {
    const std::span<const Code> codes = table.as<Code>();
    Code* out = images.as<Code>().data();
    for (const int64_t i : indices) {
      const uint8_t* pixel = set.pixels.data() + i * elements;
      for (int64_t e = 0; e < elements; ++e) *out++ = codes[pixel[e]];
    }
  };
  switch (size_of(dtype)) {
    case 2: gather(uint16_t{}); break;
    case 4: gather(uint32_t{}); break;
    default: gather(uint64_t{}); break;
  }
  return images;
}

Tensor labels_of(const ImageSet& set, std::span<const int64_t> indices) {
  check_indices(set, indices);
  Tensor labels(DType::kInt32, {static_cast<int64_t>(indices.size())});
  int32_t* out = labels.as<int32_t>().data();
  for (const int64_t i : indices) *out++ = set.labels[static_cast<size_t>(i)];
  return labels;
}

}  // namespace softamp
