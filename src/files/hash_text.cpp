#include <xxhash.h>

#include "softamp/files/hash_text.h"
#include "src/text/hexadecimal.h"

namespace softamp {

std::string hash_text(const void* data, size_t bytes) {
  const XXH128_hash_t hash = XXH3_128bits(data, bytes);
  return hexadecimal(hash.high64, 16) + hexadecimal(hash.low64, 16);
}

}  // namespace softamp
