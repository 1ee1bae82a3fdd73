// Compiled instead of src/graph/hash_text.cpp if xxHash is missing.
#include <cstdio>

#include "softamp/graph/trace.h"
#include "src/minimal/xxh3.h"

namespace softamp {

std::string hash_text(const void* data, size_t bytes) {
  const minimal::Hash128 hash = minimal::xxh3_128(data, bytes);
  char text[33];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(hash.high),
                static_cast<unsigned long long>(hash.low));
  return text;
}

}  // namespace softamp
