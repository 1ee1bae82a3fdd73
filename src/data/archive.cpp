// Files and their bytes: what archive.h says of Source, read_file and checksums. Gzip is archive_gzip.cpp's.
#include "src/data/archive.h"
#include "src/files/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "softamp/data/images.h"

namespace softamp::archive {

namespace {

constexpr size_t kPiece = size_t{1} << 18;

constexpr std::array<std::array<uint32_t, 256>, 8> crc_tables() {
  std::array<std::array<uint32_t, 256>, 8> tables{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = c & 1 ? 0xEDB88320u ^ c >> 1 : c >> 1;
    tables[0][i] = c;
  }
  for (size_t t = 1; t < 8; ++t)
    for (size_t i = 0; i < 256; ++i) tables[t][i] = tables[t - 1][i] >> 8 ^ tables[0][tables[t - 1][i] & 255];
  return tables;
}

}  // namespace

void fail(std::string_view name, uint64_t offset, const std::string& message) {
  throw DataError(std::string(name) + ": byte " + std::to_string(offset) + ": " + message);
}

void fail_errno(std::string_view name, std::string_view action) {
  throw DataError(std::string(name) + ": cannot " + std::string(action) + ": " + std::strerror(errno));
}

uint32_t crc32(std::span<const std::byte> bytes, uint32_t so_far) {
  // Eight bytes at a time: table t holds the remainders of a byte that t others follow.
  static constexpr std::array<std::array<uint32_t, 256>, 8> kTables = crc_tables();
  uint32_t crc = ~so_far;
  for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
    crc ^= little_endian32(bytes);
    uint32_t next = 0;
    for (size_t i = 0; i < 4; ++i)
      next ^= kTables[7 - i][crc >> (8 * i) & 255] ^ kTables[3 - i][static_cast<size_t>(bytes[4 + i])];
    crc = next;
  }
  for (const std::byte b : bytes) crc = kTables[0][(crc ^ static_cast<uint32_t>(b)) & 255] ^ crc >> 8;
  return ~crc;
}

std::vector<std::byte> read_as_it_stands(const std::filesystem::path& file, uint64_t most_bytes) {
  const std::string name = file.string();
  struct Descriptor {
    int value;
    ~Descriptor() {
      if (value >= 0) ::close(value);
    }
  } descriptor{::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};  // a pipe is refused, not waited for
  if (descriptor.value < 0) fail_errno(name, "open");
  struct stat status {};
  if (::fstat(descriptor.value, &status) != 0) fail_errno(name, "examine");
  if (!S_ISREG(status.st_mode))
    throw DataError(name + ": is " + files::kind_of_file(file, status.st_mode) + "; expected a regular file");
  const uint64_t size = static_cast<uint64_t>(status.st_size);
  if (size > most_bytes)
    throw DataError(name + ": has " + std::to_string(size) + " bytes; expected at most " + std::to_string(most_bytes));
  std::vector<std::byte> bytes(size);
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t n = ::read(descriptor.value, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_errno(name, "read");
    if (n == 0) fail(name, done, "the file was shortened while it was read; it had " + std::to_string(size) + " bytes");
    done += static_cast<size_t>(n);
  }
  return bytes;
}

Source::Source(const std::filesystem::path& file, uint64_t most_packed)
    : name_(file.string()), own_(read_as_it_stands(file, most_packed)), packed_(own_) {
  open();
}

Source::Source(std::span<const std::byte> packed, std::string name) : name_(std::move(name)), packed_(packed) {
  open();
}

Source::~Source() = default;

void Source::open() {
  packed_size_ = packed_.size();
  const auto is = [&](size_t i, unsigned octet) { return std::to_integer<unsigned>(packed_[i]) == octet; };
  if (name_.ends_with(".gz") || (packed_.size() >= 2 && is(0, 0x1f) && is(1, 0x8b))) open_gzip();
}

std::span<const std::byte> Source::next_piece() {
  if (gzip_) return next_unpacked();
  const std::span<const std::byte> piece = packed_.first(std::min(kPiece, packed_.size()));
  packed_ = packed_.subspan(piece.size());
  return piece;
}

std::span<const std::byte> Source::next() {
  if (piece_.empty()) piece_ = next_piece();
  offset_ += piece_.size();
  return std::exchange(piece_, {});
}

std::vector<std::byte> Source::read(uint64_t count) {
  std::vector<std::byte> bytes;
  // Deflate shrinks nothing to less than 1/1032.
  bytes.reserve(static_cast<size_t>(std::min(count, gzip_ ? packed_.size() * uint64_t{1032} : packed_.size())));
  while (bytes.size() < count) {
    if (piece_.empty()) piece_ = next_piece();
    if (piece_.empty()) break;
    const std::span<const std::byte> part =
        piece_.first(static_cast<size_t>(std::min<uint64_t>(piece_.size(), count - bytes.size())));
    bytes.insert(bytes.end(), part.begin(), part.end());
    piece_ = piece_.subspan(part.size());
    offset_ += part.size();
  }
  return bytes;
}

std::vector<std::byte> read_file(const std::filesystem::path& file, uint64_t most_bytes, uint64_t most_inflation) {
  // The size is compared before a byte is read. What does not shrink grows a little when it is packed.
  const bool packs = file.string().ends_with(".gz");
  Source source(file, most_bytes + (packs ? most_bytes / 1024 + 1024 : 0));
  const uint64_t packed = source.packed_bytes();
  const bool by_inflation = source.gzipped() && packed < most_bytes / most_inflation;
  const uint64_t most = by_inflation ? packed * most_inflation : most_bytes;
  std::vector<std::byte> bytes = source.read(most);
  if (!source.next().empty())
    throw DataError(
        source.name() + ": unpacks to more than the " + std::to_string(most) + " bytes that are expected at most" +
        (by_inflation ? ", " + std::to_string(most_inflation) + " for each of its " + std::to_string(packed) : ""));
  return bytes;
}

}  // namespace softamp::archive
