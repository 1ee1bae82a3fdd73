// SHA-256 (FIPS 180-4), streaming; published dumps are compared by it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace softamp {

class Sha256 {
 public:
  /// Adds `size` bytes to the message.
  void add(const void* data, size_t size);
  /// The digest in lower-case hexadecimal. Ends the message.
  std::string hex();

 private:
  void take_blocks(const unsigned char* bytes, size_t blocks);

  std::array<uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, 64> open_{};  ///< the block that is not full yet
  uint64_t bytes_ = 0;
};

}  // namespace softamp
