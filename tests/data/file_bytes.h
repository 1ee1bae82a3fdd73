// Bytes of files for tests, made by hand: gzip of stored blocks, tar, IDX, CIFAR-10; a folder to put them in.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "softamp/data/images.h"
#include "tests/files.h"

namespace softamp::test {

/// A folder that lasts as long as the test.
struct Folder : TemporaryFolder {
  std::filesystem::path write(const std::string& name, const std::string& bytes) const {
    std::filesystem::create_directories((path() / name).parent_path());
    std::ofstream(path() / name, std::ios::binary) << bytes;
    return path() / name;
  }
};

inline void expect_text(const std::string& message, const std::string& part) {
  EXPECT_NE(message.find(part), std::string::npos) << "expected: " << part << "\nfound:    " << message;
}

inline std::string little(uint64_t value, int size) {
  std::string text;
  for (int i = 0; i < size; ++i, value >>= 8) text += static_cast<char>(value & 255);
  return text;
}

inline std::string big(uint32_t value) {
  const std::string text = little(value, 4);
  return {text.rbegin(), text.rend()};
}

/// CRC-32, bit by bit.
inline uint32_t slow_crc32(const std::string& bytes) {
  uint32_t crc = ~0u;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? crc >> 1 ^ 0xEDB88320u : crc >> 1;
  }
  return ~crc;
}

/// One member: header, deflate's stored blocks, checksum and length (RFC 1951 section 3.2.4, RFC 1952).
inline std::string gzip(const std::string& bytes) {
  std::string text("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff", 10);
  size_t at = 0;
  do {
    const size_t size = std::min<size_t>(bytes.size() - at, 65535);
    text += static_cast<char>(at + size == bytes.size());
    text += little(size, 2) + little(~size, 2) + bytes.substr(at, size);
    at += size;
  } while (at < bytes.size());
  return text + little(slow_crc32(bytes), 4) + little(bytes.size(), 4);
}

/// POSIX tar of regular files: a header of 512 bytes, the bytes padded to a multiple of 512; two empty blocks.
inline std::string tar(const std::vector<std::pair<std::string, std::string>>& files) {
  const auto octal = [](uint64_t value, size_t digits) {
    std::string text(digits, '0');
    for (size_t i = digits; i-- > 0; value >>= 3) text[i] = static_cast<char>('0' + (value & 7));
    return text;
  };
  std::string archive;
  for (const auto& [name, bytes] : files) {
    std::string header(512, '\0');
    header.replace(0, name.size(), name);
    header.replace(100, 7, octal(0644, 7)).replace(108, 7, octal(0, 7)).replace(116, 7, octal(0, 7));
    header.replace(124, 11, octal(bytes.size(), 11)).replace(136, 11, octal(0, 11));
    header.replace(148, 8, 8, ' ').replace(156, 1, "0").replace(257, 8, std::string("ustar\00000", 8));
    uint64_t sum = 0;
    for (const char c : header) sum += static_cast<unsigned char>(c);
    header.replace(148, 8, octal(sum, 6) + std::string("\0 ", 2));
    archive += header + bytes + std::string((512 - bytes.size() % 512) % 512, '\0');
  }
  return archive + std::string(1024, '\0');
}

inline std::string idx_images(uint32_t count, uint32_t height, uint32_t width, uint32_t seed = 1) {
  std::string text = big(0x803) + big(count) + big(height) + big(width);
  for (uint32_t i = 0; i < count * height * width; ++i) text += static_cast<char>((i + seed) * 2654435761u >> 24);
  return text;
}

inline std::string idx_labels(uint32_t count, uint32_t seed = 1) {
  std::string text = big(0x801) + big(count);
  for (uint32_t i = 0; i < count; ++i) text += static_cast<char>((i + seed) % 10);
  return text;
}

inline std::string cifar(uint32_t records, uint32_t seed = 1) {
  std::string text;
  for (uint32_t r = 0; r < records; ++r) {
    text += static_cast<char>((r + seed) % 10);
    for (uint32_t i = 0; i < 3072; ++i) text += static_cast<char>((r * 3072 + i + seed) * 2654435761u >> 24);
  }
  return text;
}

}  // namespace softamp::test
