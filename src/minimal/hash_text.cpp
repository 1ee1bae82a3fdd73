// Compiled instead of src/files/hash_text.cpp if xxHash is missing.
#include "softamp/files/hash_text.h"
#include "src/minimal/xxh3.h"
#include "src/text/hexadecimal.h"

namespace softamp {

std::string hash_text(const void* data, size_t bytes) {
  const minimal::Hash128 hash = minimal::xxh3_128(data, bytes);
  return hexadecimal(hash.high, 16) + hexadecimal(hash.low, 16);
}

}  // namespace softamp
