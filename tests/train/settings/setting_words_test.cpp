// Every setting that is a word takes each of its words in capitals, and with '_' for '-' and back, as the word itself.
// Which words a setting has is read from what it says to a wrong one, so that a new setting is walked without being
// named here.
#include "softamp/train/train_settings.h"

#include "src/train/settings/settings_fields.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <type_traits>

namespace softamp {
namespace {

constexpr const char* kNoWord = "zzz";

/// The settings with this one, as JSON; "" and why where it is refused.
std::string with(const std::string& key, const std::string& word, std::string& refused) {
  try {
    return TrainSettings{}.with(key, word, "settings").to_json();
  } catch (const std::invalid_argument& e) {
    refused = e.what();
    return {};
  }
}

/// What stands between blanks, commas and brackets.
std::set<std::string> parts_of(const std::string& message) {
  std::set<std::string> parts;
  std::string part;
  for (const char c : message + " ") {
    if (std::string(" ,()[];:'\n").find(c) == std::string::npos) {
      part += c;
    } else if (!part.empty()) {
      parts.insert(part);
      part.clear();
    }
  }
  return parts;
}

/// The words that the setting takes, of those that its message about this word has.
std::set<std::string> words_of(const std::string& key, const std::string& wrong) {
  std::set<std::string> words;
  std::string refused, ignored;
  if (!with(key, wrong, refused).empty()) return words;
  for (const std::string& part : parts_of(refused)) {
    if (part == key || std::isdigit(static_cast<unsigned char>(part[0]))) continue;
    if (!with(key, part, ignored).empty()) words.insert(part);
    // level=NAME: the words are those of level=zzz.
    if (const size_t equals = part.find('='); equals != std::string::npos && part.size() > equals + 1)
      for (const std::string& word : parts_of((with(key, part.substr(0, equals + 1) + kNoWord, refused), refused)))
        if (!with(key, part.substr(0, equals + 1) + word, ignored).empty())
          words.insert(part.substr(0, equals + 1) + word);
  }
  return words;
}

std::string upper(std::string word) {
  for (char& c : word) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return word;
}
std::string with_other_dashes(std::string word) {
  for (char& c : word) c = c == '-' ? '_' : c == '_' ? '-' : c;
  return word;
}

TEST(SettingWords, AreReadWithoutRegardToCase) {
  std::set<std::string> texts;  // settings that any text may be
  TrainSettings all;
  std::vector<std::string> keys;
  train_detail::for_each_setting(all, [&](const char* key, const auto& member) {
    using Member = std::remove_cvref_t<decltype(member)>;
    if (std::is_same_v<Member, std::string> || std::is_same_v<Member, std::optional<std::string>>)
      keys.emplace_back(key);
  });
  size_t tried = 0;
  for (const std::string& key : keys) {
    const std::set<std::string> words = words_of(key, kNoWord);
    if (words.empty()) texts.insert(key);
    EXPECT_NE(words.size(), 1U) << key;
    for (const std::string& word : words)
      for (const std::string& other : {upper(word), with_other_dashes(word), upper(with_other_dashes(word))}) {
        std::string refused;
        const std::string wanted = with(key, word, refused);
        EXPECT_EQ(with(key, other, refused), wanted) << key << "=" << other << ": " << refused;
        ++tried;
      }
  }
  EXPECT_EQ(texts, (std::set<std::string>{"program", "data", "initial"}));
  EXPECT_GT(tried, 300U);
}

TEST(SettingWords, OfAListAreEachReadSo) {
  std::string refused;
  EXPECT_EQ(with("behaviour", "INV, Oflo", refused), with("behaviour", "inv, oflo", refused)) << refused;
  EXPECT_EQ(with("behaviour", "NONE", refused), with("behaviour", "off", refused)) << refused;
}

/// As TensorFlow for the IPU has them, True and False among them, and Graphcore's examples.
TEST(SettingWords, OfTheIpuAreUnderstood) {
  std::string refused;
  for (const auto& [word, ours] :
       {std::pair{"ON", "on"}, {"True", "on"}, {"OFF", "off"}, {"RI", "replica_identical_only"}})
    EXPECT_EQ(with("stochastic_rounding", word, refused), with("stochastic_rounding", ours, refused)) << refused;
  EXPECT_EQ(TrainSettings::from_json(R"({"stochastic_rounding": true})").stochastic_rounding, "on");
}

}  // namespace
}  // namespace softamp
