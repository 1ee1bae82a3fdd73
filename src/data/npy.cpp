#include "softamp/data/npy.h"

#include <algorithm>
#include <bit>

#include "src/data/npy_header.h"
#include "src/files/known_file.h"
#include "src/text/joined.h"

namespace softamp::npy {
namespace {

static_assert(std::endian::native == std::endian::little, "the data are handed out as they stand in the file");

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr const char* kKnownTypes = "'<f2', '<f4', '<f8', '|u1', '<u2', '<u4', '<i4', '<i8' or '|b1'";

struct TypeRow {
  ElementType type;
  const char* descr;
  size_t size;
};
constexpr TypeRow kTypes[] = {
    {ElementType::kFloat16, "<f2", 2}, {ElementType::kFloat32, "<f4", 4}, {ElementType::kFloat64, "<f8", 8},
    {ElementType::kInt32, "<i4", 4},   {ElementType::kInt64, "<i8", 8},   {ElementType::kBool, "|b1", 1},
    {ElementType::kUint8, "|u1", 1},   {ElementType::kUint16, "<u2", 2},  {ElementType::kUint32, "<u4", 4},
};

ElementType parse_type(const std::string& descr, uint64_t offset, std::string_view name) {
  for (const TypeRow& row : kTypes)
    if (descr == row.descr) return row.type;
  if (descr == "<u1") return ElementType::kUint8;
  const std::string found = "type " + npy::quoted(descr);
  if (!descr.empty() && descr[0] == '>') fail(name, offset, found + " is big-endian; expected " + kKnownTypes);
  fail(name, offset, found + " is not supported; expected " + kKnownTypes);
}

}  // namespace

size_t size_of(ElementType type) { return kTypes[static_cast<size_t>(type)].size; }
const char* descr(ElementType type) { return kTypes[static_cast<size_t>(type)].descr; }

uint64_t element_count(std::span<const uint64_t> shape, size_t element_size, std::string_view name) {
  if (std::find(shape.begin(), shape.end(), 0u) != shape.end()) return 0;
  uint64_t count = 1, bytes = element_size;
  for (const uint64_t extent : shape) {
    if (extent > static_cast<uint64_t>(INT64_MAX) / bytes)
      throw Error(std::string(name) + ": an array of shape " + shape_text(shape) + " with elements of " +
                  std::to_string(element_size) + " bytes exceeds 2^63 - 1 bytes");
    bytes *= extent;
    count *= extent;
  }
  return count;
}

std::string shape_text(std::span<const uint64_t> shape) {
  return "(" + joined(shape) + (shape.size() == 1 ? ",)" : ")");
}

Header parse_header(std::span<const std::byte> start, uint64_t file_size, std::string_view name) {
  const std::string_view bytes(reinterpret_cast<const char*>(start.data()), start.size());
  if (bytes.substr(0, kMagic.size()) != kMagic) {
    const std::string kind = files::known_kind(bytes, name);
    fail(name, 0,
         "not a .npy file: expected it to begin with \"\\x93NUMPY\", found " +
             npy::quoted(bytes.substr(0, kMagic.size())) + (kind.empty() ? "" : "; it is " + kind));
  }
  if (bytes.size() < 10) fail(name, bytes.size(), "the header is cut off; expected a version and the header's length");

  const auto octet = [&](size_t i) { return static_cast<uint64_t>(static_cast<unsigned char>(bytes[i])); };
  const uint64_t major = octet(6), minor = octet(7);
  if (major < 1 || major > 3 || minor != 0)
    fail(name, 6,
         "format version " + std::to_string(major) + "." + std::to_string(minor) +
             " is not known; expected 1.0, 2.0 or 3.0");
  const size_t length_bytes = major == 1 ? 2 : 4;
  const size_t begin = 8 + length_bytes;
  if (bytes.size() < begin) fail(name, bytes.size(), "the header is cut off; expected its length, of 4 bytes");
  uint64_t length = 0;
  for (size_t i = 0; i < length_bytes; ++i) length |= octet(8 + i) << (8 * i);
  if (length > kMaxHeader)
    fail(name, 8, "a header of " + std::to_string(length) + " bytes; expected at most " + std::to_string(kMaxHeader));
  if (length > bytes.size() - begin)
    fail(name, bytes.size(),
         "the header is cut off; expected " + std::to_string(length) + " bytes from byte " + std::to_string(begin));

  const HeaderFields fields = parse_dictionary(bytes.substr(begin, length), begin, name);
  if (fields.fortran_order) fail(name, begin, "Fortran order ('fortran_order': True); expected C order");
  Header header;
  header.type = parse_type(fields.descr, begin, name);
  header.shape = fields.shape;
  header.elements = element_count(header.shape, size_of(header.type), name);
  header.data_offset = begin + length;

  const uint64_t expected = header.elements * size_of(header.type), found = file_size - header.data_offset;
  const std::string promise = "shape " + shape_text(header.shape) + " of '" + descr(header.type) + "' needs " +
                              std::to_string(expected) + " bytes from byte " + std::to_string(header.data_offset);
  if (found < expected)
    fail(name, file_size, "the data are cut off: " + promise + ", the file holds " + std::to_string(found));
  if (found > expected)
    fail(name, header.data_offset + expected, std::to_string(found - expected) + " bytes too many: " + promise);
  return header;
}

std::string make_header(ElementType type, std::span<const uint64_t> shape) {
  if (shape.size() > kMaxRank)
    throw Error("a shape of " + std::to_string(shape.size()) + " extents; expected at most " +
                std::to_string(kMaxRank));
  element_count(shape, size_of(type), "output");
  std::string text =
      std::string("{'descr': '") + descr(type) + "', 'fortran_order': False, 'shape': " + shape_text(shape) + ", }";
  // The newline that ends the header falls on the last byte before a multiple of 64, so that the data are aligned.
  constexpr size_t kPrefix = 10, kAlign = 64;
  text.append(kAlign - 1 - (kPrefix + text.size()) % kAlign, ' ');
  text += '\n';
  std::string header(kMagic);
  header += {'\x01', '\x00', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return header + text;
}

}  // namespace softamp::npy
