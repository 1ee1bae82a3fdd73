#include "softamp/data/images.h"
#include "softamp/files/hash_text.h"

namespace softamp {

std::string contents_hash(const ImageSet& set) {
  const std::string text = hash_text(set.pixels.data(), set.pixels.size()) +
                           hash_text(set.labels.data(), set.labels.size() * sizeof(int32_t));
  return hash_text(text.data(), text.size());
}

}  // namespace softamp
