// A JSON object written line by line, without a library: what the programs of this folder leave for tests/gpu.sh.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>

namespace softamp::gpu {

inline std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + "\"";
}
inline std::string number(double x, const char* format = "%.4g") {
  if (!std::isfinite(x)) return "null";
  char text[40];
  std::snprintf(text, sizeof text, format, x);
  return text;
}
inline std::string number(uint64_t x) { return std::to_string(x); }

/// {"a": 1, "b": {...}}: values are JSON already.
class Object {
 public:
  Object& add(const std::string& key, const std::string& value) {
    text_ += (text_.empty() ? "" : ", ") + quoted(key) + ": " + value;
    return *this;
  }
  std::string text() const { return "{" + text_ + "}"; }
  /// False where the file cannot be written; an empty name is no file.
  bool write(const std::string& file) const {
    if (file.empty()) return true;
    std::FILE* const out = std::fopen(file.c_str(), "w");
    if (!out) return false;
    const bool good = std::fputs((text() + "\n").c_str(), out) >= 0;
    return std::fclose(out) == 0 && good;
  }

 private:
  std::string text_;
};

}  // namespace softamp::gpu
