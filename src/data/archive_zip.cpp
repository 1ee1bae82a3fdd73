// zip archives. Layout: for each entry a local header and its bytes; then the directory, one header
// an entry; then the end record, 22 bytes. Every number is little-endian.
#include <algorithm>
#include <set>
#include <utility>

#include "softamp/data/images.h"
#include "src/data/archive.h"
#include "src/data/npy_header.h"

namespace softamp::archive {
namespace {

constexpr uint32_t kLocalMagic = 0x04034b50, kDirectoryMagic = 0x02014b50, kEndMagic = 0x06054b50;
constexpr size_t kLocalSize = 30, kDirectorySize = 46, kEndSize = 22;
constexpr uint32_t kVersion = 20;  // 2.0: names may hold folders
constexpr uint32_t kUtf8Names = 1u << 11, kEncrypted = 1u;
constexpr uint32_t kNewYear1980 = 1u << 5 | 1;  // the format's first date: month 1, day 1, year 0
constexpr uint64_t kMost = 0xFFFFFFFE;          // larger numbers would need zip64's fields
constexpr uint32_t kStored = 0, kDeflated = 8;
constexpr uint64_t kMostInflation = 1032;  // of deflate

/// Appends little-endian numbers.
struct Bytes {
  std::vector<std::byte> bytes;
  void number(uint64_t value, int size) {
    for (int i = 0; i < size; ++i) bytes.push_back(static_cast<std::byte>(value >> (8 * i) & 255));
  }
  void text(const std::string& s) {
    for (const char c : s) bytes.push_back(static_cast<std::byte>(c));
  }
};

void write(files::OutputFile& out, std::span<const std::byte> bytes) {
  out.write({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

/// The fields that local and directory headers share, from "version needed" on.
void shared_fields(Bytes& to, const Entry& entry, uint32_t crc) {
  const bool ascii = std::all_of(entry.name.begin(), entry.name.end(), [](unsigned char c) { return c < 128; });
  to.number(kVersion, 2);
  to.number(ascii ? 0 : kUtf8Names, 2);
  to.number(0, 2);  // stored
  to.number(0, 2);  // midnight
  to.number(kNewYear1980, 2);
  to.number(crc, 4);
  to.number(entry.bytes.size(), 4);
  to.number(entry.bytes.size(), 4);
  to.number(entry.name.size(), 2);
  to.number(0, 2);  // no extra field
}

void check_entries(std::span<const Entry> entries, const std::string& name) {
  if (entries.size() >= 0xFFFF)
    throw DataError(name + ": " + std::to_string(entries.size()) + " entries; a zip archive holds at most 65534");
  std::set<std::string_view> names;
  uint64_t total = kEndSize;
  for (const Entry& entry : entries) {
    if (entry.name.empty() || entry.name.size() > 0xFFFF)
      throw DataError(name + ": an entry's name of " + std::to_string(entry.name.size()) +
                      " bytes; expected 1 to 65535");
    if (!names.insert(entry.name).second) throw DataError(name + ": two entries are called " + npy::quoted(entry.name));
    total += kLocalSize + kDirectorySize + 2 * entry.name.size() + entry.bytes.size();
    if (total > kMost)
      throw DataError(name + ": with entry " + npy::quoted(entry.name) + " the archive has " + std::to_string(total) +
                      " bytes; expected at most " + std::to_string(kMost));
  }
}

/// Numbers out of the archive's bytes; a place outside them is an error.
struct View {
  std::span<const std::byte> bytes;
  const std::string& name;

  std::span<const std::byte> part(uint64_t at, uint64_t size, const std::string& what) const {
    if (at > bytes.size() || size > bytes.size() - at)
      fail(name, at,
           what + " of " + std::to_string(size) + " bytes does not fit into an archive of " +
               std::to_string(bytes.size()) + " bytes");
    return bytes.subspan(static_cast<size_t>(at), static_cast<size_t>(size));
  }
  /// Within a part that is known to exist.
  uint32_t number(uint64_t at, size_t size) const {
    uint32_t value = 0;
    for (size_t i = 0; i < size; ++i) value |= static_cast<uint32_t>(bytes[static_cast<size_t>(at) + i]) << (8 * i);
    return value;
  }
  void magic(uint64_t at, uint32_t expected, const std::string& what) const {
    if (number(at, 4) != expected)
      fail(name, at,
           "expected " + what + " (" + std::to_string(expected) + "), found " + std::to_string(number(at, 4)));
  }
  std::string text(uint64_t at, size_t size, const std::string& what) const {
    const std::span<const std::byte> p = part(at, size, what);
    return std::string(reinterpret_cast<const char*>(p.data()), p.size());
  }
};

}  // namespace

void write_zip(files::OutputFile& out, std::span<const Entry> entries) {
  check_entries(entries, out.file().string());
  Bytes directory;
  uint64_t offset = 0;
  for (const Entry& entry : entries) {
    const uint32_t crc = crc32(entry.bytes);
    Bytes local;
    local.number(kLocalMagic, 4);
    shared_fields(local, entry, crc);
    local.text(entry.name);
    write(out, local.bytes);
    write(out, entry.bytes);

    directory.number(kDirectoryMagic, 4);
    directory.number(kVersion, 2);  // made by
    shared_fields(directory, entry, crc);
    directory.number(0, 2);  // no comment
    directory.number(0, 2);  // the first disk
    directory.number(0, 2);  // binary
    directory.number(0, 4);  // no attributes
    directory.number(offset, 4);
    directory.text(entry.name);
    offset += local.bytes.size() + entry.bytes.size();
  }
  Bytes end;
  end.number(kEndMagic, 4);
  end.number(0, 2);
  end.number(0, 2);
  end.number(entries.size(), 2);
  end.number(entries.size(), 2);
  end.number(directory.bytes.size(), 4);
  end.number(offset, 4);
  end.number(0, 2);  // no comment
  write(out, directory.bytes);
  write(out, end.bytes);
}

std::vector<PackedEntry> list_zip(std::span<const std::byte> bytes, const std::string& name) {
  const View view{bytes, name};
  if (bytes.size() < kEndSize) fail(name, bytes.size(), "not a zip archive, or cut off: it has fewer than 22 bytes");
  const uint64_t end = bytes.size() - kEndSize;
  if (view.number(end, 4) != kEndMagic)
    fail(name, end, "not a zip archive, or cut off, or other bytes follow it: expected the end record PK\\x05\\x06");
  const uint32_t count = view.number(end + 10, 2), size = view.number(end + 12, 4), begin = view.number(end + 16, 4);
  if (view.number(end + 4, 4) != 0 || view.number(end + 8, 2) != count || view.number(end + 20, 2) != 0)
    fail(name, end + 4, "an archive in several parts or with a comment; expected neither");
  if (uint64_t{begin} + size != end)
    fail(name, end + 12,
         "the directory of " + std::to_string(size) + " bytes from byte " + std::to_string(begin) +
             " does not end at the end record, byte " + std::to_string(end));

  std::vector<PackedEntry> entries;
  std::set<std::string> names;
  uint64_t at = begin, free = 0;  // free: where the next entry may begin
  for (uint32_t i = 0; i < count; ++i) {
    const std::string what = "header " + std::to_string(i) + " of the directory";
    if (end - at < kDirectorySize)
      fail(name, at, what + " does not fit before the end record, byte " + std::to_string(end));
    view.magic(at, kDirectoryMagic, what);
    const uint32_t flags = view.number(at + 8, 2), method = view.number(at + 10, 2), crc = view.number(at + 16, 4);
    const uint32_t packed = view.number(at + 20, 4), unpacked = view.number(at + 24, 4),
                   local = view.number(at + 42, 4);
    const uint32_t name_size = view.number(at + 28, 2);
    PackedEntry entry{view.text(at + kDirectorySize, name_size, "an entry's name"), method, crc, unpacked, at, 0, {}};
    const std::string place = "entry " + npy::quoted(entry.name);
    if (flags & kEncrypted) fail(name, at + 8, place + " is encrypted");
    if (method != kStored && method != kDeflated)
      fail(name, at + 10,
           place + " is compressed (method " + std::to_string(method) + "); expected it stored (0) or deflated (8)");
    if (method == kDeflated && (packed > kMost || unpacked > kMostInflation * packed))
      fail(name, at + 20,
           place + " promises " + std::to_string(unpacked) + " bytes from " + std::to_string(packed) +
               " deflated ones; expected at most " + std::to_string(kMostInflation) + " from one");
    if (method == kStored && (packed != unpacked || packed > kMost))
      fail(name, at + 20,
           place + " has " + std::to_string(packed) + " bytes stored and " + std::to_string(unpacked) +
               " unpacked; expected them to be the same, and at most " + std::to_string(kMost));
    if (!names.insert(entry.name).second) fail(name, at, place + " stands in the archive twice");
    at += kDirectorySize + name_size + view.number(at + 30, 2) + view.number(at + 32, 2);
    if (at > end) fail(name, end, what + " runs beyond the directory");

    if (local < free)
      fail(name, local, place + " begins before the one in front of it ends, byte " + std::to_string(free));
    view.part(local, kLocalSize, "the local header of " + place);
    view.magic(local, kLocalMagic, "the local header of " + place);
    const uint32_t local_name_size = view.number(local + 26, 2);
    if (view.text(local + kLocalSize, local_name_size, "a local name") != entry.name)
      fail(name, local + kLocalSize, "another name than the directory's, which is " + npy::quoted(entry.name));
    const uint64_t data = uint64_t{local} + kLocalSize + local_name_size + view.number(local + 28, 2);
    entry.data = data;
    entry.packed = view.part(data, packed, place);
    free = data + packed;
    if (free > begin)
      fail(name, data, place + " runs into the directory, which begins at byte " + std::to_string(begin));
    entries.push_back(std::move(entry));
  }
  if (at != end) fail(name, at, "expected the directory's end after " + std::to_string(count) + " headers");
  return entries;
}

std::vector<std::byte> unpack(const PackedEntry& entry, const std::string& name, uint64_t most_bytes) {
  const std::string place = "entry " + npy::quoted(entry.name);
  const uint64_t wanted = std::min<uint64_t>(most_bytes, entry.unpacked);
  if (entry.method == kStored) {
    if (const uint32_t found = crc32(entry.packed); found != entry.crc)
      fail(name, entry.data,
           place + ": its checksum is " + std::to_string(found) + ", the directory promises " +
               std::to_string(entry.crc) + ": the data are damaged");
    const std::span<const std::byte> part = entry.packed.first(static_cast<size_t>(wanted));
    return {part.begin(), part.end()};
  }
  // What gzip packs is the same, between ten bytes and a trailer that says what the directory says.
  Bytes gzip;
  for (const int octet : {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff}) gzip.number(static_cast<uint64_t>(octet), 1);
  gzip.bytes.insert(gzip.bytes.end(), entry.packed.begin(), entry.packed.end());
  gzip.number(entry.crc, 4);
  gzip.number(entry.unpacked, 4);
  Source source(gzip.bytes, name + ": " + place);
  std::vector<std::byte> bytes = source.read(wanted);
  // The end, where checksum and length are compared, comes after the last byte.
  if (bytes.size() < wanted || (wanted == entry.unpacked && !source.next().empty()))
    fail(name, entry.data,
         place + " unpacks to " + (bytes.size() < wanted ? std::to_string(bytes.size()) : "more") +
             " bytes; the directory promises " + std::to_string(entry.unpacked));
  return bytes;
}

std::vector<Entry> parse_zip(std::span<const std::byte> bytes, const std::string& name) {
  std::vector<Entry> entries;
  for (PackedEntry& entry : list_zip(bytes, name)) {
    if (entry.method != kStored)
      fail(name, entry.header + 10,
           "entry " + npy::quoted(entry.name) + " is compressed (method " + std::to_string(entry.method) +
               "); expected it stored (0)");
    std::vector<std::byte> unpacked = unpack(entry, name, entry.unpacked);
    entries.push_back({std::move(entry.name), std::move(unpacked)});
  }
  return entries;
}

std::vector<Entry> read_zip(const std::filesystem::path& file, uint64_t most_bytes) {
  return parse_zip(read_as_it_stands(file, most_bytes), file.string());
}

}  // namespace softamp::archive
