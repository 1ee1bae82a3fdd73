// Every file of the fuzzers' corpus, and a few mutations of each, through its target: without libFuzzer, every day.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#define SOFTAMP_REPLAY
#include "tests/files.h"
#include "tests/fuzz/json_mutator.h"

// SOFTAMP_FUZZ_TARGETS: F(data_fuzz)F(graph_def_fuzz)... (CMakeLists.txt)
#define F(name) extern "C" int replay_##name(const uint8_t* data, size_t size);
SOFTAMP_FUZZ_TARGETS
#undef F

namespace softamp::test {
namespace {

namespace fs = std::filesystem;

struct FuzzTarget {
  std::string name;
  int (*run)(const uint8_t*, size_t);
};

std::vector<FuzzTarget> targets() {
#define F(name) {#name, replay_##name},
  return {SOFTAMP_FUZZ_TARGETS};
#undef F
}

/// A target aborts where it finds a fault.
void run(const FuzzTarget& target, const std::string& text) {
  EXPECT_EQ(target.run(reinterpret_cast<const uint8_t*>(text.data()), text.size()), 0);
}

std::vector<fs::path> files_of(const FuzzTarget& target) {
  const std::string corpus = target.name.substr(0, target.name.rfind("_fuzz"));
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(SOFTAMP_SOURCE_DIR "/tests/fuzz/corpus/" + corpus))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

TEST(FuzzCorpus, EveryFileRunsThroughItsTarget) {
  for (const FuzzTarget& target : targets()) {
    const std::vector<fs::path> files = files_of(target);
    EXPECT_GE(files.size(), 5u) << target.name;
    for (const fs::path& file : files) {
      SCOPED_TRACE(file);
      run(target, read_text(file.string()));
    }
  }
}

TEST(FuzzCorpus, EveryFileCutOrMutatedRunsThroughItsTarget) {
  for (const FuzzTarget& target : targets())
    for (const fs::path& file : files_of(target)) {
      SCOPED_TRACE(file);
      const std::string text = read_text(file.string());
      for (size_t part = 1; part < 4; ++part) run(target, text.substr(0, part * text.size() / 4));
      for (unsigned seed = 0; seed < 8; ++seed) run(target, fuzz::mutated_json(text, seed));
    }
}

TEST(FuzzMutator, WhatItMakesOfJsonIsOtherJson) {
  const std::string text = R"({"a": [1, 2.5, "x", true, null], "b": {"c": {}}})";
  int others = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    const std::string made = fuzz::mutated_json(text, seed);
    ASSERT_TRUE(fuzz::Json::accept(made)) << made;
    others += fuzz::Json::parse(made) != fuzz::Json::parse(text);
  }
  EXPECT_GT(others, 150);
}

TEST(FuzzMutator, OfLinesItChangesOne) {
  const std::string text = "{\"step\":1}\n{\"step\":2}\nno JSON\n";
  for (unsigned seed = 0; seed < 40; ++seed) {
    const std::string made = fuzz::mutated_json(text, seed);
    if (made.empty()) continue;  // the line that is no JSON
    EXPECT_EQ(std::count(made.begin(), made.end(), '\n'), 3) << made;
  }
  EXPECT_EQ(fuzz::mutated_json("no JSON", 1), "");
}

}  // namespace
}  // namespace softamp::test
