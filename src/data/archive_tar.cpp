// tar archives, by libarchive's reader on top of a Source.
#include <archive.h>
#include <archive_entry.h>

#include <algorithm>

#include "softamp/data/images.h"
#include "src/data/archive.h"
#include "src/data/npy_header.h"

namespace softamp::archive {
namespace {

struct Input {
  Source& source;
  std::exception_ptr fault;  ///< what the source threw: no exception may pass through libarchive's frames
};

la_ssize_t next_block(struct ::archive* reader, void* context, const void** block) {
  Input& input = *static_cast<Input*>(context);
  try {
    const std::span<const std::byte> piece = input.source.next();
    *block = piece.data();
    return static_cast<la_ssize_t>(piece.size());
  } catch (...) {
    input.fault = std::current_exception();
    ::archive_set_error(reader, -1, "the file cannot be read");
    return -1;
  }
}

[[noreturn]] void fail_reading(struct ::archive* reader, const Input& input, const std::string& place) {
  if (input.fault) std::rethrow_exception(input.fault);
  const char* text = ::archive_error_string(reader);
  fail(place, input.source.offset(),
       std::string("the tar archive is damaged or cut off before here: ") + (text ? text : ""));
}

}  // namespace

std::vector<Entry> read_tar(Source& source, const std::function<uint64_t(std::string_view name)>& most_bytes) {
  struct Free {
    void operator()(struct ::archive* a) const { ::archive_read_free(a); }
  };
  Input input{source, nullptr};
  const std::unique_ptr<struct ::archive, Free> owner(::archive_read_new());
  struct ::archive* reader = owner.get();
  if (!reader) throw std::bad_alloc();
  ::archive_read_support_format_tar(reader);
  if (::archive_read_open(reader, &input, nullptr, next_block, nullptr) != ARCHIVE_OK)
    fail_reading(reader, input, source.name());

  std::vector<Entry> entries;
  struct archive_entry* header = nullptr;
  for (int result; (result = ::archive_read_next_header(reader, &header)) != ARCHIVE_EOF;) {
    if (result != ARCHIVE_OK) fail_reading(reader, input, source.name());
    const char* path = ::archive_entry_pathname(header);
    if (!path || ::archive_entry_filetype(header) != AE_IFREG) continue;
    const uint64_t most = most_bytes(path);
    if (most == 0) continue;
    Entry entry{path, {}};
    const std::string place = source.name() + ": " + npy::quoted(entry.name);
    const uint64_t size = static_cast<uint64_t>(std::max<la_int64_t>(0, ::archive_entry_size(header)));
    if (size > most)
      throw DataError(place + ": has " + std::to_string(size) + " bytes; expected at most " + std::to_string(most));
    // Memory grows with the bytes that arrive: the header of a truncated archive may claim any size.
    constexpr size_t kPiece = size_t{1} << 20;
    while (entry.bytes.size() < size) {
      const size_t done = entry.bytes.size();
      entry.bytes.resize(std::min<size_t>(static_cast<size_t>(size), done + std::max(kPiece, done)));
      const la_ssize_t n = ::archive_read_data(reader, entry.bytes.data() + done, entry.bytes.size() - done);
      if (n < 0) fail_reading(reader, input, place);
      entry.bytes.resize(done + static_cast<size_t>(n));
      if (n == 0) fail(place, done, "the entry is cut off; expected " + std::to_string(size) + " bytes");
    }
    entries.push_back(std::move(entry));
  }
  if (input.fault) std::rethrow_exception(input.fault);
  while (!source.next().empty()) {  // to the end: there gzip's checksum is compared
  }
  return entries;
}

}  // namespace softamp::archive
