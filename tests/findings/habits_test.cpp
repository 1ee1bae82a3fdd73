// What is typed by habit: no word of ours, and what is said instead is one.
#include "src/names/habits.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "softamp/names/names.h"
#include "softamp/train/models.h"
#include "softamp/train/train_settings.h"

namespace softamp {
namespace {

/// The words of "e4m3 or e5m2".
std::vector<std::string> words_of(std::string_view text) {
  constexpr std::string_view kOr = " or ";
  std::vector<std::string> words;
  for (size_t at; (at = text.find(kOr)) != std::string_view::npos; text.remove_prefix(at + kOr.size()))
    words.emplace_back(text.substr(0, at));
  words.emplace_back(text);
  return words;
}

bool is_read(const std::function<void(const std::string&)>& read, const std::string& word) {
  try {
    read(word);
    return true;
  } catch (const std::invalid_argument&) {
    return false;
  }
}

TEST(Habits, AreNoWordsOfOursAndWhatTheyMeanIs) {
  const std::map<std::string_view, std::function<void(const std::string&)>> readers = {
      {"rounding", rounding_from_name},
      {"overflow rule", overflow_from_name},
      {"precision", Precision::parse},
  };
  const std::string keys = TrainSettings{}.to_json(true, true);
  for (const Habit& habit : habits()) {
    if (habit.what == "setting") {
      EXPECT_EQ(keys.find("\"" + std::string(habit.word) + "\""), std::string::npos) << habit.word;
      EXPECT_NE(keys.find("\"" + std::string(habit.meant) + "\""), std::string::npos) << habit.meant;
    } else if (habit.what == "format") {
      EXPECT_FALSE(is_read(format_from_name, std::string(habit.word))) << habit.word;
      for (const std::string& word : words_of(habit.meant))
        EXPECT_TRUE(word.starts_with("mx") || is_read(format_from_name, word)) << word;
    } else if (const auto reader = readers.find(habit.what); reader != readers.end()) {
      EXPECT_FALSE(is_read(reader->second, std::string(habit.word))) << habit.word;
      EXPECT_TRUE(is_read(reader->second, std::string(habit.meant))) << habit.meant;
    } else {
      EXPECT_TRUE(habit.what == "option of a verb" || habit.what == "backend") << habit.what;
    }
  }
}

std::string said(const std::vector<std::string>& arguments, const std::vector<std::string>& known,
                 const std::vector<std::string>& keys = {}) {
  const std::string text = unknown_option_message(arguments, known, keys);
  return text.substr(0, text.find("; known: "));
}

TEST(Habits, OptionsThatAreSettingsAreSaidAsSuch) {
  const std::vector<std::string> known = {"--set", "--seeds", "--steps"}, keys = {"epochs=", "batch_size=", "seed="};
  EXPECT_EQ(said({"--epochs", "2"}, known, keys), "unknown option '--epochs'; expected --set epochs=2");
  EXPECT_EQ(said({"--epochs=2", "x"}, known, keys), "unknown option '--epochs'; expected --set epochs=2");
  EXPECT_EQ(said({"--batch-size", "--json"}, known, keys),
            "unknown option '--batch-size'; expected --set batch_size=VALUE");
  EXPECT_EQ(said({"--Batch_Size", "8"}, known, keys), "unknown option '--Batch_Size'; expected --set batch_size=8");
  EXPECT_EQ(said({"--bs", "8"}, known, keys), "unknown option '--bs'; expected --set batch_size=8");
  EXPECT_EQ(said({"--seed", "3"}, known, keys), "unknown option '--seed'; expected --set seed=3");
  EXPECT_EQ(said({"--step", "3"}, known, keys), "unknown option '--step'; nearest: --steps");
}

TEST(Habits, OptionsOfOtherNamesAreSaidWhereTheVerbHasThem) {
  EXPECT_EQ(said({"--dtype", "fp16"}, {"--format"}), "unknown option '--dtype'; expected --format");
  EXPECT_EQ(said({"--dtype", "fp16"}, {"--precision"}), "unknown option '--dtype'; expected --precision");
  EXPECT_EQ(said({"--sr"}, {"--behaviour"}), "unknown option '--sr'; expected --behaviour esr");
  EXPECT_EQ(said({"--dtype", "fp16"}, {"--json"}), "unknown option '--dtype'");
}

TEST(Habits, AreSaidInThePlaceOfTheNearest) {
  EXPECT_EQ(unknown_name_message("format", "FP8", {"fp16", "fp4"}),
            "unknown format 'FP8'; expected e4m3 or e5m2; known: fp16, fp4");
  EXPECT_EQ(unknown_name_message("format", "fp17", {"fp16", "fp4"}),
            "unknown format 'fp17'; nearest: fp16; known: fp16, fp4");
}

}  // namespace
}  // namespace softamp
