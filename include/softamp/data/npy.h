// Arrays in files: NumPy's .npy format, versions 1.0, 2.0 and 3.0, read and written in pieces.
//
// Source of the format: NumPy's documentation, numpy.lib.format. Element types f2 f4 f8 u1 u2 u4 i4 b1, little-endian,
// C order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace softamp::files {
class OutputFile;
class RegularFile;
}  // namespace softamp::files

namespace softamp::npy {

/// What every function here throws: the file's name, the byte offset, what was found and what was expected.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Types of elements that are understood, the unsigned ones last; all little-endian.
enum class ElementType : uint8_t { kFloat16, kFloat32, kFloat64, kInt32, kInt64, kBool, kUint8, kUint16, kUint32 };

/// Bytes of one element.
size_t size_of(ElementType type);
/// The type as NumPy spells it in a header: "<f4", "|u1".
const char* descr(ElementType type);

/// Longest header, in bytes, and highest rank that are read (NumPy itself: 10000 and 64).
inline constexpr size_t kMaxHeader = 65535;
inline constexpr size_t kMaxRank = 64;

/// What a file holds before the data.
struct Header {
  ElementType type = ElementType::kFloat32;
  std::vector<uint64_t> shape;  ///< empty: one element; an extent of 0: none
  uint64_t elements = 1;        ///< the product of the shape
  uint64_t data_offset = 0;     ///< where in the file the data begin
};

/// Reads the header of a file of `file_size` bytes that begins with `start` (at least its first kMaxHeader + 12 bytes,
/// or all of them), and checks that the data fill the rest of the file exactly.
/// Throws Error, with `name` as the file's name.
Header parse_header(std::span<const std::byte> start, uint64_t file_size, std::string_view name);

/// The bytes before the data: version 1.0, padded to a multiple of 64. Throws Error where the rank is above kMaxRank or
/// the data's size does not fit in 64 bits.
std::string make_header(ElementType type, std::span<const uint64_t> shape);

/// Elements of an array of this shape. Throws Error where the product, or `element_size` times it, exceeds 2^63 - 1.
uint64_t element_count(std::span<const uint64_t> shape, size_t element_size, std::string_view name);

/// "(3, 4)", "(3,)" or "()", as Python writes a tuple.
std::string shape_text(std::span<const uint64_t> shape);

/// Reads a file front to back, in pieces of any size.
class Reader {
 public:
  explicit Reader(const std::string& path);
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  const Header& header() const { return header_; }
  /// Copies the next elements, at most `capacity`, to `out`; returns how many (0 at the end).
  /// Throws Error if the file ends early or cannot be read.
  size_t read(void* out, size_t capacity);

 private:
  std::string path_;
  std::unique_ptr<files::RegularFile> file_;
  Header header_;
  uint64_t next_ = 0;
};

/// Writes a file of known type and shape in pieces, whole or not at all: the pieces go to .NAME.part in the same
/// folder, which `commit` synchronises and renames to `path`. Without a commit the destructor removes it, and `path` is
/// as it was. (A process that is killed outright leaves it, for the next writer of `path` to write anew.) A pipe or a
/// device is written to as it is. Nobody else writes the file meanwhile.
class Writer {
 public:
  /// Throws Error where `path` cannot be written, or another writer is at work.
  Writer(const std::string& path, ElementType type, std::span<const uint64_t> shape);
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  /// Appends `count` elements. Throws Error on a full disk, or where the shape has no room for them.
  void write(const void* elements, size_t count);
  /// Puts the file in place. Throws Error if elements are missing, or the disk is full.
  void commit();

 private:
  std::string path_;
  ElementType type_;
  uint64_t missing_ = 0;
  std::unique_ptr<files::OutputFile> out_;
};

}  // namespace softamp::npy
