// Tensors in files: the safetensors format, read in pieces by name, and written as its reference writer writes it.
//
// The format is N504 and N505 of docs/NUMERICS_BLOCKS.md: the header's length in 8 bytes, a header of JSON, the data of
// the tensors without a gap, little-endian, in C order. What lies in the data is not looked at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace softamp::files {
class OutputFile;
class RegularFile;
}  // namespace softamp::files

namespace softamp::safetensors {

/// What every function here throws: the file's name, the byte offset, what was found and what was expected.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Types of elements, all that the format has, in its order: a writer puts the last ones first.
enum class ElementType : uint8_t {
  kBool,  ///< a byte
  kF4,    ///< e2m1, two a byte, the even index low
  kF6E2M3,
  kF6E3M2,  ///< how 6 bits lie in bytes is said nowhere
  kU8,
  kI8,
  kF8E5M2,
  kF8E4M3,
  kF8E8M0,
  kF8E4M3Fnuz,
  kF8E5M2Fnuz,
  kI16,
  kU16,
  kF16,
  kBf16,
  kI32,
  kU32,
  kF32,
  kC64,  ///< two F32
  kF64,
  kI64,
  kU64,
};
inline constexpr int kElementTypes = 22;

/// Bits of one element: 4 to 64.
int bits_of(ElementType type);
/// The type as a header spells it: "F8_E4M3".
const char* name_of(ElementType type);
/// The type of that name; empty for another word.
std::optional<ElementType> parse_type(std::string_view name);

/// Longest header that is read and written, in bytes.
inline constexpr uint64_t kMaxHeader = 100'000'000;
/// The name that no tensor has.
inline constexpr std::string_view kMetadataName = "__metadata__";

/// One tensor: what a header says of it.
// implements: N504
struct Entry {
  std::string name{};
  ElementType type = ElementType::kF32;
  std::vector<uint64_t> shape{};  ///< empty: one element; an extent of 0: none
  uint64_t begin = 0, end = 0;    ///< its bytes, counted from the first of all data
  uint64_t elements = 1;          ///< the product of the shape

  uint64_t bytes() const { return end - begin; }
};

/// Words about a file, by name.
using Metadata = std::map<std::string, std::string>;

/// What a file holds before the data.
// implements: N504
struct Header {
  std::vector<Entry> tensors;  ///< in the order of their data
  Metadata metadata;
  uint64_t data_offset = 0;  ///< where in the file the data begin
};

/// Reads the header of a file of `file_size` bytes that begins with `start` (at least its header, or all of it), and
/// checks that the tensors fill the rest of the file, each byte once. Throws Error, with `name` as the file's name.
Header parse_header(std::span<const std::byte> start, uint64_t file_size, std::string_view name);

/// Puts tensors into the order of the reference writer, and gives each its bytes: of an entry name, type and shape are
/// read, all else is set. Throws Error for a name that is no UTF-8, that stands twice or is kMetadataName, for a tensor
/// that does not fill whole bytes, and where there is no file that could hold them all.
Header arrange(std::vector<Entry> tensors, Metadata metadata, std::string_view name);

/// The bytes before the data, as the reference writer gives them: header.data_offset of them. Metadata come by name
/// (the reference writer has them in no order); empty ones are left out.
std::string header_bytes(const Header& header);

/// Reads the tensors of a file, in pieces of any size and order.
class Reader {
 public:
  /// Reads the header. Throws Error.
  explicit Reader(const std::string& path);
  ~Reader();
  Reader(Reader&&) noexcept;
  Reader& operator=(Reader&&) noexcept;

  const Header& header() const { return header_; }
  bool has(std::string_view tensor) const;
  /// Throws Error for an unknown name, with the names that there are.
  const Entry& entry(std::string_view tensor) const;
  /// Copies the bytes of a tensor from byte `first` of it on. Throws Error where it has less, or the file cannot be
  /// read.
  void read(std::string_view tensor, uint64_t first, std::span<std::byte> out) const;

 private:
  std::string path_;
  std::unique_ptr<files::RegularFile> file_;
  Header header_;
  std::map<std::string, size_t, std::less<>> index_;
};

/// Writes a file of known tensors in pieces, whole or not at all, as npy::Writer does. Pieces of different tensors may
/// come by turns, if the file is a regular one; else in the order of header().
class Writer {
 public:
  /// Of an entry name, type and shape are read. Throws Error as `arrange`, where `path` cannot be written, or another
  /// writer is at work.
  Writer(const std::string& path, std::vector<Entry> tensors, Metadata metadata = {});
  ~Writer();
  Writer(Writer&&) noexcept;
  Writer& operator=(Writer&&) noexcept;

  const Header& header() const { return header_; }
  /// Appends bytes to a tensor. Throws Error on a full disk, for an unknown name, or where there is no room for them.
  void write(std::string_view tensor, std::span<const std::byte> bytes);
  /// Puts the file in place. Throws Error if bytes are missing, or the disk is full.
  void commit();

 private:
  std::string path_;
  Header header_;
  std::unique_ptr<files::OutputFile> out_;
  struct Part {
    uint64_t next, end;  ///< in the file
  };
  std::map<std::string, Part, std::less<>> parts_;
  uint64_t written_;  ///< of the file, without a gap
};

}  // namespace softamp::safetensors
