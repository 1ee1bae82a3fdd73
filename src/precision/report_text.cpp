#include "src/precision/report_text.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>

namespace softamp {
namespace {

/// The length of the UTF-8 sequence that begins at `at`; 0 if there is none (overlong forms, surrogates, values past
/// U+10FFFF, torn sequences).
size_t sequence(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(at + i < text.size() ? text[at + i] : 0); };
  const auto follows = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    if (first == 0xE0 && byte(1) < 0xA0) return 0;
    if (first == 0xED && byte(1) > 0x9F) return 0;
    return follows(1) && follows(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    if (first == 0xF0 && byte(1) < 0x90) return 0;
    if (first == 0xF4 && byte(1) > 0x8F) return 0;
    return follows(1) && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

std::string escaped(char c) {
  if (c == '\n') return "\\n";
  if (c == '\t') return "\\t";
  if (c == '\r') return "\\r";
  char code[8];
  std::snprintf(code, sizeof code, "\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
  return code;
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

}  // namespace

std::string valid_utf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const size_t length = sequence(text, at);
    if (length == 0) {
      valid += "\xEF\xBF\xBD";
      ++at;
    } else {
      valid.append(text, at, length);
      at += length;
    }
  }
  return valid;
}

std::string one_line(std::string_view text) {
  const std::string valid = valid_utf8(text);
  if (std::none_of(valid.begin(), valid.end(), is_control)) return valid;
  std::string line;
  for (const char c : valid)
    if (is_control(c))
      line += escaped(c);
    else
      line += c;
  return line;
}

size_t characters(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

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
  return quoted + "\"";
}

std::string aligned(size_t lines, const std::function<std::vector<std::string>(size_t line)>& cells,
                    const std::vector<size_t>& right, size_t widest) {
  std::vector<size_t> widths;
  for (size_t l = 0; l < lines; ++l) {
    const std::vector<std::string> line = cells(l);
    if (line.size() > widths.size()) widths.resize(line.size());
    for (size_t c = 0; c < line.size(); ++c) widths[c] = std::max(widths[c], std::min(characters(line[c]), widest));
  }
  std::vector<uint8_t> to_right(widths.size());
  for (const size_t column : right)
    if (column < to_right.size()) to_right[column] = 1;
  std::string all;
  for (size_t l = 0; l < lines; ++l) {
    const std::vector<std::string> line = cells(l);
    for (size_t c = 0; c < line.size(); ++c) {
      const size_t width = characters(line[c]), space = width < widths[c] ? widths[c] - width : 0;
      if (c) all += "  ";
      if (to_right[c]) all.append(space, ' ');
      all += line[c];
      if (!to_right[c]) all.append(space, ' ');
    }
    all.erase(all.find_last_not_of(' ') + 1);
    all += '\n';
  }
  return all;
}

}  // namespace softamp
