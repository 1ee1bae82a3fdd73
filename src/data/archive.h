// Files that hold other bytes: gzip, tar (gzipped or not) and zip. Names the place of every fault.
//
// gzip and tar are unpacked by libarchive. It does not compare gzip's checksum, so that is done here; one member is
// expected, as in every file that is distributed gzipped. zip is read and written by ourselves: what NumPy's .npz
// needs, the same bytes from every version of every library; what is deflated in it is unpacked as gzip. Source of the
// formats: RFC 1952; PKWARE's APPNOTE.TXT 6.3.
//
// Everything here throws DataError (a std::runtime_error).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/files/output_file.h"

namespace softamp::archive {

struct Entry {
  std::string name;
  std::vector<std::byte> bytes;
};

/// The unpacked bytes of a plain or gzipped file, front to back. The first two bytes tell which it is; a file whose
/// name ends in ".gz" must be gzipped.
class Source {
 public:
  /// Reads the file, still packed, into memory: at most most_packed bytes [=2^31].
  explicit Source(const std::filesystem::path& file, uint64_t most_packed = uint64_t{1} << 31);
  /// `packed` outlives the source; `name` stands for the file in errors.
  Source(std::span<const std::byte> packed, std::string name);
  ~Source();
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  const std::string& name() const { return name_; }
  bool gzipped() const { return gzip_ != nullptr; }
  uint64_t packed_bytes() const { return packed_size_; }
  /// Unpacked bytes returned so far.
  uint64_t offset() const { return offset_; }

  /// The next bytes, at least one; empty at the end. Valid until the next call. The end of a gzipped file is reached
  /// only if checksum and length agree with its last eight bytes.
  std::span<const std::byte> next();
  /// The next `count` bytes, or all that are left. Memory grows with the bytes that arrive, not with `count`.
  std::vector<std::byte> read(uint64_t count);

 private:
  struct Gzip;
  void open();
  void open_gzip();  ///< throws DataError where the file should be gzipped, and is not
  std::span<const std::byte> next_piece();
  std::span<const std::byte> next_unpacked();  ///< of a gzipped file

  std::string name_;
  std::vector<std::byte> own_;
  std::span<const std::byte> packed_;
  uint64_t packed_size_ = 0;          ///< of all of it
  std::shared_ptr<Gzip> gzip_;        ///< shared: what it is, archive_gzip.cpp alone knows
  std::span<const std::byte> piece_;  ///< unpacked and not yet returned
  uint64_t offset_ = 0;
};

/// The file without unpacking. Refused above most_bytes.
std::vector<std::byte> read_as_it_stands(const std::filesystem::path& file, uint64_t most_bytes);
/// The file, unpacked if it is gzipped. Refused above most_bytes, and above `most_inflation` bytes for each packed one:
/// what people write shrinks to a tenth or so, a text of one letter to a thousandth [=any, as deflate goes to 1032].
std::vector<std::byte> read_file(const std::filesystem::path& file, uint64_t most_bytes,
                                 uint64_t most_inflation = 1032);

/// The regular files of a tar archive for whose names `most_bytes` is not 0, in the archive's order; one that is longer
/// than its `most_bytes` is refused.
std::vector<Entry> read_tar(Source& source, const std::function<uint64_t(std::string_view name)>& most_bytes);

/// Writes a zip archive of stored entries, dated 1980-01-01, which the caller commits: the same entries give the same
/// bytes. Names are UTF-8, not empty, each once; entries and archive stay below 2^32 - 1 bytes, entries below 65535.
/// Throws also files::OutputError.
void write_zip(files::OutputFile& out, std::span<const Entry> entries);
/// An entry of a zip archive as it stands there.
struct PackedEntry {
  std::string name;
  uint32_t method, crc, unpacked;     ///< method 0: stored, 8: deflated; unpacked: bytes
  uint64_t header, data;              ///< where its header of the directory begins, and where its bytes do
  std::span<const std::byte> packed;  ///< of the archive
};
/// The entries of a zip archive, in the order of its directory; no checksum has been compared. Encrypted ones, those
/// packed by another method than deflate, and those that promise more than deflate can hold are refused.
std::vector<PackedEntry> list_zip(std::span<const std::byte> bytes, const std::string& name);
/// The first `most_bytes` unpacked bytes of an entry. All of a stored one, and the end of a deflated one where it is
/// reached, are compared with the directory's checksum and length. `name`: of the archive. A minimal build refuses
/// deflated ones.
std::vector<std::byte> unpack(const PackedEntry& entry, const std::string& name, uint64_t most_bytes);

/// The entries of a zip archive, in the order of its directory; compressed ones, and those whose checksum does not
/// agree, are refused, as is an archive above most_bytes.
std::vector<Entry> read_zip(const std::filesystem::path& file, uint64_t most_bytes);
/// The same of bytes in memory.
std::vector<Entry> parse_zip(std::span<const std::byte> bytes, const std::string& name);

/// Four bytes, the lowest first.
inline uint32_t little_endian32(std::span<const std::byte> bytes) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value |= static_cast<uint32_t>(bytes[i]) << (8 * i);
  return value;
}

/// CRC-32 of gzip and zip (polynomial 0xEDB88320, reflected); `so_far` is that of the bytes before.
uint32_t crc32(std::span<const std::byte> bytes, uint32_t so_far = 0);

/// Throws DataError: "name: byte N: message".
[[noreturn]] void fail(std::string_view name, uint64_t offset, const std::string& message);
/// Throws DataError: "name: cannot <action>: <what errno says>".
[[noreturn]] void fail_errno(std::string_view name, std::string_view action);

}  // namespace softamp::archive
