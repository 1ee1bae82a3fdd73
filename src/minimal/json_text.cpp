// JSON values as text.
#include <array>
#include <cstdio>
#include <string_view>

#include "src/minimal/double_text.h"
#include "src/minimal/json_value.h"
#include "src/text/utf8.h"

namespace softamp::minimal {

class JsonWriter {
 public:
  JsonWriter(int indent, char blank, bool ascii, Json::error_handler_t errors)
      : indent_(indent), blank_(blank), ascii_(ascii), errors_(errors) {}

  void write(const Json& value, int depth) {
    switch (value.type()) {
      case Json::value_t::null: text += "null"; break;
      case Json::value_t::boolean: text += value.get<bool>() ? "true" : "false"; break;
      case Json::value_t::number_integer: text += std::to_string(value.get<int64_t>()); break;
      case Json::value_t::number_unsigned: text += std::to_string(value.get<uint64_t>()); break;
      case Json::value_t::number_float: text += double_text(value.get<double>()); break;
      case Json::value_t::string: write(value.get_ref<const std::string&>()); break;
      case Json::value_t::array:
        write_all(value.list(), '[', ']', depth, [](const Json& v) -> const Json& { return v; });
        break;
      case Json::value_t::object:
        write_all(value.items(), '{', '}', depth, [this](const auto& field) -> const Json& {
          write(field.first);
          text += indent_ < 0 ? ":" : ": ";
          return field.second;
        });
        break;
      case Json::value_t::discarded: text += "<discarded>"; break;
    }
  }

  std::string text;

 private:
  template <class List, class Before>
  void write_all(const List& list, char open, char close, int depth, Before&& before) {
    text += open;
    bool first = true;
    for (const auto& each : list) {
      if (!first) text += ',';
      first = false;
      new_line(depth + 1);
      write(before(each), depth + 1);
    }
    if (!first) new_line(depth);
    text += close;
  }

  void new_line(int depth) {
    if (indent_ >= 0) text += '\n' + std::string(static_cast<size_t>(indent_ * depth), blank_);
  }

  void write_code(uint32_t code) {
    std::array<char, 8> room;
    std::snprintf(room.data(), room.size(), "\\u%04x", code & 0xFFFF);
    text += room.data();
  }

  void write_special(char c) {
    static constexpr std::string_view kSpecial = "\"\\\b\f\n\r\t", kLetters = "\"\\bfnrt";
    if (const size_t place = kSpecial.find(c); place != kSpecial.npos)
      text += {'\\', kLetters[place]};
    else
      write_code(static_cast<unsigned char>(c));
  }

  void write(const std::string& s) {
    text += '"';
    for (size_t i = 0; i < s.size();) {
      const auto c = static_cast<unsigned char>(s[i]);
      if (c < 0x20 || c == '"' || c == '\\' || (c == 0x7f && ascii_)) {
        write_special(s[i++]);
        continue;
      }
      const auto [length, good] = utf8_character(s, i);
      if (!good)
        refuse_or_replace(s, i + length);
      else if (ascii_ && length > 1)
        write_ascii(utf8_code(s, i, length));
      else
        text.append(s, i, length);
      i += length == 0 ? 1 : length;
    }
    text += '"';
  }

  void write_ascii(uint32_t code) {
    if (code > 0xFFFF) write_code(0xD7C0 + (code >> 10));
    write_code(code > 0xFFFF ? 0xDC00 + (code & 0x3FF) : code);
  }

  /// `at`: the byte that cannot stand there, or the end.
  void refuse_or_replace(const std::string& s, size_t at) {
    if (errors_ == Json::error_handler_t::strict) {
      std::array<char, 8> byte;
      std::snprintf(byte.data(), byte.size(), "0x%02X", static_cast<unsigned char>(at < s.size() ? s[at] : s.back()));
      throw JsonFault("type_error", 316,
                      at < s.size() ? "invalid UTF-8 byte at index " + std::to_string(at) + ": " + byte.data()
                                    : "incomplete UTF-8 string; last byte: " + std::string(byte.data()));
    }
    text += ascii_ ? "\\ufffd" : "\xEF\xBF\xBD";
  }

  int indent_;
  char blank_;
  bool ascii_;
  Json::error_handler_t errors_;
};

std::string Json::dump(int indent, char blank, bool ascii, error_handler_t errors) const {
  JsonWriter writer(indent, blank, ascii, errors);
  writer.write(*this, 0);
  return std::move(writer.text);
}

}  // namespace softamp::minimal
