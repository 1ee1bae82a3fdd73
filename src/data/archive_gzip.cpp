// Unpacking of gzip: the part of archive.h's Source that libarchive carries out.
#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <new>

#include "softamp/data/images.h"
#include "src/data/archive.h"
#include "src/text/hexadecimal.h"

namespace softamp::archive {

using LibArchive = struct ::archive;
struct FreeArchive {
  void operator()(LibArchive* a) const { ::archive_read_free(a); }
};
using Reader = std::unique_ptr<LibArchive, FreeArchive>;

namespace {

constexpr size_t kGzipHeader = 10, kGzipTrailer = 8;

[[noreturn]] void fail_damaged(const std::string& name, uint64_t offset, LibArchive* reader) {
  const char* text = ::archive_error_string(reader);
  fail(name, offset,
       std::string("the gzip data are damaged or cut off here") + (text ? ": " : "") + (text ? text : ""));
}

}  // namespace

/// libarchive's reader of the one member, and what its end must agree with.
struct Source::Gzip {
  Reader reader;
  uint32_t crc = 0;
  bool ended = false;
};

void Source::open_gzip() {
  const auto octet = [&](size_t i) { return std::to_integer<unsigned>(packed_[i]); };
  if (packed_.size() < 2 || octet(0) != 0x1f || octet(1) != 0x8b) {
    std::string found;
    for (size_t i = 0; i < std::min<size_t>(packed_.size(), 2); ++i) found += " " + hexadecimal(octet(i), 2);
    fail(name_, 0, "not a gzip file: expected it to begin with 1f 8b, found" + (found.empty() ? " nothing" : found));
  }
  if (packed_.size() < kGzipHeader + kGzipTrailer)
    fail(name_, packed_.size(), "the gzip file is cut off: expected at least 18 bytes");
  if (octet(2) != 8) fail(name_, 2, "gzip's method of compression is " + std::to_string(octet(2)) + "; expected 8");

  gzip_ = std::make_unique<Gzip>();
  gzip_->reader.reset(::archive_read_new());
  LibArchive* reader = gzip_->reader.get();
  if (!reader) throw std::bad_alloc();
  struct archive_entry* entry = nullptr;
  ::archive_read_support_filter_gzip(reader);
  ::archive_read_support_format_raw(reader);
  ::archive_read_support_format_empty(reader);
  int result = ::archive_read_open_memory(reader, packed_.data(), packed_.size());
  if (result == ARCHIVE_OK) result = ::archive_read_next_header(reader, &entry);
  // If not a single byte can be unpacked, libarchive calls the file empty; it is empty only if its trailer says so.
  const std::span<const std::byte> trailer = packed_.last(kGzipTrailer);
  if (result == ARCHIVE_EOF && little_endian32(trailer) == 0 && little_endian32(trailer.subspan(4)) == 0)
    gzip_->ended = true;
  else if (result != ARCHIVE_OK)
    fail_damaged(name_, 0, reader);
  else if (::archive_filter_code(reader, 0) != ARCHIVE_FILTER_GZIP)
    fail(name_, 0, "gzip's header is damaged");
}

std::span<const std::byte> Source::next_unpacked() {
  const void* data = nullptr;
  size_t size = 0;
  la_int64_t place = 0;
  while (!gzip_->ended && size == 0) {
    const int result = ::archive_read_data_block(gzip_->reader.get(), &data, &size, &place);
    gzip_->ended = result == ARCHIVE_EOF;
    if (!gzip_->ended && result != ARCHIVE_OK) fail_damaged(name_, offset_, gzip_->reader.get());
    if (gzip_->ended) size = 0;
  }
  const std::span<const std::byte> piece(static_cast<const std::byte*>(data), size);
  gzip_->crc = crc32(piece, gzip_->crc);
  if (gzip_->ended) {
    const std::span<const std::byte> trailer = packed_.last(kGzipTrailer);
    const uint32_t crc = little_endian32(trailer), length = little_endian32(trailer.subspan(4));
    if (crc != gzip_->crc || length != static_cast<uint32_t>(offset_))
      throw DataError(name_ + ": the gzip data do not agree with the file's last 8 bytes, which promise checksum " +
                      hexadecimal(crc, 8) + " and length " + std::to_string(length) + "; found " +
                      hexadecimal(gzip_->crc, 8) + " and " + std::to_string(offset_) +
                      ": the data are damaged, or other bytes follow the one member that is expected");
  }
  return piece;
}

}  // namespace softamp::archive
