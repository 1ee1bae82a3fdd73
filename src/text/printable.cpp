#include "src/text/printable.h"

#include <algorithm>

#include "src/text/utf8.h"

namespace softamp::files {
namespace {

/// Bytes of the UTF-8 character at i; 0 where there is none, or one that is a control character or never one of a text.
size_t harmless(std::string_view text, size_t i) {
  const Utf8Character c = utf8_character(text, i);
  if (!c.good) return 0;
  const uint32_t code = utf8_code(text, i, c.length);
  // U+0080 to U+009F: some terminals obey these, too. U+FFFE and U+FFFF: XML has no way to write them.
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0xfffe || code == 0xffff ? 0 : c.length;
}

}  // namespace

std::string printable(std::string_view text, bool keep_lines) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string safe;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (const size_t size = c == '\n' && keep_lines ? 1 : harmless(text, i)) {
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

std::string excerpt(std::string_view text) {
  size_t shown = text.size() > 80 ? 80 : text.size();
  while (shown < text.size() && shown > 76 && (static_cast<unsigned char>(text[shown]) & 0xC0) == 0x80) --shown;
  return printable(text.substr(0, shown)) + (text.size() > 80 ? "..." : "");
}

std::string printable_json(std::string_view document) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string safe;
  for (size_t i = 0; i < document.size();) {
    const Utf8Character c = utf8_character(document, i);
    const size_t size = std::max<size_t>(c.length, 1);
    if (!c.good || document[i] == '\n' || harmless(document, i)) {
      safe += document.substr(i, size);
    } else {
      const uint32_t code = utf8_code(document, i, size);
      safe += "\\u";
      for (int shift = 12; shift >= 0; shift -= 4) safe += kHex[code >> shift & 15];
    }
    i += size;
  }
  return safe;
}

}  // namespace softamp::files
