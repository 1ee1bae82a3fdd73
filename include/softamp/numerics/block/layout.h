// Where codes and scales lie (N460, N461).
#pragma once

#include "softamp/numerics/platform.h"

#include <cstddef>

namespace softamp::block {

/// Bytes of n codes of 4 bits, two a byte.
SOFTAMP_INLINE uint64_t packed_bytes(uint64_t n) { return n / 2 + n % 2; }
/// Packs n codes of 4 bits: the even index in the low half of its byte; behind an odd count 0.
// implements: N460
SOFTAMP_INLINE void pack_nibbles(const uint8_t* codes, size_t n, uint8_t* bytes) {
  for (size_t i = 0; i < n; i += 2)
    bytes[i / 2] = static_cast<uint8_t>((codes[i] & 0xF) | (i + 1 < n ? (codes[i + 1] & 0xF) << 4 : 0));
}
SOFTAMP_INLINE void unpack_nibbles(const uint8_t* bytes, size_t n, uint8_t* codes) {
  for (size_t i = 0; i < n; ++i) codes[i] = static_cast<uint8_t>(bytes[i / 2] >> (i % 2 * 4) & 0xF);
}

/// Blackwell's order of scales: tiles of 128 rows by 4 columns, 512 bytes each; rows and columns are filled up with
/// zeros to whole tiles. The place of the scale (row, column) of a matrix of `columns` scales a row.
// implements: N461
SOFTAMP_INLINE uint64_t tiled_scale_place(uint64_t row, uint64_t column, uint64_t columns) {
  return (row / 128 * ((columns + 3) / 4) + column / 4) * 512 + row % 32 * 16 + row % 128 / 32 * 4 + column % 4;
}
/// Bytes of all the tiles.
SOFTAMP_INLINE uint64_t tiled_scale_bytes(uint64_t rows, uint64_t columns) {
  return (rows + 127) / 128 * ((columns + 3) / 4) * 512;
}

}  // namespace softamp::block
