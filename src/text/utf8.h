// UTF-8 (RFC 3629): one character after another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace softamp {

/// The code point of `length` bytes at i, which are known to be one.
inline uint32_t utf8_code(std::string_view text, size_t i, size_t length) {
  const auto byte = [&](size_t k) { return static_cast<uint32_t>(static_cast<unsigned char>(text[i + k])); };
  uint32_t code = length == 1 ? byte(0) : byte(0) & (0xFFu >> (length + 1));
  for (size_t k = 1; k < length; ++k) code = code << 6 | (byte(k) & 0x3F);
  return code;
}

/// Bytes of the character at i, 1 .. 4. `good` is false where there is none; then these are the bytes up to the first
/// that cannot follow (a stray byte, a longer form than needed, a surrogate, a code point above U+10FFFF), or to the
/// end.
struct Utf8Character {
  size_t length;
  bool good;
};
inline Utf8Character utf8_character(std::string_view text, size_t i) {
  const auto byte = [&](size_t k) { return static_cast<unsigned char>(text[k]); };
  const unsigned first = byte(i);
  if (first < 0x80) return {1, true};
  if (first < 0xC2 || first > 0xF4) return {0, false};
  const size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  const unsigned least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const unsigned most = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  for (size_t k = 1; k < length; ++k)
    if (i + k == text.size() || byte(i + k) < (k == 1 ? least : 0x80) || byte(i + k) > (k == 1 ? most : 0xBF))
      return {k, false};
  return {length, true};
}

inline void append_utf8(std::string& text, uint32_t code) {
  const auto add = [&](uint32_t byte) { text += static_cast<char>(byte); };
  if (code < 0x80) {
    add(code);
  } else if (code < 0x800) {
    add(0xC0 | code >> 6);
  } else if (code < 0x10000) {
    add(0xE0 | code >> 12);
    add(0x80 | (code >> 6 & 0x3F));
  } else {
    add(0xF0 | code >> 18);
    add(0x80 | (code >> 12 & 0x3F));
    add(0x80 | (code >> 6 & 0x3F));
  }
  if (code >= 0x80) add(0x80 | (code & 0x3F));
}

}  // namespace softamp
