// Settings of random bits: each is refused where no case uses it, and taken where one does.
#include "src/names/idle.h"

#include <gtest/gtest.h>

#include <vector>

namespace softamp::detail {
namespace {

/// A door at which the settings `keys` were asked for.
Door door_of(std::vector<std::string_view> keys) {
  return {[keys](std::string_view key) {
            for (const std::string_view asked : keys)
              if (asked == key) return "--" + std::string(key);
            return std::string();
          },
          "--rounding stochastic", "--random-words"};
}

constexpr RandomUse kNearest = {.stochastic = false}, kDrawn = {.stochastic = true},
                    kGiven = {.stochastic = true, .generator = false};

std::string said(std::string_view key, const std::vector<RandomUse>& cases) {
  return idle_random_setting(door_of({key}), cases).value_or("taken");
}

TEST(Idle, EverySettingOfRandomBitsNeedsAStochasticRounding) {
  ASSERT_GE(random_settings().size(), 10u);
  for (const RandomSetting& setting : random_settings()) {
    const std::string refused =
        "--" + std::string(setting.key) + ": no rounding is stochastic; expected --rounding stochastic";
    EXPECT_EQ(said(setting.key, {kNearest}), refused);
    EXPECT_EQ(said(setting.key, {kNearest, kNearest}), refused);
    EXPECT_EQ(said(setting.key, {}), refused);
    EXPECT_EQ(said(setting.key, {kDrawn}), "taken") << setting.key;
    EXPECT_EQ(said(setting.key, {kNearest, kDrawn}), "taken") << setting.key;
    EXPECT_EQ(said(setting.key, {kDrawn, kNearest}), "taken") << setting.key;
  }
}

TEST(Idle, WhatChoosesNumbersOfAGeneratorNeedsOne) {
  for (const char* key : {"random", "seed", "step", "operation", "first_index"}) {
    EXPECT_EQ(said(key, {kGiven}), "--" + std::string(key) +
                                       ": random bits come from --random-words, not from a generator; expected no "
                                       "--random-words");
    EXPECT_EQ(said(key, {kGiven, kDrawn}), "taken") << key;
  }
  for (const char* key : {"bits", "variant", "random_words", "random_field", "replicas"})
    EXPECT_EQ(said(key, {kGiven}), "taken") << key;
}

TEST(Idle, TheFirstSettingInTheTableIsNamed) {
  const std::vector<RandomUse> cases = {kNearest};
  EXPECT_EQ(idle_random_setting(door_of({"seed", "bits"}), cases)->substr(0, 7), "--bits:");
  EXPECT_EQ(idle_random_setting(door_of({}), cases), std::nullopt);
}

}  // namespace
}  // namespace softamp::detail
