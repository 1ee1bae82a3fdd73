// Texts as tokens.
#include <algorithm>
#include <limits>
#include <stdexcept>

#include "src/data/archive.h"
#include "src/graph/nearest_name.h"
#include "src/report/utf8.h"
#include "src/train/run/samples.h"

namespace softamp::train_detail {
namespace {

constexpr uint64_t kMostTextBytes = uint64_t{1} << 30;
constexpr uint32_t kReplacement = 0xFFFD;

std::vector<uint32_t> code_points_of(std::string_view text, const std::string& name) {
  std::vector<uint32_t> codes;
  codes.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const Utf8Character c = utf8_character(text, i);
    if (!c.good) {
      const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(i), '\n');
      throw DataError(name + ": byte " + std::to_string(i) + " (line " + std::to_string(line) + ", value " +
                      std::to_string(static_cast<unsigned char>(text[i])) +
                      "): no UTF-8; expected a UTF-8 text, or a network whose tokens are 'bytes'");
    }
    codes.push_back(utf8_code(text, i, c.length));
    i += c.length;
  }
  return codes;
}

int32_t number_of(const std::vector<uint32_t>& characters, uint32_t code) {
  const auto at = std::lower_bound(characters.begin(), characters.end(), code);
  return at != characters.end() && *at == code ? static_cast<int32_t>(at - characters.begin()) : -1;
}

}  // namespace

TextTokens read_text(const std::string& file, const NetworkInput& input) {
  const std::vector<std::byte> bytes = archive::read_file(file, kMostTextBytes);
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
  const std::vector<uint32_t> codes = code_points_of(text, file);
  found.characters = codes;
  std::sort(found.characters.begin(), found.characters.end());
  found.characters.erase(std::unique(found.characters.begin(), found.characters.end()), found.characters.end());
  if (static_cast<int64_t>(found.characters.size()) > input.vocabulary)
    throw DataError(file + ": " + std::to_string(found.characters.size()) +
                    " different characters; expected at most the network's vocabulary, " +
                    std::to_string(input.vocabulary));
  for (const uint32_t code : codes) found.tokens.push_back(number_of(found.characters, code));
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
  for (const uint32_t code : code_points_of(text, "the text to begin with")) {
    found.push_back(number_of(characters, code));
    if (found.back() >= 0) continue;
    std::string character;
    append_utf8(character, code);
    throw std::invalid_argument("the text to begin with has '" + character +
                                "', which the training text does not have");
  }
  return found;
}

}  // namespace softamp::train_detail
