// Base64 (RFC 4648, section 4), padded; the last unit's spare bits must be zero, so that different texts are different
// bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace softamp::graph_detail {

inline constexpr std::string_view kBase64Letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

inline std::string base64_encode(const uint8_t* bytes, size_t count) {
  std::string text;
  text.reserve((count + 2) / 3 * 4);
  for (size_t i = 0; i < count; i += 3) {
    const size_t have = count - i < 3 ? count - i : 3;
    uint32_t unit = 0;
    for (size_t j = 0; j < 3; ++j) unit = unit << 8 | (j < have ? bytes[i + j] : 0u);
    for (size_t j = 0; j < 4; ++j) text += j <= have ? kBase64Letters[unit >> (18 - 6 * j) & 63] : '=';
  }
  return text;
}

/// Writes exactly `count` bytes. False where `text` is not the base64 of `count` bytes.
inline bool base64_decode(std::string_view text, uint8_t* bytes, size_t count) {
  if (text.size() != (count + 2) / 3 * 4) return false;
  const auto digit = [](char c) -> uint32_t {
    if (c >= 'A' && c <= 'Z') return static_cast<uint32_t>(c - 'A');
    if (c >= 'a' && c <= 'z') return static_cast<uint32_t>(c - 'a' + 26);
    if (c >= '0' && c <= '9') return static_cast<uint32_t>(c - '0' + 52);
    return c == '+' ? 62 : c == '/' ? 63 : 64;
  };
  for (size_t i = 0, at = 0; i < count; i += 3, at += 4) {
    const size_t have = count - i < 3 ? count - i : 3;
    uint32_t unit = 0;
    for (size_t j = 0; j < 4; ++j) {
      const char c = text[at + j];
      if (j > have ? c != '=' : digit(c) == 64) return false;
      unit = unit << 6 | (j > have ? 0u : digit(c));
    }
    if (have < 3 && (unit & ((1u << (8 * (3 - have))) - 1)) != 0) return false;
    for (size_t j = 0; j < have; ++j) bytes[i + j] = static_cast<uint8_t>(unit >> (16 - 8 * j));
  }
  return true;
}

}  // namespace softamp::graph_detail
