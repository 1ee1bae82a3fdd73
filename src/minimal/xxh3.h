// XXH3-128 (seed 0) of bytes in memory, from its specification (github.com/Cyan4973/xxHash, doc/xxhash_spec.md): for a
// build without the xxHash library, which is several times faster.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace softamp::minimal {

struct Hash128 {
  uint64_t low, high;
};

namespace xxh3 {

inline constexpr uint64_t kPrime32[] = {0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D};
inline constexpr uint64_t kPrime[] = {0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63,
                                      0x27D4EB2F165667C5};
inline constexpr unsigned char kSecret[192] = {
    0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c, 0xde, 0xd4,
    0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f, 0xcb, 0x79, 0xe6, 0x4e,
    0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21, 0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43,
    0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6, 0x81, 0x3a, 0x26, 0x4c, 0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb,
    0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3, 0x71, 0x64, 0x48, 0x97, 0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19,
    0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8, 0xa8, 0xfa, 0x76, 0x3f, 0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7,
    0xc7, 0x0b, 0x4f, 0x1d, 0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31, 0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78,
    0x73, 0x64, 0xea, 0xc5, 0xac, 0x83, 0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff, 0xfa, 0x13, 0x63, 0xeb,
    0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26, 0x29, 0xd4, 0x68, 0x9e, 0x2b, 0x16,
    0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc, 0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce, 0x45, 0xcb, 0x3a, 0x8f,
    0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e};

// Words of memory, little-endian as this machine's are.
static_assert(std::endian::native == std::endian::little);
inline uint64_t word(const unsigned char* at) {
  uint64_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
inline uint32_t half_word(const unsigned char* at) {
  uint32_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
inline uint64_t secret(size_t at) { return word(kSecret + at); }

inline uint32_t swapped(uint32_t x) { return __builtin_bswap32(x); }
inline Hash128 product(uint64_t a, uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide p = static_cast<Wide>(a) * b;
  return {static_cast<uint64_t>(p), static_cast<uint64_t>(p >> 64)};
}
inline uint64_t folded_product(uint64_t a, uint64_t b) {
  const Hash128 p = product(a, b);
  return p.low ^ p.high;
}
inline uint64_t avalanche(uint64_t h) {
  h = (h ^ h >> 37) * 0x165667919E3779F9;
  return h ^ h >> 32;
}
inline uint64_t avalanche64(uint64_t h) {
  h = (h ^ h >> 33) * kPrime[1];
  h = (h ^ h >> 29) * kPrime[2];
  return h ^ h >> 32;
}

inline Hash128 of_3(const unsigned char* in, size_t n) {
  const uint32_t low = uint32_t{in[0]} << 16 | uint32_t{in[n >> 1]} << 24 | in[n - 1] | static_cast<uint32_t>(n) << 8;
  const uint32_t high = std::rotl(swapped(low), 13);
  return {avalanche64(low ^ uint64_t{half_word(kSecret) ^ half_word(kSecret + 4)}),
          avalanche64(high ^ uint64_t{half_word(kSecret + 8) ^ half_word(kSecret + 12)})};
}

inline Hash128 of_8(const unsigned char* in, size_t n) {
  const uint64_t both = half_word(in) | uint64_t{half_word(in + n - 4)} << 32;
  Hash128 m = product(both ^ secret(16) ^ secret(24), kPrime[0] + (n << 2));
  m.high += m.low << 1;
  m.low ^= m.high >> 3;
  m.low = (m.low ^ m.low >> 35) * 0x9FB21C651E98DF25;
  m.low ^= m.low >> 28;
  return {m.low, avalanche(m.high)};
}

inline Hash128 of_16(const unsigned char* in, size_t n) {
  const uint64_t low = word(in);
  uint64_t high = word(in + n - 8);
  Hash128 m = product(low ^ high ^ secret(32) ^ secret(40), kPrime[0]);
  m.low += static_cast<uint64_t>(n - 1) << 54;
  high ^= secret(48) ^ secret(56);
  m.high += high + (high & 0xFFFFFFFF) * (kPrime32[1] - 1);
  m.low ^= __builtin_bswap64(m.high);
  Hash128 h = product(m.low, kPrime[1]);
  h.high += m.high * kPrime[1];
  return {avalanche(h.low), avalanche(h.high)};
}

inline uint64_t mix_16(const unsigned char* in, size_t at) {
  return folded_product(word(in) ^ secret(at), word(in + 8) ^ secret(at + 8));
}
inline void mix_32(Hash128& acc, const unsigned char* a, const unsigned char* b, size_t at) {
  acc.low = (acc.low + mix_16(a, at)) ^ (word(b) + word(b + 8));
  acc.high = (acc.high + mix_16(b, at + 16)) ^ (word(a) + word(a + 8));
}
inline Hash128 finished(const Hash128& acc, size_t n) {
  return {avalanche(acc.low + acc.high), 0 - avalanche(acc.low * kPrime[0] + acc.high * kPrime[3] + n * kPrime[1])};
}

inline Hash128 of_128(const unsigned char* in, size_t n) {
  Hash128 acc{n * kPrime[0], 0};
  for (size_t pair = (n - 1) / 32; pair > 0; --pair) mix_32(acc, in + 16 * pair, in + n - 16 - 16 * pair, 32 * pair);
  mix_32(acc, in, in + n - 16, 0);
  return finished(acc, n);
}

inline Hash128 of_240(const unsigned char* in, size_t n) {
  Hash128 acc{n * kPrime[0], 0};
  for (size_t i = 0; i < 4; ++i) mix_32(acc, in + 32 * i, in + 32 * i + 16, 32 * i);
  acc = {avalanche(acc.low), avalanche(acc.high)};
  for (size_t i = 4; i < n / 32; ++i) mix_32(acc, in + 32 * i, in + 32 * i + 16, 3 + 32 * (i - 4));
  mix_32(acc, in + n - 16, in + n - 32, 103);
  return finished(acc, n);
}

class Stripes {
 public:
  void add(const unsigned char* in, size_t at) {
    for (size_t i = 0; i < 8; ++i) {
      const uint64_t value = word(in + 8 * i), key = value ^ secret(at + 8 * i);
      acc_[i ^ 1] += value;
      acc_[i] += (key & 0xFFFFFFFF) * (key >> 32);
    }
  }
  void scramble() {
    for (size_t i = 0; i < 8; ++i) acc_[i] = (acc_[i] ^ acc_[i] >> 47 ^ secret(128 + 8 * i)) * kPrime32[0];
  }
  uint64_t merged(size_t at, uint64_t start) const {
    for (size_t i = 0; i < 8; i += 2)
      start += folded_product(acc_[i] ^ secret(at + 8 * i), acc_[i + 1] ^ secret(at + 8 * i + 8));
    return avalanche(start);
  }

 private:
  uint64_t acc_[8] = {kPrime32[2], kPrime[0], kPrime[1], kPrime[2], kPrime[3], kPrime32[1], kPrime[4], kPrime32[0]};
};

inline Hash128 of_more(const unsigned char* in, size_t n) {
  constexpr size_t kStripe = 64, kStripes = 16;  // in a block, each 8 bytes further in the secret
  Stripes s;
  const size_t last = (n - 1) / kStripe;
  for (size_t i = 0; i < last; ++i) {
    s.add(in + kStripe * i, i % kStripes * 8);
    if (i % kStripes == kStripes - 1) s.scramble();
  }
  s.add(in + n - kStripe, 121);
  return {s.merged(11, n * kPrime[0]), s.merged(117, ~(n * kPrime[1]))};
}

}  // namespace xxh3

inline Hash128 xxh3_128(const void* data, size_t bytes) {
  using namespace xxh3;
  const auto* const in = static_cast<const unsigned char*>(data);
  if (bytes == 0) return {avalanche64(secret(64) ^ secret(72)), avalanche64(secret(80) ^ secret(88))};
  if (bytes <= 3) return of_3(in, bytes);
  if (bytes <= 8) return of_8(in, bytes);
  if (bytes <= 16) return of_16(in, bytes);
  if (bytes <= 128) return of_128(in, bytes);
  if (bytes <= 240) return of_240(in, bytes);
  return of_more(in, bytes);
}

}  // namespace softamp::minimal
