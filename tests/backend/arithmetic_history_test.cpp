// arithmetic.json: no pinned digest changes without a new version, no entry afterwards, and the code has the newest
// version. Each rule is seen to fail.
#include "tests/arithmetic_history.h"

#include <array>
#include <cstdio>
#include <sstream>

#include "softamp/numerics/version.h"

namespace softamp::test {
namespace {

using nlohmann::json;

json file_now() { return json::parse(read_text(kArithmeticFile)); }

/// The history as it was with version 4: what mistakes are planted in.
constexpr int kPlantedVersion = 4;
json file_then() {
  json file = file_now();
  json& history = file["history"];
  history.erase(history.begin() + 8, history.end());
  return file;
}
json& newest(json& file) { return file["history"].back(); }
Faults planted_faults(const json& file) { return faults_of_history(file, kPlantedVersion); }
json entry_of(const char* kind, const char* text) {
  return {{"version", kPlantedVersion}, {"date", "2026-11-22"}, {kind, text}};
}

/// What a command prints; nothing where it fails.
std::string output_of(const std::string& command) {
  FILE* pipe = popen((command + " 2>/dev/null").c_str(), "r");
  if (!pipe) return {};
  std::string text;
  std::array<char, 4096> part;
  for (size_t n; (n = fread(part.data(), 1, part.size(), pipe)) > 0;) text.append(part.data(), n);
  return pclose(pipe) == 0 ? text : std::string();
}

// tests: N65
TEST(ArithmeticHistory, HoldsAsItIs) { EXPECT_EQ(faults_of_history(file_now(), kArithmeticVersion), Faults{}); }

TEST(ArithmeticHistory, IsWhatGitHasSeen) {
  const std::string git = "git -C '" SOFTAMP_SOURCE_DIR "' ", place = "tests/backend/arithmetic.json";
  std::istringstream commits(output_of(git + "log --first-parent --format=%H -- " + place));
  const json now = file_now();
  int seen = 0;
  for (std::string commit; std::getline(commits, commit);) {
    const json then = json::parse(output_of(git + "show " + commit + ":" + place), nullptr, false);
    if (then.is_discarded()) continue;  // a commit without the file, or of which a shallow clone has no files
    ++seen;
    EXPECT_EQ(faults_between(then, now), Faults{}) << "since commit " << commit;
  }
  if (seen == 0) GTEST_SKIP() << "git has no history of " << place << " here: edited entries cannot be seen";
}

/// What is pinned in a file of its own, since an example prints it.
TEST(ArithmeticHistory, TheExamplePrintsThePinnedDigest) {
  const std::string text = read_text(SOFTAMP_SOURCE_DIR "/examples/13_cpu_equals_gpu.expected");
  for (const auto& [name, digest] : pinned_digests("example_13"))
    EXPECT_NE(text.find(name + " " + digest + "\n"), std::string::npos) << name << " " << digest;
}

TEST(ArithmeticHistory, SeesADigestThatChangedWithoutAVersion) {
  json file = file_then();
  file["history"].push_back(entry_of("suites", "one bit, and a digest less"));
  newest(file)["digests"]["numerics"] = {"arithmetic   caa21fc799dbdb7f", "conversions  3c1f434e8f33d09f",
                                         "comparisons  d7fd7cf23533f4ee", "random       7c470178e3631f11"};
  const std::string expected = ", and the version did not; expected a new version, and what moved";
  EXPECT_EQ(planted_faults(file), (Faults{"entry 9: numerics: 'arithmetic' changed" + expected,
                                          "entry 9: numerics: 'unit' is gone" + expected}));
  newest(file)["moved"] = newest(file)["suites"];
  newest(file).erase("suites");
  newest(file)["version"] = 5;
  EXPECT_EQ(faults_of_history(file, 5), Faults{});
  EXPECT_EQ(planted_faults(file), Faults{"kArithmeticVersion is 4; expected 5, as the newest entry has"});
}

TEST(ArithmeticHistory, LetsASuiteAskMoreWithoutAVersion) {
  json file = file_then();
  const json history = file["history"];
  json entry = entry_of("suites", "the graphs of before, a new line");
  entry["digests"]["graph"] = history[2]["digests"]["graph"];
  entry["digests"]["numerics"] = history[0]["digests"]["numerics"];
  entry["digests"]["numerics"].push_back("more  0123456789abcdef");
  file["history"].push_back(entry);
  EXPECT_EQ(planted_faults(file), Faults{});
  // Other answers to the same questions are another arithmetic.
  newest(file)["digests"]["graph"][0] = history[3]["digests"]["graph"][0];
  EXPECT_EQ(planted_faults(file).size(), 5u);
}

TEST(ArithmeticHistory, SeesMalformedEntries) {
  const auto fault = [](const char* key, const json& value) {
    json file = file_then();
    newest(file)[key] = value;
    const Faults faults = planted_faults(file);
    return faults.empty() ? std::string() : faults[0];
  };
  EXPECT_EQ(fault("version", 5), "entry 8: version 5; expected 4");
  EXPECT_EQ(fault("version", "4"), "entry 8: version \"4\"; expected 4");
  EXPECT_EQ(fault("date", "22.11.2026"), "entry 8: date '22.11.2026'; expected YYYY-MM-DD");
  EXPECT_EQ(fault("date", "2026-11-20"), "entry 8: date '2026-11-20' is before 2026-11-21");
  EXPECT_EQ(fault("suites", "both"), "entry 8: expected either 'moved' or 'suites'");
  EXPECT_EQ(fault("moved", ""), "entry 8: does not say what it is for");
  EXPECT_EQ(fault("why", "x"), "entry 8: 'why' is no part of an entry");
  EXPECT_EQ(fault("digests", {{"new", json::array()}}), "entry 8: new: no digests");
  EXPECT_EQ(fault("digests", {{"new", {"name 12"}}}), "entry 8: new: 'name 12' is no digest");
  EXPECT_EQ(fault("digests", {{"new", {"0123456789abcdef"}}}), "entry 8: new: '0123456789abcdef' is no digest");
  EXPECT_EQ(fault("digests", {{"new", {"a 0123456789abcdef", "a  0123456789abcdef"}}}),
            "entry 8: new: 'a' stands twice");
  json file = file_then();
  file["history"].push_back(entry_of("suites", "none"));
  EXPECT_EQ(planted_faults(file), Faults{"entry 9: a change of suites without digests"});
}

TEST(ArithmeticHistory, SeesEntriesThatWereEdited) {
  const json was = file_then();
  json is = was;
  newest(is)["moved"] = "in other words";
  is["history"].push_back({{"version", 99}});
  EXPECT_EQ(faults_between(was, is), Faults{}) << "words may change, and entries follow";
  is["history"][0]["digests"]["numerics"][0] = "arithmetic   caa21fc799dbdb7f";
  is["history"][1]["date"] = "2026-11-20";
  is["history"][2]["version"] = 3;
  EXPECT_EQ(faults_between(was, is), (Faults{"entry 1: its digests changed; expected a new entry at the end",
                                             "entry 2: its date changed; expected a new entry at the end",
                                             "entry 3: its version changed; expected a new entry at the end"}));
  is = was;
  is["history"].erase(7);
  EXPECT_EQ(faults_between(was, is), Faults{"entry 8 is gone"});
}

}  // namespace
}  // namespace softamp::test
