#include "src/data/png_image.h"

#include <png.h>

#include <array>
#include <csetjmp>
#include <cstring>
#include <fstream>
#include <vector>

#include "src/data/archive.h"
#include "src/data/image_formats.h"

namespace softamp {
namespace {

constexpr std::array<unsigned, 8> kSignature = {0x89, 'P', 'N', 'G', 0x0d, 0x0a, 0x1a, 0x0a};
/// A chunk is its length, its type, its bytes and a checksum. The first, of 13 bytes, is IHDR.
constexpr size_t kAroundChunk = 12, kHeaderChunk = 13, kHeaderEnd = kSignature.size() + kAroundChunk + kHeaderChunk;
/// Most bytes of a file besides twice those of its pixels: texts, profiles, and what does not shrink.
constexpr uint64_t kMostElse = uint64_t{1} << 24;

enum ColourType : unsigned { kGrey = 0, kRgb = 2, kPalette = 3, kGreyAlpha = 4, kRgba = 6 };

struct Header {
  uint32_t width, height;
  unsigned depth, type;
  int64_t channels;
  const char* kind;  ///< "palette"
};

unsigned octet(std::span<const std::byte> bytes, size_t at) { return std::to_integer<unsigned>(bytes[at]); }

uint32_t big_endian32(std::span<const std::byte> bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value = value << 8 | octet(bytes, at + i);
  return value;
}

std::string chunk_type(std::span<const std::byte> bytes, size_t at) {
  return {reinterpret_cast<const char*>(bytes.data()) + at + 4, 4};
}

void check_signature(std::span<const std::byte> bytes, const std::string& name) {
  for (size_t i = 0; i < kSignature.size(); ++i) {
    if (i == bytes.size()) archive::fail(name, i, "the file is cut off: expected the 8 bytes that begin a PNG file");
    if (octet(bytes, i) == kSignature[i]) continue;
    const bool jpeg = i == 0 && bytes.size() > 1 && octet(bytes, 0) == 0xff && octet(bytes, 1) == 0xd8;
    archive::fail(name, i,
                  std::string("not a PNG file") + (jpeg ? ", but a JPEG one" : "") +
                      ": expected it to begin with 89 50 4e 47 0d 0a 1a 0a");
  }
}

/// Of the chunk at `at`, which is there as a whole.
void check_checksum(std::span<const std::byte> bytes, size_t at, size_t length, const std::string& name) {
  if (archive::crc32(bytes.subspan(at + 4, length + 4)) != big_endian32(bytes, at + 8 + length))
    archive::fail(name, at, "the chunk '" + chunk_type(bytes, at) + "' is damaged: its checksum does not agree");
}

/// Needs the first kHeaderEnd bytes of a file alone.
Header read_header(std::span<const std::byte> bytes, const std::string& name) {
  check_signature(bytes, name);
  constexpr size_t kAt = kSignature.size();
  if (bytes.size() < kHeaderEnd) archive::fail(name, bytes.size(), "the file is cut off: expected the chunk IHDR");
  if (big_endian32(bytes, kAt) != kHeaderChunk || chunk_type(bytes, kAt) != "IHDR")
    archive::fail(name, kAt, "expected the chunk IHDR of 13 bytes");
  check_checksum(bytes, kAt, kHeaderChunk, name);
  Header h{big_endian32(bytes, 16), big_endian32(bytes, 20), octet(bytes, 24), octet(bytes, 25), 0, ""};
  switch (h.type) {
    case kGrey: h.channels = 1, h.kind = "grey"; break;
    case kRgb: h.channels = 3, h.kind = "RGB"; break;
    case kPalette: h.channels = 3, h.kind = "palette"; break;
    case kGreyAlpha: h.channels = 2, h.kind = "grey with alpha"; break;
    case kRgba: h.channels = 4, h.kind = "RGBA"; break;
    default: archive::fail(name, 25, "colour type " + std::to_string(h.type) + "; expected 0, 2, 3, 4 or 6");
  }
  if (h.depth == 16 && h.type != kPalette)
    archive::fail(name, 24, "16 bits a sample; expected 8 or fewer: images are 8-bit, and nothing is rounded");
  const bool small = h.depth == 1 || h.depth == 2 || h.depth == 4;
  if (h.depth != 8 && !(small && (h.type == kGrey || h.type == kPalette)))
    archive::fail(name, 24,
                  std::to_string(h.depth) + " bits a sample; expected 8" +
                      (h.type == kGrey || h.type == kPalette ? ", 4, 2 or 1" : ""));
  return h;
}

void check_extents(const Header& h, int64_t height, int64_t width, int64_t channels, const std::string& name) {
  if (h.height != height || h.width != width || h.channels != channels)
    throw DataError(name + ": an image of " + extents_text(h.height, h.width, h.channels) + " (" + h.kind +
                    "); expected " + extents_text(height, width, channels) +
                    ": images are neither resized nor converted");
}

/// What is left of a file.
struct Parts {
  std::span<const std::byte> image;  ///< a file of the chunks that make the pixels
  std::vector<std::array<uint8_t, 3>> palette;
};

std::vector<std::array<uint8_t, 3>> read_palette(std::span<const std::byte> chunk, size_t at, const Header& h,
                                                 const std::string& name) {
  if (chunk.empty() || chunk.size() % 3 != 0 || chunk.size() / 3 > (size_t{1} << h.depth))
    archive::fail(name, at,
                  "a palette of " + std::to_string(chunk.size()) +
                      " bytes; expected 3 for each colour, of which there are 1 .. " + std::to_string(1 << h.depth));
  std::vector<std::array<uint8_t, 3>> palette(chunk.size() / 3);
  std::memcpy(palette.data(), chunk.data(), chunk.size());
  return palette;
}

/// Looks through all chunks, and moves those that make the pixels together.
Parts parts_of(std::span<std::byte> bytes, const Header& h, const std::string& name) {
  Parts parts;
  bool data = false, data_before = false;  // pixels have begun; the chunk before held some
  size_t kept = kHeaderEnd;
  for (size_t at = kHeaderEnd;;) {
    const size_t left = bytes.size() - at;
    if (left < kAroundChunk) archive::fail(name, bytes.size(), "the file is cut off: expected chunks up to IEND");
    const std::string type = chunk_type(bytes, at);
    const size_t length = big_endian32(bytes, at), whole = length + kAroundChunk;
    for (const char c : type)
      if ((c < 'A' || c > 'Z') && (c < 'a' || c > 'z')) archive::fail(name, at, "expected a chunk of a PNG file");
    if (length > left - kAroundChunk)
      archive::fail(name, bytes.size(),
                    "the file is cut off: expected the " + std::to_string(length) + " bytes of the chunk '" + type +
                        "' at byte " + std::to_string(at) + " and its checksum");
    check_checksum(bytes, at, length, name);
    const auto out_of_place = [&] { archive::fail(name, at, "the chunk '" + type + "' is out of place"); };
    bool keep = type == "IDAT" || type == "IEND";
    if (type == "IDAT") {
      if ((data && !data_before) || (h.type == kPalette && parts.palette.empty())) out_of_place();
      data = true;
    } else if (type == "PLTE") {
      if (data || !parts.palette.empty() || (h.type & 2) == 0) out_of_place();
      // One of RGB suggests what a screen of few colours shows.
      keep = h.type == kPalette;
      if (keep) parts.palette = read_palette(bytes.subspan(at + 8, length), at, h, name);
    } else if (type == "tRNS") {
      archive::fail(name, at, "a chunk tRNS makes colours transparent; expected none, or an alpha channel");
    } else if (type == "IHDR") {
      out_of_place();
    } else if (type != "IEND" && (type[0] & 0x20) == 0) {
      archive::fail(name, at, "the chunk '" + type + "' is not known, and it says that pixels depend on it");
    }
    data_before = type == "IDAT";
    if (keep) {
      std::memmove(&bytes[kept], &bytes[at], whole);
      kept += whole;
    }
    at += whole;
    if (type != "IEND") continue;
    if (at != bytes.size()) archive::fail(name, at, "other bytes follow the chunk IEND; expected the end of the file");
    parts.image = bytes.first(kept);
    return parts;
  }
}

/// What libpng works on. It is left by longjmp where there is a fault, so what needs a destructor is here, in the frame
/// of the caller.
struct Reading {
  explicit Reading(std::span<const std::byte> image) : bytes(image) {}
  ~Reading() { png_destroy_read_struct(&png, &info, nullptr); }
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;

  std::span<const std::byte> bytes;
  png_structp png = nullptr;
  png_infop info = nullptr;
  char said[128] = "";  ///< the first fault, in libpng's words
};

void keep_words(Reading* reading, const char* words) {
  if (!reading->said[0]) std::strncpy(reading->said, words && *words ? words : "a fault", sizeof(reading->said) - 1);
}

[[noreturn]] void on_error(png_structp png, png_const_charp words) {
  keep_words(static_cast<Reading*>(png_get_error_ptr(png)), words);
  png_longjmp(png, 1);
}

/// Of the chunks that are left it warns where they are damaged.
void on_warning(png_structp png, png_const_charp words) {
  keep_words(static_cast<Reading*>(png_get_error_ptr(png)), words);
}

void on_read(png_structp png, png_bytep to, size_t count) {
  auto* reading = static_cast<Reading*>(png_get_io_ptr(png));
  if (count > reading->bytes.size()) png_error(png, "the data end too early");
  std::memcpy(to, reading->bytes.data(), count);
  reading->bytes = reading->bytes.subspan(count);
}

/// One byte for each sample or index, row by row. False: reading.said tells why not. No variable here has a destructor,
/// or changes after setjmp.
bool unpack_rows(Reading& reading, const Header& h, png_bytepp rows) {
  reading.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reading, on_error, on_warning);
  if (reading.png) reading.info = png_create_info_struct(reading.png);
  if (!reading.info) {
    keep_words(&reading, "there is no memory");
    return false;
  }
  if (setjmp(png_jmpbuf(reading.png)) != 0) return false;
  png_set_benign_errors(reading.png, 0);
  png_set_user_limits(reading.png, h.width, h.height);
#ifdef PNG_READ_CHECK_FOR_INVALID_INDEX_SUPPORTED
  png_set_check_for_invalid_index(reading.png, 0);  // compared below, by every version
#endif
  png_set_read_fn(reading.png, &reading, on_read);
  png_read_info(reading.png, reading.info);
  png_set_packing(reading.png);
  png_set_interlace_handling(reading.png);
  png_read_update_info(reading.png, reading.info);
  if (png_get_rowbytes(reading.png, reading.info) !=
      size_t{h.width} * static_cast<size_t>(h.type == kPalette ? 1 : h.channels))
    png_error(reading.png, "rows of another length");
  png_read_image(reading.png, rows);
  png_read_end(reading.png, nullptr);
  return reading.said[0] == 0;
}

void unpack(std::span<const std::byte> image, const Header& h, std::span<uint8_t> samples, const std::string& name) {
  std::vector<png_bytep> rows(h.height);
  for (size_t y = 0; y < rows.size(); ++y) rows[y] = &samples[y * (samples.size() / rows.size())];
  Reading reading(image);
  if (!unpack_rows(reading, h, rows.data())) throw DataError(name + ": damaged: libpng says: " + reading.said);
}

}  // namespace

void parse_png(std::span<std::byte> bytes, const std::string& name, int64_t height, int64_t width, int64_t channels,
               std::span<uint8_t> pixels) {
  const Header h = read_header(bytes, name);
  check_extents(h, height, width, channels, name);
  const Parts parts = parts_of(bytes, h, name);
  if (h.type != kPalette) {
    unpack(parts.image, h, pixels, name);
    const auto step = static_cast<uint8_t>(255 / ((1 << h.depth) - 1));
    if (step > 1)
      for (uint8_t& sample : pixels) sample = static_cast<uint8_t>(sample * step);
    return;
  }
  std::vector<uint8_t> indices(pixels.size() / 3);
  unpack(parts.image, h, indices, name);
  for (size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] >= parts.palette.size())
      throw DataError(name + ": pixel " + std::to_string(i) + " has the colour " + std::to_string(indices[i]) +
                      " of a palette; expected 0 .. " + std::to_string(parts.palette.size() - 1));
    std::memcpy(&pixels[3 * i], parts.palette[indices[i]].data(), 3);
  }
}

void read_png(const std::filesystem::path& file, int64_t height, int64_t width, int64_t channels,
              std::span<uint8_t> pixels) {
  const std::string name = file.string();
  // Sizes are compared before the file is in memory.
  std::array<std::byte, kHeaderEnd> first{};
  if (std::ifstream in(file, std::ios::binary); in) {
    in.read(reinterpret_cast<char*>(first.data()), static_cast<std::streamsize>(first.size()));
    check_extents(read_header(std::span(first).first(static_cast<size_t>(in.gcount())), name), height, width, channels,
                  name);
  }
  std::vector<std::byte> bytes = archive::read_as_it_stands(file, 2 * pixels.size() + kMostElse);
  parse_png(bytes, name, height, width, channels, pixels);
}

}  // namespace softamp
