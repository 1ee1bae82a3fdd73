#include "src/data/safetensors_layout.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "softamp/data/npy.h"
#include "src/data/npy_header.h"
#include "src/text/utf8.h"

namespace softamp::safetensors {
namespace {

bool is_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const Utf8Character c = utf8_character(text, i);
    if (!c.good) return false;
    i += c.length;
  }
  return true;
}

/// A string of JSON: escaped are quotation marks, backslashes and what is below a blank.
std::string json_text(const std::string& text) { return nlohmann::json(text).dump(); }

/// The header, padded with blanks, so that the data begin at a multiple of 8.
// implements: N505
std::string padded_text(const Header& header) {
  std::string text = "{";
  if (!header.metadata.empty()) {
    text += json_text(std::string(kMetadataName)) + ":";
    char before = '{';
    for (const auto& [key, value] : header.metadata) {
      text += before + json_text(key) + ":" + json_text(value);
      before = ',';
    }
    text += "}";
  }
  for (const Entry& e : header.tensors) {
    if (text.size() > 1) text += ",";
    text += json_text(e.name) + ":{\"dtype\":\"" + name_of(e.type) + "\",\"shape\":[";
    for (size_t i = 0; i < e.shape.size(); ++i) text += (i ? "," : "") + std::to_string(e.shape[i]);
    text += "],\"data_offsets\":[" + std::to_string(e.begin) + "," + std::to_string(e.end) + "]}";
  }
  text += "}";
  text.append((8 - text.size() % 8) % 8, ' ');
  return text;
}

}  // namespace

void fail(std::string_view name, uint64_t offset, const std::string& message) {
  throw Error(std::string(name) + ": byte " + std::to_string(offset) + ": " + message);
}

std::string tensor_text(std::string_view name) { return "tensor " + npy::quoted(name); }

// implements: N504
uint64_t measure(Entry& entry, const std::string& place) {
  uint64_t elements = 1, bits = 0;
  bool fits = true;
  for (const uint64_t extent : entry.shape) fits = fits && !__builtin_mul_overflow(elements, extent, &elements);
  fits = fits && !__builtin_mul_overflow(elements, static_cast<uint64_t>(bits_of(entry.type)), &bits);
  if (!fits)
    throw Error(place + ": shape " + npy::shape_text(entry.shape) + " of " + name_of(entry.type) +
                " has more than 2^64 - 1 bits");
  if (bits % 8 != 0)
    throw Error(place + ": shape " + npy::shape_text(entry.shape) + " of " + name_of(entry.type) + " has " +
                std::to_string(bits) + " bits; expected whole bytes");
  entry.elements = elements;
  return bits / 8;
}

// implements: N505
Header arrange(std::vector<Entry> tensors, Metadata metadata, std::string_view name) {
  const std::string place(name);
  std::sort(tensors.begin(), tensors.end(),
            [](const Entry& a, const Entry& b) { return a.type != b.type ? a.type > b.type : a.name < b.name; });
  Header header{std::move(tensors), std::move(metadata), 0};
  std::map<std::string_view, bool> seen{{kMetadataName, true}};
  uint64_t end = 0;
  for (Entry& e : header.tensors) {
    const std::string what = place + ": " + tensor_text(e.name);
    if (!is_utf8(e.name)) throw Error(what + ": expected a name in UTF-8");
    if (e.name == kMetadataName) throw Error(what + ": expected another name; this one has the words about a file");
    if (!seen.emplace(e.name, true).second) throw Error(what + " stands twice");
    e.begin = end;
    const uint64_t bytes = measure(e, what);
    if (bytes > static_cast<uint64_t>(INT64_MAX) - 2 * kMaxHeader - end)
      throw Error(what + ": a file of more than 2^63 - 1 bytes");
    e.end = end += bytes;
  }
  for (const auto& [key, value] : header.metadata)
    if (!is_utf8(key) || !is_utf8(value))
      throw Error(place + ": metadata " + npy::quoted(key) + ": expected a name and words in UTF-8");
  const uint64_t length = padded_text(header).size();
  if (length > kMaxHeader)
    throw Error(place + ": a header of " + std::to_string(length) + " bytes; expected at most " +
                std::to_string(kMaxHeader));
  header.data_offset = kLengthBytes + length;
  return header;
}

std::string header_bytes(const Header& header) {
  const std::string text = padded_text(header);
  std::string bytes;
  for (uint64_t i = 0; i < kLengthBytes; ++i) bytes += static_cast<char>(text.size() >> (8 * i) & 0xFF);
  return bytes + text;
}

}  // namespace softamp::safetensors
