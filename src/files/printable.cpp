#include "src/files/printable.h"

namespace softamp::files {
namespace {

/// Bytes of the UTF-8 character at the beginning of `text`; 0 where there is none, or one that is a control character.
size_t harmless(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  const size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || size > text.size()) return 0;
  for (size_t i = 1; i < size; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  return first == 0xc2 && byte(1) < 0xa0 ? 0 : size;  // U+0080 to U+009F: some terminals obey these, too
}

}  // namespace

std::string printable(std::string_view text, bool keep_lines) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string safe;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (const size_t size = c == '\n' && keep_lines ? 1 : harmless(text.substr(i))) {
      safe += text.substr(i, size);
      i += size;
      continue;
    }
    const auto code = static_cast<unsigned char>(c);
    if (c == '\n' || c == '\t' || c == '\r')
      safe += c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\r";
    else
      safe += {'\\', 'x', kHex[code >> 4], kHex[code & 15]};
    ++i;
  }
  return safe;
}

}  // namespace softamp::files
