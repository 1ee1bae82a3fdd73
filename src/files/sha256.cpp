#include "src/files/sha256.h"

#include "src/text/hexadecimal.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace softamp {
namespace {

/// The first 32 bits of the fractional parts of the cube roots of the first 64 primes (FIPS 180-4, 4.2.2).
constexpr uint32_t kConstants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

uint32_t big_endian(const unsigned char* bytes) {
  return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | bytes[3];
}

}  // namespace

void Sha256::take_blocks(const unsigned char* bytes, size_t blocks) {
  std::array<uint32_t, 8> s = state_;
  for (; blocks > 0; --blocks, bytes += 64) {
    uint32_t w[64];
    for (int t = 0; t < 16; ++t) w[t] = big_endian(bytes + 4 * t);
    for (int t = 16; t < 64; ++t) {
      const uint32_t a = w[t - 15], b = w[t - 2];
      w[t] = w[t - 16] + w[t - 7] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) +
             (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
    }
    uint32_t a = s[0], b = s[1], c = s[2], d = s[3], e = s[4], f = s[5], g = s[6], h = s[7];
    for (int t = 0; t < 64; ++t) {
      const uint32_t one =
          h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + ((e & f) ^ (~e & g)) + kConstants[t] + w[t];
      const uint32_t two = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      h = g;
      g = f;
      f = e;
      e = d + one;
      d = c;
      c = b;
      b = a;
      a = one + two;
    }
    s[0] += a;
    s[1] += b;
    s[2] += c;
    s[3] += d;
    s[4] += e;
    s[5] += f;
    s[6] += g;
    s[7] += h;
  }
  state_ = s;
}

void Sha256::add(const void* data, size_t size) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  const size_t filled = bytes_ % 64;
  bytes_ += size;
  if (filled != 0) {
    const size_t fits = std::min(size, 64 - filled);
    std::memcpy(open_.data() + filled, bytes, fits);
    if (filled + fits < 64) return;
    take_blocks(open_.data(), 1);
    bytes += fits;
    size -= fits;
  }
  take_blocks(bytes, size / 64);
  if (size % 64 != 0) std::memcpy(open_.data(), bytes + size / 64 * 64, size % 64);
}

std::string Sha256::hex() {
  const uint64_t bits = bytes_ * 8;
  unsigned char end[72] = {0x80};  // a one bit, zeros up to 8 bytes before a full block, the length in bits
  const size_t noughts = (119 - bytes_ % 64) % 64;
  for (size_t i = 0; i < 8; ++i) end[1 + noughts + i] = static_cast<unsigned char>(bits >> (56 - 8 * i));
  add(end, 1 + noughts + 8);
  std::string text;
  for (const uint32_t word : state_) text += hexadecimal(word, 8);
  return text;
}

}  // namespace softamp
