// Recipes as JSON: five lists under any of their keys' spellings (MIXED_PRECISION H13).
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <unordered_map>

#include "softamp/precision/recipe.h"
#include "src/precision/json_tokens.h"
#include "src/precision/known_operations.h"
#include "src/precision/name_patterns.h"
#include "src/text/nearest_name.h"
#include "src/text/printable.h"
#include "src/text/read_json.h"

namespace softamp {
namespace {

using files::excerpt;
using precision_detail::described;
using precision_detail::JsonToken;
using TokenKind = JsonToken::Kind;

enum ListKey : size_t {
  kAllowKey,
  kConditionalKey,
  kStrictKey,
  kNonConvertibleKey,
  kConvertibleKey,
  kRegexModeKey,
  kListKeys
};

/// Where a key's values go. The first spelling is the one that is written.
struct Key {
  std::vector<const char*> spellings;
};

const std::array<Key, kListKeys>& keys() {
  static const std::array<Key, kListKeys> table = {{
      {{"allowlist", "allow_list", "whitelist"}},
      {{"conditional_list", "graylist"}},
      {{"strict_conditional_list", "input_only_exceptions"}},
      {{"non_convertible_exceptions"}},
      {{"convertible_exceptions"}},
      {{"regex_mode"}},  // ours
  }};
  return table;
}

constexpr size_t kMostOperations = 100'000, kMostWarnings = 50;
constexpr size_t kMostLookedUp = 2000;  // operations that are compared with the known ones, which takes time

class RecipeReader {
 public:
  RecipeReader(std::string_view text, std::string_view place, RecipeReading reading)
      : text_(text), place_(place), reading_(reading), tokens_(precision_detail::json_tokens(text, place_)) {}

  Recipe read() {
    if (next().kind != TokenKind::kObject)
      fail(at_ - 1, "expected an object of lists, {\"allowlist\": [...], ...}; found " + described(tokens_[at_ - 1]));
    while (tokens_[at_].kind != TokenKind::kObjectEnd) read_key();
    warn_of_two_lists();
    return std::move(recipe_);
  }

 private:
  const JsonToken& next() { return tokens_[at_++]; }
  std::string position(size_t token) const { return json_position(text_, tokens_[token].offset); }
  [[noreturn]] void fail(size_t token, const std::string& what) const {
    throw std::invalid_argument(place_ + ": " + position(token) + what);
  }
  void warn(size_t token, const std::string& what) {
    if (recipe_.warnings.size() < kMostWarnings)
      recipe_.warnings.push_back(place_ + ": " + position(token) + what);
    else if (recipe_.warnings.size() == kMostWarnings)
      recipe_.warnings.push_back(place_ + ": more of the kind follow");
  }

  void read_key() {
    const size_t token = at_;
    const std::string key = next().text;
    const size_t list = list_of(token, key);
    if (list == kListKeys) return skip_value();
    if (key_tokens_[list] != 0) {
      const JsonToken& first = tokens_[key_tokens_[list]];
      std::string where = json_position(text_, first.offset);
      where.resize(where.size() - 2);
      fail(token, "the key '" + key + "' is another spelling of '" + first.text + "' at " + where);
    }
    key_tokens_[list] = token;
    key_ = key;
    switch (list) {
      case kAllowKey: return read_operations(list, recipe_.allow);
      case kConditionalKey: return read_operations(list, recipe_.conditional);
      case kStrictKey: return read_operations(list, recipe_.strict);
      case kNonConvertibleKey: return read_exceptions(recipe_.non_convertible);
      case kConvertibleKey: return read_exceptions(recipe_.convertible);
      default: return read_regex_mode();
    }
  }

  /// kListKeys: an unknown key, which is left out.
  size_t list_of(size_t token, const std::string& key) {
    graph_detail::Nearest nearest(key);
    for (size_t list = 0; list < kListKeys; ++list)
      for (const char* spelling : keys()[list].spellings) {
        if (key == spelling) return list;
        nearest.offer(spelling);
      }
    const std::string what = "unknown key '" + excerpt(key) + "'" + nearest.text();
    if (reading_ == RecipeReading::kStrict) fail(token, what);
    warn(token, what + "; it is left out");
    return kListKeys;
  }

  /// Of any kind and depth: the tokens know that brackets fit.
  void skip_value() {
    int depth = 0;
    do {
      const TokenKind kind = next().kind;
      depth += kind == TokenKind::kObject || kind == TokenKind::kArray;
      depth -= kind == TokenKind::kObjectEnd || kind == TokenKind::kArrayEnd;
    } while (depth > 0);
  }

  void expect_list(const char* of_what) {
    if (next().kind != TokenKind::kArray)
      fail(at_ - 1, "'" + key_ + "': expected a list of " + of_what + ", found " + described(tokens_[at_ - 1]));
  }

  void read_operations(size_t list, std::vector<std::string>& out) {
    expect_list("operation types");
    for (; tokens_[at_].kind != TokenKind::kArrayEnd; ++at_) {
      const JsonToken& token = tokens_[at_];
      if (token.kind != TokenKind::kString || token.text.empty())
        fail(at_, "'" + key_ + "': expected an operation type in quotes, found " + described(token));
      if (out.size() >= kMostOperations)
        fail(at_, "'" + key_ + "': more than " + std::to_string(kMostOperations) + " operation types");
      Seen& seen = seen_[token.text];
      if (seen[list] != 0) {
        warn(at_, "'" + key_ + "': " + excerpt(token.text) + " stands twice");
        continue;
      }
      const bool fresh = seen == Seen{};
      seen[list] = at_;
      out.push_back(token.text);
      if (fresh && ++looked_up_ <= kMostLookedUp)
        if (const std::string meant = precision_detail::meant_operation(token.text); !meant.empty())
          warn(at_, "'" + key_ + "': no known operation is called '" + excerpt(token.text) + "'; nearest: " + meant);
      if (seen[kAllowKey] + seen[kConditionalKey] + seen[kStrictKey] != at_) in_two_.push_back(at_);
    }
    ++at_;
  }

  void read_exceptions(std::vector<RecipeException>& out) {
    expect_list("pairs [pattern, operation type]");
    while (tokens_[at_].kind != TokenKind::kArrayEnd) {
      const size_t token = at_;
      // A pair takes four tokens; a malformed one may end before the end of the list and its object, but never after
      // it.
      const bool pair = next().kind == TokenKind::kArray && tokens_[at_].kind == TokenKind::kString &&
                        tokens_[at_ + 1].kind == TokenKind::kString && tokens_[at_ + 2].kind == TokenKind::kArrayEnd;
      if (!pair)
        fail(token, "'" + key_ + "': expected a pair [pattern, operation type or \"\"], found " + found_pair(token));
      if (out.size() >= precision_detail::kMostPatterns)
        fail(token, "'" + key_ + "': more than " + std::to_string(precision_detail::kMostPatterns) + " patterns");
      if (const std::string fault = precision_detail::pattern_fault(tokens_[at_].text); !fault.empty())
        fail(at_, "'" + key_ + "': " + fault);
      RecipeException exception{tokens_[at_].text, tokens_[at_ + 1].text};
      bool twice = false;
      for (const RecipeException& e : out) twice = twice || e == exception;
      if (twice)
        warn(at_, "'" + key_ + "': the pattern '" + excerpt(exception.pattern) + "' stands twice");
      else
        out.push_back(std::move(exception));
      at_ += 3;
    }
    ++at_;
  }

  std::string found_pair(size_t token) const {
    if (tokens_[token].kind != TokenKind::kArray) return described(tokens_[token]);
    size_t entries = 0;
    for (size_t t = token + 1; t < tokens_.size() && tokens_[t].kind != TokenKind::kArrayEnd; ++t) {
      if (tokens_[t].kind != TokenKind::kString) return "a list with " + described(tokens_[t]) + " in it";
      ++entries;
    }
    return "a list of " + std::to_string(entries);
  }

  void read_regex_mode() {
    const JsonToken& token = next();
    if (token.kind != TokenKind::kString || (token.text != "full" && token.text != "search"))
      fail(at_ - 1, "'regex_mode': expected \"full\" or \"search\", found " + described(token));
    recipe_.regex = token.text == "full" ? RegexMode::kFullMatch : RegexMode::kSearch;
  }

  /// In the order of the text.
  void warn_of_two_lists() {
    for (const size_t token : in_two_) {
      const Seen& seen = seen_[tokens_[token].text];
      if (token != *std::max_element(seen.begin(), seen.end())) continue;  // in all three: reported once
      std::string lists;
      const char* counts = nullptr;
      for (const ListKey list : {kAllowKey, kStrictKey, kConditionalKey})  // in the order of precedence
        if (seen[list] != 0) {
          const char* name = list == kAllowKey ? "allow" : list == kStrictKey ? "strict conditional" : "conditional";
          lists += (lists.empty() ? "" : " and ") + std::string(name);
          if (!counts) counts = name;
        }
      warn(token, excerpt(tokens_[token].text) + " is in the lists " + lists + "; " + counts + " counts");
    }
  }

  using Seen = std::array<size_t, 3>;  // token of its place in each list; 0, the outermost brace: none

  std::string_view text_;
  std::string place_;
  RecipeReading reading_;
  std::vector<JsonToken> tokens_;
  size_t at_ = 0;
  Recipe recipe_;
  std::string key_;
  std::array<size_t, kListKeys> key_tokens_{};
  std::unordered_map<std::string, Seen> seen_;
  std::vector<size_t> in_two_;
  size_t looked_up_ = 0;
};

}  // namespace

Recipe Recipe::parse(std::string_view text, std::string_view place, RecipeReading reading) {
  return RecipeReader(text, place, reading).read();
}

std::string Recipe::to_json() const {
  nlohmann::ordered_json json;
  const auto pairs = [](const std::vector<RecipeException>& exceptions) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const RecipeException& e : exceptions) list.push_back(nlohmann::ordered_json::array({e.pattern, e.type}));
    return list;
  };
  json[keys()[kAllowKey].spellings[0]] = allow;
  json[keys()[kConditionalKey].spellings[0]] = conditional;
  json[keys()[kStrictKey].spellings[0]] = strict;
  json[keys()[kNonConvertibleKey].spellings[0]] = pairs(non_convertible);
  json[keys()[kConvertibleKey].spellings[0]] = pairs(convertible);
  if (regex == RegexMode::kSearch) json[keys()[kRegexModeKey].spellings[0]] = "search";
  return json.dump(4, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace softamp
