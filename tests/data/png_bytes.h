// PNG files for tests, by libpng or chunk by chunk.
#pragma once

#include <png.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/data/file_bytes.h"

namespace softamp::test {

struct PngImage {
  uint32_t height = 0, width = 0;
  int type = PNG_COLOR_TYPE_GRAY, depth = 8;
  bool interlaced = false;
  /// One byte for each sample or index, whatever the depth.
  std::vector<uint8_t> samples{};
  std::vector<std::array<uint8_t, 3>> palette{};

  uint32_t samples_of_pixel() const { return type == PNG_COLOR_TYPE_PALETTE ? 1 : channels(); }
  uint32_t channels() const {
    const bool colour = (type & PNG_COLOR_MASK_COLOR) != 0, alpha = (type & PNG_COLOR_MASK_ALPHA) != 0;
    return (colour ? 3u : 1u) + (alpha ? 1u : 0u);
  }
};

inline std::string png_bytes(const PngImage& image) {
  std::string text;
  const auto fail = [](png_structp, png_const_charp) { std::abort(); };
  const auto write = [](png_structp png, png_bytep bytes, size_t count) {
    static_cast<std::string*>(png_get_io_ptr(png))->append(reinterpret_cast<const char*>(bytes), count);
  };
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, fail, fail);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(png, &text, write, [](png_structp) {});
  png_set_IHDR(png, info, image.width, image.height, image.depth, image.type,
               image.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  std::vector<png_color> palette;
  for (const auto& [red, green, blue] : image.palette) palette.push_back({red, green, blue});
  if (!palette.empty()) png_set_PLTE(png, info, palette.data(), static_cast<int>(palette.size()));
  png_write_info(png, info);
  if (image.depth < 8) png_set_packing(png);
  std::vector<uint8_t> samples = image.samples;
  std::vector<png_bytep> rows(image.height);
  for (uint32_t y = 0; y < image.height; ++y) rows[y] = &samples[y * image.width * image.samples_of_pixel()];
  png_write_image(png, rows.data());
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return text;
}

/// A grey or RGB image whose samples are a function of `seed`.
inline std::string small_png(uint32_t height, uint32_t width, int channels, uint32_t seed) {
  PngImage image{.height = height, .width = width, .type = channels == 3 ? PNG_COLOR_TYPE_RGB : PNG_COLOR_TYPE_GRAY};
  for (uint32_t i = 0; i < height * width * image.channels(); ++i)
    image.samples.push_back(static_cast<uint8_t>((i + 31 * seed) * 2654435761u >> 24));
  return png_bytes(image);
}

inline std::string png_chunk(const std::string& type, const std::string& bytes) {
  return big(static_cast<uint32_t>(bytes.size())) + type + bytes + big(slow_crc32(type + bytes));
}

inline const std::string kPngSignature = "\x89PNG\r\n\x1a\n";
/// Behind the signature.
inline std::string png_header(uint32_t height, uint32_t width, int depth, int type, int interlace = 0) {
  return png_chunk("IHDR", big(width) + big(height) + static_cast<char>(depth) + static_cast<char>(type) +
                               std::string(2, '\0') + static_cast<char>(interlace));
}

/// zlib's stream of `bytes`, stored.
inline std::string zlib_stored(const std::string& bytes) {
  uint32_t a = 1, b = 0;
  for (const char c : bytes) a = (a + static_cast<unsigned char>(c)) % 65521, b = (b + a) % 65521;
  return std::string("\x78\x01\x01", 3) + little(bytes.size(), 2) + little(~bytes.size(), 2) + bytes + big(b << 16 | a);
}

}  // namespace softamp::test
