// Texts as tokens.
#include <algorithm>
#include <limits>
#include <stdexcept>

#include "src/data/archive.h"
#include "src/text/nearest_name.h"
#include "src/text/utf8.h"
#include "src/train/run/samples.h"

namespace softamp::train_detail {
namespace {

constexpr uint64_t kMostTextBytes = uint64_t{1} << 30, kMostInflation = 64;
constexpr uint32_t kReplacement = 0xFFFD, kCodePoints = 0x110000;

/// Calls `see` with every code point of a text. Throws DataError at the first byte that is no UTF-8.
template <class See>
void for_each_code_point(std::string_view text, const std::string& name, const See& see) {
  for (size_t i = 0; i < text.size();) {
    const Utf8Character c = utf8_character(text, i);
    if (!c.good) {
      const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(i), '\n');
      throw DataError(name + ": byte " + std::to_string(i) + " (line " + std::to_string(line) + ", value " +
                      std::to_string(static_cast<unsigned char>(text[i])) +
                      "): no UTF-8; expected a UTF-8 text, or a network whose tokens are 'bytes'");
    }
    see(utf8_code(text, i, c.length));
    i += c.length;
  }
}

/// Code points in their order, each once. A text may be long: nothing here grows with it.
std::vector<uint32_t> characters_of(std::string_view text, const std::string& name) {
  std::vector<bool> seen(kCodePoints);
  for_each_code_point(text, name, [&](uint32_t code) { seen[code] = true; });
  std::vector<uint32_t> characters;
  for (uint32_t code = 0; code < kCodePoints; ++code)
    if (seen[code]) characters.push_back(code);
  return characters;
}

int32_t number_of(const std::vector<uint32_t>& characters, uint32_t code) {
  const auto at = std::lower_bound(characters.begin(), characters.end(), code);
  return at != characters.end() && *at == code ? static_cast<int32_t>(at - characters.begin()) : -1;
}

}  // namespace

TextTokens read_text(const std::string& file, const NetworkInput& input) {
  const std::vector<std::byte> bytes = archive::read_file(file, kMostTextBytes, kMostInflation);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  TextTokens found;
  found.tokens.reserve(text.size());
  if (input.encoding == "bytes") {
    if (input.vocabulary < 256)
      throw DataError(file + ": bytes have 256 values; expected a network whose vocabulary is 256, and not " +
                      std::to_string(input.vocabulary));
    for (const char c : text) found.tokens.push_back(static_cast<unsigned char>(c));
    return found;
  }
  found.characters = characters_of(text, file);
  if (static_cast<int64_t>(found.characters.size()) > input.vocabulary)
    throw DataError(file + ": " + std::to_string(found.characters.size()) +
                    " different characters; expected at most the network's vocabulary, " +
                    std::to_string(input.vocabulary));
  for_each_code_point(text, file, [&](uint32_t code) { found.tokens.push_back(number_of(found.characters, code)); });
  return found;
}

std::string TextTokens::text_of(std::span<const int32_t> some) const {
  std::string text;
  for (const int32_t token : some) {
    if (characters.empty())
      text += static_cast<char>(token);
    else
      append_utf8(text, token < static_cast<int32_t>(characters.size()) ? characters[static_cast<size_t>(token)]
                                                                        : kReplacement);
  }
  return text;
}

std::vector<int32_t> TextTokens::tokens_of(std::string_view text) const {
  std::vector<int32_t> found;
  if (characters.empty()) {
    for (const char c : text) found.push_back(static_cast<unsigned char>(c));
    return found;
  }
  for_each_code_point(text, "the text to begin with", [&](uint32_t code) {
    found.push_back(number_of(characters, code));
    if (found.back() >= 0) return;
    std::string character;
    append_utf8(character, code);
    throw std::invalid_argument("the text to begin with has '" + character +
                                "', which the training text does not have");
  });
  return found;
}

}  // namespace softamp::train_detail
