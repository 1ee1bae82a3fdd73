#include "src/text/printable_stream.h"

#include <unistd.h>

#include <algorithm>

#include "src/text/printable.h"

namespace softamp::files {
namespace {

bool is_plain(char c) { return (c >= ' ' && c <= '~') || c == '\n'; }

/// How many bytes at the end of `text` may begin a character, or an end of a line.
size_t begun_at_the_end(std::string_view text) {
  if (text.ends_with('\r')) return 1;
  for (size_t n = 1; n <= std::min<size_t>(3, text.size()); ++n) {
    const auto byte = static_cast<unsigned char>(text[text.size() - n]);
    if ((byte & 0xC0) == 0x80) continue;
    const size_t length = byte >= 0xF5 ? 1 : byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
    return length > n ? n : 0;
  }
  return 0;
}

}  // namespace

PrintableStream::PrintableStream(std::ostream& stream, int descriptor, Texts texts)
    : stream_(stream), before_(stream.rdbuf(this)), is_terminal_(::isatty(descriptor) == 1), texts_(texts) {}

PrintableStream::~PrintableStream() {
  write(begun_);
  stream_.rdbuf(before_);
}

PrintableStream::int_type PrintableStream::overflow(int_type c) {
  if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
  const char letter = traits_type::to_char_type(c);
  return xsputn(&letter, 1) == 1 ? c : traits_type::eof();
}

std::streamsize PrintableStream::xsputn(const char* text, std::streamsize size) {
  const std::lock_guard lock(mutex_);
  const std::string_view added(text, static_cast<size_t>(size));
  if (begun_.empty() && std::all_of(added.begin(), added.end(), is_plain))
    return before_->sputn(text, size) == size ? size : 0;
  std::string all = begun_ + std::string(added);
  const size_t rest = begun_at_the_end(all);
  begun_ = all.substr(all.size() - rest);
  all.resize(all.size() - rest);
  return write(all) ? size : 0;
}

int PrintableStream::sync() {
  const std::lock_guard lock(mutex_);
  return before_->pubsync();
}

bool PrintableStream::write(std::string_view text) {
  std::string safe;
  for (size_t at = 0; at < text.size();) {
    const size_t found = texts_ == Texts::kTables ? text.find_first_of("\t\r", at) : text.npos;
    const size_t kept = std::min(found, text.size());
    safe += printable(text.substr(at, kept - at), true);
    at = kept + 1;
    if (kept == text.size()) break;
    const bool stays = text[kept] == '\t' || text.substr(at, 1) == "\n";
    safe += stays ? std::string(1, text[kept]) : printable(text.substr(kept, 1));
  }
  const auto size = static_cast<std::streamsize>(safe.size());
  return before_->sputn(safe.data(), size) == size;
}

void write_bytes(std::ostream& stream, std::string_view text) {
  auto* const printable = dynamic_cast<PrintableStream*>(stream.rdbuf());
  if (!printable || printable->is_terminal_) {
    stream << text;
    return;
  }
  const std::lock_guard lock(printable->mutex_);
  const auto size = static_cast<std::streamsize>(text.size());
  if (printable->before_->sputn(text.data(), size) != size) stream.setstate(std::ios::badbit);
}

}  // namespace softamp::files
