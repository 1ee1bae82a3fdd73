#include "src/precision/report_text.h"

#include <cstdint>
#include <cstdio>

#include "src/text/columns.h"
#include "src/text/printable.h"
#include "src/text/utf8.h"

namespace softamp {

std::string valid_utf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const Utf8Character c = utf8_character(text, at);
    if (c.good)
      valid.append(text, at, c.length);
    else
      valid += "\xEF\xBF\xBD";
    at += c.good ? c.length : 1;
  }
  return valid;
}

std::string one_line(std::string_view text) { return files::printable(valid_utf8(text)); }

std::string shortened(const std::string& text, size_t most) {
  constexpr std::string_view kGap = "...";
  const size_t count = characters(text);
  if (count <= most || most <= kGap.size()) return text;
  const size_t tail = (most - kGap.size()) / 2, head = most - kGap.size() - tail;
  // Byte positions of the character after the head, and of the first of the tail.
  const auto position = [&](size_t character) {
    size_t at = 0;
    for (size_t seen = 0; at < text.size(); ++at)
      if ((text[at] & 0xC0) != 0x80 && seen++ == character) break;
    return at;
  };
  return text.substr(0, position(head)) + std::string(kGap) + text.substr(position(count - tail));
}

std::string json_string(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : valid_utf8(text)) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(static_cast<unsigned char>(c)));
      quoted += code;
    } else {
      quoted += c;
    }
  }
  return files::printable_json(quoted + "\"");
}

}  // namespace softamp
